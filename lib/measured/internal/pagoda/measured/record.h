// The records that the injected library wrote for each process, and their evaluation: one row per kernel and range, in
// pagoda.measured/1.
//
//   std::vector<ProcessRecord> run = {parse_record(text, path), …};     // one a process of the program
//   Measured measured = measured_of({run}, &chip_metrics("GH100"), {.mode = "quick"});
//
// Runs counted with different groups of metrics are merged launch by launch; if their launches differ, the row keeps
// its launches and its numbers are unknown.
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
  std::int64_t group = 0, iteration = 0, kernels = 1;  // kernels: number in a graph or a user's range
  std::size_t metrics = 0;                             // index into ProcessRecord::metrics
  std::vector<double> values;                          // one per metric; empty: not known
};

struct RecordedDevice {
  std::string chip, name;
  std::map<std::string, double> peaks;  // constants, by metric
};

struct ProcessRecord {
  std::string process, command;
  std::vector<std::vector<std::string>> metrics;
  std::vector<RecordedLaunch> launches;  // in order
  std::string cupti;                     // the CUPTI that counted or timed: version and path
  std::vector<std::string> chips, devices, notes, ranges;
  std::map<std::string, RecordedDevice> device_of;  // by context
  std::vector<documents::Missing> lost;             // `what` is the number of launches
  std::int64_t lost_launches = 0;
  std::optional<double> joules, seconds;  // between the first launch and the end
  bool has_ended = false;                 // ended normally; else it was killed and unread data is lost
};

// Throws Error if the text is not a record. An incomplete last line is ignored.
ProcessRecord parse_record(std::string_view text, std::string_view subject);

using RecordedRun = std::vector<ProcessRecord>;

struct RecordOptions {
  std::string mode;                                   // as pagoda-profile spells it
  std::vector<documents::Missing> missing = {};       // quantities that the mode does not collect
  std::optional<std::int64_t> warmup = std::nullopt;  // iterations to leave out; empty: 1 of three or more
};

// `runs`: the program's runs, each with one group of metrics, or one run with several groups in its iterations. A
// launch is evaluated by the formulas of its own device's chip, or those of `chip` if the record does not name one.
// `chip` null: only times are evaluated.
documents::Measured measured_of(const std::vector<RecordedRun>& runs, const documents::ChipMetrics* chip,
                                const RecordOptions& options);

// The devices that the launches ran on, identical ones once, with their clocks and peaks.
struct DevicesOfRuns {
  std::vector<documents::MeasuredDevice> devices = {};
  std::map<std::pair<const ProcessRecord*, std::string>, std::size_t> places = {};  // by process and context

  std::optional<std::size_t> place(const ProcessRecord& process, const RecordedLaunch& launch) const {
    const auto found = places.find({&process, launch.context});
    return found == places.end() ? std::nullopt : std::optional(found->second);
  }
};
DevicesOfRuns recorded_devices(const std::vector<RecordedRun>& runs);

// The values of a launch by metric, without those that are not finite, which a shared MIG instance gives.
std::map<std::string, double> finite_values(const ProcessRecord& process, const RecordedLaunch& launch);
// The quantities that a launch's values give. Empty if the launch has no values.
std::map<std::string, double> launch_amounts(const ProcessRecord& process, const RecordedLaunch& launch,
                                             const documents::ChipMetrics& chip);

// The kernels of a measurement that ran on devices of one chip.
documents::Measured of_chip(const documents::Measured& measured, const std::string& chip);

// For each known peak, the share that the kernel reached over its time: 0.62 for "bytes.dram". Precisions that were not
// collected are left out; empty if the kernel has no time.
std::map<std::string, double> shares_of_peak(const documents::MeasuredKernel& kernel,
                                             const documents::MeasuredDevice& device);
// For each peak, the share that a launch reached over its own cycles, from its `amounts`.
std::map<std::string, double> launch_shares(const std::map<std::string, double>& amounts,
                                            const documents::MeasuredDevice& device);

// The lists of metrics for the sessions of a run: one list if kernels are replayed, else one per group.
std::vector<std::vector<std::string>> session_metrics(const documents::MetricPlan& plan, documents::MetricMode mode);

// One row per launch in the columns of Nsight Compute's raw page, which pagoda-import can read; also the model's node
// and, for each of the device's peaks, the percentage that the launch reached over its own cycles.
std::string record_csv(const std::vector<RecordedRun>& runs);

// The grouping of the table's rows.
enum class TableBy : std::uint8_t { Kernel, Node };

// For people: the `top` kernels or nodes by time; the rest in one line.
std::string profile_table(const documents::Measured& measured, std::size_t top, TableBy by = TableBy::Kernel);

}  // namespace pagoda::measured::profile
#pragma GCC visibility pop
