// Fits the coefficients of TensorRT's kernels to measured runs.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "pagoda/base/statistics.h"
#include "pagoda/core/calibrate.h"
#include "pagoda/core/tensorrt.h"
#include "predict/levenberg.h"

namespace pagoda::inline core {
namespace {

constexpr double kTolerance = 0.05;   // of a log time: how much releases of TensorRT differ
constexpr double kObservations = 20;  // the runs of one device weigh at most as much as this many

struct FittedField {
  double TensorRtCalibration::*member;
  double centre, spread;  // of the prior, which is log-normal
};

// clang-format off
// Products: llm-serving.json, fitted to kernels of A100 and H100, has launches of 5,200 cycles, 0.86 of the peak and
// 0.85 of the bandwidth. The fastest float16 products of its data/calibration/serving/products.csv sustain 0.92 and 0.88
// of these two boards' stated peaks; a model's mix of sizes sustains somewhat less. Integers of half the width take
// half the energy. L2 delivers at most 32 B per cycle and unit.
constexpr std::array<FittedField, 9> kFittedFields = {{
    {&TensorRtCalibration::launch_cycles,           6000,    0.3},
    {&TensorRtCalibration::light_launch_cycles,     4000,    0.3},
    {&TensorRtCalibration::compute,                 0.86,    0.05},
    {&TensorRtCalibration::narrow,                  0.85,    0.15},
    {&TensorRtCalibration::attention,               0.3,     0.7},
    {&TensorRtCalibration::bandwidth,               0.8,     0.15},
    {&TensorRtCalibration::l2,                      0.7,     0.3},
    {&TensorRtCalibration::sustained,               0.8,     0.1},
    {&TensorRtCalibration::narrow_per_joule,        2,       0.1},
}};
// clang-format on
TensorRtCalibration with(const Eigen::VectorXd& logs) {
  TensorRtCalibration calibration;
  for (std::size_t i = 0; i < kFittedFields.size(); ++i)
    calibration.*kFittedFields[i].member = std::exp(logs[static_cast<Eigen::Index>(i)]);
  return calibration;
}

// Of `centre` or, without one, of the priors.
Eigen::VectorXd logs_of(const TensorRtCalibration* centre) {
  Eigen::VectorXd logs(static_cast<Eigen::Index>(kFittedFields.size()));
  for (std::size_t i = 0; i < kFittedFields.size(); ++i) {
    const FittedField& field = kFittedFields[i];
    logs[static_cast<Eigen::Index>(i)] = std::log(centre != nullptr ? centre->*field.member : field.centre);
  }
  return logs;
}

// Residuals divided by the tolerance, then the coefficients' distances from their priors, divided by the spread.
Eigen::VectorXd residuals(std::span<const TensorRtRun> runs, const std::vector<double>& weights,
                          const Eigen::VectorXd& priors, const Eigen::VectorXd& logs) {
  const TensorRtCalibration calibration = with(logs);
  const auto count = static_cast<Eigen::Index>(runs.size());
  Eigen::VectorXd result(count + logs.size());
  for (std::size_t i = 0; i < runs.size(); ++i)
    result[static_cast<Eigen::Index>(i)] =
        weights[i] * std::log(tensorrt_seconds(runs[i].kernels, runs[i].rates, calibration) / runs[i].seconds);
  for (Eigen::Index i = 0; i < logs.size(); ++i)
    result[count + i] = (logs[i] - priors[i]) / kFittedFields[static_cast<std::size_t>(i)].spread;
  return result;
}

}  // namespace

TensorRtCalibration fit_tensorrt(std::span<const TensorRtRun> runs, const TensorRtCalibration* centre) {
  std::map<std::string, double> of_device;
  for (const TensorRtRun& run : runs) ++of_device[run.device];
  std::vector<double> weights;
  for (const TensorRtRun& run : runs)
    weights.push_back(std::sqrt(kObservations / std::max(of_device.at(run.device), kObservations)) / kTolerance);
  const Eigen::VectorXd priors = logs_of(centre);
  const auto cost = [&](const Eigen::VectorXd& logs) { return residuals(runs, weights, priors, logs).squaredNorm(); };
  const auto normal_equations = [&](const Eigen::VectorXd& logs) {
    constexpr double kStep = 1e-4;
    const Eigen::VectorXd here = residuals(runs, weights, priors, logs);
    Eigen::MatrixXd slopes(here.size(), logs.size());
    for (Eigen::Index i = 0; i < logs.size(); ++i) {
      Eigen::VectorXd moved = logs;
      moved[i] += kStep;
      slopes.col(i) = (residuals(runs, weights, priors, moved) - here) / kStep;
    }
    return std::pair<Eigen::MatrixXd, Eigen::VectorXd>(slopes.transpose() * slopes, slopes.transpose() * here);
  };
  TensorRtCalibration fitted = with(least_cost(priors, cost, normal_equations));
  std::set<std::string> devices;
  for (const auto& [device, count] : of_device) devices.insert(device);
  fitted.devices.assign(devices.begin(), devices.end());
  return fitted;
}

namespace {

// How the runs of `members` are predicted.
TensorRtErrors errors_of(const std::string& name, std::span<const TensorRtRun> runs,
                         const std::vector<std::size_t>& members, const std::vector<double>& predicted) {
  TensorRtErrors errors{.of = name, .runs = static_cast<std::int64_t>(members.size())};
  std::vector<double> sorted;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const double error = predicted[i] / runs[members[i]].seconds - 1;
    errors.bias += error / static_cast<double>(members.size());
    sorted.push_back(std::abs(error));
    errors.mean += sorted.back() / static_cast<double>(members.size());
  }
  std::sort(sorted.begin(), sorted.end());
  errors.median = base::quantile(sorted, 0.5);
  return errors;
}

std::vector<double> predicted_by(const TensorRtCalibration& calibration, std::span<const TensorRtRun> runs,
                                 const std::vector<std::size_t>& members) {
  std::vector<double> seconds;
  seconds.reserve(members.size());
  for (const std::size_t run : members)
    seconds.push_back(tensorrt_seconds(runs[run].kernels, runs[run].rates, calibration));
  return seconds;
}

// The places of the runs that share a value of `key`. Runs whose value is empty are left out.
std::map<std::string, std::vector<std::size_t>> by(std::span<const TensorRtRun> runs, std::string TensorRtRun::*key) {
  std::map<std::string, std::vector<std::size_t>> members;
  for (std::size_t i = 0; i < runs.size(); ++i)
    if (!(runs[i].*key).empty()) members[runs[i].*key].push_back(i);
  return members;
}

void judge_pairs(std::span<const TensorRtRun> runs, TensorRtFit& fit) {
  for (std::size_t narrow = 0; narrow < runs.size(); ++narrow) {
    if (!runs[narrow].is_int8 || runs[narrow].pair.empty() || !fit.predicted[narrow]) continue;
    for (std::size_t half = 0; half < runs.size(); ++half) {
      if (runs[half].is_int8 || runs[half].pair != runs[narrow].pair || !fit.predicted[half]) continue;
      const bool predicted = *fit.predicted[narrow] < *fit.predicted[half];
      ++fit.pairs;
      fit.pairs_right += predicted == (runs[narrow].seconds < runs[half].seconds) ? 1 : 0;
    }
  }
}

void set_interval(std::span<const TensorRtRun> runs, double coverage, bool is_by_group, TensorRtFit& fit) {
  std::vector<double> log_errors;
  std::vector<std::string> groups;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (!fit.predicted[i]) continue;
    log_errors.push_back(std::log(runs[i].seconds / *fit.predicted[i]));
    groups.push_back(runs[i].group);
  }
  if (log_errors.empty()) return;
  std::vector<double> sorted = log_errors;
  std::sort(sorted.begin(), sorted.end());
  const Factors interval = is_by_group ? interval_factors(log_errors, groups, coverage)
                                       : Factors{std::exp(base::quantile(sorted, (1 - coverage) / 2)),
                                                 std::exp(base::quantile(sorted, (1 + coverage) / 2))};
  if (interval.low == 0) return;  // too few groups
  fit.calibration.coverage = coverage;
  fit.calibration.interval = interval;
  for (std::size_t i = 0; i < log_errors.size(); ++i) {
    const Factors others = is_by_group ? interval_of_others(log_errors, groups, groups[i], coverage) : interval;
    const double factor = std::exp(log_errors[i]);
    if (others.low <= factor && factor <= others.high) fit.covered += 1.0 / static_cast<double>(log_errors.size());
  }
}

}  // namespace

