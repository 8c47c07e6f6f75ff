// Whether a request fits and the largest sizes that do, faster options, and other devices, precisions and traffic.
#include <algorithm>
#include <array>
#include <map>

#include "describe.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/error.h"
#include "pagoda/core/energy.h"
#include "pagoda/core/fit.h"
#include "pagoda/core/quantise.h"

namespace pagoda::estimate {
namespace {

// The smallest gain for which advice is given.
constexpr double kLeastGain = 1.05;
// The advised batch is the smallest one tried that reaches this fraction of the gain of the largest one tried.
constexpr double kEnough = 0.9;
constexpr std::int64_t kLargestBatch = 1024;  // the largest one tried

// The analysis of the model with its batch left free.
struct OpenBatch {
  std::optional<Analysis> reopened;  // empty if the batch of the given analysis is already free
  const Analysis* at_hand = nullptr;
  std::vector<std::string> symbols;

  const Analysis& analysis() const { return reopened ? *reopened : *at_hand; }
};

// Empty if the model has no batch, or works only at the batch it was exported with.
std::optional<OpenBatch> open_batch(const Model& model, const EstimateRequest& request, const Analysis& analysis) {
  try {
    return OpenBatch{{}, &analysis, axis_symbols(model, analysis, "batch")};
  } catch (const Error&) {  // the batch is bound
  }
  EstimateRequest open = request;
  open.sweep.clear();
  open.sizes.batch = 0;
  open.sizes.symbolic_batch = true;
  try {
    OpenBatch result{sized(model, open).analysis, nullptr, {}};
    result.symbols = axis_symbols(model, *result.reopened, "batch");
    return result;
  } catch (const Error&) {
    return std::nullopt;
  }
}

// The part of an analysis with a free size that one device holds, before the layers are cut into stages.
Analysis open_share(const Model& model, const EstimateRequest& request, const Analysis& analysis) {
  return request.parallel ? share_of_device(model, analysis, *request.parallel).analysis : analysis;
}

// The largest size at which the run fits on every device.
Count largest_on_all(const Model& model, const Analysis& share, const GroupRun* group,
                     const std::vector<std::string>& symbols, Int bytes, const Training* training) {
  Count least;
  const auto take = [&](const Analysis& held) {
    if (const auto size = largest_size(model, held, symbols, bytes, training))
      least = least ? std::min<Int>(*least, *size) : Int{*size};
  };
  if (group == nullptr || group->stages.empty()) take(share);
  if (group != nullptr)
    for (const Stage& stage : group->stages) take(analysis_of_stage(model, share, stage));
  return least;
}

// `share`: open_share() of the batch's analysis.
Count largest_batch(const Model& model, const EstimateRequest& request, const OpenBatch& open, const Analysis& share,
                    Int bytes, const GroupRun* group) {
  const std::optional<Training> training =
      request.training ? std::optional(train(model, open.analysis(), *request.training)) : std::nullopt;
  const Count size = largest_on_all(model, share, group, open.symbols, bytes, training ? &*training : nullptr);
  return size && request.parallel ? Count(*size * request.parallel->expert) : size;
}

// A decode step with its past left free; the same on every device.
struct OpenContext {
  std::optional<PositionTable> table;
  // Empty symbols: memory does not grow with the past, or it is not known how.
  std::optional<Model> model;
  Analysis share;
  std::vector<std::string> symbols;
  std::int64_t tokens_per_past = 1;
};

OpenContext open_context(const Model& file_model, const EstimateRequest& request) {
  OpenContext context;
  if (!request.phase) return context;
  EstimateRequest decode = of_one_group(request);
  decode.phase = {.phase = Phase::Decode, .tokens = 1, .past = std::nullopt};
  decode.sweep.clear();
  context.model = model_in_phase(file_model, *decode.phase);
  try {
    const Sized open = sized(*context.model, decode);
    context.table = position_table(*context.model, open.analysis);
    if (open.phase->past_dim.empty()) return context;
    std::vector<std::string> symbols = axis_symbols(*context.model, open.analysis, open.phase->past_dim);
    context.share = open_share(*context.model, request, open.analysis);
    context.tokens_per_past = open.phase->tokens_per_past;
    context.symbols = std::move(symbols);
  } catch (const Error&) {
  }
  return context;
}

// The largest context that memory holds, in tokens.
Count context_in_memory(const OpenContext& open, Int bytes, const GroupRun* group) {
  if (open.symbols.empty()) return {};
  try {
    const Count past = largest_on_all(*open.model, open.share, group, open.symbols, bytes, nullptr);
    if (!past) return {};
    // Includes the token that the step adds.
    return *past == 0 ? Int{0} : open.tokens_per_past == 1 ? *past + 1 : *past * open.tokens_per_past;
  } catch (const Error&) {
    return {};
  }
}

// Fills `fit` with the longest context and its limits.
void limit_context(EstimateFit& fit, const OpenContext& open, const GroupRun* group) {
  fit.memory_context = context_in_memory(open, *fit.device_bytes, group);
  fit.position_table = open.table;
  fit.longest_context = fit.memory_context;
  if (open.table) {
    const Int rows = open.table->positions;
    fit.longest_context = fit.memory_context ? std::min<Int>(*fit.memory_context, rows) : rows;
  }
}

std::optional<std::int64_t> batch_of(const EstimateRequest& request, std::vector<std::string> names,
                                     const Bindings& bindings) {
  if (request.sizes.batch > 0) return request.sizes.batch;
  names.emplace_back("batch");  // of a size that the file fixes
  for (const std::string& name : names)
    if (const auto found = bindings.find(name); found != bindings.end()) return found->second;
  return std::nullopt;
}

// The batch of a run: requested, bound, or fixed by the file. In the last case it is where the shapes of inputs differ
// from those of the open analysis.
std::optional<std::int64_t> batch_of_run(const Model& model, const EstimateRequest& request, const OpenBatch& open,
                                         const Analysis& analysis) {
  if (const auto given = batch_of(request, open.symbols, analysis.bindings)) return given;
  for (const ValueId input : model.main().inputs) {
    const auto &fixed = analysis.types[static_cast<std::size_t>(input)].shape,
               &free = open.analysis().types[static_cast<std::size_t>(input)].shape;
    if (!fixed || !free || fixed->size() != free->size()) continue;
    for (std::size_t axis = 0; axis < free->size(); ++axis)
      if ((*free)[axis] == Dim::symbol(open.symbols.front()) && (*fixed)[axis].is_constant())
        return static_cast<std::int64_t>((*fixed)[axis].evaluate({}));
  }
  return std::nullopt;
}

// A larger batch that lowers the time per item; `seconds` is the time of a run at `batch`, with its launches.
std::optional<EstimateAdvice> larger_batch(const Model& model, const EstimateRequest& request, const OpenBatch& open,
                                           double seconds, std::int64_t batch, const EstimateFit& fit) {
  if (request.traffic == TrafficModel::Resident) return std::nullopt;  // valid at a single size only
  if (batch < 1) return std::nullopt;                                  // of an empty input
  std::vector<std::int64_t> sizes;
  std::vector<Bindings> points;
  for (std::int64_t size = batch * 2; size <= kLargestBatch && (!fit.largest_batch || size <= *fit.largest_batch);
       size *= 2) {
    Bindings point;
    for (const std::string& symbol : open.symbols) point[symbol] = size;
    if (!broken_requirement(open.analysis(), point).empty()) continue;  // the model does not work there
    sizes.push_back(size);
    points.push_back(std::move(point));
  }
  if (points.empty()) return std::nullopt;
  const std::optional<Traffic> moved = traffic_of(model, request, open.analysis());
  const std::vector<RooflineTotals> times =
      roofline_sweep(open.analysis(), *request.device, {}, points, moved ? &*moved : nullptr);
  const auto gain = [&](std::size_t i) {
    return seconds / static_cast<double>(batch) / (times[i].launched_seconds() / static_cast<double>(sizes[i]));
  };
  const bool is_fixed = std::ranges::count(open.analysis().diagnostics, Cause::FixedBatch, &Diagnostic::cause) > 0;
  for (std::size_t i = 0; i < times.size(); ++i)
    if (times[i].seconds > 0 && gain(i) >= kEnough * gain(times.size() - 1))
      return EstimateAdvice{.kind = AdviceKind::Batch,
                            .batch = sizes[i],
                            .needs_export = is_fixed,
                            .seconds = times[i].launched_seconds(),
                            .gain = gain(i)};
  return std::nullopt;
}

EstimateFit fit_of(const Model& model, const Model& file_model, const EstimateRequest& request,
                   const std::optional<OpenBatch>& open, const Findings& findings) {
  const GroupRun* group = findings.group ? &*findings.group : nullptr;
  const MemoryNeed need =
      group != nullptr ? group->largest_need()
                       : memory_need(model, findings.analysis, findings.training ? &*findings.training : nullptr);
  EstimateFit fit{.device_bytes = request.device->memory_bytes(),
                  .weight_bytes = need.weights,
                  .activation_bytes = Count(need.activations).at_least(need.at_least),
                  .cache_bytes = need.cache,
                  .gradient_bytes = request.training ? Count(need.gradients) : Count(),
                  .optimizer_bytes = request.training ? Count(need.optimizer) : Count(),
                  .total_bytes = Count(need.total()).at_least(need.at_least),
                  .at_least = need.at_least,
                  .most_bytes = need.most ? Count(*need.most) : Count(),
                  .fits = need.fits(request.device->memory_bytes())};
  if (!findings.estimate.cannot_run.empty()) fit.fits = false;
  if (!fit.device_bytes) return fit;
  if (open)
    fit.largest_batch =
        largest_batch(model, request, *open, open_share(model, request, open->analysis()), *fit.device_bytes, group);
  limit_context(fit, open_context(file_model, request), group);
  return fit;
}

// The memory and the time with launches of a run or, if one is requested, of a training step on one device.
struct Tried {
  MemoryNeed need;
  double seconds = 0;
};

Tried tried(const Model& model, const EstimateRequest& request) {
  const Analysis analysis = sized(model, request).analysis;
  if (!request.training)
    return {memory_need(model, analysis, nullptr), times_of(model, request, analysis).launched_seconds()};
  const Training training = train(model, analysis, *request.training);
  return {memory_need(model, analysis, &training),
          times_of(model, request, step_analysis(analysis, training)).launched_seconds()};
}

// The changes that make a run fit which does not: the widest narrower format, the largest batch, the fewest devices.
std::vector<EstimateAdvice> fitting(const Model& model, const EstimateRequest& request,
                                    const std::optional<OpenBatch>& open, const Findings& findings) {
  constexpr Precision kNarrower[] = {Precision::Float16, Precision::Float8, Precision::Int8, Precision::Int4};
  constexpr std::int64_t kMostDevices = 64;
  std::vector<EstimateAdvice> advice;
  const EstimateFit& fit = *findings.estimate.fit;
  const auto& bound = findings.estimate.roofline;
  const auto& step = findings.estimate.training;
  if (!bound) return advice;
  const double now = (step && step->time ? *step->time : bound->totals).launched_seconds();
  // `items`: after the change, in those of the run.
  const auto add = [&](EstimateAdvice each, const Tried& after, double items) {
    if (!after.need.fits(fit.device_bytes).value_or(false) || after.seconds <= 0) return false;
    each.kind = AdviceKind::Fit;
    each.seconds = after.seconds;
    each.gain = now / after.seconds * items;
    advice.push_back(each);
    return true;
  };
  if (request.parallel) return advice;
  for (const Precision precision : kNarrower) {
    EstimateRequest other = request;
    other.precision = precision;
    if (request.device->peak(precision, Unit::Tensor) == nullptr || !engine_runs(request, precision)) continue;
    if (const Tried after = tried(model, other); after.need.total() < *fit.total_bytes)
      if (add({.precision = precision}, after, 1)) break;
  }
  if (const auto now_at = open ? batch_of_run(model, request, *open, findings.analysis) : std::nullopt;
      now_at && fit.largest_batch && *fit.largest_batch >= 1 && *fit.largest_batch < *now_at) {
    EstimateRequest other = request;
    other.sizes.batch = static_cast<std::int64_t>(*fit.largest_batch);
    try {
      add({.batch = other.sizes.batch}, tried(model, other),
          static_cast<double>(other.sizes.batch) / static_cast<double>(*now_at));
    } catch (const Error&) {  // another field sets the batch
    }
  }
  for (std::int64_t devices = 2; !request.training && devices <= kMostDevices; devices *= 2) {
    EstimateRequest other = request;
    other.parallel = ParallelOptions{.tensor = devices};
    try {
      const Sized start = sized(model, other);
      const GroupRun group = run_on_group(model, other, start, share_of_group(model, other, start));
      if (add({.devices = devices}, {group.largest_need(), group.bound.totals.launched_seconds()}, 1)) break;
    } catch (const Error&) {  // the work cannot be divided so, or no link is known
      break;
    }
  }
  return advice;
}

std::vector<EstimateAdvice> faster(const Model& model, const EstimateRequest& request,
                                   const std::optional<OpenBatch>& open, const Findings& findings) {
  std::vector<EstimateAdvice> advice;
  const auto& bound = findings.estimate.roofline;
  if (!bound || bound->totals.seconds <= 0 || bound->totals.at_least) return advice;
  const double now = bound->totals.launched_seconds();
  const auto add = [&](EstimateAdvice each, double seconds) {
    each.seconds = seconds;
    each.gain = now / seconds;
    if (seconds > 0) advice.push_back(each);
  };
  add({.kind = AdviceKind::Launch}, bound->totals.graph_seconds());
  // An engine that does not fuse cannot be told to.
  if (traffic_model_of(request) == TrafficModel::Unfused && !predicts(request) && !is_published(request.count))
    add({.kind = AdviceKind::Traffic, .traffic = TrafficModel::Fused}, findings.fused->launched_seconds());
  // Narrower formats with tensor units on the device, for models that compute in float32, if they gain on wider ones.
  double least = now;
  const bool is_single = multiplies(findings.analysis, {ElementType::Float32});
  for (const Precision precision : {Precision::Tf32, Precision::Float16}) {
    if (!is_single || !engine_runs(request, precision) || request.precision == precision ||
        request.device->peak(precision, Unit::Tensor) == nullptr)
      continue;
    EstimateRequest other = request;
    other.precision = precision;
    const double seconds = times_of(model, other, sized(model, other).analysis).launched_seconds();
    if (seconds * kLeastGain > least) continue;
    add({.kind = AdviceKind::Precision, .precision = precision}, seconds);
    least = seconds;
  }
  if (open) {
    const std::int64_t batch = batch_of_run(model, request, *open, findings.analysis).value_or(1);
    if (const auto larger = larger_batch(model, request, *open, now, batch, *findings.estimate.fit))
      advice.push_back(*larger);
  }
  std::erase_if(advice, [](const EstimateAdvice& each) { return each.gain < kLeastGain; });
  std::ranges::stable_sort(advice, std::ranges::greater(), &EstimateAdvice::gain);
  // Nothing else helps as long as launches are the limit: the rest is about the time with them.
  std::stable_partition(advice.begin(), advice.end(), [](const auto& each) { return each.kind == AdviceKind::Launch; });
  return advice;
}

std::string change_of(const EstimateAdvice& advice, const DeviceSpec& device) {
  if (advice.traffic) return base::field("traffic", to_string(*advice.traffic));
  if (advice.precision) return base::field("precision", to_string(*advice.precision));
  if (advice.batch) return base::field("batch", *advice.batch);
  if (advice.devices) return base::field("tensor_parallel", *advice.devices);
  return device.vendor == "AMD" ? "capture a HIP graph" : "capture a CUDA graph";
}

// Energy by the device's constants; empty if it has none for this precision.
std::optional<double> joules_at_bound(const Model& model, const EstimateRequest& request, const Analysis& analysis,
                                      double seconds) {
  const std::optional<EnergyModel> constants = energy_model(*request.device, request.precision);
  if (!constants || request.count == Convention::Macs || is_published(request.count)) return std::nullopt;
  const std::optional<Traffic> moved = request.training ? std::nullopt : traffic_of(model, request, analysis);
  const OpCost& cost = analysis.totals.cost;
  const auto work = real(count(flops(cost, request.count)));
  const auto bytes =
      real(count(moved ? moved->bytes_read + moved->bytes_written : cost.bytes_read + cost.bytes_written));
  if (!work || !bytes) return std::nullopt;
  return joules(*constants, *work, *bytes, seconds);
}

// The time under the engine, if one is requested, for a request of one device and precision whose time bound is
// `bound`. `is_narrow`: `model` is a quantised form. Adds each new warning to `warnings`.
std::optional<EstimatePrediction> engine_time(const Model& model, const EstimateRequest& request, const Sized& start,
                                              const std::optional<GroupRun>& group, const RooflineTotals& bound,
                                              bool is_narrow, std::vector<Diagnostic>& warnings) {
  if (!predicts(request)) return std::nullopt;
  Findings findings{.analysis = start.analysis, .group = group};
  findings.estimate.roofline.emplace().totals = bound;
  findings.analysis.diagnostics.clear();
  std::optional<EstimatePrediction> time = prediction_of(model, request, findings, is_narrow);
  for (const Diagnostic& each : findings.analysis.diagnostics)
    if (std::ranges::find(warnings, each.message, &Diagnostic::message) == warnings.end()) warnings.push_back(each);
  if (time) time->row_seconds = {};  // not stored for variants
  return time;
}

// For an engine that runs the types of the file: the quantised form of the model, if int8 is requested, whose types are
// then those of that file. Throws Error if the file is not plain float32.
std::optional<QuantisedForm> take_quantised_form(const Model& model, EstimateRequest& request) {
  if (!request.precision || !predicts(request) || !engine_of(request).rewritten) return std::nullopt;
  EstimateRequest in_types_of_file = request;
  in_types_of_file.precision = std::nullopt;
  const Analysis analysis = sized(model, in_types_of_file).analysis;
  // The first row that is not plain float32.
  const auto row = std::find_if(analysis.nodes.begin(), analysis.nodes.end(), [](const NodeReport& each) {
    const bool is_conversion = each.facts.kind == OpKind::Quantize || each.facts.kind == OpKind::Dequantize;
    return is_conversion || (each.cost.macs != Dim(0) && each.cost.precision != ElementType::Float32);
  });
  if (row != analysis.nodes.end() && !request.other_precisions.empty()) {
    const Graph& graph = model.graph(row->graph);
    const bool is_wide = row->cost.macs != Dim(0) && bits(row->cost.precision) > 8;
    throw Error(cat(
        "`what_if` under ", request.engine->engine, " compares a float32 file with its quantised form, and this one ",
        is_wide ? cat("multiplies ", to_string(row->cost.precision)) : "is quantised already", " (",
        display_name(graph, graph.node(row->node)), "); give the float32 file, or two files with `compare`"));
  }
  if (request.precision != engine_of(request).rewritten) return std::nullopt;
  request.precision = std::nullopt;
  return quantised_form(model, analysis);
}

}  // namespace

Count items_of(const Model& model, const EstimateRequest& request, const Sized& sized) {
  if (sized.phase) return count(sized.phase->tokens);
  if (request.sizes.batch > 0) return Count(request.sizes.batch);
  if (sized.analysis.bindings.empty()) return {};
  const auto batch =
      batch_of(request, batch_dims(model, request.sizes, request.custom_operators), sized.analysis.bindings);
  return batch ? Count(*batch) : Count();
}

void add_fit_and_advice(const Model& model, const Model& file_model, const EstimateRequest& request,
                        Findings& findings) {
  const std::optional<OpenBatch> open = open_batch(model, request, findings.analysis);
  findings.estimate.fit = fit_of(model, file_model, request, open, findings);
  // No change here lets it run.
  if (!request.advice || !findings.estimate.cannot_run.empty()) return;
  std::vector<EstimateAdvice>& advice = findings.estimate.advice;
  if (findings.estimate.fit->fits == false)
    advice = fitting(model, request, open, findings);
  else if (!request.training && !request.parallel)
    advice = faster(model, request, open, findings);
  for (EstimateAdvice& each : advice) each.change = change_of(each, *request.device);
}

Model model_in_phase(const Model& file_model, const PhaseOptions& phase) {
  const Model other = in_other_phase(file_model, phase);
  return with_branches_taken(other).value_or(other);
}

namespace {

// A list, or the one value that stands for an empty list.
template <typename Value>
std::vector<Value> or_else(std::vector<Value> list, const Value& value) {
  if (list.empty()) list.push_back(value);
  return list;
}

// The rows of one precision of a table over precisions, traffic models, devices and numbers of devices.
class VariantsOf {
 public:
  VariantsOf(const Model& file_model, const Model& model, const EstimateRequest& request,
             const std::optional<Precision>& precision, std::vector<Diagnostic>& warnings)
      : file_model_(file_model), precision_(precision), warnings_(warnings), current_(request) {
    current_.precision = precision;
    current_.sweep.clear();
    narrow_ = take_quantised_form(model, current_);
    model_ = narrow_ ? &narrow_->model : &model;
    start_ = sized(*model_, current_);
    if (request.training) training_ = train(*model_, start_.analysis, *request.training);
    if (training_) step_ = step_analysis(start_.analysis, *training_);
    need_ = memory_need(*model_, start_.analysis, training_ ? &*training_ : nullptr);
    if (request.phase) open_ = open_batch(*model_, current_, start_.analysis);
    items_ = real(items_of(*model_, request, start_)).value_or(1);  // without a batch, a run is one item
  }

