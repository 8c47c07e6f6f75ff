// pagoda-bench: runs and times real models.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <sstream>

#include "arguments.h"
#include "conv_command.h"
#include "machine_state.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/files.h"
#include "pagoda/base/text.h"
#include "pagoda/lab/result_report.h"
#include "pagoda/lab/study.h"
#include "pagoda/present/spell.h"
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
  if (error) throw Error(cat("/proc/self/exe: ", error.message(), "; expected the path of this program: mount /proc"));
  return path.string();
}

RunOptions run_options(const Arguments& arguments, const lab::ExperimentLimits& limits, const std::string& folder) {
  RunOptions options{.limits = limits,
                     .folder = std::filesystem::absolute(folder).string(),
                     .threshold = arguments.threshold,
                     .prints_workers = arguments.prints_workers,
                     .metadata = metadata()};
  // Nine tenths of memory: the rest is for the system and the runner, which must still write the record.
  if (options.limits.memory_bytes == 0)
    options.limits.memory_bytes = std::min(usable_bytes(), allocated_bytes().value_or(usable_bytes())) / 10 * 9;
  return options;
}

// "LABEL: why it is not run".
std::string unsupported_text(const lab::UnsupportedExperiment& each) {
  return cat(base::printable(documents::config_label(each.config)), ": ",
             base::printable(present::command_line(each.reason)), "\n");
}

int list(const PlanFile& plan) {
  for (const documents::Experiment& e : plan.experiments)
    std::cout << e.key << "  " << base::printable(documents::config_label(e.config)) << '\n';
  for (const lab::UnsupportedExperiment& u : plan.unsupported) std::cout << "unsupported  " << unsupported_text(u);
  std::cout << plan.experiments.size() << " experiments, " << plan.unsupported.size() << " unsupported\n";
  return kDone;
}

// Prints what does not run. Throws Error if nothing is left.
void require_experiments(const PlanFile& plan) {
  for (const lab::UnsupportedExperiment& u : plan.unsupported)
    std::cerr << "pagoda-bench: not run: " << unsupported_text(u);
  if (plan.experiments.empty()) throw Error("there is nothing to run; --list says what was asked for");
}

std::set<std::string> retry_of(const Arguments& arguments) { return {arguments.retry.begin(), arguments.retry.end()}; }

// Runs the experiments of a plan that have no record; false: interrupted.
bool run_experiments(const PlanFile& plan, const Arguments& arguments, StudyOptions options, const std::string& work) {
  watch_interrupts();
  options.folder = arguments.folder;
  options.retry = retry_of(arguments);
  options.run = run_options(arguments, plan.limits, arguments.folder + work);
  return run_study(plan, workers(plan.backends, arguments.python, arguments.worker_scripts, self()), options);
}

// The records as a table; empty if none has a time.
std::string times_text(const documents::ResultSet& records) {
  constexpr std::size_t kMostRows = 40;
  std::vector<documents::Result> timed;
  std::ranges::copy_if(records.results, std::back_inserter(timed),
                       [](const documents::Result& r) { return r.status == documents::ResultStatus::Ok && r.timing; });
  return timed.empty() ? "" : lab::times_report(timed, lab::ReportFormat::Text, "", kMostRows) + "\n";
}

