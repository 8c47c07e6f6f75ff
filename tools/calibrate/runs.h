// Measured runs of models, and how well they are predicted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pagoda/lab/fit.h"

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
  std::vector<lab::TimedRun> runs;
  std::vector<Row> rows;
  std::vector<Bounds> bounds;
};

struct Judged {
  std::vector<double> predicted;
  std::vector<std::optional<Factors>> interval;  // in seconds
};

// Reads the CSV and analyzes its models. Leaves out rows of models that are not completely modelled, and says so on
// standard error. Throws Error.
Loaded load(const std::string& path);

// Errors, intervals and ranks, as lines of text.
std::string report(const Loaded& loaded, const Judged& judged);

// Measured time, predicted time and bound of every run, as CSV.
std::string residuals(const Loaded& loaded, const Judged& judged);

}  // namespace pagoda::tools
