// What all reports of an estimate show: rows that are chosen and sorted, and what stands in their cells.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pagoda/base/text.h"
#include "pagoda/present/report.h"

namespace pagoda::present::report {

using documents::Count;
using documents::EstimateCounts;
using documents::EstimateDocument;
using documents::EstimateFormulas;
using documents::EstimateNode;
using documents::EstimateTotals;
using documents::EstimateType;
using documents::type_name;

// A kernel of the traffic model: nodes that run together.
struct GroupRow {
  std::size_t index;  // in EstimateTraffic::groups
  const documents::EstimateGroup* group;
  std::string name;  // of its first contraction, else of its first node
  std::string ops;   // "Conv+Relu"
  const documents::EstimateNode* main = nullptr;  // that contraction, else that node
  const RowBound* bound = nullptr;
};

// The rows that the options choose, sorted as they say; all but one list are empty.
struct Data {
  const EstimateDocument& estimate;
  const ReportOptions& options;
  std::vector<const EstimateNode*> nodes;
  std::vector<const EstimateType*> types;
  std::vector<GroupRow> groups;

  TrafficModel traffic() const { return estimate.traffic ? estimate.traffic->model : TrafficModel::Unfused; }
  bool counts_macs() const { return estimate.count == Convention::Macs; }
  bool published() const { return estimate.count == Convention::Pagoda; }
};
Data collect(const EstimateDocument& estimate, const ReportOptions& options);
GroupRow group_row(const EstimateDocument& estimate, std::size_t id);

// "float32[1,3,224,224]"; "float32" when the rank is unknown.
std::string type_text(const TensorType& type);
// What the time bound stands on: "NVIDIA H200 (float16)".
std::string device_text(const documents::EstimateRoofline& roofline);
// How FLOPs are formed, in words.
std::string_view meaning(Convention count);
// What is counted, one of it: "FLOP"; "MAC" where multiply-accumulates alone are.
std::string operation(Convention count);

// "1.2 ms … 1.4 ms for 90 % of models", or why there is no interval. Of a roofline with a prediction.
std::string interval_text(const documents::EstimateRoofline& roofline);
// Of 1, as a percentage without its sign: "12.3", "<0.1".
std::string share_cell(double share);
// "1.23 GB"; "?" for what is not known.
std::string cell(const Count& value, std::string_view unit = "");

// "memory bounds 74.9 % of it": where the least time goes.
std::string split_text(const documents::EstimateRoofline& roofline);
// "at most 3.81 kitems/s": of a run that takes `seconds`.
std::string rate_text(const EstimateDocument& estimate, double seconds);

// What a person asks first, as lines and as cells.
std::string answer(const Data& data);
base::Grid answer_grid(const Data& data);
// EstimateDocument::variants, and which of their differences matters most.
base::Grid variants_grid(const std::vector<documents::EstimateVariant>& variants);
std::string decisive(const std::vector<documents::EstimateVariant>& variants);

// The rows as printable cells, for the table and for Markdown.
base::Grid row_grid(const Data& data);
// The totals: what, exact, rounded.
base::Grid totals_grid(const Data& data);
// The memory plan alone.
base::Grid memory_grid(const documents::EstimateMemory& plan);
// "resnet50.onnx", "pytorch 2.4 · opset 17 · …".
std::string title(const EstimateDocument& estimate);
std::string subtitle(const EstimateDocument& estimate);
// Limits: which, met or not, what was found and why.
base::Grid budgets_grid(const std::vector<documents::EstimateBudget>& budgets);
// The step and its memory as printable cells.
base::Grid training_grid(const documents::EstimateDocument& estimate);
base::Grid training_memory_grid(const documents::EstimateTraining& training);
// FLOPs of some work, by Convention::Flops whatever the estimate counts.
Count flops_of(const documents::EstimateWork& work);
// Formulas of the totals: what, formula.
std::vector<std::pair<std::string, std::string>> total_formulas(const EstimateDocument& estimate);
// Of each row that has any work.
struct RowFormulas {
  std::string row;
  EstimateFormulas formulas;
};
std::vector<RowFormulas> row_formulas(const Data& data);
// A grid as a table of GitHub-flavoured Markdown; names from files as code spans.
std::string markdown_table(const base::Grid& grid);
std::string code(std::string_view text);
// "boxes: number of selected boxes, decided at nms, at most 1000", printable.
std::string symbol_text(const Symbol& symbol);

}  // namespace pagoda::present::report
