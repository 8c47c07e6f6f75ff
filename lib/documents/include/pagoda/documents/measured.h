// Measurements of an engine, a profiler or a board, per kernel or for a whole model.
//
//   Measured run = load_measured("measured.json");     // as pagoda-import or pagoda-profile wrote it
//   run.kernels[0].seconds;                            // in one run of the model; the median over run.repeats runs
//   run.kernels[0].flops["float16.tensor"];            // as counted by hardware
//   run.kernels[0].joined->nodes;                      // rows of the estimate that it ran (pagoda/measured/join.h)
//   write_measured(run);                               // JSON of schema pagoda.measured/1
//
// All numbers are for ONE run of the model: a kernel that a run launches 12 times has launches = 12, and seconds,
// flops, bytes and joules are the sums over the 12 launches. Values that were not collected are absent (null in JSON),
// never 0, and `missing` lists them with the reason; 0 means measured as zero. SI units without prefix.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pagoda/base/error.h"
#include "pagoda/documents/ceilings.h"  // Settings

#pragma GCC visibility push(default)
namespace pagoda::documents {

// Spread of a quantity over repeated runs, in addition to its median.
struct Spread {
  double min = 0, max = 0, mean = 0;
  std::int64_t n = 0;  // runs
};

using Amount = std::optional<double>;            // empty: not known
Amount plus(const Amount& a, const Amount& b);   // not known if either is not
Amount ratio(const Amount& a, const Amount& b);  // not known if either is not, or if b is not above 0
// The amount with that name; a missing one is not known.
template <typename Value>
Amount amount(const std::map<std::string, Value>& amounts, const std::string& name) {
  const auto found = amounts.find(name);
  return found == amounts.end() ? Amount() : Amount(found->second);
}

// Bytes that crossed each level of the memory hierarchy.
struct LevelBytes {
  std::optional<double> dram_read, dram_write;
  std::optional<double> dram;    // read + write; also set if a counter does not separate them
  std::optional<double> l2;      // between the L1s and the L2
  std::optional<double> l1;      // loads, stores and textures; without bulk copies and tensor operands
  std::optional<double> shared;  // shared memory; on Hopper including operands that tensor units read from it

  // Of both directions, by whichever counters there are.
  Amount all_dram() const { return dram ? dram : plus(dram_read, dram_write); }
};
struct LevelField {
  const char* name;  // in JSON; "bytes." + name is the quantity of the metric catalogue (metrics.h)
  std::optional<double> LevelBytes::*bytes;
  bool is_level;  // false: one direction of a level
};
inline constexpr LevelField kLevels[] = {
    {"dram_read", &LevelBytes::dram_read, false},
    {"dram_write", &LevelBytes::dram_write, false},
    {"dram", &LevelBytes::dram, true},
    {"l2", &LevelBytes::l2, true},
    {"l1", &LevelBytes::l1, true},
    {"shared", &LevelBytes::shared, true},
};

// Rows of an estimate that a kernel executed. Several rows: the engine fused them, or one kernel name covers them all;
// only their sum can be compared with the kernel.
struct Joined {
  std::string rule;                // "name", "output", "decorated name", "fused name", … (pagoda/measured/join.h)
  std::vector<std::size_t> nodes;  // indices in the estimate's nodes, ascending
};

// One kernel, layer or operator call; or several launches of it in a run, for the same node.
struct MeasuredKernel {
  std::string name;                // as the engine spells it, demangled
  std::string op_type;             // as the engine calls it: "Conv", "com.microsoft.FusedConv"; empty: unknown
  std::string node;                // the model's node, if the source names exactly one; else empty
  std::vector<std::string> nodes;  // all nodes that the source names: several for a fused layer
  std::string nvtx;                // ranges open at the launch, outermost first, joined by '/'; empty: none
  std::string provider;            // where it ran: "CPUExecutionProvider", "stream 7"; empty: unknown
  std::string detail;              // types and shapes, grid and block, … as the source prints them; empty: unknown
  std::optional<std::int64_t> launches;
  std::optional<double> seconds;  // median over runs
  std::optional<Spread> spread;   // of seconds, if there were several runs
  // By precision as in device.h, with tensor cores separate: "float32", "float16.tensor". A precision without a value
  // was not collected; an empty map: no precision was.
  std::map<std::string, std::optional<double>> flops;
  LevelBytes bytes;
  std::optional<double> energy_joules;
  std::optional<Joined> joined;       // empty: not joined, or no join was requested
  std::optional<std::size_t> device;  // index in Measured::devices; empty: unknown
  std::string unjoined;               // why it did not join; empty: it joined, or no join was requested
};

// Peak rate of a unit, as the device itself reports it.
struct DevicePeak {
  double per_cycle = 0;              // FLOP or B per cycle of the unit's clock, over all units
  std::optional<double> per_second;  // at the clock of the run
};

struct MeasuredDevice {
  std::string name, chip;  // "NVIDIA H200", "GH100"; empty: unknown
  // Mean clocks in Hz while kernels ran: "sm", "l1", "l2", "dram".
  std::map<std::string, double> clocks;
  // By precision as in MeasuredKernel::flops, for dense operands; memory levels as "bytes.dram", "bytes.l2",
  // "bytes.l1".
  std::map<std::string, DevicePeak> peaks;
};

// A whole run of a model in one configuration of the machine, for sources without kernels.
struct MeasuredRun {
  base::Settings config;  // "batch", "gpu_hz", "cores", …
  std::optional<double> seconds;
  std::optional<double> watts, energy_joules;
  std::string note;  // why the values are doubtful; empty if they are not
};

// A quantity that the source does not contain.
struct Missing {
  std::string what;  // "bytes", "flops.float16.tensor", "kernel seconds", …
  std::string why;
};

// Why a counter and the estimate differ (pagoda/measured/join.h says when each is set).
enum class CountFlag : std::uint8_t {
  Fused,            // several nodes: only their sum can be compared
  Incomplete,       // a precision was not collected, so the sum of operations is not known
  Padding,          // more multiplications, but no more than padding to full tiles explains
  ExtraWork,        // more than tile padding explains: a different algorithm, or work of unnamed nodes
  FewerOperations,  // fewer multiplications: FFT, or structure that the kernel skips
  Winograd,         // fewer multiplications, as expected of a Winograd convolution
  Sparsity,         // a structured-sparsity kernel, which skips half of them
  Tf32,             // float32 multiplied in TF32, as frameworks allow by default
  OtherPrecision,   // multiplied in a format other than the model's
  SplitK,           // the K dimension was split: partial results were written, read and added
  Dequantisation,   // low-bit weights were widened in the kernel
  LayoutChange,     // a kernel that only rearranges elements ran for the node
  ScaledAddition,   // a + factor · b, which PyTorch's add computes by one fused multiply-add: two operations for one
  Specials,         // the estimate includes functions and comparisons that hardware does not count one for one
  CacheResident,    // less DRAM traffic than the minimum: the tensors were in the cache
  ExtraTraffic,     // more DRAM traffic: refetches, workspace, or dirty lines of another kernel
};
std::string_view to_string(CountFlag flag);  // "padding", "cache resident", …

// Counters of a group of kernels and nodes that can only be compared as a whole, with the estimate's numbers.
struct NodeCounts {
  std::vector<std::size_t> nodes, kernels;  // indices in the estimate and in `kernels`; ascending
  std::optional<double> seconds;
  struct Pair {
    Amount measured, expected;  // by counters, and by the estimate
    Amount ratio() const { return documents::ratio(measured, expected); }
  };
  Pair flops;        // over all precisions; expected as hardware counts: 2·macs + arith − comparisons
  Pair contraction;  // of tensor units, and 2·macs. Not measured if no tensor unit was used: products are then in flops
  Pair bytes;        // of DRAM; expected is the minimum traffic if the nodes run as one kernel
  Pair bytes_read;   // DRAM reads only: data that a kernel writes may leave the cache during later kernels
  std::vector<CountFlag> flags;

