// The values that all viewers show for a node: numbers by metric, and text.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pagoda/present/viewers.h"

namespace pagoda::present {

// Values of one node, summed over all its rows.
struct NodeValues {
  const documents::EstimateNode* node = nullptr;  // the first row
  std::size_t rows = 0;
  documents::EstimateCounts counts;
  std::optional<double> seconds, compute_seconds, memory_seconds, predicted_seconds, measured_seconds;
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

enum class MetricKind { Count, Bytes, Seconds, Ratio };

struct Metric {
  std::string_view name, shown;
  MetricKind kind = MetricKind::Count;
  documents::Count documents::EstimateCounts::*count = nullptr;  // used if set,
  std::optional<double> NodeValues::*number = nullptr;           // else this one; neither set: the intensity
  std::string_view remedy = {};                                  // shown if no node has the metric
};
std::vector<const Metric*> metrics();

std::optional<double> number(const Metric& metric, const NodeValues& values);
std::string exact_text(const Metric& metric, const NodeValues& values);  // empty: unknown
std::string shown_text(const Metric& metric, const NodeValues& values);  // "231 M", "≥ 1.2 µs"; empty: unknown

// The number of a node's kernel, the names of the kernel's nodes, and its seconds; empty without kernels in the
// estimate, or if the node runs in none.
struct KernelText {
  std::string number, nodes, seconds;
};
std::optional<KernelText> kernel_text(const documents::EstimateDocument& estimate, const documents::EstimateNode& node);

}  // namespace pagoda::present
