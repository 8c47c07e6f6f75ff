// Builds the document from an analysis and the results computed from it.
#include "describe.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "pagoda/base/error.h"
#include "pagoda/core/call_names.h"
#include "pagoda/estimate/measured_runs.h"

namespace pagoda::estimate {
namespace {

// The value of `formula`; empty if it is negative or cannot be computed.
template <typename Formula>
Count known(const Formula& formula) {
  try {
    const Int value = formula();
    return value < 0 ? Count() : value;
  } catch (const Error&) {
    return std::nullopt;
  }
}

Count maybe(const std::optional<Dim>& dim, const Counter& count) { return dim ? count(*dim) : Count(); }

// The published estimator does not separate reads from writes, and does not report what it could not model.
void set_published(EstimateCounts& counts, const PagodaCounts& published, const PagodaCount& count) {
  const bool failed = !published.failure.empty();
  const auto set = [&](Count& value, const Count& to) {
    value = (failed ? Count() : to).at_least(value.is_at_least());
  };
  set(counts.flops, count.flops);
  set(counts.param_bytes, count.param_bytes);
  set(counts.bytes, count.memory_bytes);
  counts.bytes_read = counts.bytes_written = std::nullopt;
}

bool is_unmodelled(const NodeReport& row) { return row.cost.mark == Mark::Unmodelled || row.unmodelled_inside > 0; }

// The sum of counts as one formula, or joined by " + " if it has more terms than a Dim supports.
std::string sum_formula(const Dim& a, const Dim& b) {
  try {
    return (a + b).factored();
  } catch (const Error&) {
    return a.factored() + " + " + b.factored();
  }
}

// Counts of some work; if it is not modelled, only the weights are known. Adds numbers rather than formulas, since sums
// of formulas are limited in their number of terms.
EstimateCounts counts_of(const OpCost& cost, const Dim& params, const Dim& param_bytes, Convention convention,
                         const Counter& count, bool is_modelled = true) {
  EstimateCounts counts;
  counts.params = count(params);
  counts.param_bytes = count(param_bytes);
  if (!is_modelled) return counts;
  counts.macs = count(cost.macs);
  counts.arith = count(cost.arith);
  counts.special = count(cost.special);
  counts.comparisons = count(cost.comparisons);
  counts.bytes_read = count(cost.bytes_read);
  counts.bytes_written = count(cost.bytes_written);
  counts.bytes = counts.bytes_read + counts.bytes_written;
  if (counts.macs && counts.arith && counts.special && counts.comparisons) {
    OpCost numbers, bounds;  // bounds: 1 for each kind of work that is a lower bound
    numbers.macs = *counts.macs;
    numbers.arith = *counts.arith;
    numbers.special = *counts.special;
    numbers.comparisons = *counts.comparisons;
    bounds.macs = Int{counts.macs.is_at_least()};
    bounds.arith = Int{counts.arith.is_at_least()};
    bounds.special = Int{counts.special.is_at_least()};
    counts.flops =
        known([&] { return *flops(numbers, convention).value(); }).at_least(flops(bounds, convention) != Dim(0));
  }
  return counts;
}

EstimateFormulas formulas_of(const OpCost& cost, Convention count) {
  EstimateFormulas result{
      .macs = cost.macs.factored(), .flops = "", .bytes = sum_formula(cost.bytes_read, cost.bytes_written)};
  OpCost contraction, rest;
  contraction.macs = cost.macs;
  rest.arith = cost.arith;
  rest.special = cost.special;
  rest.comparisons = cost.comparisons;
  if (!is_published(count)) result.flops = sum_formula(flops(contraction, count), flops(rest, count));
  return result;
}

// "ai.onnx" for the default domain, which is empty in files.
constexpr std::string_view kDefaultDomain = "ai.onnx";
std::string domain_name(std::string_view domain) { return std::string(domain.empty() ? kDefaultDomain : domain); }

EstimateModel model_part(const Model& model) {
  EstimateModel part{.path = model.path,
                     .name = model.graph_name,
                     .ir_version = model.ir_version,
                     .producer = model.producer + (model.producer_version.empty() ? "" : " ") + model.producer_version,
                     .nodes = model.main().nodes.size(),
                     .functions = model.functions.size()};
  for (const auto& [domain, version] : model.opsets) part.opsets[domain_name(domain)] = version;
  return part;
}

// Shared by all rows.
struct OfRows {
  const Model& model;
  const EstimateRequest& request;
  const Findings& findings;
  CallNames names;
  Counter count;
  Name default_domain = kDefaultDomain;
};

// Moves the report's outputs into the row.
EstimateNode node_part(const OfRows& of, NodeReport& report, std::size_t index) {
  const auto& [model, request, findings, names, count, default_domain] = of;
  const Graph& graph = model.graph(report.graph);
  const Node& node = graph.nodes[static_cast<std::size_t>(report.node)];
  EstimateNode row;
  row.index = index;
  row.name = node.name;
  row.op_type = node.op_type;
  row.domain = node.domain.empty() ? default_domain : node.domain;
  row.scope = report.scope.empty() ? node.scope
              : node.scope.empty() ? report.scope
                                   : Name(report.scope + "/" + node.scope);
  row.body = report.scope;
  row.inputs.reserve(node.inputs.size());
  for (const ValueId input : node.inputs) row.inputs.push_back(names.of(index, input));
  row.outputs = std::move(report.outputs);
  if (std::size_t output = 0; !model.functions.empty())
    for (const ValueId value : node.outputs)
      if (value != kAbsent && output < row.outputs.size()) row.outputs[output++].name = names.of(index, value);
  row.counts = counts_of(report.cost, report.params, report.param_bytes, request.count, count, !is_unmodelled(report));
  if (const auto& published = findings.published)
    set_published(row.counts, *published, published->of(report.graph, report.node));
  row.precision = report.cost.precision;
  row.dequantized_from = report.dequantized_from;
  row.mark = report.cost.mark;
  if (findings.traffic) row.group = findings.traffic->group_of[index];
  row.problem = report.problem;
  if (report.problem.empty() && report.unmodelled_inside > 0)
    row.problem = std::to_string(report.unmodelled_inside) + " nodes inside are not modelled";
  if (request.row_formulas && row.problem.empty()) row.symbolic = formulas_of(report.cost, request.count);
  return row;
}

// Most time first if there is a device; then most FLOPs, unknown last, then by domain and name.
std::vector<EstimateType> type_parts(const EstimateDocument& estimate, const EstimateRequest& request,
                                     const Analysis& analysis) {
  struct Sum {
    EstimateType row;
    OpCost cost;
  };
  // The default domain, which is empty in files, comes first.
  std::map<std::pair<std::string, std::string>, Sum> sums;
  for (const EstimateNode& node : estimate.nodes) {
    auto& [row, cost] = sums[{node.domain == kDefaultDomain ? "" : node.domain, node.op_type}];
    row.op_type = node.op_type;
    row.domain = node.domain;
    ++row.nodes;
    const NodeReport& report = analysis.nodes[node.index];
    if (is_unmodelled(report)) {
      ++row.unmodelled_nodes;
    } else if (request.row_formulas) {
      cost += report.cost;
    }
    if (const RowBound* bound = estimate.bound_of(node)) row.seconds = row.seconds.value_or(0) + bound->seconds;
    for (const auto& [name, member] : kEstimateCounts)
      if (const Count& value = node.counts.*member)
        row.counts.*member = row.counts.*member ? row.counts.*member + value : value;
  }
  std::vector<EstimateType> types;
  for (auto& [key, sum] : sums) {
    if (request.row_formulas) sum.row.symbolic = formulas_of(sum.cost, request.count);
    types.push_back(std::move(sum.row));
  }
  std::ranges::stable_sort(types, std::ranges::greater(), [](const EstimateType& type) {
    return std::pair(type.seconds, type.counts.flops.value_or(-1));
  });
  return types;
}

EstimateGroup group_part(const TrafficGroup& group, const Analysis& analysis, const EstimateRequest& request,
                         const Counter& count) {
  Dim params, param_bytes;
  for (const std::int32_t row : group.rows) {
    params += analysis.nodes[static_cast<std::size_t>(row)].params;
    param_bytes += analysis.nodes[static_cast<std::size_t>(row)].param_bytes;
  }
  const bool is_modelled = group.cost.mark != Mark::Unmodelled;
  EstimateGroup part{
      .rule = group.rule,
      .nodes = {group.rows.begin(), group.rows.end()},
      .joined_by = group.joined_by,
      .counts = counts_of(group.cost, params, param_bytes, request.count, count, is_modelled),
      .saved_bytes = count(group.saved),
  };
  if (request.row_formulas && is_modelled) part.symbolic = formulas_of(group.cost, request.count);
  return part;
}

EstimateTraffic traffic_part(const Analysis& analysis, Traffic& traffic, const EstimateRequest& request,
                             const Counter& count) {
  EstimateTraffic part{.model = traffic.model,
                       .bytes_read = count(traffic.bytes_read),
                       .bytes_written = count(traffic.bytes_written),
                       .bytes = count(traffic.bytes_read) + count(traffic.bytes_written),
                       .stayed = std::move(traffic.stayed)};
  part.groups.reserve(traffic.groups.size());
  for (const TrafficGroup& group : traffic.groups) part.groups.push_back(group_part(group, analysis, request, count));
  return part;
}

// Adds rates per second and bytes per token.
void add_rates(EstimatePhase& phase, const EstimateDocument& estimate) {
  phase.is_timed = estimate.roofline.has_value();
  if (!phase.tokens || *phase.tokens <= 0) return;
  const double tokens = static_cast<double>(*phase.tokens);
  if (const Count bytes = estimate.moved().bytes) phase.bytes_per_token = static_cast<double>(*bytes) / tokens;
  if (!phase.is_timed || estimate.roofline->totals.seconds <= 0) return;
  phase.tokens_per_second = tokens / estimate.roofline->totals.seconds;
  if (phase.sequence_tokens)
    phase.user_tokens_per_second = static_cast<double>(*phase.sequence_tokens) / estimate.roofline->totals.seconds;
  const auto& parallel = estimate.roofline->parallel;
  phase.device_tokens_per_second =
      *phase.tokens_per_second / static_cast<double>(parallel ? parallel->devices.devices() : 1);
}

// Times and points of a sweep are made from the same formulas as the totals, or as the step of a training run: they are
// lower bounds where those are.
void mark_lower_bounds(EstimateDocument& estimate) {
  const EstimateCounts& whole = estimate.training ? estimate.training->step : estimate.totals.counts;
  const bool bounds_bytes = whole.bytes_read.is_at_least() || whole.bytes_written.is_at_least();
  const bool bounds_time =
      bounds_bytes || whole.macs.is_at_least() || whole.arith.is_at_least() || whole.special.is_at_least();
  if (estimate.roofline) estimate.roofline->totals.at_least |= bounds_time;
  if (estimate.training && estimate.training->time) estimate.training->time->at_least |= bounds_time;
  for (EstimateVariant& variant : estimate.variants) variant.is_part |= bounds_time && variant.seconds;
  if (!estimate.sweep) return;
  const bool bounds_memory = estimate.training ? estimate.training->peak_bytes.is_at_least()
                                               : estimate.totals.activation_peak_bytes.is_at_least();
  for (EstimatePoint& point : estimate.sweep->points) {
    for (const auto& [name, member] : kEstimateCounts) {
      Count& value = point.counts.*member;
      value = value.at_least((whole.*member).is_at_least() || (member == &EstimateCounts::bytes && bounds_bytes));
    }
    if (point.counts.flops.is_at_least() || point.counts.bytes.is_at_least()) point.intensity = std::nullopt;
    point.activation_peak_bytes = point.activation_peak_bytes.at_least(bounds_memory);
    point.memory_bytes = point.memory_bytes.at_least(bounds_memory);
    if (point.time) point.time->at_least |= bounds_time;
  }
}

EstimateCounts work_part(const OpCost& cost, const Counter& count,
                         std::optional<Convention> convention = std::nullopt) {
  EstimateCounts counts;
  counts.macs = count(cost.macs);
  counts.arith = count(cost.arith);
  counts.special = count(cost.special);
  if (convention && !is_published(*convention)) counts.flops = count(flops(cost, *convention));
  counts.bytes_read = count(cost.bytes_read);
  counts.bytes_written = count(cost.bytes_written);
  return counts;
}

EstimatePoint point_part(SweepPoint&& from) {
  EstimatePoint point;
  point.sizes = std::move(from.sizes);
  point.counts.macs = from.macs;
  point.counts.flops = from.flops;
  point.counts.param_bytes = from.param_bytes;
  point.counts.bytes_read = from.bytes_read;
  point.counts.bytes_written = from.bytes_written;
  point.counts.bytes = from.bytes;
  point.intensity = from.intensity;
  point.activation_peak_bytes = from.activation_peak_bytes;
  point.memory_bytes = from.memory_bytes;
  point.items = from.items;
  point.time = from.time;
  point.bound = from.bound;
  return point;
}

}  // namespace

EstimateTraining training_part(const Training& training, const EstimateRequest& request, const Counter& count) {
  const Convention convention = request.count;
  const TrainingTotals& totals = training.totals;
  const TrainingMemory& memory = training.memory;
  EstimateTraining part;
  part.optimizer = request.training->optimizer;
  part.recompute = request.training->recompute;
  part.trained_params = count(training.trained_elements);
  part.forward = work_part(totals.forward, count, convention);
  part.backward = work_part(totals.backward, count, convention);
  part.dx = work_part(totals.dx, count, convention);
  part.dw = work_part(totals.dw, count, convention);
  part.recomputed = work_part(totals.recomputed, count, convention);
  part.optimizer_work = work_part(totals.optimizer, count, convention);
  part.step = work_part(totals.step, count, convention);
  part.weight_bytes = count(memory.weight_bytes);
  part.master_weight_bytes = count(memory.master_weight_bytes);
  part.gradient_bytes = count(memory.gradient_bytes);
  part.optimizer_state_bytes = count(memory.optimizer_state_bytes);
  part.saved_activation_bytes = count(memory.saved_activation_bytes);
  part.activation_peak_bytes = maybe(memory.activation_peak_bytes, count);
  part.peak_bytes = maybe(memory.peak_bytes(), count);
  part.macs_formula = totals.step.macs.factored();
  part.bytes_formula = formulas_of(totals.step, convention).bytes;
  part.saved_activation_formula = memory.saved_activation_bytes.factored();
  part.unmodelled_nodes = totals.unmodelled_nodes;
  part.unmodelled_ops = totals.unmodelled_ops;
  part.partial = training.partial;
  part.nodes.reserve(training.rows.size());
  for (const TrainingRow& row : training.rows) {
    EstimateTraining::Node& node = part.nodes.emplace_back();
    node.index = part.nodes.size() - 1;
    node.dx = work_part(row.dx, count);
    node.dw = work_part(row.dw, count);
    node.gradient_bytes = count(row.gradient_bytes);
    node.parameter_gradient_bytes = count(row.parameter_gradient_bytes);
    node.saved_bytes = count(row.saved_bytes());
    for (const SavedTensor& tensor : row.saved)
      node.saved.push_back({.kind = tensor.kind, .what = tensor.what, .bytes = count(tensor.bytes)});
    node.recomputed = row.recomputed;
    node.problem = row.problem;
  }
  return part;
}

EstimateSweep sweep_part(Sweep sweep, std::vector<std::string> symbols,
                         const std::vector<std::optional<EstimatePrediction>>& predictions) {
  EstimateSweep part;
  part.symbols = std::move(symbols);
  part.traffic = sweep.traffic;
  part.ridge = sweep.ridge;
  for (SweepAxis& axis : sweep.axes) part.dims.push_back(std::move(axis.dim));
  part.points.reserve(sweep.points.size());
  for (SweepPoint& point : sweep.points) part.points.push_back(point_part(std::move(point)));
  part.has_predictions = !predictions.empty();
  for (std::size_t i = 0; i < predictions.size(); ++i) {
    if (!predictions[i]) continue;
    part.points[i].predicted_seconds = predictions[i]->seconds;
    part.points[i].predicted_low = predictions[i]->low;
    part.points[i].predicted_high = predictions[i]->high;
    part.engine = predictions[i]->engine;
    part.calibration = predictions[i]->calibration;
  }
  return part;
}

void describe(const Model& model, const EstimateRequest& request, Findings& findings) {
  Analysis& analysis = findings.analysis;
  const Totals& totals = analysis.totals;
  EstimateDocument& estimate = findings.estimate;
  estimate.tool = request.tool;
  estimate.model = model_part(model);
  for (const std::string& name : analysis.free_dims) estimate.bindings.emplace(name, std::nullopt);
  for (const auto& [name, size] : analysis.bindings) estimate.bindings.insert_or_assign(name, size);
  estimate.renamed = analysis.renamed;
  estimate.count = request.count;
  estimate.precision = request.precision;

  const Counter count(analysis, estimate.sweep ? estimate.sweep->symbols : std::vector<std::string>());
  const OpCost& cost = totals.cost;
  EstimateTotals& sums = estimate.totals;
  sums.counts = counts_of(cost, totals.params, totals.param_bytes, request.count, count);
  sums.weight_bytes = count(totals.weight_bytes);
  if (const auto& published = findings.published) {
    set_published(sums.counts, *published, published->total);
    sums.weight_bytes = sums.counts.param_bytes;
  }
  // A ratio of two lower bounds is not a bound.
  if (!analysis.partial || is_published(request.count)) sums.intensity = sums.counts.intensity();
  if (const auto& formula = totals.activation_peak_bytes)
    sums.activation_peak_bytes = sums.activation_peak_bytes.at_least(count(*formula).is_at_least());
  sums.unmodelled_nodes = totals.unmodelled_nodes;
  sums.unmodelled_ops = totals.unmodelled_ops;
  sums.partial = analysis.partial;
  if (const Dim once = flops(totals.at_load); once != Dim(0)) {
    EstimateCounts& counts = sums.at_load.emplace();
    counts.macs = count(totals.at_load.macs);
    counts.arith = count(totals.at_load.arith);
    counts.special = count(totals.at_load.special);
    counts.flops = count(once);
  }

  const std::optional<Dim>& peak = totals.activation_peak_bytes;
  const auto is_free = [](const Dim* dim) { return !dim->is_constant(); };
  const Dim* const sums_shown[] = {&cost.macs, &cost.arith, &cost.special, &cost.bytes_read, &cost.bytes_written};
  if (request.formulas || request.row_formulas || (peak && is_free(&*peak)) ||
      std::any_of(std::begin(sums_shown), std::end(sums_shown), is_free))
    estimate.symbolic = {.totals = formulas_of(cost, request.count),
                         .activation_peak_bytes = peak ? peak->factored() : std::string()};
  if (findings.traffic) {
    estimate.traffic = traffic_part(analysis, *findings.traffic, request, count);
    if (estimate.symbolic)
      estimate.traffic->bytes_formula = sum_formula(findings.traffic->bytes_read, findings.traffic->bytes_written);
  }
  if (estimate.roofline && findings.group) estimate.roofline->parallel = parallel_part(model, request, *findings.group);
  if (estimate.phase) add_rates(*estimate.phase, estimate);
  if (estimate.sweep && request.device) {
    estimate.sweep->device_bytes = request.device->memory_bytes();
    estimate.sweep->best = best_of(*estimate.sweep);
  }
  mark_lower_bounds(estimate);

  if (request.device)
    if (std::string note = add_energy(*request.device, estimate); !note.empty())
      analysis.diagnostics.push_back({.severity = Severity::Info, .node = {}, .message = std::move(note)});
  if (request.measured)
    if (std::string note = add_measured(*request.measured, estimate); !note.empty())
      analysis.diagnostics.push_back({.severity = Severity::Warning, .node = {}, .message = std::move(note)});

  // The rows contain all that the document needs; frees memory for it.
  std::vector<TensorType>().swap(analysis.types);
  std::vector<base::Boxed<TensorValue>>().swap(analysis.values);
  estimate.nodes.reserve(analysis.nodes.size());
  const OfRows of{.model = model,
                  .request = request,
                  .findings = findings,
                  .names = CallNames(model, analysis.nodes),
                  .count = count};
  for (NodeReport& report : analysis.nodes) estimate.nodes.push_back(node_part(of, report, estimate.nodes.size()));
  if (request.by_type) estimate.types = type_parts(estimate, request, analysis);
  estimate.symbols = std::move(analysis.symbols);
  std::move(estimate.diagnostics.begin(), estimate.diagnostics.end(), std::back_inserter(analysis.diagnostics));
  estimate.diagnostics = std::move(analysis.diagnostics);
}

}  // namespace pagoda::estimate
