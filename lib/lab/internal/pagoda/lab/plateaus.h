// Finds the levels of a memory hierarchy in a bandwidth sweep over working sets, and reports where it is uncertain.
//
//   auto found = find_plateaus(sweep, {{"l1", 48 << 10}, {"l2", 1 << 20}, {"l3", 32 << 20}, {"dram", {}}});
//   found[0].level, found[0].bytes_per_second, found[0].ambiguous;
//
// Levels are named by known capacities, never by counting plateaus: one spurious step would shift every later name. A
// change-point fit, independent of the capacities, must then find an edge near each capacity, and no drop inside a
// level of a quarter or more of the level's own edges; otherwise the level is `ambiguous` and `why` gives the reason.
// Rises inside a level are ignored as prefetching: no level is faster than the one before it.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#pragma GCC visibility push(default)
namespace pagoda::lab {

struct WorkingSetPoint {
  double bytes = 0;  // working set
  double bytes_per_second = 0;
};

// One level, in order from the fastest outwards. Only the last, memory, may have no capacity.
struct KnownLevel {
  std::string level;
  std::optional<double> capacity_bytes;  // total over the units that share the sweep's working set
};

struct Plateau {
  std::string level;
  double bytes_per_second = 0;  // median over the points well inside the level
  std::size_t points = 0;       // their number
  bool ambiguous = false;
  std::string why = {};  // reasons for doubt; empty if certain
};

// A level with fewer than 5 points well inside it is not reported.
std::vector<Plateau> find_plateaus(std::span<const WorkingSetPoint> sweep, const std::vector<KnownLevel>& levels);

// First indices of the pieces of the best piecewise-constant fit of `values` (least squares, a penalty of `penalty`
// noise variances · ln n for every piece, pieces of at least `min_points`). The noise is estimated from the median
// absolute difference of neighbouring values, which steps hardly affect. The first index is always 0.
std::vector<std::size_t> change_points(std::span<const double> values, std::size_t min_points = 2, double penalty = 4);

}  // namespace pagoda::lab
#pragma GCC visibility pop
