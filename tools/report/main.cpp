// pagoda-report: what results of pagoda-bench say.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pagoda/core/analyze.h"
#include "pagoda/core/model.h"
#include "pagoda/core/structure.h"
#include "pagoda/documents/result.h"
#include "pagoda/present/report.h"
#include "pagoda/present/result_report.h"

namespace {

constexpr int kUnusableInput = 1, kUsage = 2, kRegressed = 3;

constexpr const char* kExamples = R"(Examples:
  pagoda-report csv out -o tidy.csv                                  a row an experiment
  pagoda-report csv out --columns layers -o resnet50_layers.csv      in the columns of older tables
  pagoda-report csv out --columns calibration --machine h200 -o runs.csv    what pagoda-calibrate fits to
  pagoda-report compare main branch                                  exit 3 where something is slower beyond noise
  pagoda-report compare out --base compile=eager --new compile=inductor -o gain.html
  pagoda-report latest january february -o curve.svg                 sorted speed-ups and the correctness gap
  pagoda-report history january february march -o history.html
  pagoda-report measured out --key 4f1c -o measured.json             for roofline-plot
  pagoda-report explain out --base compile=eager --new compile=inductor --models models/skeletons
RESULTS is a results.jsonl, or a folder of them. What FILE ends in gives the format: csv, svg, png, html; else text.
Exit codes: 0 done, 1 unusable input, 2 usage, 3 slower beyond noise or no longer running (compare).)";

struct Flags {
  std::vector<std::string> inputs;
  std::string output, title, columns = "tidy", baseline = "oldest", base, now, key, models, quantity, machine;
  pagoda::present::CompareOptions compare;
  pagoda::present::ExplainOptions explain;
  bool no_gate = false;
};

std::vector<pagoda::documents::Result> load(const std::string& path) {
  if (!std::filesystem::exists(path))
    throw pagoda::Error(path + ": is not there; expected a results.jsonl of pagoda-bench, or a folder of them");
  pagoda::documents::ResultSet set = pagoda::documents::load_results(path);
  if (set.results.empty())
    throw pagoda::Error(path + ": holds no results; expected lines of pagoda.result/1 as pagoda-bench run writes them");
  if (set.torn > 0) std::cerr << "pagoda-report: " << path << ": " << set.torn << " torn lines left out\n";
  return std::move(set.results);
}

std::string text_of(const pagoda::documents::Result& result, const std::string& axis) {
  pagoda::documents::Config one;
  if (const auto it = result.config.find(axis); it != result.config.end()) one[axis] = it->second;
  if (one.empty()) return {};
  const std::string text = pagoda::documents::label(one), prefix = axis + "=";
  return text.starts_with(prefix) ? text.substr(prefix.size()) : text;
}

std::string time_of(const pagoda::documents::Result& result) {
  const auto it = result.metadata.find("time");
  const auto* text = it == result.metadata.end() ? nullptr : std::get_if<std::string>(&it->second);
  return text ? *text : std::string();
}

// Records with the values of "AXIS=VALUE,…"; the axes' names are added to `axes`.
std::vector<pagoda::documents::Result> chosen(const std::vector<pagoda::documents::Result>& results,
                                              const std::string& conditions, std::vector<std::string>& axes) {
  std::vector<pagoda::documents::Result> list = results;
  for (std::size_t begin = 0; begin <= conditions.size();) {
    const std::size_t end = std::min(conditions.find(',', begin), conditions.size());
    const std::string part = conditions.substr(begin, end - begin);
    const std::size_t equals = part.find('=');
    if (equals == std::string::npos) throw pagoda::Error("\"" + part + "\": expected AXIS=VALUE, like compile=eager");
    const std::string axis = part.substr(0, equals), value = part.substr(equals + 1);
    axes.push_back(axis);
    std::erase_if(list, [&](const pagoda::documents::Result& r) { return text_of(r, axis) != value; });
    begin = end + 1;
  }
  if (list.empty()) throw pagoda::Error("\"" + conditions + "\": no record has these values");
  return list;
}

struct TwoSets {
  std::vector<pagoda::documents::Result> base, now;
};

// Two inputs, or two parts of one.
TwoSets two_sets(const Flags& flags, pagoda::present::CompareOptions& options) {
  TwoSets sets;
  if (flags.inputs.size() == 2) {
    sets = {load(flags.inputs[0]), load(flags.inputs[1])};
  } else {
    if (flags.base.empty() || flags.now.empty())
      throw pagoda::Error("with one set of results say what is compared: --base AXIS=VALUE and --new AXIS=VALUE");
    const std::vector<pagoda::documents::Result> all = load(flags.inputs[0]);
    sets = {all, all};
  }
  if (!flags.base.empty()) sets.base = chosen(sets.base, flags.base, options.without);
  if (!flags.now.empty()) sets.now = chosen(sets.now, flags.now, options.without);
  return sets;
}

