// The engines' records, each defined in the file of its engine, and what they share.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "graph/index.h"
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

// The time of lowered kernels, each with its seconds: a kernel's time counts for its row, or the first of its rows.
template <typename Lowered>
Prediction summed(const Lowered& lowered, std::span<const double> seconds, const Analysis& analysis) {
  Prediction sum{.seconds = 0,
                 .row_seconds = std::vector<double>(analysis.nodes.size()),
                 .kernels = static_cast<std::int64_t>(lowered.kernels.size()),
                 .unknown_rows = lowered.unknown_rows};
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    std::int32_t row = 0;
    if constexpr (requires { lowered.kernels[i].row; })
      row = lowered.kernels[i].row;
    else
      row = lowered.kernels[i].rows.front();
    sum.row_seconds[index(row)] += seconds[i];
    *sum.seconds += seconds[i];
  }
  return sum;
}
// Sets the interval; without `factors`, the reason why there is none.
void set_interval(Prediction& prediction, const std::optional<Factors>& factors, double coverage,
                  std::string_view reason);

inline constexpr std::string_view kTooFewFamilies = "too few families were measured to claim one",
                                  kNoSuchDevice = "no runs on such a device judged the calibration";
inline constexpr Precision kFloat16[] = {Precision::Float16}, kFloat32[] = {Precision::Float32};

}  // namespace pagoda::inline core
