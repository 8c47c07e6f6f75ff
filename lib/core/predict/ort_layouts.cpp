#include <algorithm>
#include <utility>

#include "predict/ort_graph.h"

namespace pagoda::inline core {
namespace {

const OrtLayouts::Order kChannelsLast = {0, 3, 1, 2};

}  // namespace

void OrtLayouts::launch(OrtKernel kernel) {
  kernel.row = row_;
  kernels_.push_back(kernel);
}

void OrtLayouts::launch(OrtKernelClass kind, double moved, double width) {
  launch(moving_kernel(kind, moved, 0, width));
}

void OrtLayouts::want_plain(ValueId value) {
  if (value == kAbsent) return;
  want_transposed(value);
  if (!is_in_blocks(value) || layout(value) == Layout::Both) return;
  launch(OrtKernelClass::Reorder, 2 * bytes(value));
  set_layout(value, Layout::Both);
}

void OrtLayouts::want_blocks(ValueId value) {
  if (is_in_blocks(value) || value == kAbsent || layout(value) == Layout::Copied) return;
  launch(OrtKernelClass::Reorder, 2 * bytes(value));
  set_layout(value, Layout::Copied);
}

void OrtLayouts::want_channels_last(ValueId value) {
  if (is_in_blocks(value)) want_plain(value);
  if (sizes(value).size() != kChannelsLast.size()) return want_plain(value);
  if (const auto found = transposed_.find(value); found != transposed_.end()) {
    if (found->second == kChannelsLast) return;
    want_transposed(value);
  }
  launch(transpose_kernel(sizes(value), {0, 2, 3, 1}, 1));
}

void OrtLayouts::set_channels_last(ValueId value) { transposed_[value] = kChannelsLast; }

void OrtLayouts::want_matrix(ValueId value) {
  if (const auto found = transposed_.find(value); found != transposed_.end() && swaps_last_two(found->second))
    transposed_.erase(found);
  want_plain(value);
}

void OrtLayouts::want_transposed(ValueId value) {
  if (const auto deferred = transposed_.extract(value)) launch(order_kernel(value, deferred.mapped()));
}

OrtKernel OrtLayouts::order_kernel(ValueId value, const Order& order) const {
  const Sizes wanted = sizes(value);
  if (wanted.size() != order.size()) return moving_kernel(OrtKernelClass::TransposeScattered, 2 * bytes(value));
  Sizes stored(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) stored[static_cast<std::size_t>(order[i])] = wanted[i];
  return transpose_kernel(stored, order, bytes(value) / std::max(elements(value), 1.0));
}

void OrtLayouts::keep_order(ValueId from, ValueId to) {
  if (const auto found = transposed_.find(from); found != transposed_.end()) transposed_[to] = Order(found->second);
  set_layout(to, layout(from));
}

void OrtLayouts::move_order(ValueId from, ValueId to) {
  if (auto deferred = transposed_.extract(from)) transposed_[to] = std::move(deferred.mapped());
}

void OrtLayouts::defer_transpose(const Node& node) {
  const ValueId input = node.input(0), output = node.output(0);
  const std::size_t rank = sizes(output).size();
  Order order(rank);
  const auto* perm = node.integers("perm");
  for (std::size_t i = 0; i < rank; ++i) {
    order[i] = perm == nullptr || perm->size() != rank ? static_cast<std::int64_t>(rank - 1 - i) : (*perm)[i];
    if (order[i] < 0 || order[i] >= static_cast<std::int64_t>(rank)) return;  // not a permutation: the file is broken
  }
  if (is_in_blocks(input)) want_plain(input);
  if (const auto before = transposed_.find(input); before != transposed_.end())
    for (std::int64_t& axis : order) axis = before->second[static_cast<std::size_t>(axis)];
  if (!std::is_sorted(order.begin(), order.end())) transposed_[output] = std::move(order);
}

const OrtLayouts::Order* OrtLayouts::shared_order(const std::vector<ValueId>& operands) const {
  const Order* order = nullptr;
  for (const ValueId operand : operands) {
    const auto found = transposed_.find(operand);
    if (found == transposed_.end() || (order != nullptr && found->second != *order)) return nullptr;
    order = &found->second;
  }
  return order;
}

bool OrtLayouts::take_order(ValueId result, const Order* order) {
  if (order == nullptr || sizes(result).size() != order->size()) return false;
  transposed_[result] = Order(*order);
  return true;
}

}  // namespace pagoda::inline core
