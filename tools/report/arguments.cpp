#include "arguments.h"

#include <CLI/CLI.hpp>
#include <cmath>

#include "pagoda/base/number.h"
#include "pagoda/base/text.h"
#include "tool.h"
#include "units.h"

namespace pagoda::tools {
namespace {

constexpr const char* kExamples = R"(Examples:
  pagoda-report table out --where test=eval,accelerator=cuda         times, throughput, memory, energy
  pagoda-report table out -o batch.svg                               latency and throughput over the batch
  pagoda-report csv out -o tidy.csv                                  a row an experiment
  pagoda-report csv out --columns layers -o resnet50_layers.csv      in the columns of older tables
  pagoda-report csv out --columns calibration --machine h200 -o runs.csv    what pagoda-calibrate fits to
  pagoda-report compare main branch                                  exit 3 where something is slower beyond noise
  pagoda-report compare out --base compile=eager --new compile=inductor -o gain.html
  pagoda-report latest january february -o curve.svg                 sorted speed-ups and the correctness gap
  pagoda-report history january february march -o history.html
  pagoda-report measured out --key 4f1c -o measured.json             for roofline-plot
  pagoda-report measured out --where model=resnet50 -o runs.json     for onnx-estimate --sweep batch=1,8 --measured runs.json
  pagoda-report modes orin.csv --slow-down 5% -o modes.svg           which power mode saves energy, and at what price
  pagoda-report explain out --base compile=eager --new compile=inductor --models models/skeletons
RESULTS is a results.jsonl, or a folder of them. What FILE ends in gives the format: csv, svg, png, html; else text.
Exit codes: 0 done, 1 unusable input, 2 usage, 3 slower beyond noise or no longer running (compare).)";

// Converts "5%" to 0.05; returns an error message, or an empty text.
std::string percent(std::string& text) {
  const bool is_percent = text.ends_with('%');
  const auto value = base::parse_number<double>(std::string_view(text).substr(0, text.size() - (is_percent ? 1 : 0)));
  if (!value || !std::isfinite(*value) || *value < 0) return text + ": expected 0 or more, as 0.05 or 5%";
  text = base::shortest(is_percent ? *value / 100 : *value);
  return {};
}

}  // namespace

std::optional<ReportArguments> parse_report(int argc, char** argv) {
  CLI::App app("Tables, comparisons, histories and reasons from results of pagoda-bench.", "pagoda-report");
  app.set_version_flag("--version", "pagoda-report " PAGODA_VERSION);
  app.footer(kExamples);
  app.require_subcommand(1);
  ReportArguments flags;
  const auto command = [&](const char* name, const char* help, int most) {
    CLI::App* sub = app.add_subcommand(name, help);
    sub->add_option("RESULTS", flags.inputs, "results.jsonl, or a folder of them")->required()->expected(1, most);
    sub->add_option(
           "--where", flags.where,
           "only records with AXIS=VALUE,…; accelerator=NAME is a device or a part of its name, test=train|eval "
           "the mode")
        ->expected(1);
    sub->add_option("-o,--output", flags.output, "file to write, whole or not at all (default: standard output)");
    return sub;
  };
  const auto with_title = [&](CLI::App* sub) { sub->add_option("--title", flags.title, "of pictures and pages"); };
  const auto with_sets = [&](CLI::App* sub) {
    sub->add_option("--base", flags.base, "only records with AXIS=VALUE,… as base");
    sub->add_option("--new", flags.now, "only records with AXIS=VALUE,… as new");
    sub->add_option("--without", flags.compare.without, "axes that do not tell configurations apart")->delimiter(',');
  };
  with_title(command(
      "table", "times, throughput, memory and energy of each configuration; svg, png, html: over the batch", 1000));
  CLI::App* csv_command = command("csv", "a row a record", 1000);
  csv_command->add_option("--columns", flags.columns, std::string(lab::kResultColumnNames))->capture_default_str();
  csv_command->add_option("--models", flags.models, "join the structure of NAME.onnx in this folder as columns");
  csv_command->add_option("--machine", flags.machine, "calibration: the device as onnx-estimate --device takes it");
  CLI::App* compare_command = command("compare", "two sets: speed-ups, intervals, what is slower beyond noise", 2);
  with_sets(compare_command);
  with_title(compare_command);
  compare_command->add_option("--tolerance", flags.compare.tolerance, "changes below this are none")
      ->transform(in(base::Measure::Share))
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  compare_command
      ->add_option("--false-alarm", flags.compare.false_alarm,
                   "probability of calling anything slower where nothing changed")
      ->transform(in(base::Measure::Share))
      ->check(CLI::Range(1e-9, 0.5))
      ->capture_default_str();
  compare_command->add_flag("--no-gate", flags.no_gate, "exit 0 all the same");
  for (CLI::App* sub : {command("latest", "sorted speed-ups and correctness of the newest of each series", 1000),
                        command("history", "speed-ups over time: geometric mean and percentiles", 1000)}) {
    sub->add_option("--baseline", flags.baseline, "oldest, the name of a snapshot, or AXIS=VALUE,…")
        ->capture_default_str();
    with_title(sub);
  }
  command("measured", "one record with its layers as pagoda.measured/1, or all as whole runs", 1)
      ->add_option("--key", flags.key, "the beginning of one record's key (default: all, as whole runs)");
  CLI::App* explain_command = command("explain", "which structure goes with speed: ranks, correlations, a tree", 2);
  with_sets(explain_command);
  with_title(explain_command);
  explain_command->add_option("--models", flags.models, "folder of NAME.onnx for models known by name only");
  explain_command->add_option("--depth", flags.explain.depth, "of the tree")->check(CLI::Range(1, 8));
  explain_command->add_option("--leaf", flags.explain.smallest_leaf, "models in a leaf at least")
      ->check(CLI::Range(1, 100));
  CLI::App* modes_command =
      app.add_subcommand("modes", "which power mode: the front of time and energy, the best within a limit");
  modes_command
      ->add_option("RUNS", flags.inputs, "table of power modes, or pagoda.measured/1 with runs that have joules")
      ->required()
      ->expected(1);
  modes_command->add_option("--where", flags.where, "only runs with SETTING=VALUE,…, like batch=8")->expected(1);
  modes_command->add_option("-o,--output", flags.output,
                            "file to write, whole or not at all (default: standard output)");
  modes_command
      ->add_option("--slow-down", flags.slow_down,
                   "how much longer than the fastest mode a run may take, as 0.05 or 5%")
      ->transform(CLI::Validator(percent, "PART"))
      ->capture_default_str();
  modes_command->add_option("--same", flags.same, "settings that do not define a mode")
      ->delimiter(',')
      ->capture_default_str();
  with_title(modes_command);
  if (!parse(app, argc, argv)) return std::nullopt;
  flags.command = app.get_subcommands().front()->get_name();
  return flags;
}

}  // namespace pagoda::tools
