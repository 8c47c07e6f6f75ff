// Fits engines of eager kernels, and judges them by families left out.
#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "fit/log_fit.h"
#include "pagoda/base/error.h"
#include "pagoda/base/text.h"
#include "pagoda/lab/fit.h"

namespace pagoda::lab {
namespace {

using Eigen::Index;

// The coefficients of a class, with the derivatives of a kernel's time; the first multiplies the work.
constexpr std::pair<double ClassCoefficients::*, double KernelTerms::*> kOfClass[] = {
    {&ClassCoefficients::work, &KernelTerms::by_work},
    {&ClassCoefficients::bytes, &KernelTerms::by_bytes},
    {&ClassCoefficients::rows, &KernelTerms::by_rows},
    {&ClassCoefficients::width, &KernelTerms::by_width},
    {&ClassCoefficients::depth, &KernelTerms::by_depth}};

// Equal kernels of a run.
struct Counted {
  KernelLaunch kernel;
  double count = 0;
};

std::vector<Counted> counted(std::vector<KernelLaunch> kernels) {
  const auto key = [](const KernelLaunch& k) {
    return std::tie(k.kind, k.macs, k.bytes, k.rows, k.width, k.depth, k.tiles);
  };
  std::ranges::sort(kernels, {}, key);
  std::vector<Counted> result;
  for (const KernelLaunch& kernel : kernels) {
    if (result.empty() || key(result.back().kernel) != key(kernel)) result.push_back({kernel, 0});
    ++result.back().count;
  }
  return result;
}

std::vector<KernelLaunch> of_kinds(std::vector<KernelLaunch> kernels, const std::vector<KernelClass>& kinds) {
  std::erase_if(kernels, [&](const KernelLaunch& each) { return std::ranges::find(kinds, each.kind) == kinds.end(); });
  return kernels;
}

double total_seconds(const TimedRun& run, const EagerCoefficients& coefficients) {
  const std::vector<double> added = added_seconds(run.kernels, run.rates, coefficients);
  return std::accumulate(added.begin(), added.end(), 0.0);
}

// A run, or a part of one.
struct Sample {
  std::vector<Counted> kernels;
  const TimedRun* run;
  double seconds;  // measured
  bool is_queue;   // the host may be the limit, and the order of the run's kernels matters
};

class EagerFit {
 public:
  EagerFit(std::span<const TimedRun> runs, const std::vector<bool>& taken, const EagerFitOptions& options)
      : options_(options) {
    add_coefficients();
    std::map<std::string, double> members;
    for (std::size_t i = 0; i < runs.size(); ++i)
      if (taken[i]) ++members[runs[i].family];
    double sum = 0;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      if (!taken[i]) continue;
      const TimedRun& run = runs[i];
      const double weight = 1 / std::sqrt(members.at(run.family));
      add({options.fits_host ? std::vector<Counted>() : counted(run.kernels), &run, run.seconds, options.fits_host},
          weight);
      sum += weight;
      for (const TimedPart& part : run.parts)
        if (auto kernels = counted(of_kinds(run.kernels, part.kinds)); !kernels.empty())
          add({std::move(kernels), &run, part.seconds, false}, weight * std::min(part.seconds / run.seconds, 1.0));
    }
    const auto whole = static_cast<double>(std::ranges::count(taken, true));
    for (double& weight : fit_.weights) weight *= whole / sum;
    fit_.tolerance = options.tolerance;
    fit_.error = [this](std::size_t i) { return error(samples_[i]); };
    fit_.error_and_slope = [this](std::size_t i, Eigen::VectorXd& slope) { return error(samples_[i], slope); };
  }
  EagerFit(const EagerFit&) = delete;  // its rows point into it
  EagerFit& operator=(const EagerFit&) = delete;

  EagerCoefficients solve() {
    Eigen::VectorXd best = fit_.solve(fit_.centre);
    // Where the host is the limit, the rates of kernels change nothing, and the reverse: the search also starts where
    // the device is slower, and where the host is faster.
    const std::vector<double> devices = options_.fits_host ? std::vector{1.0, 4.0, 16.0} : std::vector<double>{};
    for (const double device : devices)
      for (const double host : {1.0, 0.25}) {
        Eigen::VectorXd start = fit_.centre;
        for (const Slots& slots : slots_)
          if (slots.front() >= 0) start[slots.front()] += std::log(device);
        for (std::size_t i = 0; i < std::size(kHostCosts); ++i) start[host_ + static_cast<Index>(i)] += std::log(host);
        const Eigen::VectorXd found = fit_.solve(start);
        if (fit_.cost(found) < fit_.cost(best)) best = found;
      }
    fit_.set(best);
    return coefficients_;
  }

