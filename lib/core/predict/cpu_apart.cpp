#include "predict/cpu_apart.h"

#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "predict/levenberg.h"

namespace pagoda::inline core {
namespace {

constexpr std::size_t kFewestPairs = 5;
constexpr double kRatioTolerance = 0.05;  // of a log ratio: larger errors count linearly
constexpr double kRatioPrior = 0.03;       // its weight, squared; all runs together weigh 1

// A rate or capacity, as a logarithm with a prior.
struct Unknown {
  double CpuMachine::*place;
  double centre, spread;
};

struct Pair {
  const TimedCpuRun* run;
  double base_seconds;  // as predicted with one cache
};

class ApartFit {
 public:
  ApartFit(std::vector<Pair> pairs, const CpuCalibration& calibration) : pairs_(std::move(pairs)), calibration_(calibration) {
    // Two caches hold twice as much, and serve fewer cores each. A core takes lines from another cache at its latency: 10
    // lines in flight at 150 ns are 4 GB/s, several times that with what prefetchers add.
    unknowns_ = {{{&CpuMachine::handoff_bytes_per_second, 20e9, 2},
                  {&CpuMachine::memory_bytes_per_second, calibration.memory_bytes_per_second, 0.5},
                  {&CpuMachine::cache_bytes, 2 * calibration.cache_bytes, 0.5},
                  {&CpuMachine::cache_speed, 1, 0.5}}};
  }

  CpuMachine solve() const {
    return machine(least_cost(
        Eigen::VectorXd(Eigen::VectorXd::Zero(kSize)), [this](const Eigen::VectorXd& at) { return cost(at); },
        [this](const Eigen::VectorXd& at) { return normal_equations(at); }));
  }
  // The log of predicted over measured ratio.
  double error(const Pair& pair, const CpuMachine& machine) const {
    return std::log(cpu_run_seconds(pair.run->lowered, calibration_, machine) / pair.base_seconds *
                    pair.run->seconds / *pair.run->apart_seconds);
  }

 private:
  static constexpr Eigen::Index kSize = 4;

  CpuMachine machine(const Eigen::VectorXd& logs) const {
    CpuMachine found = calibration_;
    for (Eigen::Index i = 0; i < kSize; ++i) {
      const Unknown& each = unknowns_[static_cast<std::size_t>(i)];
      found.*each.place = each.centre * std::exp(logs[i]);
    }
    return found;
  }
  double cost(const Eigen::VectorXd& logs) const {
    const CpuMachine here = machine(logs);
    double sum = 0;
    for (Eigen::Index i = 0; i < kSize; ++i)
      sum += std::pow(kRatioPrior * logs[i] / unknowns_[static_cast<std::size_t>(i)].spread, 2);
    for (const Pair& pair : pairs_)
      sum += 2 * kRatioTolerance * kRatioTolerance * (std::sqrt(1 + std::pow(error(pair, here) / kRatioTolerance, 2)) - 1) /
             static_cast<double>(pairs_.size());
    return sum;
  }
  std::pair<Eigen::MatrixXd, Eigen::VectorXd> normal_equations(const Eigen::VectorXd& logs) const {
    constexpr double kStep = 1e-3;
    Eigen::MatrixXd hessian = Eigen::MatrixXd::Zero(kSize, kSize);
    Eigen::VectorXd gradient = Eigen::VectorXd::Zero(kSize), row(kSize);
    std::array<CpuMachine, kSize> beside;
    for (Eigen::Index i = 0; i < kSize; ++i) {
      const double precision = std::pow(kRatioPrior / unknowns_[static_cast<std::size_t>(i)].spread, 2);
      hessian(i, i) = precision;
      gradient[i] = precision * logs[i];
      Eigen::VectorXd moved = logs;
      moved[i] += kStep;
      beside[static_cast<std::size_t>(i)] = machine(moved);
    }
    const CpuMachine here = machine(logs);
    for (const Pair& pair : pairs_) {
      const double e = error(pair, here);
      for (Eigen::Index i = 0; i < kSize; ++i) row[i] = (error(pair, beside[static_cast<std::size_t>(i)]) - e) / kStep;
      const double weight = 1 / (std::sqrt(1 + std::pow(e / kRatioTolerance, 2)) * static_cast<double>(pairs_.size()));
      hessian += weight * row * row.transpose();
      gradient += weight * e * row;
    }
    return {std::move(hessian), std::move(gradient)};
  }

  const std::vector<Pair> pairs_;
  const CpuCalibration& calibration_;
  std::array<Unknown, kSize> unknowns_;
};

}  // namespace

double cpu_run_seconds(const CpuKernels& kernels, const CpuCalibration& calibration, const CpuMachine& machine) {
  const double cold = cold_share(kernels, machine.cache_bytes);
  double seconds = 0;
  for (const CpuKernel& kernel : kernels.kernels)
    seconds += cpu_kernel_seconds(kernel, calibration.classes[static_cast<std::size_t>(kernel.kind)], machine, cold);
  return seconds;
}

std::optional<CpuApart> fit_apart(std::span<const TimedCpuRun> runs, const CpuCalibration& calibration) {
  std::vector<Pair> pairs;
  for (const TimedCpuRun& run : runs)
    if (run.apart_seconds) pairs.push_back({&run, cpu_run_seconds(run.lowered, calibration, calibration)});
  if (pairs.size() < kFewestPairs) return std::nullopt;
  const ApartFit fit(pairs, calibration);
  CpuApart apart{.machine = fit.solve(), .runs = static_cast<double>(pairs.size())};
  for (const Pair& pair : pairs) apart.mean_error += std::abs(std::expm1(fit.error(pair, apart.machine))) / apart.runs;
  return apart;
}

}  // namespace pagoda::inline core
