// Fits the coefficients of TensorRT's kernels to measured runs.
#include <algorithm>
#include <cmath>
#include <map>

#include "fit/log_fit.h"
#include "pagoda/base/statistics.h"
#include "pagoda/lab/fit.h"

namespace pagoda::lab {
namespace {

constexpr double kTolerance = 0.05;   // of a log time: how much releases of TensorRT differ
constexpr double kObservations = 20;  // the runs of one device weigh at most as much as this many

using Groups = std::map<std::string, std::vector<std::size_t>>;

// The places of the runs that share a value of `key`. Runs whose value is empty are left out.
Groups by(std::span<const TensorRtRun> runs, std::string TensorRtRun::*key) {
  Groups members;
  for (std::size_t i = 0; i < runs.size(); ++i)
    if (!(runs[i].*key).empty()) members[runs[i].*key].push_back(i);
  return members;
}

std::vector<double> predicted_by(const TensorRtCoefficients& coefficients, std::span<const TensorRtRun> runs,
                                 const std::vector<std::size_t>& members) {
  std::vector<double> seconds;
  seconds.reserve(members.size());
  for (const std::size_t run : members)
    seconds.push_back(tensorrt_seconds(runs[run].kernels, runs[run].rates, coefficients));
  return seconds;
}

// Errors of the predictions of the runs of `members`.
documents::GroupErrors errors_of(const std::string& name, std::span<const TensorRtRun> runs,
                                 const std::vector<std::size_t>& members, const std::vector<double>& predicted) {
  documents::GroupErrors errors{.of = name, .runs = static_cast<std::int64_t>(members.size())};
  std::vector<double> sizes;  // of the errors
  for (std::size_t i = 0; i < members.size(); ++i) {
    const double error = predicted[i] / runs[members[i]].seconds - 1;
    errors.bias += error / static_cast<double>(members.size());
    sizes.push_back(std::abs(error));
    errors.mean_error += sizes.back() / static_cast<double>(members.size());
  }
  errors.median_error = base::median(sizes);
  return errors;
}

void judge_pairs(std::span<const TensorRtRun> runs, Fit& fit) {
  for (std::size_t narrow = 0; narrow < runs.size(); ++narrow) {
    if (!runs[narrow].is_int8 || runs[narrow].pair.empty() || !fit.predicted[narrow]) continue;
    for (std::size_t half = 0; half < runs.size(); ++half) {
      if (runs[half].is_int8 || runs[half].pair != runs[narrow].pair || !fit.predicted[half]) continue;
      const bool predicted = *fit.predicted[narrow] < *fit.predicted[half];
      ++fit.file.pairs;
      fit.file.pairs_right += predicted == (runs[narrow].seconds < runs[half].seconds) ? 1 : 0;
    }
  }
}

// Of several devices, the interval holds the given share of their runs, each by a fit without its device.
void set_interval_of_devices(std::span<const TensorRtRun> runs, double coverage, Fit& fit) {
  std::vector<double> log_errors;
  for (std::size_t i = 0; i < runs.size(); ++i)
    if (fit.predicted[i]) log_errors.push_back(std::log(runs[i].seconds / *fit.predicted[i]));
  std::ranges::sort(log_errors);
  const Factors interval = {std::exp(base::quantile(log_errors, (1 - coverage) / 2)),
                            std::exp(base::quantile(log_errors, (1 + coverage) / 2))};
  fit.file.fitted.interval = interval;
  const auto inside = std::ranges::count_if(
      log_errors, [&](double error) { return interval.low <= std::exp(error) && std::exp(error) <= interval.high; });
  fit.covered = static_cast<double>(inside) / static_cast<double>(log_errors.size());
}

}  // namespace

TensorRtCoefficients fit_coefficients(std::span<const TensorRtRun> runs, const TensorRtCoefficients* centre) {
  TensorRtCoefficients fitted, start = centre == nullptr ? TensorRtCoefficients() : *centre;
  const CoefficientRows rows = coefficient_rows(fitted), given = coefficient_rows(start);
  LogFit fit;
  for (std::size_t i = 0; i < rows.size(); ++i)
    fit.add(*rows[i].place, centre == nullptr ? rows[i].prior.centre : *given[i].place, rows[i].prior.spread, 1);
  const Groups devices = by(runs, &TensorRtRun::device);
  for (const TensorRtRun& run : runs) {
    const auto count = static_cast<double>(devices.at(run.device).size());
    fit.weights.push_back(kObservations / std::max(count, kObservations) / (kTolerance * kTolerance));
  }
  fit.error = [&](std::size_t i) {
    return std::log(tensorrt_seconds(runs[i].kernels, runs[i].rates, fitted) / runs[i].seconds);
  };
  fit.solve(fit.centre);
  return fitted;
}

Fit fit_tensorrt(std::span<const TensorRtRun> runs, double coverage, const TensorRtCoefficients* centre) {
  TensorRtCoefficients fitted = fit_coefficients(runs, centre);
  Fit fit;
  Calibration& calibration = fit.file.fitted;
  calibration.engine = "tensorrt";
  calibration.coefficients = written_coefficients(coefficient_rows(fitted));
  calibration.judges_convolutions =
      std::ranges::any_of(runs, [](const TensorRtRun& run) { return run.kernels.mostly_convolve(); });
  fit.predicted.resize(runs.size());
  const Groups devices = by(runs, &TensorRtRun::device), groups = by(runs, &TensorRtRun::group);
  for (const auto& [device, members] : devices) {
    calibration.devices.push_back(device);
    fit.file.groups.push_back(errors_of(device, runs, members, predicted_by(fitted, runs, members)));
  }
  const auto leave_out = [&](const std::string& name, const std::vector<std::size_t>& members, bool judges) {
    std::vector<TensorRtRun> others;
    for (std::size_t i = 0; i < runs.size(); ++i)
      if (!std::ranges::binary_search(members, i)) others.push_back(runs[i]);
    if (others.empty()) return;
    const std::vector<double> seconds = predicted_by(fit_coefficients(others, centre), runs, members);
    fit.file.left_out.push_back(errors_of(name, runs, members, seconds));
    for (std::size_t i = 0; judges && i < members.size(); ++i) fit.predicted[members[i]] = seconds[i];
  };
  const bool has_devices = devices.size() > 1;
  for (const auto& [device, members] : devices) leave_out(device, members, has_devices);
  for (const auto& [group, members] : groups) leave_out(group, members, !has_devices);
  judge_pairs(runs, fit);
  judge(runs, has_devices ? &TensorRtRun::device : &TensorRtRun::group, coverage, fit);
  if (has_devices) set_interval_of_devices(runs, coverage, fit);
  if (!devices.empty()) fit.fitted_mean_error = fit.file.groups.front().mean_error;
  return fit;
}

}  // namespace pagoda::lab
