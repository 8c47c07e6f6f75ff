// Fits a CPU's calibration. The engine's profiler times each kernel of a run. Total time and profiler overhead come
// from the unprofiled runs.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <tuple>

#include "fit/log_fit.h"
#include "pagoda/base/error.h"
#include "pagoda/base/statistics.h"
#include "pagoda/lab/fit.h"

namespace pagoda::lab {
namespace {

using measured::TimedOrtKernel;

constexpr double kLogTolerance = 0.08;  // of the log error: larger errors count linearly
// A run is not judged if kernels of classes that no other family timed take this share of its time or more.
constexpr double kMostUnseen = 0.3;
// Weights of which more than this share comes from memory show the memory's rate, others the cache's.
constexpr double kMostlyCold = 0.5;

// Equal kernels: their median time, with the profiler's overhead, and the sum of their shares of each run's time.
struct CpuSample {
  OrtKernel kernel;
  double seconds = 0, weight = 0;
  double cold = 0;  // share of its weights that are read from memory
};

// The overhead of profiles.
struct Profiler {
  double seconds = 0;  // to each kernel
  // By run: seconds that a run takes without the profiler, per second of its profile less that. Machines are faster at
  // one time than at another, and a profile is of another time.
  std::vector<double> pace = {};
};

// The machine and the coefficients of one class; of products of one row, the memory's rate is fitted, too.
struct Solution {
  CpuClassCoefficients coefficients;
  CpuMachine machine;
  double cost = 0;
};

// The weight of the prior; all samples together weigh 1. Chosen by the error on families left out, on one machine.
constexpr double kPrior = 0.03;

// `profiler`: its overhead on each kernel. `best_flops`: the highest rate of a product of the same element type.
Solution fitted_class(OrtKernelClass kind, std::vector<CpuSample> samples, const CpuMachine& machine, double profiler,
                      double best_flops) {
  LogFit fit;
  fit.tolerance = kLogTolerance;
  double best_bytes = 1e8, weights = 0;
  for (const CpuSample& sample : samples) {
    best_bytes = std::max(best_bytes, (sample.kernel.bytes + sample.kernel.weight_bytes) / sample.seconds);
    weights += sample.weight;
  }
  for (const CpuSample& sample : samples) fit.weights.push_back(sample.weight / weights);
  Solution solution{.coefficients = {}, .machine = machine};
  CpuClassCoefficients& c = solution.coefficients;
  const auto add = [&](double& place, double centre) { fit.add(place, centre, 1, kPrior); };  // give or take a factor e
  const auto has = [&](double OrtKernel::*size) {
    return std::ranges::any_of(samples, [&](const CpuSample& sample) { return sample.kernel.*size > 0; });
  };
  const bool is_work = is_bound_by_work(kind);
  // Waking a second thread takes about as long as a launch.
  add(c.start_seconds, std::max(machine.launch_seconds, 1e-7));
  if (is_work) add(c.flops_per_second, best_flops);
  add(c.bytes_per_second, is_work ? machine.memory_bytes_per_second * 2 : best_bytes / 2);
  // Half the rate at 16, the floats of a vector register, and at 4 rows: a kernel loads a vector of weights once for
  // the rows that it holds in registers, up to 12.
  if (is_work) {
    add(c.rows, 4);
    add(c.depth, 16);
    // Weights are read panel by panel, each before it is multiplied, and hardly ahead of that.
    add(c.overlap, 0.2);
  }
  if (has(&OrtKernel::width)) add(c.width, 16);
  // Half the rate at 4 positions, of which kernels hold about as many in registers.
  if (has(&OrtKernel::line)) add(c.line, 4);
  if (kind == OrtKernelClass::ProductVector)
    add(solution.machine.memory_bytes_per_second, machine.memory_bytes_per_second);
  fit.error = [&](std::size_t i) {
    const CpuSample& sample = samples[i];
    const double seconds = cpu_kernel_seconds(sample.kernel, c, solution.machine, sample.cold);
    return std::log((profiler + seconds) / sample.seconds);
  };
  solution.cost = fit.cost(fit.solve(fit.centre));
  return solution;
}

// Kernels that move no data, by their profiled times: a launch and what the profiler adds.
double profiled_launch(std::span<const TimedCpuRun> runs, const std::vector<bool>& taken) {
  std::vector<double> seconds;
  for (std::size_t r = 0; r < runs.size(); ++r)
    for (const TimedOrtKernel& timed : runs[r].timed)
      if (taken[r] && timed.kernel.kind == OrtKernelClass::Small && timed.seconds > 0) seconds.push_back(timed.seconds);
  return seconds.empty() ? 1e-6 : base::median(seconds);
}

// The overhead of the profiler that best explains the times of runs without it by those of runs with it.
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
      if (taken[r]) cost += pseudo_huber(1, std::log(pace(runs[r], each)), kLogTolerance);
    if (cost < least) least = cost, best.seconds = each;
  }
  for (const TimedCpuRun& run : runs) best.pace.push_back(pace(run, best.seconds));
  return best;
}