 private:
  using Slots = std::array<Index, std::size(kOfClass)>;  // places in the list of fitted coefficients; -1: not fitted

  void add_coefficients() {
    std::map<const double*, Index> at;
    for (const CoefficientRow& row : coefficient_rows(coefficients_)) {
      const bool is_host = row.name.starts_with("host_seconds.");
      if (row.prior.spread == 0 || (is_host && !options_.fits_host)) continue;
      if (row.name.ends_with(".rows") && !options_.fits_rows) continue;
      Prior prior = row.prior;
      // Where the host is fitted, a launch costs the device a microsecond between kernels.
      if (row.place == &coefficients_.launch && options_.fits_host) prior = {0.6, 0.3};
      if (row.place == &coefficients_.classes[static_cast<std::size_t>(KernelClass::MaxPool)].work)
        prior.centre = options_.pool_issues;
      at[row.place] = fit_.centre.size();
      fit_.add(*row.place, prior.centre, prior.spread, options_.prior);
    }
    fit_.precision.array() += 1e-12;
    const auto slot = [&](const double& place) {
      const auto found = at.find(&place);
      return found == at.end() ? Index{-1} : found->second;
    };
    launch_ = slot(coefficients_.launch);
    norm_ = slot(coefficients_.norm);
    host_ = slot(coefficients_.host.*kHostCosts[0].member);
    for (std::size_t kind = 0; kind < kKernelClasses; ++kind)
      for (std::size_t i = 0; i < std::size(kOfClass); ++i)
        slots_[kind][i] = slot(coefficients_.classes[kind].*kOfClass[i].first);
  }

  void add(Sample sample, double weight) {
    samples_.push_back(std::move(sample));
    fit_.weights.push_back(weight);
  }

  double error(const Sample& sample) const {
    double seconds = sample.is_queue ? total_seconds(*sample.run, coefficients_) : 0;
    for (const Counted& entry : sample.kernels)
      seconds += entry.count * kernel_seconds(entry.kernel, sample.run->rates, coefficients_);
    return std::log(seconds / sample.seconds);
  }
  double error(const Sample& sample, Eigen::VectorXd& slope) const {
    double seconds = sample.is_queue ? add_queue(*sample.run, slope) : 0;
    for (const Counted& entry : sample.kernels) seconds += add_kernel(entry, sample.run->rates, slope);
    slope /= seconds;
    return std::log(seconds / sample.seconds);
  }

  // Adds the derivatives of kernels' time, and returns it.
  double add_kernel(const Counted& entry, const KernelRates& rates, Eigen::VectorXd& row) const {
    const KernelTerms t = kernel_terms(entry.kernel, rates, coefficients_);
    const Slots& slots = slots_[static_cast<std::size_t>(entry.kernel.kind)];
    row[launch_] += entry.count * t.launch;
    row[norm_] += entry.count * t.by_norm;
    for (std::size_t i = 0; i < slots.size(); ++i)
      if (slots[i] >= 0) row[slots[i]] += entry.count * t.*kOfClass[i].second;
    return entry.count * t.seconds;
  }

  // As above, for a run with its host: the host's costs count until the device's last wait, the device's from there.
  double add_queue(const TimedRun& run, Eigen::VectorXd& row) const {
    const HostCosts& host = coefficients_.host;
    std::vector<double> device;
    for (const KernelLaunch& kernel : run.kernels) device.push_back(kernel_seconds(kernel, run.rates, coefficients_));
    const LaunchQueue queue = launch_queue(run.kernels, device, host);
    row[host_] += host.run;
    for (std::size_t i = 0; i < run.kernels.size(); ++i) {
      const HostPart part = host_part(run.kernels[i]);
      if (i <= queue.last_wait) {
        const HostTerms terms = host_terms(run.kernels[i], host);
        row[host_ + static_cast<Index>(HostPart::View)] += terms.call;
        row[host_ + static_cast<Index>(part)] += terms.own;
      }
      if (i >= queue.last_wait && has_kernel(part)) add_kernel({run.kernels[i], 1}, run.rates, row);
    }
    return queue.seconds;
  }

