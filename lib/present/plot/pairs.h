// Rows of several models that are the same work, for the page's comparison: its first model against each other one.
#pragma once

#include <string>

#include "plot/chart.h"

namespace pagoda::present::plot {

struct ItemPair {
  std::ptrdiff_t before = -1, after = -1;  // in Series::items; -1: in the other one only
};
// Of two series with estimates: by their kernels where both are fused, else by their nodes (documents/compare.h); then
// what is in one of them only. What does no work is left out.
std::vector<ItemPair> pairs_of(const Chart& chart, const Series& before, const Series& after);

// {"totals": [{name, unit, values}], "pairs": [[[i, j], …], …]}: of every later series the pairs with the first. Empty
// for charts of one series, and of series without an estimate.
std::string pairs_json(const Chart& chart);

}  // namespace pagoda::present::plot
