// Turns flags and studies into one description of what to run.
#include "arguments.h"

#include "cuda_driver.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/files.h"
#include "pagoda/base/number.h"
#include "pagoda/base/text.h"
#include "pagoda/lab/axes.h"
#include "pagoda/lab/model_sizes.h"
#include "system_files.h"
#include "tool.h"
#include "units.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <sstream>

namespace pagoda::tools::bench {
namespace {

using base::Measure, base::Setting, lab::Axis;

constexpr const char* kExamples = R"(Examples:
  pagoda-bench run resnet50.onnx --backend ort --batch 1,8 --optimization disable,all -o out
      ONNX Runtime at two levels of optimisation and two batches
  pagoda-bench run resnet50 bert-base-uncased --backend torch --compile eager,inductor --repeat 3 -o out
      models of torchvision and transformers with random weights, three rounds in random order
  pagoda-bench run study.toml -o out --quick        about ten experiments that show every value of every axis
  pagoda-bench run study.toml -o out                the rest: what has a record does not run again
  pagoda-bench run --backend cmd --command './net --batch {batch}' --batch 1,2 -o out
      any command, timed as a whole; --set 'pattern=([0-9.]+) ms' --set scale=0.001 reads the times that it prints
  pagoda-bench run suite:timm --backend torch --compile eager,inductor -o out
      a list of models: torchvision, timm, huggingface, or names in FILE.txt; --list-models prints what there is
  pagoda-bench status out
  pagoda-bench submit --slurm study.toml -o SHARED --partition gpu --gpus-per-task 1 --max-parallel 8
      the same study as a job array of Slurm in a folder that all hosts share; --dry-run prints the script
  pagoda-bench one --config '{"backend":"ort","model_file":"net.onnx","batch":1}'

Results are out/results.jsonl, a line of pagoda.result/1 each; a table of them is printed, pagoda-report makes others.
A model without weights (a skeleton) runs on random ones.
Exit codes: 0 done, 1 unusable input, 2 usage, 3 some experiments are not ok (--strict),
4 no Slurm to submit to, 130 interrupted.)";

struct AxisFlag {
  const char* flag;
  const char* axis;
  const char* help;
};
// clang-format off
constexpr AxisFlag kAxisFlags[] = {
    {"--backend",      "backend",      "ort, torch, jax, cmd, conv, or one of --worker"},
    {"--mode",         "mode",         "inference, training"},
    {"--device",       "device",       "cpu, cuda, cuda:1, tensorrt, mps; auto: cuda where the driver has a device, else cpu"},
    {"--dtype",        "dtype",        "float32, float16, bfloat16"},
    {"--compile",      "compile",      "torch: eager, inductor, aot_eager, cudagraphs, trace, openxla, lazy"},
    {"--optimization", "optimization", "ort: disable, basic, extended, all"},
    {"--algorithm",    "algorithm",    "conv: reference, auto, direct, gemm, winograd, …"},
    {"--optimizer",    "optimizer",    "training: sgd, adam, adamw"},
    {"--threads",      "threads",      "of the processor (default: the framework's choice)"},
    {"--data",         "data",         "folder of images, of folders of images (ImageNet's classes), or of .npz files for inputs (default: synthetic)"},
    {"--batch",        "batch",        "batch sizes, also where an ONNX file fixes the batch: lists and ranges, like 1,2,4..64 (default: what the file fixes, else 1)"},
    {"--sequence",     "sequence",     "lengths of sequences"},
    {"--input-size",   "input_size",   "sides of images, 64,96..256, or HEIGHTxWIDTH"},
};
// clang-format on

// true, false, an integer, a number, or a text.
Setting plain(const std::string& text) {
  if (text == "true" || text == "false") return text == "true";
  if (const auto integer = base::parse_number<std::int64_t>(text)) return *integer;
  if (const auto real = base::parse_number<double>(text)) return *real;
  return text;
}

// The values of an axis, given by one or several flags.
std::vector<Setting> axis_values(const AxisFlag& flag, const std::vector<std::string>& given) {
  try {
    return lab::bench::axis_values(*lab::bench::find_axis(flag.axis), base::joined(given, ","));
  } catch (const Error& error) {
    throw CLI::ValidationError(flag.flag, error.what());
  }
}

// Splits "NAME=VALUE".
std::pair<std::string, std::string> named(const std::string& text, const char* flag) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    throw CLI::ValidationError(flag, "found \"" + text + "\", expected NAME=VALUE");
  return {text.substr(0, equals), text.substr(equals + 1)};
}

std::string environment(const char* name, const std::string& otherwise) {
  const char* value = std::getenv(name);
  return value && *value ? value : otherwise;
}

