// Two models side by side.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "pagoda/base/cat.h"
#include "pagoda/base/csv_line.h"
#include "pagoda/base/json_writer.h"
#include "pagoda/base/plural.h"
#include "pagoda/documents/dim_json.h"
#include "report/rows.h"

namespace pagoda::present {
namespace {

using documents::CellKind;
using documents::EstimateDocument;
using documents::EstimateNode;
using estimate::Comparison;
using estimate::Match;
using estimate::RowPair;
using Layout = base::JsonWriter::Layout;

constexpr std::size_t kShown = 10;  // rows shown by default, largest changes first

bool is_least(const Cell& cell) { return std::holds_alternative<documents::AtLeast>(cell); }

// after − before: a lower bound where `after` is one, not known where `before` is or one of them is not.
Cell difference(const Cell& before, const Cell& after) {
  const Int *a = std::get_if<Int>(&before), *b = documents::whole(after);
  if (a != nullptr && b != nullptr) return is_least(after) ? Cell(documents::AtLeast{*b - *a}) : Cell(*b - *a);
  const double *x = std::get_if<double>(&before), *y = std::get_if<double>(&after);
  return x != nullptr && y != nullptr ? Cell(*y - *x) : Cell();
}

// "+1.2 M", "-3.4 ms"; for unknown times empty.
std::string signed_text(const Cell& change, CellKind kind) {
  if (const double* const seconds = std::get_if<double>(&change))
    return (*seconds < 0 ? "-" : "+") + base::si_seconds(std::abs(*seconds));
  if (kind == CellKind::Seconds) return "";
  if (is_least(change)) return "≥ " + signed_text(Cell(*documents::whole(change)), kind);
  return (documents::number(change).value_or(0) > 0 ? "+" : "") + known_text(change, kind);
}

std::string ratio_text(const Cell& before, const Cell& after) {
  const std::optional<double> a = documents::number(before), b = documents::number(after);
  if (!a || !b || *a == 0 || is_least(before)) return "";
  return cat(is_least(after) ? "≥ " : "", base::rounded(*b / *a), "×");
}

// Nodes or kernels of one of the estimates: one, or those of a block.
struct Side {
  std::vector<Row> rows;
  std::string name, op;  // name: of the heaviest

  // The sum over its rows; unknown if a part is.
  Cell cell(const documents::ResultColumn* column) const {
    Cell sum = column->cell(rows.front());
    for (std::size_t i = 1; i < rows.size(); ++i) {
      const Cell more = column->cell(rows[i]);
      if (Int* const count = std::get_if<Int>(&sum); count != nullptr && std::holds_alternative<Int>(more))
        *count += std::get<Int>(more);
      else if (double* const value = std::get_if<double>(&sum);
               value != nullptr && std::holds_alternative<double>(more))
        *value += std::get<double>(more);
      else
        return {};
    }
    return sum;
  }
};

// The columns that a comparison shows for both sides, in its order.
const Columns& compared() {
  static const Columns columns = documents::columns_of(documents::RowKind::Node, documents::View::Comparison);
  return columns;
}
const documents::ResultColumn* compared(std::string_view name) {
  return *std::ranges::find(compared(), name, &documents::ResultColumn::name);
}

struct Pair {
  std::optional<Side> before, after;
  Match match = Match::None;
  std::size_t times = 1;  // blocks that are alike

