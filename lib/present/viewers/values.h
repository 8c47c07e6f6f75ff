// What all viewers show of a node: numbers by metric, and words.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pagoda/present/viewers.h"

namespace pagoda::present {

// Of one node, or of all rows that it has.
struct NodeValues {
  const documents::EstimateNode* node = nullptr;  // the first row
  std::size_t rows = 0;
  documents::EstimateCounts counts;
  std::optional<double> seconds, compute_seconds, memory_seconds, predicted_seconds, measured_seconds;
  std::string bound, problem;
  // A measurement of this node with others: the time of all, and their names.
  std::optional<double> together_seconds;
  std::string together;
};

// Of each row of the estimate.
std::vector<NodeValues> row_values(const Viewed& viewed);
// Adds a further row of the same node.
void add(NodeValues& sum, const NodeValues& row);
// The whole model.
NodeValues total_values(const Viewed& viewed);

enum class MetricKind { Count, Bytes, Seconds, Ratio };

struct Metric {
  std::string_view name, shown;
  MetricKind kind = MetricKind::Count;
  documents::Count documents::EstimateCounts::*count = nullptr;  // else
  std::optional<double> NodeValues::*number = nullptr;           // … this; neither: the intensity
  std::string_view remedy = {};                                  // where no node has it
};
std::vector<const Metric*> metrics();

std::optional<double> number(const Metric& metric, const NodeValues& values);
std::string exact_text(const Metric& metric, const NodeValues& values);  // empty: not known
std::string shown_text(const Metric& metric, const NodeValues& values);  // "231 M", "≥ 1.2 µs"; empty: not known

// "Conv + Relu" and the names of a fused kernel's nodes; empty where the node runs in no kernel of several nodes.
struct KernelText {
  std::string number, nodes, seconds;
};
std::optional<KernelText> kernel_text(const documents::EstimateDocument& estimate, const documents::EstimateNode& node);

}  // namespace pagoda::present
