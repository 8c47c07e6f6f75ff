// Fits a CPU's calibration: the rates of each class to kernels timed by the engine's profiler, the launch cost to whole
// runs without the profiler.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "pagoda/base/statistics.h"
#include "pagoda/base/text.h"
#include "pagoda/core/calibrate.h"
#include "pagoda/core/cpu_engine.h"
#include "predict/levenberg.h"

namespace pagoda::inline core {
namespace {

constexpr double kLogTolerance = 0.08;  // of the log error: larger errors count linearly
// A run is not judged if kernels of classes that no other family timed take this share of its time or more.
constexpr double kMostUnseen = 0.3;

// Equal kernels: their median time, and the sum of their shares of each run's time.
struct CpuSample {
  CpuKernel kernel;
  double seconds = 0, weight = 0;
  bool has_cold_weights = false;
};

// The pseudo-Huber loss of an error.
double huber(double error) {
  return 2 * kLogTolerance * kLogTolerance * (std::sqrt(1 + std::pow(error / kLogTolerance, 2)) - 1);
}

// Fits one class's coefficients, as logarithms, with a prior for those that no run determines.
class ClassFit {
 public:
  ClassFit(CpuKernelClass kind, std::vector<CpuSample> samples, const CpuCalibration& base)
      : kind_(static_cast<std::size_t>(kind)), samples_(std::move(samples)), base_(base) {
    const bool is_work = is_product(kind);
    double best_flops = 1e8, best_bytes = 1e8, weights = 0;
    for (const CpuSample& sample : samples_) {
      best_flops = std::max(best_flops, sample.kernel.flops / sample.seconds);
      best_bytes = std::max(best_bytes, (sample.kernel.bytes + sample.kernel.weight_bytes) / sample.seconds);
      weights += sample.weight;
    }
    for (CpuSample& sample : samples_) sample.weight /= weights;
    // Waking a second thread takes about as long as a launch.
    add(&CpuCoefficients::start_seconds, base.launch_seconds, 1);
    if (is_work) add(&CpuCoefficients::flops_per_second, best_flops, 1);
    add(&CpuCoefficients::bytes_per_second, is_work ? base.memory_bytes_per_second * 2 : best_bytes / 2, 1);
    // Half the rate at 16, the floats of a vector register, give or take a factor of e.
    if (is_work) {
      add(&CpuCoefficients::rows, 16, 1);
      add(&CpuCoefficients::depth, 16, 1);
    }
    const auto has_width = [](const CpuSample& sample) { return sample.kernel.width > 0; };
    if (std::any_of(samples_.begin(), samples_.end(), has_width)) add(&CpuCoefficients::width, 16, 1);
  }

  struct Solution {
    CpuCoefficients coefficients;
    double cost = 0;
  };
  Solution solve() const {
    const Eigen::VectorXd logs = least_cost(
        centre_, [this](const Eigen::VectorXd& at) { return cost(at); },
        [this](const Eigen::VectorXd& at) { return normal_equations(at); });
    return {with(logs).classes[kind_], cost(logs)};
  }

 private:
  static constexpr double kPrior = 0.05;  // squared: the prior's weight; all samples together weigh 1

