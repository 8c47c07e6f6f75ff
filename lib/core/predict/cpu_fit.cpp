// Fits a CPU's calibration. The engine's profiler says how a run divides among its kernels; how long it takes, the run
// without the profiler says.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "pagoda/base/statistics.h"
#include "pagoda/base/text.h"
#include "pagoda/core/calibrate.h"
#include "pagoda/core/cpu_engine.h"
#include "predict/cpu_apart.h"
#include "predict/levenberg.h"

namespace pagoda::inline core {
namespace {

constexpr double kLogTolerance = 0.08;  // of the log error: larger errors count linearly
// A run is not judged if kernels of classes that no other family timed take this share of its time or more.
constexpr double kMostUnseen = 0.3;
// Weights of which more than this share comes from memory show the memory's rate, others the cache's.
constexpr double kMostlyCold = 0.5;

// Equal kernels: their median time, which includes what the profiler adds, and the sum of their shares of each run's
// time.
struct CpuSample {
  CpuKernel kernel;
  double seconds = 0, weight = 0;
  double cold = 0;  // share of its weights that are read from memory
};

// What profiles add to the times of runs.
struct Profiler {
  double seconds = 0;  // to each kernel
  // By run: seconds that a run takes without the profiler, per second of its profile less that. Machines are faster at
  // one time than at another, and a profile is of another time.
  std::vector<double> pace = {};
};

// The pseudo-Huber loss of an error.
double huber(double error) {
  return 2 * kLogTolerance * kLogTolerance * (std::sqrt(1 + std::pow(error / kLogTolerance, 2)) - 1);
}

// The coefficients of one class, and what a class of products can determine of the machine.
struct Solution {
  CpuCoefficients coefficients;
  CpuMachine machine;
  double cost = 0;
};

// Fits one class's coefficients, as logarithms, with a prior for those that no run determines.
class ClassFit {
 public:
  // `profiler`: what it adds to each kernel. `best_flops`: the highest rate of a product of the same element type.
  // Products of one row determine the memory's rate, too.
  ClassFit(CpuKernelClass kind, std::vector<CpuSample> samples, const CpuMachine& machine, double profiler,
           double best_flops)
      : samples_(std::move(samples)), machine_(machine), profiler_(profiler) {
    const bool is_work = is_bound_by_work(kind);
    double best_bytes = 1e8, weights = 0;
    for (const CpuSample& sample : samples_) {
      best_bytes = std::max(best_bytes, (sample.kernel.bytes + sample.kernel.weight_bytes) / sample.seconds);
      weights += sample.weight;
    }
    for (CpuSample& sample : samples_) sample.weight /= weights;
    const auto has = [&](double CpuKernel::*size) {
      return std::any_of(samples_.begin(), samples_.end(),
                         [&](const CpuSample& sample) { return sample.kernel.*size > 0; });
    };
    // Waking a second thread takes about as long as a launch.
    add(&CpuCoefficients::start_seconds, std::max(machine.launch_seconds, 1e-7), 1);
    if (is_work) add(&CpuCoefficients::flops_per_second, best_flops, 1);
    add(&CpuCoefficients::bytes_per_second, is_work ? machine.memory_bytes_per_second * 2 : best_bytes / 2, 1);
    // All of these give or take a factor of e. Half the rate at 16, the floats of a vector register, and at 4 rows: a
    // kernel loads a vector of weights once for the rows that it holds in registers, up to 12.
    if (is_work) {
      add(&CpuCoefficients::rows, 4, 1);
      add(&CpuCoefficients::depth, 16, 1);
      // Weights are read panel by panel, each before it is multiplied, and hardly ahead of that.
      add(&CpuCoefficients::overlap, 0.2, 1);
    }
    if (has(&CpuKernel::width)) add(&CpuCoefficients::width, 16, 1);
    // Half the rate at 4 positions, of which kernels hold about as many in registers.
    if (has(&CpuKernel::line)) add(&CpuCoefficients::line, 4, 1);
    if (kind == CpuKernelClass::ProductVector) add(nullptr, machine.memory_bytes_per_second, 1);
  }

  Solution solve() const {
    const Eigen::VectorXd logs = least_cost(
        centre_, [this](const Eigen::VectorXd& at) { return cost(at); },
        [this](const Eigen::VectorXd& at) { return normal_equations(at); });
    Solution found = with(logs);
    found.cost = cost(logs);
    return found;
  }

 private:
  // Squared: the prior's weight; all samples together weigh 1. Chosen by the error on families left out, on one machine.
  static constexpr double kPrior = 0.03;

