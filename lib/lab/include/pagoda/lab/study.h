// Studies and experiments: what to measure, determined before anything runs.
//
//   Study study = load_study("study.toml");
//   StudyPlan plan = expand(study);               // the cross product of what is supported
//   plan.unsupported;                             // the rest, each with the reason
//   select_experiments(plan, {.filter = "resnet50.*batch=1"});
//   for (const Experiment& run : run_order(plan, study)) …   // repeats interleaved, each round in another random order
//
// A study in TOML: lists multiply, a single value is a list of one. Axes at the top apply to every [[experiments]].
//
//   repeats = 3
//   batch = [1, 8]
//   [models]
//   resnet50 = { onnx = "resnet50.onnx", named = "resnet50" }   # the file for engines of ONNX, the name for frameworks
//   [[experiments]]
//   model = "resnet50"
//   backend = "ort"
//   optimization = ["disable", "all"]
//   [[experiments]]
//   model = ["resnet50", "vit_b_16"]
//   backend = "torch"
//   compile = ["eager", "inductor"]
//   [measure]
//   budget_seconds = 5
//   [limits]
//   seconds = 300
//   memory = "8GiB"
//
// Axes are model, backend, mode, device, dtype, batch, sequence, input_size, compile, optimization, algorithm, threads,
// data, command, optimizer, and any name under [experiments.options]. An axis that a backend does not have does not
// multiply its experiments: ONNX Runtime has no `compile`.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pagoda/base/error.h"
#include "pagoda/base/timing.h"
#include "pagoda/documents/result.h"

#pragma GCC visibility push(default)
namespace pagoda::lab {

// The forms of a model; empty: none. A study's model without an entry in [models] is a file if its name ends in .onnx,
// else a name.
struct ModelForms {
  std::string onnx;   // path
  std::string named;  // as torchvision or transformers spell it
};

struct ExperimentLimits {
  double seconds = 600;           // wall time of one experiment
  std::int64_t memory_bytes = 0;  // resident, total over all its processes; 0: no limit
};

using Axis = std::pair<std::string, std::vector<base::Setting>>;

struct Study {
  std::string name;
  std::vector<std::vector<Axis>> blocks;  // one cross product each, axes in the order of kAxes, options last
  std::map<std::string, ModelForms> models;
  // The user's: commands that speak the workers' protocol (tools/bench/workers/README.md).
  std::map<std::string, std::vector<std::string>> backends;
  base::TimingOptions measure;
  ExperimentLimits limits;
  std::int64_t repeats = 1;
  std::int64_t seed = 1;  // for the order, inputs and weights
  bool layers = false;    // also measure layers, after the whole model
  bool verify = false;    // compare outputs with a reference run
};

// Throws Error; `subject` names the text in it. Paths are relative to `folder`.
Study parse_study(std::string_view toml, std::string_view subject, const std::string& folder = "");
Study load_study(const std::string& path);

struct UnsupportedExperiment {
  documents::Config config;
  std::string reason;
};

struct StudyPlan {
  std::vector<documents::Experiment> experiments;  // unique keys
  std::vector<UnsupportedExperiment> unsupported;  // never run
};

// The reason why a config cannot run; empty if it can.
using SupportCheck = std::function<std::optional<std::string>(const documents::Config&)>;

// Checks a config against the axes and values of the built-in backends; user backends accept everything.
std::optional<std::string> unsupported_reason(const documents::Config& config, const Study& study);

// Hashes each model file once. `also` is called if the built-in table has no objection. Experiments are repeat 0;
// run_order() adds further repeats.
StudyPlan expand(const Study& study, const SupportCheck& also = {});

// Sanity: one experiment. Quick: up to ten, which cover as many values of the axes as possible. Full: all.
enum class StudyStage : std::uint8_t { Sanity, Quick, Full };

struct StudySelection {
  std::string filter = "", exclude = "";  // ECMAScript regular expressions, searched in config_label(); empty: none
  StudyStage stage = StudyStage::Full;
};
// Throws Error for an expression that is not valid.
void select_experiments(StudyPlan& plan, const StudySelection& selection);

// Every repeat of every experiment, in rounds, each in its own random order, so that a slow period of the machine
// affects all experiments alike. The order depends only on the seed, not on the machine.
std::vector<documents::Experiment> run_order(const StudyPlan& plan, const Study& study);

// Progress of a study.
struct StudyStatus {
  std::int64_t total = 0, ok = 0, left = 0;
  std::map<std::string, std::int64_t> not_ok;  // by status
  // sum over experiments left of the median wall time of finished ones with the same model and backend, or of all
  // finished ones; empty: none finished
  std::optional<double> seconds_left;
};
StudyStatus study_status(const std::vector<documents::Experiment>& experiments, const documents::ResultSet& done);

}  // namespace pagoda::lab
#pragma GCC visibility pop
