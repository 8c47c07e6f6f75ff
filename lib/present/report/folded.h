// Rows in which identical layers are merged, heaviest first.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "report/rows.h"

namespace pagoda::present::report {

// A name with every number replaced by '#': layers that are alike share it.
std::string without_numbers(std::string_view name);
// The common pattern of names that are alike, with '*' for the numbers that differ: "layers.*/conv/Conv".
std::string common_name(const std::string& a, std::string_view b);

// Layers with the same operators, counts and time, whose names differ only in numbers.
struct Folded {
  std::string name, ops;
  std::size_t times = 0;
  double weight = 0;  // total seconds as predicted, else as bounded on the device, else total FLOPs
  const RowBound* bound = nullptr;
};

struct FoldedRows {
  std::vector<Folded> rows;  // the heaviest first
  double total = 0;          // of their weights
};
// Weighted by predicted time, else by the bound, else by work.
FoldedRows folded_rows(const EstimateDocument& estimate);

}  // namespace pagoda::present::report
