#include "memory/arena.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "graph/index.h"

namespace pagoda::inline core {
namespace {

constexpr std::size_t kMaxPairs = 2'000'000;  // of overlapping blocks; above it, only the sweep is tried
constexpr std::size_t kMaxRetries = 64;       // placements with a further block moved to the front,
constexpr std::size_t kRetryPairs = 400'000;  // as long as they visit at most this many pairs in total

Int rounded_up(Int bytes, Int alignment) { return (bytes + alignment - 1) / alignment * alignment; }

// Free gaps of an arena that grows at its end, by offset and by size.
class Gaps {
 public:
  Int take(Int bytes) {
    const auto fit = by_size_.lower_bound({bytes, 0});
    if (fit != by_size_.end()) {
      const auto [size, offset] = *fit;
      remove(offset, size);
      if (size > bytes) add(offset + bytes, size - bytes);
      return offset;
    }
    // Grow the gap at the end, if there is one.
    Int offset = end_;
    if (!by_offset_.empty()) {
      const auto [last, size] = *by_offset_.rbegin();
      if (last + size == end_) {
        offset = last;
        remove(last, size);
      }
    }
    end_ = offset + bytes;
    return offset;
  }

  void give(Int offset, Int bytes) {
    auto after = by_offset_.lower_bound(offset);
    if (after != by_offset_.end() && after->first == offset + bytes) {
      bytes += after->second;
      remove(after->first, after->second);
      after = by_offset_.lower_bound(offset);
    }
    if (after != by_offset_.begin()) {
      const auto before = std::prev(after);
      if (before->first + before->second == offset) {
        offset = before->first;
        bytes += before->second;
        remove(before->first, before->second);
      }
    }
    add(offset, bytes);
  }

  Int end() const { return end_; }

 private:
  void add(Int offset, Int size) {
    by_offset_.emplace(offset, size);
    by_size_.emplace(size, offset);
  }
  void remove(Int offset, Int size) {
    by_offset_.erase(offset);
    by_size_.erase({size, offset});
  }

  std::map<Int, Int> by_offset_;
  std::set<std::pair<Int, Int>> by_size_;
  Int end_ = 0;
};

// Blocks by their first step, large ones first within a step.
std::vector<std::int32_t> by_first_step(std::span<const ArenaBlock> blocks) {
  std::vector<std::int32_t> order(blocks.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    const ArenaBlock& x = blocks[index(a)];
    const ArenaBlock& y = blocks[index(b)];
    return std::tuple(x.first_step, -x.bytes, a) < std::tuple(y.first_step, -y.bytes, b);
  });
  return order;
}

// The most bytes alive at once.
Int lower_bound(std::span<const ArenaBlock> blocks, std::span<const std::int32_t> starts) {
  std::vector<std::pair<std::int32_t, Int>> ends;
  ends.reserve(blocks.size());
  for (const ArenaBlock& block : blocks) ends.emplace_back(block.last_step, block.bytes);
  std::sort(ends.begin(), ends.end());
  Int alive = 0, most = 0;
  std::size_t ended = 0;
  for (const std::int32_t id : starts) {
    const ArenaBlock& block = blocks[index(id)];
    for (; ends[ended].first < block.first_step; ++ended) alive -= ends[ended].second;
    alive += block.bytes;
    most = std::max(most, alive);
  }
  return most;
}

ArenaLayout sweep(std::span<const ArenaBlock> blocks, std::span<const std::int32_t> starts) {
  ArenaLayout layout{.bytes = 0, .offsets = std::vector<Int>(blocks.size(), 0)};
  std::set<std::pair<std::int32_t, std::int32_t>> alive;  // last step, block
  Gaps gaps;
  for (const std::int32_t id : starts) {
    const ArenaBlock& block = blocks[index(id)];
    while (!alive.empty() && alive.begin()->first < block.first_step) {
      const auto dead = static_cast<std::size_t>(alive.begin()->second);
      gaps.give(layout.offsets[dead], blocks[dead].bytes);
      alive.erase(alive.begin());
    }
    layout.offsets[index(id)] = gaps.take(block.bytes);
    alive.emplace(block.last_step, id);
  }
  layout.bytes = gaps.end();
  return layout;
}

// For each block, the blocks alive at the same time; empty when there are too many pairs.
std::vector<std::vector<std::int32_t>> overlaps(std::span<const ArenaBlock> blocks,
                                                std::span<const std::int32_t> starts) {
  std::vector<std::vector<std::int32_t>> result(blocks.size());
  std::vector<std::int32_t> alive;
  std::size_t pairs = 0;
  for (const std::int32_t id : starts) {
    const ArenaBlock& block = blocks[index(id)];
    std::erase_if(alive, [&](std::int32_t other) { return blocks[index(other)].last_step < block.first_step; });
    pairs += alive.size() + 1;
    if (pairs > kMaxPairs) return {};
    for (const std::int32_t other : alive) {
      result[index(id)].push_back(other);
      result[index(other)].push_back(id);
    }
    alive.push_back(id);
  }
  return result;
}

// Places blocks in the given order, each in the smallest gap between its placed neighbours, else directly above them.
ArenaLayout place(std::span<const ArenaBlock> blocks, std::span<const std::int32_t> order,
                  const std::vector<std::vector<std::int32_t>>& neighbours) {
  ArenaLayout layout{.bytes = 0, .offsets = std::vector<Int>(blocks.size(), -1)};
  std::vector<std::pair<Int, Int>> taken;  // begin, end
  for (const std::int32_t id : order) {
    const Int bytes = blocks[index(id)].bytes;
    taken.clear();
    for (const std::int32_t other : neighbours[index(id)]) {
      const Int begin = layout.offsets[index(other)];
      if (begin >= 0) taken.emplace_back(begin, begin + blocks[index(other)].bytes);
    }
    std::sort(taken.begin(), taken.end());
    Int best = -1, best_gap = 0, end = 0;
    for (const auto& [begin, stop] : taken) {
      const Int gap = begin - end;
      if (gap >= bytes && (best < 0 || gap < best_gap)) {
        best = end;
        best_gap = gap;
      }
      end = std::max(end, stop);
    }
    const Int offset = best < 0 ? end : best;
    layout.offsets[index(id)] = offset;
    layout.bytes = std::max(layout.bytes, offset + bytes);
  }
  return layout;
}

}  // namespace