// The source folder if it exists, else ../share next to the program, else the install folder.
std::string scripts_folder() {
  std::error_code error;
  const std::string beside =
      (std::filesystem::read_symlink("/proc/self/exe", error).parent_path() / "../share/pagoda/workers").string();
  for (const std::string& folder : {std::string(PAGODA_WORKERS_SOURCE), beside, std::string(PAGODA_WORKERS_INSTALLED)})
    if (std::filesystem::exists(folder + "/ort_worker.py", error)) return folder;
  return PAGODA_WORKERS_INSTALLED;
}

// The options of `run`, before they are turned into a study.
struct RunFlags {
  std::vector<std::string> targets, sets, workers, dims, inputs;
  std::vector<std::vector<std::string>> axes{std::size(kAxisFlags)};
  std::string command;
  std::optional<std::int64_t> repeats, seed, runs, warmup_runs;
  std::optional<double> budget, half_width, warmup, timeout, memory;
  bool layers = false, verify = false, sanity = false, quick = false, full = false, list_models = false;
};

// A dim may be named like an axis of sizes, which then is it.
void add_dim(const std::string& name, const std::string& list, std::vector<Axis>& block,
             std::map<std::string, std::vector<Setting>>& options) {
  const lab::bench::AxisRow* axis = lab::bench::find_axis(name);
  if ((axis != nullptr && axis->type == lab::bench::AxisType::Text) || !documents::is_axis(name))
    throw CLI::ValidationError("--dim", "\"" + name + "\" has a meaning of its own; set the sizes by --input");
  std::vector<Setting> sizes;
  for (const std::string& item : base::split(list, ",")) {
    const auto size = base::parse_number<std::int64_t>(item);
    if (!size || *size < 0)
      throw CLI::ValidationError("--dim", "found \"" + name + "=" + list + "\", expected NAME=V or NAME=V,V…");
    sizes.emplace_back(*size);
  }
  if (axis == nullptr) {
    std::ranges::move(sizes, std::back_inserter(options[name]));
    return;
  }
  if (std::ranges::find(block, axis->name, &Axis::first) != block.end())
    throw CLI::ValidationError("--dim", cat("\"", name, "\" is also given as an axis; give one"));
  block.emplace_back(axis->name, std::move(sizes));
}

lab::Study study_of_flags(const RunFlags& flags) {
  lab::Study study;
  study.name = "command line";
  std::vector<Axis> block;
  if (!flags.targets.empty()) block.push_back({"model", {flags.targets.begin(), flags.targets.end()}});
  for (std::size_t i = 0; i < std::size(kAxisFlags); ++i)
    if (!flags.axes[i].empty()) block.emplace_back(kAxisFlags[i].axis, axis_values(kAxisFlags[i], flags.axes[i]));
  if (!flags.command.empty()) block.push_back({"command", {flags.command}});
  std::map<std::string, std::vector<Setting>> options;
  for (const std::string& text : flags.sets) {
    const auto [name, value] = named(text, "--set");
    options[name].push_back(plain(value));
  }
  for (const std::string& text : flags.dims) {
    const auto [name, list] = named(text, "--dim");
    add_dim(name, list, block, options);
  }
  for (const std::string& text : flags.inputs) {
    const auto [name, shape] = named(text, "--input");
    options[cat(lab::bench::kInputSetting, name)].push_back(shape);
  }
  for (auto& [name, values] : options) block.emplace_back(name, std::move(values));
  study.blocks.push_back(std::move(block));
  return study;
}

