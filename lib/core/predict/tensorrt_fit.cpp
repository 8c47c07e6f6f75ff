// Fits the coefficients of TensorRT's kernels to measured runs.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "pagoda/base/statistics.h"
#include "pagoda/core/tensorrt.h"
#include "predict/levenberg.h"

namespace pagoda::inline core {
namespace {

constexpr double kTolerance = 0.05;   // of a log time: how much releases of TensorRT differ
constexpr double kObservations = 20;  // the runs of one device weigh at most as much as this many

struct FittedField {
  double* (*place)(TensorRtCalibration&);
  double centre, spread;  // of the prior, which is log-normal
};

// clang-format off
// Products: llm-serving.json, fitted to kernels of A100 and H100, has launches of 5,200 cycles, 0.86 of the peak and
// 0.85 of the bandwidth. The fastest float16 products of its data/calibration/serving/products.csv sustain 0.92 and 0.88
// of these two boards' stated peaks; a model's mix of sizes sustains somewhat less. Integers of half the width take
// half the energy. L2 delivers at most 32 B per cycle and unit.
constexpr std::array<FittedField, 9> kFittedFields = {{
    {[](TensorRtCalibration& c) { return &c.launch_cycles; },           6000,    0.3},
    {[](TensorRtCalibration& c) { return &c.light_launch_cycles; },     4000,    0.3},
    {[](TensorRtCalibration& c) { return &c.compute; },                 0.86,    0.05},
    {[](TensorRtCalibration& c) { return &c.narrow; },                  0.85,    0.15},
    {[](TensorRtCalibration& c) { return &c.attention; },               0.3,     0.7},
    {[](TensorRtCalibration& c) { return &c.bandwidth; },               0.8,     0.15},
    {[](TensorRtCalibration& c) { return &c.l2; },                      0.7,     0.3},
    {[](TensorRtCalibration& c) { return &c.sustained; },               0.8,     0.1},
    {[](TensorRtCalibration& c) { return &c.narrow_per_joule; },        2,       0.1},
}};
// clang-format on
TensorRtCalibration with(const Eigen::VectorXd& logs) {
  TensorRtCalibration calibration;
  for (std::size_t i = 0; i < kFittedFields.size(); ++i)
    *kFittedFields[i].place(calibration) = std::exp(logs[static_cast<Eigen::Index>(i)]);
  return calibration;
}

// Residuals divided by the tolerance, then the coefficients' distances from their priors, divided by the spread.
Eigen::VectorXd residuals(std::span<const TensorRtRun> runs, const std::vector<double>& weights,
                          const Eigen::VectorXd& logs) {
  const TensorRtCalibration calibration = with(logs);
  const auto count = static_cast<Eigen::Index>(runs.size());
  Eigen::VectorXd result(count + logs.size());
  for (std::size_t i = 0; i < runs.size(); ++i)
    result[static_cast<Eigen::Index>(i)] =
        weights[i] * std::log(tensorrt_seconds(runs[i].kernels, runs[i].rates, calibration) / runs[i].seconds);
  for (Eigen::Index i = 0; i < logs.size(); ++i) {
    const FittedField& parameter = kFittedFields[static_cast<std::size_t>(i)];
    result[count + i] = (logs[i] - std::log(parameter.centre)) / parameter.spread;
  }
  return result;
}

}  // namespace

TensorRtCalibration fit_tensorrt(std::span<const TensorRtRun> runs) {
  std::map<std::string, double> of_device;
  for (const TensorRtRun& run : runs) ++of_device[run.device];
  std::vector<double> weights;
  for (const TensorRtRun& run : runs)
    weights.push_back(std::sqrt(kObservations / std::max(of_device.at(run.device), kObservations)) / kTolerance);
  Eigen::VectorXd start(static_cast<Eigen::Index>(kFittedFields.size()));
  for (Eigen::Index i = 0; i < start.size(); ++i)
    start[i] = std::log(kFittedFields[static_cast<std::size_t>(i)].centre);
  const auto cost = [&](const Eigen::VectorXd& logs) { return residuals(runs, weights, logs).squaredNorm(); };
  const auto normal_equations = [&](const Eigen::VectorXd& logs) {
    constexpr double kStep = 1e-4;
    const Eigen::VectorXd here = residuals(runs, weights, logs);
    Eigen::MatrixXd slopes(here.size(), logs.size());
    for (Eigen::Index i = 0; i < logs.size(); ++i) {
      Eigen::VectorXd moved = logs;
      moved[i] += kStep;
      slopes.col(i) = (residuals(runs, weights, moved) - here) / kStep;
    }
    return std::pair<Eigen::MatrixXd, Eigen::VectorXd>(slopes.transpose() * slopes, slopes.transpose() * here);
  };
  TensorRtCalibration fitted = with(least_cost(std::move(start), cost, normal_equations));
  std::set<std::string> devices;
  for (const auto& [device, count] : of_device) devices.insert(device);
  fitted.devices.assign(devices.begin(), devices.end());
  return fitted;
}

namespace {

double ratio_of(const TensorRtRun& run, const TensorRtCalibration& calibration) {
  return tensorrt_seconds(run.kernels, run.rates, calibration) / run.seconds;
}

TensorRtErrors errors_of(const std::string& name, std::span<const TensorRtRun> runs,
                         const TensorRtCalibration& calibration) {
  TensorRtErrors errors{.of = name, .runs = static_cast<std::int64_t>(runs.size())};
  std::vector<double> sorted;
  for (const TensorRtRun& run : runs) {
    const double ratio = ratio_of(run, calibration);
    errors.bias += (ratio - 1) / static_cast<double>(runs.size());
    sorted.push_back(std::abs(ratio - 1));
    errors.mean += sorted.back() / static_cast<double>(runs.size());
  }
  std::sort(sorted.begin(), sorted.end());
  errors.median = base::quantile(sorted, 0.5);
  return errors;
}

// The runs whose `key` is `value`, and all others.
std::pair<std::vector<TensorRtRun>, std::vector<TensorRtRun>> split(std::span<const TensorRtRun> runs,
                                                                    std::string TensorRtRun::*key,
                                                                    const std::string& value) {
  std::pair<std::vector<TensorRtRun>, std::vector<TensorRtRun>> parts;
  for (const TensorRtRun& run : runs) (run.*key == value ? parts.first : parts.second).push_back(run);
  return parts;
}

std::set<std::string> values_of(std::span<const TensorRtRun> runs, std::string TensorRtRun::*key) {
  std::set<std::string> values;
  for (const TensorRtRun& run : runs) values.insert(run.*key);
  return values;
}

void judge_pairs(std::span<const TensorRtRun> runs, const TensorRtCalibration& calibration, TensorRtFit& fit) {
  for (const TensorRtRun& narrow : runs) {
    if (!narrow.is_int8) continue;
    for (const TensorRtRun& half : runs) {
      if (half.is_int8 || half.pair != narrow.pair) continue;
      const bool predicted =
          ratio_of(narrow, calibration) * narrow.seconds < ratio_of(half, calibration) * half.seconds;
      ++fit.pairs;
      fit.pairs_right += predicted == (narrow.seconds < half.seconds) ? 1 : 0;
    }
  }
}

}  // namespace

TensorRtFit calibrate_tensorrt(std::span<const TensorRtRun> runs, double coverage) {
  TensorRtFit fit{.calibration = fit_tensorrt(runs)};
  std::vector<double> measured_over_predicted;
  for (const std::string& device : values_of(runs, &TensorRtRun::device)) {
    const auto [own, others] = split(runs, &TensorRtRun::device, device);
    fit.fitted.push_back(errors_of(device, own, fit.calibration));
    if (others.empty()) continue;
    const TensorRtCalibration elsewhere = fit_tensorrt(others);
    fit.left_out.push_back(errors_of(device, own, elsewhere));
    for (const TensorRtRun& run : own) measured_over_predicted.push_back(1 / ratio_of(run, elsewhere));
    judge_pairs(own, elsewhere, fit);
  }
  for (const std::string& sequence : values_of(runs, &TensorRtRun::sequence)) {
    const auto [own, others] = split(runs, &TensorRtRun::sequence, sequence);
    if (!others.empty()) fit.left_out.push_back(errors_of("sequence " + sequence, own, fit_tensorrt(others)));
  }
  if (measured_over_predicted.empty()) return fit;
  std::sort(measured_over_predicted.begin(), measured_over_predicted.end());
  fit.calibration.coverage = coverage;
  fit.calibration.interval = {base::quantile(measured_over_predicted, (1 - coverage) / 2),
                              base::quantile(measured_over_predicted, (1 + coverage) / 2)};
  return fit;
}

}  // namespace pagoda::inline core
