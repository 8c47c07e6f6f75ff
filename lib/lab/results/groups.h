// Groups records by configuration, and splits a configuration into what is run (the workload) and how.
#pragma once

#include <string>
#include <vector>

#include "pagoda/documents/result.h"

namespace pagoda::lab::results {

// The successful repeats of one configuration, in the order of the records.
struct Group {
  std::string name;  // label
  std::string model;
  std::string sha256;  // of the model's file; empty: no file
  std::vector<const documents::Result*> repeats;
  std::string failure;  // reason of the first record without a usable time
};

// The configuration without settings that do not affect the speed: repeat number, paths, seed, measurement settings.
documents::Config without_protocol(const documents::Config& config, const std::vector<std::string>& without = {});

// Groups by configuration, in the order of their first records.
std::vector<Group> groups(const std::vector<documents::Result>& results, const std::vector<std::string>& without = {});

// Whether an axis says what is run: model, sizes, type, mode, device. The others (backend, compile mode, algorithm …)
// say how it is run.
bool is_workload_axis(const std::string& axis);
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

std::string text_of(const base::Settings& settings, const std::string& name);  // numbers as text; empty: not set

}  // namespace pagoda::lab::results
