// Answers a request; each part is computed after those it depends on.
#include "pagoda/estimate/make_estimate.h"

#include <algorithm>
#include <limits>
#include <set>

#include "describe.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/error.h"
#include "pagoda/base/plural.h"
#include "pagoda/base/text.h"
#include "pagoda/core/merged_branches.h"
#include "pagoda/estimate/engine_memory.h"

namespace pagoda::estimate {
namespace {

// Replaces "past" and "tokens" by the dims that contain them.
std::vector<SweepAxis> axes_of(const EstimateRequest& request, const std::optional<PhaseSizes>& sizes) {
  std::vector<SweepAxis> axes = request.sweep;
  for (SweepAxis& axis : axes) {
    if (sizes && axis.dim == "past" && !sizes->past_dim.empty()) axis.dim = sizes->past_dim;
    if (sizes && axis.dim == "tokens" && !sizes->token_dim.empty()) axis.dim = sizes->token_dim;
  }
  return axes;
}

// A custom operator that no node uses is probably misspelt.
void warn_of_custom_operators(const Model& model, const EstimateRequest& request, Analysis& analysis) {
  for (const CustomOperator& custom : request.custom_operators) {
    const auto runs_it = [&](const Node& node) {
      return node.op_type == custom.op_type && plain_domain(node.domain) == plain_domain(custom.domain);
    };
    const bool is_used = std::ranges::any_of(
        model.graphs, [&](const Graph& graph) { return std::ranges::any_of(graph.nodes, runs_it); });
    if (!is_used)
      warn(analysis,
           cat("custom operator ", qualified(custom.domain, custom.op_type), " is defined but not used by the model"));
  }
}

// Work that no output needs, which engines drop before a run.
void warn_of_unused_nodes(const Model& model, const EstimateRequest& request, Analysis& analysis) {
  const Graph& graph = model.main();
  std::vector<bool> is_needed(graph.values.size()), runs(graph.nodes.size());
  const auto need = [&](ValueId value) {
    if (value != kAbsent) is_needed[static_cast<std::size_t>(value)] = true;
  };
  std::ranges::for_each(graph.outputs, need);
  for (std::size_t n = graph.nodes.size(); n-- > 0;) {
    const Node& node = graph.nodes[n];
    runs[n] = std::ranges::any_of(
        node.outputs, [&](ValueId output) { return output != kAbsent && is_needed[static_cast<std::size_t>(output)]; });
    if (!runs[n]) continue;
    std::ranges::for_each(node.inputs, need);
    for (const GraphId body : node.bodies())
      for (const Value& value : model.graph(body).values) need(value.outer);
  }
  std::size_t unused = 0;
  const Node* first = nullptr;
  Dim work = 0;
  for (const NodeReport& row : analysis.nodes) {
    if (row.graph != 0 || runs[static_cast<std::size_t>(row.node)]) continue;
    ++unused;
    if (first == nullptr) first = &graph.node(row.node);
    work += core::flops(row.cost, request.count);
  }
  const Count flops = Counter(analysis)(work);
  if (!flops || *flops == 0) return;
  const char* const unit = request.count == Convention::Macs ? "MAC" : "FLOP";
  warn(analysis, cat(base::counted(static_cast<Int>(unused), "node leads", "nodes lead"), " to no output and ",
                     unused == 1 ? "is" : "are", " counted: ", base::si(*flops, unit),
                     ", which engines drop; the first is ", base::printable(display_name(graph, *first))));
}

// The published tool walks the main graph alone.
void warn_of_bodies(const Model& model, Analysis& analysis) {
  std::size_t inside = 0;
  for (const Graph& graph : model.graphs)
    if (graph.parent >= 0) inside += graph.nodes.size();
  if (inside > 0)
    warn(analysis, cat("`count=pagoda`: the published tool counts no node within If, Loop or Scan; ", inside,
                       " nodes of this model are"));
}

// The published rules multiply the counts of the graph, as exported, by the batch.
PagodaCounts published_counts(const Model& model, const Analysis& analysis, const EstimateRequest& request) {
  AnalyzeOptions as_exported = request.sizes;
  as_exported.batch = 0;
  as_exported.symbolic_batch = false;
  const bool is_exported = request.sizes.batch == 0 && !is_swept(request, "batch") && !request.sizes.symbolic_batch;
  return pagoda_counts(model, is_exported ? analysis : analyze(model, as_exported),
                       std::max<std::int64_t>(request.sizes.batch, 1), request.training.has_value());
}

std::optional<Speculation> speculated(const EstimateRequest& request) {
  std::optional<Speculation> result = request.speculation;
  if (!result) return result;
  result->tokens_per_step = 0;
  double chance = 1;  // Σ a^i for i up to `tokens`
  for (std::int64_t i = 0; i <= result->tokens; ++i, chance *= result->acceptance) result->tokens_per_step += chance;
  return result;
}

EstimatePhase phase_of(const Model& model, const EstimateRequest& request, const PhaseSizes& sizes,
                       const Findings& findings) {
  const KvCache cache = findings.estimate.memory
                            ? findings.estimate.memory->kv_cache
                            : plan_memory(model, findings.analysis, {.reorder = false, .arena = false}).kv_cache;
  EstimatePhase phase;
  phase.phase = request.phase->phase;
  phase.tokens = sizes.tokens.evaluate({});
  phase.cache_bytes_per_token = Counter(findings.analysis)(cache.bytes_per_token);
  if (request.phase->tokens)
    phase.sequence_tokens = *request.phase->tokens;
  else if (phase.phase == Phase::Decode)
    phase.sequence_tokens = 1;
  phase.speculated = speculated(request);
  return phase;
}

EstimateMemory memory_of(const Model& model, MemoryPlan plan, const std::vector<Symbol>& symbols) {
  EstimateMemory memory{std::move(plan), std::string(kMemoryPlanExcludes), "", {}, {}};
  if (memory.peak_formula) {
    memory.peak_text = memory.peak_formula->factored();
    memory.is_at_least = depends_on_data(*memory.peak_formula, symbols);
  }
  for (const std::int32_t place : memory.order) {
    const Node& node = model.main().node(place);
    memory.names.push_back(display_name(model.main(), node));
    memory.op_types.push_back(node.op_type);
  }
  return memory;
}

EstimateRoofline roofline_of(const EstimateRequest& request, Roofline bound) {
  EstimateRoofline result;
  static_cast<Roofline&>(result) = std::move(bound);
  result.device = request.device->id;
  result.device_name = request.device->name;
  result.power_mode = request.device->power_mode;
  result.measured = request.device->measured;
  result.precision = request.precision;
  result.traffic = traffic_model_of(request);
  result.launch_overhead_seconds = request.device->launch_overhead_seconds.value;
  result.launch_is_assumed = request.device->launch_overhead_seconds.is_assumed();
  return result;
}

// Of a run whose size is not known: no row has a time, and no total.
Roofline unknown_bound() {
  Roofline unknown;
  unknown.totals.at_least = true;
  return unknown;
}

// Adds times on the device: of the rows or, if traffic is fused, of their kernels.
void add_times(const Model& model, const Model& file_model, const EstimateRequest& request,
               const RooflineOptions& options, Findings& findings) {
  const Analysis& analysis = findings.analysis;
  EstimateRoofline& bound = findings.estimate.roofline.emplace(
      roofline_of(request, findings.group     ? findings.group->bound
                           : findings.traffic ? roofline(analysis, *findings.traffic, *request.device, options)
                                              : roofline(analysis, *request.device, options)));
  warn_of_device(*request.device, bound.assumed, bound.missing, findings.analysis.diagnostics);
  bound.predicted = prediction_of(model, request, findings);
  if (request.decode_device) bound.handover = handover_of(model, file_model, request, analysis);
}

// Networks with parallel branches are often published and deployed as merged networks, whose bound is lower. Times are
// those of the request's device, unless it has several, or sizes are swept.
void warn_of_branches(const Model& model, const EstimateRequest& request, const RooflineOptions& options,
                      Findings& findings) {
  const std::optional<MergedForm> merged = merged_form(model, findings.analysis);
  if (!merged) return;
  EstimateRequest same = request;
  same.decode_device.reset();
  Findings other{.analysis = sized(merged->model, same).analysis};
  const auto macs = [](const Analysis& analysis) {
    return base::si(Counter(analysis)(analysis.totals.cost.macs).value_or(0), "MAC");
  };
  const auto change = [](const std::string& from, const std::string& to) {
    return from == to ? "as many " + from : cat(to, " instead of ", from);
  };
  std::string text = cat("the parallel branches of ", base::counted(merged->blocks, "block"),
                         " add up and could be merged into one Conv", merged->blocks == 1 ? "" : " each",
                         " (reparameterised): then ", change(macs(findings.analysis), macs(other.analysis)));
  if (const auto& apart = findings.estimate.roofline; apart && request.sweep.empty()) {
    other.traffic = traffic_of(merged->model, same, other.analysis);
    add_times(merged->model, merged->model, same, options, other);
    const EstimateRoofline& one = *other.estimate.roofline;
    const auto add = [&](std::string_view what, double from, double to) {
      text += cat(what, base::si_seconds(to), " instead of ", base::si_seconds(from));
    };
    add(", at least ", apart->totals.seconds, one.totals.seconds);
    if (one.predicted && apart->predicted) add(", predicted ", *apart->predicted->seconds, *one.predicted->seconds);
  }
  warn(findings.analysis, text + "; published times may be of the merged network");
}

// Sets the totals of both traffic models: `held` of the one that holds, and of the other by `totals_of` its request.
template <typename TotalsOf>
void set_both_models(const EstimateRequest& request, const RooflineTotals& held, const TotalsOf& totals_of,
                     Findings& findings) {
  const auto totals = [&](TrafficModel moved) {
    return moved == traffic_model_of(request) ? held : totals_of(with_traffic(request, moved));
  };
  findings.fused = totals(TrafficModel::Fused);
  findings.unfused = totals(TrafficModel::Unfused);
}

std::vector<EstimateTraining::Row> rows_of_step(const Findings& findings, const Analysis& step,
                                                const std::optional<Roofline>& bound, Convention convention) {
  std::vector<EstimateTraining::Row> rows;
  for (const StepRow& each : step_rows(findings.analysis, *findings.training)) {
    const OpCost& cost = step.nodes[rows.size()].cost;
    EstimateTraining::Row& row = rows.emplace_back();
    row.node = each.row;
    row.part = each.part;
    if (bound) {
      row.bound = bound->rows[rows.size() - 1];
      continue;
    }
    row.bound.bound = Bound::Unknown;
    if (!is_published(convention)) row.bound.flops = real(count(flops(cost, convention))).value_or(0);
    row.bound.bytes = real(count(cost.bytes_read + cost.bytes_written)).value_or(0);
  }
  return rows;
}

// Returns the step as rows.
Analysis add_training(const Model& model, const EstimateRequest& request, const RooflineOptions& options,
                      const Counter& count, Findings& findings) {
  findings.training = train(model, findings.analysis, *request.training);
  Analysis step = step_analysis(findings.analysis, *findings.training);
  const std::optional<Roofline> bound = request.device && findings.estimate.can_run()
                                            ? std::optional(roofline(step, *request.device, options))
                                            : std::nullopt;
  EstimateTraining& part = findings.estimate.training.emplace(training_part(*findings.training, request, count));
  if (bound) part.time = bound->totals;
  part.rows = rows_of_step(findings, step, bound, options.convention);
  if (part.partial)
    warn(findings.analysis, cat("the backward of ", base::counted(part.unmodelled_nodes, "node"),
                                " is not modelled: ", base::joined(part.unmodelled_ops)));
  return step;
}

// The request for one point of the sweep.
EstimateRequest at_sizes(const EstimateRequest& request, const std::vector<std::int64_t>& sizes) {
  EstimateRequest at = request;
  at.sweep.clear();
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::string& dim = request.sweep[i].dim;
    if (dim == "batch")
      at.sizes.batch = sizes[i];
    else if (at.phase && dim == "past")
      at.phase->past = sizes[i];
    else if (at.phase && dim == "tokens")
      at.phase->tokens = sizes[i];
    else
      at.sizes.dims[dim] = sizes[i];
  }
  return at;
}

// Counts remain totals; memory is for the device that needs most, time for a step on all devices.
void share_point(const GroupRun& group, SweepPoint& point) {
  const MemoryNeed& need = group.largest_need();
  point.param_bytes = need.weights;
  point.activation_peak_bytes = need.activations ? std::optional(need.cache + *need.activations) : std::nullopt;
  point.memory_bytes = need.activations ? std::optional(need.total()) : std::nullopt;
  point.time = group.bound.totals;
  point.bound = group.bound.totals.bound();
}

// Times every point of the sweep: shares of several devices, and predictions. Adds each warning of a prediction to
// `analysis` once, with the first size that raises it.
std::vector<std::optional<EstimatePrediction>> run_points(const Model& model, const Model& file_model,
                                                          const EstimateRequest& request, Sweep& sweep,
                                                          Analysis& analysis) {
  std::vector<std::optional<EstimatePrediction>> predictions;
  if (predicts(request)) predictions.resize(sweep.points.size());
  std::set<std::string> warned;
  for (const Diagnostic& each : analysis.diagnostics) warned.insert(each.message);
  for (std::size_t i = 0; i < sweep.points.size(); ++i) {
    SweepPoint& point = sweep.points[i];
    if (!point.problem.empty()) continue;
    const EstimateRequest at = at_sizes(request, point.sizes);
    Sized start = sized(model, at);
    Findings findings{.analysis = {}};
    if (at.parallel) {
      findings.group = run_on_group(model, at, start, share_of_group(model, at, start));
      share_point(*findings.group, point);
    }
    if (!predicts(request)) continue;
    findings.analysis = std::move(start.analysis);
    findings.analysis.diagnostics.clear();
    findings.traffic = traffic_of(model, at, findings.analysis);
    add_times(model, file_model, at, {.convention = at.count}, findings);
    predictions[i] = std::move(findings.estimate.roofline->predicted);
    for (const Diagnostic& each : findings.analysis.diagnostics)
      if (warned.insert(each.message).second) warn(analysis, sizes_text(sweep, point) + ": " + each.message);
  }
  return predictions;
}

// Items of a run, such as images; 1 where nothing is a batch.
double run_items(const EstimateDocument& estimate) {
  return estimate.roofline ? documents::real(estimate.roofline->items).value_or(1) : 1;
}

// A limit on the time of a run whose size is not known.
BudgetResult without_time(const Budget& limit, const EstimateDocument& estimate) {
  if (!estimate.roofline) throw Error(cat("a limit on ", to_string(limit.kind), " needs `device`"));
  BudgetResult result{.budget = limit, .value = {}, .causes = {}};
  if (!estimate.unset.empty())
    result.causes = {cat("it depends on ", base::joined(estimate.unset), "; set them with `dims`")};
  return result;
}

// A limit on a count of a run that is not known. Weights alone may exceed one on memory.
void forget_count(BudgetResult& result, const EstimateDocument& estimate) {
  if (result.budget.kind == BudgetKind::Params) return;
  if (!estimate.cannot_run.empty()) result.causes = {cat("the model cannot run: ", estimate.cannot_run)};
  result.value = std::nullopt;
  result.verdict = Verdict::CannotTell;
  const Count& weights = estimate.totals.weight_bytes;
  if (result.budget.kind != BudgetKind::Memory || !weights || *weights <= result.budget.limit) return;
  result.value = static_cast<double>(*weights);
  result.verdict = Verdict::Exceeds;
}

// A bound on the time proves only that a limit is exceeded; a measured or a predicted time decides.
void settle(const EstimateDocument& estimate, BudgetResult& result) {
  if (!result.is_bound_within) return;
  const auto decide = [&](double least, double most, const std::string& cause) {
    const double limit = result.budget.limit_seconds;
    result.causes = {cause};
    result.is_least = most == std::numeric_limits<double>::infinity();
    result.is_bound_within = least <= limit && most > limit;
    result.verdict = most <= limit ? Verdict::Fits : least > limit ? Verdict::Exceeds : Verdict::CannotTell;
  };
  const auto& predicted = estimate.roofline ? estimate.roofline->predicted : std::nullopt;
  if (estimate.measured) {
    result.value = estimate.measured->seconds;
    // Sums and busy times leave out what lies between kernels.
    const bool is_run = estimate.measured->basis == documents::MeasuredBasis::Run;
    decide(*result.value, is_run ? *result.value : std::numeric_limits<double>::infinity(),
           is_run ? "as measured" : "as its kernels were measured");
  } else if (predicted && predicted->seconds && predicted->low && predicted->high) {
    result.value = predicted->seconds;
    decide(*predicted->low, *predicted->high,
           cat("as predicted, ", base::si_seconds(*predicted->low), " to ", base::si_seconds(*predicted->high), " for ",
               base::rounded(100 * predicted->coverage.value_or(0)), " %"));
  }
}

void spell_messages(std::string (*spell)(std::string_view), EstimateDocument& estimate) {
  for (Diagnostic& each : estimate.diagnostics) each.message = spell(each.message);
  for (EstimateAdvice& each : estimate.advice) each.change = spell(each.change);
  for (EstimateVariant& each : estimate.variants) each.refused = spell(each.refused);
  for (EstimatePlacement& each : estimate.placement)
    if (each.times && each.times->predicted)
      for (std::string& reason : each.times->predicted->missing) reason = spell(reason);
  if (estimate.budgets)
    for (BudgetResult& each : *estimate.budgets)
      for (std::string& cause : each.causes) cause = spell(cause);
}

}  // namespace

