// Cells of the human reports: what the table and Markdown show, already rounded, with units, printable.
#include <algorithm>
#include <cmath>

#include "report/rows.h"

namespace pagoda::present::report {
namespace {

constexpr std::string_view kUnknown = "?";

std::string cell(const Number& value, std::string_view unit = "") {
  return value ? base::si(*value, unit) : std::string(kUnknown);
}

std::string intensity_cell(const std::optional<double>& intensity) {
  return intensity ? base::rounded(*intensity) : "-";
}

// "12.3", of `total` = 100; one decimal.
std::string percent(const Number& part, const Number& total) {
  if (!part || !total || *total == 0) return "-";
  const double share = 100.0 * static_cast<double>(*part) / static_cast<double>(*total);
  if (share > 0 && share < 0.05) return "<0.1";
  const Int tenths = std::llround(share * 10);
  return to_string(tenths / 10) + "." + to_string(tenths % 10);
}

// Columns of work and traffic that node rows and type rows share.
void add_counter_columns(base::Grid& grid, const Data& data) {
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

// What the device makes of a row. "up to" is how much faster it could be before something else bounds it.
void add_time_columns(base::Grid& grid, const Data& data, bool has_bound) {
  if (data.time() == nullptr) return;
  grid.columns.push_back({.header = "time ≥", .is_number = true});
  grid.columns.push_back({.header = "% time", .is_number = true, .drop_order = 1});
  if (!has_bound) return;
  grid.columns.push_back({.header = "bound"});
  grid.columns.push_back({.header = "up to", .is_number = true, .drop_order = 6});
}

std::string share_cell(double share) { return share > 0 && share < 0.0005 ? "<0.1" : base::rounded(100 * share); }

void add_time_cells(std::vector<std::string>& row, const RowBound* bound) {
  if (bound == nullptr) return;
  const bool runs = bound->bound != Bound::None && bound->bound != Bound::Unknown;
  row.push_back(bound->bound == Bound::Unknown ? std::string(kUnknown) : runs ? base::si_seconds(bound->seconds) : "");
  row.push_back(runs ? share_cell(bound->share) : "");
  row.push_back(bound->bound == Bound::None ? "" : std::string(to_string(bound->bound)));
  row.push_back(runs && bound->headroom ? base::rounded(*bound->headroom) + "×" : "");
}

base::Grid node_grid(const Data& data) {
  base::Grid grid;
  grid.columns.push_back({.header = "#", .is_number = true, .drop_order = 1});
  grid.columns.push_back({.header = "node", .shortest_width = 16});
  grid.columns.push_back({.header = "op", .shortest_width = 10});
  grid.columns.push_back({.header = "output", .drop_order = 9, .shortest_width = 20});
  add_counter_columns(grid, data);
  add_time_columns(grid, data, true);
  const TrainingSection* training = data.options.sections.training;
  if (training != nullptr) {
    grid.columns.push_back({.header = "backward", .is_number = true, .drop_order = 1});
    grid.columns.push_back({.header = "saved", .is_number = true, .drop_order = 2});
  }
  grid.columns.push_back({.header = "precision", .drop_order = 8});
  grid.columns.push_back({.header = "mark"});
  for (const NodeRow& node : data.nodes) {
    const NodeReport& report = *node.report;
    // Bodies repeat names: rows from inside one say where they are.
    const std::string name = report.scope.empty() ? node.name() : report.scope + "/" + node.name();
    std::vector<std::string> row = {std::to_string(node.index), base::printable(name),
                                    base::printable(qualified(node.node->domain, node.node->op_type)),
                                    report.outputs.empty() ? "" : type_text(report.outputs[0].type)};
    add_counter_cells(row, node.counters, data);
    add_time_cells(row, node.bound);
    if (training != nullptr) {
      const TrainingRow& step = training->training->rows[node.index];
      OpCost backward = step.dx;
      backward += step.dw;
      row.push_back(step.problem.empty() ? cell(number(flops(backward))) : std::string(kUnknown));
      row.push_back(cell(number(step.saved_bytes()), "B"));
    }
    const bool has_precision = report.cost.precision != ElementType::Undefined && report.cost.mark == Mark::Compute;
    row.push_back(has_precision ? std::string(to_string(report.cost.precision)) : "");
    row.push_back(report.cost.mark == Mark::Compute ? (report.unmodelled_inside > 0 ? "partial" : "")
                                                    : std::string(to_string(report.cost.mark)));
    grid.rows.push_back(std::move(row));
  }
  return grid;
}

base::Grid group_grid(const Data& data) {
  base::Grid grid;
  grid.columns.push_back({.header = "#", .is_number = true, .drop_order = 1});
  grid.columns.push_back({.header = "kernel", .shortest_width = 16});
  grid.columns.push_back({.header = "ops", .shortest_width = 12});
  add_counter_columns(grid, data);
  add_time_columns(grid, data, true);
  grid.columns.push_back({.header = "saved", .is_number = true, .drop_order = 8});
  grid.columns.push_back({.header = "rule", .drop_order = 9});
  for (const GroupRow& group : data.groups) {
    std::vector<std::string> row = {std::to_string(group.index), base::printable(group.name),
                                    base::printable(group.ops)};
    add_counter_cells(row, group.counters, data);
    add_time_cells(row, group.bound);
    const Number saved = number(group.group->saved);
    row.push_back(saved && *saved == 0 ? "" : cell(saved, "B"));
    row.push_back(std::string(to_string(group.group->rule)));
    grid.rows.push_back(std::move(row));
  }
  return grid;
}

base::Grid type_grid(const Data& data) {
  base::Grid grid;
  grid.columns.push_back({.header = "op", .shortest_width = 16});
  grid.columns.push_back({.header = "nodes", .is_number = true});
  add_counter_columns(grid, data);
  add_time_columns(grid, data, false);
  grid.columns.push_back({.header = "mark"});
  for (const TypeRow& type : data.types) {
    std::vector<std::string> row = {base::printable(qualified(type.domain, type.op_type)), std::to_string(type.nodes)};
    add_counter_cells(row, type.counters, data);
    if (data.time() != nullptr) {
      const double total = data.time()->bound->totals.seconds;
      row.push_back(type.seconds ? base::si_seconds(*type.seconds) : "");
      row.push_back(type.seconds && total > 0 ? share_cell(*type.seconds / total) : "");
    }
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

base::Grid row_grid(const Data& data) {
  switch (data.options.rows) {
    case Rows::Type:
      return type_grid(data);
    case Rows::Group:
      return group_grid(data);
    case Rows::Node:
      break;
  }
  return node_grid(data);
}

namespace {

// Bytes as a person reads a capacity.
std::string size_text(const Number& bytes) { return bytes ? base::si(*bytes, "B") : std::string(kUnknown); }

void add_memory_rows(base::Grid& grid, const Data& data) {
  const MemoryPlan& plan = *data.options.sections.memory;
  const Graph& graph = data.model.main();
  const auto step_name = [&](std::int32_t step) {
    if (plan.order.empty()) return std::string();
    const std::int32_t node = plan.order[static_cast<std::size_t>(step)];
    return base::printable(display_name(graph, graph.nodes[static_cast<std::size_t>(node)]));
  };
  std::vector<std::string> tensors;
  for (const std::size_t tensor : plan.peak_tensors) {
    const PlannedTensor& planned = plan.tensors[tensor];
    const std::string name = planned.value == kAbsent
                                 ? "inside a body"
                                 : base::printable(graph.values[static_cast<std::size_t>(planned.value)].name);
    tensors.push_back(name + " " + base::si(planned.bytes, "B"));
    if (tensors.size() == 4) break;
  }
  if (plan.peak_tensors.size() > tensors.size())
    tensors.push_back("and " + std::to_string(plan.peak_tensors.size() - tensors.size()) + " more");
  grid.rows.push_back(
      {"memory peak", base::grouped(plan.peak_bytes), base::si(plan.peak_bytes, "B"),
       "at step " + std::to_string(plan.peak_step) + ", " + step_name(plan.peak_step) + ": " + join(tensors, ", ")});
  if (plan.arena_bytes)
    grid.rows.push_back(
        {"arena", base::grouped(*plan.arena_bytes), base::si(*plan.arena_bytes, "B"), "offsets in --format json"});
  if (plan.reordered)
    grid.rows.push_back(
        {"reordered", base::grouped(plan.reordered->peak_bytes), base::si(plan.reordered->peak_bytes, "B"),
         "peak in a better order of the nodes" +
             (plan.reordered->arena_bytes ? ", arena " + base::grouped(*plan.reordered->arena_bytes) : std::string()) +
             "; the order is in --format json"});
  for (const WeightBytes& weight : plan.weights)
    grid.rows.push_back({"weights " + std::string(to_string(weight.element)), base::grouped(weight.bytes),
                         base::si(weight.bytes, "B"), counted(static_cast<std::size_t>(weight.tensors), "tensor")});
  if (!plan.kv_cache.pairs.empty())
    grid.rows.push_back({"KV cache", plan.kv_cache.bytes_per_token.to_string(),
                         size_text(number(plan.kv_cache.bytes_per_token)),
                         "a token, for the whole batch, in " + counted(plan.kv_cache.pairs.size(), "tensor")});
  grid.rows.push_back({"not counted", "", "", std::string(kMemoryPlanExcludes)});
}

// Runs a second of what the model processes: items of the batch, or tokens.
void add_throughput(base::Grid& grid, const Data& data, double seconds) {
  const auto batch = data.analysis.bindings.find("batch");
  if (const PhaseSection* phase = data.options.sections.phase; phase != nullptr && phase->tokens) {
    grid.rows.push_back({"tokens/s", "", "≤ " + base::si_rate(static_cast<double>(*phase->tokens) / seconds, ""),
                         std::string(to_string(phase->phase)) + " of " + base::grouped(*phase->tokens) + " new " +
                             (*phase->tokens == 1 ? "token" : "tokens") + " a run"});
    if (data.totals.bytes && *phase->tokens > 0)
      grid.rows.push_back({"bytes/token", "", base::si(*data.totals.bytes / *phase->tokens, "B"),
                           "of which the cache grows by " + size_text(phase->bytes_per_token) + " a position"});
  } else {
    const std::int64_t items = batch == data.analysis.bindings.end() ? 1 : batch->second;
    grid.rows.push_back(
        {"throughput", "", "≤ " + base::si_rate(static_cast<double>(items) / seconds, "/s"),
         batch == data.analysis.bindings.end() ? "runs" : "items of the batch of " + base::grouped(items)});
  }
}

std::string interval_text(const TimeSection& time) {
  const documents::EstimatePrediction& predicted = *time.predicted;
  if (!predicted.low || !predicted.high || !predicted.coverage)
    return "no interval: no measured run on " + base::printable(time.device->id) +
           " or elsewhere judged the calibration";
  return base::si_seconds(*predicted.low) + " … " + base::si_seconds(*predicted.high) + " for " +
         base::rounded(100 * *predicted.coverage) + " % of models";
}

void add_time_rows(base::Grid& grid, const Data& data) {
  const TimeSection& time = *data.time();
  const RooflineTotals& totals = time.bound->totals;
  const std::string at_least = totals.at_least ? "of the modelled part; " : "";
  grid.rows.push_back({"device", "", "", device_text(time)});
  const bool is_fused = data.traffic() != TrafficModel::Unfused;
  grid.rows.push_back({"time ≥", "", base::si_seconds(totals.seconds),
                       at_least + counted(static_cast<std::size_t>(totals.launches), "kernel") +
                           (is_fused ? " after fusion" : ", one a node") + ", no launch waited for"});
  if (totals.eager_seconds)
    grid.rows.push_back({"eager ≥", "", base::si_seconds(*totals.eager_seconds),
                         "one launch a kernel, each " + base::si_seconds(*time.device->launch_overhead_seconds.value)});
  grid.rows.push_back({"floor", "", base::si_seconds(totals.floor_seconds),
                       "whatever is fused or kept on chip: all units busy at once, weights read once"});
  if (time.predicted)
    grid.rows.push_back({"predicted", "", base::si_seconds(time.predicted->seconds),
                         interval_text(time) + "; " + base::printable(time.predicted->calibration)});
  if (totals.seconds > 0) add_throughput(grid, data, totals.seconds);
}

}  // namespace

base::Grid totals_grid(const Data& data) {
  base::Grid grid;
  grid.columns = {
      {.header = "total"}, {.header = "exact", .is_number = true}, {.header = "", .is_number = true}, {.header = ""}};
  const Totals& totals = data.analysis.totals;
  // Sums over modelled nodes are lower bounds as soon as one node is not modelled.
  const std::string_view at_least = data.analysis.partial ? "≥ " : "";
  const auto add = [&](std::string what, const Number& value, std::string_view unit, std::string note,
                       bool is_sum = true) {
    const std::string sign(is_sum ? at_least : "");
    grid.rows.push_back({std::move(what), value ? sign + base::grouped(*value) : std::string(kUnknown),
                         value ? sign + base::si(*value, unit) : "", std::move(note)});
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
    add("bytes read", counters.bytes_read, "B", std::string(to_string(data.traffic())));
    add("bytes written", counters.bytes_written, "B", "");
  }
  add("bytes", counters.bytes, "B", "", !data.published());
  grid.rows.push_back({"FLOP/B", data.intensity ? base::rounded(*data.intensity) : std::string(kUnknown), "",
                       data.intensity || !data.analysis.partial ? "" : "unknown while nodes are not modelled"});
  add("activation peak", data.activation_peak_bytes, "B", "", false);
  const std::size_t nodes = data.analysis.nodes.size();
  if (totals.unmodelled_nodes == 0) {
    grid.rows.push_back({"nodes", base::grouped(nodes), "", "all modelled"});
  } else {
    std::vector<std::string> ops;
    for (const std::string& op : totals.unmodelled_ops) ops.push_back(base::printable(op));
    grid.rows.push_back({"nodes", base::grouped(nodes), "",
                         base::grouped(totals.unmodelled_nodes) + " not modelled: " + join(ops, ", ")});
  }
  if (data.options.sections.memory != nullptr) add_memory_rows(grid, data);
  if (data.time() != nullptr) add_time_rows(grid, data);
  return grid;
}

std::string title(const Data& data) {
  return base::printable(data.model.path.empty() ? data.model.graph_name : data.model.path);
}

std::string subtitle(const Data& data) {
  const Model& model = data.model;
  std::vector<std::string> parts;
  if (!model.producer.empty()) {
    const std::string version = model.producer_version.empty() ? "" : " " + model.producer_version;
    parts.push_back(base::printable(model.producer + version));
  }
  for (const auto& [domain, version] : model.opsets)
    parts.push_back("opset " + (domain.empty() ? "" : base::printable(domain) + " ") + std::to_string(version));
  parts.push_back("IR " + std::to_string(model.ir_version));
  parts.push_back(counted(model.main().nodes.size(), "node"));
  if (!model.functions.empty()) parts.push_back(counted(model.functions.size(), "function"));
  for (const auto& [name, size] : data.analysis.bindings) parts.push_back(name + "=" + std::to_string(size));
  for (const std::string& name : data.analysis.free_dims) parts.push_back(name + "=1 (free)");
  return join(parts, " · ");
}

std::vector<std::pair<std::string, std::string>> total_formulas(const Data& data) {
  const Totals& totals = data.analysis.totals;
  const Formulas sums = documents::formulas_of(data.cost, data.options.count);
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
    rows.push_back({std::move(name), documents::formulas_of(cost, data.options.count)});
  };
  for (const NodeRow& node : data.nodes)
    if (node.problem().empty())
      add("#" + std::to_string(node.index) + " " + base::printable(node.name()), node.report->cost);
  for (const TypeRow& type : data.types) add(base::printable(qualified(type.domain, type.op_type)), type.cost);
  for (const GroupRow& group : data.groups)
    add("#" + std::to_string(group.index) + " " + base::printable(group.name), group.group->cost);
  return rows;
}

std::string symbol_text(const Symbol& symbol) {
  std::string text = symbol.name + ": " + base::printable(symbol.cause);
  if (!symbol.node.empty()) text += ", decided at " + base::printable(symbol.node);
  if (symbol.upper) text += ", at most " + symbol.upper->to_string();
  return text;
}

}  // namespace pagoda::present::report
