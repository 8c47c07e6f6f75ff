// Fits calibrations of engines to measured times, and measures how well they predict runs that the fit did not see.
//
//   std::vector<TimedRun> runs = …;                  // a model, its family, the device's rates, the measured seconds
//   Fit fit = fit_eager(runs, {.id = "my-gpu", .regime = "PyTorch 2.4, autocast, NCHW"});
//   fit.file.fitted.errors.mean_error;               // on families that the fit did not see
//   *fit.predicted[3];                               // by a fit without that run's family
//
// A fit minimises Σ w · huber(log(predicted / measured)) plus a prior that pulls every coefficient towards that of a
// kernel close to the roofline, so that kernels without measurements stay plausible. All coefficients are positive by
// construction: the search runs over their logarithms.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "pagoda/core/eager.h"
#include "pagoda/core/onnxruntime.h"
#include "pagoda/core/tensorrt.h"
#include "pagoda/documents/calibration.h"
#include "pagoda/measured/ort_kernels.h"

#pragma GCC visibility push(default)
namespace pagoda::lab {

struct Fit {
  documents::CalibrationFile file;  // fitted to all runs
  // s of each run, by a fit without its family; for several devices of TensorRT, without its device. Empty where no
  // such fit predicts the run.
  std::vector<std::optional<double>> predicted = {};
  std::vector<Factors> intervals = {};  // of each run, from the errors of other families alone; empty: not known
  double fitted_mean_error = 0;         // of the calibration on the runs it was fitted to
  double covered = 0;                   // share of judged runs inside the interval that the other families give
  double covered_families = 0;          // the same, each family weighing 1
};

// --- engines of eager kernels ---

// The time that the kernels of some classes took in a run.
struct TimedPart {
  std::vector<KernelClass> kinds;
  double seconds = 0;
};

struct TimedRun {
  std::string name;
  std::string family;  // models that share code; left out of the fit together
  std::vector<KernelLaunch> kernels;
  std::string device;          // its id
  bool channels_last = false;  // layout of images
  KernelRates rates;
  double seconds = 0;                 // measured
  std::vector<TimedPart> parts = {};  // where a profiler timed them
};

struct EagerFitOptions {
  std::string id = {}, regime = {}, source = {};
  std::string engine = "pytorch-amp";
  std::size_t folds = 10;   // cross-validation groups; families are assigned to them in order of name
  double coverage = 0.9;    // of the interval
  double prior = 0.15;      // weight of the prior; 0 trusts the data alone
  double tolerance = 0.08;  // relative error above which the loss is linear, not quadratic
  bool fits_rows = false;   // m0 of products, which only runs of small batches determine
  double pool_issues = 4;   // a max pool's for each element of a window, where nothing is known yet
  bool fits_host = false;   // what launching costs the host, where runs of short kernels are among those measured
};

// The coefficients only; errors and interval stay empty. A family of n models has the total weight √n; a part of a run
// has the run's, times its share of the time. Throws Error without runs, or for a run without kernels or time.
Calibration fit_coefficients(std::span<const TimedRun> runs, const EagerFitOptions& options = {});

// Throws Error as above, and for fewer than two families. `elsewhere`: runs on devices other than those of `runs`; they
// are not part of the fit and give the interval for such devices.
Fit fit_eager(std::span<const TimedRun> runs, const EagerFitOptions& options = {},
              std::span<const TimedRun> elsewhere = {});

// --- ONNX Runtime on a CPU ---

struct TimedCpuRun {
  std::string name, family;  // models that share code, left out together; no family: fitted always, never judged
  double seconds = 0;        // of a run without the profiler
  std::optional<double> apart_seconds = {};  // the same while the processors have different caches
  OrtKernels lowered;
  std::vector<measured::TimedOrtKernel> timed;  // of a run with the profiler
  // Of all kernels of that run, known or not; 0: no profile.
  double profiled_seconds = 0, profiled_kernels = 0;
};
struct CpuFit : Fit {
  CpuCoefficients coefficients;                    // those of the file
  std::map<std::string, CpuCoefficients> without;  // by family: the fit without its runs
};
// `machine` gives threads, block and cache; the rest is fitted. Throws Error without runs, and without a one-row
// product whose weight exceeds the cache, which is needed to measure the memory's rate.
CpuFit fit_cpu(std::span<const TimedCpuRun> runs, const CpuCoefficients& machine, double coverage = 0.8);

// --- TensorRT ---

struct TensorRtRun {
  std::string device;     // id
  std::string group;      // also left out together: a sequence length, a family of models; "": never judged
  std::string pair = {};  // the same for the float16 and the int8 run of one configuration; "": of none
  bool is_int8 = false;
  TensorRtKernels kernels;
  TensorRtRates rates;
  double seconds = 0;  // measured
};
// The runs of one device are similar and together weigh as 20 observations. Coefficients that no run determines keep
// their priors; `centre`: the priors' centre, a calibration of other devices.
TensorRtCoefficients fit_coefficients(std::span<const TensorRtRun> runs, const TensorRtCoefficients* centre = nullptr);
Fit fit_tensorrt(std::span<const TensorRtRun> runs, double coverage, const TensorRtCoefficients* centre = nullptr);

// --- judging ---

// Factors on a prediction that enclose `coverage` of the models of a new family, given log(measured / predicted) of
// models by family. Each family has the same weight. A new family is assumed equally likely to fall in each gap between
// the errors of the others (split conformal, interpolated between errors). With too few families for that, 0 and
// infinity.
Factors interval_factors(std::span<const double> log_errors, std::span<const std::string> families, double coverage);
// The same; empty if there are too few families.
std::optional<Factors> claimed_interval(std::span<const double> log_errors, std::span<const std::string> families,
                                        double coverage);
// Sets errors, interval and coverage of a fit from its `predicted`. Runs without a prediction are not judged.
void judge(std::span<const double> measured, std::span<const std::string> families, double coverage, Fit& fit);
template <typename Run>
void judge(std::span<const Run> runs, std::string Run::*family, double coverage, Fit& fit) {
  std::vector<double> measured;
  std::vector<std::string> families;
  for (const Run& run : runs) {
    measured.push_back(run.seconds);
    families.push_back(run.*family);
  }
  judge(measured, families, coverage, fit);
}

// Spearman's rank correlation; ties share their mean rank.
double rank_correlation(std::span<const double> a, std::span<const double> b);

}  // namespace pagoda::lab
#pragma GCC visibility pop
