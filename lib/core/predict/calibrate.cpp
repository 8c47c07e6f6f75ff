// Levenberg-Marquardt over the logarithms of the coefficients, and cross-validation over families.
#include "pagoda/core/calibrate.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include "pagoda/base/statistics.h"
#include "pagoda/base/text.h"
#include "predict/launch_queue.h"
#include "predict/levenberg.h"

namespace pagoda::inline core {
namespace {

// --- coefficients as one vector of logarithms ---

struct Parameter {
  double* (*place)(Calibration&, std::size_t kind);
  std::size_t kind;
  double centre, spread;  // of the prior, which is log-normal
};

double* launch_of(Calibration& c, std::size_t) { return &c.launch; }
double* norm_of(Calibration& c, std::size_t) { return &c.norm; }
double* host_of(Calibration& c, std::size_t i) { return &(c.host.*kHostCosts[i].member); }
constexpr Eigen::Index kHost = 2;  // where these begin in the list
double* work_of(Calibration& c, std::size_t k) { return &c.classes[k].work; }
double* bytes_of(Calibration& c, std::size_t k) { return &c.classes[k].bytes; }
double* rows_of(Calibration& c, std::size_t k) { return &c.classes[k].rows; }
double* width_of(Calibration& c, std::size_t k) { return &c.classes[k].width; }
double* depth_of(Calibration& c, std::size_t k) { return &c.classes[k].depth; }

// Priors: kernels reach three quarters of bandwidth and of a product's peak; products of 24 columns or a depth of 32
// reach half of that, as do 8 rows; vector kernels spend four issues on a multiply-accumulate, give or take a factor of
// e^1.5.
// Where the host is fitted, a launch costs the device a microsecond between kernels. Its own costs are guesses around
// the 3.2 µs that an empty kernel takes to launch on an H200 (data/measured/nvidia-h200.json), give or take a factor of
// e.
constexpr double kHostCentres[] = {20e-6, 1e-6, 1.5e-6, 4e-6, 7e-6, 10e-6};
static_assert(std::size(kHostCentres) == std::size(kHostCosts));

std::vector<Parameter> parameters(const CalibrationOptions& options) {
  std::vector<Parameter> list = {{launch_of, 0, options.fits_host ? 0.6 : 2.0, options.fits_host ? 0.3 : 1.0},
                                 {norm_of, 0, 3, 0.5}};
  if (options.fits_host)
    for (std::size_t i = 0; i < std::size(kHostCosts); ++i) list.push_back({host_of, i, kHostCentres[i], 1});
  for (std::size_t kind = 0; kind < kKernelClasses; ++kind) {
    const Place place = place_of(static_cast<KernelClass>(kind));
    list.push_back({bytes_of, kind, 1.3, 0.5});
    if (place == Place::Tensor) {
      list.push_back({work_of, kind, 1.3, 0.5});
      list.push_back({width_of, kind, 24, 1});
      list.push_back({depth_of, kind, 32, 1});
      if (options.fits_rows) list.push_back({rows_of, kind, 8, 1.5});
    } else if (place == Place::Vector) {
      const bool is_pool = kind == static_cast<std::size_t>(KernelClass::MaxPool);
      list.push_back({work_of, kind, is_pool ? options.pool_issues : 4, 1.5});
    }
  }
  return list;
}

Calibration with(const std::vector<Parameter>& list, const Eigen::VectorXd& logs) {
  Calibration calibration;
  for (std::size_t i = 0; i < list.size(); ++i)
    *list[i].place(calibration, list[i].kind) = std::exp(logs[static_cast<Eigen::Index>(i)]);
  return calibration;
}

// --- runs with equal kernels merged ---

struct Counted {
  KernelLaunch kernel;
  double count = 0;
};

std::vector<Counted> counted(const std::vector<KernelLaunch>& kernels) {
  const auto key = [](const KernelLaunch& k) {
    return std::tie(k.kind, k.macs, k.bytes, k.rows, k.width, k.depth, k.tiles);
  };
  std::vector<KernelLaunch> sorted = kernels;
  std::sort(sorted.begin(), sorted.end(),
            [&](const KernelLaunch& a, const KernelLaunch& b) { return key(a) < key(b); });
  std::vector<Counted> result;
  for (const KernelLaunch& kernel : sorted) {
    if (result.empty() || key(result.back().kernel) != key(kernel)) result.push_back({kernel, 0});
    ++result.back().count;
  }
  return result;
}

double total_seconds(const TimedRun& run, const Calibration& calibration) {
  const std::vector<double> added = added_seconds(run.kernels, run.rates, calibration);
  return std::accumulate(added.begin(), added.end(), 0.0);
}

// A run, or a part of one.
struct Sample {
  std::vector<Counted> kernels;
  const TimedRun* run;
  double seconds;  // measured
  bool is_queue;   // the host may be the limit, and the order of the run's kernels matters
  double weight = 1;
};

std::vector<KernelLaunch> of_kinds(const std::vector<KernelLaunch>& kernels, const std::vector<KernelClass>& kinds) {
  std::vector<KernelLaunch> result;
  std::copy_if(kernels.begin(), kernels.end(), std::back_inserter(result), [&](const KernelLaunch& kernel) {
    return std::find(kinds.begin(), kinds.end(), kernel.kind) != kinds.end();
  });
  return result;
}

class Problem {
 public:
  Problem(std::span<const TimedRun> runs, const std::vector<bool>& taken, const CalibrationOptions& options)
      : options_(options), list_(parameters(options)), slots_(kKernelClasses) {
    std::map<std::string, double> members;
    for (std::size_t i = 0; i < runs.size(); ++i)
      if (taken[i]) ++members[runs[i].family];
    double sum = 0;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      if (!taken[i]) continue;
      const TimedRun& run = runs[i];
      const double weight = 1 / std::sqrt(members.at(run.family));
      samples_.push_back({options.fits_host ? std::vector<Counted>() : counted(run.kernels), &run, run.seconds,
                          options.fits_host, weight});
      sum += weight;
      for (const TimedPart& part : run.parts)
        if (auto kernels = counted(of_kinds(run.kernels, part.kinds)); !kernels.empty())
          samples_.push_back(
              {std::move(kernels), &run, part.seconds, false, weight * std::min(part.seconds / run.seconds, 1.0)});
    }
    const auto whole = static_cast<double>(std::count(taken.begin(), taken.end(), true));
    for (Sample& sample : samples_) sample.weight *= whole / sum;
    centre_.resize(static_cast<Eigen::Index>(list_.size()));
    precision_.resize(static_cast<Eigen::Index>(list_.size()));
    for (std::size_t i = 0; i < list_.size(); ++i) {
      centre_[static_cast<Eigen::Index>(i)] = std::log(list_[i].centre);
      precision_[static_cast<Eigen::Index>(i)] = std::pow(options.prior / list_[i].spread, 2) + 1e-12;
      Slots& slots = slots_[list_[i].kind];
      if (list_[i].place == work_of) slots.work = static_cast<Eigen::Index>(i);
      if (list_[i].place == bytes_of) slots.bytes = static_cast<Eigen::Index>(i);
      if (list_[i].place == rows_of) slots.rows = static_cast<Eigen::Index>(i);
      if (list_[i].place == width_of) slots.width = static_cast<Eigen::Index>(i);
      if (list_[i].place == depth_of) slots.depth = static_cast<Eigen::Index>(i);
    }
  }

