// The chart model: everything that any output shows, as plain values in the units of the axes. Outputs only format it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "draw/axis.h"
#include "draw/svg.h"
#include "pagoda/core/energy.h"
#include "pagoda/documents/estimate.h"
#include "pagoda/documents/measured.h"
#include "pagoda/present/plot.h"
#include "plot/roofs.h"

namespace pagoda::present::plot {

// An estimate as charts use it: a view of the caller's document.
struct ChartEstimate {
  const PlotEstimate* source = nullptr;
  std::vector<const documents::EstimateNode*> nodes;  // in order of execution
  const documents::EstimateSweep* sweep = nullptr;    // over one dim, with points; null: none that makes a curve
  std::vector<std::string> notes;                     // parts of the document that could not be used, and why

  const documents::EstimateDocument& document() const { return source->document; }
  const std::string& model() const;  // path given to onnx-estimate, else the graph's name
  // The position in `nodes` of the node with this index; empty if the document leaves it out.
  std::optional<std::size_t> position(std::size_t index) const;
  // The positions of the nodes with these indices that the document has.
  std::vector<std::size_t> positions(const std::vector<std::size_t>& indices) const;
  // Of the nodes at these positions, the one that does most of the work.
  std::size_t heaviest(const std::vector<std::size_t>& positions) const;
  std::string label_without_free() const;                    // "resnet50" with only the sizes that are set
  std::string label(const std::string& without = {}) const;  // "resnet50, batch=8", leaving out the dim `without`
};

// The least time of a run at a point of a sweep; empty without a device.
std::optional<double> least_seconds(const documents::EstimatePoint& point);

// Refers to `estimate`.
ChartEstimate chart_estimate(const PlotEstimate& estimate);

// The sheet of a picture: its size, and the positions of axes and legend. Lengths are in units of the picture. Small
// text is always 12 units high, so that a small sheet with the same text has less space, not smaller letters.
struct Sheet {
  double width = 1200, height = 784;  // column sheets: height without the legend below the axes
  Box plot{84, 78, 932, 668};         // the axes
  Box panel{956, 70, 1184, 676};      // the legend: beside the axes, or below them
  bool is_column = false;             // narrow, for a column of a paper: legend below the axes, small title
  double points = 0;                  // printed size of a unit; 0: a unit is a screen pixel

  // A length for an attribute of the picture: "1200", "240.94pt".
  std::string length(double units) const;
};

// Throws Error if the width is too small for that text size.
Sheet make_sheet(const PlotOptions& options);

// The reason why an item has no dot.
enum class Absence : std::uint8_t {
  None,        // it has a dot
  NoWork,      // views, shape arithmetic, constants: the device does nothing
  ZeroFlops,   // only moves bytes: drawn on the rail at the left edge, at its B/s
  Unmodelled,  // no rule: nothing is known
  NoRoof,      // no peak is known for its type, or its bytes or time are 0
  Unmeasured,  // the measurement has no kernel for it
  ZeroTime,    // measured as 0 s
  Unjoined,    // a kernel that belongs to no node of the estimate
};
inline constexpr std::size_t kAbsences = 8;
std::string_view to_string(Absence absence);  // "no work on the device", …

// The limit of an item's speed.
enum class Limit : std::uint8_t {
  None,
  Compute,
  Memory,
  Neither,  // measured, and below 80% of both roofs: launches, or a kernel that uses neither well
  Unknown,
  Latency,  // not measured, and shorter than a launch: Bound::Latency
};
std::string_view to_string(Limit limit);

// A unit that is drawn and listed: a node, the nodes that one kernel executes, or a kernel that joined no node.
struct Item {
  std::string name, type, scope, shape;
  std::string dtype;                 // type of the arithmetic: "float16"; empty: unknown
  std::string rule;                  // that fused or joined the nodes
  std::vector<std::size_t> nodes;    // positions in the estimate; ascending
  std::vector<std::string> kernels;  // measured
  // Where the first provider puts it, as EstimatePlacement::Node::on, or "split" for a kernel with nodes on both sides,
  // and why it is not on the provider. Empty: not asked.
  std::string on, why;
  std::int64_t part = -1;  // of the provider's parts
  std::string flags;       // why counters and estimate differ: "padding; cache resident"
  std::optional<std::int64_t> launches;
  Absence absence = Absence::None;
  // Estimated.
  std::optional<double> flops, bytes, compute_seconds, memory_seconds, bound_seconds;
  std::optional<double> saved_bytes;  // fused kernels: bytes that the nodes pass on inside the kernel
  std::optional<std::size_t> roof;    // index in Roofs::compute
  // Measured.
  std::optional<double> seconds, min_seconds, max_seconds, counted_flops, dram_bytes, l2_bytes, l1_bytes, joules;