  EstimateVariant row(TrafficModel moved, const DeviceSpec& device, const std::optional<ParallelOptions>& group) {
    current_.device = device;
    current_.traffic = moved;
    current_.parallel = group && group->devices() > 1 ? group : std::nullopt;
    EstimateVariant row;
    row.device = device.id + (device.power_mode.empty() ? "" : ":" + device.power_mode);
    row.precision = precision_;
    row.traffic = moved;
    row.device_bytes = device.memory_bytes();
    row.parallel = group;
    try {
      fill(row);
    } catch (const Error& error) {
      if (!current_.parallel) throw;
      row.refused = error.what();
    }
    return row;
  }

 private:
  // A step on the devices of a request, or on one.
  struct Step {
    std::optional<GroupRun> on_group;
    RooflineTotals time;

    const GroupRun* group() const { return on_group ? &*on_group : nullptr; }
  };
  using Key = std::array<std::int64_t, 4>;  // traffic, where it matters; tensor, pipeline, expert

  Step step_of(std::map<Key, GroupShare>& shares, const Model& model, const EstimateRequest& request,
               const Sized& sized, const Analysis& run) const {
    if (!request.parallel) {
      const Roofline bounds = bounds_of(model, request, run);
      warn_of_device(*request.device, bounds.assumed, bounds.missing, warnings_);
      return {.on_group = {}, .time = bounds.totals};
    }
    const auto share = [&] { return share_of_group(model, request, sized); };
    Step step{.on_group = run_on_group(model, request, sized, kept(shares, key_of(true), share)), .time = {}};
    step.time = step.on_group->bound.totals;
    return step;
  }

