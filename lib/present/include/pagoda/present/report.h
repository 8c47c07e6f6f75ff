// Reports: one estimate as a table for people, or as CSV or Markdown; documents::write_estimate() makes JSON.
//
//   documents::EstimateDocument estimate = documents::make_estimate(load_model("resnet50.onnx"));
//   std::string text = table_report(estimate, {.top = 10, .width = 100});
//
// Reports are pure functions of their arguments: sorted, independent of the locale, without dates. Where dims are
// free, numbers are those with each free dim (and each size that the data decide) at 1, and formulas say the rest.
// A number that is not known is null in JSON, empty in CSV and "?" in the others; it is never 0. Names from the file
// may hold any bytes: JSON escapes them, the other formats show control characters as \x1b and the like.
//
// JSON is described by data/schemas/estimate.schema.json, the columns of CSV at csv_report().
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pagoda/core/diagnostic.h"
#include "pagoda/core/structure.h"
#include "pagoda/documents/compare.h"
#include "pagoda/documents/estimate.h"
#include "pagoda/documents/pipeline.h"

#pragma GCC visibility push(default)
namespace pagoda::present {

enum class Rows : std::uint8_t {
  None,   // the answer alone: work, memory, fit, time, what next, the heaviest kernels; CSV lists nodes
  Node,   // one row a node, in execution order
  Type,   // one row an operator, heaviest first; the estimate must have them
  Group,  // one row a kernel of the estimate's traffic
};

struct ReportOptions {
  Rows rows = Rows::Node;
  std::size_t top = 0;        // only the rows with the most time, or without a device FLOPs, those first; 0: all
  bool formulas = false;      // of the totals, and of the rows that have them
  bool row_formulas = false;  // columns of CSV
  std::size_t width = 0;      // columns of the terminal; 0: as wide as it takes

  bool has_rows() const { return rows != Rows::None; }
};

enum class Format : std::uint8_t { Table, Json, Csv, Markdown };
std::optional<Format> format(std::string_view name);  // "table", "json", "csv", "markdown"

// Aligned text with SI units (1 kB = 1000 B) and a block of totals.
std::string table_report(const documents::EstimateDocument& estimate, const ReportOptions& options = {});

// The same as tables of GitHub-flavoured Markdown.
std::string markdown_report(const documents::EstimateDocument& estimate, const ReportOptions& options = {});

// RFC 4180 with a header, one line a row (CRLF), exact integers, no totals. Columns by node:
//   index,name,op_type,domain,scope,inputs,outputs,macs,arith,special,comparisons,flops,params,param_bytes,bytes_read,
//   bytes_written,bytes,intensity,precision,mark,problem
// where inputs are names and outputs are name:type[shape], joined by ';'. Texts from the file are printable(), and
// those that begin with = + - @ get a ' in front, or spreadsheets would run them. Columns by type:
//   op_type,domain,nodes,unmodelled_nodes,macs … intensity as above
// by kernel, whose nodes are joined by ';':
//   index,kernel,ops,nodes,macs … intensity as above,saved_bytes,rule
// On a device seconds,compute_seconds,memory_seconds,bound,share,headroom follow (by type seconds), of a training step
// dx_macs,dx_flops,dx_bytes,dw_macs,dw_flops,dw_bytes,gradient_bytes,kept_bytes,recomputed by node, and with row_formulas
// macs_formula,flops_formula,bytes_formula.
std::string csv_report(const documents::EstimateDocument& estimate, const ReportOptions& options = {});

// The estimate's sweep, one row a point; of a training step param_bytes are all that is held throughout. JSON is the
// whole estimate with the sweep inside. Columns of CSV: model, each dim, macs,
// flops,param_bytes,bytes_read,bytes_written,bytes,intensity,activation_peak_bytes,memory_bytes, and on a device
// seconds,eager_seconds,floor_seconds,bound,flops_per_second,items,items_per_second, with measured runs
// measured_seconds,measured_flops_per_second,measured_bytes_per_second,measured_joules,measured_flops_per_joule,
// bound_share; for Convention::Pagoda as its published tables have them: model,batch,ai,perf (FLOP/s as measured, else
// at the time bound; empty without either),flops,param_bytes,bytes,param_fraction, with measured runs bound_perf and
// the columns above.
std::string sweep_report(Format format, const documents::EstimateDocument& estimate, const ReportOptions& options = {});

// Two models: totals side by side, then the kernels that differ, or without kernels the nodes; JSON and CSV have all.
// Deltas are after − before. JSON is "pagoda.comparison/1".
std::string comparison_report(Format format, const documents::EstimateDocument& before,
                              const documents::EstimateDocument& after, const documents::Comparison& comparison,
                              const ReportOptions& options = {});

// Models that run one after another: a row each, then the time of a result and the memory it takes, with all weights on
// the device and with those of one model at a time. JSON is "pagoda.pipeline/1". Columns of CSV, of one run each:
//   model,runs,macs,flops,bytes,params,weight_bytes,activation_peak_bytes,seconds,predicted_seconds
std::string pipeline_report(Format format, const documents::Pipeline& pipeline, const ReportOptions& options = {});

// One row of features, with a header: CSV; JSON is "pagoda.structure/1" and holds the maps and `tool`, too.
std::string structure_report(Format format, const StructureProfile& profile, const std::string& tool = {});

// Bytes of activations alive at each step, "step,node,name,op_type,bytes", or an SVG chart of them. The estimate must
// have a memory plan.
std::string memory_timeline_csv(const documents::EstimateDocument& estimate);
std::string memory_timeline_svg(const documents::EstimateDocument& estimate);

// A line a budget: "flops: exceeds 5GFLOP, found 8.18 G".
std::string budgets_report(const std::vector<documents::EstimateBudget>& budgets);

// What this build knows.
enum class List : std::uint8_t {
  Devices,    // built in: id, name, peaks of the usual precisions, bandwidth, capacity
  Operators,  // that have a rule: domain, name and what each costs
  Engines,    // that predictions can be of
};
// In columns, or as JSON, "pagoda.list/1". Throws Error for other formats.
std::string list_report(Format format, List list, std::size_t width = 0, const std::string& tool = {});

// One line a diagnostic of `least` severity or above, at most `limit` and then how many more. Nodes that are unknown
// only because one before them is are one line together.
std::string diagnostics_report(const std::vector<Diagnostic>& diagnostics, Severity least = Severity::Warning,
                               std::size_t limit = 20);

// What the numbers take for sizes that nothing sets, and how to set them; empty where all sizes are set.
std::string free_dims_report(const documents::EstimateDocument& estimate);

}  // namespace pagoda::present
#pragma GCC visibility pop
