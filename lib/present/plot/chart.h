// The chart model: everything that any output shows, as plain values, in the units of its axes. Outputs only format it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pagoda/core/energy.h"
#include "pagoda/documents/measured.h"
#include "pagoda/present/plot.h"
#include "plot/estimate_file.h"
#include "plot/roofs.h"
#include "plot/sheet.h"

namespace pagoda::present::plot {

// Why an item has no dot.
enum class Absence : std::uint8_t {
  None,        // it has one
  NoWork,      // views, shape arithmetic, constants: the device does nothing
  ZeroFlops,   // moves bytes only: on the rail at the left edge, at its B/s
  Unmodelled,  // no rule: nothing is known
  NoRoof,      // no peak is known for its type, or no work for its time
  Unmeasured,  // the measurement holds no kernel of it
  ZeroTime,    // measured as 0 s
  Unjoined,    // a kernel that belongs to no node of the estimate
};
inline constexpr std::size_t kAbsences = 8;
std::string_view to_string(Absence absence);  // "no work on the device", …

// What holds an item back.
enum class Limit : std::uint8_t {
  None,
  Compute,
  Memory,
  Neither,  // measured, and below 80% of both roofs: latency, launches, or a kernel that uses neither well
  Unknown,
};
std::string_view to_string(Limit limit);

// What is drawn and listed as one: a node, the nodes that one kernel executes, or a kernel that joined no node.
struct Item {
  std::string name, type, scope, shape;
  std::string dtype;                 // in which the work is done: "float16"; empty: not known
  std::string rule;                  // by which nodes were fused or joined
  std::vector<std::size_t> nodes;    // positions in the estimate; ascending
  std::vector<std::string> kernels;  // measured
  std::string flags;                 // why counters and estimate differ: "padding; cache resident"
  std::optional<std::int64_t> launches;
  Absence absence = Absence::None;
  // Estimated.
  std::optional<double> flops, bytes, compute_seconds, memory_seconds, bound_seconds;
  std::optional<double> saved_bytes;  // of a fused kernel: what its nodes pass on within it
  std::optional<std::size_t> roof;  // in Roofs::compute
  // Measured.
  std::optional<double> seconds, min_seconds, max_seconds, counted_flops, dram_bytes, l2_bytes, l1_bytes, joules;

  // Of the drawn point. Counters win over the estimate.
  std::optional<double> work() const { return counted_flops ? counted_flops : flops; }
  std::optional<double> traffic() const { return dram_bytes ? dram_bytes : bytes; }
  std::optional<double> time() const { return seconds ? seconds : bound_seconds; }
  // The part of the possible speed: bound / measured; empty without a measurement.
  std::optional<double> roof_share() const;
  Limit limit = Limit::Unknown;
};

// Items that are the same work: one dot.
struct Dot {
  std::vector<std::size_t> items;
  std::string type, name;         // name of the item with the most time; aggregates are named by their type
  bool aggregate = false;         // stands for items beyond PlotOptions::max_dots
  double seconds = 0, share = 0;  // summed; of the series
  std::optional<double> x, y;     // estimated: FLOP/B and FLOP/s at the least time
  std::optional<double> measured_x, measured_y;
  std::optional<double> l1_x, l2_x;     // measured, at y
  std::optional<double> low_y, high_y;  // from the longest and shortest of repeated runs
  bool above_roof = false;              // measured more than 5% above its roof
  bool rail = false;                    // no FLOPs: y is then B/s
  std::size_t color = 0;                // in Series::types; the last is "other"
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
};

// One model in one configuration, estimated or measured or both.
struct Series {
  std::string label;
  std::optional<std::size_t> estimate, measured;  // indices in Chart; measured: kernels of that file
  std::optional<std::size_t> run_file;            // of Chart::measured: its kernels, or its whole runs
  std::vector<Item> items;
  std::vector<Dot> dots;                  // most time first
  std::vector<TypeTime> types;            // most time first
  double seconds = 0, bound_seconds = 0;  // sums over items
  double memory_share = 0;                // of the time, in memory-bound items
  std::optional<Star> bound_star, measured_star;
  std::array<std::pair<std::size_t, double>, kAbsences> absent{};  // items and their share of the time
  std::size_t outside = 0;                                         // dots beyond the frame
  double outside_share = 0;
  std::optional<double> joined_share;  // of the measured time
  std::vector<Star> trajectory;        // whole models over a swept size
  std::vector<Star> runs;              // measured runs of the whole model, in order of their work
  bool has_time() const { return measured.has_value(); }
};

inline constexpr std::size_t kColors = 6;  // types with a colour of their own; the rest is "other"

// A change from the first series to the second.
struct Change {
  std::string name;
  double before_x = 0, before_y = 0, after_x = 0, after_y = 0;
  double before_seconds = 0, after_seconds = 0;
  std::size_t count = 1;  // items that moved alike
};

// What a chart knows of energy: constants of the machine, or of a fit to the runs and kernels that it draws.
struct ChartEnergy {
  std::optional<EnergyModel> model;  // empty: no constants; dots and stars are drawn without an arch
  std::string source;                // "stated by the device", "fitted to 24 runs of this chart, mean error 16 %"
  std::size_t without_joules = 0;    // measured runs and kernels that have none
};

// Another machine or power mode: its roofline for the precision of the main roof.
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
  std::vector<EstimateFile> estimates;
  std::vector<documents::Measured> measured;
  std::vector<Series> series;
  std::vector<Star> path;  // whole models of several series of one model, by size
  std::string path_dim;
  std::vector<Change> changes;
  std::optional<ChartEnergy> energy;
  std::vector<Machine> machines;  // beside the device
  bool by_model = false;   // several models: each has a colour, all its dots in it
  bool is_energy = false;  // seconds of stars are joules, rates of roofs and dots are per joule (energy_view())
  std::vector<std::string> warnings;
  std::vector<std::pair<std::string, std::string>> provenance;
};

Chart make_chart(const PlotInput& input, const PlotOptions& options);

// Whether a file has times of whole runs and of no kernel (runs.cpp).
bool is_of_whole_runs(const documents::Measured& measured);
// Adds its runs to the series of an estimate. Throws Error where none of them is of the estimate's sizes.
void add_runs(Series& series, Chart& chart, const documents::Measured& measured, const std::string& file);

// A still picture's frame, unless the options set it; recounts what lies outside.
void fit_frame(Chart& chart);

void add_machines(Chart& chart, const std::vector<DeviceSpec>& others);
// Sets Chart::energy where constants or joules are known.
void add_energy(Chart& chart);
// The same chart over energy: FLOP/J instead of FLOP/s. Throws Error where nothing is known of energy.
Chart energy_view(const Chart& chart);

// Parts of make_chart(), one file each.
std::vector<Item> estimate_items(const EstimateFile& estimate, const Roofs& roofs, bool same_device);
std::vector<Item> joined_items(const EstimateFile& estimate, const documents::Measured& measured, const Roofs& roofs,
                               bool same_device);
std::vector<Item> kernel_items(const documents::Measured& measured);
void finish_series(Series& series, const Chart& chart);  // limits, dots, types, sums

}  // namespace pagoda::present::plot
