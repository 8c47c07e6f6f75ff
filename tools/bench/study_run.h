// Runs every experiment of a study that has no record yet, one after the other, and writes each record to disk before
// the next begins. If the study is stopped, the same command continues it.
#pragma once

#include <set>
#include <string>

#include "experiment_run.h"
#include "pagoda/documents/result.h"
#include "pagoda/lab/runner.h"

namespace pagoda::tools::bench {

using lab::PlanFile;

struct StudyOptions {
  std::string folder = {};
  std::string results = "results.jsonl";  // in the folder; each task of a cluster writes its own
  bool resume = true;
  std::set<std::string> retry = {};  // run experiments again whose records have these statuses
  // How long to wait for a signal to the runner after a worker failed or was killed: if a whole job is being ended, the
  // worker may die first, and its failure is not a result. 0: do not wait.
  double grace_seconds = 0;
  RunOptions run = {};
};

// False if interrupted. Throws Error if another runner writes the same results.
bool run_study(const PlanFile& plan, const Workers& workers, const StudyOptions& options);

// Keys of the folder's records whose status is not in `retry`: these experiments do not run again.
std::set<std::string> recorded_keys(const std::string& folder, const std::set<std::string>& retry);
// The folder's records of the plan's experiments.
documents::ResultSet records_of(const PlanFile& plan, const std::string& folder);

// The state of the study as text, from its records.
std::string status_text(const PlanFile& plan, const documents::ResultSet& results);

}  // namespace pagoda::tools::bench
