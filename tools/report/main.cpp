// pagoda-report: reports on results of pagoda-bench.
#include "arguments.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <map>

#include "pagoda/base/cat.h"
#include "pagoda/base/files.h"
#include "pagoda/base/text.h"
#include "pagoda/base/what_file.h"
#include "pagoda/core/analyze.h"
#include "pagoda/core/model.h"
#include "pagoda/core/structure.h"
#include "pagoda/documents/result.h"
#include "pagoda/lab/modes_report.h"
#include "pagoda/measured/import.h"
#include "pagoda/present/report.h"
#include "tool.h"

namespace pagoda::tools {
namespace {

using documents::text_of;

std::vector<documents::Result> load(const std::string& path, const std::vector<std::string>& where) {
  if (!std::filesystem::exists(path))
    throw Error(path + ": " + base::why_not_opened(path, ENOENT) +
                "; expected a results.jsonl of pagoda-bench, or a folder of them");
  documents::ResultSet set = documents::load_results(path);
  if (set.results.empty()) {
    const bool is_folder = std::filesystem::is_directory(path);
    const std::string what = is_folder ? "" : base::what_file(base::read_file(path, "results"), path).what;
    throw Error(path + ": " + (what.empty() ? "holds no results" : "is " + what) +
                "; expected lines of pagoda.result/1 as pagoda-bench run writes them");
  }
  if (!where.empty()) set.results = lab::results_where(set.results, where);
  if (set.torn > 0) std::cerr << "pagoda-report: " << path << ": " << set.torn << " torn lines left out\n";
  for (const std::string& member : set.unknown)
    std::cerr << "pagoda-report: " << path << ": " << base::printable(documents::left_out(member)) << '\n';
  if (set.unreadable > 0)
    std::cerr << "pagoda-report: " << set.unreadable << " unreadable results left out: " << set.unreadable_reason
              << '\n';
  return std::move(set.results);
}

std::vector<documents::Result> load_all(const ReportArguments& flags) {
  std::vector<documents::Result> results;
  for (const std::string& input : flags.inputs)
    std::ranges::move(load(input, flags.where), std::back_inserter(results));
  return results;
}

// Records with the values of "AXIS=VALUE,…". Adds the names of the axes, as used in records, to `axes`.
std::vector<documents::Result> chosen(const std::vector<documents::Result>& results, const std::string& conditions,
                                      std::vector<std::string>& axes) {
  for (const auto& [axis, value] : lab::conditions_of(conditions))
    axes.push_back(axis == "test" ? "mode" : axis == "accelerator" ? "device" : axis);
  return lab::results_where(results, {conditions});
}

struct TwoSets {
  std::vector<documents::Result> base, now;
};

// Two inputs, or two subsets of one input.
TwoSets two_sets(const ReportArguments& flags, lab::CompareOptions& options) {
  TwoSets sets;
  if (flags.inputs.size() == 2) {
    sets = {load(flags.inputs[0], flags.where), load(flags.inputs[1], flags.where)};
  } else {
    if (flags.base.empty() || flags.now.empty())
      throw Error("with one set of results say what is compared: --base AXIS=VALUE and --new AXIS=VALUE");
    const std::vector<documents::Result> all = load(flags.inputs[0], flags.where);
    sets = {all, all};
  }
  if (!flags.base.empty()) sets.base = chosen(sets.base, flags.base, options.without);
  if (!flags.now.empty()) sets.now = chosen(sets.now, flags.now, options.without);
  return sets;
}

lab::ReportFormat format_of(const std::string& path) {
  using enum lab::ReportFormat;
  const std::string end = path.empty() || path == "-" ? ".txt" : std::filesystem::path(path).extension().string();
  for (const auto& [ending, format] :
       {std::pair{".csv", Csv}, {".svg", Svg}, {".png", Png}, {".html", Html}, {".txt", Text}})
    if (end == ending) return format;
  throw Error(cat(path, ": no format \"", end, "\"; expected .csv, .svg, .png, .html or .txt"));
}

// The title; text and CSV cannot show one.
const std::string& title_of(const ReportArguments& flags) {
  const lab::ReportFormat format = format_of(flags.output);
  if (!flags.title.empty() && (format == lab::ReportFormat::Text || format == lab::ReportFormat::Csv))
    throw UsageError("--title needs a picture or a page; write one with -o FILE that ends in .svg, .png or .html");
  return flags.title;
}

// Structure features of the models in the records: from files with the model's name in --models, else from the records'
// own model files.
lab::ModelFeatures features_of(const std::vector<documents::Result>& results, const std::string& folder) {
  lab::ModelFeatures features;
  for (const documents::Result& result : results) {
    const std::string name = text_of(result.config, "model");
    if (features.contains(name)) continue;
    std::vector<std::string> candidates;
    if (!folder.empty()) {
      candidates.push_back(folder + "/" + name + ".onnx");
      candidates.push_back(folder + "/" + std::filesystem::path(name).filename().string());
    }
    candidates.push_back(text_of(result.config, "model_file"));
    for (const std::string& path : candidates) {
      if (path.empty() || !std::filesystem::is_regular_file(path)) continue;
      const Model model = load_model(path);
      features[name] = pagoda::features(structure_profile(model, analyze(model)));
      break;
    }
  }
  return features;
}

std::vector<lab::Snapshot> snapshots_of(const ReportArguments& flags) {
  if (flags.inputs.size() == 1) return lab::by_day(load(flags.inputs[0], flags.where));
  std::vector<lab::Snapshot> list;
  for (const std::string& input : flags.inputs) {
    const std::filesystem::path path = std::filesystem::path(input).lexically_normal();
    lab::Snapshot snapshot{.name = path.has_filename() ? path.stem().string() : path.parent_path().filename().string(),
                           .time = {},
                           .results = load(input, flags.where)};
    for (const documents::Result& result : snapshot.results) {
      const std::string time = text_of(result.metadata, "time");
      if (!time.empty() && (snapshot.time.empty() || time < snapshot.time)) snapshot.time = time;
    }
    list.push_back(std::move(snapshot));
  }
  // Oldest first if the records have times, else in the given order.
  std::ranges::stable_sort(list, [](const lab::Snapshot& a, const lab::Snapshot& b) {
    return !a.time.empty() && !b.time.empty() && a.time < b.time;
  });
  return list;
}

int report_table(const ReportArguments& flags) {
  const std::vector<documents::Result> results = load_all(flags);
  write_output(flags.output, lab::times_report(results, format_of(flags.output), title_of(flags)));
  return kDone;
}

int report_csv(const ReportArguments& flags) {
  const std::string ending = std::filesystem::path(flags.output).extension().string();
  if (flags.output != "-" && !flags.output.starts_with("/dev/") && !ending.empty() && ending != ".csv" &&
      ending != ".txt")
    throw UsageError("csv -o " + flags.output + ": writes CSV, which '" + ending + "' is not; expected .csv or .txt");
  const auto columns = lab::result_columns(flags.columns);
  if (!columns) throw Error("--columns " + flags.columns + ": expected one of " + std::string(lab::kResultColumnNames));
  if (*columns == lab::ResultColumns::Calibration && flags.machine.empty())
    throw Error("--columns calibration: needs --machine, the device of these results as onnx-estimate knows it");
  if (*columns != lab::ResultColumns::Calibration && !flags.machine.empty())
    throw UsageError("--machine is a column of --columns calibration, not of " + flags.columns);
  const std::vector<documents::Result> results = load_all(flags);
  write_output(flags.output,
               lab::results_csv(results, *columns,
                                flags.models.empty() ? lab::ModelFeatures() : features_of(results, flags.models),
                                flags.machine));
  return kDone;
}

// kPartial if something is slower beyond noise, or broken.
int report_compare(const ReportArguments& flags) {
  lab::CompareOptions options = flags.compare;
  const TwoSets sets = two_sets(flags, options);
  const lab::ResultComparison comparison = lab::compare_results(sets.base, sets.now, options);
  if (comparison.rows.empty() && comparison.broken.empty() && comparison.repaired.empty())
    throw Error("no configuration is in both sets; they differ in an axis: name it by --without");
  write_output(flags.output, lab::comparison_report(comparison, format_of(flags.output), title_of(flags)));
  if (!comparison.regressed() || flags.no_gate) return kDone;
  std::cerr << "pagoda-report: " << comparison.count(lab::SpeedVerdict::Slower) << " slower beyond noise, "
            << comparison.broken.size() << " no longer run\n";
  return kPartial;
}

// lab::latest_report or lab::history_report.
template <auto Report>
int report_history(const ReportArguments& flags) {
  const lab::History history = lab::history(snapshots_of(flags), flags.baseline);
  write_output(flags.output, Report(history, format_of(flags.output), title_of(flags)));
  return kDone;
}

int report_measured(const ReportArguments& flags) {
  std::vector<documents::Result> found;
  for (documents::Result& result : load(flags.inputs[0], flags.where))
    if (result.key.starts_with(flags.key)) found.push_back(std::move(result));
  const bool is_whole_runs = flags.key.empty() && found.size() > 1;
  if (!is_whole_runs && found.size() != 1)
    throw Error(cat("--key \"", flags.key, "\": ", found.size(),
                    " records have it; expected the beginning of one key (pagoda-report csv lists them)"));
  write_output(flags.output,
               documents::write_measured(is_whole_runs ? lab::measured_runs_of(found) : lab::measured_of(found[0])));
  return kDone;
}

int report_modes(const ReportArguments& flags) {
  documents::Measured measured = measured::load_profile(flags.inputs[0], {});
  for (const std::string& note : measured.notes) std::cerr << flags.inputs[0] << ": " << base::printable(note) << '\n';
  if (!flags.where.empty()) measured = lab::runs_where(std::move(measured), flags.where);
  const std::string title = flags.title.empty() ? std::filesystem::path(flags.inputs[0]).stem().string() : flags.title;
  write_output(flags.output, lab::modes_report(lab::study_modes(measured, flags.slow_down, flags.same, flags.inputs[0]),
                                               format_of(flags.output), title));
  return kDone;
}

int report_explain(const ReportArguments& flags) {
  std::map<std::string, double> values;
  std::string quantity;
  std::vector<documents::Result> all;
  lab::CompareOptions options = flags.compare;
  if (flags.inputs.size() == 2 || !flags.base.empty()) {
    const TwoSets sets = two_sets(flags, options);
    all = sets.now;
    for (const lab::MeanRatio& model : lab::compare_results(sets.base, sets.now, options).models)
      values[model.name] = model.ratio;
    quantity = "speed-up";
  } else {
    // Seconds per item: the geometric mean over a model's records.
    all = load(flags.inputs[0], flags.where);
    std::map<std::string, std::pair<double, double>> sums;
    for (const documents::Result& r : all) {
      if (!r.timing || !(r.timing->latency.p50 > 0)) continue;
      auto& [sum, count] = sums[text_of(r.config, "model")];
      sum += std::log(r.timing->latency.p50 / r.items.value_or(1));
      count += 1;
    }
    for (const auto& [model, sum] : sums) values[model] = std::exp(sum.first / sum.second);
    quantity = "seconds an item";
  }
  write_output(flags.output,
               lab::explanation_report(lab::explain(quantity, values, features_of(all, flags.models), flags.explain),
                                       format_of(flags.output), flags.title));
  return kDone;
}

struct Command {
  std::string_view name;
  int (*run)(const ReportArguments&);  // returns the exit code and throws Error
};
constexpr Command kCommands[] = {{"table", report_table},
                                 {"csv", report_csv},
                                 {"compare", report_compare},
                                 {"latest", report_history<lab::latest_report>},
                                 {"history", report_history<lab::history_report>},
                                 {"measured", report_measured},
                                 {"modes", report_modes},
                                 {"explain", report_explain}};

int run(int argc, char** argv) {
  const std::optional<ReportArguments> flags = parse_report(argc, argv);
  return flags ? std::ranges::find(kCommands, flags->command, &Command::name)->run(*flags) : kDone;
}

}  // namespace
}  // namespace pagoda::tools

int main(int argc, char** argv) { return pagoda::tools::run_tool("pagoda-report", argc, argv, pagoda::tools::run); }