std::int64_t cache_bytes(const DeviceSpec& device) {
  for (const MemoryLevel& level : device.levels)
    if (level.level != "dram" && !level.per_unit && level.capacity_bytes.known())
      return static_cast<std::int64_t>(*level.capacity_bytes.value);
  throw Error("`traffic=resident`: the capacity of a cache that all of " + device.id +
              " shares is not known; give a device file that states it");
}

TrafficModel traffic_model_of(const EstimateRequest& request) {
  if (request.traffic) return *request.traffic;
  if (request.training || is_published(request.count)) return TrafficModel::Unfused;
  const bool is_timed = request.device || !request.other_devices.empty();
  const bool fuses = predicts(request) ? engine_of(request).fuses : is_timed;
  return fuses ? TrafficModel::Fused : TrafficModel::Unfused;
}

std::optional<Traffic> traffic_of(const Model& model, const EstimateRequest& request, const Analysis& analysis) {
  switch (traffic_model_of(request)) {
    case TrafficModel::Unfused:
      return std::nullopt;
    case TrafficModel::Fused:
      return traffic(model, analysis, {.model = TrafficModel::Fused});
    case TrafficModel::Resident:
      break;
  }
  return traffic(model, analysis, {.model = TrafficModel::Resident, .l2_bytes = cache_bytes(*request.device)});
}

