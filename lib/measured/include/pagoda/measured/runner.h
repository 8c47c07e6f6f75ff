// Studies run from a program, and functions of its own measured like them.
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
// run_study() starts the program pagoda-bench, which must be installed or named; it may be called again on the same
// folder and then runs what has no record.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pagoda/documents/result.h"
#include "pagoda/measured/study.h"

#pragma GCC visibility push(default)
namespace pagoda::measured {

// plan.json of a study's folder, schema pagoda.plan/1: what resume, status and cluster tasks read.
struct PlanFile {
  std::string name;
  std::vector<documents::Experiment> experiments;  // in the order in which they run
  std::vector<UnsupportedExperiment> unsupported;
  ExperimentLimits limits;
  std::map<std::string, std::vector<std::string>> backends;  // the user's
};
std::string write_plan(const PlanFile& plan);
// Throws Error.
PlanFile load_plan(const std::string& folder);
// The plan of a study that is already expanded and put into an order.
PlanFile plan_file(const Study& study, const StudyPlan& plan, std::vector<documents::Experiment> experiments);

struct StudyRunOptions {
  std::string folder;        // of results; made where it is missing
  std::string program = {};  // empty: $PAGODA_BENCH, else pagoda-bench on the PATH
  StudySelection selection = {};
  std::vector<documents::ResultStatus> retry = {};  // records that are run again, as if there were none
};

struct StudyRun {
  std::vector<documents::Result> results;  // of the study, in the order of its plan
  std::vector<UnsupportedExperiment> unsupported;
  std::size_t not_ok = 0;  // results without a time
};

// Throws Error where the program cannot be started, or ended before every experiment had its record.
StudyRun run_study(const Study& study, const StudyRunOptions& options);

struct FunctionOptions {
  base::TimingOptions timing = {};
  std::optional<double> items = std::nullopt;  // that one call handles; throughput is items / p50
};
// Calls `function` until its time is known, by the steady clock of this process. `config` says what it is, as records
// do: "model", "backend" (here "function" unless given), "batch" … What `function` throws comes through.
documents::Result time_function(documents::Config config, const std::function<void()>& function,
                                const FunctionOptions& options = {});

}  // namespace pagoda::measured
#pragma GCC visibility pop
