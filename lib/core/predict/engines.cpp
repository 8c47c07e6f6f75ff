// The registry of engines.
#include "predict/engines.h"

#include <algorithm>

#include "pagoda/base/error.h"
#include "pagoda/base/text.h"

namespace pagoda::inline core {

namespace {

constexpr const Engine* kEngines[] = {&kPytorchAmp, &kServing,    &kTensorRt,   &kOrtCpu,
                                      &kOrtCuda,    &kPytorchCpu, &kPytorchCuda};

}  // namespace

std::span<const Engine* const> engines() { return kEngines; }

const Engine* find_engine(std::string_view id) {
  const auto* found =
      std::find_if(std::begin(kEngines), std::end(kEngines), [&](const Engine* engine) { return engine->id == id; });
  return found == std::end(kEngines) ? nullptr : *found;
}

const Engine& engine(std::string_view id) {
  if (const Engine* found = find_engine(id)) return *found;
  std::vector<std::string_view> ids;
  for (const Engine* each : kEngines) ids.push_back(each->id);
  throw Error("engine \"" + std::string(id) + "\" is not known; expected " + base::joined(ids, " or "));
}

Prediction predict(const EngineRun& run) {
  Prediction result = engine(run.calibration.engine).predict(run);
  if (const auto& ignored = run.calibration.ignored; !ignored.empty())
    result.notes.push_back("calibration " + run.calibration.id +
                           ": unknown members are ignored: " + base::joined(ignored));
  return result;
}

Prediction predict(const Model& model, const Analysis& analysis, const DeviceSpec& device,
                   const Calibration& calibration) {
  return predict({.model = model, .analysis = analysis, .device = device, .calibration = calibration});
}

bool multiplies(const Analysis& analysis, std::initializer_list<ElementType> types) {
  return std::any_of(analysis.nodes.begin(), analysis.nodes.end(), [&](const NodeReport& row) {
    return row.cost.macs != Dim(0) && std::find(types.begin(), types.end(), row.cost.precision) != types.end();
  });
}

bool holds(const Analysis& analysis, std::initializer_list<ElementType> types) {
  return std::any_of(analysis.types.begin(), analysis.types.end(), [&](const TensorType& type) {
    return std::find(types.begin(), types.end(), type.element) != types.end();
  });
}

const Calibration::Set* set_for(const std::vector<Calibration::Set>& sets, std::string_view compute_capability) {
  const auto found = std::find_if(sets.begin(), sets.end(), [&](const Calibration::Set& set) {
    const auto& known = set.compute_capabilities;
    return std::find(known.begin(), known.end(), compute_capability) != known.end();
  });
  return found == sets.end() ? nullptr : &*found;
}

void add_rows(CoefficientRows& rows, const std::string& object, std::initializer_list<CoefficientRow> members) {
  for (CoefficientRow row : members) {
    row.name.insert(0, object);
    rows.push_back(std::move(row));
  }
}

void read_coefficients(const Coefficients& from, const CoefficientRows& rows) {
  for (const CoefficientRow& row : rows)
    if (const auto found = from.find(row.name); found != from.end()) *row.place = found->second;
}

Coefficients written_coefficients(const CoefficientRows& rows) {
  Coefficients coefficients;
  for (const CoefficientRow& row : rows) coefficients[row.name] = *row.place;
  return coefficients;
}

Analysis analyzed_as(const EngineRun& run, std::optional<Precision> precision) {
  return run.analyze_as ? run.analyze_as(precision) : analyze(run.model, {.precision = precision});
}

Prediction not_predicted(const std::string& why) { return {.notes = {"none, for " + why}}; }

Prediction lacks_rates(const EngineRun& run, const std::string& lacks) {
  return {.notes = {run.device.id + " " + lacks + ", which calibration " + run.calibration.id + " needs"}};
}

void add_seconds(Prediction& prediction, std::int32_t row, double seconds) {
  prediction.row_seconds[static_cast<std::size_t>(row)] += seconds;
  prediction.seconds = prediction.seconds.value_or(0) + seconds;
}

void set_interval(Prediction& prediction, const std::optional<Factors>& factors, double coverage,
                  std::string_view reason) {
  if (!factors) {
    prediction.no_interval = reason;
    return;
  }
  prediction.low = *prediction.seconds * factors->low;
  prediction.high = *prediction.seconds * factors->high;
  prediction.coverage = coverage;
}

}  // namespace pagoda::inline core