  const Side& shown() const { return after ? *after : *before; }
  // A missing row counts as 0.
  Cell delta(const documents::ResultColumn* column) const {
    const auto of = [&](const std::optional<Side>& side) -> Cell {
      if (side) return side->cell(column);
      return column->kind == CellKind::Seconds ? Cell(0.0) : Cell(Int{0});
    };
    return difference(of(before), of(after));
  }
  bool differs() const {
    if (!before || !after || before->op != after->op) return true;
    return std::ranges::any_of(compared(), [&](const documents::ResultColumn* column) {
      return documents::number(delta(column)).value_or(column->is_timed() ? 0 : 1) != 0;
    });
  }
};

Row row_at(const EstimateDocument& estimate, documents::RowKind kind, std::size_t at) {
  return kind == documents::RowKind::Kernel ? kernel_row(estimate, at) : node_row(estimate, estimate.nodes[at]);
}

std::vector<Pair> pairs_of(const std::vector<RowPair>& rows, const EstimateDocument& before,
                           const EstimateDocument& after, documents::RowKind kind) {
  const auto side = [&](const EstimateDocument& estimate, std::int32_t index) -> std::optional<Side> {
    if (index < 0) return std::nullopt;
    const Row row = row_at(estimate, kind, static_cast<std::size_t>(index));
    return Side{{row}, row.shown_name(), row.operators()};
  };
  std::vector<Pair> pairs;
  pairs.reserve(rows.size());
  for (const RowPair& row : rows)
    pairs.push_back({.before = side(before, row.before), .after = side(after, row.after), .match = row.match});
  return pairs;
}

// "DequantizeLinear ×3+Conv+QuantizeLinear".
std::string operators_of(const std::vector<const EstimateNode*>& nodes) {
  std::vector<std::pair<std::string, std::size_t>> counts;
  for (const EstimateNode* const node : nodes) {
    const std::string op = node->qualified_op();
    const auto found = std::ranges::find(counts, op, &std::pair<std::string, std::size_t>::first);
    if (found == counts.end())
      counts.emplace_back(op, 1);
    else
      ++found->second;
  }
  return base::joined(
      counts, "+", [](const auto& each) { return each.second == 1 ? each.first : cat(each.first, " ×", each.second); });
}

// The blocks, as sums of kernels if both estimates have them, else of nodes.
std::vector<Pair> pairs_of(const std::vector<estimate::Block>& blocks, const EstimateDocument& before,
                           const EstimateDocument& after) {
  const bool has_kernels = before.traffic && after.traffic;
  const auto side = [&](const EstimateDocument& estimate, const std::vector<std::int32_t>& nodes) {
    std::optional<Side> result;
    std::vector<const EstimateNode*> members;
    std::set<std::int32_t> kernels;
    for (const std::int32_t at : nodes) {
      const EstimateNode& node = estimate.nodes[static_cast<std::size_t>(at)];
      members.push_back(&node);
      if (!result) result.emplace();
      if (!has_kernels || node.group < 0)
        result->rows.push_back(node_row(estimate, node));
      else if (kernels.insert(node.group).second)
        result->rows.push_back(kernel_row(estimate, static_cast<std::size_t>(node.group)));
    }
    if (!result) return result;
    result->name = documents::heaviest_node(members)->shown_name();
    result->op = operators_of(members);
    return result;
  };
  std::vector<Pair> pairs;
  pairs.reserve(blocks.size());
  for (const estimate::Block& block : blocks)
    pairs.push_back({.before = side(before, block.before), .after = side(after, block.after), .match = block.match});
  return pairs;
}

std::string op_text(const Pair& pair) {
  if (!pair.before || !pair.after || pair.before->op == pair.after->op) return base::printable(pair.shown().op);
  return base::printable(pair.before->op + " → " + pair.after->op);
}

// Pairs whose names differ only in numbers and that change alike are one row.
std::vector<Pair> folded(std::vector<Pair> pairs) {
  std::map<std::string, std::size_t> places;
  std::vector<Pair> rows;
  for (Pair& pair : pairs) {
    std::string key = cat(report::without_numbers(pair.shown().name), "\n", op_text(pair), "\n", to_string(pair.match));
    for (const documents::ResultColumn* column : compared())
      for (const std::optional<Side>* side : {&pair.before, &pair.after})
        key += "\n" + (*side ? exact_text((*side)->cell(column)) : "");
    const auto [at, is_new] = places.try_emplace(std::move(key), rows.size());
    if (is_new) {
      rows.push_back(std::move(pair));
      continue;
    }
    Pair& row = rows[at->second];
    ++row.times;
    for (const auto side : {&Pair::before, &Pair::after})
      if (pair.*side)
        (row.*side)->rows.insert((row.*side)->rows.end(), (pair.*side)->rows.begin(), (pair.*side)->rows.end());
  }
  return rows;
}

// A number of both models.
struct Total {
  const char* name;   // in JSON; null: not there
  std::string label;  // in tables
  CellKind kind;
  Cell before, after;
};

std::vector<Total> totals_of(const EstimateDocument& before, const EstimateDocument& after) {
  std::vector<Total> totals;
  for (const documents::ResultColumn* column : compared()) {
    if (column->is_timed()) continue;  // totals have no bound of their own
    std::string label(column->name);
    std::ranges::replace(label, '_', ' ');
    totals.push_back(
        {column->name, label, column->kind, column->cell(total_row(before)), column->cell(total_row(after))});
  }
  totals.push_back({"activation_peak_bytes", "activation peak", CellKind::Bytes,
                    cell_of(before.totals.activation_peak_bytes), cell_of(after.totals.activation_peak_bytes)});
  if (before.roofline && after.roofline && before.can_run() && after.can_run()) {
    const RooflineTotals &x = before.roofline->totals, &y = after.roofline->totals;
    totals.push_back({"seconds", "time ≥", CellKind::Seconds, x.seconds, y.seconds});
    const auto add = [&](const char* name, const char* label, const std::optional<double>& a,
                         const std::optional<double>& b) {
      if (a && b) totals.push_back({name, label, CellKind::Seconds, *a, *b});
    };
    add("fused_seconds", "fused ≥", before.roofline->fused_seconds, after.roofline->fused_seconds);
    add("unfused_seconds", "unfused ≥", before.roofline->unfused_seconds, after.roofline->unfused_seconds);
    add("launched_seconds", "launched ≥", x.eager_seconds, y.eager_seconds);
    totals.push_back({"floor_seconds", "floor ≥", CellKind::Seconds, x.floor_seconds, y.floor_seconds});
    if (const auto& a = before.roofline->predicted, &b = after.roofline->predicted; a && b)
      totals.push_back(
          {"predicted_seconds", "under " + base::printable(b->engine), CellKind::Seconds, *a->seconds, *b->seconds});
  }
  if (before.fit && after.fit)
    totals.push_back({nullptr, "memory of a run", CellKind::Bytes, cell_of(before.fit->total_bytes),
                      cell_of(after.fit->total_bytes)});
  return totals;
}

base::Grid totals_grid(const EstimateDocument& before, const EstimateDocument& after) {
  base::Grid grid;
  grid.columns = {{.header = "total"},
                  {.header = "before", .is_number = true},
                  {.header = "after", .is_number = true},
                  {.header = "change", .is_number = true},
                  {.header = "after/before", .is_number = true}};
  for (const Total& total : totals_of(before, after)) {
    if (total.label == "flops" && before.count == Convention::Macs) continue;  // the MACs are shown already
    grid.rows.push_back({total.label, known_text(total.before, total.kind), known_text(total.after, total.kind),
                         signed_text(difference(total.before, total.after), total.kind),
                         ratio_text(total.before, total.after)});
  }
  return grid;
}

// Largest changes first: by time on the device, then by work, then by traffic.
std::vector<Pair> changed(std::vector<Pair> pairs, std::size_t top) {
  std::erase_if(pairs, [](const Pair& pair) { return !pair.differs(); });
  const auto size = [](const Pair& pair, const documents::ResultColumn* column) {
    return std::abs(documents::number(pair.delta(column)).value_or(0));
  };
  const auto *seconds = compared("seconds"), *flops = compared("flops"), *bytes = compared("bytes");
  std::ranges::stable_sort(pairs, std::greater(), [&](const Pair& pair) {
    return std::array{size(pair, seconds), size(pair, flops), size(pair, bytes)};
  });
  if (top > 0 && pairs.size() > top) pairs.resize(top);
  return pairs;
}

base::Grid pairs_grid(const std::vector<Pair>& pairs, std::string_view row_name, const std::string& unit) {
  base::Grid grid;
  grid.columns = {{.header = std::string(row_name), .shortest_width = 16},
                  {.header = "op", .shortest_width = 10},
                  {.header = "change"},
                  {.header = "matched by", .drop_order = 5},
                  {.header = unit + "s before", .is_number = true, .drop_order = 2},
                  {.header = "after", .is_number = true, .drop_order = 3},
                  {.header = "Δ " + unit + "s", .is_number = true},
                  {.header = "Δ params", .is_number = true, .drop_order = 4},
                  {.header = "Δ bytes", .is_number = true}};
  const auto change = [](const Pair& pair, std::string_view name) {
    return signed_text(pair.delta(compared(name)), compared(name)->kind);
  };
  const bool is_timed = std::ranges::any_of(
      pairs, [](const Pair& pair) { return !std::holds_alternative<std::monostate>(pair.delta(compared("seconds"))); });
  if (is_timed) grid.columns.push_back({.header = "Δ time", .is_number = true});
  for (const Pair& pair : pairs) {
    const auto flops = [](const std::optional<Side>& side) {
      return side ? known_text(side->cell(compared("flops")), CellKind::Count) : "";
    };
    grid.rows.push_back({base::printable(pair.shown().name) + (pair.times > 1 ? cat(" ×", pair.times) : ""),
                         op_text(pair),
                         !pair.before  ? "added"
                         : !pair.after ? "removed"
                                       : "changed",
                         std::string(estimate::to_string(pair.match)), flops(pair.before), flops(pair.after),
                         change(pair, "flops"), change(pair, "params"), change(pair, "bytes")});
    if (is_timed) grid.rows.back().push_back(change(pair, "seconds"));
  }
  return grid;
}

// "120 kernels matched, of which 8 changed; 0 added, 2 removed".
std::string summary(const std::vector<Pair>& pairs, std::string_view row_name) {
  std::size_t matched = 0, differing = 0, added = 0, removed = 0;
  for (const Pair& pair : pairs) {
    ++(!pair.before ? added : !pair.after ? removed : matched);
    if (pair.before && pair.after && pair.differs()) ++differing;
  }
  return cat(base::counted(static_cast<Int>(matched), row_name), " matched, of which ", differing, " changed; ", added,
             " added, ", removed, " removed");
}

// Each column of one side, or of the difference; times that are not known are left out.
template <typename Value>
void write_cells(base::JsonWriter& json, const Value& value) {
  for (const documents::ResultColumn* column : compared()) {
    const Cell cell = value(column);
    if (column->is_timed() && std::holds_alternative<std::monostate>(cell)) continue;
    write_cell(json, column->name, cell);
  }
}

void write_side(base::JsonWriter& json, const char* key, const std::optional<Side>& side, bool is_block) {
  json.key(key);
  if (!side) {
    json.null();
    return;
  }
  const Row& row = side->rows.front();
  json.begin_object();
  if (is_block)
    json.key("rows").begin_array(Layout::Line);
  else
    json.member("index", row.index);
  if (is_block) {
    for (const Row& each : side->rows) json.value(each.index);
    json.end_array();
  }
  if (const EstimateNode* const node = row.node; node != nullptr && !is_block)  // as in the file, even without a name
    json.member("name", node->name).member("op_type", node->op_type);
  else
    json.member("name", side->name).member("ops", side->op);
  write_cells(json, [&](const documents::ResultColumn* column) { return side->cell(column); });
  json.end_object();
}

void write_pairs(base::JsonWriter& json, const std::vector<Pair>& pairs, bool are_blocks = false) {
  json.begin_array();
  for (const Pair& pair : pairs) {
    json.begin_object(Layout::Line);
    json.key("matched_by");
    pair.match == Match::None ? json.null() : json.value(estimate::to_string(pair.match));
    write_side(json, "before", pair.before, are_blocks);
    write_side(json, "after", pair.after, are_blocks);
    json.key("delta").begin_object();
    write_cells(json, [&](const documents::ResultColumn* column) { return pair.delta(column); });
    json.end_object().end_object();
  }
  json.end_array();
}

std::string json_text(const EstimateDocument& before, const EstimateDocument& after, const Comparison& comparison,
                      const report::Contrast& contrast, const std::vector<Pair>& nodes,
                      const std::vector<Pair>& kernels, const std::vector<Pair>& blocks) {
  base::JsonWriter json;
  json.begin_object().member("schema", "pagoda.comparison/1").member_if_any("tool", after.tool);
  json.member("before", before.model.path).member("after", after.model.path);
  json.member("count", to_string(after.count));
  json.member("verdict", cat(contrast.verdict, ", ", contrast.times));
  json.key("remarks").begin_array();
  for (const std::string& remark : contrast.remarks) json.value(remark);
  json.end_array().member("related", comparison.is_related);
  json.member("matched", comparison.matched).member("added", comparison.added).member("removed", comparison.removed);
  json.key("totals").begin_object();
  for (const Total& total : totals_of(before, after)) {
    if (total.name == nullptr) continue;
    json.key(total.name).begin_object(Layout::Line);
    write_cell(json, "before", total.before);
    write_cell(json, "after", total.after);
    write_cell(json, "delta", difference(total.before, total.after));
    if (total.name == std::string_view("predicted_seconds")) json.member("engine", after.roofline->predicted->engine);
    json.end_object();
  }
  json.end_object();
  json.member("partial", before.totals.partial || after.totals.partial);
  json.key("nodes");
  write_pairs(json, nodes);
  if (!comparison.groups.empty()) {
    json.key("kernels");
    write_pairs(json, kernels);
  }
  json.key("blocks");
  write_pairs(json, blocks, true);
  json.end_object();
  return std::move(json).text();
}

std::string csv_text(const std::vector<Pair>& pairs, bool is_timed) {
  Columns columns = compared();
  std::erase_if(columns, [&](const documents::ResultColumn* column) { return column->is_timed() && !is_timed; });
  std::vector<std::string> header = {"name", "op_type", "matched_by", "before_index", "after_index"};
  for (const documents::ResultColumn* column : columns)
    for (const char* prefix : {"before_", "after_", "delta_"}) header.push_back(cat(prefix, column->name));
  std::string text = base::csv_line(header);
  for (const Pair& pair : pairs) {
    const auto index = [](const std::optional<Side>& side) {
      return side ? std::to_string(side->rows.front().index) : "";
    };
    base::CsvLine line;
    line.name(pair.shown().name).name(pair.shown().op).add(estimate::to_string(pair.match));
    line.add(index(pair.before)).add(index(pair.after));
    for (const documents::ResultColumn* column : columns) {
      const auto cell = [&](const std::optional<Side>& side) { return side ? side->cell(column) : Cell(); };
      for (const Cell& each : {cell(pair.before), cell(pair.after), pair.delta(column)}) line.add(exact_text(each));
    }
    text += std::move(line).end();
  }
  return text;
}

}  // namespace

std::string comparison_report(Format format, const EstimateDocument& before, const EstimateDocument& after,
                              const Comparison& comparison, const ReportOptions& options) {
  const bool is_table = format == Format::Table || format == Format::Markdown;
  const auto chosen = [&](const std::vector<Pair>& pairs) {
    return is_table || options.top == 0 ? pairs : changed(pairs, options.top);
  };
  const std::vector<Pair> nodes = chosen(pairs_of(comparison.nodes, before, after, documents::RowKind::Node)),
                          kernels = chosen(pairs_of(comparison.groups, before, after, documents::RowKind::Kernel)),
                          blocks = chosen(pairs_of(comparison.blocks, before, after));
  const report::Contrast contrast = report::contrast(before, after);
  if (format == Format::Json) return json_text(before, after, comparison, contrast, nodes, kernels, blocks);
  if (format == Format::Csv)
    return csv_text(comparison.groups.empty() ? nodes : kernels, before.roofline && after.roofline);
  const auto is_single = [](const Pair& pair) {
    return (!pair.before || pair.before->rows.size() == 1) && (!pair.after || pair.after->rows.size() == 1);
  };
  const std::string_view row_name = !std::ranges::all_of(blocks, is_single) ? "block"
                                    : comparison.groups.empty()             ? "node"
                                                                            : "kernel";
  const std::string from = report::title(before), to = report::title(after);
  const std::string device = after.roofline ? " on " + report::device_text(*after.roofline) : "";
  const auto file = [](const std::string& path) { return path.substr(path.rfind('/') + 1); };
  const std::string headline = cat(file(from), " → ", file(to), device, ": ", contrast.verdict, ", ", contrast.times);
  const base::Grid totals = totals_grid(before, after);
  base::Grid rows;
  if (comparison.is_related)
    rows = pairs_grid(changed(folded(blocks), options.top == 0 ? kShown : options.top), row_name,
                      report::operation(before.count));
  const std::string what = comparison.is_related ? summary(blocks, row_name)
                                                 : "Less than half of the work matches by name or structure: only "
                                                   "totals are compared";
  if (format == Format::Markdown) {
    std::string text = cat("# ", report::code(from), " → ", report::code(to), "\n\n", contrast.verdict, device, ": ",
                           contrast.times, "\n\n");
    for (const std::string& remark : contrast.remarks) text += cat("* ", remark, "\n");
    if (!contrast.remarks.empty()) text += "\n";
    text += cat(report::markdown_table(totals), "\n", what, "\n");
    return rows.rows.empty() ? text : cat(text, "\n", report::markdown_table(rows));
  }
  std::string text = headline + "\n";
  for (const std::string& remark : contrast.remarks) text += "- " + remark + "\n";
  return cat(text, "\nbefore  ", from, "\nafter   ", to, "\n\n", base::aligned(totals, options.width), "\n", what, "\n",
             rows.rows.empty() ? "" : "\n" + base::aligned(rows, options.width), report::kSiUnits);
}

}  // namespace pagoda::present
