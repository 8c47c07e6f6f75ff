// Rows with layers that are alike as one, the heaviest first.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "report/rows.h"

namespace pagoda::present::report {

// Layers of the same operators, counts and time, whose names differ in numbers alone.
struct Folded {
  std::string name, ops;
  std::size_t times = 0;
  double weight = 0;  // seconds on the device, else FLOPs, of all
  const RowBound* bound = nullptr;
};

struct FoldedRows {
  std::vector<Folded> rows;  // the heaviest first
  double total = 0;          // of their weights
};
// On the device by time, else by work.
FoldedRows folded_rows(const EstimateDocument& estimate);

}  // namespace pagoda::present::report