std::vector<CpuSample> samples_of(std::span<const TimedCpuRun> runs, const std::vector<bool>& taken,
                                  const Profiler& profiler, double cache_bytes) {
  using Key = std::tuple<OrtKernelClass, double, double, double, double, double, double, double, double>;
  std::map<Key, std::pair<CpuSample, std::vector<double>>> alike;  // with the times of all
  for (std::size_t r = 0; r < runs.size(); ++r) {
    if (!taken[r]) continue;
    const double cold_weights = cold_share(runs[r].lowered, cache_bytes);
    double total = 0;
    for (const TimedOrtKernel& timed : runs[r].timed) total += timed.seconds;
    for (const auto& [k, seconds] : runs[r].timed) {
      if (!(seconds > 0)) continue;
      const double cold = k.weight_bytes > 0 ? cold_weights : 0;
      auto& [sample, times] = alike[{k.kind, k.flops, k.bytes, k.weight_bytes, k.rows, k.width, k.depth, k.line, cold}];
      const double paced = profiler.seconds + (seconds - profiler.seconds) * profiler.pace[r];
      times.push_back(std::max(paced, seconds / 10));  // what the profiler adds may exceed what it reports
      sample.kernel = k;
      sample.weight += seconds / total;
      sample.cold = cold;
    }
  }
  std::vector<CpuSample> samples;
  for (auto& [key, equal] : alike) {
    samples.push_back(equal.first);
    samples.back().seconds = base::median(equal.second);
  }
  return samples;
}

// The median rate at which products of one row read weights most of which no cache holds; 0: there are none.
double memory_rate(const std::vector<CpuSample>& samples, double launch) {
  std::vector<double> rates;
  for (const CpuSample& s : samples)
    if (s.kernel.kind == OrtKernelClass::ProductVector && s.cold > kMostlyCold && s.seconds > 8 * launch)
      rates.push_back(s.cold * s.kernel.weight_bytes / (s.seconds - launch));
  return rates.empty() ? 0 : base::median(rates);
}

