// The blocks of "pagoda.estimate/1" that are there on request: memory, phase, traffic, roofline, training, sweep,
// budgets.
#include "pagoda/base/json_writer.h"
#include "pagoda/documents/dim_json.h"
#include "report/rows.h"

namespace pagoda::present::report {
namespace {

using Layout = base::JsonWriter::Layout;

const std::string& value_name(const Graph& graph, ValueId value) {
  static const std::string kNone;
  return value == kAbsent ? kNone : graph.values[static_cast<std::size_t>(value)].name;
}

template <typename Range>
void write_line(base::JsonWriter& json, std::string_view key, const Range& range) {
  json.key(key).begin_array(Layout::Line);
  for (const auto& item : range) json.value(item);
  json.end_array();
}

// A known number, or null.
std::optional<double> known(const Quantity& quantity) { return quantity.value; }

void write_memory(base::JsonWriter& json, const Graph& graph, const MemoryPlan& plan) {
  json.key("memory").begin_object();
  json.member("excludes", kMemoryPlanExcludes);
  json.member("peak_bytes", plan.peak_bytes).member("peak_step", plan.peak_step);
  if (plan.peak_formula) json.member("peak_formula", plan.peak_formula->factored());
  std::vector<std::string> peak;
  for (const std::size_t tensor : plan.peak_tensors) peak.push_back(value_name(graph, plan.tensors[tensor].value));
  write_line(json, "peak_tensors", peak);
  json.member("arena_bytes", plan.arena_bytes);
  write_line(json, "timeline", plan.timeline);
  write_line(json, "order", plan.order);
  json.key("tensors").begin_array();
  for (const PlannedTensor& tensor : plan.tensors) {
    json.begin_object(Layout::Line);
    json.member("name", value_name(graph, tensor.value)).member("bytes", tensor.bytes);
    json.member("first_step", tensor.first_step).member("last_step", tensor.last_step);
    json.member("offset", tensor.offset);
    std::vector<std::string> shared;
    for (const ValueId value : tensor.shared_by) shared.push_back(value_name(graph, value));
    write_line(json, "shared_by", shared);
    json.end_object();
  }
  json.end_array();
  json.key("weights").begin_array();
  for (const WeightBytes& weight : plan.weights) {
    json.begin_object(Layout::Line);
    json.member("type", to_string(weight.element)).member("tensors", weight.tensors);
    json.member("elements", weight.elements).member("bytes", weight.bytes);
    json.end_object();
  }
  json.end_array();
  if (!plan.kv_cache.pairs.empty()) {
    json.key("kv_cache").begin_object(Layout::Line);
    json.member("bytes_per_token", plan.kv_cache.bytes_per_token).member("past_bytes", plan.kv_cache.past_bytes);
    json.member("pairs", plan.kv_cache.pairs.size());
    json.end_object();
  }
  if (plan.reordered) {
    json.key("reordered").begin_object();
    json.member("peak_bytes", plan.reordered->peak_bytes).member("arena_bytes", plan.reordered->arena_bytes);
    write_line(json, "order", plan.reordered->order);
    json.end_object();
  }
  std::vector<std::string> unsized;
  for (const ValueId value : plan.unsized) unsized.push_back(value_name(graph, value));
  write_line(json, "unsized", unsized);
  json.end_object();
}

void write_traffic(base::JsonWriter& json, const Data& data) {
  const Traffic& traffic = *data.options.sections.traffic;
  json.key("traffic").begin_object();
  json.member("model", to_string(traffic.model));
  json.member("bytes_read", number(traffic.bytes_read)).member("bytes_written", number(traffic.bytes_written));
  json.member("bytes", data.totals.bytes);
  json.key("groups").begin_array();
  for (std::size_t id = 0; id < traffic.groups.size(); ++id) {
    const TrafficGroup& group = traffic.groups[id];
    json.begin_object(Layout::Line);
    json.member("index", id).member("rule", to_string(group.rule));
    write_line(json, "nodes", group.rows);
    std::vector<std::string> rules;
    for (const Fusion rule : group.joined_by) rules.emplace_back(to_string(rule));
    write_line(json, "joined_by", rules);
    json.member("bytes_read", number(group.cost.bytes_read)).member("bytes_written", number(group.cost.bytes_written));
    json.member("saved_bytes", number(group.saved));
    json.end_object();
  }
  json.end_array();
  if (traffic.model == TrafficModel::Resident) {
    json.key("stayed").begin_array();
    for (const ResidentTensor& tensor : traffic.stayed) {
      json.begin_object(Layout::Line);
      json.member("value", value_name(data.model.main(), tensor.value)).member("bytes", tensor.bytes);
      json.member("saved_bytes", tensor.bytes_saved).member("in_memory", tensor.in_memory);
      json.end_object();
    }
    json.end_array();
  }
  json.end_object();
}

void write_device(base::JsonWriter& json, const DeviceSpec& device) {
  json.member("device", device.id).member("device_name", device.name);
  if (!device.power_mode.empty()) json.member("power_mode", device.power_mode);
  json.member("measured", device.measured);
}

void write_times(base::JsonWriter& json, const RooflineTotals& totals) {
  json.member("seconds", totals.seconds).member("floor_seconds", totals.floor_seconds);
  json.member("eager_seconds", totals.eager_seconds).member("compute_seconds", totals.compute_seconds);
  json.member("memory_seconds", totals.memory_seconds).member("launches", totals.launches);
}

void write_bound(base::JsonWriter& json, const RowBound& bound) {
  json.member("bound", to_string(bound.bound));
  const bool is_known = bound.bound != Bound::Unknown;
  const auto maybe = [&](double value) { return is_known ? std::optional(value) : std::nullopt; };
  json.member("seconds", maybe(bound.seconds)).member("compute_seconds", maybe(bound.compute_seconds));
  json.member("memory_seconds", maybe(bound.memory_seconds)).member("share", maybe(bound.share));
  json.member("headroom", bound.headroom).member("flops", maybe(bound.flops)).member("bytes", maybe(bound.bytes));
  json.member("intensity", bound.intensity);
  json.key("precision");
  bound.precision ? json.value(to_string(*bound.precision)) : json.null();
  json.member("unit", to_string(bound.unit)).member("level", bound.level);
}

void write_roofline(base::JsonWriter& json, const Data& data) {
  const TimeSection& time = *data.time();
  json.key("roofline").begin_object();
  write_device(json, *time.device);
  json.key("precision");
  time.options.precision ? json.value(to_string(*time.options.precision)) : json.null();
  json.member("traffic", to_string(data.traffic()));
  write_times(json, time.bound->totals);
  json.member("unknown_nodes", time.bound->totals.unknown_rows).member("at_least", time.bound->totals.at_least);
  json.member("launch_overhead_seconds", known(time.device->launch_overhead_seconds));
  if (time.predicted) {
    json.key("predicted").begin_object(Layout::Line);
    json.member("seconds", time.predicted->seconds).member("low", time.predicted->low);
    json.member("high", time.predicted->high).member("coverage", time.predicted->coverage);
    json.member("calibration", time.predicted->calibration);
    json.end_object();
  }
  json.key("nodes").begin_array();
  for (const RowBound& row : time.bound->rows) {
    json.begin_object(Layout::Line);
    json.member("index", row.row);
    json.key("group");
    row.group >= 0 ? json.value(row.group) : json.null();
    write_bound(json, row);
    json.end_object();
  }
  json.end_array();
  if (!time.bound->groups.empty()) {
    json.key("groups").begin_array();
    for (const RowBound& group : time.bound->groups) {
      json.begin_object(Layout::Line);
      json.member("index", group.row);
      write_bound(json, group);
      json.end_object();
    }
    json.end_array();
  }
  json.end_object();
}

void write_phase(base::JsonWriter& json, const Data& data) {
  const PhaseSection& phase = *data.options.sections.phase;
  json.key("phase").begin_object(Layout::Line);
  json.member("name", to_string(phase.phase)).member("tokens", phase.tokens);
  json.member("cache_bytes_per_token", phase.bytes_per_token);
  const bool has_tokens = phase.tokens && *phase.tokens > 0;
  json.key("bytes_per_token");
  has_tokens&& data.totals.bytes
      ? json.value(static_cast<double>(*data.totals.bytes) / static_cast<double>(*phase.tokens))
      : json.null();
  if (data.time() != nullptr) {
    const double seconds = data.time()->bound->totals.seconds;
    json.key("tokens_per_second");
    has_tokens&& seconds > 0 ? json.value(static_cast<double>(*phase.tokens) / seconds) : json.null();
  }
  json.end_object();
}

void write_step_part(base::JsonWriter& json, std::string_view name, const OpCost& cost, Convention count) {
  json.key(name).begin_object(Layout::Line);
  json.member("macs", number(cost.macs)).member("arith", number(cost.arith)).member("special", number(cost.special));
  json.member("flops", count == Convention::Pagoda ? Number() : number(flops(cost, count)));
  json.member("bytes_read", number(cost.bytes_read)).member("bytes_written", number(cost.bytes_written));
  json.end_object();
}

void write_training_row(base::JsonWriter& json, std::size_t index, const TrainingRow& row) {
  json.begin_object(Layout::Line);
  json.member("index", index);
  const auto part = [&](const char* name, const OpCost& cost) {
    json.key(name).begin_object();
    json.member("macs", number(cost.macs)).member("arith", number(cost.arith)).member("special", number(cost.special));
    json.member("bytes_read", number(cost.bytes_read)).member("bytes_written", number(cost.bytes_written));
    json.end_object();
  };
  part("dx", row.dx);
  part("dw", row.dw);
  json.member("gradient_bytes", number(row.gradient_bytes));
  json.member("parameter_gradient_bytes", number(row.parameter_gradient_bytes));
  json.member("saved_bytes", number(row.saved_bytes()));
  json.key("saved").begin_array();
  for (const SavedTensor& tensor : row.saved) {
    json.begin_object();
    json.member("kind", to_string(tensor.kind)).member("what", tensor.what).member("bytes", number(tensor.bytes));
    json.end_object();
  }
  json.end_array();
  json.member("recomputed", row.recomputed);
  if (!row.problem.empty()) json.member("problem", row.problem);
  json.end_object();
}

void write_training(base::JsonWriter& json, const Data& data) {
  const TrainingSection& section = *data.options.sections.training;
  const Training& training = *section.training;
  const TrainingMemory& memory = training.memory;
  json.key("training").begin_object();
  json.member("optimizer", to_string(section.options.optimizer));
  json.member("recompute", to_string(section.options.recompute));
  json.member("trained_params", number(training.trained_elements));
  json.key("totals").begin_object();
  for (const auto& [name, cost] : step_parts(training)) write_step_part(json, name, *cost, data.options.count);
  json.end_object();
  if (section.time) {
    json.member("seconds", section.time->seconds).member("eager_seconds", section.time->eager_seconds);
    json.member("floor_seconds", section.time->floor_seconds);
  }
  json.key("memory").begin_object();
  json.member("weight_bytes", number(memory.weight_bytes));
  json.member("master_weight_bytes", number(memory.master_weight_bytes));
  json.member("gradient_bytes", number(memory.gradient_bytes));
  json.member("optimizer_state_bytes", number(memory.optimizer_state_bytes));
  json.member("saved_activation_bytes", number(memory.saved_activation_bytes));
  const auto maybe = [](const std::optional<Dim>& bytes) { return bytes ? number(*bytes) : Number(); };
  json.member("activation_peak_bytes", maybe(memory.activation_peak_bytes));
  json.member("peak_bytes", maybe(memory.peak_bytes()));
  json.end_object();
  const OpCost& step = training.totals.step;
  json.key("symbolic").begin_object();
  json.member("macs", step.macs.factored());
  json.member("bytes", formulas(step, data.options.count).bytes);
  json.member("saved_activation_bytes", memory.saved_activation_bytes.factored());
  json.end_object();
  json.member("unmodelled_nodes", training.totals.unmodelled_nodes);
  write_line(json, "unmodelled_ops", training.totals.unmodelled_ops);
  json.member("partial", training.partial);
  json.key("nodes").begin_array();
  for (std::size_t i = 0; i < training.rows.size(); ++i) write_training_row(json, i, training.rows[i]);
  json.end_array();
  json.end_object();
}

void write_budgets(base::JsonWriter& json, const std::vector<BudgetResult>& budgets) {
  json.key("budgets").begin_array();
  for (const BudgetResult& result : budgets) {
    json.begin_object(Layout::Line);
    json.member("budget", to_string(result.budget.kind)).member("limit", result.budget.text);
    json.member("verdict", to_string(result.verdict)).member("value", result.value);
    write_line(json, "causes", result.causes);
    json.end_object();
  }
  json.end_array();
}

}  // namespace

void write_sweep(base::JsonWriter& json, const Sweep& sweep) {
  json.key("sweep").begin_object();
  std::vector<std::string> dims;
  for (const SweepAxis& axis : sweep.axes) dims.push_back(axis.dim);
  write_line(json, "dims", dims);
  json.member("traffic", to_string(sweep.traffic));
  if (sweep.ridge) {
    json.key("ridge").begin_object(Layout::Line);
    json.member("dim", dims[0]).member("size", sweep.ridge->size).member("at_start", sweep.ridge->at_start);
    json.end_object();
  }
  json.key("points").begin_array();
  for (const SweepPoint& point : sweep.points) {
    json.begin_object(Layout::Line);
    for (std::size_t axis = 0; axis < dims.size(); ++axis) json.member(dims[axis], point.sizes[axis]);
    json.member("macs", point.macs).member("flops", point.flops).member("param_bytes", point.param_bytes);
    json.member("bytes_read", point.bytes_read).member("bytes_written", point.bytes_written);
    json.member("bytes", point.bytes).member("intensity", point.intensity);
    json.member("activation_peak_bytes", point.activation_peak_bytes).member("memory_bytes", point.memory_bytes);
    if (point.time) {
      write_times(json, *point.time);
      json.member("items", point.items);
      json.member("bound", to_string(point.bound));
    }
    json.end_object();
  }
  json.end_array();
  json.end_object();
}

void write_sections(base::JsonWriter& json, const Data& data) {
  const Sections& sections = data.options.sections;
  if (sections.memory != nullptr) write_memory(json, data.model.main(), *sections.memory);
  if (sections.phase != nullptr) write_phase(json, data);
  if (sections.traffic != nullptr) write_traffic(json, data);
  if (sections.time != nullptr) write_roofline(json, data);
  if (sections.training != nullptr) write_training(json, data);
  if (sections.sweep != nullptr) write_sweep(json, *sections.sweep);
  if (sections.budgets != nullptr) write_budgets(json, *sections.budgets);
}

}  // namespace pagoda::present::report