// Options common to `run` and `submit`.
void add_study(CLI::App& run, RunFlags& flags, Arguments& arguments) {
  run.add_option("TARGET", flags.targets,
                 "models (ONNX files, names as --list-models has them, suite:NAME, FILE.txt with names), or one study");
  for (std::size_t i = 0; i < std::size(kAxisFlags); ++i)
    run.add_option(kAxisFlags[i].flag, flags.axes[i], kAxisFlags[i].help)->allow_extra_args(false);
  run.add_option("--dim", flags.dims,
                 "NAME=V: size of a dim that an ONNX file leaves open; lists multiply (repeatable)")
      ->allow_extra_args(false);
  run.add_option("--input", flags.inputs,
                 "NAME=AxBxC: whole shape of an input, also where the file fixes it (repeatable)")
      ->allow_extra_args(false);
  run.add_option("--command", flags.command, "cmd: what to run; {batch} and other axes are replaced");
  run.add_option("--set", flags.sets, "NAME=VALUE: an option of the backend; given again: another value of the axis");
  run.add_option("--worker", flags.workers, "NAME=COMMAND: a backend of your own (see the workers' README)");
  run.add_option("--repeat", flags.repeats, "rounds, each in a random order of its own")->check(CLI::PositiveNumber);
  run.add_option("--seed", flags.seed, "of the order, inputs and weights")->check(CLI::PositiveNumber);
  auto* budget = run.add_option("--budget", flags.budget, "seconds of measured runs, an experiment")
                     ->transform(in(Measure::Seconds))
                     ->check(CLI::PositiveNumber);
  auto* half_width =
      run.add_option("--half-width", flags.half_width, "stop when the median's interval is this narrow, as a fraction")
          ->transform(in(Measure::Share))
          ->check(CLI::PositiveNumber);
  auto* warmup = run.add_option("--warmup", flags.warmup, "seconds of warm-up at most")
                     ->transform(in(Measure::Seconds))
                     ->check(CLI::NonNegativeNumber);
  run.add_option("--runs", flags.runs, "exactly N measured runs")
      ->excludes(budget)
      ->excludes(half_width)
      ->check(CLI::PositiveNumber);
  run.add_option("--warmup-runs", flags.warmup_runs, "exactly N runs of warm-up, the first call included")
      ->excludes(warmup)
      ->check(CLI::PositiveNumber);
  run.add_option("--timeout", flags.timeout, "seconds of wall time for an experiment")
      ->transform(in(Measure::Seconds))
      ->check(CLI::PositiveNumber);
  run.add_option("--memory-limit", flags.memory,
                 "resident bytes of an experiment, like 8GiB (default: 9/10 of what there is)")
      ->transform(in(Measure::Bytes))
      ->check(CLI::Range(1.0, 9e18).description(""));
  run.add_flag("--layers", flags.layers, "measure layers, too, after the whole");
  run.add_flag("--verify", flags.verify, "hold outputs against a reference run");
  auto* sanity = run.add_flag("--sanity", flags.sanity, "one experiment");
  auto* quick = run.add_flag("--quick", flags.quick, "about ten that show every value of every axis")->excludes(sanity);
  run.add_flag("--full", flags.full, "all (default)")->excludes(sanity)->excludes(quick);
  run.add_option("--filter", arguments.selection.filter, "only experiments whose label holds this expression");
  run.add_option("--exclude", arguments.selection.exclude, "none whose label holds this expression");
  auto* list =
      run.add_flag("--list", arguments.list, "print the experiments, and those unsupported with their reasons");
  run.add_flag("--dry-run", arguments.dry_run,
               "print what would run now, without what has a record; submit: the script")
      ->excludes(list);
  run.add_option("-o,--output", arguments.folder, "folder of results");
}

// Options common to all commands that run a plan: plan.json does not store them.
void add_plan_options(CLI::App& run, Arguments& arguments) {
  run.add_option("--threshold", arguments.threshold, "mean relative error that --verify allows")
      ->transform(in(Measure::Share))
      ->capture_default_str();
  run.add_option("--retry", arguments.retry, "run again records of these statuses: failed,timeout,…")
      ->delimiter(',')
      ->check(CLI::IsMember({"ok", "failed", "timeout", "out_of_memory", "killed", "not_available"}));
}

// Options common to `run` and `resume`.
void add_run_options(CLI::App& run, Arguments& arguments) {
  add_plan_options(run, arguments);
  run.add_flag("--strict", arguments.strict, "exit 3 where an experiment is not ok");
  run.add_flag("--print-subprocess", arguments.prints_workers, "show what the workers print, on standard error");
}

void add_slurm(CLI::App& submit, SlurmOptions& slurm) {
  submit.add_flag("--slurm")->description("as job arrays of Slurm, by sbatch")->required();
  submit.add_option("--partition", slurm.partition, "where the tasks run");
  submit.add_option("--account", slurm.account, "who pays");
  submit.add_option("--gpus-per-task", slurm.gpus_per_task, "number of GPUs, or TYPE:NUMBER");
  submit.add_option("--time", slurm.time, "Slurm's limit for a task (default: --timeout and 5 minutes)");
  submit.add_option("--max-parallel", slurm.max_parallel, "tasks of an array at once")->check(CLI::PositiveNumber);
  submit.add_option("--sbatch-option", slurm.more, "any other of sbatch, like constraint=a100 (repeatable)")
      ->check([](const std::string& text) {
        const std::size_t begin = text.starts_with("--") ? 2 : 0;
        const std::string name = text.substr(begin, text.find('=') - begin);
        const auto fits = [](unsigned char c) { return std::isalnum(c) || c == '-'; };
        return !name.empty() && std::ranges::all_of(name, fits)
                   ? std::string()
                   : "found \"" + text + "\", expected NAME or NAME=VALUE of an option of sbatch";
      });
}

