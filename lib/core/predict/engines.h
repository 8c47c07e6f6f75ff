// The engines' records, each defined in the file of its engine, and what they share.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/index.h"
#include "pagoda/base/text.h"
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

// The facts of a device that an engine needs. They are taken one by one; a message names all that the device lacks.
class Needs {
 public:
  // The value of a fact; 0 if the device does not state it.
  double operator()(const Quantity* stated, std::string_view name) {
    if (stated != nullptr && stated->known()) return *stated->value;
    missing_.push_back(name);
    return 0;
  }
  double operator()(const Peak* stated, std::string_view name) {
    return (*this)(stated == nullptr ? nullptr : &stated->flops_per_second, name);
  }
  void require(bool is_stated, std::string_view name) {
    if (!is_stated) missing_.push_back(name);
  }

  // The rates made of these facts; empty if one is missing: `lacks` then receives "states no clock or power".
  template <typename Rates>
  std::optional<Rates> met_by(const Rates& rates, std::string* lacks) const {
    if (missing_.empty()) return rates;
    if (lacks != nullptr) *lacks = "states no " + base::joined(missing_, " or ");
    return std::nullopt;
  }

 private:
  std::vector<std::string_view> missing_;
};

inline const Quantity* bandwidth_of(const MemoryLevel* level) {
  return level == nullptr ? nullptr : &level->bytes_per_second;
}

// The time of lowered kernels, each with its seconds: a kernel's time counts for its row, or the first of its rows.
template <typename Lowered>
Prediction summed(const Lowered& lowered, std::span<const double> seconds, const Analysis& analysis) {
  Prediction sum{.seconds = 0,
                 .row_seconds = std::vector<double>(analysis.nodes.size()),
                 .unknown_rows = lowered.unknown_rows};
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    std::int32_t row = 0;
    std::int64_t times = 1;
    if constexpr (requires { lowered.kernels[i].row; }) {
      row = lowered.kernels[i].row;
      times = static_cast<std::int64_t>(lowered.kernels[i].times);
    } else {
      row = lowered.kernels[i].rows.front();
    }
    sum.kernels += times;
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
