#include "pagoda/core/device_arena.h"

#include <algorithm>
#include <random>
#include <set>

namespace pagoda::inline core {
namespace {

constexpr std::int64_t kAlignment = 256, kFirstRegion = std::int64_t{1} << 20;
constexpr std::int64_t kMostUnused = std::int64_t{128} << 20;  // of a chunk: more is split off

std::int64_t aligned(std::int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

Regions region_bytes(std::span<const std::int64_t> tensors, std::int64_t last) {
  std::int64_t sum = 0, next = kFirstRegion;
  std::multiset<std::int64_t> free;  // chunks
  const auto request = [&](std::int64_t tensor) {
    const std::int64_t bytes = aligned(tensor);
    if (bytes == 0) return;
    auto chunk = free.lower_bound(bytes);
    if (chunk == free.end()) {
      const bool is_enough = bytes <= next;
      while (next < bytes) next *= 2;
      sum += next;
      chunk = free.insert(next);
      if (is_enough) next *= 2;
    }
    const std::int64_t rest = *chunk - bytes;
    free.erase(chunk);
    if (rest >= bytes || rest >= kMostUnused) free.insert(rest);
  };
  for (const std::int64_t tensor : tensors) request(tensor);
  const std::int64_t before_last = sum;
  request(last);
  return {before_last, sum};
}

DeviceArena device_arena(std::vector<std::int64_t> tensors, std::int64_t last) {
  constexpr std::size_t kOrders = 41;
  DeviceArena arena;
  for (const std::int64_t tensor : tensors) arena.as_requested += aligned(tensor);
  arena.as_requested += aligned(last);
  std::ranges::sort(tensors);  // the answer does not depend on the caller's order
  std::mt19937 random;         // NOLINT(cert-msc32-c,cert-msc51-cpp): the same answer each time
  std::vector<std::int64_t> before, sums;
  for (std::size_t order = 0; order < kOrders; ++order) {
    // As std::shuffle(), whose draws differ between standard libraries.
    for (std::size_t i = tensors.size(); i > 1; --i) std::swap(tensors[i - 1], tensors[random() % i]);
    const Regions regions = region_bytes(tensors, last);
    before.push_back(regions.before_last);
    sums.push_back(regions.total);
  }
  std::ranges::sort(before);
  std::ranges::sort(sums);
  arena.low = sums.front();
  arena.median = sums[sums.size() / 2];
  arena.high = sums.back();
  arena.before_last = before[before.size() / 2];
  return arena;
}

}  // namespace pagoda::inline core
