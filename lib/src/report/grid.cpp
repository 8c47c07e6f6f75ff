// Cells of the human reports: what the table and Markdown show, already rounded, with units, printable.
#include <algorithm>
#include <cmath>

#include "report/rows.h"

namespace pagoda::report {
namespace {

constexpr std::string_view kUnknown = "?";

std::string cell(const Number& value, std::string_view unit = "") {
  return value ? si(*value, unit) : std::string(kUnknown);
}

std::string intensity_cell(const std::optional<double>& intensity) { return intensity ? rounded(*intensity) : "-"; }

// "12.3", of `total` = 100; one decimal.
std::string percent(const Number& part, const Number& total) {
  if (!part || !total || *total == 0) return "-";
  const double share = 100.0 * static_cast<double>(*part) / static_cast<double>(*total);
  if (share > 0 && share < 0.05) return "<0.1";
  const Int tenths = std::llround(share * 10);
  return to_string(tenths / 10) + "." + to_string(tenths % 10);
}

// Columns of work and traffic that node rows and type rows share.
void add_counter_columns(Grid& grid, const Data& data) {
  // Shares of what is known: where nodes are not modelled, that is not all.
  const std::string percent = data.analysis.partial ? "% of modelled" : "%";
  grid.columns.push_back({.header = "MACs", .is_number = true});
  grid.columns.push_back({.header = "FLOPs", .is_number = true});
  grid.columns.push_back({.header = percent, .is_number = true, .drop_order = 2});
  grid.columns.push_back({.header = "params", .is_number = true, .drop_order = 6});
  if (data.published()) {
    grid.columns.push_back({.header = "param bytes", .is_number = true, .drop_order = 5});
    grid.columns.push_back({.header = "bytes", .is_number = true, .drop_order = 4});
  } else {
    grid.columns.push_back({.header = "read", .is_number = true, .drop_order = 5});
    grid.columns.push_back({.header = "written", .is_number = true, .drop_order = 4});
  }
  grid.columns.push_back({.header = "% bytes", .is_number = true, .drop_order = 7});
  grid.columns.push_back({.header = "FLOP/B", .is_number = true, .drop_order = 3});
}

void add_counter_cells(std::vector<std::string>& row, const Counters& counters, const Data& data) {
  row.push_back(cell(counters.macs));
  row.push_back(cell(counters.flops));
  row.push_back(percent(counters.flops, data.totals.flops));
  row.push_back(cell(counters.params));
  if (data.published()) {
    row.push_back(cell(counters.param_bytes, "B"));
    row.push_back(cell(counters.bytes, "B"));
  } else {
    row.push_back(cell(counters.bytes_read, "B"));
    row.push_back(cell(counters.bytes_written, "B"));
  }
  row.push_back(percent(counters.bytes, data.totals.bytes));
  row.push_back(intensity_cell(counters.intensity()));
}

Grid node_grid(const Data& data) {
  Grid grid;
  grid.columns.push_back({.header = "#", .is_number = true, .drop_order = 1});
  grid.columns.push_back({.header = "node", .shortest_width = 16});
  grid.columns.push_back({.header = "op", .shortest_width = 10});
  grid.columns.push_back({.header = "output", .drop_order = 9, .shortest_width = 20});
  add_counter_columns(grid, data);
  grid.columns.push_back({.header = "precision", .drop_order = 8});
  grid.columns.push_back({.header = "mark"});
  for (const NodeRow& node : data.nodes) {
    const NodeReport& report = *node.report;
    // Bodies repeat names: rows from inside one say where they are.
    const std::string name = report.scope.empty() ? node.name() : report.scope + "/" + node.name();
    std::vector<std::string> row = {std::to_string(node.index), printable(name),
                                    printable(qualified(node.node->domain, node.node->op_type)),
                                    report.outputs.empty() ? "" : type_text(report.outputs[0].type)};
    add_counter_cells(row, node.counters, data);
    const bool has_precision = report.cost.precision != ElementType::Undefined && report.cost.mark == Mark::Compute;
    row.push_back(has_precision ? std::string(to_string(report.cost.precision)) : "");
    row.push_back(report.cost.mark == Mark::Compute ? (report.unmodelled_inside > 0 ? "partial" : "")
                                                    : std::string(to_string(report.cost.mark)));
    grid.rows.push_back(std::move(row));
  }
  return grid;
}

Grid type_grid(const Data& data) {
  Grid grid;
  grid.columns.push_back({.header = "op", .shortest_width = 16});
  grid.columns.push_back({.header = "nodes", .is_number = true});
  add_counter_columns(grid, data);
  grid.columns.push_back({.header = "mark"});
  for (const TypeRow& type : data.types) {
    std::vector<std::string> row = {printable(qualified(type.domain, type.op_type)), std::to_string(type.nodes)};
    add_counter_cells(row, type.counters, data);
    row.push_back(type.unmodelled_nodes == 0 ? "" : std::to_string(type.unmodelled_nodes) + " unmodelled");
    grid.rows.push_back(std::move(row));
  }
  return grid;
}

std::string counted(std::size_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : std::string(separator)) + part;
  return text;
}

}  // namespace