// A fit with a cache of the given capacity. Empty if no product of one row reads weights beyond it, which determines
// the memory's rate, or if it is smaller than stated and none reads weights that it holds: then nothing shows it.
// `cost`: of all kernels, by their share of the time.
struct Candidate {
  CpuCoefficients coefficients;
  double cost = 0;
};
std::optional<Candidate> fitted_with(std::span<const TimedCpuRun> runs, const std::vector<bool>& taken,
                                     const Profiler& profiler, double profiled_launch, CpuCoefficients coefficients,
                                     bool is_smaller) {
  std::array<std::vector<CpuSample>, kOrtKernelClasses> by_class;
  std::array<double, kOrtKernelClasses> weights = {};
  const std::vector<CpuSample> samples = samples_of(runs, taken, profiler, coefficients.cache_bytes);
  for (const CpuSample& sample : samples) {
    by_class[static_cast<std::size_t>(sample.kernel.kind)].push_back(sample);
    weights[static_cast<std::size_t>(sample.kernel.kind)] += sample.weight;
  }
  coefficients.memory_bytes_per_second = memory_rate(samples, profiled_launch);
  const bool shows_cache = std::ranges::any_of(samples, [](const CpuSample& sample) {
    return sample.kernel.kind == OrtKernelClass::ProductVector && sample.cold <= kMostlyCold;
  });
  if (coefficients.memory_bytes_per_second == 0 || (is_smaller && !shows_cache)) return std::nullopt;
  Candidate candidate;
  std::array<double, 2> best = {1e8, 1e8};  // floats and integers: each share the units that multiply
  for (const CpuSample& sample : samples)
    best[is_quantized(sample.kernel.kind)] =
        std::max(best[is_quantized(sample.kernel.kind)], sample.kernel.flops / sample.seconds);
  const auto fit_class = [&](OrtKernelClass kind) {
    const auto i = static_cast<std::size_t>(kind);
    if (by_class[i].empty()) return;
    const Solution found =
        fitted_class(kind, std::move(by_class[i]), coefficients, profiler.seconds, best[is_quantized(kind)]);
    coefficients.classes[i] = found.coefficients;
    coefficients.memory_bytes_per_second = found.machine.memory_bytes_per_second;
    candidate.cost += weights[i] * found.cost;
  };
  fit_class(OrtKernelClass::ProductVector);
  for (std::size_t i = 0; i < kOrtKernelClasses; ++i)
    if (const auto kind = static_cast<OrtKernelClass>(i);
        kind != OrtKernelClass::Small && kind != OrtKernelClass::ProductVector)
      fit_class(kind);
  candidate.coefficients = coefficients;
  return candidate;
}

// A virtual machine states the last-level cache of its host, of which it may have a small part, so capacities from the
// stated one down are tried. The one that best explains the runs counts.
CpuCoefficients fitted(std::span<const TimedCpuRun> runs, const std::vector<bool>& taken,
                       const CpuCoefficients& machine) {
  constexpr int kSteps = 16;  // the last is a 256th
  const double launch = profiled_launch(runs, taken);
  const Profiler profiler = profiler_of(runs, taken, launch);
  std::optional<Candidate> best;
  for (int step = 0; step <= kSteps; ++step) {
    CpuCoefficients start = machine;
    start.launch_seconds = launch - profiler.seconds;
    start.cache_bytes = std::round(machine.cache_bytes * std::pow(2, -0.5 * step));
    const std::optional<Candidate> found = fitted_with(runs, taken, profiler, launch, start, step > 0);
    if (found && (!best || found->cost < best->cost)) best = found;
  }
  if (!best)
    throw Error(
        "calibration: no run reads a weight vector by vector, which determines the memory's rate; add one of a "
        "language model at batch 1");
  fill_unmeasured(best->coefficients);
  return best->coefficients;
}

// The share of a run's time spent in kernels of classes that none of the chosen runs timed.
double unseen_part(const TimedCpuRun& run, std::span<const TimedCpuRun> runs, const std::vector<bool>& taken,
                   const CpuCoefficients& coefficients) {
  std::array<bool, kOrtKernelClasses> is_seen = {};
  for (std::size_t r = 0; r < runs.size(); ++r)
    if (taken[r])
      for (const TimedOrtKernel& timed : runs[r].timed) is_seen[static_cast<std::size_t>(timed.kernel.kind)] = true;
  double unseen = 0, total = 0;
  const std::vector<double> seconds = cpu_seconds(run.lowered, coefficients, coefficients);
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    total += seconds[i];
    if (!is_seen[static_cast<std::size_t>(run.lowered.kernels[i].kind)]) unseen += seconds[i];
  }
  return total > 0 ? unseen / total : 0;
}

// --- different caches ---

constexpr std::size_t kFewestPairs = 5;
constexpr double kRatioTolerance = 0.05;  // of a log ratio: larger errors count linearly

