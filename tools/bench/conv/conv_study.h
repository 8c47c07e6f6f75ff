// All convolutions of a model under one algorithm: made ready, checked, timed alone and one after the other.
//
//   PreparedModel model = prepare_model(layers, onednn_library(0), {.algorithm = "winograd"});
//   model.layers[3].work->refused;                 // "oneDNN has no Winograd implementation for the layer"
//   run_model(model, 10);                          // seconds of ten passes over all layers
//   std::vector<pagoda::LayerTime> rows = time_layers(model, timing);
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "conv_reference.h"
#include "conv_run.h"
#include "pagoda/base/timing.h"
#include "pagoda/documents/result.h"

namespace pagoda::tools::conv {

struct PrepareOptions {
  std::string algorithm = "auto";
  std::uint64_t seed = 1;
  std::int64_t check_points = 4096;  // outputs of a layer that are held against the reference; 0: all
  bool fall_back = true;             // layers that the algorithm refuses run on the library's own choice in a pass
};

// One shape; layers of equal shape share it.
struct Work {
  std::string refused;  // by the algorithm asked for
  std::string ran_as;   // the algorithm that runs it; empty: none does
  std::string implementation;
  std::optional<std::int64_t> workspace_bytes;
  ConvError error;
  ConvRun run;
  double prepare_seconds = 0;
};

struct PreparedLayer {
  ConvLayer layer;
  std::shared_ptr<Work> work;
};

struct PreparedModel {
  std::string algorithm = {};
  std::vector<PreparedLayer> layers = {};
  double prepare_seconds = 0;  // choosing and building implementations, without data and checks

  std::int64_t refused() const;  // layers
  bool is_whole() const;         // something runs every layer
  std::int64_t macs() const;
  std::optional<double> worst_error() const;  // largest mean relative error of the layers that ran as asked
};

// Throws Error where the library cannot be used or has no such algorithm.
PreparedModel prepare_model(const LayerList& list, const ConvLibrary& library, const PrepareOptions& options);

// Seconds of each of n passes over all layers that something runs.
std::vector<double> run_model(const PreparedModel& model, std::int64_t n);

// Each layer alone, as the algorithm asked for; a shape is timed once. Refused layers have a note and no time.
std::vector<documents::LayerTime> time_layers(const PreparedModel& model, const base::TimingOptions& timing);

// Holds the errors of all layers against a threshold.
documents::Verification verification(const PreparedModel& model, double threshold);

}  // namespace pagoda::tools::conv