bool is_swept(const EstimateRequest& request, std::string_view dim) {
  return std::ranges::find(request.sweep, dim, &SweepAxis::dim) != request.sweep.end();
}

void warn(Analysis& analysis, std::string message) {
  analysis.diagnostics.insert(analysis.diagnostics.begin(),
                              {.severity = Severity::Warning, .node = {}, .message = std::move(message)});
}

// Whether `batch` would set a dim that is none; it is then left as it is.
bool drop_false_batch(const Model& model, EstimateRequest& request) {
  if (request.sizes.batch == 0 || batch_dims(model).empty() ||
      !batch_dims(model, request.sizes, request.custom_operators).empty())
    return false;
  request.sizes.batch = 0;
  return true;
}

Sized sized(const Model& model, const EstimateRequest& request) {
  AnalyzeOptions sizes = sweep_options(request.sizes, request.sweep);
  sizes.precision = request.precision;
  Analysis analysis = analyze(model, sizes, request.custom_operators);
  if (!request.phase) return {std::move(analysis), std::nullopt};
  PhaseOptions options = *request.phase;
  if (is_swept(request, "past")) options.past = std::nullopt;
  PhaseSizes phase = phase_sizes(model, analysis, options);
  // The phase's sizes may resolve others that formulas leave open, such as that of a Slice whose first position is a
  // difference of two sizes.
  if (!analysis.symbols.empty() && !phase.dims.empty() && phase.masks.empty()) {
    sizes.dims.insert(phase.dims.begin(), phase.dims.end());
    Analysis bound = analyze(model, sizes, request.custom_operators);
    if (bound.symbols.size() < analysis.symbols.size()) {
      bound.diagnostics.insert(bound.diagnostics.end(), phase.diagnostics.begin(), phase.diagnostics.end());
      return {std::move(bound), std::move(phase)};
    }
  }
  return {in_phase(analysis, phase), std::move(phase)};
}

