// A study as job arrays of Slurm: one experiment an array task, each running `pagoda-bench task` in a folder that all
// hosts share. Queues, limits, placement and requeueing are Slurm's; a task that has its record does nothing, so that
// it may be requeued, or submitted again, at any time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pagoda/base/error.h"
#include "study_run.h"
#include "tool.h"

namespace pagoda::tools::bench {

// Slurm's commands are not here, or its controller does not answer.
class NoSlurm : public ToolError {
 public:
  explicit NoSlurm(const std::string& message) : ToolError(kNoDevice, message) {}
};

struct SlurmOptions {
  std::string partition, account, gpus_per_task;
  std::string time;                       // as sbatch has it; empty: from the limit of an experiment
  std::int64_t max_parallel = 0;          // tasks of an array at once; 0: as many as Slurm starts
  std::vector<std::string> more;          // options of sbatch, "constraint=a100", "exclusive"
  std::vector<std::string> command;       // pagoda-bench with its options, before `task`
  std::vector<std::string> task_options;  // after it
  std::string start_folder;               // of the tasks: relative paths of models begin there
};

// A job array: experiment `offset + t` of plan.json for each of its tasks t.
struct SlurmArray {
  std::string job;  // Slurm's number; empty before it is submitted
  std::int64_t offset = 0;
  std::vector<std::int64_t> tasks;  // sorted
};

// Experiments, by index in the plan and sorted, in arrays whose largest task number is below `max_array_size`.
std::vector<SlurmArray> split_arrays(const std::vector<std::int64_t>& indices, std::int64_t max_array_size);
// "0-3,7".
std::string ranges(const std::vector<std::int64_t>& sorted);
// Throws Error where a value cannot stand in a script.
std::string array_script(const SlurmArray& array, const PlanFile& plan, const std::string& folder,
                         const SlurmOptions& options);

// MaxArraySize as the controller says; where it does not, slurm.conf's documented default.
std::int64_t max_array_size();

// What is submitted, from slurm.json of the folder, schema pagoda.slurm/1. Empty: nothing is.
std::vector<SlurmArray> load_submission(const std::string& folder);

// Writes plan.json and the scripts and hands them to sbatch; after each, slurm.json. Experiments that are still queued
// from before are left out, as are those with a record that is not of a status in plan's `retry`. Returns the arrays
// that are new. Throws NoSlurm, or Error with sbatch's words.
std::vector<SlurmArray> submit(const PlanFile& plan, const std::vector<std::int64_t>& left, const std::string& folder,
                               const SlurmOptions& options);

// State of one task.
struct SlurmTask {
  std::string state;  // "PENDING", "RUNNING", "COMPLETED", "FAILED", …
  std::string reason;
  std::int64_t restarts = 0;
};

// By index in the plan, from squeue, and from sacct what that has forgotten. `note`: what could not be read.
std::map<std::int64_t, SlurmTask> task_states(const std::vector<SlurmArray>& arrays, std::string& note);
bool is_queued(const SlurmTask& task);  // it will run, or runs

// Lines for people. `recorded`: by index in the plan.
std::string slurm_text(const std::vector<SlurmArray>& arrays, const std::vector<bool>& recorded);

// Memory that Slurm gave to this task on this node; empty outside Slurm, or where it does not say.
std::optional<std::int64_t> allocated_bytes();
bool in_slurm();

}  // namespace pagoda::tools::bench
