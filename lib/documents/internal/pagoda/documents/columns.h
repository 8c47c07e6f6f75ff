// Columns of results. Nodes, kernels and types are rows, and one table (columns.cpp) describes every column that a row
// can have: its name, unit, meaning and value, and the outputs that show it. CSV, tables, comparisons, viewers, Python
// and the page list no columns of their own.
//
//   for (const ResultColumn* column : columns_of(RowKind::Node, View::Csv, estimate))
//     for (const Row& row : rows_of(estimate, RowKind::Node)) std::cout << column->name;
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "pagoda/documents/estimate.h"

#pragma GCC visibility push(default)
namespace pagoda::documents {

namespace members {
class Reader;
class Writer;
}  // namespace members

enum class RowKind : std::uint8_t {
  Node,            // EstimateDocument::nodes
  Kernel,          // EstimateTraffic::groups
  Type,            // EstimateDocument::types
  Total,           // the whole model
  AtLoad,          // EstimateTotals::at_load
  Part,            // a part of a training step: forward, dx, dw, the optimizer …
  Backward,        // of a node: EstimateTraining::Node::dx and dw
  Point,           // of a sweep
  PublishedPoint,  // the same in the tables of the published estimator
  Variant,         // EstimateDocument::variants
  Dot,             // of a chart: rows of the same work; the page's script computes its cells
  // Times, which JSON lists apart.
  NodeTime,    // EstimateRoofline::rows
  KernelTime,  // EstimateRoofline::groups
  StepTime,    // EstimateTraining::rows
  Run,         // EstimateRoofline::totals
};

// A set of row kinds.
struct RowKinds {
  std::uint16_t bits = 0;

  constexpr RowKinds() = default;
  constexpr RowKinds(RowKind kind) : bits(static_cast<std::uint16_t>(1U << static_cast<unsigned>(kind))) {}
  constexpr bool contains(RowKind kind) const { return (bits & RowKinds(kind).bits) != 0; }
  friend constexpr RowKinds operator|(RowKinds a, RowKinds b) {
    a.bits |= b.bits;
    return a;
  }
};
constexpr RowKinds operator|(RowKind a, RowKind b) { return RowKinds(a) | RowKinds(b); }

// One row of an estimate. Only the parts that its kind has are set.
struct Row {
  const EstimateDocument* estimate = nullptr;
  RowKind kind = RowKind::Node;
  std::size_t index = 0;  // in its list
  const EstimateNode* node = nullptr;
  const EstimateGroup* kernel = nullptr;
  const EstimateType* type = nullptr;
  const EstimateCounts* counts = nullptr;
  const EstimateFormulas* symbolic = nullptr;
  const RowBound* bound = nullptr;  // null without a device
  // Of a node in a training step: its work, and the bounds of its parts.
  const EstimateTraining::Node* training = nullptr;
  std::array<const RowBound*, 3> step = {};  // forward, dx, dw
  const EstimateTraining::Row* step_row = nullptr;
  const RooflineTotals* run = nullptr;  // the times of a run
  const EstimatePoint* point = nullptr;
  const EstimateVariant* variant = nullptr;
  std::optional<double> predicted_seconds = {};
  std::optional<double> measured_seconds = {};  // set by the caller, who joins the run

