// Sizes of a sweep at which something that engines depend on ends, and the smallest size whose rate is near the best.
#include <algorithm>
#include <map>

#include "describe.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/text.h"
#include "pagoda/core/device_arena.h"

namespace pagoda::estimate {
namespace {

using Points = std::map<std::int64_t, const EstimatePoint*>;  // by size

// Reports each size at which `value` first exceeds `limit`.
template <typename Value>
void add_crossing(const Points& points, const Value& value, Int limit, const std::string& cause,
                  std::vector<EstimateCliff>& cliffs) {
  const EstimatePoint* before = nullptr;
  for (const auto& [size, point] : points) {
    const Count now = value(*point);
    if (before != nullptr && value(*before) && now && *value(*before) <= limit && *now > limit)
      cliffs.push_back({size, cause});
    before = point;
  }
}

// Reports each size at which the arena grows by over twice what the activations do.
void add_arena(const Points& points, const std::vector<std::int64_t>& weights, std::vector<EstimateCliff>& cliffs) {
  constexpr Int kMost = Int{1} << 50;  // more than any device has
  Int taken = 0, needed = 0;
  for (const auto& [size, point] : points) {
    const Count& activations = point->activation_peak_bytes;
    if (!activations || *activations > kMost) return;
    const Int total = device_arena(weights, static_cast<std::int64_t>(*activations)).median;
    if (taken > 0 && total - taken > 2 * (*activations - needed))
      cliffs.push_back(
          {size, cat("the arena of onnxruntime-cuda grows from ", base::si(taken, "B"), " to ", base::si(total, "B"),
                     ", for ", base::si(*activations - needed, "B"), " more of activations")});
    taken = total;
    needed = *activations;
  }
}

}  // namespace

std::vector<EstimateCliff> cliffs_of(const EstimateSweep& sweep, const DeviceSpec& device,
                                     const std::vector<std::int64_t>& arena_weights, bool is_decoder) {
  std::vector<EstimateCliff> cliffs;
  if (sweep.dims.size() != 1) return cliffs;
  Points points;
  for (const EstimatePoint& point : sweep.points) points.emplace(point.sizes[0], &point);
  if (const std::optional<Int> memory = device.memory_bytes())
    add_crossing(
        points, [](const EstimatePoint& point) { return point.memory_bytes; }, *memory,
        cat(is_decoder ? "weights, activations and the cache" : "weights and activations", " exceed the memory of ",
            device.id, " (", base::si(*memory, "B"), ")"),
        cliffs);
  for (const MemoryLevel& level : device.levels) {
    if (level.level == "dram" || level.per_unit || !level.capacity_bytes.known()) continue;
    const Int capacity = static_cast<Int>(*level.capacity_bytes.value);
    const auto held = [&](const std::string& what) {
      return cat(what, " no longer fit ", level.level, " (", base::si(capacity, "B"), ")");
    };
    add_crossing(
        points, [](const EstimatePoint& point) { return point.activation_peak_bytes; }, capacity,
        held("activations at their peak"), cliffs);
    add_crossing(
        points, [](const EstimatePoint& point) { return point.memory_bytes; }, capacity,
        held("weights with activations at their peak"), cliffs);
  }
  if (!arena_weights.empty()) add_arena(points, arena_weights, cliffs);
  std::ranges::stable_sort(cliffs, {}, &EstimateCliff::size);
  return cliffs;
}

std::optional<EstimateBest> best_of(const EstimateSweep& sweep) {
  constexpr double kNearBest = 0.95;
  if (sweep.dims.size() != 1) return std::nullopt;
  std::map<std::int64_t, double> rates;
  for (const EstimatePoint& point : sweep.points) {
    if (!point.items || !point.time || point.time->launched_seconds() <= 0) continue;
    if (sweep.device_bytes && point.memory_bytes && *point.memory_bytes > *sweep.device_bytes) continue;
    const double seconds = sweep.has_predictions ? point.predicted_seconds.value_or(0) : point.time->launched_seconds();
    if (seconds > 0) rates[point.sizes[0]] = static_cast<double>(*point.items) / seconds;
  }
  const bool changes = std::ranges::any_of(sweep.points, [&](const EstimatePoint& point) {
    return point.items && *point.items != sweep.points.front().items.value_or(*point.items);
  });
  if (!changes || rates.size() < 2) return std::nullopt;
  const double best = std::ranges::max_element(rates, {}, [](const auto& each) { return each.second; })->second;
  const auto near = std::ranges::find_if(rates, [&](const auto& each) { return each.second >= kNearBest * best; });
  return EstimateBest{near->first, near->second / best};
}

}  // namespace pagoda::estimate
