// Runs studies from a program, and measures the program's own functions in the same way.
//
//   Study study = load_study("study.toml");
//   StudyRun run = run_study(study, {.folder = "out"});       // each experiment in a process of its own
//   run.results; run.not_ok; run.unsupported;                 // what pagoda-bench run -o out would leave
//
//   double total = 0;                                         // what your function does
//   documents::Result mine = time_function({{"model", "sum"}, {"batch", std::int64_t{8}}}, [&] { total += 1; },
//                                          {.items = 8});
//   mine.timing->latency.p50;                                 // warmed up, repeated until the interval is narrow
//   documents::append_result("out/results.jsonl", mine);      // pagoda-report reads it beside the others
//
// run_study() starts the program pagoda-bench, which must be installed or named. A second call on the same folder runs
// only experiments without a record.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pagoda/documents/result.h"
#include "pagoda/lab/study.h"

#pragma GCC visibility push(default)
namespace pagoda::lab {

// plan.json of a study's folder, schema pagoda.plan/1; read by resume, status and cluster tasks.
struct PlanFile {
  std::string name;
  std::vector<documents::Experiment> experiments;  // in execution order
  std::vector<UnsupportedExperiment> unsupported;
  ExperimentLimits limits;
  std::map<std::string, std::vector<std::string>> backends;  // the user's
};
std::string write_plan(const PlanFile& plan);
// Throws Error.
PlanFile load_plan(const std::string& folder);
// The plan file of a study: expanded, selected and ordered. Throws Error.
PlanFile plan_file(const Study& study, const StudySelection& selection = {});

struct StudyRunOptions {
  std::string folder;        // folder of results; created if missing
  std::string program = {};  // empty: $PAGODA_BENCH, else pagoda-bench on the PATH
  StudySelection selection = {};
  std::vector<documents::ResultStatus> retry = {};  // statuses whose experiments run again, as if they had no record
};

struct StudyRun {
  std::vector<documents::Result> results;  // of the study, in plan order
  std::vector<UnsupportedExperiment> unsupported;
  std::size_t not_ok = 0;  // results without a time
};

// Throws Error if the program cannot be started, or ends before every experiment has a record.
StudyRun run_study(const Study& study, const StudyRunOptions& options);

struct FunctionOptions {
  base::TimingOptions timing = {};
  std::optional<double> items = std::nullopt;  // per call; throughput is items / p50
};
// Calls `function` until its time is known, by the steady clock of this process. `config` describes it, as in records:
// "model", "backend" (default "function"), "batch" … Exceptions of `function` propagate.
documents::Result time_function(documents::Config config, const std::function<void()>& function,
                                const FunctionOptions& options = {});

}  // namespace pagoda::lab
#pragma GCC visibility pop
