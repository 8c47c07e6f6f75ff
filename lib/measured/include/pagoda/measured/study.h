// Studies and experiments: what is to be measured, before anything runs.
//
//   Study study = load_study("study.toml");
//   StudyPlan plan = expand(study);               // the cross product of what is supported
//   plan.unsupported;                             // the rest, each with the reason
//   select_experiments(plan, {.filter = "resnet50.*batch=1"});
//   for (const Experiment& run : run_order(plan, study)) …   // repeats interleaved, each round in another random order
//
// A study in TOML: lists multiply, a single value is a list of one. Axes at the top hold for every [[experiments]].
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
// Axes are model, backend, mode, device, dtype, batch, sequence, input_size, compile, optimization, algorithm, threads
// and data, and any name under [experiments.options]. An axis that a backend does not have does not multiply its
// experiments: `compile` means nothing to ONNX Runtime.
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
#include "pagoda/documents/experiment.h"
#include "pagoda/documents/result.h"

#pragma GCC visibility push(default)
namespace pagoda::measured {

// The forms of a model; empty: there is none. A study's model without an entry in [models] is a file when its name
// ends in .onnx, and a name otherwise.
struct ModelForms {
  std::string onnx;   // path
  std::string named;  // as torchvision or transformers spell it
};

// A backend of the user: a command that speaks the workers' protocol (tools/bench/workers/README.md).
struct UserBackend {
  std::vector<std::string> command;
};

struct ExperimentLimits {
  double seconds = 600;           // of wall time, for one experiment
  std::int64_t memory_bytes = 0;  // resident, of all its processes together; 0: none
};

using Axis = std::pair<std::string, std::vector<base::Setting>>;

struct Study {
  std::string name;
  std::vector<std::vector<Axis>> blocks;  // each a cross product, axes in the order of the list above
  std::map<std::string, ModelForms> models;
  std::map<std::string, UserBackend> backends;
  base::TimingOptions measure;
  ExperimentLimits limits;
  std::int64_t repeats = 1;
  std::int64_t seed = 1;  // of the order, and of inputs and weights
  bool layers = false;    // measure layers, too, after the whole
  bool verify = false;    // hold outputs against a reference run
};

// Throws Error; `subject` names the text in it. Paths are relative to `folder`.
Study parse_study(std::string_view toml, std::string_view subject, const std::string& folder = "");
Study load_study(const std::string& path);

// "8GiB", "512MB", "1000000". Throws Error.
std::int64_t parse_bytes(std::string_view text, std::string_view subject);

struct UnsupportedExperiment {
  documents::Config config;
  std::string reason;
};

struct StudyPlan {
  std::vector<documents::Experiment> experiments;  // no key twice
  std::vector<UnsupportedExperiment> unsupported;  // never run
};

// Why a config cannot run, where it cannot; empty where it may.
using SupportCheck = std::function<std::optional<std::string>(const documents::Config&)>;

// Which axes and values the built-in backends have; user backends take everything.
std::optional<std::string> unsupported_reason(const documents::Config& config, const Study& study);

// Hashes each model's file once. `also` is asked where the built-in table has no objection. Experiments are of repeat
// 0; further repeats are made by run_order().
StudyPlan expand(const Study& study, const SupportCheck& also = {});

// Sanity: one experiment. Quick: about ten that show every value of every axis as far as ten can. Full: all.
enum class StudyStage : std::uint8_t { Sanity, Quick, Full };

struct StudySelection {
  std::string filter = "", exclude = "";  // ECMAScript regular expressions, searched in config_label(); empty: none
  StudyStage stage = StudyStage::Full;
};
// Throws Error for an expression that is not valid.
void select_experiments(StudyPlan& plan, const StudySelection& selection);

// Every repeat of every experiment: rounds, each in a random order of its own, so that a slow hour of the machine
// falls on all alike. The same for the same seed on every machine.
std::vector<documents::Experiment> run_order(const StudyPlan& plan, const Study& study);

// How far a study is.
struct StudyStatus {
  std::int64_t total = 0, ok = 0, left = 0;
  std::map<std::string, std::int64_t> not_ok;  // by status
  // left, each at the median wall time of finished ones of the same model and backend, or of all; empty: none is done
  std::optional<double> seconds_left;
};
StudyStatus study_status(const std::vector<documents::Experiment>& experiments, const documents::ResultSet& done);

}  // namespace pagoda::measured
#pragma GCC visibility pop
