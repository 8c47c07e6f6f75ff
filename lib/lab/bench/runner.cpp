// Reads and writes plan.json, starts the program that runs it, and times functions in this process.
#include "pagoda/lab/runner.h"

#include <chrono>
#include <cstdlib>
#include <filesystem>

#include "pagoda/base/cat.h"
#include "pagoda/base/files.h"
#include "pagoda/base/process.h"
#include "pagoda/base/text.h"
#include "pagoda/base/timing.h"
#include "pagoda/documents/archive.h"

namespace pagoda::lab {
namespace {

namespace members = documents::members;

constexpr const char* kPlanSchema = "pagoda.plan/1";

std::string program_of(const StudyRunOptions& options) {
  if (!options.program.empty()) return options.program;
  const char* named = std::getenv("PAGODA_BENCH");
  return named && *named ? named : "pagoda-bench";
}

// Throws Error for lists of models and the device auto, which only the command line resolves.
void refuse_unresolved(const Study& study) {
  for (const std::vector<Axis>& block : study.blocks)
    for (const auto& [name, values] : block)
      for (const base::Setting& value : values) {
        const auto* text = std::get_if<std::string>(&value);
        if (!text) continue;
        if (name == "model" && (text->starts_with("suite:") || text->ends_with(".txt")))
          throw Error(cat("model: found the list ", *text,
                          ", which only the command line pagoda-bench run takes; name its models"));
        if (name == "device" && *text == "auto")
          throw Error(
              "device: found auto, which only the command line pagoda-bench run takes; name cpu, cuda or another");
      }
}

template <typename A>
void plan_members(A& a, typename A::template Ref<PlanFile> x) {
  for (const char* key : {"name", "limits", "backends", "experiments", "unsupported"}) a.required(key);
  a("name", x.name);
  a.object("limits", members::Layout::Line, [&](A& inner) {
    inner.need("seconds", x.limits.seconds);
    inner.need("memory_bytes", x.limits.memory_bytes);
  });
  a.object("backends", members::Layout::Block, [&](A& inner) { inner.entries(x.backends); });
  a.list("experiments", x.experiments, [](A& inner, typename A::template Ref<documents::Experiment> each) {
    inner.required("config");
    inner.need("key", each.key);
    inner.settings("config", each.config);
  });
  a.list("unsupported", x.unsupported, [](A& inner, typename A::template Ref<UnsupportedExperiment> each) {
    inner.required("config");
    inner.settings("config", each.config);
    inner.need("reason", each.reason);
  });
}

}  // namespace

// Plain: a double must not be read back as an integer, or its experiment would get a different key.
std::string write_plan(const PlanFile& plan) {
  return members::write(kPlanSchema, plan, plan_members<members::Writer>, base::JsonWriter::Style::Plain);
}

PlanFile load_plan(const std::string& folder) {
  const std::string path = folder + "/plan.json", expected = "expected the folder that pagoda-bench run -o wrote";
  const base::JsonDocument document = base::parse_json(base::read_text(path, expected.substr(9)), path, expected);
  if (document.schema() != kPlanSchema) throw Error(cat(path, ": expected schema ", kPlanSchema));
  PlanFile plan;
  members::read(document.root(), plan, plan_members<members::Reader>);
  return plan;
}

PlanFile plan_file(const Study& study, const StudySelection& selection) {
  StudyPlan plan = expand(study);
  select_experiments(plan, selection);
  return {.name = study.name,
          .experiments = run_order(plan, study),
          .unsupported = std::move(plan.unsupported),
          .limits = study.limits,
          .backends = study.backends};
}

StudyRun run_study(const Study& study, const StudyRunOptions& options) {
  refuse_unresolved(study);
  const PlanFile file = plan_file(study, options.selection);
  StudyRun run{.results = {}, .unsupported = file.unsupported};
  if (file.experiments.empty()) return run;
  std::filesystem::create_directories(options.folder);
  base::write_file(options.folder + "/plan.json", write_plan(file));
  const std::string program = program_of(options);
  std::vector<std::string> words = {program, "resume", options.folder};
  if (!options.retry.empty())
    words.insert(words.end(), {"--retry", base::joined(options.retry, ",", [](documents::ResultStatus status) {
                                 return std::string(documents::to_string(status));
                               })});
  const base::Output output = [&] {
    try {
      return base::run_and_capture(words);
    } catch (const base::CannotStart& error) {
      throw Error(cat(error.what(),
                      "; install pagoda-bench beside the other programs or on the PATH, or name it in PAGODA_BENCH"));
    }
  }();
  std::map<std::string, documents::Result> records;
  for (documents::Result& result : documents::load_results(options.folder).results)
    records.insert_or_assign(result.key, std::move(result));
  for (const documents::Experiment& experiment : file.experiments) {
    const auto found = records.find(experiment.key);
    if (found == records.end())
      throw Error(cat(program, " resume ", options.folder, " ", to_string(output.end), " without a record of ",
                      documents::config_label(experiment.config), ": ", output.err));
    run.not_ok += found->second.status != documents::ResultStatus::Ok;
    run.results.push_back(found->second);
  }
  return run;
}

documents::Result time_function(documents::Config config, const std::function<void()>& function,
                                const FunctionOptions& options) {
  using Clock = std::chrono::steady_clock;
  const auto seconds_since = [](Clock::time_point then) {
    return std::chrono::duration<double>(Clock::now() - then).count();
  };
  const Clock::time_point start = Clock::now();
  config.try_emplace("backend", "function");
  documents::Result result;
  result.key = documents::config_key(config);
  result.config = std::move(config);
  result.metadata["time"] = base::utc_now();
  result.timing = base::time_runs(
      [&](std::int64_t runs) {
        std::vector<double> seconds;
        for (std::int64_t i = 0; i < runs; ++i) {
          const Clock::time_point begin = Clock::now();
          function();
          seconds.push_back(seconds_since(begin));
        }
        return seconds;
      },
      options.timing);
  result.clock = "steady";
  result.items = options.items;
  result.wall_seconds = seconds_since(start);
  return result;
}

}  // namespace pagoda::lab