pagoda::present::ReportFormat format_of(const std::string& path) {
  const std::string end = std::filesystem::path(path).extension().string();
  if (end == ".csv") return pagoda::present::ReportFormat::Csv;
  if (end == ".svg") return pagoda::present::ReportFormat::Svg;
  if (end == ".png") return pagoda::present::ReportFormat::Png;
  if (end == ".html") return pagoda::present::ReportFormat::Html;
  if (path.empty() || path == "-" || end == ".txt") return pagoda::present::ReportFormat::Text;
  throw pagoda::Error(path + ": no format \"" + end + "\"; expected .csv, .svg, .png, .html or .txt");
}

void put(const Flags& flags, const std::string& text) {
  if (!flags.output.empty() && flags.output != "-") return pagoda::base::write_file(flags.output, text);
  if (!(std::cout << text << std::flush)) throw pagoda::Error("standard output: cannot be written");
}

// Structure profiles of the models that the records name: their own files, or files of that name in --models.
pagoda::present::ModelFeatures features_of(const std::vector<pagoda::documents::Result>& results,
                                           const std::string& folder) {
  pagoda::present::ModelFeatures features;
  for (const pagoda::documents::Result& result : results) {
    const std::string name = text_of(result, "model");
    if (features.contains(name)) continue;
    std::vector<std::string> candidates;
    if (!folder.empty()) {
      candidates.push_back(folder + "/" + name + ".onnx");
      candidates.push_back(folder + "/" + std::filesystem::path(name).filename().string());
    }
    candidates.push_back(text_of(result, "model_file"));
    for (const std::string& path : candidates) {
      if (path.empty() || !std::filesystem::is_regular_file(path)) continue;
      const pagoda::Model model = pagoda::load_model(path);
      features[name] = pagoda::features(pagoda::structure_profile(model, pagoda::analyze(model)));
      break;
    }
  }
  return features;
}

int csv(const Flags& flags) {
  const auto columns = pagoda::present::result_columns(flags.columns);
  if (!columns)
    throw pagoda::Error("--columns " + flags.columns + ": expected one of " +
                        std::string(pagoda::present::kResultColumnNames));
  if (*columns == pagoda::present::ResultColumns::Calibration && flags.machine.empty())
    throw pagoda::Error(
        "--columns calibration: needs --machine, the device of these results as onnx-estimate knows it");
  std::vector<pagoda::documents::Result> results;
  for (const std::string& input : flags.inputs)
    for (pagoda::documents::Result& result : load(input)) results.push_back(std::move(result));
  put(flags,
      pagoda::present::results_csv(
          results, *columns,
          flags.models.empty() ? pagoda::present::ModelFeatures() : features_of(results, flags.models), flags.machine));
  return 0;
}

int compare(const Flags& flags) {
  pagoda::present::CompareOptions options = flags.compare;
  const TwoSets sets = two_sets(flags, options);
  const pagoda::present::ResultComparison comparison = pagoda::present::compare_results(sets.base, sets.now, options);
  if (comparison.rows.empty() && comparison.broken.empty() && comparison.repaired.empty())
    throw pagoda::Error("no configuration is in both sets; they differ in an axis: name it by --without");
  put(flags, pagoda::present::comparison_report(comparison, format_of(flags.output), flags.title));
  if (!comparison.regressed() || flags.no_gate) return 0;
  std::cerr << "pagoda-report: " << comparison.count(pagoda::present::SpeedVerdict::Slower) << " slower beyond noise, "
            << comparison.broken.size() << " no longer run\n";
  return kRegressed;
}

std::vector<pagoda::present::Snapshot> snapshots_of(const Flags& flags) {
  if (flags.inputs.size() == 1) return pagoda::present::by_day(load(flags.inputs[0]));
  std::vector<pagoda::present::Snapshot> list;
  for (const std::string& input : flags.inputs) {
    const std::filesystem::path path = std::filesystem::path(input).lexically_normal();
    pagoda::present::Snapshot snapshot{
        .name = path.has_filename() ? path.stem().string() : path.parent_path().filename().string(),
        .time = {},
        .results = load(input)};
    for (const pagoda::documents::Result& result : snapshot.results) {
      const std::string time = time_of(result);
      if (!time.empty() && (snapshot.time.empty() || time < snapshot.time)) snapshot.time = time;
    }
    list.push_back(std::move(snapshot));
  }
  // Oldest first where the records say when they were made; else as given.
  std::stable_sort(list.begin(), list.end(),
                   [](const pagoda::present::Snapshot& a, const pagoda::present::Snapshot& b) {
                     return !a.time.empty() && !b.time.empty() && a.time < b.time;
                   });
  return list;
}

int measured(const Flags& flags) {
  std::vector<pagoda::documents::Result> found;
  for (pagoda::documents::Result& result : load(flags.inputs[0]))
    if (result.key.starts_with(flags.key)) found.push_back(std::move(result));
  if (found.size() != 1)
    throw pagoda::Error("--key \"" + flags.key + "\": " + std::to_string(found.size()) +
                        " records have it; expected the beginning of one key (pagoda-report csv lists them)");
  put(flags, pagoda::documents::write_measured(pagoda::present::measured_of(found[0])));
  return 0;
}