Grid row_grid(const Data& data) { return data.options.rows == Rows::Type ? type_grid(data) : node_grid(data); }

Grid totals_grid(const Data& data) {
  Grid grid;
  grid.columns = {
      {.header = "total"}, {.header = "exact", .is_number = true}, {.header = "", .is_number = true}, {.header = ""}};
  const Totals& totals = data.analysis.totals;
  // Sums over modelled nodes are lower bounds as soon as one node is not modelled.
  const std::string_view at_least = data.analysis.partial ? "≥ " : "";
  const auto add = [&](std::string what, const Number& value, std::string_view unit, std::string note,
                       bool is_sum = true) {
    const std::string sign(is_sum ? at_least : "");
    grid.rows.push_back({std::move(what), value ? sign + grouped(*value) : std::string(kUnknown),
                         value ? sign + si(*value, unit) : "", std::move(note)});
  };
  const Counters& counters = data.totals;
  add("MACs", counters.macs, "", "");
  if (!data.published()) {
    add("arith", counters.arith, "", "of which comparisons " + cell(counters.comparisons));
    add("special", counters.special, "", "");
  }
  add("FLOPs", counters.flops, "", std::string(meaning(data.options.count)), !data.published());
  add("params", counters.params, "", "", false);
  add("param bytes", counters.param_bytes, "B", "", false);
  if (!data.published()) {
    add("bytes read", counters.bytes_read, "B", "unfused");
    add("bytes written", counters.bytes_written, "B", "");
  }
  add("bytes", counters.bytes, "B", "", !data.published());
  grid.rows.push_back({"FLOP/B", data.intensity ? rounded(*data.intensity) : std::string(kUnknown), "",
                       data.intensity || !data.analysis.partial ? "" : "unknown while nodes are not modelled"});
  add("activation peak", data.activation_peak_bytes, "B", "", false);
  const std::size_t nodes = data.analysis.nodes.size();
  if (totals.unmodelled_nodes == 0) {
    grid.rows.push_back({"nodes", grouped(nodes), "", "all modelled"});
  } else {
    std::vector<std::string> ops;
    for (const std::string& op : totals.unmodelled_ops) ops.push_back(printable(op));
    grid.rows.push_back(
        {"nodes", grouped(nodes), "", grouped(totals.unmodelled_nodes) + " not modelled: " + join(ops, ", ")});
  }
  return grid;
}

std::string title(const Data& data) {
  return printable(data.model.path.empty() ? data.model.graph_name : data.model.path);
}

std::string subtitle(const Data& data) {
  const Model& model = data.model;
  std::vector<std::string> parts;
  if (!model.producer.empty()) {
    const std::string version = model.producer_version.empty() ? "" : " " + model.producer_version;
    parts.push_back(printable(model.producer + version));
  }
  for (const auto& [domain, version] : model.opsets)
    parts.push_back("opset " + (domain.empty() ? "" : printable(domain) + " ") + std::to_string(version));
  parts.push_back("IR " + std::to_string(model.ir_version));
  parts.push_back(counted(model.main().nodes.size(), "node"));
  if (!model.functions.empty()) parts.push_back(counted(model.functions.size(), "function"));
  for (const auto& [name, size] : data.analysis.bindings) parts.push_back(name + "=" + std::to_string(size));
  for (const std::string& name : data.analysis.free_dims) parts.push_back(name + "=1 (free)");
  return join(parts, " · ");
}

std::vector<std::pair<std::string, std::string>> total_formulas(const Data& data) {
  const Totals& totals = data.analysis.totals;
  const Formulas sums = formulas(totals.cost, data.options.count);
  std::vector<std::pair<std::string, std::string>> lines = {{"MACs", sums.macs}};
  if (!sums.flops.empty()) lines.emplace_back("FLOPs", sums.flops);
  lines.emplace_back("bytes", sums.bytes);
  if (totals.activation_peak_bytes)
    lines.emplace_back("activation peak bytes", totals.activation_peak_bytes->factored());
  return lines;
}

std::vector<RowFormulas> row_formulas(const Data& data) {
  std::vector<RowFormulas> rows;
  const auto add = [&](std::string name, const OpCost& cost) {
    if (cost.bytes() == Dim(0) && flops(cost) == Dim(0)) return;
    rows.push_back({std::move(name), formulas(cost, data.options.count)});
  };
  for (const NodeRow& node : data.nodes)
    if (node.problem().empty()) add("#" + std::to_string(node.index) + " " + printable(node.name()), node.report->cost);
  for (const TypeRow& type : data.types) add(printable(qualified(type.domain, type.op_type)), type.cost);
  return rows;
}

std::string symbol_text(const Symbol& symbol) {
  std::string text = symbol.name + ": " + printable(symbol.cause);
  if (!symbol.node.empty()) text += ", decided at " + printable(symbol.node);
  if (symbol.upper) text += ", at most " + symbol.upper->to_string();
  return text;
}

}  // namespace pagoda::report