  // The bound's time if it is known.
  std::optional<double> seconds() const;
  // A kernel's nodes, except those that a file leaves out; a node itself.
  std::vector<const EstimateNode*> nodes() const;
  // The heaviest of them.
  const EstimateNode* main_node() const;
  // Its name in outputs for people: that of main_node(), of a type that of its operator.
  std::string shown_name() const;
  // "Conv", of a kernel "Conv+Relu".
  std::string operators() const;
};

// All rows of a kind, in the order of the estimate: of nodes, kernels, types, points or variants. The estimate must
// have such a list.
std::vector<Row> rows_of(const EstimateDocument& estimate, RowKind kind);
Row node_row(const EstimateDocument& estimate, const EstimateNode& node);
Row kernel_row(const EstimateDocument& estimate, std::size_t index);
Row total_row(const EstimateDocument& estimate);  // without times

// The node that names a kernel of several nodes: the one with the most multiply-accumulates, else the one that moves
// the most bytes alone; the first of equal ones. Null without nodes.
const EstimateNode* heaviest_node(std::span<const EstimateNode* const> nodes);

// "float16", or "float32 (file)" where none was asked for: that of most work. An engine that fuses computes in the
// format that quantised operands have.
std::string precision_text(Precision asked, std::string_view of_most_work);
std::string precision_text(const EstimateDocument& estimate, TrafficModel traffic,
                           const std::optional<Precision>& asked);

// The least time of one of the variants as it compares with the others: with launches, if those of all devices are
// known.
std::optional<double> compared_seconds(const std::vector<EstimateVariant>& variants, const EstimateVariant& variant);
// A rate or price of the variant's time bound, at that time.
inline std::optional<double> at_compared_seconds(const std::vector<EstimateVariant>& variants,
                                                 const EstimateVariant& variant, const std::optional<double>& rate) {
  const std::optional<double> seconds = compared_seconds(variants, variant);
  return rate && seconds && *seconds > 0 ? std::optional(*rate * (*variant.seconds / *seconds)) : rate;
}

// Whether an engine's prediction has a time for each node.
bool has_predicted_rows(const EstimateDocument& estimate);

// A count that is only a lower bound.
struct AtLeast {
  Int value = 0;
  bool operator==(const AtLeast&) const = default;
};
// A value of a row; std::monostate: not known, or the row has none.
using Cell = std::variant<std::monostate, Int, double, bool, std::string_view, std::string, std::vector<std::string>,
                          std::vector<Int>, AtLeast>;
std::optional<double> number(const Cell& cell);  // empty for texts
// The integer of a cell, exact or a lower bound; null if it has none.
const Int* whole(const Cell& cell);
Cell to_cell(const Count& count);

// What a column measures. It decides how outputs for people print a cell.
enum class CellKind : std::uint8_t {
  Text,
  Texts,
  Number,  // an index or a number of rows
  Size,    // the same, which may be large
  Count,   // operations or elements
  Bytes,
  Seconds,
  Joules,
  Rate,       // per second, or per joule
  Intensity,  // operations per byte
  Factor,     // how many times
  Ratio,
  Share,    // 0 to 1
  Portion,  // 0 to 1, printed with its sign
  Percent,  // 0 to 100
  Flag,
  Formula,
};

std::string_view unit(CellKind kind);  // "B", "s", "%"; empty for plain numbers and texts

enum class View : std::uint8_t { Json, Csv, Terminal, Viewer, Comparison, Python };
inline constexpr std::size_t kOutputs = 6;

// How a terminal or the page shows a column. In a header, FLOP stands for what EstimateDocument::count counts, "items"
// and "an item" for tokens in a language model's phase, {engine} and {prompt} for those of the variants.
struct Terminal {
  const char* header = nullptr;
  int drop_order = 0;              // as in base::Column
  std::size_t shortest_width = 0;  // as in base::Column
  const char* unknown = "?";
  bool hides_zero = false;
  bool is_sparse = false;  // not shown if no row has a value
};

struct ResultColumn;

// How to get a column's value, and to write and read it as a member of JSON. A derived value is written, and skipped by
// readers.
struct Access {
  Cell (*cell)(const Row& row) = nullptr;
  void (*write)(members::Writer& json, const ResultColumn& column, const Row& row) = nullptr;
  // Into the parts that `row` points to, which belong to a document that is being read.
  void (*read)(members::Reader& json, const ResultColumn& column, const Row& row) = nullptr;
};

struct ResultColumn : Access {
  const char* name;  // in files and Python
  CellKind kind;
  const char* meaning;
  std::array<RowKinds, kOutputs> kinds = {};     // by output: rows that show it
  std::array<const char*, kOutputs> after = {};  // by output: follows this column instead of its place in the table
  bool (*when)(const EstimateDocument& estimate) = nullptr;              // null: always
  bool (*when_in_terminal)(const EstimateDocument& estimate) = nullptr;  // in addition
  bool is_left_out = false;                                              // of JSON, if it is empty
  bool is_choice = false;  // of a variant: known even if its devices cannot share the model
  Terminal terminal = {};
  const char* label = nullptr;   // in viewers
  const char* remedy = nullptr;  // what a request lacks if no row has a value

  constexpr bool is_in(View output, RowKind row) const { return kinds[static_cast<std::size_t>(output)].contains(row); }
  // Whether the column depends on a device.
  bool is_timed() const;
};

// The whole table.
std::span<const ResultColumn> all_columns();
// The columns of an output in its order.
std::vector<const ResultColumn*> columns_of(RowKind kind, View output);
// The same without those that this estimate lacks, and without formulas unless they were asked for.
std::vector<const ResultColumn*> columns_of(RowKind kind, View output, const EstimateDocument& estimate,
                                            bool has_formulas = false);

}  // namespace pagoda::documents
#pragma GCC visibility pop
