// How far predictions of runs are off that a fit did not see.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "pagoda/base/error.h"
#include "pagoda/base/statistics.h"
#include "pagoda/lab/fit.h"

namespace pagoda::lab {

double rank_correlation(std::span<const double> a, std::span<const double> b) {
  if (a.size() != b.size() || a.size() < 2) throw Error("rank correlation: expected two lists of one length above 1");
  const std::vector<double> x = base::ranks(a), y = base::ranks(b);
  const double mean = static_cast<double>(a.size() + 1) / 2;
  double xy = 0, xx = 0, yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mean) * (y[i] - mean);
    xx += (x[i] - mean) * (x[i] - mean);
    yy += (y[i] - mean) * (y[i] - mean);
  }
  return xx > 0 && yy > 0 ? xy / std::sqrt(xx * yy) : 0;
}

Factors interval_factors(std::span<const double> log_errors, std::span<const std::string> families, double coverage) {
  std::map<std::string_view, double> members;
  for (const std::string& family : families) ++members[family];
  std::vector<std::pair<double, double>> weighted;  // error, weight
  const double each = 1.0 / static_cast<double>(members.size() + 1);
  for (std::size_t i = 0; i < log_errors.size(); ++i)
    weighted.emplace_back(log_errors[i], each / members.at(families[i]));
  constexpr double kRounded = 1e-12;  // sums of weights are
  const double tail = (1 - coverage) / 2;
  if (each > tail + kRounded) return {0, std::numeric_limits<double>::infinity()};
  // The error at which the cumulative weight reaches `tail`, interpolated.
  const auto end = [&](const auto& first, const auto& last) {
    double sum = 0, before = first->first;
    for (auto error = first; error != last; ++error) {
      if (sum + error->second >= tail - kRounded)
        return std::exp(before + (error->first - before) * std::min((tail - sum) / error->second, 1.0));
      sum += error->second;
      before = error->first;
    }
    return std::exp(before);
  };
  std::ranges::sort(weighted);
  return {end(weighted.begin(), weighted.end()), end(weighted.rbegin(), weighted.rend())};
}

std::optional<Factors> claimed_interval(std::span<const double> log_errors, std::span<const std::string> families,
                                        double coverage) {
  const Factors factors = interval_factors(log_errors, families, coverage);
  return std::isinf(factors.high) || factors.low <= 0 ? std::nullopt : std::optional(factors);
}

void judge(std::span<const double> measured, std::span<const std::string> families, double coverage, Fit& fit) {
  std::vector<double> errors, log_errors, predicted, times;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    if (!fit.predicted[i]) continue;
    predicted.push_back(*fit.predicted[i]);
    times.push_back(measured[i]);
    names.push_back(families[i]);
    errors.push_back(std::abs(predicted.back() / measured[i] - 1));
    log_errors.push_back(std::log(measured[i] / predicted.back()));
  }
  Calibration& calibration = fit.file.fitted;
  const std::set<std::string> all(names.begin(), names.end());
  const auto count = static_cast<double>(errors.size());
  calibration.coverage = coverage;
  calibration.errors = {.models = count, .families = static_cast<double>(all.size())};
  if (errors.empty()) return;
  for (const double error : errors) calibration.errors.mean_error += error / count;
  std::ranges::sort(errors);
  calibration.errors.median_error = base::quantile(errors, 0.5);
  calibration.errors.p90_error = base::quantile(errors, 0.9);
  if (errors.size() > 1) calibration.errors.rank_correlation = rank_correlation(predicted, times);
  calibration.interval = claimed_interval(log_errors, names, coverage);
  // Each family against the interval that the other families give.
  fit.intervals.assign(measured.size(), {});
  for (const std::string& family : all) {
    std::vector<double> others;
    std::vector<std::string> their_names;
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (names[i] == family) continue;
      others.push_back(log_errors[i]);
      their_names.push_back(names[i]);
    }
    const Factors without = interval_factors(others, their_names, coverage);
    double members = 0, inside = 0;
    for (std::size_t i = 0; i < measured.size(); ++i) {
      if (!fit.predicted[i] || families[i] != family) continue;
      fit.intervals[i] = {*fit.predicted[i] * without.low, *fit.predicted[i] * without.high};
      ++members;
      if (measured[i] >= fit.intervals[i].low && measured[i] <= fit.intervals[i].high) ++inside;
    }
    fit.covered += inside / count;
    fit.covered_families += inside / members / static_cast<double>(all.size());
  }
}

}  // namespace pagoda::lab
