// Sweeps: the cost of a model over many sizes, from one analysis and its closed formulas.
//
//   std::vector<SweepAxis> axes = {parse_axis("batch=1,2,4..1024")};
//   Analysis analysis = analyze(model, sweep_options({}, axes));
//   Sweep result = sweep(model, analysis, axes, {.time = SweepTime{.device = device("h200")}});
//   result.points[10].time->seconds;  // at batch 1024
//   result.ridge->size;               // the first batch at which arithmetic and no longer memory bounds the model
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pagoda/core/analyze.h"
#include "pagoda/core/custom_operator.h"
#include "pagoda/core/device.h"
#include "pagoda/core/roofline.h"
#include "pagoda/core/traffic.h"

#pragma GCC visibility push(default)
namespace pagoda::inline core {

// "batch", the name of a dim as in the file, or the name of a data-dependent size; and its values, in order.
struct SweepAxis {
  std::string dim;
  std::vector<std::int64_t> sizes;
};

// Reads NAME=LIST. LIST holds sizes and ranges, separated by commas. "a..b" counts up by one; "a,b..c" continues with
// the difference of a and b; "a,b,c..d" continues with a constant difference or ratio: "128,256,384..1024",
// "1,2,4..1024". A range always ends with the named size, even where a step would pass it. Throws Error.
SweepAxis parse_axis(std::string_view text);

// `options` with the swept dims left free; a batch that the file fixes becomes free. Throws Error where an axis is also
// bound.
AnalyzeOptions sweep_options(AnalyzeOptions options, const std::vector<SweepAxis>& axes);

// The batch dims of the file's inputs, free or not, as formulas name them.
std::vector<std::string> batch_dims(const Model& model);
// Those that are free in the analysis. The name of a batch is believed; any other dim is none where the analysis shows
// that its items are not independent.
std::vector<std::string> batch_dims(const Model& model, const Analysis& analysis);
// Those of the file without dims that an analysis with these options shows to be none.
std::vector<std::string> batch_dims(const Model& model, const AnalyzeOptions& options,
                                    const std::vector<CustomOperator>& stated = {});

// The symbols of an axis in the formulas of an analysis. Throws Error if there are none.
std::vector<std::string> axis_symbols(const Model& model, const Analysis& analysis, const std::string& axis);

struct SweepTime {
  DeviceSpec device;
  RooflineOptions options = {};
};

struct SweepOptions {
  Convention count = Convention::Flops;  // for `flops`; with Pagoda, flops and bytes are the published estimator's
  TrafficModel traffic = TrafficModel::Unfused;
  std::optional<SweepTime> time = std::nullopt;
  std::int64_t l2_bytes = 0;  // for resident traffic
  bool is_step = false;       // the analysis is a training step: Pagoda counts follow the published training rule
  // Items that a run processes, for rates; empty: the size of a swept batch.
  std::optional<Dim> items = std::nullopt;
};

// Empty numbers are unknown. Where a node is not modelled, counts are lower bounds (see Analysis::partial).
struct SweepPoint {
  std::vector<std::int64_t> sizes;  // one per axis
  std::optional<Int> macs, flops, bytes_read, bytes_written, bytes;
  std::optional<Int> param_bytes;
  std::optional<Int> activation_peak_bytes;
  std::optional<Int> memory_bytes;  // weights and the activation peak together
  std::optional<double> intensity;
  std::optional<Int> items;  // of one run; empty without a swept batch or requested items
  std::optional<RooflineTotals> time;
  Bound bound = Bound::Unknown;  // RooflineTotals::bound()
  std::string problem;           // why the formulas do not hold here (see broken_requirement); numbers are then empty
};

// The size at which the sum of compute times first reaches the sum of memory times.
struct RidgeCrossing {
  std::int64_t size = 0;
  bool at_start = false;  // already at the first size of the axis
};

struct Sweep {
  std::vector<SweepAxis> axes;
  std::vector<SweepPoint> points;      // the last axis varies fastest
  std::optional<RidgeCrossing> ridge;  // of a sweep over one ascending axis; empty if not reached
  TrafficModel traffic = TrafficModel::Unfused;
};

// "batch=4, sequence=128"
std::string sizes_text(const Sweep& sweep, const SweepPoint& point);

inline constexpr std::size_t kMaxSweepPoints = 1'000'000;

// Throws Error for axes that the model does not have and for more than kMaxSweepPoints points.
Sweep sweep(const Model& model, const Analysis& analysis, const std::vector<SweepAxis>& axes,
            const SweepOptions& options = {});

}  // namespace pagoda::inline core
#pragma GCC visibility pop
