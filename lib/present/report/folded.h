// Rows in which identical layers are merged, heaviest first.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "report/rows.h"

namespace pagoda::present::report {

// Layers with the same operators, counts and time, whose names differ only in numbers.
struct Folded {
  std::string name, ops;
  std::size_t times = 0;
  double weight = 0;  // total seconds on the device, else total FLOPs
  const RowBound* bound = nullptr;
};

struct FoldedRows {
  std::vector<Folded> rows;  // the heaviest first
  double total = 0;          // of their weights
};
// Weighted by time on the device, else by work.
FoldedRows folded_rows(const EstimateDocument& estimate);

}  // namespace pagoda::present::report
