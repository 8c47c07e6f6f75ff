// The engine of a request, and the time of a run under it.
#include "pagoda/estimate/engines.h"

#include <algorithm>

#include "describe.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/files.h"
#include "pagoda/base/text.h"
#include "pagoda/core/engine.h"
#include "pagoda/documents/calibration.h"

namespace pagoda::estimate {
namespace {

bool covers(const Engine& engine, Precision wanted) {
  return std::find(engine.precisions.begin(), engine.precisions.end(), wanted) != engine.precisions.end();
}

// The precision of the engine's products, unless the request names another; empty: that of the file.
std::optional<Precision> products_of(const Engine& engine, const DeviceSpec& device) {
  if (engine.products.empty()) return std::nullopt;
  const auto found = std::find_if(engine.products.begin(), engine.products.end(), [&](Precision precision) {
    return device.peak(precision, Unit::Tensor, Precision::Float32) != nullptr;
  });
  return found == engine.products.end() ? engine.products.back() : *found;
}

// Whether it multiplies plain float32, which engines may run in a narrower format.
bool is_wide(const Analysis& analysis) {
  return multiplies(analysis, {ElementType::Float32, ElementType::Float64}) &&
         !holds(analysis, {ElementType::Int8, ElementType::Uint8, ElementType::Float8e4m3fn, ElementType::Float8e5m2});
}

// Explains a prediction below its bound, and names the field of the request that bounds the same work; else empty.
std::string shorter_than_bound(double seconds, const Model& model, const EstimateRequest& request,
                               const Findings& findings) {
  const double bound = findings.estimate.roofline->totals.seconds;
  if (seconds >= bound) return {};
  const Engine& engine = engine_of(request);
  const bool is_unfused =
      engine.fuses && traffic_model_of(request) == TrafficModel::Unfused &&
      (findings.group ||
       times_of(model, with_traffic(request, TrafficModel::Fused), findings.analysis).seconds < bound);
  std::vector<std::string> optimizations;
  if (is_unfused) optimizations.emplace_back("fuses kernels");
  if (!engine.others.empty()) optimizations.emplace_back(engine.others);
  const std::string_view text = "prediction: it is shorter than the bound";
  if (optimizations.empty())
    return cat(text, " of the same work, which no run can be: the calibration does not cover this model on ",
               request.device->id);
  return cat(text, ", because ", engine.id, " ", base::joined(optimizations),
             is_unfused ? "; `traffic=fused` gives a bound of the same work" : "");
}

// The engine of an id; an empty id means the default engine.
const Engine& chosen_engine(std::string_view id) { return id.empty() ? *engines().front() : engine(id); }

// A calibration by name or file. Throws Error if it is one of another engine.
CalibrationFile calibration_of(const std::string& name, const Engine& expected) {
  const bool is_file = base::is_path(name);
  const std::string text = is_file ? base::read_text(name, "a calibration") : "";
  const Calibration built_in = is_file ? Calibration() : calibration(name);
  const std::string found = is_file ? engine_of_calibration(text, name) : built_in.engine;
  if (!found.empty() && found != expected.id)
    throw Error(name + ": is a calibration of " + found + ", expected one for " + std::string(expected.id) + "; give " +
                base::field("engine", found));
  return is_file ? parse_calibration(text, name) : CalibrationFile{.fitted = built_in};
}

}  // namespace

std::vector<std::string> engine_ids() {
  std::vector<std::string> ids;
  for (const Engine* engine : engines()) ids.emplace_back(engine->id);
  return ids;
}

bool brings_device(std::string_view engine, const std::string& calibration) {
  if (engine.empty()) return false;
  const Engine& chosen = chosen_engine(engine);
  if (calibration.empty()) return chosen.is_of_one_machine;
  return calibration_of(calibration, chosen).device.has_value();
}

std::string calibrated_engine(const std::string& name) {
  if (!base::is_path(name)) return calibration(name).engine;
  return engine_of_calibration(base::read_text(name, "a calibration"), name);
}

void set_prediction(std::string_view engine, const std::string& calibration, EstimateRequest& request) {
  const Engine& chosen = chosen_engine(engine);
  const std::string id(chosen.id), name = calibration.empty() ? std::string(chosen.calibration) : calibration;
  if (name.empty())
    throw Error(base::field("engine", id) +
                " needs `calibration=FILE`: measure this machine by pagoda-calibrate --here " + id + " -o FILE");
  CalibrationFile file = calibration_of(name, chosen);
  if (!file.device && chosen.is_of_one_machine)
    throw Error(name + ": states no machine; expected the file that pagoda-calibrate --here wrote");
  // A calibration that was measured on one machine predicts that machine.
  if (file.device) {
    if (request.device || !request.other_devices.empty())
      throw Error(base::field("engine", id) + " predicts the machine that " + name +
                  " was measured on; it does not go with another `device`");
    request.device = std::move(file.device);
  }
  request.engine = std::move(file.fitted);
}

const Engine& engine_of(const EstimateRequest& request) { return engine(request.engine->engine); }

bool predicts(const EstimateRequest& request) { return request.engine.has_value(); }

std::optional<EstimatePrediction> prediction_of(const Model& model, const EstimateRequest& request, Findings& findings,
                                                bool is_rewritten) {
  if (!predicts(request)) return std::nullopt;
  EngineRun run{.model = model,
                .analysis = findings.analysis,
                .device = *request.device,
                .calibration = *request.engine,
                .precision = request.precision,
                .analyze_as =
                    [&](std::optional<Precision> precision) {
                      EstimateRequest other = request;
                      other.precision = precision;
                      return sized(model, other).analysis;
                    },
                .is_rewritten = is_rewritten};
  if (const auto& group = findings.group) {
    run.share = &group->share;
    run.link = group->link;
    if (group->time.parts > 1) run.overlap = group->time.seconds / group->time.work_seconds;
  }
  Prediction time = predict(run);
  for (const std::string& note : time.notes)
    warn(findings.analysis, (time.seconds ? "prediction: " : "no prediction: ") + note);
  if (!time.seconds) return std::nullopt;
  const std::string text = shorter_than_bound(*time.seconds, model, request, findings);
  if (!text.empty()) warn(findings.analysis, text);
  return EstimatePrediction{std::move(time), request.engine->engine,
                            cat(request.engine->id, ": ", request.engine->regime)};
}

std::optional<Precision> precision_of_run(const EstimateRequest& request, const Analysis& analysis) {
  if (request.precision || !request.device || !is_wide(analysis)) return request.precision;
  if (request.measured) return products_of(*request.measured);
  return predicts(request) ? products_of(engine_of(request), *request.device) : std::nullopt;
}

bool engine_runs(const EstimateRequest& request, Precision precision) {
  return !predicts(request) || covers(engine_of(request), precision);
}

std::string engine_refusal(const EstimateRequest& request) {
  if (!predicts(request)) return {};
  const Engine& engine = engine_of(request);
  if (request.training)
    return cat("`predict` ", base::field("engine", engine.id),
               " does not go with `training`: it has no runs of training");
  std::string covered(engine.covers);
  if (const std::size_t place = covered.find("{}"); place != std::string::npos)
    covered.replace(place, 2, request.engine->id);
  if (request.precision && !covers(engine, *request.precision))
    return cat(covered, ", not ", base::field("precision", option_name(*request.precision)), engine.remedy);
  for (const Precision other : request.other_precisions)
    if (!covers(engine, other) && engine.rewritten != other)
      return cat(covered, ", not ", base::field("what_if", option_name(other)), "; leave it out of `what_if`");
  return {};
}

}  // namespace pagoda::estimate
