// The command line of pagoda-bench.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pagoda/lab/study.h"
#include "slurm.h"

namespace pagoda::tools::bench {

struct Arguments {
  std::string command;  // "run", "resume" …
  lab::Study study;
  lab::StudySelection selection;
  bool list = false, dry_run = false, strict = false, resume = true;
  bool prints_workers = false;  // run, resume, one: also copy the workers' output to standard error
  std::vector<std::string> retry;
  double threshold = 0.02;
  std::string folder;               // of results
  std::string python;               // runs ort and torch
  std::string worker_scripts;       // folder of their scripts
  std::string config;               // of the command `one`
  std::string worker;               // of the command `worker`
  std::vector<std::string> listed;  // run --list-models: the backends
  std::int64_t task = 0;            // of the command `task`
  SlurmOptions slurm;               // of the command `submit`
};

// Names of the model lists installed with the workers, sorted, without "suite:".
std::vector<std::string> suite_names(const std::string& worker_scripts);

// Empty after --help or --version. Throws UsageError, CLI::ParseError, or Error for an invalid study.
std::optional<Arguments> parse_arguments(int argc, char** argv);

}  // namespace pagoda::tools::bench
