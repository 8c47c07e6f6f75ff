// Roofline: the least time that a model's work and traffic can take on a device.
//
//   Roofline bound = roofline(analyze(model, {.precision = Precision::Float16}), device("h100-sxm"));
//   bound.totals.seconds;        // all rows as one graph, no launch between them
//   bound.totals.eager_seconds;  // one launch a row
//   bound.rows[0].bound;         // Bound::Memory: faster arithmetic would not help this row
//
// This is a bound, not a prediction: real kernels take longer. A row takes at least the longest of
//   work / peak of its precision and unit,   bytes / bandwidth of each level of memory,   a launch (eager only).
// Units work in parallel, so the slowest one counts, not their sum; work on the same unit adds up:
//   contractions  run at the best rate among the tensor and vector peaks of the formats that hold every value of the
//                 row's type. float32 products use TF32 only where AnalyzeOptions::precision asks for it. Of several
//                 accumulators the fastest counts unless `accumulate` names one.
//   arithmetic    runs on the vector unit. Its peak counts a fused multiply-add as two operations on one lane in one
//                 cycle: two additions or multiplications may share a lane-cycle, a comparison takes one of its own.
//                 A format that the unit does not list is assumed packed: its rate scales with the ratio of widths.
//                 A format that the device is known to lack runs as a wider one.
//                 A product whose operands are dequantised runs in floats as the file has it, and in the narrow type
//                 where a group of `traffic` dequantises them inside; floor_seconds takes the narrow type always.
//   special       each evaluation (exp, erf, rsqrt …) takes an issue slot of a special-function unit or a vector lane.
// Each row is a separate kernel that reads its operands from memory and writes its results there, and does the work as
// counted: Winograd convolutions, emulated precisions and sparsity do different work. An engine that fuses rows or
// keeps tensors in cache moves fewer bytes than the sum over rows; totals.floor_seconds holds for it, too. Given a
// Traffic, its groups are the kernels: each moves the group's bytes and does the work of its rows. Rates hold at the
// clocks of their sources.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pagoda/core/analyze.h"
#include "pagoda/core/cost.h"
#include "pagoda/core/device.h"
#include "pagoda/core/dim.h"
#include "pagoda/core/traffic.h"

#pragma GCC visibility push(default)
namespace pagoda::inline core {

// A unit of a wider format computes a narrower one only where it is faster by this factor: the FP64 tensor units of an
// H200 have the rate of its FP32 lanes, and two measured rates of one machine differ by less.
inline constexpr double kClearlyFaster = 1.02;

struct RooflineOptions {
  std::optional<Precision> accumulate = std::nullopt;  // only tensor rates with this accumulator
  Convention convention = Convention::Flops;           // for `flops` and `intensity`; no time depends on it
  Bindings bindings = {};                              // sizes of free dims; missing ones are 1
};

// The limit of a row's time.
enum class Bound : std::uint8_t {
  None,  // it takes no time: a view, host work, folded, or empty
  Compute,
  Memory,
  Latency,  // a launch takes longer than its work and traffic
  Unknown,  // the row is not modelled, or no peak is known for its type
};
std::string_view to_string(Bound bound);  // "compute", "memory", "latency", "none", "unknown"

struct RowBound {
  std::size_t row = 0;      // index in Analysis::nodes; for a group, in Traffic::groups
  std::int32_t group = -1;  // the row's group; -1 for rows that run nothing, and without groups
  Bound bound = Bound::None;
  double seconds = 0;  // the longer of the next two: a graph does not wait for launches
  double compute_seconds = 0, memory_seconds = 0;
  double share = 0;  // of the sum over rows, 0 … 1
  // How many times faster the row would be without its limiting factor: its time divided by the time of the next limit.
  // A memory-bound row with 8 is 8× from the compute roof. Empty where nothing else limits it.
  std::optional<double> headroom;
  double flops = 0, bytes = 0;
  std::optional<double> intensity;     // flops / bytes; empty without bytes
  std::optional<Precision> precision;  // of the peak that the row's contraction, else its arithmetic, runs at
  Unit unit = Unit::Vector;
  std::string level;  // the slowest level of memory for this row; empty without bytes
};

struct RooflineTotals {
  double seconds = 0;  // sum over rows
  // No execution of this work is faster, whatever it fuses and keeps on chip: all rows run in parallel, each unit is
  // always busy, and memory supplies only the bytes that a run needs and the chip cannot hold. A run needs its weights
  // and the parts of its inputs that it reads, caches included, each once; in every run, all but the sum of the on-chip
  // capacities (caches, shared memory) must come from memory again.
  double floor_seconds = 0;
  // The longer of `seconds` and one launch per row: launches are asynchronous and overlap with earlier rows. Empty
  // where the device states no launch overhead.
  std::optional<double> eager_seconds;
  double compute_seconds = 0, memory_seconds = 0;  // sums over rows
  std::int64_t launches = 0;                       // kernels that run
  std::int64_t unknown_rows = 0;                   // counted as 0 s
  bool at_least = false;                           // some row is unknown: all times are lower bounds

  // The run with one launch a kernel, where the device states what a launch takes.
  double launched_seconds() const { return eager_seconds.value_or(seconds); }
  // The run captured as one graph, which is itself launched once.
  double graph_seconds() const {
    const bool waits = launches > 0 && eager_seconds.value_or(0) > seconds;
    return waits ? std::max(seconds, *eager_seconds / static_cast<double>(launches)) : seconds;
  }
  // The bound of the whole model: the larger of the sums of compute and memory times, unless launches take longer than
  // both.
  Bound bound() const;
};

// A peak that the device does not state, which makes rows Bound::Unknown.
struct MissingPeak {
  Precision precision = Precision::Float32;
  Unit unit = Unit::Vector;
  std::int64_t rows = 0;
};

// The peak used for products in a format that the device does not state.
struct AssumedPeak {
  Precision precision = Precision::Float32;
  std::int64_t rows = 0;
  Precision taken = Precision::Float32;  // `precision` itself: packed into the vector unit's lanes
  Unit unit = Unit::Vector;              // of the peak taken
};

struct Roofline {
  // One for each of Analysis::nodes. Rows of one group have its bound and share its bytes and time, in proportion to
  // those of each row alone: they sum to the totals as groups do.
  std::vector<RowBound> rows;
  std::vector<RowBound> groups;  // one for each of Traffic::groups; empty where every row is a kernel
  RooflineTotals totals;
  std::vector<MissingPeak> missing;  // by precision and unit
  std::vector<AssumedPeak> assumed;  // by precision
};

Roofline roofline(const Analysis& analysis, const DeviceSpec& device, const RooflineOptions& options = {});
// The same with the groups of `traffic` as kernels.
Roofline roofline(const Analysis& analysis, const Traffic& traffic, const DeviceSpec& device,
                  const RooflineOptions& options = {});

// The totals at many sizes, with each point's bindings added to those of `options`: the same numbers as roofline(), but
// faster. With a null `traffic` every row is a kernel; the bytes of a resident one hold only at its own sizes.
std::vector<RooflineTotals> roofline_sweep(const Analysis& analysis, const DeviceSpec& device,
                                           const RooflineOptions& options, std::span<const Bindings> points,
                                           const Traffic* traffic = nullptr);

}  // namespace pagoda::inline core
#pragma GCC visibility pop
