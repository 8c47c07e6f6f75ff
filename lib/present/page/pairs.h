// Matches rows with the same work across models, for the page's comparison of its first model with each other one.
#pragma once

#include <string>

#include "plot/chart.h"

namespace pagoda::present::plot {

struct ItemPair {
  std::ptrdiff_t before = -1, after = -1;  // indices in Series::items; -1: only in the other series
};
// Pairs of two series with estimates: matched by kernels if both are fused, then by nodes (documents/compare.h), then
// items that only one series has. Unmatched items without work are left out.
std::vector<ItemPair> pairs_of(const Chart& chart, const Series& before, const Series& after);

// {"totals": [{name, unit, values}], "pairs": [[[i, j], …], …]}: for every later series its pairs with the first. Empty
// for a chart of one series, or if a series has no estimate.
std::string pairs_json(const Chart& chart);

}  // namespace pagoda::present::plot