TensorRtFit calibrate_tensorrt(std::span<const TensorRtRun> runs, double coverage, const TensorRtCalibration* centre) {
  TensorRtFit fit{.calibration = fit_tensorrt(runs, centre)};
  fit.predicted.resize(runs.size());
  const auto devices = by(runs, &TensorRtRun::device), groups = by(runs, &TensorRtRun::group);
  for (const auto& [device, members] : devices)
    fit.fitted.push_back(errors_of(device, runs, members, predicted_by(fit.calibration, runs, members)));
  const auto leave_out = [&](const std::string& name, const std::vector<std::size_t>& members, bool judges) {
    std::vector<TensorRtRun> others;
    for (std::size_t i = 0; i < runs.size(); ++i)
      if (!std::binary_search(members.begin(), members.end(), i)) others.push_back(runs[i]);
    if (others.empty()) return;
    const std::vector<double> seconds = predicted_by(fit_tensorrt(others, centre), runs, members);
    fit.left_out.push_back(errors_of(name, runs, members, seconds));
    for (std::size_t i = 0; judges && i < members.size(); ++i) fit.predicted[members[i]] = seconds[i];
  };
  for (const auto& [device, members] : devices) leave_out(device, members, devices.size() > 1);
  for (const auto& [group, members] : groups) leave_out(group, members, devices.size() == 1);
  judge_pairs(runs, fit);
  set_interval(runs, coverage, devices.size() == 1, fit);
  return fit;
}

}  // namespace pagoda::inline core
