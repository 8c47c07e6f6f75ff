// Nsight Compute as a data source and as a cross-check: the command that profiles a program with metrics chosen for its
// chip, commands over models × batches, and the comparison of its counts with those of pagoda-profile.
//
//   NcuRequest request{.chip = "GH100",
//                      .metrics = ncu_metrics("GH100"),
//                      .command = {"python3", "models/run_torch.py", "{model}", "--batch", "{batch}"}};
//   const std::vector<std::string> words = ncu_arguments(request, "ncu.csv");   // ncu --csv --page raw … python3 …
//   const CountComparison found = verify_counts(ours, load_profile("ncu.csv", {.chip = "GH100"}));   // after its run
//
// No list of metrics is fixed here: `metrics` comes from the chip's catalogue, and a metric that ncu rejects is an
// error that names it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pagoda/documents/measured.h"
#include "pagoda/measured/import.h"

#pragma GCC visibility push(default)
namespace pagoda::measured::profile {

struct NcuRequest {
  std::string ncu = "ncu";           // looked up in PATH if it contains no slash
  std::string chip = {};             // as CUPTI names it; its formulas read the table; empty: common metric names
  std::vector<std::string> metrics;  // full names: "dram__bytes_read.sum"; at least one
  std::vector<std::string> command;  // the program and its arguments; at least the program
  std::vector<int> devices = {};  // devices to profile; empty: all. Metrics are chip-specific, so each chip needs its
                                  // own run
  std::string kernel_regex = {};  // matches kernel names; empty: all
  std::string nvtx_include = {};  // ncu's range expression, "pagoda@conv1/"; empty: all
  std::int64_t launch_skip = 0;
  std::optional<std::int64_t> launch_count = std::nullopt;
  // By default, ncu flushes caches before each kernel and locks the clock. In a model, kernels find the data of the
  // previous one in the L2, so both are off by default here.
  bool flush_caches = false, lock_clocks = false;
};

// All metrics of the chip's formulas, for `metrics`: operations in every precision, bytes at every level, time. Throws
// Error for a chip that is not in the catalogue.
std::vector<std::string> ncu_metrics(std::string_view chip);

// The command line of ncu: `ncu --csv --page raw … --log-file LOG PROGRAM …`. Throws Error if there is no metric or no
// program, or for a metric name that ncu would not accept.
std::vector<std::string> ncu_arguments(const NcuRequest& request, const std::string& log_file);

// One program run of a study.
struct NcuPoint {
  std::string model, batch;  // as given; empty if that axis is not used
  std::vector<std::string> command;
  std::string name() const;  // "resnet50-batch8", for a file's name; letters, digits, '-', '_', '.'
};
// Models × batches: {model} and {batch} in the command's words are replaced. An empty list omits its axis. Throws Error
// if a list has no placeholder in the command, or a placeholder no list.
std::vector<NcuPoint> ncu_points(const std::vector<std::string>& command, const std::vector<std::string>& models,
                                 const std::vector<std::string>& batches);

// Comparison of counts -----------------------------------------------------------------------------------------------

enum class CountVerdict : std::uint8_t {
  Same,  // equal to the last operation, or bytes within the tolerance
  Differs,
  NotCompared,  // one side did not collect it, or it is bytes and no tolerance is given
};
std::string_view to_string(CountVerdict verdict);

struct ComparedCount {
  std::string what;  // "flops.float16.tensor", "bytes.dram_read", …
  std::optional<double> ours, theirs;
  CountVerdict verdict = CountVerdict::NotCompared;
  std::optional<double> relative() const;  // (ours − theirs) / theirs; empty if one is missing or theirs is 0
};

struct ComparedKernel {
  std::string name;  // our spelling if we have the kernel, else ncu's
  std::optional<std::int64_t> our_launches, their_launches;
  std::vector<ComparedCount> counts;  // empty if the launches differ, since sums are then not comparable
  bool launches_agree() const { return our_launches && their_launches && *our_launches == *their_launches; }
};

struct CountComparison {
  std::vector<ComparedKernel> kernels;    // in our order, then kernels that only ncu reported
  std::vector<ComparedCount> totals;      // sums over kernels whose launches agree
  std::optional<double> bytes_tolerance;  // empty: bytes are shown but not judged
  // True if launches agree, operations of every kernel are equal, bytes, if judged, agree in the sum over kernels, and
  // at least one count was compared. A single kernel's DRAM bytes do not count, since its writes may leave the L2
  // during the next kernel.
  bool passed() const;
};

// Kernels are matched by name over all their launches. Names are normalised first, since demanglers differ in spaces
// and in the spelling of casts and unnamed namespaces; if template arguments still differ, they are ignored. Bytes are
// judged only if a tolerance is given: two runs find the L2 in different states, so no tolerance is right for a program
// that fits in it.
CountComparison verify_counts(const documents::Measured& ours, const documents::Measured& theirs,
                              std::optional<double> bytes_tolerance = std::nullopt);

// For people: one line per kernel that differs and per differing count, and the totals; lines end in '\n'.
std::string verification_report(const CountComparison& verification);

}  // namespace pagoda::measured::profile
#pragma GCC visibility pop