  void add(double CpuCoefficients::*place, double centre, double spread) {
    places_.push_back(place);
    centre_.conservativeResize(centre_.size() + 1);
    precision_.conservativeResize(precision_.size() + 1);
    centre_[centre_.size() - 1] = std::log(centre);
    precision_[precision_.size() - 1] = std::pow(kPrior / spread, 2);
  }
  CpuCalibration with(const Eigen::VectorXd& logs) const {
    CpuCalibration calibration = base_;
    for (std::size_t i = 0; i < places_.size(); ++i)
      calibration.classes[kind_].*places_[i] = std::exp(logs[static_cast<Eigen::Index>(i)]);
    return calibration;
  }
  double error(const CpuSample& sample, const CpuCalibration& calibration) const {
    return std::log(cpu_kernel_seconds(sample.kernel, calibration, sample.has_cold_weights) / sample.seconds);
  }
  double cost(const Eigen::VectorXd& logs) const {
    const CpuCalibration calibration = with(logs);
    double sum = precision_.dot((logs - centre_).cwiseAbs2());
    for (const CpuSample& sample : samples_) sum += sample.weight * huber(error(sample, calibration));
    return sum;
  }
  std::pair<Eigen::MatrixXd, Eigen::VectorXd> normal_equations(const Eigen::VectorXd& logs) const {
    constexpr double kStep = 1e-4;
    const CpuCalibration here = with(logs);
    std::vector<CpuCalibration> beside;
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

  std::size_t kind_;
  std::vector<CpuSample> samples_;
  const CpuCalibration& base_;
  std::vector<double CpuCoefficients::*> places_;
  Eigen::VectorXd centre_, precision_;
};

std::vector<CpuSample> samples_of(std::span<const TimedCpuRun> runs, const std::vector<bool>& taken,
                                  const CpuCalibration& machine) {
  using Key = std::tuple<CpuKernelClass, double, double, double, double, double, double, bool>;
  std::map<Key, std::pair<std::vector<double>, double>> alike;
  for (std::size_t r = 0; r < runs.size(); ++r) {
    if (!taken[r]) continue;
    double total = 0;
    for (const TimedCpuKernel& timed : runs[r].timed) total += timed.seconds;
    for (const auto& [k, seconds] : runs[r].timed) {
      if (!(seconds > 0)) continue;
      auto& entry = alike[{k.kind, k.flops, k.bytes, k.weight_bytes, k.rows, k.width, k.depth,
                           runs[r].lowered.weight_bytes > machine.cache_bytes}];
      entry.first.push_back(seconds);
      entry.second += seconds / total;
    }
  }
  std::vector<CpuSample> samples;
  for (auto& [key, entry] : alike) {
    const auto& [kind, flops, bytes, weights, rows, width, depth, is_cold] = key;
    CpuSample& sample = samples.emplace_back();
    sample.kernel = {.kind = kind,
                     .flops = flops,
                     .bytes = bytes,
                     .weight_bytes = weights,
                     .rows = rows,
                     .width = width,
                     .depth = depth};
    std::sort(entry.first.begin(), entry.first.end());
    sample.seconds = base::quantile(entry.first, 0.5);
    sample.weight = entry.second;
    sample.has_cold_weights = is_cold;
  }
  return samples;
}

// For kernels that move no data, the profiler measures its own overhead and a launch.
double profiled_launch(const std::vector<CpuSample>& samples) {
  std::vector<double> seconds;
  for (const CpuSample& sample : samples)
    if (sample.kernel.kind == CpuKernelClass::Small) seconds.push_back(sample.seconds);
  if (seconds.empty()) return 1e-6;
  std::sort(seconds.begin(), seconds.end());
  return base::quantile(seconds, 0.5);
}

// The rate at which products of one row read weights that no cache holds.
double memory_rate(const std::vector<CpuSample>& samples, double launch) {
  std::vector<double> rates;
  for (const CpuSample& s : samples)
    if (s.kernel.kind == CpuKernelClass::ProductVector && s.has_cold_weights && s.seconds > 8 * launch)
      rates.push_back(s.kernel.weight_bytes / (s.seconds - launch));
  if (rates.empty()) return 0;
  std::sort(rates.begin(), rates.end());
  return base::quantile(rates, 0.5);
}

double run_seconds(const TimedCpuRun& run, const CpuCalibration& calibration) {
  double seconds = 0;
  for (const CpuKernel& kernel : run.lowered.kernels)
    seconds += cpu_kernel_seconds(kernel, calibration, run.lowered.weight_bytes > calibration.cache_bytes);
  return seconds;
}

// What the profiler adds to each kernel: that which best explains the times of runs without it by those of runs with
// it.
double profiler_seconds(std::span<const TimedCpuRun> runs, const std::vector<bool>& taken, double most) {
  constexpr int kSteps = 50;
  double best = 0, least = INFINITY;
  for (int i = 0; i <= kSteps; ++i) {
    const double each = most * i / kSteps;
    double cost = 0;
    for (std::size_t r = 0; r < runs.size(); ++r)
      if (const TimedCpuRun& run = runs[r]; taken[r] && run.profiled_kernels > 0)
        cost += huber(std::log((run.profiled_seconds - each * run.profiled_kernels) / run.seconds));
    if (cost < least) least = cost, best = each;
  }
  return best;
}

// Sets the capacity of the cache, the memory's rate and the launch from products of one row, which read each weight
// once. A virtual machine states the last-level cache of its host, of which it may have a small part, so the capacity is
// that of the stated one or the weights of a run: the largest that explains these products about as well as the best.
CpuCalibration with_memory(std::span<const TimedCpuRun> runs, const std::vector<bool>& taken,
                           const CpuCalibration& machine) {
  std::set<double> capacities = {machine.cache_bytes};
  for (std::size_t r = 0; r < runs.size(); ++r) {
    const auto is_vector = [](const TimedCpuKernel& timed) { return timed.kernel.kind == CpuKernelClass::ProductVector; };
    if (taken[r] && runs[r].lowered.weight_bytes < machine.cache_bytes &&
        std::any_of(runs[r].timed.begin(), runs[r].timed.end(), is_vector))
      capacities.insert(runs[r].lowered.weight_bytes);
  }
  constexpr double kAsWell = 1.2;  // costs differ by less than that where no run tells two capacities apart
  std::vector<std::pair<double, CpuCalibration>> found;
  for (auto capacity = capacities.rbegin(); capacity != capacities.rend(); ++capacity) {
    CpuCalibration calibration = machine;
    calibration.cache_bytes = *capacity;
    std::vector<CpuSample> samples = samples_of(runs, taken, calibration);
    calibration.launch_seconds = profiled_launch(samples);
    if (const double rate = memory_rate(samples, calibration.launch_seconds); rate > 0)
      calibration.memory_bytes_per_second = rate;
    if (!(calibration.memory_bytes_per_second > 0)) continue;
    std::erase_if(samples, [](const CpuSample& sample) { return sample.kernel.kind != CpuKernelClass::ProductVector; });
    const double cost =
        samples.empty() ? 0 : ClassFit(CpuKernelClass::ProductVector, std::move(samples), calibration).solve().cost;
    found.emplace_back(cost, std::move(calibration));
  }
  if (found.empty())
    throw Error(
        "calibration: no run reads a weight vector by vector, which determines the memory's rate; add one of a "
        "language model at batch 1");
  const auto by_cost = [](const auto& a, const auto& b) { return a.first < b.first; };
  const double most = kAsWell * std::min_element(found.begin(), found.end(), by_cost)->first;
  return std::find_if(found.begin(), found.end(), [&](const auto& each) { return each.first <= most; })->second;
}

CpuCalibration fitted(std::span<const TimedCpuRun> runs, const std::vector<bool>& taken,
                      const CpuCalibration& machine) {
  CpuCalibration calibration = with_memory(runs, taken, machine);
  const std::vector<CpuSample> samples = samples_of(runs, taken, calibration);
  std::array<std::vector<CpuSample>, kCpuKernelClasses> by_class;
  for (const CpuSample& sample : samples) by_class[static_cast<std::size_t>(sample.kernel.kind)].push_back(sample);
  const CpuCalibration base = calibration;
  for (std::size_t kind = 0; kind < kCpuKernelClasses; ++kind)
    if (!by_class[kind].empty() && static_cast<CpuKernelClass>(kind) != CpuKernelClass::Small)
      calibration.classes[kind] = ClassFit(static_cast<CpuKernelClass>(kind), by_class[kind], base).solve().coefficients;
  fill_unmeasured(calibration);
  calibration.launch_seconds -= profiler_seconds(runs, taken, calibration.launch_seconds);
  return calibration;
}

// The share of a run's time spent in kernels of classes that none of the chosen runs timed.
double unseen_part(const TimedCpuRun& run, std::span<const TimedCpuRun> runs, const std::vector<bool>& taken,
                   const CpuCalibration& calibration) {
  std::array<bool, kCpuKernelClasses> is_seen = {};
  for (std::size_t r = 0; r < runs.size(); ++r)
    if (taken[r])
      for (const TimedCpuKernel& timed : runs[r].timed) is_seen[static_cast<std::size_t>(timed.kernel.kind)] = true;
  double unseen = 0, total = 0;
  for (const CpuKernel& kernel : run.lowered.kernels) {
    const double seconds = cpu_kernel_seconds(kernel, calibration, run.lowered.weight_bytes > calibration.cache_bytes);
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
  std::map<std::string, std::vector<std::size_t>> families;
  for (std::size_t r = 0; r < runs.size(); ++r)
    if (!runs[r].family.empty()) families[runs[r].family].push_back(r);
  std::vector<double> errors, log_errors;
  std::vector<std::string> names;
  for (const auto& [family, members] : families) {
    std::vector<bool> taken(runs.size(), true);
    for (const std::size_t r : members) taken[r] = false;
    const bool has_others = std::find(taken.begin(), taken.end(), true) != taken.end();
    const CpuCalibration without = has_others ? fitted(runs, taken, machine) : fit.calibration;
    for (const std::size_t r : members)
      if (unseen_part(runs[r], runs, taken, fit.calibration) < kMostUnseen)
        fit.predicted[r] = run_seconds(runs[r], without);
  }
  double count = 0;
  for (std::size_t r = 0; r < runs.size(); ++r) {
    if (runs[r].family.empty()) continue;
    if (fit.predicted[r]) {
      errors.push_back(std::abs(*fit.predicted[r] / runs[r].seconds - 1));
      log_errors.push_back(std::log(runs[r].seconds / *fit.predicted[r]));
      names.push_back(runs[r].family);
    }
    fit.fitted_mean_error += std::abs(run_seconds(runs[r], fit.calibration) / runs[r].seconds - 1);
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
  return fit;
}

}  // namespace pagoda::inline core
