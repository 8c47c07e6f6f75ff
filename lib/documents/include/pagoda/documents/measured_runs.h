// Measured runs of a whole model beside its estimate: which sizes a run had, and how long it took.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pagoda/documents/estimate.h"
#include "pagoda/documents/measured.h"

#pragma GCC visibility push(default)
namespace pagoda::documents {

// The runs of a file: those it lists, else the one that its wall clock or the sum of its kernels tells.
std::vector<MeasuredRun> whole_runs(const Measured& measured);

// The sizes of a run for the dims that the estimate leaves free, by its settings: "batch" is also the size of a dim
// named batch_size, N or n. `problem` says why the estimate is not of this run: a dim is bound to another size.
Bindings run_sizes(const EstimateDocument& estimate, const base::Settings& config, std::string& problem);

// FLOPs and bytes of the model at the sizes of a run; empty where `problem` says why they are not known.
struct RunWork {
  double flops = 0, bytes = 0;
};
std::optional<RunWork> run_work(const EstimateDocument& estimate, const MeasuredRun& run, std::string& problem);

// Of one run: as measured, else its mean power over its time. Empty where its note says that the power is doubtful.
std::optional<double> joules_of(const MeasuredRun& run);

// "resnet50" of models/resnet50.onnx.
std::string short_model_name(const EstimateDocument& estimate);

// The settings in which runs differ: "batch=8, gpu_hz=918000000".
std::string run_label(const MeasuredRun& run, const std::vector<MeasuredRun>& runs);

}  // namespace pagoda::documents
#pragma GCC visibility pop
