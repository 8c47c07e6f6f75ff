// One experiment: a worker is started, asked, timed, watched and ended; what came of it is a Result, whatever that was.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pagoda/documents/experiment.h"
#include "pagoda/documents/result.h"
#include "pagoda/measured/study.h"

namespace pagoda::tools::bench {

// How to start the workers of backends.
struct Workers {
  std::map<std::string, std::vector<std::string>> commands;  // by backend
};
// The built-in ones and the study's. `python` runs ort and torch; `folder` holds their scripts; `self` is this program.
Workers workers(const measured::Study& study, const std::string& python, const std::string& folder,
                const std::string& self);

struct RunOptions {
  measured::ExperimentLimits limits;
  std::string folder;  // for files of workers and references; made where it is missing
  double threshold = 0.02;
  bool prints_workers = false;  // what workers print goes to standard error as well
  base::Settings metadata;
};

// Empty when it was interrupted: then there is no record.
std::optional<documents::Result> run_experiment(const documents::Experiment& experiment, const Workers& workers,
                                                const RunOptions& options);

// The run that outputs are held against: the same model, inputs, sizes and weights on the plainest path of the same
// framework. Empty where the backend has none.
std::optional<documents::Config> reference_config(const documents::Config& config);

}  // namespace pagoda::tools::bench
