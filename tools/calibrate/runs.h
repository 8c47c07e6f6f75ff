// Measured runs of models, and how predictions of them fare.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pagoda/core/calibrate.h"

namespace pagoda::tools {

struct Row {
  std::string model, family, device;
  bool channels_last = false;
  std::int64_t batch = 0;
  double seconds = 0;
};

struct Bounds {
  double floor = 0, fused = 0;  // s
};

struct Loaded {
  std::vector<TimedRun> runs;
  std::vector<Row> rows;
  std::vector<Bounds> bounds;
};

struct Judged {
  std::vector<double> predicted;
  std::vector<std::optional<Factors>> interval;  // in seconds
};

// Reads the CSV and analyzes its models. Rows of models that are not modelled throughout are left out, which is said on
// standard error. Throws Error.
Loaded load(const std::string& path);

// Errors, intervals and ranks, as lines.
std::string report(const Loaded& loaded, const Judged& judged);

// Measured, predicted and bound of every run, as CSV.
std::string residuals(const Loaded& loaded, const Judged& judged);

}  // namespace pagoda::tools