  void fill(EstimateVariant& row) {
    const Step step = step_of(shares_, *model_, current_, start_, training_ ? step_ : start_.analysis);
    const RooflineTotals& time = step.time;
    const MemoryNeed& held = step.on_group ? step.on_group->largest_need() : need_;
    row.total_bytes = Count(held.total()).at_least(held.at_least);
    if (row.parallel) {
      row.weight_bytes = held.weights;
      row.cache_bytes = held.cache;
    }
    row.fits = held.fits(row.device_bytes);
    row.is_part = time.at_least;
    if (!cannot_run_text(*model_, start_.analysis).empty()) {
      row.fits = false;
      return;
    }
    if (current_.phase && row.device_bytes) {
      const Open& open = open_sizes();
      if (open_)
        row.largest_batch = largest_batch(*model_, current_, *open_, open.batch, *row.device_bytes, step.group());
      limit_context(row, open.context, step.group());
    }
    row.predicted = engine_time(*model_, current_, start_, step.on_group, time, narrow_.has_value(), warnings_);
    const auto devices = static_cast<double>(row.devices());
    if (row.predicted) {
      row.predicted->items_per_second = items_ / *row.predicted->seconds;
      if (row.parallel) row.predicted->device_items_per_second = *row.predicted->items_per_second / devices;
    }
    if (current_.prompt > 0) row.prompt = prompt();
    if (time.seconds <= 0) return;
    row.seconds = time.seconds;
    row.floor_seconds = time.floor_seconds;
    row.launched_seconds = time.eager_seconds;
    row.bound = time.bound();
    row.items_per_second = items_ / time.seconds;
    if (row.parallel) row.device_items_per_second = *row.items_per_second / devices;
    // Energy constants are for one device.
    if (!step.on_group)
      row.joules = joules_at_bound(*model_, current_, training_ ? step_ : start_.analysis, time.seconds);
    if (const auto price = current_.price_per_hour.find(current_.device->id); price != current_.price_per_hour.end())
      row.price_per_million = price->second * devices / 3600 * 1e6 / *row.items_per_second;
  }

