// The engines' records, each defined in the file of its engine, and what they share.
#pragma once

#include <string>
#include <utility>

#include "pagoda/core/engine.h"

namespace pagoda::inline core {

extern const Engine kPytorchAmp, kPytorchCpu, kPytorchCuda, kOrtCuda, kServing, kTensorRt, kOrtCpu;

// The rows of an engine's coefficients, without places.
template <typename C>
CoefficientRows rows_of() {
  C named;
  CoefficientRows rows = coefficient_rows(named);
  for (CoefficientRow& row : rows) row.place = nullptr;
  return rows;
}

// The analysis of a run's model with floats in another format; empty: in those of the file.
Analysis analyzed_as(const EngineRun& run, std::optional<Precision> precision);

// A run that the engine does not predict, and why.
Prediction not_predicted(const std::string& why);
// A run on a device that lacks rates: `lacks` is "states no clock".
Prediction lacks_rates(const EngineRun& run, const std::string& lacks);

// Adds the seconds of a kernel of a row to the prediction. `row_seconds` must have the size of the analysis.
void add_seconds(Prediction& prediction, std::int32_t row, double seconds);
// Sets the interval; without `factors`, the reason why there is none.
void set_interval(Prediction& prediction, const std::optional<Factors>& factors, double coverage,
                  std::string_view reason);

inline constexpr std::string_view kTooFewFamilies = "too few families were measured to claim one";

}  // namespace pagoda::inline core
