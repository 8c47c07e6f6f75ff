// Nsight Compute as a source and as a witness: the command that profiles a program with metrics chosen for its chip,
// commands over models × batches, and the comparison of what it counted with what pagoda-profile counted.
//
//   NcuRequest request{.chip = "GH100",
//                      .metrics = ncu_metrics("GH100"),
//                      .command = {"python3", "models/run_torch.py", "{model}", "--batch", "{batch}"}};
//   const std::vector<std::string> words = ncu_arguments(request, "ncu.csv");   // ncu --csv --page raw … python3 …
//   const CountComparison found = verify_counts(ours, load_profile("ncu.csv", {.chip = "GH100"}));   // after its run
//
// No list of metrics is fixed here: `metrics` comes from the catalogue of the chip, and ncu's refusal of one is an
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
  std::string ncu = "ncu";           // looked for in PATH where it holds no slash
  std::string chip = {};             // as CUPTI names it: whose formulas read the table; empty: names that chips share
  std::vector<std::string> metrics;  // full names: "dram__bytes_read.sum"; at least one
  std::vector<std::string> command;  // the program and its arguments; at least the program
  std::vector<int> devices = {};  // that are profiled; empty: all. Metrics are one chip's, so where there are several
                                  // chips, each has a run of its own
  std::string kernel_regex = {};  // of kernels' names; empty: all
  std::string nvtx_include = {};  // ncu's range expression, "pagoda@conv1/"; empty: all
  std::int64_t launch_skip = 0;
  std::optional<std::int64_t> launch_count = std::nullopt;
  // ncu flushes caches before each kernel and locks the clock unless told not to. A model's kernels find what the one
  // before left in the L2, so by default they do here, too.
  bool flush_caches = false, lock_clocks = false;
};

// All metrics of the chip's formulas that one ncu can collect, for `metrics`: operations in every precision, bytes at
// every level, time. Throws Error for a chip that the catalogue does not know.
std::vector<std::string> ncu_metrics(std::string_view chip);

// The command line of ncu: `ncu --csv --page raw … --log-file LOG PROGRAM …`. Throws Error where there is no metric or
// no program, or for a name that ncu cannot take.
std::vector<std::string> ncu_arguments(const NcuRequest& request, const std::string& log_file);

// One program run of a study.
struct NcuPoint {
  std::string model, batch;  // as given; empty without that axis
  std::vector<std::string> command;
  std::string name() const;  // "resnet50-batch8", for a file's name; letters, digits, '-', '_', '.'
};
// Models × batches: {model} and {batch} in the command's words are replaced. An empty list leaves its axis out. Throws
// Error where a list has no place in the command, or a place no list.
std::vector<NcuPoint> ncu_points(const std::vector<std::string>& command, const std::vector<std::string>& models,
                                 const std::vector<std::string>& batches);

// Comparison of counts -----------------------------------------------------------------------------------------------

enum class CountVerdict : std::uint8_t {
  Same,  // equal to the last operation, or bytes within the tolerance
  Differs,
  NotCompared,  // one of the two did not collect it, or it is bytes and these are not judged
};
std::string_view to_string(CountVerdict verdict);

struct ComparedCount {
  std::string what;  // "flops.float16.tensor", "bytes.dram_read", …
  std::optional<double> ours, theirs;
  CountVerdict verdict = CountVerdict::NotCompared;
  std::optional<double> relative() const;  // (ours − theirs) / theirs; empty where one is missing or theirs is 0
};

struct ComparedKernel {
  std::string name;  // as we spell it; else as ncu does
  std::optional<std::int64_t> our_launches, their_launches;
  std::vector<ComparedCount> counts;  // empty where the launches differ: sums over other launches tell nothing
  bool launches_agree() const { return our_launches && their_launches && *our_launches == *their_launches; }
};

struct CountComparison {
  std::vector<ComparedKernel> kernels;  // in our order, then those that ncu alone saw
  std::vector<ComparedCount> totals;    // sums over kernels whose launches agree
  std::optional<double> bytes_tolerance;  // empty: bytes are shown and not judged
  // Launches agree, operations of every kernel are equal, bytes, where they are judged, agree in the sum over kernels,
  // and at least one count was compared. A kernel's own DRAM bytes decide nothing: what it wrote may leave the L2
  // during the next one.
  bool passed() const;
};

// Kernels are matched by name over all their launches: demanglers differ in spaces and in the spelling of casts and of
// unnamed namespaces, which is taken out first; where template arguments still differ, by name without them. Bytes are
// judged only with a tolerance: two runs find the L2 in two states, so that no tolerance holds for a program that fits
// it.
CountComparison verify_counts(const documents::Measured& ours, const documents::Measured& theirs,
                              std::optional<double> bytes_tolerance = std::nullopt);

// For people, one line a count that differs, and one a kernel; lines end in '\n'.
std::string verification_report(const CountComparison& verification);
// Schema pagoda.verification/1.
std::string verification_json(const CountComparison& verification);

}  // namespace pagoda::measured::profile
#pragma GCC visibility pop
