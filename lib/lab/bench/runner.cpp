// Reads and writes plan.json, starts the program that runs it, and times functions in this process.
#include "pagoda/lab/runner.h"

#include <chrono>
#include <cstdlib>
#include <filesystem>

#include "pagoda/base/cat.h"
#include "pagoda/base/files.h"
#include "pagoda/base/json.h"
#include "pagoda/base/json_writer.h"
#include "pagoda/base/process.h"
#include "pagoda/base/text.h"
#include "pagoda/base/timing.h"

namespace pagoda::lab {
namespace {

using base::JsonField;
using base::JsonWriter;

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

}  // namespace

std::string write_plan(const PlanFile& plan) {
  // Plain: a double must not be read back as an integer, or its experiment would get a different key.
  JsonWriter json(JsonWriter::Style::Plain);
  const auto line = JsonWriter::Layout::Line;
  json.begin_object().member("schema", kPlanSchema).member("name", plan.name);
  json.key("limits").begin_object(line).member("seconds", plan.limits.seconds);
  json.member("memory_bytes", plan.limits.memory_bytes).end_object();
  json.key("backends").begin_object();
  for (const auto& [name, command] : plan.backends) json.member(name, command);
  json.end_object().key("experiments").begin_array();
  for (const documents::Experiment& e : plan.experiments)
    json.begin_object(line).member("key", e.key).member("config", e.config).end_object();
  json.end_array().key("unsupported").begin_array();
  for (const UnsupportedExperiment& u : plan.unsupported)
    json.begin_object(line).member("config", u.config).member("reason", u.reason).end_object();
  json.end_array().end_object();
  return std::move(json).text();
}

PlanFile load_plan(const std::string& folder) {
  const std::string path = folder + "/plan.json", expected = "expected the folder that pagoda-bench run -o wrote";
  const base::JsonDocument document = base::parse_json(base::read_file(path, expected.substr(9)), path, expected);
  const JsonField root = document.root();
  if (document.schema() != kPlanSchema) throw Error(path + ": expected schema " + kPlanSchema);
  PlanFile plan;
  plan.name = root.text("name");
  const JsonField limits = root.at("limits");
  plan.limits = {limits.at("seconds").amount(), limits.at("memory_bytes").integer()};
  for (const auto& [name, command] : root.at("backends").members()) plan.backends[name] = command.texts();
  for (const JsonField& e : root.array("experiments"))
    plan.experiments.push_back({e.at("key").text(), e.at("config").settings()});
  for (const JsonField& u : root.array("unsupported"))
    plan.unsupported.push_back({u.at("config").settings(), u.at("reason").text()});
  return plan;
}

PlanFile plan_file(const Study& study, const StudyPlan& plan, std::vector<documents::Experiment> experiments) {
  return {.name = study.name,
          .experiments = std::move(experiments),
          .unsupported = plan.unsupported,
          .limits = study.limits,
          .backends = study.backends};
}

StudyRun run_study(const Study& study, const StudyRunOptions& options) {
  refuse_unresolved(study);
  StudyPlan plan = expand(study);
  select_experiments(plan, options.selection);
  const PlanFile file = plan_file(study, plan, run_order(plan, study));
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