// Runs the experiments without a record, then prints the plan's progress and results.
int run_plan(const PlanFile& plan, const Arguments& arguments) {
  const bool is_done = run_experiments(plan, arguments, {.resume = arguments.resume}, "/work");
  const documents::ResultSet results = records_of(plan, arguments.folder);
  std::cout << times_text(results) << status_text(plan, results);
  if (!is_done) {
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

int run_command(const Arguments& arguments) {
  PlanFile plan = lab::plan_file(arguments.study, arguments.selection);
  if (arguments.dry_run && !arguments.folder.empty() && arguments.resume) {
    const std::set<std::string> done = recorded_keys(arguments.folder, retry_of(arguments));
    std::erase_if(plan.experiments, [&](const documents::Experiment& e) { return done.contains(e.key); });
  }
  if (arguments.list || arguments.dry_run) return list(plan);
  require_experiments(plan);
  std::filesystem::create_directories(arguments.folder);
  base::write_file(arguments.folder + "/plan.json", write_plan(plan));
  return run_plan(plan, arguments);
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
    Session session(all.at(backend), {.limits = {.seconds = 300}, .folder = "", .metadata = {}});
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
  const std::string folder = keeps
                                 ? arguments.folder + "/work"
                                 : (std::filesystem::temp_directory_path() / cat("pagoda-bench-", ::getpid())).string();
  const std::optional<documents::Result> result =
      run_experiment(experiment, workers(arguments.study.backends, arguments.python, arguments.worker_scripts, self()),
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
    throw Error(cat("--index: found ", index, ", the plan has ", plan.experiments.size(), " experiments, from 0"));
  plan.experiments = {plan.experiments[index]};
  const bool is_done = run_experiments(
      plan, arguments, {.results = cat("results-", index, ".jsonl"), .grace_seconds = in_slurm() ? kGraceSeconds : 0},
      cat("/work/", index));
  return is_done ? kDone : kInterrupted;
}

int submit_command(const Arguments& arguments) {
  const PlanFile plan = lab::plan_file(arguments.study, arguments.selection);
  if (arguments.list) return list(plan);
  require_experiments(plan);
  const std::string folder =
      std::filesystem::absolute(arguments.folder.empty() ? "." : arguments.folder).lexically_normal().string();
  SlurmOptions options = arguments.slurm;
  options.start_folder = std::filesystem::current_path().string();
  options.command = {self(), "--python", arguments.python, "--worker-scripts",
                     std::filesystem::absolute(arguments.worker_scripts).lexically_normal().string()};
  std::ostringstream threshold;
  threshold << arguments.threshold;
  options.task_options = {"--threshold", threshold.str()};
  for (const std::string& status : arguments.retry)
    options.task_options.insert(options.task_options.end(), {"--retry", status});
  const std::set<std::string> recorded = recorded_keys(folder, retry_of(arguments));
  std::vector<std::int64_t> left;
  for (std::size_t i = 0; i < plan.experiments.size(); ++i)
    if (!recorded.contains(plan.experiments[i].key)) left.push_back(static_cast<std::int64_t>(i));
  if (arguments.dry_run) {
    for (const SlurmArray& array : split_arrays(left, max_array_size()))
      std::cout << array_script(array, plan, folder, options);
    return kDone;
  }
  const std::vector<SlurmArray> arrays = submit(plan, left, folder, options);
  if (arrays.empty()) std::cout << "nothing to submit: every experiment has its record or is queued\n";
  for (const SlurmArray& array : arrays)
    std::cout << "job " << array.job << ": " << array.tasks.size() << " experiments\n";
  return kDone;
}

int worker_command(const Arguments& arguments) {
  if (arguments.worker == "cmd") return cmd_worker();
  if (arguments.worker == "conv") return conv::conv_worker(std::cin, std::cout);
  throw Error("there is no built-in worker \"" + arguments.worker + "\"");
}

int status_command(const Arguments& arguments) {
  const PlanFile plan = lab::load_plan(arguments.folder);
  std::cout << status_text(plan, records_of(plan, arguments.folder));
  if (const std::vector<SlurmArray> arrays = load_submission(arguments.folder); !arrays.empty())
    std::cout << slurm_text(arrays, plan, recorded_keys(arguments.folder, {}));
  return kDone;
}

struct Command {
  std::string_view name;
  int (*run)(const Arguments&);  // returns the exit code and throws Error
};
constexpr Command kCommands[] = {
    {"run", run_command},       {"resume", resume_command}, {"list-models", list_models_command},
    {"one", one_command},       {"task", task_command},     {"submit", submit_command},
    {"status", status_command}, {"worker", worker_command}};

int run(int argc, char** argv) {
  // These subcommands parse their own options.
  if (argc > 1 && std::string_view(argv[1]) == "conv") return conv::conv_command(argc - 1, argv + 1);
  if (argc > 1 && std::string_view(argv[1]) == "matmul") return conv::matmul_command(argc - 1, argv + 1);
  const std::optional<Arguments> arguments = parse_arguments(argc, argv);
  if (!arguments) return kDone;
  const auto* command = std::ranges::find(kCommands, arguments->command, &Command::name);
  if (command == std::end(kCommands)) throw UsageError(arguments->command + ": expected it as the first argument");
  return command->run(*arguments);
}

}  // namespace
}  // namespace pagoda::tools::bench

int main(int argc, char** argv) {
  return pagoda::tools::run_tool("pagoda-bench", argc, argv, pagoda::tools::bench::run);
}
