// The registry of engines.
#include "predict/engines.h"

#include <algorithm>

#include "pagoda/base/cat.h"
#include "pagoda/base/error.h"
#include "pagoda/base/text.h"

namespace pagoda::inline core {

namespace {

constexpr const Engine* kEngines[] = {&kPytorchAmp, &kServing,    &kTensorRt,   &kOrtCpu,
                                      &kOrtCuda,    &kPytorchCpu, &kPytorchCuda};

}  // namespace

std::span<const Engine* const> engines() { return kEngines; }

const Engine* find_engine(std::string_view id) {
  for (const Engine* each : kEngines)
    if (each->id == id) return each;
  return nullptr;
}

const Engine& engine(std::string_view id) {
  if (const Engine* found = find_engine(id)) return *found;
  const auto id_of = [](const Engine* each) { return each->id; };
  throw Error(cat("engine \"", id, "\" is not known; expected ", base::joined(kEngines, " or ", id_of)));
}

Prediction predict(const EngineRun& run) {
  Prediction result = engine(run.calibration.engine).predict(run);
  const Calibration& used = run.calibration;
  if (!used.ignored.empty())
    result.notes.push_back(cat("calibration ", used.id, ": unknown members are ignored: ", base::joined(used.ignored)));
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
  for (const Calibration::Set& set : sets)
    for (const std::string& known : set.compute_capabilities)
      if (known == compute_capability) return &set;
  return nullptr;
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

Prediction not_predicted(const std::string& why) { return {.notes = {why}}; }

Prediction lacks_rates(const EngineRun& run, const std::string& lacks) {
  return {.notes = {cat(run.device.id, " ", lacks, ", which calibration ", run.calibration.id, " needs")}};
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
