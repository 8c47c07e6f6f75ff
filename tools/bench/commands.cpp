#include "commands.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <iostream>
#include <sstream>

#include "machine_state.h"
#include "pagoda/base/files.h"
#include "pagoda/base/text.h"
#include "pagoda/lab/result_report.h"
#include "pagoda/lab/study.h"
#include "pagoda/present/report.h"
#include "process.h"
#include "session.h"
#include "study_run.h"
#include "tool.h"

namespace pagoda::tools::bench {
namespace {

constexpr int kInterrupted = 130;  // a shell's code for SIGINT
// Slurm ends the processes of a job almost simultaneously.
constexpr double kGraceSeconds = 3;

// This program, which runs each experiment in a process of its own.
std::string self() {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) throw Error("/proc/self/exe: " + error.message() + "; expected the path of this program: mount /proc");
  return path.string();
}

RunOptions run_options(const Arguments& arguments, const lab::ExperimentLimits& limits,
                       const std::string& folder) {
  RunOptions options;
  options.limits = limits;
  // Nine tenths of memory: the rest is for the system and the runner, which must still write the record.
  if (options.limits.memory_bytes == 0)
    options.limits.memory_bytes = std::min(usable_bytes(), allocated_bytes().value_or(usable_bytes())) / 10 * 9;
  options.folder = std::filesystem::absolute(folder).string();
  options.threshold = arguments.threshold;
  options.metadata = metadata();
  options.prints_workers = arguments.prints_workers;
  return options;
}

void list(const lab::StudyPlan& plan, const std::vector<documents::Experiment>& experiments) {
  for (const documents::Experiment& e : experiments)
    std::cout << e.key << "  " << base::printable(documents::config_label(e.config)) << '\n';
  for (const lab::UnsupportedExperiment& u : plan.unsupported)
    std::cout << "unsupported  " << base::printable(documents::config_label(u.config)) << ": "
              << base::printable(u.reason) << '\n';
  std::cout << experiments.size() << " experiments, " << plan.unsupported.size() << " unsupported\n";
}

PlanFile plan_to_run(const Arguments& arguments, const lab::StudyPlan& plan,
                     std::vector<documents::Experiment> experiments) {
  for (const lab::UnsupportedExperiment& u : plan.unsupported)
    std::cerr << "pagoda-bench: not run: " << base::printable(documents::config_label(u.config)) << ": "
              << base::printable(u.reason) << '\n';
  if (experiments.empty()) throw Error("there is nothing to run; --list says what was asked for");
  return lab::plan_file(arguments.study, plan, std::move(experiments));
}

lab::Study backends_of(const PlanFile& plan) {
  lab::Study study;
  for (const auto& [name, command] : plan.backends) study.backends[name].command = command;
  return study;
}

// The plan's records as a table; empty if none has a time.
std::string times_text(const PlanFile& plan, const documents::ResultSet& set) {
  constexpr std::size_t kMostRows = 40;
  std::set<std::string> keys;
  for (const documents::Experiment& e : plan.experiments) keys.insert(e.key);
  std::vector<documents::Result> timed;
  for (const documents::Result& r : set.results)
    if (keys.contains(r.key) && r.status == documents::ResultStatus::Ok && r.timing) timed.push_back(r);
  return timed.empty() ? "" : lab::times_report(timed, lab::ReportFormat::Text, "", kMostRows) + "\n";
}

// Runs the experiments without a record, then prints the plan's progress and results.
int run_plan(const PlanFile& plan, const Arguments& arguments) {
  watch_interrupts();
  const StudyOutcome outcome =
      run_study(plan, workers(backends_of(plan), arguments.python, arguments.worker_scripts, self()),
                {.folder = arguments.folder,
                 .resume = arguments.resume,
                 .retry = {arguments.retry.begin(), arguments.retry.end()},
                 .run = run_options(arguments, plan.limits, arguments.folder + "/work")});
  const documents::ResultSet results = documents::load_results(arguments.folder);
  std::cout << times_text(plan, results) << status_text(plan, results);
  if (outcome.interrupted) {
    std::cerr << "pagoda-bench: interrupted; the same command goes on\n";
    return kInterrupted;
  }
  const lab::StudyStatus status = lab::study_status(plan.experiments, results);
  if (status.ok == 0 && status.total > 0) {
    std::cerr << "pagoda-bench: none of " << status.total << " experiments gave a time; " << arguments.folder
              << "/results.jsonl says why of each\n";
    return kPartial;
  }
  return arguments.strict && status.ok < status.total ? kPartial : kDone;
}

std::string text_of(double number) {
  std::ostringstream text;
  text << number;
  return text.str();
}

}  // namespace

int run_command(const Arguments& arguments) {
  lab::StudyPlan plan = lab::expand(arguments.study);
  lab::select_experiments(plan, arguments.selection);
  std::vector<documents::Experiment> experiments = lab::run_order(plan, arguments.study);
  if (arguments.list) {
    list(plan, experiments);
    return kDone;
  }
  if (arguments.dry_run) {
    if (!arguments.folder.empty() && arguments.resume) {
      const std::set<std::string> done =
          recorded_keys(arguments.folder, {arguments.retry.begin(), arguments.retry.end()});
      std::erase_if(experiments, [&](const documents::Experiment& e) { return done.contains(e.key); });
    }
    list(plan, experiments);
    return kDone;
  }
  const PlanFile file = plan_to_run(arguments, plan, std::move(experiments));
  std::filesystem::create_directories(arguments.folder);
  base::write_file(arguments.folder + "/plan.json", write_plan(file));
  return run_plan(file, arguments);
}