  // Analyses with a free batch and a free past, solved per device for users and context.
  struct Open {
    Analysis batch;
    OpenContext context;
  };

  Key key_of(bool with_traffic) const {
    const ParallelOptions group = current_.parallel.value_or(ParallelOptions{});
    return {with_traffic ? static_cast<std::int64_t>(traffic_model_of(current_)) : 0, group.tensor, group.pipeline,
            group.expert};
  }

  // The value of a key, made once.
  template <typename K, typename Value, typename Make>
  static const Value& kept(std::map<K, Value>& values, const K& key, const Make& make) {
    const auto found = values.find(key);
    return found != values.end() ? found->second : values.emplace(key, make()).first->second;
  }

  const Open& open_sizes() {
    return kept(opens_, key_of(false), [&] {
      return Open{.batch = open_ ? open_share(*model_, current_, open_->analysis()) : Analysis(),
                  .context = open_context(file_model_, current_)};
    });
  }

  // A decoder at the sizes of a prompt.
  struct Prompt {
    Model model;
    EstimateRequest request;
    Sized sized;
  };

  // By the sequences of the batch: one, or one for each group of experts.
  const Prompt& prompt_of(std::int64_t sequences) {
    return kept(prompts_, sequences, [&] {
      Prompt prompt{.model = {}, .request = current_, .sized = {}};
      EstimateRequest& prefill = prompt.request;
      prefill.phase = PhaseOptions{.phase = Phase::Prefill, .tokens = current_.prompt, .past = 0};
      prefill.speculation.reset();
      prefill.sizes.batch = sequences;
      prompt.model = model_in_phase(file_model_, *prefill.phase);
      prompt.sized = sized(prompt.model, prefill);
      return prompt;
    });
  }

