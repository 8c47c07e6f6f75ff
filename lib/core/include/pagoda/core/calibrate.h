// Fits the coefficients of predict.h to measured times, and measures how well they predict models of other families.
//
//   std::vector<TimedRun> runs = …;                    // a model, its family, the device's rates, the measured seconds
//   CalibrationResult result = calibrate(runs, {.id = "my-gpu", .regime = "PyTorch 2.4, autocast, NCHW"});
//   result.calibration.mean_error;                     // on families that the fit did not see
//   result.runs[3].predicted;                          // by a fit without that run's family
//
// The fit minimises Σ w · huber(log(predicted / measured)) plus a prior that pulls every coefficient towards that of a
// kernel close to the roofline, so that classes without measurements stay plausible. w gives a family of n models the
// total weight √n; a part of a run has the run's, times its share of the time. All coefficients are positive by construction: the search runs over their logarithms.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "pagoda/core/predict.h"

#pragma GCC visibility push(default)
namespace pagoda::inline core {

// What the kernels of some classes took in a run.
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
  double seconds = 0;  // measured
  std::vector<TimedPart> parts = {};  // where a profiler timed them
};

struct CalibrationOptions {
  std::string id = {}, regime = {}, source = {};
  std::size_t folds = 10;   // cross-validation groups; families are assigned to them in order of name
  double coverage = 0.9;    // of the interval
  double prior = 0.15;      // weight of the prior; 0 trusts the data alone
  double tolerance = 0.08;  // relative error above which the loss is linear, not quadratic
  bool fits_rows = false;   // m0 of products, which only runs of small batches determine
  double pool_issues = 4;   // a max pool's for each element of a window, where nothing is known yet
  bool fits_host = false;   // what launching costs the host, where runs of short kernels are among those measured
};

struct RunPrediction {
  double predicted = 0;      // s, by a fit without the family
  double low = 0, high = 0;  // the interval, from the errors of other families alone
};

struct CalibrationResult {
  Calibration calibration;          // fitted to all runs
  std::vector<RunPrediction> runs;  // in the order of the runs
  double fitted_mean_error = 0;     // of the calibration on the runs it was fitted to
  double covered = 0;               // share of runs inside the interval computed without their family
  double covered_families = 0;      // the same, each family weighing 1
};

// Fits the coefficients only; error figures and interval stay empty. Throws Error without runs, or for a run without
// kernels or time.
Calibration fit(std::span<const TimedRun> runs, const CalibrationOptions& options = {});

// Throws Error as fit() does, and for fewer than two families. `elsewhere`: runs on devices other than those of `runs`;
// they are not part of the fit and give the interval for such devices.
CalibrationResult calibrate(std::span<const TimedRun> runs, const CalibrationOptions& options = {},
                            std::span<const TimedRun> elsewhere = {});

// Factors on a prediction that enclose `coverage` of the models of a new family, given log(measured / predicted) of
// models by family. Each family has the same weight, and so has a new one, whose error is as likely in each gap between
// those of the others (split conformal, interpolated between errors). With too few families for that, 0 and infinity.
Factors interval_factors(std::span<const double> log_errors, std::span<const std::string> families, double coverage);
// Of all families but one.
Factors interval_of_others(std::span<const double> log_errors, std::span<const std::string> families,
                           std::string_view family, double coverage);

// Spearman's rank correlation; ties share their mean rank.
double rank_correlation(std::span<const double> a, std::span<const double> b);

}  // namespace pagoda::inline core
#pragma GCC visibility pop
