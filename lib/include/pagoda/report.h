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

#include "pagoda/analyze.h"
#include "pagoda/conventions.h"
#include "pagoda/cost.h"
#include "pagoda/graph.h"

namespace pagoda {

enum class Rows : std::uint8_t {
  Node,  // one row a node, in execution order
  Type,  // one row an operator, most FLOPs first
};

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
};

// Aligned text with SI units (1 kB = 1000 B) and a block of totals.
std::string table_report(const Model& model, const Analysis& analysis, const ReportOptions& options = {});

// The same as tables of GitHub-flavoured Markdown.
std::string markdown_report(const Model& model, const Analysis& analysis, const ReportOptions& options = {});

// "pagoda.estimate/1".
std::string json_report(const Model& model, const Analysis& analysis, const ReportOptions& options = {});

// RFC 4180 with a header, one line a row (CRLF), exact integers, no totals. Columns by node:
//   index,name,op_type,domain,scope,inputs,outputs,macs,arith,special,comparisons,flops,params,param_bytes,bytes_read,
//   bytes_written,bytes,intensity,precision,mark,problem
// where inputs are names and outputs are name:type[shape], joined by ';'. Texts from the file are printable(), and
// those that begin with = + - @ get a ' in front, or spreadsheets would run them. Columns by type:
//   op_type,domain,nodes,unmodelled_nodes,macs … intensity as above
// With node_formulas, macs_formula,flops_formula,bytes_formula follow.
std::string csv_report(const Model& model, const Analysis& analysis, const ReportOptions& options = {});

// The operators that have a rule, a line each: domain, name and what it costs, in columns.
std::string list_operators(std::size_t width = 0);

// One line a diagnostic of `least` severity or above, at most `limit` and then how many more.
std::string diagnostics_report(const Analysis& analysis, Severity least = Severity::Warning, std::size_t limit = 20);

// What the numbers take for sizes that nothing sets, and how to set them; empty where all sizes are set.
std::string free_dims_report(const Analysis& analysis);

// `text` without anything that a terminal would obey: control and direction characters become \x1b or \u{202e},
// bytes that are no UTF-8 become U+FFFD.
std::string printable(std::string_view text);

// Writes `text` to a new file beside `path` and renames it to `path`, so that readers see the old file or the whole
// new one. What is no regular file (a pipe, /dev/stdout) is written directly. Throws Error.
void write_file(const std::string& path, std::string_view text);

}  // namespace pagoda
