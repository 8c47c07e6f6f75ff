// All convolutions of a model under one algorithm: prepared, checked, and timed each alone and one after the other.
//
//   PreparedModel model = prepare_model(layers, onednn_library(0), {.algorithm = "winograd"});
//   model.layers[3].work->refused;                 // "oneDNN has no Winograd implementation for the layer"
//   run_model(model, 10);                          // seconds of ten passes over all layers
//   std::vector<pagoda::LayerTime> rows = time_layers(model, timing);
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "conv_run.h"
#include "pagoda/base/timing.h"
#include "pagoda/documents/result.h"

namespace pagoda::tools::conv {

struct PrepareOptions {
  std::string algorithm = "auto";
  std::uint64_t seed = 1;
  std::int64_t check_points = 4096;  // outputs of a layer to compare with the reference; 0: all
  double threshold = 1e-3;           // mean relative error of a layer that passes
  bool fall_back = true;             // run layers that the algorithm refuses with "auto" in passes over all layers
};

// One shape; layers of equal shape share it.
struct Work {
  std::string refused;  // why the requested algorithm refuses it; empty: it does not
  std::string ran_as;   // the algorithm that runs it; empty: none
  ConvRun run;          // of that algorithm
  ConvError error;
  double prepare_seconds = 0;
};

struct PreparedLayer {
  ConvLayer layer;
  std::shared_ptr<Work> work;
};

struct PreparedModel {
  std::string algorithm = {};
  std::vector<PreparedLayer> layers = {};
  double prepare_seconds = 0;  // choosing and building implementations, without operands and checks
  std::int64_t macs = 0;
  std::int64_t refused = 0;                   // layers
  bool is_whole = false;                      // every layer has an algorithm that runs it
  documents::Verification verification = {};  // of the layers run as requested; the largest mean relative error

  std::string refusal() const;  // "winograd refuses 3 of 53 convolutions"
};

// Throws Error if the library is unavailable or has no such algorithm.
PreparedModel prepare_model(const LayerList& list, const ConvLibrary& library, const PrepareOptions& options);

// Seconds of each of n passes over all layers that can run.
std::vector<double> run_model(const PreparedModel& model, std::int64_t n);

// Times each layer alone with the requested algorithm, each shape once. Refused layers have a note and no time.
std::vector<documents::LayerTime> time_layers(const PreparedModel& model, const base::TimingOptions& timing);

}  // namespace pagoda::tools::conv