// The models of a list: a file with one name per line, or a suite installed with the workers. "#" starts a comment.
// Paths of ONNX files are relative to the list.
std::vector<Setting> models_of_list(const std::string& name, const std::string& scripts) {
  constexpr std::string_view kSuite = "suite:";
  std::string path = name;
  if (name.starts_with(kSuite)) {
    path = scripts + "/suites/" + name.substr(kSuite.size()) + ".txt";
    std::error_code error;
    if (!std::filesystem::exists(path, error))
      throw Error(cat(name, ": no such suite; there are ", base::joined(suite_names(scripts)),
                      ", and FILE.txt with a name a line"));
  }
  std::istringstream lines(base::read_text(path, "names of models, one a line", base::Reads::Text));
  std::vector<Setting> models;
  for (std::string line; std::getline(lines, line);)
    if (const std::vector<std::string> found = words(line.substr(0, line.find('#'))); !found.empty())
      models.emplace_back(found[0].ends_with(".onnx") ? (std::filesystem::path(path).parent_path() / found[0]).string()
                                                      : found[0]);
  if (models.empty()) throw Error(path + ": found no names of models, expected one a line");
  return models;
}

// Replaces lists of models by their models, and the device "auto" by this host's device.
void resolve_values(lab::Study& study, const std::string& scripts, bool is_here) {
  for (std::vector<Axis>& block : study.blocks)
    for (auto& [name, values] : block) {
      std::vector<Setting> all;
      for (Setting& value : values) {
        const auto* text = std::get_if<std::string>(&value);
        if (name == "model" && text && (text->starts_with("suite:") || text->ends_with(".txt"))) {
          for (Setting& model : models_of_list(*text, scripts)) all.push_back(std::move(model));
        } else if (name == "device" && text && *text == "auto") {
          if (!is_here) throw CLI::ValidationError("--device", "auto is this host's, and tasks run on others: name it");
          all.emplace_back(automatic_device());
        } else {
          all.push_back(std::move(value));
        }
      }
      values = std::move(all);
    }
}

void finish_study(const RunFlags& flags, bool threshold_is_given, Arguments& arguments) {
  if (std::ranges::any_of(flags.targets, [](const std::string& target) { return target.ends_with(".toml"); })) {
    if (flags.targets.size() > 1) throw CLI::ValidationError("TARGET", "a study runs alone, without other targets");
    for (std::size_t i = 0; i < std::size(kAxisFlags); ++i)
      if (!flags.axes[i].empty())
        throw CLI::ValidationError(kAxisFlags[i].flag, "the study's lists say that; use --filter");
    arguments.study = lab::load_study(flags.targets[0]);
  } else {
    arguments.study = study_of_flags(flags);
    const auto& block = arguments.study.blocks[0];
    if (std::ranges::find(block, "backend", &Axis::first) == block.end())
      throw CLI::ValidationError("--backend", "say what is to run the models: ort, torch, cmd, conv");
  }
  lab::Study& study = arguments.study;
  for (const std::string& text : flags.workers) {
    const std::pair<std::string, std::string> worker = named(text, "--worker");
    std::vector<std::string>& command = study.backends[worker.first];
    command = words(worker.second);
    if (command.empty()) throw CLI::ValidationError("--worker", worker.first + ": expected a command");
    const auto runs = [&](const Axis& axis) {
      return axis.first == "backend" && std::ranges::count(axis.second, Setting(worker.first)) > 0;
    };
    const auto has_run = [&](const std::vector<Axis>& block) { return std::ranges::any_of(block, runs); };
    if (std::ranges::none_of(study.blocks, has_run))
      throw CLI::ValidationError("--worker", worker.first + ": no --backend of this name runs it");
  }
  if (flags.repeats) study.repeats = *flags.repeats;
  if (flags.seed) study.seed = *flags.seed;
  if (flags.budget) study.measure.budget_seconds = *flags.budget;
  if (flags.half_width) study.measure.half_width = *flags.half_width;
  if (flags.warmup) study.measure.warmup_seconds = *flags.warmup;
  // With a fixed number of runs, the time budget does not apply, only the experiment's limit.
  if (flags.runs) study.measure.min_iterations = study.measure.max_iterations = *flags.runs;
  if (flags.warmup_runs) study.measure.warmup_iterations = *flags.warmup_runs;
  if (flags.timeout) study.limits.seconds = *flags.timeout;
  if (flags.memory) study.limits.memory_bytes = static_cast<std::int64_t>(*flags.memory);
  study.layers |= flags.layers;
  study.verify |= flags.verify;
  if (flags.sanity) arguments.selection.stage = lab::StudyStage::Sanity;
  if (flags.quick) arguments.selection.stage = lab::StudyStage::Quick;
  if (threshold_is_given && !study.verify)
    throw UsageError("--threshold needs --verify, whose errors it judges, here or in the study");
  if (arguments.folder.empty() && !arguments.list && !arguments.dry_run)
    throw CLI::ValidationError("--output", "say where results go: -o DIR");
}

}  // namespace