  const EagerFitOptions& options_;
  LogFit fit_;
  EagerCoefficients coefficients_;
  Index launch_ = -1, norm_ = -1, host_ = -1;  // host_: of the first of kHostCosts
  std::array<Slots, kKernelClasses> slots_ = {};
  std::vector<Sample> samples_;
};

void check(std::span<const TimedRun> runs) {
  const auto is_time = [](double seconds) { return seconds > 0 && std::isfinite(seconds); };
  if (runs.empty()) throw Error("calibration: no runs; expected measured times of at least one model");
  for (const TimedRun& run : runs) {
    if (run.kernels.empty()) throw Error(run.name + ": launches no kernel; leave it out of the calibration");
    if (!is_time(run.seconds))
      throw Error(run.name + ": measured " + std::to_string(run.seconds) + " s; expected a time above 0");
    for (const TimedPart& part : run.parts)
      if (!is_time(part.seconds))
        throw Error(run.name + ": a part of it takes " + std::to_string(part.seconds) + " s; expected a time above 0");
  }
}

std::vector<std::string> devices_of(std::span<const TimedRun> runs) {
  std::set<std::string> devices;
  for (const TimedRun& run : runs) devices.insert(run.device);
  return {devices.begin(), devices.end()};
}

void judge_elsewhere(std::span<const TimedRun> runs, double coverage, Calibration& calibration) {
  check(runs);
  const EagerCoefficients coefficients = eager_coefficients(calibration);
  std::vector<double> log_errors;
  std::vector<std::string> families;
  for (const TimedRun& run : runs) {
    log_errors.push_back(std::log(run.seconds / total_seconds(run, coefficients)));
    families.push_back(run.family);
  }
  calibration.elsewhere = claimed_interval(log_errors, families, coverage);
  if (calibration.elsewhere) calibration.judge = base::joined(devices_of(runs));
}

}  // namespace

Calibration fit_coefficients(std::span<const TimedRun> runs, const EagerFitOptions& options) {
  check(runs);
  EagerCoefficients coefficients = EagerFit(runs, std::vector<bool>(runs.size(), true), options).solve();
  coefficients.shortest_kernel_seconds = std::numeric_limits<double>::infinity();
  for (const TimedRun& run : runs)
    coefficients.shortest_kernel_seconds =
        std::min(coefficients.shortest_kernel_seconds, run.seconds / static_cast<double>(run.kernels.size()));
  Calibration calibration{
      .id = options.id, .engine = options.engine, .regime = options.regime, .source = options.source};
  calibration.coefficients = written_coefficients(coefficients);
  calibration.devices = devices_of(runs);
  for (const bool channels_last : {false, true})
    if (std::ranges::any_of(runs, [&](const TimedRun& r) { return r.channels_last == channels_last; }))
      calibration.layouts.emplace_back(channels_last ? "nhwc" : "nchw");
  return calibration;
}

Fit fit_eager(std::span<const TimedRun> runs, const EagerFitOptions& options, std::span<const TimedRun> elsewhere) {
  Fit result{.file = {.fitted = fit_coefficients(runs, options)}};
  std::map<std::string, std::size_t> fold_of;  // families by name, dealt to the folds in turn
  for (const TimedRun& run : runs) fold_of[run.family] = 0;
  if (fold_of.size() < 2) throw Error("calibration: one family; expected at least two, to judge one by the others");
  const std::size_t folds = std::min(std::max<std::size_t>(options.folds, 2), fold_of.size());
  std::size_t dealt = 0;
  for (auto& [family, fold] : fold_of) fold = dealt++ % folds;

  result.predicted.resize(runs.size());
  for (std::size_t fold = 0; fold < folds; ++fold) {
    std::vector<bool> taken(runs.size());
    for (std::size_t i = 0; i < runs.size(); ++i) taken[i] = fold_of.at(runs[i].family) != fold;
    const EagerCoefficients without = EagerFit(runs, taken, options).solve();
    for (std::size_t i = 0; i < runs.size(); ++i)
      if (!taken[i]) result.predicted[i] = total_seconds(runs[i], without);
  }

  Calibration& calibration = result.file.fitted;
  const EagerCoefficients coefficients = eager_coefficients(calibration);
  for (const TimedRun& run : runs)
    result.fitted_mean_error +=
        std::abs(total_seconds(run, coefficients) / run.seconds - 1) / static_cast<double>(runs.size());
  judge(runs, &TimedRun::family, options.coverage, result);
  if (!elsewhere.empty()) judge_elsewhere(elsewhere, options.coverage, calibration);
  return result;
}

}  // namespace pagoda::lab
