// What all reports show: the numbers of totals, nodes and operators, and the formulas behind them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pagoda/base/text.h"
#include "pagoda/present/report.h"

namespace pagoda::present::report {

using Number = documents::Count;  // empty: not known
using Counters = documents::EstimateCounts;
using Formulas = documents::EstimateFormulas;
using documents::domain_name;
using documents::type_name;

inline Number number(const Dim& dim) { return documents::count(dim); }

struct NodeRow {
  std::size_t index;  // in execution order
  const NodeReport* report;
  const Graph* graph;
  const Node* node;
  Counters counters;
  const RowBound* bound = nullptr;  // null where no device was asked for

  const std::string& name() const { return display_name(*graph, *node); }
  std::string scope() const;    // bodies entered, then the module path that the exporter recorded
  std::string problem() const;  // why numbers are missing; empty when none are
};

// All nodes of one operator. Counters are sums of the modelled ones, empty where there is none.
struct TypeRow {
  std::string op_type, domain;
  std::int64_t nodes = 0, unmodelled_nodes = 0;
  Counters counters;
  OpCost cost;  // the same as formulas, where these were asked for
  std::optional<double> seconds;
};

// A kernel of the traffic model: rows that run together.
struct GroupRow {
  std::size_t index;  // in Traffic::groups
  const TrafficGroup* group;
  std::string name;  // of its first contraction, else of its first row
  std::string ops;   // "Conv+Relu"
  Counters counters;
  const RowBound* bound = nullptr;
};

struct Data {
  const Model& model;
  const Analysis& analysis;
  const ReportOptions& options;
  Counters totals;
  Number activation_peak_bytes;
  std::optional<double> intensity;  // of the totals; empty where they are only lower bounds
  std::vector<NodeRow> nodes;       // chosen and sorted as the options say; empty by type and by group
  std::vector<TypeRow> types;       // empty unless by type
  std::vector<GroupRow> groups;     // empty unless by group
  OpCost cost;                      // of the totals, with the bytes of the traffic model

  const TimeSection* time() const { return options.sections.time; }
  TrafficModel traffic() const {
    return options.sections.traffic == nullptr ? TrafficModel::Unfused : options.sections.traffic->model;
  }
  bool published() const { return options.count == Convention::Pagoda; }
};
Data collect(const Model& model, const Analysis& analysis, const ReportOptions& options);

// "Conv", "com.microsoft.FusedMatMul".
std::string qualified(const std::string& domain, const std::string& op_type);
// "float32[1,3,224,224]"; "float32" when the rank is unknown.
std::string type_text(const TensorType& type);
// What the time bound stands on: "NVIDIA H200 (float16)".
std::string device_text(const TimeSection& time);
// How FLOPs are formed, in words.
std::string_view meaning(Convention count);

// The rows as printable cells, for the table and for Markdown.
base::Grid row_grid(const Data& data);
// The totals: what, exact, rounded.
base::Grid totals_grid(const Data& data);
// "resnet50.onnx", "pytorch 2.4 · opset 17 · …".
std::string title(const Data& data);
std::string subtitle(const Data& data);
// The parts of a training step in the order of reports, and the step: name in JSON, cost.
std::vector<std::pair<std::string_view, const OpCost*>> step_parts(const Training& training);
// The step and its memory as printable cells.
base::Grid training_grid(const Data& data);
base::Grid training_memory_grid(const Data& data);
// Formulas of the totals: what, formula.
std::vector<std::pair<std::string, std::string>> total_formulas(const Data& data);
// Of each row that has any work.
struct RowFormulas {
  std::string row;
  Formulas formulas;
};
std::vector<RowFormulas> row_formulas(const Data& data);
// A grid as a table of GitHub-flavoured Markdown; names from files as code spans.
std::string markdown_table(const base::Grid& grid);
std::string code(std::string_view text);
// "boxes: number of selected boxes, decided at nms, at most 1000", printable.
std::string symbol_text(const Symbol& symbol);

}  // namespace pagoda::present::report