int explain(const Flags& flags) {
  std::map<std::string, double> values;
  std::string quantity;
  std::vector<pagoda::documents::Result> all;
  pagoda::present::CompareOptions options = flags.compare;
  if (flags.inputs.size() == 2 || !flags.base.empty()) {
    const TwoSets sets = two_sets(flags, options);
    all = sets.now;
    for (const pagoda::present::MeanRatio& model :
         pagoda::present::compare_results(sets.base, sets.now, options).models)
      values[model.name] = model.ratio;
    quantity = "speed-up";
  } else {
    // Seconds of one item: the geometric mean over a model's records.
    all = load(flags.inputs[0]);
    std::map<std::string, std::pair<double, double>> sums;
    for (const pagoda::documents::Result& r : all) {
      if (!r.timing || !(r.timing->latency.p50 > 0)) continue;
      auto& [sum, count] = sums[text_of(r, "model")];
      sum += std::log(r.timing->latency.p50 / r.items.value_or(1));
      count += 1;
    }
    for (const auto& [model, sum] : sums) values[model] = std::exp(sum.first / sum.second);
    quantity = "seconds an item";
  }
  put(flags, pagoda::present::explanation_report(
                 pagoda::present::explain(quantity, values, features_of(all, flags.models), flags.explain),
                 format_of(flags.output), flags.title));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Tables, comparisons, histories and reasons from results of pagoda-bench.", "pagoda-report");
  app.set_version_flag("--version", "pagoda-report " PAGODA_VERSION);
  app.footer(kExamples);
  app.require_subcommand(1);
  Flags flags;
  const auto command = [&](const char* name, const char* help, int most) {
    CLI::App* sub = app.add_subcommand(name, help);
    sub->add_option("RESULTS", flags.inputs, "results.jsonl, or a folder of them")->required()->expected(1, most);
    sub->add_option("-o,--output", flags.output, "file to write, whole or not at all (default: standard output)");
    return sub;
  };
  const auto with_title = [&](CLI::App* sub) { sub->add_option("--title", flags.title, "of pictures and pages"); };
  const auto with_sets = [&](CLI::App* sub) {
    sub->add_option("--base", flags.base, "only records with AXIS=VALUE,… as base");
    sub->add_option("--new", flags.now, "only records with AXIS=VALUE,… as new");
    sub->add_option("--without", flags.compare.without, "axes that do not tell configurations apart")->delimiter(',');
  };
  CLI::App* csv_command = command("csv", "a table", 1000);
  csv_command->add_option("--columns", flags.columns, std::string(pagoda::present::kResultColumnNames))
      ->capture_default_str();
  csv_command->add_option("--models", flags.models, "join the structure of NAME.onnx in this folder as columns");
  csv_command->add_option("--machine", flags.machine, "calibration: the device as onnx-estimate --device takes it");
  CLI::App* compare_command = command("compare", "two sets: speed-ups, intervals, what is slower beyond noise", 2);
  with_sets(compare_command);
  with_title(compare_command);
  compare_command->add_option("--tolerance", flags.compare.tolerance, "changes below this are none")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  compare_command
      ->add_option("--false-alarm", flags.compare.false_alarm,
                   "probability of calling anything slower where nothing changed")
      ->check(CLI::Range(1e-9, 0.5))
      ->capture_default_str();
  compare_command->add_flag("--no-gate", flags.no_gate, "exit 0 all the same");
  CLI::App* latest_command = command("latest", "sorted speed-ups and correctness of the newest of each series", 1000);
  CLI::App* history_command = command("history", "speed-ups over time: geometric mean and percentiles", 1000);
  for (CLI::App* sub : {latest_command, history_command}) {
    sub->add_option("--baseline", flags.baseline, "oldest, the name of a snapshot, or AXIS=VALUE,…")
        ->capture_default_str();
    with_title(sub);
  }
  CLI::App* measured_command = command("measured", "one record as pagoda.measured/1", 1);
  measured_command->add_option("--key", flags.key, "the beginning of its key");
  CLI::App* explain_command = command("explain", "which structure goes with speed: ranks, correlations, a tree", 2);
  with_sets(explain_command);
  with_title(explain_command);
  explain_command->add_option("--models", flags.models, "folder of NAME.onnx for models known by name only");
  explain_command->add_option("--depth", flags.explain.depth, "of the tree")->check(CLI::Range(1, 8));
  explain_command->add_option("--leaf", flags.explain.smallest_leaf, "models in a leaf at least")
      ->check(CLI::Range(1, 100));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUsage;
  }
  try {
    if (*csv_command) return csv(flags);
    if (*compare_command) return compare(flags);
    if (*measured_command) return measured(flags);
    if (*explain_command) return explain(flags);
    const pagoda::present::History history = pagoda::present::history(snapshots_of(flags), flags.baseline);
    const pagoda::present::ReportFormat format = format_of(flags.output);
    put(flags, *latest_command ? pagoda::present::latest_report(history, format, flags.title)
                               : pagoda::present::history_report(history, format, flags.title));
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "pagoda-report: " << error.what() << '\n';
    return kUnusableInput;
  }
}
