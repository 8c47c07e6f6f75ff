// Groups records by configuration, and splits a configuration into what is run (the workload) and how.
#pragma once

#include <cmath>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pagoda/documents/result.h"
#include "pagoda/lab/result_report.h"

namespace pagoda::lab::results {

// The successful repeats of one configuration, in the order of the records.
struct Group {
  documents::Config config;  // without_protocol()
  std::string name;          // label of the config
  std::string sha256;        // of the model's file; empty: no file
  std::vector<const documents::Result*> repeats;
  std::string failure;  // reason of the first record without a usable time
};

// The configuration without settings that do not affect the speed: repeat number, paths, seed, measurement settings.
documents::Config without_protocol(const documents::Config& config, const std::vector<std::string>& without = {});

// Groups by configuration, in the order of their first records.
std::vector<Group> groups(const std::vector<documents::Result>& results, const std::vector<std::string>& without = {});

// Axes of the workload: model, sizes, type, mode, device. The other axes (backend, compile mode, algorithm …) describe
// how it is run.
std::string workload_name(const documents::Config& config);
std::string series_name(const documents::Config& config);
std::string mode_of(const documents::Config& config);  // "inference" if the config has no mode

// Logarithms of independent measurements of a group's time: the medians of its repeats if there are three or more, else
// the medians of consecutive blocks of their samples.
struct Units {
  std::vector<double> logs;
  bool are_repeats = false;
};
Units units(const Group& group);
double median_seconds(const Group& group);  // median of the repeats' medians; NaN without repeats

// The numbers of a record, by the names of their columns in tidy tables.
struct NumberColumn {
  std::string_view name;
  std::optional<double> (*value)(const documents::Result&);
};
std::span<const NumberColumn> number_columns();
// Median over the repeats that have the number of a column.
std::optional<double> median_of(const std::vector<const documents::Result*>& repeats, std::string_view column);

// Geometric mean of ratios that were measured independently: their variances add up. The interval is known if all are.
template <typename Ratios>
MeanRatio mean_ratio(const std::string& name, const Ratios& ratios) {
  MeanRatio mean{.name = name, .count = ratios.size(), .ratio = 1, .low = {}, .high = {}};
  if (ratios.empty()) return mean;
  double sum = 0, squares = 0;
  bool all_known = true;
  for (const auto& each : ratios) {
    sum += std::log(each.ratio);
    all_known = all_known && each.low && each.high;
    if (all_known) squares += std::pow(std::log(*each.high / *each.low) / 2, 2);
  }
  const double n = static_cast<double>(ratios.size());
  mean.ratio = std::exp(sum / n);
  if (all_known) {
    mean.low = std::exp(sum / n - std::sqrt(squares) / n);
    mean.high = std::exp(sum / n + std::sqrt(squares) / n);
  }
  return mean;
}

std::string text_of(const base::Settings& settings, const std::string& name);  // numbers as text; empty: not set
std::vector<std::string> texts_of(const base::Settings& settings, std::vector<std::string> names);
// The sorted names of all settings in any of `lists`.
template <typename Lists, typename Settings>
std::vector<std::string> setting_names(const Lists& lists, const Settings& settings) {
  std::set<std::string> all;
  for (const auto& list : lists)
    for (const auto& [name, value] : list.*settings) all.insert(name);
  return {all.begin(), all.end()};
}
std::string inputs_text(const documents::Result& result);  // "x:float32[8,3,224,224]; y:…"

// Splits "AXIS=VALUE,…". Throws `error` of the first part that is not of this form.
std::vector<std::pair<std::string, std::string>> pairs_of(std::string_view text,
                                                          const std::function<Error(const std::string&)>& error);

}  // namespace pagoda::lab::results