  EstimatePrompt prompt() {
    const std::int64_t sequences = current_.parallel ? current_.parallel->expert : 1;
    const Prompt& prefill = prompt_of(sequences);
    EstimateRequest request = prefill.request;
    request.device = current_.device;
    request.traffic = current_.traffic;
    request.parallel = current_.parallel;
    const Step step = step_of(prompt_shares_, prefill.model, request, prefill.sized, prefill.sized.analysis);
    EstimatePrompt result{.tokens = current_.prompt, .sequences = sequences, .seconds = {}, .predicted = {}};
    if (step.time.seconds > 0) result.seconds = step.time.seconds;
    result.at_least = step.time.at_least;
    result.predicted = engine_time(prefill.model, request, prefill.sized, step.on_group, step.time, false, warnings_);
    return result;
  }

  const Model& file_model_;
  const std::optional<Precision> precision_;  // that holds; a quantised form states that of its file in `current_`
  std::vector<Diagnostic>& warnings_;
  EstimateRequest current_;  // of the row that is filled
  std::optional<QuantisedForm> narrow_;
  const Model* model_ = nullptr;  // the quantised form if there is one
  Sized start_;
  std::optional<Training> training_;
  Analysis step_;
  MemoryNeed need_;
  std::optional<OpenBatch> open_;
  double items_ = 1;
  std::map<std::int64_t, Prompt> prompts_;
  std::map<Key, Open> opens_;
  std::map<Key, GroupShare> shares_, prompt_shares_;
};

}  // namespace

std::vector<EstimateVariant> variants_of(const Model& model, const Model& file_model, const EstimateRequest& request,
                                         Analysis& analysis) {
  std::vector<EstimateVariant> rows;
  if (request.other_devices.empty() && request.other_precisions.empty() && request.other_traffic.empty() &&
      request.other_parallel.empty() && request.prompt == 0)
    return rows;
  std::vector<DeviceSpec> devices = request.other_devices;
  if (devices.empty() && request.device) devices.push_back(*request.device);
  using Precisions = std::vector<std::optional<Precision>>;
  using Groups = std::vector<std::optional<ParallelOptions>>;
  const Precisions precisions =
      or_else(Precisions(request.other_precisions.begin(), request.other_precisions.end()), request.precision);
  const Groups groups = or_else(Groups(request.other_parallel.begin(), request.other_parallel.end()), request.parallel);
  std::vector<TrafficModel> traffics = or_else(request.other_traffic, traffic_model_of(request));
  // What precisions are worth depends on what an engine fuses. One that is named, training and a request have it fixed.
  const bool is_open = request.other_traffic.empty() && !request.traffic && !predicts(request) && !request.training;
  if (is_open && !request.other_precisions.empty()) traffics = {TrafficModel::Unfused, TrafficModel::Fused};
  const auto precision_on = [&](const DeviceSpec& device, const std::optional<Precision>& asked) {
    if (asked) return asked;
    EstimateRequest at = request;
    at.device = device;
    return precision_of_run(at, analysis);
  };
  for (const std::optional<Precision>& asked : precisions) {
    std::map<std::optional<Precision>, VariantsOf> variants;  // an engine's products may differ from device to device
    for (const TrafficModel moved : traffics)
      for (const DeviceSpec& device : devices) {
        const std::optional<Precision> precision = precision_on(device, asked);
        VariantsOf& of_precision =
            variants.try_emplace(precision, file_model, model, request, precision, analysis.diagnostics).first->second;
        for (const std::optional<ParallelOptions>& group : groups)
          rows.push_back(of_precision.row(moved, device, group));
      }
  }
  // A table of refusals alone is an error.
  const auto is_refused = [](const EstimateVariant& row) { return !row.refused.empty(); };
  if (!rows.empty() && std::all_of(rows.begin(), rows.end(), is_refused)) throw Error(rows.front().refused);
  return rows;
}

}  // namespace pagoda::estimate