  // For the drawn point. Counters take precedence over the estimate.
  std::optional<double> work() const { return counted_flops ? counted_flops : flops; }
  std::optional<double> traffic() const { return dram_bytes ? dram_bytes : bytes; }
  std::optional<double> time() const { return seconds ? seconds : bound_seconds; }
  // The share of the attainable speed: bound / measured; empty without a measurement.
  std::optional<double> roof_share() const { return documents::ratio(bound_seconds, seconds); }
  Limit limit = Limit::Unknown;
  bool at_least = false;  // its counts, and so its time, are only lower bounds: a size that the data decide is 1
};

// Items with the same work, drawn as one dot.
struct Dot {
  std::vector<std::size_t> items;
  // `name`: the items' common pattern, "layers.*/conv/Conv"; the first name if other dots have that pattern too.
  // Aggregates are named by their type and size, "Sqrt, 306 others": no member's name stands for the others.
  std::string type, name;
  bool aggregate = false;                    // combines items beyond PlotOptions::max_dots
  double seconds = 0, share = 0;             // sum; share of the series' time
  std::optional<Point> estimated, measured;  // FLOP/B and FLOP/s; estimated: at the least time
  std::optional<double> l1_x, l2_x;          // measured intensities, drawn at the measured speed
  std::optional<double> low_y, high_y;       // from the longest and shortest of repeated runs
  bool above_roof = false;                   // measured more than 5% above its roof
  bool rail = false;                         // no FLOPs: stands on the rail at the left edge, by its time; y is B/s
  std::size_t color = 0;                     // index in Series::types; kColors is "other"

  // Where one dot stands for both: measured, else estimated.
  const std::optional<Point>& place() const { return measured ? measured : estimated; }
};

struct TypeTime {
  std::string type;
  std::size_t items = 0;
  double seconds = 0, bound_seconds = 0, flops = 0, bytes = 0;
};

struct Star {  // a whole model
  std::string label;
  double flops = 0, bytes = 0, seconds = 0;
  std::optional<double> shortest = {}, longest = {};  // seconds of repeated runs
  std::optional<double> joules = {};
  double x() const { return flops / bytes; }
  double y() const { return flops / seconds; }
  Point place() const { return {x(), y()}; }
};

// One model in one configuration, estimated or measured or both.
struct Series {
  std::string label;
  std::optional<std::size_t> estimate, measured;  // indices in Chart; measured: the file whose kernels are the items
  std::optional<std::size_t> run_file;            // index in Chart::measured: the file of its kernels or whole runs
  std::vector<Item> items;
  std::vector<Dot> dots;                  // most time first
  std::vector<TypeTime> types;            // most time first
  double seconds = 0, bound_seconds = 0;  // sums over items
  std::optional<double> run_seconds;      // of the file of the kernels: by `basis`, none for Kernels
  documents::MeasuredBasis basis = documents::MeasuredBasis::Kernels;  // of whole_seconds(), if measured
  double whole_seconds() const { return run_seconds.value_or(seconds); }
  // whole_seconds() is a sum in which the time of a kernel is missing.
  bool is_at_least() const {
    return has_time() && !run_seconds &&
           std::ranges::any_of(items, [](const Item& item) { return !item.kernels.empty() && !item.seconds; });
  }
  double memory_share = 0;  // of the time, in items whose traffic takes longest
  std::optional<Star> bound_star, measured_star;
  std::array<std::pair<std::size_t, double>, kAbsences> absent{};  // number of items and their share of the time
  std::size_t outside = 0;                                         // items outside the frame
  double outside_share = 0;
  std::optional<double> joined_share;  // share of the measured time in kernels that joined a node
  // The precision in which a measured series did most of its work, by its counters; empty: not counted.
  std::optional<Precision> ran_in;
  std::vector<Star> trajectory;  // the whole model over a swept size
  std::vector<Star> runs;        // measured runs of the whole model, the best of each size, in order of their work
  std::vector<Star> other_runs;  // measured runs of a size that has a better one, such as in other power modes
  bool has_time() const { return measured.has_value(); }
  // In a measured series, an unmeasured item has no time: a bound among measured times would mislead.
  double seconds_of(const Item& item) const { return (has_time() ? item.seconds : item.bound_seconds).value_or(0); }
};

// A change from the first series to the second.
struct Change {
  std::string name;
  Point before = {}, after = {};
  double before_seconds = 0, after_seconds = 0;
  std::size_t count = 1;  // items with the same move
};

// Energy data of a chart: constants of the machine, or fitted to the runs and kernels of the chart.
struct ChartEnergy {
  std::optional<EnergyModel> model;  // empty: no constants; dots and stars are drawn without an arch
  std::string source;                // "stated by the device", "fitted to 24 runs of this chart, mean error 16 %"
  std::size_t without_joules = 0;    // measured runs and kernels without joules
};

// A further machine or power mode: its roofline for the precision of the main roof.
struct Machine {
  std::string label, mode;            // "orin-agx:30w", "30w"
  double peak = 0, bandwidth = 0;     // FLOP/s, B/s
  std::optional<EnergyModel> energy;  // empty: no constants at its clocks
};

struct Chart {
  std::string title;
  PlotOptions options;
  DeviceSpec device;
  std::optional<documents::CeilingsDocument> ceilings;
  Roofs roofs;
  Frame frame;
  Sheet sheet;
  std::vector<ChartEstimate> estimates;
  std::vector<documents::Measured> measured;
  std::vector<Series> series;
  std::vector<Star> path;  // one model in several sizes: its series as stars, by size
  std::string path_dim;
  std::vector<Change> changes;
  std::optional<ChartEnergy> energy;
  std::vector<Machine> machines;  // besides the device
  bool by_model = false;          // several models: one colour per model, for all its dots
  bool is_energy = false;         // Star::seconds are joules; rates of roofs and dots are per joule (energy_view())
  std::vector<std::string> warnings;
  std::vector<std::pair<std::string, std::string>> provenance;