// Fitted to the ratios of runs that were timed in both placements of the processors, in which errors of `coefficients`
// cancel. Empty if there are too few.
std::optional<CpuApart> fit_apart(std::span<const TimedCpuRun> runs, const CpuCoefficients& coefficients) {
  struct Pair {
    const TimedCpuRun* run;
    double base_seconds;  // as predicted with one cache
  };
  std::vector<Pair> pairs;
  for (const TimedCpuRun& run : runs)
    if (run.apart_seconds) pairs.push_back({&run, cpu_run_seconds(run.lowered, coefficients, coefficients)});
  if (pairs.size() < kFewestPairs) return std::nullopt;
  CpuApart apart{.machine = coefficients, .runs = static_cast<double>(pairs.size())};
  CpuMachine& machine = apart.machine;
  LogFit fit;
  // Two caches hold twice as much, and serve fewer cores each. A core takes lines from another cache at its latency: 10
  // lines in flight at 150 ns are 4 GB/s, several times that with what prefetchers add.
  fit.add(machine.handoff_bytes_per_second, 20e9, 2, kPrior);
  fit.add(machine.memory_bytes_per_second, coefficients.memory_bytes_per_second, 0.5, kPrior);
  fit.add(machine.cache_bytes, 2 * coefficients.cache_bytes, 0.5, kPrior);
  fit.add(machine.cache_speed, 1, 0.5, kPrior);
  fit.tolerance = kRatioTolerance;
  fit.step = 1e-3;
  fit.weights.assign(pairs.size(), 1 / apart.runs);
  // The log of predicted over measured ratio.
  fit.error = [&](std::size_t i) {
    const auto& [run, base_seconds] = pairs[i];
    return std::log(cpu_run_seconds(run->lowered, coefficients, machine) / base_seconds * run->seconds /
                    *run->apart_seconds);
  };
  for (const double error : fit.errors(fit.solve(fit.centre)))
    apart.mean_error += std::abs(std::expm1(error)) / apart.runs;
  return apart;
}

}  // namespace

CpuFit fit_cpu(std::span<const TimedCpuRun> runs, const CpuCoefficients& machine, double coverage) {
  if (runs.empty()) throw Error("calibration: no runs; expected measured times of at least one model");
  for (const TimedCpuRun& run : runs)
    if (!(run.seconds > 0) || run.timed.empty())
      throw Error(run.name + ": has no time, or no kernels; leave it out of the calibration");
  CpuFit fit;
  fit.predicted.resize(runs.size());
  CpuCoefficients& all = fit.coefficients;
  all = fitted(runs, std::vector<bool>(runs.size(), true), machine);
  all.apart = fit_apart(runs, all);
  std::map<std::string, std::vector<std::size_t>> families;
  double judged = 0;
  for (std::size_t r = 0; r < runs.size(); ++r) {
    if (runs[r].family.empty()) continue;
    families[runs[r].family].push_back(r);
    fit.fitted_mean_error += std::abs(cpu_run_seconds(runs[r].lowered, all, all) / runs[r].seconds - 1);
    ++judged;
  }
  if (judged > 0) fit.fitted_mean_error /= judged;
  for (const auto& [family, members] : families) {
    std::vector<bool> taken(runs.size(), true);
    for (const std::size_t r : members) taken[r] = false;
    if (std::ranges::find(taken, true) == taken.end()) continue;
    const CpuCoefficients& without = fit.without[family] = fitted(runs, taken, machine);
    for (const std::size_t r : members)
      if (unseen_part(runs[r], runs, taken, all) < kMostUnseen)
        fit.predicted[r] = cpu_run_seconds(runs[r].lowered, without, without);
  }
  Calibration& calibration = fit.file.fitted;
  calibration.engine = "onnxruntime-cpu";
  calibration.coefficients = written_coefficients(all);
  judge(runs, &TimedCpuRun::family, coverage, fit);
  for (std::size_t r = 0; r < runs.size(); ++r)
    if (const TimedCpuRun& run = runs[r]; !run.family.empty())
      fit.file.runs.push_back({run.name, run.family, run.seconds, fit.predicted[r]});
  return fit;
}

}  // namespace pagoda::lab
