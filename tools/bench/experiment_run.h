// One experiment: starts, times, monitors and ends a worker. Every outcome, including failure, becomes a Result.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pagoda/documents/result.h"
#include "pagoda/lab/model_sizes.h"
#include "session.h"

namespace pagoda::tools::bench {

// The commands that start workers, by backend.
using Workers = std::map<std::string, std::vector<std::string>>;
// Built-in workers and those of the user. `python` runs ort, torch and jax; `folder` contains their scripts; `self` is
// the path of this program.
Workers workers(const Workers& of_user, const std::string& python, const std::string& folder, const std::string& self);

// Empty if interrupted: then nothing is recorded.
std::optional<documents::Result> run_experiment(const documents::Experiment& experiment, const Workers& workers,
                                                const RunOptions& options);

// The run whose outputs are the reference: the same model, inputs, sizes and weights on the plainest path of the same
// framework. Empty if the backend has none.
std::optional<documents::Config> reference_config(const documents::Config& config);

// What a worker is given to prepare.
struct PreparedModel {
  documents::Config config;
  std::optional<lab::bench::RunSizes> sizes = {};  // of an ONNX file
  bool is_filled = false;
};
// The config with a model file that runs: filled with random weights if it is shared without its own, and with the
// sizes of the run if it fixes others. Copies are created once in the folder of the options and named by content, seed
// and sizes. conv and torch need none. Throws Error.
PreparedModel prepared_model(const documents::Config& config, const RunOptions& options);

// One of the outputs of a run.
struct OutputTensor {
  std::string name;
  std::string type;  // "float32", "int64", …
  std::vector<std::int64_t> shape;
  std::vector<double> values;  // empty if the type cannot be read
  bool readable = false;
};
// Loads the tensors listed in a worker's "outputs" event from its file. Throws Error if the file is incomplete.
std::vector<OutputTensor> load_outputs(const base::JsonValue& event);
// Mean relative error of each output, Σ|got − reference| / Σ|reference|; the worst one decides.
documents::Verification compare_outputs(const std::vector<OutputTensor>& got,
                                        const std::vector<OutputTensor>& reference, double threshold);

// The worker of the backend cmd: runs any command, timed as a whole process or by the times that it prints. Speaks the
// workers' protocol on standard input and output until told to quit. Returns the exit code.
int cmd_worker();

}  // namespace pagoda::tools::bench
