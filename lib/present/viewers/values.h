// The values that all viewers show for a node: numbers by metric, and text.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pagoda/present/viewers.h"
#include "report/cells.h"

namespace pagoda::present {

// Values of one node, summed over all its rows.
struct NodeValues {
  const documents::EstimateNode* node = nullptr;  // the first row
  std::size_t rows = 0;
  documents::EstimateCounts counts;
  RowBound time;  // the sums of its seconds, and Bound::Unknown if one is not known
  std::optional<double> predicted_seconds, measured_seconds;
  std::string bound, problem;
  // A measurement of this node together with others: their total time, and their names.
  std::optional<double> together_seconds;
  std::string together;
};

// The values of each row of the estimate.
std::vector<NodeValues> row_values(const Viewed& viewed);
// Adds a further row of the same node.
void add(NodeValues& sum, const NodeValues& row);
// The values of the whole model.
NodeValues total_values(const Viewed& viewed);

std::vector<const Metric*> metrics();
Cell cell(const Metric& metric, const NodeValues& values);
std::string label_text(const Metric& metric, const NodeValues& values);  // "231 M"; empty: unknown

// "conv1; relu1".
std::string joined_names(const documents::EstimateDocument& estimate, const std::vector<std::size_t>& nodes);

}  // namespace pagoda::present
