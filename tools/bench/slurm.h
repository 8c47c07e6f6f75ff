// Runs a study as Slurm job arrays: one array task per experiment, each running `pagoda-bench task` in a folder shared
// by all hosts. Slurm does queueing, limits, placement and requeueing. A task that already has its record does nothing,
// so it may be requeued or submitted again at any time.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "study_run.h"

namespace pagoda::tools::bench {

struct SlurmOptions {
  std::string partition, account, gpus_per_task;
  std::string time;                       // in sbatch's format; empty: from an experiment's limit
  std::int64_t max_parallel = 0;          // tasks of an array at once; 0: as many as Slurm starts
  std::vector<std::string> more;          // further options of sbatch: "constraint=a100", "exclusive"
  std::vector<std::string> command;       // pagoda-bench with the options before `task`
  std::vector<std::string> task_options;  // options after `task`
  std::string start_folder;               // the tasks' working directory: base of relative model paths
};

// A job array: task t runs experiment `offset + t` of plan.json.
struct SlurmArray {
  std::string job;  // Slurm's number; empty before it is submitted
  std::int64_t offset = 0;
  std::vector<std::int64_t> tasks;  // sorted
};

// Splits experiments, given as sorted indices in the plan, into arrays with task numbers below `max_array_size`.
std::vector<SlurmArray> split_arrays(const std::vector<std::int64_t>& indices, std::int64_t max_array_size);
// Text of the job script. Throws Error if a value cannot be written in a script.
std::string array_script(const SlurmArray& array, const PlanFile& plan, const std::string& folder,
                         const SlurmOptions& options);

// The controller's MaxArraySize; if it does not answer, the documented default of slurm.conf.
std::int64_t max_array_size();

// The submitted arrays, from the folder's slurm.json (schema pagoda.slurm/1). Empty: nothing is submitted.
std::vector<SlurmArray> load_submission(const std::string& folder);

// Submits the experiments `left`, except those that are still queued: writes plan.json, passes one script per array to
// sbatch and updates slurm.json after each. Returns the new arrays. Throws Error with sbatch's message;
// its exit code is kNoDevice if Slurm is not installed or its controller does not answer.
std::vector<SlurmArray> submit(const PlanFile& plan, const std::vector<std::int64_t>& left, const std::string& folder,
                               const SlurmOptions& options);

// The state as text. `recorded`: keys of experiments that have a record.
std::string slurm_text(const std::vector<SlurmArray>& arrays, const PlanFile& plan,
                       const std::set<std::string>& recorded);

// Memory that Slurm allocated to this task on this node; empty outside Slurm, or if Slurm does not state it.
std::optional<std::int64_t> allocated_bytes();
bool in_slurm();

}  // namespace pagoda::tools::bench
