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

#include "pagoda/documents/measured.h"
#include "pagoda/documents/metrics.h"

#pragma GCC visibility push(default)
namespace pagoda::measured::profile {

struct RecordedLaunch {
  std::string context, kernel, nvtx, node, detail;
  std::int64_t group = 0, iteration = 0, kernels = 1;  // kernels: of a graph or a user's range
  std::size_t metrics = 0;                             // index into ProcessRecord::metrics
  std::vector<double> values;                          // one a metric; empty: not known
};

struct RecordedDevice {
  std::string chip, name;
  std::map<std::string, double> peaks;  // constants, by metric
};

struct ProcessRecord {
  std::string process, command;
  std::vector<std::vector<std::string>> metrics;
  std::vector<RecordedLaunch> launches;  // in order
  std::string cupti;                     // that counted or timed: version and place
  std::vector<std::string> chips, devices, notes, ranges;
  std::map<std::string, RecordedDevice> device_of;  // by context
  std::vector<documents::Missing> lost;             // what: how many launches
  std::int64_t lost_launches = 0;
  std::optional<double> joules, seconds;  // of the window between the first launch and the end
  bool has_ended = false;                 // in order; else it was killed, and what was not yet read is lost
};

// Throws Error where the text is not a record. A last line without its end is left out.
ProcessRecord parse_record(std::string_view text, std::string_view subject);

using RecordedRun = std::vector<ProcessRecord>;

struct RecordOptions {
  std::string mode;                                   // as pagoda-profile names it
  std::vector<documents::Missing> missing = {};       // what the mode does not collect
  std::optional<std::int64_t> warmup = std::nullopt;  // iterations to leave out; empty: 1 of three or more
};

// `runs`: the program's runs, each with one group of metrics, or one run with several groups in its iterations. A
// launch is evaluated by the formulas of its own device's chip; by `chip`'s where the record does not tell.
documents::Measured measured_of(const std::vector<RecordedRun>& runs, const documents::ChipMetrics& chip,
                                const RecordOptions& options);
// Times alone, of a chip that need not be known.
documents::Measured measured_of(const std::vector<RecordedRun>& runs, const RecordOptions& options);

// Devices that the launches ran on, equal ones once, with their clocks and peaks. `place_of` gets where each context of
// each process (in the order of the runs) is among them.
using DevicePlaces = std::map<std::pair<const ProcessRecord*, std::string>, std::size_t>;
std::vector<documents::MeasuredDevice> recorded_devices(const std::vector<RecordedRun>& runs, DevicePlaces& place_of);

// What a launch's values amount to, by quantity; not finite ones are unknown. Empty where its device's chip is not
// known.
std::map<std::string, double> launch_amounts(const ProcessRecord& process, const RecordedLaunch& launch,
                                             const documents::ChipMetrics& chip);

// The part of a measurement that devices of one chip did.
documents::Measured of_chip(const documents::Measured& measured, const std::string& chip);

// Of each peak, the share that a launch reached in its own cycles, by what it amounts to.
std::map<std::string, double> launch_shares(const std::map<std::string, double>& amounts,
                                            const documents::MeasuredDevice& device);

// The lists of metrics that a run's sessions get: all in one where kernels are replayed, else one a group.
std::vector<std::vector<std::string>> session_metrics(const documents::MetricPlan& plan, documents::MetricMode mode);

// One row a launch in the columns of Nsight Compute's raw page, which pagoda-import reads back; behind them the model's
// node and, by the device's peaks, the percentage of each that the launch reached over its own cycles.
std::string record_csv(const std::vector<RecordedRun>& runs);

// What a row of the table is of.
enum class TableBy : std::uint8_t { Kernel, Node };

// For people: kernels or nodes by time, the `top` first; the rest in one line.
std::string profile_table(const documents::Measured& measured, std::size_t top, TableBy by = TableBy::Kernel);

}  // namespace pagoda::measured::profile
#pragma GCC visibility pop