ArenaLayout lay_out(std::span<const ArenaBlock> given, std::int64_t alignment) {
  std::vector<ArenaBlock> blocks(given.begin(), given.end());
  for (ArenaBlock& block : blocks) block.bytes = rounded_up(block.bytes, alignment);
  const std::vector<std::int32_t> starts = by_first_step(blocks);
  const Int bound = lower_bound(blocks, starts);
  ArenaLayout best = sweep(blocks, starts);
  if (best.bytes == bound) return best;
  const auto neighbours = overlaps(blocks, starts);
  if (neighbours.empty()) return best;

  const auto bytes = [&](std::int32_t id) { return blocks[index(id)].bytes; };
  const auto steps = [&](std::int32_t id) {
    return Int{blocks[index(id)].last_step} - blocks[index(id)].first_step + 1;
  };
  const auto sorted = [&](const auto& key) {
    std::vector<std::int32_t> order = starts;
    std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) { return key(a) > key(b); });
    return order;
  };
  const auto attempt = [&](const auto& key) {
    if (best.bytes == bound) return;
    ArenaLayout layout = place(blocks, sorted(key), neighbours);
    if (layout.bytes < best.bytes) best = std::move(layout);
  };
  attempt(bytes);
  attempt([&](std::int32_t id) { return std::pair(steps(id), bytes(id)); });
  attempt([&](std::int32_t id) { return steps(id) * bytes(id); });
  // A block that reached the top of the arena was placed too late: move it to the front and try again.
  std::vector<std::int32_t> order = sorted(bytes);
  std::size_t pairs = blocks.size();
  for (const auto& list : neighbours) pairs += list.size();
  const std::size_t retries = std::min(kMaxRetries, kRetryPairs / pairs);
  for (std::size_t retry = 0; best.bytes > bound && retry < retries; ++retry) {
    ArenaLayout layout = place(blocks, order, neighbours);
    const auto top = std::find_if(order.begin(), order.end(), [&](std::int32_t id) {
      return layout.offsets[index(id)] + bytes(id) == layout.bytes;
    });
    if (layout.bytes < best.bytes) best = layout;
    if (top == order.begin() || top == order.end()) break;
    std::rotate(order.begin(), top, top + 1);
  }
  return best;
}

}  // namespace pagoda::inline core
