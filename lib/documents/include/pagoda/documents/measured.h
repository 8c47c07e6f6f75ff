// Measurements: what an engine, a profiler or a board was seen to take, kernel by kernel or for a whole model.
//
//   Measured run = load_measured("measured.json");     // as pagoda-import or pagoda-profile wrote it
//   run.kernels[0].seconds;                            // in one run of the model; the median over run.repeats runs
//   run.kernels[0].flops["float16.tensor"];            // as counted by hardware
//   run.kernels[0].joined->nodes;                      // rows of the estimate that it executed (pagoda/join.h)
//   write_measured(run);                               // JSON of schema pagoda.measured/1
//
// All numbers are of ONE run of the model: a kernel that a run launches 12 times has launches = 12, and seconds, flops,
// bytes and joules are the sums of the 12. What was not collected is absent (null in JSON), never 0, and `missing` says
// what that is and why; 0 means that it was looked at and there was none. SI units without prefix.
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

// A quantity over repeated runs, beside its median.
struct Spread {
  double min = 0, max = 0, mean = 0;
  std::int64_t n = 0;  // runs
};

// Bytes that crossed each level of the memory hierarchy.
struct LevelBytes {
  std::optional<double> dram_read, dram_write;
  std::optional<double> dram;  // both; also where a counter does not tell them apart
  std::optional<double> l2;    // between the L1s and the L2
  std::optional<double> l1;    // of loads, stores and textures; not of bulk copies and tensor operands
  std::optional<double> shared;  // of shared memory, on Hopper also operands that tensor units read there
};

// Rows of an estimate that a kernel executed. Several: the engine fused them, or one kernel's name covers them all;
// only their sum can be held against the kernel.
struct Joined {
  std::string rule;                // "name", "output", "decorated name", "fused name", … (pagoda/join.h)
  std::vector<std::size_t> nodes;  // indices in the estimate's nodes, ascending
};

// One kernel, layer or operator call; or several launches of one that a run makes for the same node.
struct MeasuredKernel {
  std::string name;                // as the engine spells it, demangled
  std::string op_type;             // as the engine calls it: "Conv", "com.microsoft.FusedConv"; empty: not said
  std::string node;                // the model's node, where the source names exactly one; empty: it does not
  std::vector<std::string> nodes;  // all that the source names: several for a fused layer
  std::string nvtx;                // ranges open at the launch, outermost first, joined by '/'; empty: none
  std::string provider;            // what ran it: "CPUExecutionProvider", "stream 7"; empty: not said
  std::string detail;              // types and shapes, grid and block, … as the source prints them; empty: not said
  std::optional<std::int64_t> launches;
  std::optional<double> seconds;  // median over runs
  std::optional<Spread> spread;   // of seconds, where there were several runs
  // By precision as in device.h; work of tensor cores apart: "float32", "float16.tensor". A precision with no value was
  // not collected; an empty map: none was.
  std::map<std::string, std::optional<double>> flops;
  LevelBytes bytes;
  std::optional<double> energy_joules;
  std::optional<Joined> joined;       // empty: not joined, or no join was asked for
  std::optional<std::size_t> device;  // place in Measured::devices; empty: not said
};

// What a unit of a device does at best, as the device itself tells it.
struct DevicePeak {
  double per_cycle = 0;              // FLOP or B in a cycle of the unit's clock, of all units together
  std::optional<double> per_second;  // at the clock of the run
};

struct MeasuredDevice {
  std::string name, chip;  // "NVIDIA H200", "GH100"; empty: not said
  // Hz while kernels ran, means over them: "sm", "l1", "l2", "dram".
  std::map<std::string, double> clocks;
  // By precision as in MeasuredKernel::flops, of dense operands; and of levels as "bytes.dram", "bytes.l2", "bytes.l1".
  std::map<std::string, DevicePeak> peaks;
};

// A whole run of a model in one configuration of the machine, where a source has no kernels.
struct MeasuredRun {
  base::Settings config;  // "batch", "gpu_hz", "cores", …
  std::optional<double> seconds;
  std::optional<double> watts, energy_joules;
  std::string note;  // why the values are doubtful; empty: they are not
};

// What the source does not hold.
struct Missing {
  std::string what;  // "bytes", "flops.float16.tensor", "kernel seconds", …
  std::string why;
};