  Calibration solve() const {
    const auto from = [&](const Eigen::VectorXd& start) {
      return least_cost(
          start, [&](const Eigen::VectorXd& x) { return cost_at(x); },
          [&](const Eigen::VectorXd& x) { return normal_equations(x); });
    };
    Eigen::VectorXd best = from(centre_);
    if (!options_.fits_host) return with(list_, best);
    // Where the host is the limit, the rates of kernels change nothing, and the reverse: the search also starts where
    // the device is slower, and where the host is faster.
    for (const double device : {1.0, 4.0, 16.0})
      for (const double host : {1.0, 0.25}) {
        Eigen::VectorXd start = centre_;
        for (std::size_t i = 0; i < list_.size(); ++i) {
          if (list_[i].place == work_of) start[static_cast<Eigen::Index>(i)] += std::log(device);
          if (list_[i].place == host_of) start[static_cast<Eigen::Index>(i)] += std::log(host);
        }
        const Eigen::VectorXd found = from(start);
        if (cost_at(found) < cost_at(best)) best = found;
      }
    return with(list_, best);
  }

 private:
  struct Slots {
    Eigen::Index work = -1, bytes = -1, rows = -1, width = -1, depth = -1;
  };

  double cost_at(const Eigen::VectorXd& logs) const {
    const Calibration calibration = with(list_, logs);
    const double scale = options_.tolerance;
    double cost = precision_.dot((logs - centre_).cwiseAbs2());
    for (const Sample& sample : samples_) {
      double seconds = sample.is_queue ? total_seconds(*sample.run, calibration) : 0;
      for (const Counted& entry : sample.kernels)
        seconds += entry.count * kernel_seconds(entry.kernel, sample.run->rates, calibration);
      const double error = std::log(seconds / sample.seconds);
      cost += sample.weight * 2 * scale * scale * (std::sqrt(1 + std::pow(error / scale, 2)) - 1);
    }
    return cost;
  }

