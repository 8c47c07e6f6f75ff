// The command line of pagoda-bench.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pagoda/documents/experiment.h"
#include "pagoda/measured/study.h"
#include "slurm.h"

namespace pagoda::tools::bench {

enum class Command { Run, Resume, Status, One, Worker, Task, Submit, ListModels };

struct Arguments {
  Command command = Command::Run;
  measured::Study study;
  measured::StudySelection selection;
  bool list = false, dry_run = false, strict = false, resume = true;
  bool prints_workers = false;  // run, resume, one: what they print goes to standard error as well
  std::vector<std::string> retry;
  double threshold = 0.02;
  std::string folder;          // of results
  std::string python;          // runs ort and torch
  std::string worker_scripts;  // their folder
  std::string config;          // one
  std::string worker;          // worker
  std::vector<std::string> listed;  // run --list-models: the backends
  std::int64_t task = 0;       // task
  SlurmOptions slurm;          // submit
};

// The lists of models that come with the workers, in order, without "suite:".
std::vector<std::string> suite_names(const std::string& worker_scripts);

// Empty after --help or --version. Throws UsageError, CLI::ParseError, or Error where a study is none.
std::optional<Arguments> parse_arguments(int argc, char** argv);

}  // namespace pagoda::tools::bench
