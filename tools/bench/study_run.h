// A whole study: every experiment that has no record yet, one after the other, each record on the disk before the next
// begins. Whatever stops it, the same command goes on where it stopped.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "experiment_run.h"
#include "pagoda/documents/experiment.h"
#include "pagoda/documents/result.h"
#include "pagoda/measured/runner.h"

namespace pagoda::tools::bench {

using measured::PlanFile;

// One runner a folder and file of results. Held until it is destroyed, or the process dies.
class FolderLock {
 public:
  // Throws Error where another runner has it.
  FolderLock(const std::string& folder, const std::string& name);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int fd_;
};

struct StudyOptions {
  std::string folder;
  std::string results = "results.jsonl";  // in the folder; tasks of a cluster write one each
  bool resume = true;
  std::set<std::string> retry;  // statuses whose records are run again
  // How long to wait, after a worker ended of itself, for a signal to the runner: where a job is ended as a whole, the
  // worker may be the first to go, and that is not a result. 0: not at all.
  double grace_seconds = 0;
  RunOptions run;
};

struct StudyOutcome {
  std::int64_t ran = 0, skipped = 0, not_ok = 0;
  bool interrupted = false;
};

StudyOutcome run_study(const PlanFile& plan, const Workers& workers, const StudyOptions& options);

// Keys of the folder's records of a status other than `retry`: they do not run again.
std::set<std::string> recorded_keys(const std::string& folder, const std::set<std::string>& retry);
// The same by index in the plan.
std::vector<bool> has_record(const PlanFile& plan, const std::string& folder, const std::set<std::string>& retry);

// Lines for people.
std::string status_text(const PlanFile& plan, const documents::ResultSet& results);

}  // namespace pagoda::tools::bench
