// The time of a run under the engine of a request.
#include <algorithm>
#include <cmath>

#include "describe.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/text.h"

namespace pagoda::estimate {
namespace {

// Whether the model multiplies numbers of a type.
bool multiplies(const Analysis& analysis, std::initializer_list<ElementType> types) {
  return std::any_of(analysis.nodes.begin(), analysis.nodes.end(), [&](const NodeReport& row) {
    return row.cost.macs != Dim(0) && std::find(types.begin(), types.end(), row.cost.precision) != types.end();
  });
}

// Whether a value of the main graph has one of these types, such as the numbers between the two nodes of a Q/DQ pair.
bool holds(const Analysis& analysis, std::initializer_list<ElementType> types) {
  return std::any_of(analysis.types.begin(), analysis.types.end(), [&](const TensorType& type) {
    return std::find(types.begin(), types.end(), type.element) != types.end();
  });
}

// Says why the engine does not predict this model.
std::optional<EstimatePrediction> not_predicted(Findings& findings, const std::string& why) {
  warn(findings.analysis, "prediction: none, for " + why);
  return std::nullopt;
}

constexpr const char* kTooFew = "too few families were measured to claim one";

// A prediction from the sum of a calibration's kernels. `fitted`: the calibration's interval for machines like its own.
std::optional<EstimatePrediction> stated(const Prediction& time, std::string engine, const std::string& regime,
                                         const std::optional<Factors>& fitted, Findings& findings) {
  if (!time.problem.empty()) warn(findings.analysis, "prediction: " + time.problem);
  if (!time.seconds) return std::nullopt;
  return EstimatePrediction{.seconds = *time.seconds,
                            .low = time.low,
                            .high = time.high,
                            .coverage = time.coverage,
                            .no_interval = time.low ? "" : fitted ? "no runs on such a device judged the calibration" : kTooFew,
                            .engine = std::move(engine),
                            .calibration = time.calibration + ": " + regime,
                            .nodes = time.row_seconds};
}

std::optional<EstimatePrediction> under(const Calibration& fitted, const Model& model, const EstimateRequest& request,
                                        Findings& findings) {
  // A calibration covers how a framework runs the unmodified file, including autocast.
  EstimateRequest as_filed = request;
  as_filed.precision = std::nullopt;
  const Analysis& analysis = request.precision ? analysis_of(model, as_filed) : findings.analysis;
  if (fitted.engine.optimizes && multiplies(analysis, {ElementType::Float16, ElementType::Bfloat16}))
    return not_predicted(findings, std::string(fitted.engine.id) +
                                       " was measured with float32 files, and this one multiplies 16-bit numbers; give "
                                       "the model as it was before the conversion");
  const Prediction time = predict(model, analysis, *request.device, fitted);
  if (time.unknown_rows > 0 && fitted.engine.optimizes)
    return not_predicted(findings, std::to_string(time.unknown_rows) +
                                       " kernels work on integers or are not modelled, of which no run of the "
                                       "calibration had any");
  const auto result = stated(time, std::string(fitted.engine.id), fitted.regime, fitted.interval, findings);
  if (result && time.mergeable_branches > 0)
    warn(findings.analysis, "prediction: " + std::to_string(time.mergeable_branches) +
                                " convolutions are parallel branches that add up: a network that merges them before it "
                                "runs (reparameterisation) takes " +
                                base::si_seconds(*time.merged_seconds));
  return result;
}

// The prediction of a serving engine, on one device or on all devices of a group.
std::optional<EstimatePrediction> under(const ServingCalibration& fitted, const Model& model,
                                        const EstimateRequest& request, Findings& findings) {
  std::string lacks;
  if (!serving_rates(*request.device, &lacks))
    return not_predicted(findings, request.device->id + " " + lacks + ", which calibration " + fitted.id + " needs");
  const GroupRun* group = findings.group ? &*findings.group : nullptr;
  const ServingLink link = group == nullptr ? ServingLink()
                                            : ServingLink{.bytes_per_second = group->link.bytes_per_second,
                                                          .is_bus = group->link.name == "pcie",
                                                          .sums_in_switch = group->link.sums_in_switch};
  ServingTime time =
      predict_serving(model, group != nullptr ? group->share : share_of_device(model, findings.analysis, {}),
                      *request.device, link, fitted);
  // Parts of a step that pass through the stages one after another overlap as in the bound.
  if (group != nullptr && group->time.parts > 1) time.seconds *= group->time.seconds / group->time.work_seconds;
  // The interval is for 16-bit products of decoders; no other device validates 8-bit ones.
  if (!time.has_cache)
    warn(findings.analysis, "prediction: the model has no cache of keys and values, so it is no step of a decoder, to "
                            "which llm-serving was fitted: no interval");
  const bool is_judged = time.has_cache && request.precision != Precision::Float8;
  return EstimatePrediction{.seconds = time.seconds,
          .low = is_judged ? std::optional(time.seconds * fitted.interval.low) : std::nullopt,
          .high = is_judged ? std::optional(time.seconds * fitted.interval.high) : std::nullopt,
          .coverage = is_judged ? std::optional(fitted.coverage) : std::nullopt,
          .no_interval = is_judged         ? ""
                         : time.has_cache ? "no runs with 8-bit products judged the calibration"
                                          : "the model is no step of a decoder",
          .engine = "llm-serving",
          .calibration = fitted.id + ": " + fitted.regime,
          .nodes = {}};
}

// Why TensorRT builds no engine of the model for the device; empty if nothing speaks against it. The operators are those
// that onnx-tensorrt's docs/operators.md lists as unsupported.
std::string not_built(const Model& model, const Analysis& analysis, const DeviceSpec& device) {
  constexpr std::string_view kUnsupported[] = {"ConvInteger", "DynamicQuantizeLinear", "MatMulInteger", "QLinearConv",
                                               "QLinearMatMul"};
  const auto is_unsupported = [&](const Node& node) {
    return node.domain.empty() &&
           std::find(std::begin(kUnsupported), std::end(kUnsupported), node.op_type.view()) != std::end(kUnsupported);
  };
  const auto& nodes = model.main().nodes;
  if (const auto found = std::find_if(nodes.begin(), nodes.end(), is_unsupported); found != nodes.end())
    return "TensorRT has no " + std::string(found->op_type) + " (" + display_name(model.main(), *found) +
           "); it takes int8 as pairs of QuantizeLinear and DequantizeLinear";
  if (holds(analysis, {ElementType::Float8e4m3fn, ElementType::Float8e5m2}) &&
      device.peak(Precision::Float8, Unit::Tensor) == nullptr)
    return device.id + " has no float8 tensor units, and the file has numbers in float8";
  return {};
}

// Runs in float16 unless int8 is requested; integer products of the file stay integer.
std::optional<EstimatePrediction> under(const TensorRtCalibration& fitted, const Model& model,
                                        const EstimateRequest& request, Findings& findings) {
  if (const std::string why = not_built(model, findings.analysis, *request.device); !why.empty())
    return not_predicted(findings, why);
  if (lacks_int8(request))
    warn(findings.analysis, "prediction: " + request.device->id +
                                " has no int8 tensor units: products stay in float16, in which an engine runs them");
  const Prediction time =
      predict_tensorrt(model, tensorrt_analysis(model, request, findings.analysis), *request.device, fitted);
  return stated(time, "tensorrt", fitted.regime, fitted.interval, findings);
}

// The prediction for the machine on which the calibration was measured.
std::optional<EstimatePrediction> under(const CpuCalibration& fitted, const Model& model, const EstimateRequest& request,
                                        Findings& findings) {
  if (multiplies(findings.analysis, {ElementType::Bfloat16}))
    return not_predicted(findings, "ONNX Runtime's CPU provider multiplies no bfloat16; convert the file to float32");
  // insert_cast_transformer.cc: operators without a kernel for float16 run in float32, their weights stored in it. On
  // x86 that is all products.
  const bool is_half = multiplies(findings.analysis, {ElementType::Float16});
  EstimateRequest single = request;
  single.precision = Precision::Float32;
  const Analysis as_run = is_half ? analysis_of(model, single) : Analysis();
  const Analysis& analysis = is_half ? as_run : findings.analysis;
  if (is_half)
    warn(findings.analysis, "prediction: the engine multiplies float16 in float32, which is predicted, without the casts "
                            "around it: files of float16 took 0 to 38 % longer than in float32, so there is no interval");
  const CpuPrediction time = predict_cpu(model, analysis, fitted);
  if (time.unknown_rows > 0)
    warn(findings.analysis, "prediction: " + std::to_string(time.unknown_rows) +
                                " operators are not modelled: the prediction covers the rest");
  for (const SlowCpuKernels& slow : time.slow) {
    const NodeReport& first = findings.analysis.nodes[static_cast<std::size_t>(slow.rows.front())];
    const Graph& graph = model.graph(first.graph);
    warn(findings.analysis, "prediction: " + std::string(to_string(slow.kind)) + " takes " +
                                base::rounded(100 * slow.seconds / time.seconds) + " % of the time in " +
                                std::to_string(slow.rows.size()) +
                                (slow.rows.size() == 1 ? " kernel, " : " kernels, most in ") +
                                display_name(graph, graph.node(first.node)) + ": " + std::string(slow.reason));
  }
  std::optional<EstimatePlacement> other;
  if (time.other_seconds)
    other = {.is_apart = !time.is_apart,
             .seconds = *time.other_seconds,
             .share = time.is_apart ? 1 - fitted.apart->share : fitted.apart->share};
  const CpuMemory memory = predict_cpu_memory(cpu_memory_terms(model, analysis));
  const auto bytes = [](double value) { return Count(static_cast<std::int64_t>(std::llround(value))); };
  return EstimatePrediction{.seconds = time.seconds,
          .low = is_half ? std::nullopt : time.low,
          .high = is_half ? std::nullopt : time.high,
          .coverage = time.low && !is_half ? std::optional(fitted.coverage) : std::nullopt,
          .no_interval = is_half     ? "files of float16 take longer than what is predicted"
                         : time.low ? ""
                                    : kTooFew,
          .engine = "onnxruntime-cpu",
          .calibration = fitted.id + ": " + fitted.regime,
          .nodes = time.row_seconds,
          .other_placement = other,
          .memory = EstimateEngineMemory{.bytes = bytes(memory.bytes),
                                         .low = bytes(memory.low),
                                         .high = bytes(memory.high),
                                         .coverage = memory.coverage,
                                         .load_bytes = bytes(memory.load_bytes),
                                         .run_bytes = bytes(memory.run_bytes)}};
}

std::optional<EstimatePrediction> under(std::monostate, const Model&, const EstimateRequest&, Findings&) {
  return std::nullopt;
}

// An engine as a request sees it, whatever the model.
struct Rules {
  std::string_view id = {};
  std::string covers = {};                      // begins the refusal of another precision
  std::vector<Precision> precisions = {};       // that it predicts
  std::optional<Precision> rewritten = {};      // that --what-if may also ask for: the model is rewritten for it
  std::string remedy = {};                      // ends the refusal of a --precision
  // What it does that the bound of the request may not count.
  bool fuses = false;
  std::optional<Precision> products = {};  // their type, unless the request names another; empty: that of the file
  std::string_view others = {};
};

Rules rules(std::monostate, const EstimateRequest&) { return {}; }

Rules rules(const Calibration& fitted, const EstimateRequest&) {
  const Precision products = fitted.engine.products;
  Rules rules{.id = fitted.engine.id,
              .covers = "`predict`: calibration " + fitted.id + " is for " + std::string(to_string(products)) +
                        (products == Precision::Float16 ? " under autocast" : ""),
              .precisions = {products},
              .remedy = "; give " + base::field("precision", option_name(products)) + " or none"};
  if (products == Precision::Float32) return rules;
  rules.fuses = fitted.engine.optimizes;
  rules.products = products;
  return rules;
}

Rules rules(const ServingCalibration&, const EstimateRequest& request) {
  const auto rates = request.device ? serving_rates(*request.device) : std::nullopt;
  return {.id = "llm-serving",
          .covers = "`predict` `engine=llm-serving` covers bf16, fp16 and fp8",
          .precisions = {Precision::Bfloat16, Precision::Float16, Precision::Float8},
          .fuses = true,
          .products = rates ? std::optional(rates->products) : std::nullopt,
          .others = "shares the caches and applies the head to the last position only"};
}

Rules rules(const TensorRtCalibration&, const EstimateRequest&) {
  return {.id = "tensorrt",
          .covers = "`predict` `engine=tensorrt` covers fp16 and int8, which its calibration was fitted to",
          .precisions = {Precision::Float16, Precision::Int8},
          .fuses = true,
          .products = Precision::Float16};
}

Rules rules(const CpuCalibration&, const EstimateRequest&) {
  return {.id = "onnxruntime-cpu",
          .covers = "`predict` `engine=onnxruntime-cpu` runs the precisions of the file",
          .precisions = {Precision::Float32},
          .rewritten = Precision::Int8,
          .remedy = "; give a quantised model, or `what_if=fp32,int8`",
          .fuses = true};
}

Rules rules_of(const EstimateRequest& request) {
  return std::visit([&](const auto& fitted) { return rules(fitted, request); }, request.engine);
}

bool covers(const Rules& engine, Precision wanted) {
  return std::find(engine.precisions.begin(), engine.precisions.end(), wanted) != engine.precisions.end();
}

// Says why a prediction is shorter than the bound beside it, and which options give a bound of the same work. Nothing,
// if it is not.
std::string shorter_than_bound(const EstimatePrediction& time, const Model& model, const EstimateRequest& request,
                               const Findings& findings) {
  const double bound = findings.bound->totals.seconds;
  if (time.seconds >= bound) return {};
  const Rules engine = rules_of(request);
  std::vector<std::string> does, options;
  const bool is_wide = multiplies(findings.analysis, {ElementType::Float32, ElementType::Float64}) &&
                       !holds(findings.analysis, {ElementType::Int8, ElementType::Uint8, ElementType::Float8e4m3fn,
                                                  ElementType::Float8e5m2});
  if (engine.products && !request.precision && is_wide) {
    does.push_back("runs products in " + std::string(to_string(*engine.products)));
    options.push_back(base::field("precision", option_name(*engine.products)));
  }
  if (engine.fuses && request.traffic == TrafficModel::Unfused) {
    EstimateRequest fused = request;
    fused.traffic = TrafficModel::Fused;
    if (findings.group || times_of(model, fused, findings.analysis).seconds < bound) {
      does.emplace_back("fuses kernels");
      options.emplace_back("`traffic=fused`");
    }
  }
  if (!engine.others.empty()) does.emplace_back(engine.others);
  const std::string text = "prediction: it is shorter than the bound";
  if (!options.empty())
    return text + ", because " + time.engine + " " + base::joined(does) + "; " + base::joined(options, " ") +
           (options.size() == 1 ? " gives" : " give") + " a bound of the same work";
  if (!engine.others.empty()) return text + ", because " + time.engine + " " + std::string(engine.others);
  return text + " of the same work, which no run can be: the calibration does not cover this model on " +
         request.device->id;
}

}  // namespace

bool predicts(const EstimateRequest& request) { return request.engine.index() != 0; }

std::optional<EstimatePrediction> prediction_of(const Model& model, const EstimateRequest& request,
                                                Findings& findings) {
  auto time = std::visit([&](const auto& fitted) { return under(fitted, model, request, findings); }, request.engine);
  if (!time) return time;
  const std::string text = shorter_than_bound(*time, model, request, findings);
  if (!text.empty()) warn(findings.analysis, text);
  return time;
}

bool engine_runs(const EstimateRequest& request, Precision precision) {
  return !predicts(request) || covers(rules_of(request), precision);
}

std::string engine_refusal(const EstimateRequest& request) {
  if (!predicts(request)) return {};
  const Rules engine = rules_of(request);
  if (request.training)
    return "`predict` " + base::field("engine", engine.id) + " does not go with `training`: it has no runs of training";
  if (request.precision && !covers(engine, *request.precision))
    return engine.covers + ", not " + base::field("precision", option_name(*request.precision)) + engine.remedy;
  for (const Precision other : request.other_precisions)
    if (!covers(engine, other) && engine.rewritten != other)
      return engine.covers + ", not " + base::field("what_if", option_name(other)) + "; leave it out of `what_if`";
  return {};
}

}  // namespace pagoda::estimate
