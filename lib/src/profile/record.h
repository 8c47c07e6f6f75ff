// What the injected library left of each process, and what it amounts to: one row a kernel and range, in
// pagoda.measured/1.
//
//   std::vector<ProcessRecord> run = {parse_record(text, path), …};     // one a process of the program
//   Measured measured = measured_of({run}, chip_metrics("GH100"), {.mode = "quick"});
//
// A run counted with one group of metrics is merged with runs counted with the others, launch by launch; where they did
// not launch the same, the row keeps its launches and its numbers are unknown.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pagoda/measured.h"
#include "pagoda/metrics.h"

namespace pagoda::profile {

struct RecordedLaunch {
  std::string context, kernel, nvtx, node, detail;
  std::int64_t group = 0, iteration = 0, kernels = 1;  // kernels: of a graph or a user's range
  std::size_t metrics = 0;                             // index into ProcessRecord::metrics
  std::vector<double> values;                          // one a metric; empty: not known
};

struct RecordedDevice {
  std::string chip, name;
};

struct ProcessRecord {
  std::string process, command;
  std::vector<std::vector<std::string>> metrics;
  std::vector<RecordedLaunch> launches;  // in order
  std::vector<std::string> chips, devices, notes, ranges;
  std::map<std::string, RecordedDevice> device_of;  // by context
  std::vector<Missing> lost;                        // what: how many launches
  std::int64_t lost_launches = 0;
  std::optional<double> joules, seconds;  // of the window between the first launch and the end
  bool has_ended = false;                 // in order; else it was killed, and what was not yet read is lost
};

// Throws Error where the text is no record. A last line without its end is left out.
ProcessRecord parse_record(std::string_view text, std::string_view subject);

using RecordedRun = std::vector<ProcessRecord>;

struct RecordOptions {
  std::string mode;                                   // as pagoda-profile names it
  std::vector<Missing> missing = {};                  // what the mode does not collect
  std::optional<std::int64_t> warmup = std::nullopt;  // iterations to leave out; empty: 1 of three or more
};

// `runs`: the program's runs, each with one group of metrics, or one run with several groups in its iterations. A
// launch is evaluated by the formulas of its own device's chip; by `chip`'s where the record does not tell.
Measured measured_of(const std::vector<RecordedRun>& runs, const ChipMetrics& chip, const RecordOptions& options);
// Times alone, of a chip that need not be known.
Measured measured_of(const std::vector<RecordedRun>& runs, const RecordOptions& options);

// One row a launch in the columns of Nsight Compute's raw page, which pagoda-import reads back.
std::string record_csv(const std::vector<RecordedRun>& runs);

// For people: kernels by time, the `top` first; the rest in one line.
std::string profile_table(const Measured& measured, std::size_t top);

}  // namespace pagoda::profile