  Amount contraction_ratio() const;
};

// Time of kernels that joined no node, for one cause.
struct UnjoinedTime {
  std::string cause;  // "change of layout", "no row of that name", …
  std::int64_t kernels = 0;
  std::optional<double> seconds;  // empty: a kernel has none
};

// Summary of a join (pagoda/measured/join.h).
struct JoinSummary {
  std::string model;                        // path of the estimate's model
  std::optional<double> seconds;            // of all kernels
  std::optional<double> joined_seconds;     // of the joined kernels
  std::vector<std::size_t> silent_nodes;    // rows marked compute without a kernel: folded, or fused invisibly
  std::vector<NodeCounts> counts = {};      // groups with a counter, most time first
  std::vector<UnjoinedTime> unjoined = {};  // kernels that did not join, by cause; most time first

  std::optional<double> share() const;  // joined_seconds / seconds; empty if there is no time
};

// What Measured::source can be: formats of pagoda-import, and tools that write pagoda.measured/1 themselves.
inline constexpr std::string_view kMeasuredSources[] = {
    "onnxruntime", "tensorrt", "ncu", "kineto", "jetson", "pagoda-profile", "pagoda-bench", "torch", "rocprof", "nsys",
};

struct Measured {
  std::string source;             // one of kMeasuredSources
  std::string tool;               // the measuring tool, with its version; empty: unknown
  std::string device;             // empty: unknown
  base::Settings clocks;          // frequencies and power mode while it ran
  base::Settings env;             // driver, threads, optimisation level, …
  std::int64_t repeats = 1;       // runs behind the medians
  std::int64_t warmup = 0;        // runs in the source that were skipped
  std::optional<double> seconds;  // median wall time of a whole run; exceeds the kernels' sum by engine overhead, or is
                                  // less if kernels overlap
  std::optional<Spread> spread;   // of seconds
  // Median time of a run in which at least one kernel ran, on any stream or device; empty without stamps of all.
  std::optional<double> busy_seconds;
  std::vector<MeasuredKernel> kernels;  // in the order of their first launch
  std::vector<MeasuredRun> runs;        // whole runs in several configurations
  std::vector<MeasuredDevice> devices;  // devices whose counters were read; identical ones once
  std::vector<Missing> missing;
  std::vector<std::string> notes;  // suspicious data in the source, and whether it was kept or left out
  std::optional<JoinSummary> join;
  std::vector<std::string> unknown;  // members of the file that this version does not know, each once: "kernels.colour"

  std::optional<double> kernel_seconds() const;  // sum over kernels; empty if one of them has no time
  double known_seconds() const;                  // sum over kernels that have one
};

// JSON of schema pagoda.measured/1.
std::string write_measured(const Measured& measured);
// The inverse. Members unknown to this version are listed in `unknown`. Throws Error; `subject` names the text in it.
Measured parse_measured(std::string_view json, std::string_view subject);
Measured load_measured(const std::string& path);

}  // namespace pagoda::documents
#pragma GCC visibility pop