// Why a counter and the estimate differ (pagoda/join.h says when each is set).
enum class CountFlag : std::uint8_t {
  Fused,            // several nodes: only their sum can be compared
  Incomplete,       // a precision was not collected, so that the sum of operations is not known
  Padding,          // more multiplications, no more than tiles filled up to their size explain
  ExtraWork,        // more than tiles explain: another algorithm, or work of nodes that are not named
  FewerOperations,  // fewer multiplications: FFT, a structure that the kernel skips
  Winograd,         // fewer multiplications, as Winograd's transforms of a convolution leave
  Sparsity,         // a kernel of structured sparsity, which skips half
  Tf32,             // float32 multiplied in TF32, as frameworks allow by default
  OtherPrecision,   // multiplied in another format than the file's
  SplitK,           // a product's depth was split: partial results were written, read and added
  Dequantisation,   // weights of few bits were widened on the way
  LayoutChange,     // a kernel that only moves elements to other places ran for the node
  Specials,         // the estimate holds functions and comparisons that hardware does not count one for one
  CacheResident,    // memory saw less than must cross: the tensors were in the cache
  ExtraTraffic,     // memory saw more: fetched again, workspace, or what another kernel left dirty
};
std::string_view to_string(CountFlag flag);  // "padding", "cache resident", …

// Counters of one group of kernels and nodes that only make sense together, beside the estimate's numbers.
struct NodeCounts {
  std::vector<std::size_t> nodes, kernels;  // indices in the estimate and in `kernels`; ascending
  std::optional<double> seconds;
  // Of all precisions; the estimate's as hardware counts: 2·macs + arith − comparisons.
  std::optional<double> measured_flops, static_flops;
  // Of tensor units, and 2·macs. Empty where no tensor unit worked: then products are among measured_flops.
  std::optional<double> measured_contraction, static_contraction;
  // Of memory; the estimate's are those that must cross when the nodes run as one.
  std::optional<double> measured_bytes, static_bytes;
  // Those read alone: what a kernel writes leaves the cache during later ones.
  std::optional<double> measured_read, static_read;
  std::vector<CountFlag> flags;

  std::optional<double> flops_ratio() const;  // measured / static; empty where one is not known
  std::optional<double> contraction_ratio() const;
  std::optional<double> bytes_ratio() const;
  std::optional<double> read_ratio() const;
};

// What a join did (pagoda/join.h).
struct JoinSummary {
  std::string model;                      // path of the estimate's model
  std::optional<double> seconds;          // of all kernels
  std::optional<double> joined_seconds;   // of those that joined
  std::vector<std::size_t> silent_nodes;  // rows marked compute that no kernel executed: folded or fused unseen
  std::vector<NodeCounts> counts = {};    // groups with a counter, most time first

  std::optional<double> share() const;  // joined_seconds / seconds; empty where there is no time
};

struct Measured {
  std::string source;             // "onnxruntime", "tensorrt", "ncu", "kineto", "jetson", "pagoda-profile", "torch"
  std::string tool;               // what measured, with its version; empty: not said
  std::string device;             // empty: not said
  base::Settings clocks;          // frequencies and power mode while it ran
  base::Settings env;             // driver, threads, optimisation level, …
  std::int64_t repeats = 1;       // runs behind the medians
  std::int64_t warmup = 0;        // runs in the source that were left out
  std::optional<double> seconds;  // of a whole run by the clock on the wall, median; more than the kernels' sum by
                                  // what the engine does between them, less where they overlap
  std::optional<Spread> spread;   // of seconds
  std::vector<MeasuredKernel> kernels;  // in the order of their first launch
  std::vector<MeasuredRun> runs;        // whole runs in several configurations
  std::vector<MeasuredDevice> devices;  // that counters were read of; equal ones once
  std::vector<Missing> missing;
  std::vector<std::string> notes;  // what in the source looked wrong and was left out or kept
  std::optional<JoinSummary> join;

  std::optional<double> kernel_seconds() const;  // sum over kernels; empty where one of them has no time
};

// JSON of schema pagoda.measured/1.
std::string write_measured(const Measured& measured);
// The reverse. Unknown keys are ignored, so that newer files still read. Throws Error; `subject` names the text in it.
Measured parse_measured(std::string_view json, std::string_view subject);
Measured load_measured(const std::string& path);

}  // namespace pagoda::documents
#pragma GCC visibility pop