  std::pair<Eigen::MatrixXd, Eigen::VectorXd> normal_equations(const Eigen::VectorXd& logs) const {
    const Calibration calibration = with(list_, logs);
    Eigen::MatrixXd hessian = precision_.asDiagonal();
    Eigen::VectorXd gradient = precision_.cwiseProduct(logs - centre_), row(logs.size());
    for (const Sample& sample : samples_) {
      row.setZero();
      double seconds = sample.is_queue ? add_queue(*sample.run, calibration, row) : 0;
      for (const Counted& entry : sample.kernels) seconds += add_kernel(entry, sample.run->rates, calibration, row);
      row /= seconds;
      const double error = std::log(seconds / sample.seconds);
      const double weight = sample.weight / std::sqrt(1 + std::pow(error / options_.tolerance, 2));
      hessian.selfadjointView<Eigen::Lower>().rankUpdate(row, weight);
      gradient += weight * error * row;
    }
    hessian = hessian.selfadjointView<Eigen::Lower>();
    return {std::move(hessian), std::move(gradient)};
  }

  // Adds the derivatives of kernels' time, and returns it.
  double add_kernel(const Counted& entry, const KernelRates& rates, const Calibration& calibration,
                    Eigen::VectorXd& row) const {
    const KernelTerms t = kernel_terms(entry.kernel, rates, calibration);
    const Slots& slots = slots_[static_cast<std::size_t>(entry.kernel.kind)];
    row[0] += entry.count * t.launch;
    row[1] += entry.count * t.by_norm;
    row[slots.bytes] += entry.count * t.by_bytes;
    if (slots.work >= 0) row[slots.work] += entry.count * t.by_work;
    if (slots.rows >= 0) row[slots.rows] += entry.count * t.by_rows;
    if (slots.width >= 0) row[slots.width] += entry.count * t.by_width;
    if (slots.depth >= 0) row[slots.depth] += entry.count * t.by_depth;
    return entry.count * t.seconds;
  }

  // The same of a run with its host: what decides is its costs up to the device's last wait, and the device's from
  // there.
  double add_queue(const TimedRun& run, const Calibration& calibration, Eigen::VectorXd& row) const {
    std::vector<double> device;
    for (const KernelLaunch& kernel : run.kernels) device.push_back(kernel_seconds(kernel, run.rates, calibration));
    const LaunchQueue queue = launch_queue(run.kernels, device, calibration.host);
    row[kHost] += calibration.host.run;
    for (std::size_t i = 0; i < run.kernels.size(); ++i) {
      const HostPart part = host_part(run.kernels[i]);
      if (i <= queue.last_wait) {
        const HostTerms terms = host_terms(run.kernels[i], calibration.host);
        row[kHost + static_cast<Eigen::Index>(HostPart::View)] += terms.call;
        row[kHost + static_cast<Eigen::Index>(part)] += terms.own;
      }
      if (i >= queue.last_wait && has_kernel(part)) add_kernel({run.kernels[i], 1}, run.rates, calibration, row);
    }
    return queue.seconds;
  }

  const CalibrationOptions& options_;
  std::vector<Parameter> list_;
  std::vector<Slots> slots_;
  std::vector<Sample> samples_;
  Eigen::VectorXd centre_, precision_;
};

void check(std::span<const TimedRun> runs) {
  if (runs.empty()) throw Error("calibration: no runs; expected measured times of at least one model");
  for (const TimedRun& run : runs) {
    if (run.kernels.empty()) throw Error(run.name + ": launches no kernel; leave it out of the calibration");
    if (!(run.seconds > 0) || !std::isfinite(run.seconds))
      throw Error(run.name + ": measured " + std::to_string(run.seconds) + " s; expected a time above 0");
    for (const TimedPart& part : run.parts)
      if (!(part.seconds > 0) || !std::isfinite(part.seconds))
        throw Error(run.name + ": a part of it takes " + std::to_string(part.seconds) + " s; expected a time above 0");
  }
}

std::vector<std::string> devices_of(std::span<const TimedRun> runs) {
  std::set<std::string> devices;
  for (const TimedRun& run : runs) devices.insert(run.device);
  return {devices.begin(), devices.end()};
}

// Nullopt if too few families were measured to claim an interval.
std::optional<Factors> claimed(std::span<const double> log_errors, std::span<const std::string> families,
                               double coverage) {
  const Factors factors = interval_factors(log_errors, families, coverage);
  if (std::isinf(factors.high) || factors.low <= 0) return std::nullopt;
  return factors;
}

void judge_elsewhere(std::span<const TimedRun> runs, double coverage, Calibration& calibration) {
  check(runs);
  std::vector<double> log_errors;
  std::vector<std::string> families;
  for (const TimedRun& run : runs) {
    log_errors.push_back(std::log(run.seconds / total_seconds(run, calibration)));
    families.push_back(run.family);
  }
  calibration.elsewhere = claimed(log_errors, families, coverage);
  if (!calibration.elsewhere) return;
  calibration.judge = base::joined(devices_of(runs));
}

}  // namespace

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
  // Where the weights from one end reach `tail`: between two errors as far as it lies between their sums.
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
  std::sort(weighted.begin(), weighted.end());
  return {end(weighted.begin(), weighted.end()), end(weighted.rbegin(), weighted.rend())};
}

