// Measured runs of a whole model, compared with its estimate: the sizes and the time of each run.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pagoda/documents/estimate.h"
#include "pagoda/documents/measured.h"
#include "pagoda/estimate/make_estimate.h"

#pragma GCC visibility push(default)
namespace pagoda::estimate {

// A run or a prediction of this many bounds feels no change of the bound: most of its time lies elsewhere.
inline constexpr double kFarAboveBound = 2;

// Sets the measured runs of a request and, if it has no device, the built-in device that the file names.
void set_measured(documents::Measured measured, EstimateRequest& request);

// What the file knows of a run without a list of runs: its wall time, else the time in which kernels ran if they
// overlap, else the sum of its kernels.
documents::MeasuredBasis basis_of(const documents::Measured& measured);
// The runs of a file: the listed ones, else a single run with the time of basis_of().
std::vector<documents::MeasuredRun> whole_runs(const documents::Measured& measured);

// The sizes of the estimate's free dims in a run, from its settings: "batch" also sets a dim named batch_size, N or n.
// Sets `problem` if the estimate does not match the run: a dim is bound to a different size, or one of them is a
// training step.
Bindings run_sizes(const documents::EstimateDocument& estimate, const base::Settings& config, std::string& problem);

// FLOPs and bytes of what the estimate describes: one run, or the training step if it has one. Empty if not known.
struct TotalWork {
  std::optional<double> flops, bytes;
};
TotalWork total_work(const documents::EstimateDocument& estimate);

// FLOPs and bytes of the model at the sizes of a run; empty if not known, with the reason in `problem`.
struct RunWork {
  double flops = 0, bytes = 0;
};
std::optional<RunWork> run_work(const documents::EstimateDocument& estimate, const documents::MeasuredRun& run,
                                std::string& problem);

// Energy of one run: as measured, else mean power times seconds. Empty if its note says that the power is doubtful.
std::optional<double> joules_of(const documents::MeasuredRun& run);

// Whether the measured run of an estimate is faster than its floor, which holds whatever an engine fuses: no run of
// this model can be, in the precision of the estimate.
bool is_impossible(const documents::EstimateDocument& estimate);

// Adds the runs measured at the sizes of the estimate or its sweep. Returns a warning or nothing. Throws Error if the
// file has no such run.
std::string add_measured(const documents::Measured& measured, documents::EstimateDocument& estimate);

// "resnet50" of models/resnet50.onnx.
std::string short_model_name(const documents::EstimateDocument& estimate);

// The settings of a run that differ between runs: "batch=8, gpu_hz=918000000".
std::string run_label(const documents::MeasuredRun& run, const std::vector<documents::MeasuredRun>& runs);

}  // namespace pagoda::estimate
#pragma GCC visibility pop