  // `place` null: the memory's rate.
  void add(double CpuCoefficients::*place, double centre, double spread) {
    places_.push_back(place);
    centre_.conservativeResize(centre_.size() + 1);
    precision_.conservativeResize(precision_.size() + 1);
    centre_[centre_.size() - 1] = std::log(centre);
    precision_[precision_.size() - 1] = std::pow(kPrior / spread, 2);
  }
  Solution with(const Eigen::VectorXd& logs) const {
    Solution solution{.coefficients = {}, .machine = machine_};
    for (std::size_t i = 0; i < places_.size(); ++i) {
      double& place =
          places_[i] == nullptr ? solution.machine.memory_bytes_per_second : solution.coefficients.*places_[i];
      place = std::exp(logs[static_cast<Eigen::Index>(i)]);
    }
    return solution;
  }
  double error(const CpuSample& sample, const Solution& at) const {
    const double seconds = cpu_kernel_seconds(sample.kernel, at.coefficients, at.machine, sample.cold);
    return std::log((profiler_ + seconds) / sample.seconds);
  }
  double cost(const Eigen::VectorXd& logs) const {
    const Solution at = with(logs);
    double sum = precision_.dot((logs - centre_).cwiseAbs2());
    for (const CpuSample& sample : samples_) sum += sample.weight * huber(error(sample, at));
    return sum;
  }
  std::pair<Eigen::MatrixXd, Eigen::VectorXd> normal_equations(const Eigen::VectorXd& logs) const {
    constexpr double kStep = 1e-4;
    const Solution here = with(logs);
    std::vector<Solution> beside;
    for (Eigen::Index i = 0; i < logs.size(); ++i) {
      Eigen::VectorXd moved = logs;
      moved[i] += kStep;
      beside.push_back(with(moved));
    }
    Eigen::MatrixXd hessian = precision_.asDiagonal();
    Eigen::VectorXd gradient = precision_.cwiseProduct(logs - centre_), row(logs.size());
    for (const CpuSample& sample : samples_) {
      const double e = error(sample, here);
      for (Eigen::Index i = 0; i < logs.size(); ++i)
        row[i] = (error(sample, beside[static_cast<std::size_t>(i)]) - e) / kStep;
      const double weight = sample.weight / std::sqrt(1 + std::pow(e / kLogTolerance, 2));
      hessian += weight * row * row.transpose();
      gradient += weight * e * row;
    }
    return {std::move(hessian), std::move(gradient)};
  }

