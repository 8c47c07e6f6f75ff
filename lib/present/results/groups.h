// Records of the same configuration, and what of a configuration says what is run, and how.
#pragma once

#include <string>
#include <vector>

#include "pagoda/documents/result.h"

namespace pagoda::present::results {

// Repeats of one configuration that are ok, in the order of the records.
struct Group {
  std::string name;  // label
  std::string model;
  std::string sha256;  // of the model's file; empty: it has none
  std::vector<const documents::Result*> repeats;
  std::string failure;  // reason of a record that is not ok, where none is
};

// What does not decide how fast a run is: number of the repeat, paths, how it is measured and in which order.
documents::Config without_protocol(const documents::Config& config, const std::vector<std::string>& without = {});

// By configuration, in the order of their first records.
std::vector<Group> groups(const std::vector<documents::Result>& results, const std::vector<std::string>& without = {});

// Model, sizes, type, mode, device: what is run. The rest (backend, compile mode, algorithm …) is how.
bool is_workload_axis(const std::string& axis);
std::string workload_name(const documents::Config& config);
std::string series_name(const documents::Config& config);
std::string mode_of(const documents::Config& config);  // "inference" where the config does not say

// Logarithms of independent measurements of a group's time: the medians of its repeats where there are three or more,
// else medians of consecutive blocks of what they kept.
struct Units {
  std::vector<double> logs;
  bool are_repeats = false;
};
Units units(const Group& group);
double median_seconds(const Group& group);  // of the repeats' medians; NaN of none

std::string text_of(const base::Settings& settings, const std::string& name);  // empty: none; numbers as text

}  // namespace pagoda::present::results
