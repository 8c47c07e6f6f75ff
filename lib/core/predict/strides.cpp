#include "predict/strides.h"

#include <algorithm>
#include <numeric>

namespace pagoda::inline core {
namespace {

// Axes of a size other than 1, slowest first.
std::vector<std::size_t> by_stride(const Sizes& sizes, const Strides& strides) {
  std::vector<std::size_t> axes;
  for (std::size_t i = 0; i < sizes.size(); ++i)
    if (sizes[i] != 1) axes.push_back(i);
  std::stable_sort(axes.begin(), axes.end(), [&](std::size_t a, std::size_t b) { return strides[a] > strides[b]; });
  return axes;
}

bool is_packed(const Sizes& sizes, const Strides& strides, std::span<const std::size_t> slowest_first) {
  std::int64_t expected = 1;
  for (std::size_t i = slowest_first.size(); i-- > 0;) {
    const std::size_t axis = slowest_first[i];
    if (sizes[axis] == 1) continue;
    if (strides[axis] != expected) return false;
    expected *= sizes[axis];
  }
  return true;
}

// C, W, H, N: fastest first.
std::vector<std::size_t> channels_last_order(std::size_t rank) {
  std::vector<std::size_t> axes = {1};
  for (std::size_t axis = rank; axis-- > 2;) axes.push_back(axis);
  axes.push_back(0);
  return axes;
}

}  // namespace

double element_count(std::span<const std::int64_t> sizes) {
  double count = 1;
  for (const std::int64_t size : sizes) count *= static_cast<double>(size);
  return count;
}

Strides contiguous(std::span<const std::int64_t> sizes) {
  Strides strides(sizes.size());
  std::int64_t step = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    strides[i] = step;
    step *= std::max<std::int64_t>(sizes[i], 1);
  }
  return strides;
}

bool is_contiguous(const Sizes& sizes, const Strides& strides) {
  std::vector<std::size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  return is_packed(sizes, strides, order);
}

bool is_channels_last(const Sizes& sizes, const Strides& strides) {
  if (sizes.size() < 3 || is_contiguous(sizes, strides)) return false;
  std::int64_t least = 0;
  for (const std::size_t axis : channels_last_order(sizes.size())) {
    if (strides[axis] == 0 || strides[axis] < least) return false;
    if (axis == 0 && least == strides[1]) return false;  // N, C, 1, 1
    least = strides[axis] * std::max<std::int64_t>(sizes[axis], 1);
  }
  return true;
}

Strides channels_last(std::span<const std::int64_t> sizes) {
  Strides strides(sizes.size());
  std::int64_t step = 1;
  for (const std::size_t axis : channels_last_order(sizes.size())) {
    strides[axis] = step;
    step *= std::max<std::int64_t>(sizes[axis], 1);
  }
  return strides;
}

bool is_dense(const Sizes& sizes, const Strides& strides) {
  return is_packed(sizes, strides, by_stride(sizes, strides));
}

std::optional<Strides> view_as(const Sizes& sizes, const Strides& strides, const Sizes& wanted) {
  // Runs of axes that lie in memory like one axis: its size and stride.
  struct Run {
    std::int64_t size, step;
  };
  std::vector<Run> runs;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 0) return contiguous(wanted);
    if (sizes[i] == 1) continue;
    if (!runs.empty() && runs.back().step == strides[i] * sizes[i])
      runs.back() = {runs.back().size * sizes[i], strides[i]};
    else
      runs.push_back({sizes[i], strides[i]});
  }
  // Every run has to be the product of consecutive wanted axes.
  Strides result(wanted.size(), 1);
  std::size_t run = runs.size();
  std::int64_t left = 1, step = 1;
  for (std::size_t i = wanted.size(); i-- > 0;) {
    if (wanted[i] == 1) {
      result[i] = step;
      continue;
    }
    if (left == 1) {
      if (run == 0) return std::nullopt;
      --run;
      left = runs[run].size;
      step = runs[run].step;
    }
    if (wanted[i] == 0 || left % wanted[i] != 0) return std::nullopt;
    result[i] = step;
    step *= wanted[i];
    left /= wanted[i];
  }
  if (run != 0 || left != 1) return std::nullopt;
  return result;
}

Strides strides_like(const Sizes& sizes, std::span<const Strides> operands) {
  const auto is_slower = [&](std::size_t a, std::size_t b) {
    for (const Strides& operand : operands)
      if (operand[a] != operand[b] && operand[a] != 0 && operand[b] != 0) return operand[a] > operand[b];
    return false;
  };
  std::vector<std::size_t> axes;  // slowest first; insertion keeps the order of axes that no operand orders
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
    if (sizes[axis] == 1) continue;
    std::size_t place = axes.size();
    while (place > 0 && is_slower(axis, axes[place - 1])) --place;
    axes.insert(axes.begin() + static_cast<std::ptrdiff_t>(place), axis);
  }
  Strides strides(sizes.size(), 1);
  std::int64_t step = 1;
  for (std::size_t i = axes.size(); i-- > 0;) {
    strides[axes[i]] = step;
    step *= std::max<std::int64_t>(sizes[axes[i]], 1);
  }
  return strides;
}

bool same_inner_axis(const Sizes& sizes, const Strides& a, const Strides& b) {
  const auto axes_a = by_stride(sizes, a), axes_b = by_stride(sizes, b);
  return axes_a.empty() || axes_a.back() == axes_b.back();
}

bool swaps_last_two(std::vector<std::int64_t> order) {
  if (order.size() < 2) return false;
  std::swap(order[order.size() - 2], order.back());
  return std::is_sorted(order.begin(), order.end());
}

}  // namespace pagoda::inline core