Sized sized_as_run(const Model& model, EstimateRequest& request) {
  Sized start = sized(model, request);
  if (request.precision) return start;
  request.precision = precision_of_run(request, start.analysis);
  return request.precision ? sized(model, request) : std::move(start);
}

Analysis analysis_of(const Model& model, const EstimateRequest& asked) {
  EstimateRequest request = asked;
  drop_false_batch(model, request);
  return sized_as_run(model, request).analysis;
}

namespace {

// The estimate with each open size set to 1, unless nodes do not work there.
std::optional<EstimateDocument> at_one(const Model& file_model, EstimateRequest request, const Analysis& open) {
  for (const std::string& dim : open.free_dims) request.sizes.dims.emplace(dim, 1);
  request.spell = nullptr;
  try {
    EstimateDocument estimate = make_estimate(file_model, request);
    if (estimate.totals.unmodelled_nodes <= open.totals.unmodelled_nodes) return estimate;
  } catch (const Error&) {
  }
  return std::nullopt;
}

}  // namespace

EstimateDocument make_estimate(const Model& file_model, const EstimateRequest& asked) {
  if (const std::string problem = refusal(asked); !problem.empty()) throw Error(problem);
  EstimateRequest request = asked;
  request.unfused = false;
  request.providers.clear();  // of the answer alone, not of each change that is tried
  const bool has_false_batch = drop_false_batch(file_model, request);
  // The published tool counts no branch.
  const std::optional<Model> taken = is_published(request.count) ? std::nullopt : with_branches_taken(file_model);
  const Model& model = taken ? *taken : file_model;
  Sized start = sized_as_run(model, request);
  const Count items = items_of(model, request, start);
  const std::vector<SweepAxis> axes = axes_of(request, start.phase);
  std::vector<std::string> swept;
  for (const SweepAxis& axis : axes)
    for (std::string& symbol : axis_symbols(model, start.analysis, axis.dim)) swept.push_back(std::move(symbol));
  std::vector<std::string> unset = unset_dims(model, start.analysis, swept);
  // Times, fits and all that follows from them need a device, and the size of the run.
  std::string cannot_run = axes.empty() ? cannot_run_text(model, start.analysis) : "";
  const bool is_timed = request.device && unset.empty() && cannot_run.empty();
  Findings findings{.analysis = {}};
  if (request.parallel && is_timed) {
    GroupShare share = share_of_group(model, request, start);
    findings.group = run_on_group(model, request, start, share);
    const auto totals_of = [&](const EstimateRequest& other) {
      share.moved = traffic_of(model, other, share.share.analysis);
      return run_on_group(model, other, start, share).bound.totals;
    };
    set_both_models(request, findings.group->bound.totals, totals_of, findings);
  }
  findings.analysis = std::move(start.analysis);
  EstimateDocument& estimate = findings.estimate;
  Analysis& analysis = findings.analysis;
  estimate.unset = std::move(unset);
  warn_of_custom_operators(model, request, analysis);
  warn_of_unused_nodes(model, request, analysis);
  if (has_false_batch)
    warn(analysis,
         "`batch` has no effect: the first dims of the inputs count no independent items; set sizes with `dims` or "
         "`inputs`");

  const bool is_asked_for_time = request.device || !request.other_devices.empty();
  if (is_asked_for_time && !estimate.unset.empty() && axes.empty() && !request.phase)
    analysis.diagnostics.push_back({.severity = Severity::Info,
                                    .node = {},
                                    .message = open_inputs_text(model, request, analysis, estimate.unset),
                                    .cause = Cause::OpenSizes});
  estimate.cannot_run = std::move(cannot_run);
  if (!estimate.cannot_run.empty()) estimate.exceeded_table = exceeded_table(position_tables(model, analysis));
  if (!estimate.exceeded_table.empty()) warn(analysis, estimate.exceeded_table + ": no engine can run that");
  // Times and memory plans need sizes; a sweep has its own.
  const std::string impossible = impossible_size(analysis, swept);
  if (axes.empty() && !impossible.empty() && (request.memory || (request.device && estimate.unset.empty())))
    throw Error(impossible);
  // One message is enough where a size itself is impossible.
  const Broken broken =
      impossible.empty() ? broken_at_one(model, request, start.phase, analysis, swept, estimate.unset) : Broken();
  if (!broken.why.empty()) {
    const bool is_batch_alone = axes.empty() && estimate.unset.empty() && !request.formulas && !request.row_formulas;
    if (auto fixed = is_batch_alone ? at_one(file_model, asked, analysis) : std::nullopt) {
      fixed->diagnostics.insert(fixed->diagnostics.begin(), {.severity = Severity::Warning,
                                                             .node = {},
                                                             .message = cat(broken.why, "; these numbers are of 1, ",
                                                                            broken.remedy, " for others")});
      if (request.spell != nullptr) spell_messages(request.spell, *fixed);
      fixed->placement.clear();  // the runtime loads the model with its open sizes
      for (const Provider& provider : asked.providers)
        fixed->placement.push_back(placement_of(model, request, findings, provider));
      return *std::move(fixed);
    }
    const std::string text = cat(broken.why, "; ", broken.remedy);
    if (axes.empty() && (request.device || request.memory) && estimate.unset.empty()) throw Error(text);
    warn(analysis, text);
  }
  if (request.memory)
    estimate.memory = memory_of(model, plan_memory(model, analysis, *request.memory), analysis.symbols);
  if (start.phase) estimate.phase = phase_of(model, request, *start.phase, findings);
  // Rows of several devices have their own.
  if (request.device || request.traffic) findings.traffic = traffic_of(model, request, analysis);
  const RooflineOptions bound_options{.convention = request.count};
  if (is_timed && (axes.empty() || impossible_size(analysis, {}).empty())) {
    add_times(model, file_model, request, bound_options, findings);
    EstimateRoofline& bound = *estimate.roofline;
    bound.items = items;
    const auto totals_of = [&](const EstimateRequest& other) { return times_of(model, other, analysis); };
    if (!findings.group) set_both_models(request, bound.totals, totals_of, findings);
    bound.fused_seconds = findings.fused->seconds;
    bound.unfused_seconds = findings.unfused->seconds;
    bound.totals.floor_seconds = std::min(bound.totals.floor_seconds, *bound.fused_seconds);
  } else if (request.device && !is_timed) {
    estimate.roofline = roofline_of(request, unknown_bound());
    estimate.fit.emplace().device_bytes = request.device->memory_bytes();
  }
  if (is_asked_for_time && estimate.can_run() && !request.training && !findings.group)
    warn_of_branches(model, request, bound_options, findings);
  if (is_published(request.count)) {
    findings.published = published_counts(model, analysis, request);
    if (const std::string& failure = findings.published->failure; !failure.empty())
      warn(analysis, "no counts: " + failure);
    warn_of_bodies(model, analysis);
  }
  const Analysis step =
      request.training ? add_training(model, request, bound_options, Counter(analysis, swept), findings) : Analysis();
  const Analysis& rows = request.training ? step : analysis;
  if (request.device && estimate.unset.empty() && axes.empty())
    add_fit_and_advice(model, file_model, request, findings);
  if (estimate.fit) estimate.fit->engine = engine_memory(request, estimate);
  if (estimate.unset.empty()) estimate.variants = variants_of(model, file_model, request, analysis);
  std::optional<Sweep> sweep;
  std::vector<std::optional<EstimatePrediction>> predictions;  // by point of the sweep
  if (!axes.empty()) {
    SweepOptions options{.count = request.count,
                         .traffic = traffic_model_of(request),
                         .l2_bytes = request.traffic == TrafficModel::Resident ? cache_bytes(*request.device) : 0,
                         .is_step = request.training.has_value(),
                         .items = start.phase ? std::optional(start.phase->tokens) : std::nullopt};
    if (request.device) {
      if (!impossible.empty()) throw Error(impossible);
      if (is_timed && !request.parallel) options.time = SweepTime{*request.device, bound_options};
    }
    sweep = core::sweep(model, rows, axes, options);
    if (is_timed && (request.parallel || predicts(request)))
      predictions = run_points(model, file_model, request, *sweep, analysis);
    // What holds at no point need not be said at each.
    if (!impossible.empty() || !broken.why.empty())
      for (SweepPoint& point : sweep->points)
        if (point.problem.empty()) {
          SweepPoint unknown;
          unknown.sizes = std::move(point.sizes);
          unknown.problem = impossible.empty() ? broken.why : impossible;
          point = std::move(unknown);
        }
    for (const SweepPoint& point : sweep->points) {
      if (point.problem.empty() || point.problem == broken.why || point.problem == impossible) continue;
      warn(analysis, sizes_text(*sweep, point) + ": " + point.problem);
    }
  }
  BudgetOptions limits{.count = request.count,
                       .traffic = findings.traffic ? &*findings.traffic : nullptr,
                       .time = estimate.roofline ? &estimate.roofline->totals : nullptr,
                       .sweep = sweep ? &*sweep : nullptr,
                       .swept = swept};
  const Count& peak = estimate.totals.activation_peak_bytes = activation_peak(model, analysis);
  if (!request.training && !peak.is_at_least()) limits.activation_bytes = peak;
  if (request.parallel && request.parallel->devices() > 1 && estimate.fit)
    limits.bytes_of_each = estimate.fit->total_bytes;
  if (estimate.training && estimate.training->time) limits.time = &*estimate.training->time;
  if (!request.budgets.empty()) estimate.budgets.emplace();
  for (const Budget& limit : request.budgets)
    estimate.budgets->push_back(is_timed || !is_of_time(limit.kind)
                                    ? check_budget(of_run(limit, run_items(estimate)), rows, limits)
                                    : without_time(limit, estimate));
  if (sweep) estimate.sweep = sweep_part(std::move(*sweep), std::move(swept), predictions);
  if (sweep && request.device)
    estimate.sweep->cliffs = cliffs_of(*estimate.sweep, *request.device, arena_weights_of(model, asked, analysis),
                                       request.phase.has_value());
  for (const Provider& provider : asked.providers) {
    if (const std::string unfit = unfit_text(provider, request); !unfit.empty()) warn(analysis, unfit);
    estimate.placement.push_back(placement_of(model, request, findings, provider));
  }
  if (asked.unfused) add_unfused(model, asked, findings);
  describe(model, request, findings);
  if (!estimate.can_run()) estimate.advice.clear();
  const bool is_counted = (impossible.empty() && broken.why.empty()) || !axes.empty() || is_published(request.count);
  if (!is_counted) forget_counts(estimate);
  if (estimate.budgets)
    for (BudgetResult& each : *estimate.budgets) {
      if (!is_counted || !estimate.cannot_run.empty()) forget_count(each, estimate);
      settle(estimate, each);
      if (each.budget.kind == BudgetKind::Memory && limits.bytes_of_each) each.causes.push_back("on each device");
    }
  if (request.spell != nullptr) spell_messages(request.spell, estimate);
  return std::move(estimate);
}

}  // namespace pagoda::estimate