  std::vector<CpuSample> samples_;
  const CpuMachine machine_;
  double profiler_ = 0;
  std::vector<double CpuCoefficients::*> places_;
  Eigen::VectorXd centre_, precision_;
};

// Kernels that move no data, by their profiled times: a launch and what the profiler adds.
double profiled_launch(std::span<const TimedCpuRun> runs, const std::vector<bool>& taken) {
  std::vector<double> seconds;
  for (std::size_t r = 0; r < runs.size(); ++r)
    for (const TimedCpuKernel& timed : runs[r].timed)
      if (taken[r] && timed.kernel.kind == CpuKernelClass::Small && timed.seconds > 0) seconds.push_back(timed.seconds);
  if (seconds.empty()) return 1e-6;
  std::sort(seconds.begin(), seconds.end());
  return base::quantile(seconds, 0.5);
}

// What best explains the times of runs without the profiler by those of runs with it.
Profiler profiler_of(std::span<const TimedCpuRun> runs, const std::vector<bool>& taken, double most) {
  constexpr int kSteps = 50;
  const auto pace = [](const TimedCpuRun& run, double each) {
    const double rest = run.profiled_seconds - each * run.profiled_kernels;
    return run.profiled_kernels > 0 && rest > 0 ? run.seconds / rest : 1;
  };
  Profiler best;
  double least = INFINITY;
  for (int i = 0; i <= kSteps; ++i) {
    const double each = most * i / kSteps;
    double cost = 0;
    for (std::size_t r = 0; r < runs.size(); ++r)
      if (taken[r]) cost += huber(std::log(pace(runs[r], each)));
    if (cost < least) least = cost, best.seconds = each;
  }
  for (const TimedCpuRun& run : runs) best.pace.push_back(pace(run, best.seconds));
  return best;
}

std::vector<CpuSample> samples_of(std::span<const TimedCpuRun> runs, const std::vector<bool>& taken,
                                  const Profiler& profiler, double cache_bytes) {
  using Key = std::tuple<CpuKernelClass, double, double, double, double, double, double, double, double>;
  std::map<Key, std::pair<std::vector<double>, double>> alike;
  for (std::size_t r = 0; r < runs.size(); ++r) {
    if (!taken[r]) continue;
    const double cold = cold_share(runs[r].lowered, cache_bytes);
    double total = 0;
    for (const TimedCpuKernel& timed : runs[r].timed) total += timed.seconds;
    for (const auto& [k, seconds] : runs[r].timed) {
      if (!(seconds > 0)) continue;
      auto& entry = alike[{k.kind, k.flops, k.bytes, k.weight_bytes, k.rows, k.width, k.depth, k.line,
                           k.weight_bytes > 0 ? cold : 0}];
      const double paced = profiler.seconds + (seconds - profiler.seconds) * profiler.pace[r];
      entry.first.push_back(std::max(paced, seconds / 10));  // what the profiler adds may exceed what it reports
      entry.second += seconds / total;
    }
  }
  std::vector<CpuSample> samples;
  for (auto& [key, entry] : alike) {
    const auto& [kind, flops, bytes, weights, rows, width, depth, line, cold] = key;
    CpuSample& sample = samples.emplace_back();
    sample.kernel = {.kind = kind,
                     .flops = flops,
                     .bytes = bytes,
                     .weight_bytes = weights,
                     .rows = rows,
                     .width = width,
                     .depth = depth,
                     .line = line};
    std::sort(entry.first.begin(), entry.first.end());
    sample.seconds = base::quantile(entry.first, 0.5);
    sample.weight = entry.second;
    sample.cold = cold;
  }
  return samples;
}

// The median rate at which products of one row read weights most of which no cache holds; 0: there are none.
double memory_rate(const std::vector<CpuSample>& samples, double launch) {
  std::vector<double> rates;
  for (const CpuSample& s : samples)
    if (s.kernel.kind == CpuKernelClass::ProductVector && s.cold > kMostlyCold && s.seconds > 8 * launch)
      rates.push_back(s.cold * s.kernel.weight_bytes / (s.seconds - launch));
  if (rates.empty()) return 0;
  std::sort(rates.begin(), rates.end());
  return base::quantile(rates, 0.5);
}

// A fit with a cache of the given capacity. Empty if no product of one row reads weights beyond it, which determines the
// memory's rate, or if it is smaller than stated and none reads weights that it holds: then nothing shows it. `cost`: of
// all kernels, by their share of the time.
struct Candidate {
  CpuCalibration calibration;
  double cost = 0;
};
std::optional<Candidate> fitted_with(std::span<const TimedCpuRun> runs, const std::vector<bool>& taken,
                                     const Profiler& profiler, double profiled_launch, CpuCalibration calibration,
                                     bool is_smaller) {
  std::array<std::vector<CpuSample>, kCpuKernelClasses> by_class;
  std::array<double, kCpuKernelClasses> weights = {};
  const std::vector<CpuSample> samples = samples_of(runs, taken, profiler, calibration.cache_bytes);
  for (const CpuSample& sample : samples) {
    by_class[static_cast<std::size_t>(sample.kernel.kind)].push_back(sample);
    weights[static_cast<std::size_t>(sample.kernel.kind)] += sample.weight;
  }
  calibration.memory_bytes_per_second = memory_rate(samples, profiled_launch);
  const bool shows_cache = std::any_of(samples.begin(), samples.end(), [](const CpuSample& sample) {
    return sample.kernel.kind == CpuKernelClass::ProductVector && sample.cold <= kMostlyCold;
  });
  if (calibration.memory_bytes_per_second == 0 || (is_smaller && !shows_cache)) return std::nullopt;
  Candidate candidate;
  std::array<double, 2> best = {1e8, 1e8};  // floats and integers: each share the units that multiply
  for (const CpuSample& sample : samples)
    best[is_quantized(sample.kernel.kind)] =
        std::max(best[is_quantized(sample.kernel.kind)], sample.kernel.flops / sample.seconds);
  const auto fit_class = [&](CpuKernelClass kind) {
    const auto i = static_cast<std::size_t>(kind);
    if (by_class[i].empty()) return;
    const Solution found =
        ClassFit(kind, std::move(by_class[i]), calibration, profiler.seconds, best[is_quantized(kind)]).solve();
    calibration.classes[i] = found.coefficients;
    calibration.memory_bytes_per_second = found.machine.memory_bytes_per_second;
    candidate.cost += weights[i] * found.cost;
  };
  fit_class(CpuKernelClass::ProductVector);
  for (std::size_t i = 0; i < kCpuKernelClasses; ++i)
    if (const auto kind = static_cast<CpuKernelClass>(i);
        kind != CpuKernelClass::Small && kind != CpuKernelClass::ProductVector)
      fit_class(kind);
  candidate.calibration = std::move(calibration);
  return candidate;
}

// A virtual machine states the last-level cache of its host, of which it may have a small part, so capacities from the
// stated one down are tried. The one that best explains the runs counts.
CpuCalibration fitted(std::span<const TimedCpuRun> runs, const std::vector<bool>& taken,
                      const CpuCalibration& machine) {
  constexpr int kSteps = 16;  // the last is a 256th
  const double launch = profiled_launch(runs, taken);
  const Profiler profiler = profiler_of(runs, taken, launch);
  std::optional<Candidate> best;
  for (int step = 0; step <= kSteps; ++step) {
    CpuCalibration start = machine;
    start.launch_seconds = launch - profiler.seconds;
    start.cache_bytes = std::round(machine.cache_bytes * std::pow(2, -0.5 * step));
    std::optional<Candidate> found = fitted_with(runs, taken, profiler, launch, std::move(start), step > 0);
    if (found && (!best || found->cost < best->cost)) best = std::move(found);
  }
  if (!best)
    throw Error(
        "calibration: no run reads a weight vector by vector, which determines the memory's rate; add one of a "
        "language model at batch 1");
  fill_unmeasured(best->calibration);
  return std::move(best->calibration);
}

// The share of a run's time spent in kernels of classes that none of the chosen runs timed.
double unseen_part(const TimedCpuRun& run, std::span<const TimedCpuRun> runs, const std::vector<bool>& taken,
                   const CpuCalibration& calibration) {
  std::array<bool, kCpuKernelClasses> is_seen = {};
  for (std::size_t r = 0; r < runs.size(); ++r)
    if (taken[r])
      for (const TimedCpuKernel& timed : runs[r].timed) is_seen[static_cast<std::size_t>(timed.kernel.kind)] = true;
  double unseen = 0, total = 0;
  const double cold = cold_share(run.lowered, calibration.cache_bytes);
  for (const CpuKernel& kernel : run.lowered.kernels) {
    const double seconds = cpu_kernel_seconds(kernel, calibration, cold);
    total += seconds;
    if (!is_seen[static_cast<std::size_t>(kernel.kind)]) unseen += seconds;
  }
  return total > 0 ? unseen / total : 0;
}

}  // namespace

CpuFit fit_cpu(std::span<const TimedCpuRun> runs, const CpuCalibration& machine, double coverage) {
  if (runs.empty()) throw Error("calibration: no runs; expected measured times of at least one model");
  for (const TimedCpuRun& run : runs)
    if (!(run.seconds > 0) || run.timed.empty())
      throw Error(run.name + ": has no time, or no kernels; leave it out of the calibration");
  CpuFit fit;
  fit.predicted.resize(runs.size());
  fit.calibration = fitted(runs, std::vector<bool>(runs.size(), true), machine);
  fit.calibration.apart = fit_apart(runs, fit.calibration);
  std::map<std::string, std::vector<std::size_t>> families;
  for (std::size_t r = 0; r < runs.size(); ++r)
    if (!runs[r].family.empty()) families[runs[r].family].push_back(r);
  std::vector<double> errors, log_errors;
  std::vector<std::string> names;
  for (const auto& [family, members] : families) {
    std::vector<bool> taken(runs.size(), true);
    for (const std::size_t r : members) taken[r] = false;
    if (std::find(taken.begin(), taken.end(), true) == taken.end()) continue;
    fit.without[family] = fitted(runs, taken, machine);
    for (const std::size_t r : members)
      if (unseen_part(runs[r], runs, taken, fit.calibration) < kMostUnseen)
        fit.predicted[r] = cpu_run_seconds(runs[r].lowered, fit.without[family], fit.without[family]);
  }
  double count = 0;
  for (std::size_t r = 0; r < runs.size(); ++r) {
    if (runs[r].family.empty()) continue;
    if (fit.predicted[r]) {
      errors.push_back(std::abs(*fit.predicted[r] / runs[r].seconds - 1));
      log_errors.push_back(std::log(runs[r].seconds / *fit.predicted[r]));
      names.push_back(runs[r].family);
    }
    fit.fitted_mean_error += std::abs(cpu_run_seconds(runs[r].lowered, fit.calibration, fit.calibration) / runs[r].seconds - 1);
    ++count;
  }
  if (count > 0) fit.fitted_mean_error /= count;
  CpuCalibration& result = fit.calibration;
  result.models = static_cast<double>(errors.size());
  result.families = static_cast<double>(std::set<std::string>(names.begin(), names.end()).size());
  result.coverage = coverage;
  if (errors.empty()) return fit;
  for (const double error : errors) result.mean_error += error / result.models;
  std::sort(errors.begin(), errors.end());
  result.median_error = base::quantile(errors, 0.5);
  result.p90_error = base::quantile(errors, 0.9);
  const Factors factors = interval_factors(log_errors, names, coverage);
  if (!std::isinf(factors.high) && factors.low > 0) result.interval = factors;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Factors others = interval_of_others(log_errors, names, names[i], coverage);
    if (log_errors[i] >= std::log(others.low) && log_errors[i] <= std::log(others.high)) fit.covered += 1 / result.models;
  }
  return fit;
}

}  // namespace pagoda::inline core