int resume_command(const Arguments& arguments) { return run_plan(lab::load_plan(arguments.folder), arguments); }

int list_models_command(const Arguments& arguments) {
  const Workers all = workers({}, arguments.python, arguments.worker_scripts, self());
  bool has_any = false;
  for (const std::string& backend : arguments.listed) {
    std::cout << "# " << backend << '\n';
    if (backend != "torch" && backend != "jax") {
      std::cout << "# takes ONNX files, or what its command does\n";
      has_any = true;
      continue;
    }
    Session session(all.commands.at(backend), {.seconds = 300});
    try {
      const JsonValue answer = session.ask(request("models"), "models");
      const base::JsonDocument document(backend + "'s models", answer);
      for (const std::string& name : document.root().texts("models")) std::cout << base::printable(name) << '\n';
      session.finish(false);
      has_any = true;
    } catch (const Ended& ended) {
      session.finish(true);
      std::cout << "# " << base::printable(ended.message.empty() ? "its worker did not answer" : ended.message) << '\n';
    }
  }
  for (const std::string& name : suite_names(arguments.worker_scripts)) std::cout << "suite:" << name << '\n';
  return has_any ? kDone : kUnusable;
}

int one_command(const Arguments& arguments) {
  documents::Experiment experiment;
  experiment.config = documents::parse_config(arguments.config, "--config");
  if (const auto reason = lab::unsupported_reason(experiment.config, arguments.study)) throw Error(*reason);
  experiment.key = documents::config_key(experiment.config);
  watch_interrupts();
  const bool keeps = !arguments.folder.empty();
  const std::string folder =
      keeps ? arguments.folder + "/work"
            : (std::filesystem::temp_directory_path() / ("pagoda-bench-" + std::to_string(::getpid()))).string();
  const std::optional<documents::Result> result =
      run_experiment(experiment, workers(arguments.study, arguments.python, arguments.worker_scripts, self()),
                     run_options(arguments, arguments.study.limits, folder));
  if (!keeps) std::filesystem::remove_all(folder);
  if (!result) return kInterrupted;
  if (keeps) documents::append_result(arguments.folder + "/results.jsonl", *result);
  std::cout << documents::write_result(*result) << '\n';
  return result->status == documents::ResultStatus::Ok ? kDone : kPartial;
}

// One task of a cluster: runs the experiment with that index and writes its record to a separate file, so hosts need no
// lock on the shared folder. A task that already has its record does nothing.
int task_command(const Arguments& arguments) {
  PlanFile plan = lab::load_plan(arguments.folder);
  const auto index = static_cast<std::size_t>(arguments.task);
  if (index >= plan.experiments.size())
    throw Error("--index: found " + std::to_string(index) + ", the plan has " +
                std::to_string(plan.experiments.size()) + " experiments, from 0");
  plan.experiments = {plan.experiments[index]};
  watch_interrupts();
  const StudyOutcome outcome =
      run_study(plan, workers(backends_of(plan), arguments.python, arguments.worker_scripts, self()),
                {.folder = arguments.folder,
                 .results = "results-" + std::to_string(index) + ".jsonl",
                 .retry = {arguments.retry.begin(), arguments.retry.end()},
                 .grace_seconds = in_slurm() ? kGraceSeconds : 0,
                 .run = run_options(arguments, plan.limits, arguments.folder + "/work/" + std::to_string(index))});
  return outcome.interrupted ? kInterrupted : kDone;
}

int submit_command(const Arguments& arguments) {
  lab::StudyPlan plan = lab::expand(arguments.study);
  lab::select_experiments(plan, arguments.selection);
  std::vector<documents::Experiment> experiments = lab::run_order(plan, arguments.study);
  if (arguments.list) {
    list(plan, experiments);
    return kDone;
  }
  const PlanFile file = plan_to_run(arguments, plan, std::move(experiments));
  const std::string folder =
      std::filesystem::absolute(arguments.folder.empty() ? "." : arguments.folder).lexically_normal().string();
  SlurmOptions options = arguments.slurm;
  options.start_folder = std::filesystem::current_path().string();
  options.command = {self(), "--python", arguments.python, "--worker-scripts",
                     std::filesystem::absolute(arguments.worker_scripts).lexically_normal().string()};
  options.task_options = {"--threshold", text_of(arguments.threshold)};
  for (const std::string& status : arguments.retry) {
    options.task_options.push_back("--retry");
    options.task_options.push_back(status);
  }
  const std::vector<bool> recorded = has_record(file, folder, {arguments.retry.begin(), arguments.retry.end()});
  std::vector<std::int64_t> left;
  for (std::size_t i = 0; i < recorded.size(); ++i)
    if (!recorded[i]) left.push_back(static_cast<std::int64_t>(i));
  if (arguments.dry_run) {
    for (const SlurmArray& array : split_arrays(left, max_array_size()))
      std::cout << array_script(array, file, folder, options);
    return kDone;
  }
  const std::vector<SlurmArray> arrays = submit(file, left, folder, options);
  if (arrays.empty()) std::cout << "nothing to submit: every experiment has its record or is queued\n";
  for (const SlurmArray& array : arrays)
    std::cout << "job " << array.job << ": " << array.tasks.size() << " experiments\n";
  return kDone;
}

int status_command(const Arguments& arguments) {
  const PlanFile plan = lab::load_plan(arguments.folder);
  std::cout << status_text(plan, documents::load_results(arguments.folder));
  if (const std::vector<SlurmArray> arrays = load_submission(arguments.folder); !arrays.empty())
    std::cout << slurm_text(arrays, has_record(plan, arguments.folder, {}));
  return kDone;
}

}  // namespace pagoda::tools::bench