std::vector<std::string> suite_names(const std::string& worker_scripts) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(worker_scripts + "/suites", error))
    names.push_back(entry.path().stem().string());
  std::ranges::sort(names);
  return names;
}

std::optional<Arguments> parse_arguments(int argc, char** argv) {
  Arguments arguments;
  arguments.python = environment("PAGODA_PYTHON", "python3");
  arguments.worker_scripts = environment("PAGODA_WORKERS", scripts_folder());
  CLI::App app("Runs models on engines and frameworks, each experiment in a process of its own, and never loses one.",
               "pagoda-bench");
  app.footer(kExamples);
  app.set_version_flag("--version", "pagoda-bench " PAGODA_VERSION);
  app.require_subcommand(1);
  app.add_option("--python", arguments.python, "Python with the frameworks (default: $PAGODA_PYTHON or python3)");
  app.add_option("--worker-scripts", arguments.worker_scripts, "folder of ort_worker.py and torch_worker.py");
  app.fallthrough();
  RunFlags flags;
  CLI::App* run = app.add_subcommand("run", "run a study, or what the flags describe");
  add_study(*run, flags, arguments);
  auto* no_resume = run->add_flag("--no-resume{false}", arguments.resume, "run again what has a record");
  run->add_flag("--list-models", flags.list_models, "print the names that --backend takes (default: torch and jax)");
  add_run_options(*run, arguments);
  no_resume->excludes(run->get_option("--retry"));
  CLI::App* submit = app.add_subcommand("submit", "submit a study, or what the flags describe, to a cluster");
  add_study(*submit, flags, arguments);
  add_plan_options(*submit, arguments);
  add_slurm(*submit, arguments.slurm);
  app.add_subcommand("status", "how far a study is")->add_option("DIR", arguments.folder, "its folder")->required();
  CLI::App* resume = app.add_subcommand("resume", "go on with a folder's plan");
  resume->add_option("DIR", arguments.folder, "its folder")->required();
  add_run_options(*resume, arguments);
  CLI::App* one = app.add_subcommand("one", "run one experiment here and print its record");
  one->add_option("--config", arguments.config, "JSON, as --list and records have it")->required();
  one->add_option("-o,--output", arguments.folder, "folder whose results it joins");
  one->add_flag("--print-subprocess", arguments.prints_workers, "show what the worker prints, on standard error");
  one->add_option("--timeout", arguments.study.limits.seconds, "seconds of wall time")
      ->transform(in(Measure::Seconds))
      ->check(CLI::PositiveNumber);
  CLI::App* worker = app.add_subcommand("worker", "be the worker of a built-in backend");
  worker->add_option("NAME", arguments.worker, "cmd, conv")->required();
  worker->group("");
  app.add_subcommand("conv", "convolutions of models, layer by layer, over algorithms (see conv --help)");
  app.add_subcommand("matmul", "matrix products over libraries (see matmul --help)");
  CLI::App* task = app.add_subcommand("task", "run one experiment of a folder's plan, as a task of a cluster");
  task->add_option("DIR", arguments.folder, "the folder")->required();
  task->add_option("--index", arguments.task, "of the experiment in plan.json")
      ->required()
      ->check(CLI::NonNegativeNumber);
  add_plan_options(*task, arguments);
  if (!parse(app, argc, argv)) return std::nullopt;
  refuse_beside(*run, "--list-models", {"--backend"});
  if (flags.list_models) {
    arguments.listed = {"torch", "jax"};
    if (!flags.axes[0].empty()) {
      arguments.listed.clear();
      for (const Setting& backend : axis_values(kAxisFlags[0], flags.axes[0]))
        arguments.listed.push_back(base::setting_text(backend));
    }
    arguments.command = "list-models";
    return arguments;
  }
  if (*run || *submit) {
    finish_study(flags, (*run ? run : submit)->count("--threshold") > 0, arguments);
    resolve_values(arguments.study, arguments.worker_scripts, run->parsed());
  }
  arguments.command = app.get_subcommands().front()->get_name();
  return arguments;
}

}  // namespace pagoda::tools::bench