  // The estimate of a series; null if it has none.
  const ChartEstimate* estimate_of(const Series& of) const { return of.estimate ? &estimates[*of.estimate] : nullptr; }
};

// The chart refers to the estimates of `input`.
Chart make_chart(const PlotInput& input, const PlotOptions& options);
Chart make_chart(PlotInput&& input, const PlotOptions& options) = delete;

// "float16, fused": the precision and the traffic that the numbers of a series are for. "float32 (file)": no other was
// asked for; "tf32, measured": by counters.
std::string condition_text(const Chart& chart, const Series& series);

// The number of devices that an estimate is split over; 1 if it is for another machine than the chart's.
std::int64_t device_count(const ChartEstimate& estimate, const Chart& chart);
// "8 × NVIDIA H200 SXM 141 GB" if all estimates are split over that many devices.
std::string machine_text(const Chart& chart);
// "on"; "under the roofs of" if a measurement does not say which machine it is of.
std::string_view before_machine(const Chart& chart);

// True if a file has times of whole runs but no kernels.
bool is_of_whole_runs(const documents::Measured& measured);
// Moves runs of a size that has a better one from `runs` to `other_runs`, or back.
void keep_best(Series& series);
// Adds the file's runs to the series of an estimate. Throws Error if no run has the estimate's sizes.
void add_runs(Series& series, Chart& chart, const documents::Measured& measured, const std::string& file);

// Sets Series::outside and outside_share; dots of the rail are neither.
void count_outside(Series& series, const Frame& frame);
// Fits the frame of a still picture, unless the options set it; recounts the dots outside.
void fit_frame(Chart& chart);
// The same for an energy view: its marks, the balances and the best of the machine. Without a mark nothing changes.
void fit_energy_frame(Chart& view);

// Sets Chart::energy if constants or joules are known.
void add_energy(Chart& chart);
// The same chart with FLOP/J instead of FLOP/s. Throws Error if nothing is known about energy.
Chart energy_view(const Chart& chart);

// Parts of make_chart(), one file each.
std::vector<Item> estimate_items(const ChartEstimate& estimate, const Roofs& roofs, bool same_device);
std::vector<Item> joined_items(const ChartEstimate& estimate, const documents::Measured& measured, const Roofs& roofs,
                               bool same_device);
std::vector<Item> kernel_items(const documents::Measured& measured);
// The precision in which most of the counted work was done; empty if it was not counted or has no roof here.
std::optional<Precision> counted_precision(const documents::Measured& measured, const Roofs& roofs);
void finish_series(Series& series, const Chart& chart);  // limits, dots, types, sums

}  // namespace pagoda::present::plot