Factors interval_of_others(std::span<const double> log_errors, std::span<const std::string> families,
                           std::string_view family, double coverage) {
  std::vector<double> others;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < log_errors.size(); ++i) {
    if (families[i] == family) continue;
    others.push_back(log_errors[i]);
    names.push_back(families[i]);
  }
  return interval_factors(others, names, coverage);
}

Calibration fit(std::span<const TimedRun> runs, const CalibrationOptions& options) {
  check(runs);
  Calibration calibration = Problem(runs, std::vector<bool>(runs.size(), true), options).solve();
  calibration.id = options.id;
  calibration.regime = options.regime;
  calibration.source = options.source;
  calibration.devices = devices_of(runs);
  for (const bool channels_last : {false, true})
    if (std::any_of(runs.begin(), runs.end(), [&](const TimedRun& r) { return r.channels_last == channels_last; }))
      calibration.layouts.emplace_back(channels_last ? "nhwc" : "nchw");
  calibration.shortest_kernel_seconds = std::numeric_limits<double>::infinity();
  for (const TimedRun& run : runs)
    calibration.shortest_kernel_seconds =
        std::min(calibration.shortest_kernel_seconds, run.seconds / static_cast<double>(run.kernels.size()));
  return calibration;
}

CalibrationResult calibrate(std::span<const TimedRun> runs, const CalibrationOptions& options,
                            std::span<const TimedRun> elsewhere) {
  CalibrationResult result;
  result.calibration = fit(runs, options);
  std::map<std::string, std::size_t> fold_of;  // families by name, dealt to the folds in turn
  for (const TimedRun& run : runs) fold_of[run.family] = 0;
  if (fold_of.size() < 2) throw Error("calibration: one family; expected at least two, to judge one by the others");
  const std::size_t folds = std::min(std::max<std::size_t>(options.folds, 2), fold_of.size());
  std::size_t dealt = 0;
  for (auto& [family, fold] : fold_of) fold = dealt++ % folds;

  result.runs.resize(runs.size());
  for (std::size_t fold = 0; fold < folds; ++fold) {
    std::vector<bool> taken(runs.size());
    for (std::size_t i = 0; i < runs.size(); ++i) taken[i] = fold_of.at(runs[i].family) != fold;
    const Calibration without = Problem(runs, taken, options).solve();
    for (std::size_t i = 0; i < runs.size(); ++i)
      if (!taken[i]) result.runs[i].predicted = total_seconds(runs[i], without);
  }

  std::vector<double> log_errors, errors, fitted, predicted, measured;
  std::vector<std::string> families;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    predicted.push_back(result.runs[i].predicted);
    measured.push_back(runs[i].seconds);
    families.push_back(runs[i].family);
    log_errors.push_back(std::log(measured.back() / predicted.back()));
    errors.push_back(std::abs(predicted.back() / measured.back() - 1));
    fitted.push_back(std::abs(total_seconds(runs[i], result.calibration) / measured.back() - 1));
  }
  const auto mean = [](const std::vector<double>& v) {
    return std::accumulate(v.begin(), v.end(), 0.0) / static_cast<double>(v.size());
  };
  Calibration& calibration = result.calibration;
  calibration.models = static_cast<double>(runs.size());
  calibration.families = static_cast<double>(fold_of.size());
  calibration.mean_error = mean(errors);
  std::sort(errors.begin(), errors.end());
  calibration.median_error = base::quantile(errors, 0.5);
  calibration.p90_error = base::quantile(errors, 0.9);
  calibration.rank_correlation = rank_correlation(predicted, measured);
  calibration.coverage = options.coverage;
  calibration.interval = claimed(log_errors, families, options.coverage);
  result.fitted_mean_error = mean(fitted);
  if (!elsewhere.empty()) judge_elsewhere(elsewhere, options.coverage, calibration);

  // Checks each family against the interval that the other families give.
  double families_covered = 0;
  for (const auto& [family, fold] : fold_of) {
    const Factors without = interval_of_others(log_errors, families, family, options.coverage);
    double members = 0, inside = 0;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      if (families[i] != family) continue;
      RunPrediction& run = result.runs[i];
      run.low = run.predicted * without.low;
      run.high = run.predicted * without.high;
      ++members;
      if (runs[i].seconds >= run.low && runs[i].seconds <= run.high) ++inside;
    }
    result.covered += inside;
    families_covered += inside / members;
  }
  result.covered /= static_cast<double>(runs.size());
  result.covered_families = families_covered / static_cast<double>(fold_of.size());
  return result;
}

}  // namespace pagoda::inline core
