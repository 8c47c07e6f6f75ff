// Reports: one estimate as a readable table, CSV or Markdown; documents::write_estimate() makes JSON.
//
//   documents::EstimateDocument estimate = estimate::make_estimate(load_model("resnet50.onnx"));
//   std::string text = table_report(estimate, {.top = 10, .width = 100});
//
// Reports are pure functions of their arguments: sorted, independent of the locale, without dates. If dims are free,
// the numbers take each free dim (and each data-dependent size) as 1, and formulas give the general case.
// An unknown number is null in JSON, empty in CSV and "?" in the others, never 0. Names from the file may contain any
// bytes: JSON escapes them, the other formats show control characters as \x1b and the like.
//
// data/schemas/estimate.schema.json describes the JSON; csv_report() below describes the columns of CSV.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pagoda/core/diagnostic.h"
#include "pagoda/core/structure.h"
#include "pagoda/documents/estimate.h"
#include "pagoda/estimate/compare.h"
#include "pagoda/estimate/pipeline.h"

#pragma GCC visibility push(default)
namespace pagoda::estimate {
struct EngineTable;
}  // namespace pagoda::estimate
namespace pagoda::present {

enum class Rows : std::uint8_t {
  None,   // only the answer: work, memory, fit, time, advice, the heaviest kernels; CSV lists nodes
  Node,   // one row per node, in execution order
  Type,   // one row per operator type, heaviest first; the estimate must contain them
  Group,  // one row per kernel of the estimate's traffic model
};

struct ReportOptions {
  Rows rows = Rows::Node;
  std::size_t top = 0;  // show only this many rows: those with the most predicted time, else bound, else FLOPs; 0: all
  bool formulas = false;      // of the totals, and of the rows that have them
  bool row_formulas = false;  // adds formula columns to CSV
  std::size_t width = 0;      // columns of the terminal; 0: unlimited

  bool has_rows() const { return rows != Rows::None; }
};

enum class Format : std::uint8_t { Table, Json, Csv, Markdown };
std::optional<Format> format(std::string_view name);  // "table", "json", "csv", "markdown"

// The verdict that every output begins with: "635 µs fused (floor 571; 2.10 ms unfused), memory-bound for 75 % of the
// time; fits: 286 MB of 141 GB". Empty without a device, unless sizes must be set first.
std::string headline(const documents::EstimateDocument& estimate);

// Aligned text with SI units (1 kB = 1000 B) and a block of totals.
std::string table_report(const documents::EstimateDocument& estimate, const ReportOptions& options = {});

// The same content as GitHub-flavoured Markdown tables.
std::string markdown_report(const documents::EstimateDocument& estimate, const ReportOptions& options = {});

// RFC 4180 with a header, one line per row (CRLF), exact integers, no totals. The columns are those of
// documents/columns.h (docs/columns.md lists them); lists are joined by ';'. Text from the file passes through
// printable(); text that begins with = + - @ gets a ' in front, since spreadsheets would run it. The last row of a
// training step is its optimizer. Several devices, precisions or traffic models have a row each.
std::string csv_report(const documents::EstimateDocument& estimate, const ReportOptions& options = {});

// The estimate's sweep, one row per point. For a training step, param_bytes counts everything that is held throughout
// the step. JSON is the whole estimate with the sweep inside. CSV begins with the model and each dim;
// Convention::Pagoda has the columns of its published tables.
std::string sweep_report(Format format, const documents::EstimateDocument& estimate, const ReportOptions& options = {});

// Compares two models: the verdict, totals side by side, then the blocks that differ. JSON also lists all pairs of
// nodes and kernels; CSV lists those of kernels or, without kernels, of nodes. A delta is after − before. JSON is
// "pagoda.comparison/1".
std::string comparison_report(Format format, const documents::EstimateDocument& before,
                              const documents::EstimateDocument& after, const estimate::Comparison& comparison,
                              const ReportOptions& options = {});

// Models that run one after another: one row per model, then the time of one result and its memory, both with all
// weights on the device and with the weights of one model at a time. JSON is "pagoda.pipeline/1". Columns of CSV, for
// one run of each model:
//   model,runs,macs,flops,bytes,params,weight_bytes,activation_peak_bytes,seconds,predicted_seconds
std::string pipeline_report(Format format, const estimate::Pipeline& pipeline, const ReportOptions& options = {});

// Engines, machines and forms of a network: the verdict, a row for each, and the reasons. JSON is "pagoda.engines/1".
std::string engines_report(Format format, const estimate::EngineTable& table, const ReportOptions& options = {},
                           const std::string& tool = {});

// CSV is a header and one row of features; JSON is "pagoda.structure/1" and also contains the maps and `tool`.
std::string structure_report(Format format, const StructureProfile& profile, const std::string& tool = {});

// Bytes of live activations at each step: CSV "step,node,name,op_type,bytes", or an SVG chart. The estimate must have a
// memory plan.
std::string memory_timeline_csv(const documents::EstimateDocument& estimate);
std::string memory_timeline_svg(const documents::EstimateDocument& estimate);

// One line per budget: "flops: exceeds 5GFLOP, found 8.18 G".
// "off cuda: exceeds 2 %, found 22.3 % of the nodes that run\n"; `most` is a part, 0 … 1.
std::string off_provider_report(const documents::EstimatePlacement& placement, double most);
std::string budgets_report(const std::vector<BudgetResult>& budgets);

// What this build supports.
enum class List : std::uint8_t {
  Devices,    // built-in devices: id, name, peaks of the usual precisions, bandwidth, capacity
  Operators,  // operators with a rule: domain, name and cost
  Engines,    // engines whose times can be predicted
};
// As columns, or as JSON "pagoda.list/1". Throws Error for other formats.
std::string list_report(Format format, List list, std::size_t width = 0, const std::string& tool = {});

// One line per diagnostic of severity `least` or above: at most `limit` lines, then the number of further ones. Nodes
// that are unknown only because an earlier node is unknown share one line.
std::string diagnostics_report(const std::vector<Diagnostic>& diagnostics, Severity least = Severity::Warning,
                               std::size_t limit = 20);

// The values assumed for sizes that are not set, and how to set them; empty if all sizes are set.
std::string free_dims_report(const documents::EstimateDocument& estimate);

}  // namespace pagoda::present
#pragma GCC visibility pop
