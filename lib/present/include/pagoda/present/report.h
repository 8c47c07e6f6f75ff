// Reports: one analysis as a table for people, or as JSON, CSV or Markdown.
//
//   Model model = load_model("resnet50.onnx");
//   Analysis analysis = analyze(model);
//   std::string text = table_report(model, analysis, {.top = 10, .width = 100});
//   write_file("resnet50.json", json_report(model, analysis, {.tool = "my-tool 1.0"}));
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

#include "pagoda/base/files.h"
#include "pagoda/base/text.h"
#include "pagoda/core/analyze.h"
#include "pagoda/core/budget.h"
#include "pagoda/core/compare.h"
#include "pagoda/core/conventions.h"
#include "pagoda/core/cost.h"
#include "pagoda/core/decoder.h"
#include "pagoda/core/device.h"
#include "pagoda/core/diagnostic.h"
#include "pagoda/core/graph.h"
#include "pagoda/core/memory.h"
#include "pagoda/core/roofline.h"
#include "pagoda/core/structure.h"
#include "pagoda/core/sweep.h"
#include "pagoda/core/traffic.h"
#include "pagoda/core/train.h"
#include "pagoda/documents/describe.h"

#pragma GCC visibility push(default)
namespace pagoda::present {

enum class Rows : std::uint8_t {
  Node,   // one row a node, in execution order
  Type,   // one row an operator, most FLOPs first
  Group,  // one row a kernel of Sections::traffic; JSON lists nodes beside their groups, CSV nodes
};

using documents::PhaseSection;
using documents::Sections;
using documents::TimeSection;
using documents::TrainingSection;

struct ReportOptions {
  Convention count = Convention::Flops;  // what "flops" are
  // For Convention::Pagoda: its counts, which replace flops, param_bytes and bytes.
  std::optional<PagodaCounts> published = std::nullopt;
  Rows rows = Rows::Node;
  std::size_t top = 0;         // only the rows with the most FLOPs, those first; 0: all
  bool formulas = false;       // totals as formulas, also where no dim is free
  bool node_formulas = false;  // and each row
  std::size_t width = 0;       // columns of the terminal; 0: as wide as it takes
  std::string tool = {};       // name and version of the program, for JSON
  Sections sections = {};
};

enum class Format : std::uint8_t { Table, Json, Csv, Markdown };
std::optional<Format> format(std::string_view name);  // "table", "json", "csv", "markdown"

// Aligned text with SI units (1 kB = 1000 B) and a block of totals.
std::string table_report(const Model& model, const Analysis& analysis, const ReportOptions& options = {});

// The same as tables of GitHub-flavoured Markdown.
std::string markdown_report(const Model& model, const Analysis& analysis, const ReportOptions& options = {});

// The document that the options ask for; all rows, whatever `top` says.
documents::EstimateDocument estimate_document(const Model& model, const Analysis& analysis,
                                              const ReportOptions& options = {});

// "pagoda.estimate/1": that document, written.
std::string json_report(const Model& model, const Analysis& analysis, const ReportOptions& options = {});

// RFC 4180 with a header, one line a row (CRLF), exact integers, no totals. Columns by node:
//   index,name,op_type,domain,scope,inputs,outputs,macs,arith,special,comparisons,flops,params,param_bytes,bytes_read,
//   bytes_written,bytes,intensity,precision,mark,problem
// where inputs are names and outputs are name:type[shape], joined by ';'. Texts from the file are printable(), and
// those that begin with = + - @ get a ' in front, or spreadsheets would run them. Columns by type:
//   op_type,domain,nodes,unmodelled_nodes,macs … intensity as above
// With node_formulas, macs_formula,flops_formula,bytes_formula follow.
std::string csv_report(const Model& model, const Analysis& analysis, const ReportOptions& options = {});

// A sweep, one row a point; of step_analysis() for training, where param_bytes are all that is held throughout. JSON is
// the whole estimate with the sweep inside. Columns of CSV: model, each axis, macs,
// flops,param_bytes,bytes_read,bytes_written,bytes,intensity,activation_peak_bytes,memory_bytes, and on a device
// seconds,eager_seconds,floor_seconds,bound,flops_per_second,items,items_per_second; for Convention::Pagoda as its
// published tables have them: model,batch,ai,perf (FLOP/s at the time bound; empty without a
// device),flops,param_bytes,bytes,param_fraction.
std::string sweep_report(Format format, const Model& model, const Analysis& analysis, const Sweep& sweep,
                         const ReportOptions& options = {});

// Two models: totals side by side, then the nodes that differ (all of them in JSON and CSV). Deltas are after − before.
// JSON is "pagoda.comparison/1".
struct ComparedModel {
  const Model& model;
  const Analysis& analysis;
};
std::string comparison_report(Format format, const ComparedModel& before, const ComparedModel& after,
                              const Comparison& comparison, const ReportOptions& options = {});

// One row of features, with a header: CSV; JSON is "pagoda.structure/1" and holds the maps, too.
std::string structure_report(Format format, const StructureProfile& profile, const ReportOptions& options = {});

// Bytes of activations alive at each step, "step,node,name,bytes", or an SVG chart of them.
std::string memory_timeline_csv(const Model& model, const MemoryPlan& plan);
std::string memory_timeline_svg(const Model& model, const MemoryPlan& plan);

// A line a budget: "flops: exceeds 5GFLOP, found 8.18 G".
std::string budgets_report(const std::vector<BudgetResult>& budgets);

// The built-in devices: id, name, peaks of the usual precisions, bandwidth, capacity.
std::string list_devices(std::size_t width = 0);

// The operators that have a rule, a line each: domain, name and what it costs, in columns.
std::string list_operators(std::size_t width = 0);

// One line a diagnostic of `least` severity or above, at most `limit` and then how many more. Nodes that are unknown
// only because one before them is are one line together.
std::string diagnostics_report(const Analysis& analysis, Severity least = Severity::Warning, std::size_t limit = 20);

// The first size that makes no sense with free dims taken as 1, negative or a division by 0, and which to set; empty
// where there is none: "with samples taken as 1, floor_div(samples, 5) - 1 of conv is no size; set --dim samples=V".
std::string impossible_size(const Analysis& analysis);

// What the numbers take for sizes that nothing sets, and how to set them; empty where all sizes are set.
std::string free_dims_report(const Analysis& analysis);

}  // namespace pagoda::present
#pragma GCC visibility pop
