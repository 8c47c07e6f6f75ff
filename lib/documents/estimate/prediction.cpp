// The time of a run under the engine of a request.
#include <algorithm>
#include <cmath>

#include "estimate/describe.h"
#include "pagoda/base/text.h"

namespace pagoda::documents {
namespace {

// A prediction from the sum of a calibration's kernels.
std::optional<EstimatePrediction> stated(const Prediction& time, std::string engine, const std::string& regime,
                                         Findings& findings) {
  if (!time.problem.empty()) warn(findings.analysis, "prediction: " + time.problem);
  if (!time.seconds) return std::nullopt;
  return EstimatePrediction{.seconds = *time.seconds,
                            .low = time.low,
                            .high = time.high,
                            .coverage = time.coverage,
                            .engine = std::move(engine),
                            .calibration = time.calibration + ": " + regime,
                            .nodes = time.row_seconds};
}

std::optional<EstimatePrediction> under(const Calibration& fitted, const Model& model, const EstimateRequest& request,
                                        Findings& findings) {
  // A calibration covers how a framework runs the unmodified file, including autocast.
  EstimateRequest as_filed = request;
  as_filed.precision = std::nullopt;
  const Prediction time =
      predict(model, request.precision ? analysis_of(model, as_filed) : findings.analysis, *request.device, fitted);
  if (time.unknown_rows > 0 && fitted.engine.optimizes) {
    warn(findings.analysis, "prediction: " + std::to_string(time.unknown_rows) +
                                " kernels work on integers or are not modelled, of which no run of the calibration had any");
    return std::nullopt;
  }
  const auto result = stated(time, std::string(fitted.engine.id), fitted.regime, findings);
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
  // The interval is for 16-bit products; no other device validates 8-bit ones.
  const bool is_judged = request.precision != Precision::Float8;
  return EstimatePrediction{.seconds = time.seconds,
          .low = is_judged ? std::optional(time.seconds * fitted.interval.low) : std::nullopt,
          .high = is_judged ? std::optional(time.seconds * fitted.interval.high) : std::nullopt,
          .coverage = is_judged ? std::optional(fitted.coverage) : std::nullopt,
          .engine = "llm-serving",
          .calibration = fitted.id + ": " + fitted.regime,
          .nodes = {}};
}

// Runs in float16 unless int8 is requested; integer products of the file stay integer.
std::optional<EstimatePrediction> under(const TensorRtCalibration& fitted, const Model& model,
                                        const EstimateRequest& request, Findings& findings) {
  if (lacks_int8(request))
    warn(findings.analysis, "prediction: " + request.device->id +
                                " has no int8 tensor units: products stay in float16, in which an engine runs them");
  const Prediction time =
      predict_tensorrt(model, tensorrt_analysis(model, request, findings.analysis), *request.device, fitted);
  return stated(time, "tensorrt", fitted.regime, findings);
}

// The prediction for the machine on which the calibration was measured.
std::optional<EstimatePrediction> under(const CpuCalibration& fitted, const Model& model, const EstimateRequest&,
                                        Findings& findings) {
  const CpuPrediction time = predict_cpu(model, findings.analysis, fitted);
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
  const CpuMemory memory = predict_cpu_memory(cpu_memory_terms(model, findings.analysis));
  const auto bytes = [](double value) { return Count(static_cast<std::int64_t>(std::llround(value))); };
  return EstimatePrediction{.seconds = time.seconds,
          .low = time.low,
          .high = time.high,
          .coverage = time.low ? std::optional(fitted.coverage) : std::nullopt,
          .engine = "onnxruntime-cpu",
          .calibration = fitted.id + ": " + fitted.regime,
          .nodes = time.row_seconds,
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

// What an engine does that the bound of a request may not count.
struct Habits {
  bool fuses = false;
  std::optional<Precision> products = {};  // their type, unless the request names another; empty: that of the file
  std::string_view others = {};
};
Habits habits(std::monostate, const EstimateRequest&) { return {}; }
Habits habits(const Calibration& fitted, const EstimateRequest&) {
  if (fitted.engine.products == Precision::Float32) return {};
  return {.fuses = fitted.engine.optimizes, .products = fitted.engine.products};
}
Habits habits(const ServingCalibration&, const EstimateRequest& request) {
  return {.fuses = true,
          .products = serving_rates(*request.device)->products,
          .others = "shares the caches and applies the head to the last position only"};
}
Habits habits(const TensorRtCalibration&, const EstimateRequest&) {
  return {.fuses = true, .products = Precision::Float16};
}
Habits habits(const CpuCalibration&, const EstimateRequest&) { return {.fuses = true}; }

// Says why a prediction is shorter than the bound beside it, and which options give a bound of the same work. Nothing,
// if it is not.
std::string shorter_than_bound(const EstimatePrediction& time, const Habits& engine, const EstimateRequest& request,
                               double bound) {
  if (time.seconds >= bound) return {};
  std::vector<std::string> does, options;
  if (engine.products && !request.precision) {
    does.push_back("runs products in " + std::string(to_string(*engine.products)));
    options.push_back("--precision " + std::string(option_name(*engine.products)));
  }
  if (engine.fuses && request.traffic == TrafficModel::Unfused) {
    does.emplace_back("fuses kernels");
    options.emplace_back("--traffic fused");
  }
  if (!engine.others.empty()) does.emplace_back(engine.others);
  const std::string text = "prediction: it is shorter than the bound";
  if (!options.empty())
    return text + ", which " + time.engine + " does not have to keep: it " + base::joined(does) + "; " +
           base::joined(options, " ") + (options.size() == 1 ? " gives" : " give") + " a bound of the same work";
  if (!engine.others.empty()) return text + ": " + time.engine + " " + std::string(engine.others);
  return text + " of the same work, which no run can be: the calibration does not cover this model on " +
         request.device->id;
}

// Why the engine does not predict this precision, which `option` asks for; empty if it does. `is_alternative`: the model
// may be rewritten for it.
std::string refused(std::monostate, Precision, const std::string&, bool) { return {}; }

std::string refused(const Calibration& fitted, Precision asked, const std::string& option, bool) {
  const Precision products = fitted.engine.products;
  if (asked == products) return {};
  return "--predict: calibration " + fitted.id + " is for " + std::string(to_string(products)) +
         (products == Precision::Float16 ? " under autocast" : "") + ", not " + option + "; give --precision " +
         std::string(option_name(products)) + " or none";
}

std::string refused(const ServingCalibration&, Precision asked, const std::string& option, bool) {
  if (asked == Precision::Bfloat16 || asked == Precision::Float16 || asked == Precision::Float8) return {};
  return "--predict --engine llm-serving covers bf16, fp16 and fp8, not " + option;
}

std::string refused(const TensorRtCalibration&, Precision asked, const std::string& option, bool) {
  if (asked == Precision::Float16 || asked == Precision::Int8) return {};
  return "--predict --engine tensorrt covers fp16 and int8, which its calibration was fitted to, not " + option;
}

std::string refused(const CpuCalibration&, Precision asked, const std::string& option, bool is_alternative) {
  if (asked == Precision::Float32 || (is_alternative && asked == Precision::Int8)) return {};
  return "--predict --engine onnxruntime-cpu runs the precisions of the file, not " + option +
         "; give a quantised model, or --what-if fp32,int8";
}

// The engine's id, if it runs no training; else empty.
std::string_view engine_of_inference(std::monostate) { return {}; }
std::string_view engine_of_inference(const ServingCalibration&) { return {}; }
std::string_view engine_of_inference(const TensorRtCalibration&) { return "tensorrt"; }
std::string_view engine_of_inference(const CpuCalibration&) { return "onnxruntime-cpu"; }
std::string_view engine_of_inference(const Calibration& fitted) {
  return fitted.engine.optimizes ? fitted.engine.id : std::string_view();
}

}  // namespace

bool predicts(const EstimateRequest& request) { return request.engine.index() != 0; }

std::optional<EstimatePrediction> prediction_of(const Model& model, const EstimateRequest& request,
                                                Findings& findings) {
  auto time = std::visit([&](const auto& fitted) { return under(fitted, model, request, findings); }, request.engine);
  if (!time) return time;
  const Habits engine = std::visit([&](const auto& fitted) { return habits(fitted, request); }, request.engine);
  const std::string text = shorter_than_bound(*time, engine, request, findings.bound->totals.seconds);
  if (!text.empty()) warn(findings.analysis, text);
  return time;
}

std::string engine_refusal(const EstimateRequest& request) {
  std::string problem;
  const auto ask = [&](Precision precision, const char* option, bool is_alternative) {
    const std::string given = option + (" " + std::string(option_name(precision)));
    const auto refuse = [&](const auto& fitted) { return refused(fitted, precision, given, is_alternative); };
    if (problem.empty()) problem = std::visit(refuse, request.engine);
  };
  if (request.precision) ask(*request.precision, "--precision", false);
  for (const Precision other : request.other_precisions) ask(other, "--what-if", true);
  const std::string_view of_inference =
      std::visit([](const auto& fitted) { return engine_of_inference(fitted); }, request.engine);
  if (problem.empty() && !of_inference.empty() && request.training)
    problem = "--predict --engine " + std::string(of_inference) + " does not go with --training";
  return problem;
}

}  // namespace pagoda::documents
