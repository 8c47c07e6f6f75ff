// Shared parts of all reports of an estimate: the selected, sorted rows and the contents of their cells.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pagoda/base/text.h"
#include "pagoda/core/conventions.h"
#include "pagoda/documents/columns.h"
#include "pagoda/present/report.h"
#include "report/cells.h"

namespace pagoda::present::report {

using documents::Count;
using documents::EstimateCounts;
using documents::EstimateDocument;
using documents::EstimateFormulas;
using documents::EstimateNode;
using documents::EstimateTotals;
using documents::has_predicted_rows;

inline constexpr const char* kSiUnits = "SI units: 1 kB is 1000 B, 1 M is 10^6\n";

// The rows selected and sorted by the options.
struct Data {
  const EstimateDocument& estimate;
  const ReportOptions& options;
  documents::RowKind kind = documents::RowKind::Node;
  std::vector<Row> rows;
  // Kernels that are alike, as one row: their sum, and the name of each row with the number of them: "…/MatMul ×12".
  struct Sum {
    EstimateCounts counts;
    RowBound bound;
    documents::EstimateGroup kernel;
  };
  std::deque<Sum> sums = {};
  std::vector<std::string> names = {};

  TrafficModel traffic() const { return estimate.traffic ? estimate.traffic->model : TrafficModel::Unfused; }
  bool counts_macs() const { return estimate.count == Convention::Macs; }  // only multiply-accumulates
  bool published() const { return is_published(estimate.count); }
};
Data collect(const EstimateDocument& estimate, const ReportOptions& options);
// The same for people: the heaviest kernels, with those that are alike in one row.
Data collect_folded(const EstimateDocument& estimate, const ReportOptions& options);
// The rows as printable cells; on a terminal operators lose their domain where only one domain has their name.
base::Grid shown_grid(const Data& data);

// The device of the time bound: "NVIDIA H200 (float16)".
std::string device_text(const documents::EstimateRoofline& roofline);
// The meaning of a FLOP, in words.
std::string_view meaning(Convention count);
// The counted unit: "FLOP"; "MAC" if only multiply-accumulates count.
std::string operation(Convention count);

// "1.2 ms … 1.4 ms for 90 % of models", or why there is no interval. The roofline must have a prediction.
std::string interval_text(const documents::EstimateRoofline& roofline);
// "while the host has the processors on different caches, as in 25 % of the calibration's rounds".
std::string placement_text(const EnginePlacement& placement);
// A share of 1 as a percentage without its sign: "12.3", "<0.1".
std::string share_cell(double share);
std::string percent_of(double part, double whole);  // "12.3 %"
// The texts that are not empty: "a · b".
std::string dotted(const std::vector<std::string>& texts);
// FLOPs per byte with thousands separators: "1,011", "0.125".
std::string intensity_text(double flops_per_byte);
// What a provider takes and copies, in three lines; and why nodes are left.
std::vector<std::string> placement_lines(const documents::EstimateDocument& estimate,
                                         const documents::EstimatePlacement& placed);
// One row a provider, for several of them.
base::Grid placements_grid(const documents::EstimateDocument& estimate);
// Providers with which the runtime refuses the model, and why.
std::vector<std::string> refused_lines(const documents::EstimateDocument& estimate);
bool has_reasons(const documents::EstimateDocument& estimate);
// What ONNX Runtime fuses, and a row for each pattern and condition that keeps nodes from being fused; no lines: it was
// not asked.
std::vector<std::string> fused_lines(const documents::EstimateDocument& estimate);
base::Grid unfused_grid(const documents::EstimateDocument& estimate);
// Why nodes are on the CPU, provider by provider.
base::Grid reasons_grid(const documents::EstimateDocument& estimate);
// The share of a device's memory, with as many digits as tell it from all of it: "100.3 %" does not fit.
std::string memory_share(double used, double whole);
// "1.23 GB"; "≥ 1.23 GB" if it is only a lower bound; "?" if unknown.
std::string cell(const Count& value, std::string_view unit = "");
// The same exactly: "≥ 1,234".
std::string exact_cell(const Count& value);
// Why counts and times are lower bounds although every node is modelled: "12 sizes that the data decide are taken as
// 1". Empty if they are not.
std::string why_at_least(const EstimateDocument& estimate);

// A name with every number replaced by '#': layers that are alike share it.
std::string without_numbers(std::string_view name);
// The common pattern of names that are alike, with '*' for the numbers that differ: "layers.*/conv/Conv".
std::string common_name(const std::string& a, std::string_view b);

// Layers with the same operators, counts and time, whose names differ only in numbers.
struct Folded {
  std::string name, first, ops;  // name: the common pattern, or as name_first() says; first: that of the first layer
  std::size_t times = 0;
  double weight = 0;  // total seconds as predicted, else as bounded on the device, else total FLOPs
  const RowBound* bound = nullptr;
};

// Rows that no reader could tell apart by their pattern ("Conv_*" of nine convolutions and of four), and those without
// a module path, get the name of their first layer: "Conv_3, …".
void name_first(std::vector<Folded>& rows);

struct FoldedRows {
  std::vector<Folded> rows;  // the heaviest first
  double total = 0;          // of their weights
};
// Weighted by predicted time, else by the bound, else by work.
FoldedRows folded_rows(const EstimateDocument& estimate);

// Rows of at most `width` columns, of which the first `margin` are taken, broken at " · "; one row if `width` is 0.
std::vector<std::string> wrapped(const std::string& text, std::size_t width, std::size_t margin = 0);
// The verdict in one line, or in more on a narrow terminal: "time  635 µs fused (floor 571; 2.10 ms unfused) · …".
// Empty without a verdict.
std::string headline_text(const EstimateDocument& estimate, std::size_t width);
// The answer to the first questions (work, memory, fit, time …), as lines and as cells.
std::string answer(const Data& data);
base::Grid answer_grid(const Data& data);
// The facts common to all rows of a table over numbers of devices; empty for other tables.
std::string above_variants(const documents::EstimateDocument& estimate);
// The choice between variants that changes the time most, and other remarks on them.
std::string decisive(const documents::EstimateDocument& estimate);

// A time of one side of a comparison.
enum class TimeKind : std::uint8_t { Bound, Predicted, Measured };
struct ComparedTime {
  double seconds = 0;                         // of a run
  std::optional<double> low = {}, high = {};  // of a prediction or of repeated runs
  std::optional<double> flops = {};           // of a run
  std::optional<double> units = {};           // items or tokens of a run
  bool are_tokens = false;
  std::vector<std::string> basis = {};  // {"fused", "float16"}
};
struct TimeChange {
  std::string verdict;  // "lower bound an item 10.8× lower"; "1.3× faster" only if the intervals do not overlap
  std::string times;    // "125 µs → 11.6 µs, fused"
};
// Times are of an item or a token if the work of a run differs by more than 5 %, or the number of its items.
TimeChange time_change(TimeKind kind, const ComparedTime& before, const ComparedTime& after);
// The verdict on two estimates, and what else they differ in: precision, traffic, work, the other traffic model,
// launches.
struct Contrast : TimeChange {
  std::vector<std::string> remarks;
};
Contrast contrast(const EstimateDocument& before, const EstimateDocument& after);

// "3 nodes not modelled: Concat", or that the model cannot run at these sizes; empty if all nodes are modelled.
std::string unmodelled_text(const EstimateDocument& estimate);

// The totals: name, exact value, rounded value.
base::Grid totals_grid(const Data& data);
// Only the memory plan.
base::Grid memory_grid(const documents::EstimateMemory& plan);
// "resnet50.onnx", "pytorch 2.4 · opset 17 · …".
std::string title(const EstimateDocument& estimate);
std::string subtitle(const EstimateDocument& estimate);
// Budgets: the limit, whether it is met, the value found, and why.
base::Grid budgets_grid(const std::vector<BudgetResult>& budgets);
// The memory of a training step.
base::Grid training_memory_grid(const documents::EstimateTraining& training);
// A grid as a GitHub-flavoured Markdown table; names from files are code spans.
std::string markdown_table(const base::Grid& grid);
std::string code(std::string_view text);

}  // namespace pagoda::present::report
