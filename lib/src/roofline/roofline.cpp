// Time bounds per row and in sum. Rates are looked up once per precision, sizes are evaluated per point.
#include "pagoda/roofline.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace pagoda {
namespace {

constexpr std::size_t kPrecisions = static_cast<std::size_t>(Precision::Int4) + 1;

// What a device does in a second for work of one precision.
struct Rates {
  double contraction = 0;  // operations of multiply-accumulates; 0: not known
  Precision contraction_precision = Precision::Float32;
  Unit contraction_unit = Unit::Vector;
  double lanes = 0;  // issues of vector lanes: half the peak, which counts a fused multiply-add twice
};

// The best of the formats that hold `type`, or of packing it into lanes where it is not listed (see roofline.h).
double vector_rate(const DeviceSpec& device, Precision type) {
  if (type == Precision::Tf32) type = Precision::Float32;  // TF32 exists in tensor units only
  const bool listed = device.peak(type, Unit::Vector) != nullptr;
  double best = 0, narrower = 0;
  for (const Peak& peak : device.peaks) {
    if (peak.unit != Unit::Vector || !peak.flops_per_second.known()) continue;
    if (listed && !holds(peak.precision, type)) continue;
    const double rate = *peak.flops_per_second.value;
    const double packed = static_cast<double>(bits(peak.precision)) / bits(type);
    if (packed < 1)
      narrower = std::max(narrower, rate);
    else
      best = std::max(best, listed ? rate : rate * packed);
  }
  return best > 0 ? best : narrower;
}

Rates rates_of(const DeviceSpec& device, Precision type, std::optional<Precision> accumulate) {
  Rates rates;
  rates.lanes = vector_rate(device, type) / 2;
  for (std::size_t i = 0; i < kPrecisions; ++i) {
    const auto format = static_cast<Precision>(i);
    if (!holds(format, type)) continue;
    for (const Unit unit : {Unit::Tensor, Unit::Vector}) {
      const Peak* peak = device.peak(format, unit, unit == Unit::Tensor ? accumulate : std::nullopt);
      if (peak == nullptr || *peak->flops_per_second.value <= rates.contraction) continue;
      rates.contraction = *peak->flops_per_second.value;
      rates.contraction_precision = format;
      rates.contraction_unit = unit;
    }
  }
  // A vector unit multiplies narrow types at least as fast as it adds them, dot products included.
  if (const double packed = 2 * rates.lanes; rates.contraction_unit == Unit::Vector && packed > rates.contraction) {
    rates.contraction = packed;
    rates.contraction_precision = type;
  }
  return rates;
}

// Busy time of the units. Each is linear in the work, so that sums over rows bound rows that run side by side.
struct UnitSeconds {
  double tensor = 0;
  double lanes = 0;  // of the vector unit
  double mixed = 0;  // of vector lanes and special units together

  double longest() const { return std::max({tensor, lanes, mixed}); }
  UnitSeconds& operator+=(const UnitSeconds& other) {
    tensor += other.tensor;
    lanes += other.lanes;
    mixed += other.mixed;
    return *this;
  }
};

// A row that takes time: its counts, and what does not depend on sizes.
struct Job {
  std::size_t row;
  const NodeReport* report;
  std::optional<Precision> precision;  // empty: no rate is known
  double byte_scale = 1;
};

class Evaluator {
 public:
  Evaluator(const Analysis& analysis, const DeviceSpec& device, const RooflineOptions& options)
      : analysis_(analysis), device_(device), options_(options) {
    for (std::size_t i = 0; i < kPrecisions; ++i)
      rates_[i] = rates_of(device, static_cast<Precision>(i), options.accumulate);
    for (const MemoryLevel& level : device.levels)
      if (level.level != "shared" && level.bytes_per_second.known())
        levels_.push_back(&level);  // a kernel may bypass it
    if (device.special_per_second.known()) special_per_second_ = *device.special_per_second.value;
    for (std::size_t row = 0; row < analysis.nodes.size(); ++row) add(row);
  }

  // Calls visit(bound) for every row that may take time; flops, intensity and share are left to the caller.
  template <typename Visit>
  RooflineTotals evaluate(const Bindings& bindings, const Visit& visit) const {
    RooflineTotals totals;
    totals.unknown_rows = unmodelled_;
    UnitSeconds busy;
    double weight_bytes = 0;
    for (const Job& job : jobs_) {
      const Work work = work_of(job, bindings);
      const std::optional<UnitSeconds> units = units_of(job, work);
      const RowBound bound = bound_of(job, work, units);
      visit(bound);
      busy += units.value_or(UnitSeconds{});
      weight_bytes += work.weight_bytes;
      totals.unknown_rows += bound.bound == Bound::Unknown ? 1 : 0;
      totals.launches += bound.bound == Bound::None ? 0 : 1;
      totals.seconds += bound.seconds;
      totals.compute_seconds += bound.compute_seconds;
      totals.memory_seconds += bound.memory_seconds;
    }
    totals.at_least = totals.unknown_rows > 0;
    totals.floor_seconds = std::max(busy.longest(), memory_time(weight_bytes).first);
    if (const Quantity& launch = device_.launch_overhead_seconds; launch.known())
      totals.eager_seconds = std::max(totals.seconds, static_cast<double>(totals.launches) * *launch.value);
    return totals;
  }

 private:
  struct Work {
    double macs, arith, comparisons, special, bytes, weight_bytes;

    bool any() const { return macs + arith + special > 0; }
  };

  void add(std::size_t row) {
    const NodeReport& report = analysis_.nodes[row];
    unmodelled_ += report.unmodelled_inside;
    if (report.cost.mark == Mark::Unmodelled) ++unmodelled_;
    if (report.cost.mark != Mark::Compute) return;
    Job job{row, &report, precision_of(report.cost.precision), 1};
    if (options_.precision && is_float(report.cost.precision)) {
      job.precision = options_.precision;
      job.byte_scale = std::min(1.0, static_cast<double>(bits(*options_.precision)) / bits(report.cost.precision));
    }
    jobs_.push_back(job);
  }

  static Work work_of(const Job& job, const Bindings& bindings) {
    const auto number = [&](const Dim& dim) { return static_cast<double>(dim.evaluate(bindings)); };
    const OpCost& cost = job.report->cost;
    const double read = number(cost.bytes_read);
    // A row may read less than its weights: a lookup takes only the rows it picks.
    return {.macs = number(cost.macs),
            .arith = number(cost.arith),
            .comparisons = number(cost.comparisons),
            .special = number(cost.special),
            .bytes = job.byte_scale * (read + number(cost.bytes_written)),
            .weight_bytes = job.byte_scale * std::min(number(job.report->param_bytes), read)};
  }

  // Empty where no rate is known.
  std::optional<UnitSeconds> units_of(const Job& job, const Work& work) const {
    UnitSeconds seconds;
    if (!work.any()) return seconds;
    if (!job.precision) return std::nullopt;
    const Rates& rates = rates_[static_cast<std::size_t>(*job.precision)];
    if (work.macs > 0 ? rates.contraction <= 0 : rates.lanes <= 0) return std::nullopt;

    // Lane issues: a fused multiply-add does two of the additions and multiplications, a comparison stands alone.
    double issues = std::max(0.0, work.arith - work.comparisons) / 2 + work.comparisons;
    if (work.macs > 0) {
      const double contraction = 2 * work.macs / rates.contraction;
      if (rates.contraction_unit == Unit::Tensor)
        seconds.tensor = contraction;
      else
        issues += contraction * rates.lanes;
    }
    if (rates.lanes > 0) {  // else only the contraction bounds the row
      seconds.lanes = issues / rates.lanes;
      seconds.mixed = (issues + work.special) / (rates.lanes + special_per_second_);
    }
    return seconds;
  }

  // The time of the slowest level and its name.
  std::pair<double, std::string_view> memory_time(double bytes) const {
    std::pair<double, std::string_view> slowest = {0, ""};
    for (const MemoryLevel* level : levels_)
      if (const double seconds = bytes / *level->bytes_per_second.value; seconds > slowest.first)
        slowest = {seconds, level->level};
    return slowest;
  }

  RowBound bound_of(const Job& job, const Work& work, const std::optional<UnitSeconds>& units) const {
    RowBound row;
    row.row = job.row;
    row.bytes = work.bytes;
    const auto [memory_seconds, level] = memory_time(work.bytes);
    row.memory_seconds = row.seconds = memory_seconds;
    row.level = level;
    if (!units) {
      row.bound = Bound::Unknown;
      return row;
    }
    if (!work.any() && work.bytes <= 0) return row;
    row.compute_seconds = units->longest();
    row.seconds = std::max(row.compute_seconds, row.memory_seconds);
    if (work.any()) {
      const Rates& rates = rates_[static_cast<std::size_t>(*job.precision)];
      row.precision = work.macs > 0 ? rates.contraction_precision : *job.precision;
      row.unit = work.macs > 0 ? rates.contraction_unit : Unit::Vector;
    }
    classify(row);
    return row;
  }

  void classify(RowBound& row) const {
    const Quantity& launch = device_.launch_overhead_seconds;
    std::array<std::pair<double, Bound>, 3> limits = {{{row.compute_seconds, Bound::Compute},
                                                       {row.memory_seconds, Bound::Memory},
                                                       {launch.value.value_or(0), Bound::Latency}}};
    std::stable_sort(limits.begin(), limits.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    row.bound = limits[0].second;
    if (limits[1].first > 0) row.headroom = limits[0].first / limits[1].first;
  }

  const Analysis& analysis_;
  const DeviceSpec& device_;
  const RooflineOptions& options_;
  std::array<Rates, kPrecisions> rates_;
  std::vector<const MemoryLevel*> levels_;
  double special_per_second_ = 0;
  std::vector<Job> jobs_;
  std::int64_t unmodelled_ = 0;
};

}  // namespace

std::string_view to_string(Bound bound) {
  switch (bound) {
    case Bound::None:
      return "none";
    case Bound::Compute:
      return "compute";
    case Bound::Memory:
      return "memory";
    case Bound::Latency:
      return "latency";
    case Bound::Unknown:
      return "unknown";
  }
  return "unknown";
}

Roofline roofline(const Analysis& analysis, const DeviceSpec& device, const RooflineOptions& options) {
  Roofline result;
  result.rows.resize(analysis.nodes.size());
  for (std::size_t i = 0; i < result.rows.size(); ++i) {
    result.rows[i].row = i;
    if (analysis.nodes[i].cost.mark == Mark::Unmodelled) result.rows[i].bound = Bound::Unknown;
  }
  const Evaluator evaluator(analysis, device, options);
  result.totals = evaluator.evaluate(options.bindings, [&](const RowBound& bound) { result.rows[bound.row] = bound; });
  for (RowBound& row : result.rows) {
    if (analysis.nodes[row.row].cost.mark != Mark::Compute) continue;
    row.flops = static_cast<double>(flops(analysis.nodes[row.row].cost, options.convention).evaluate(options.bindings));
    if (row.bytes > 0) row.intensity = row.flops / row.bytes;
    if (result.totals.seconds > 0) row.share = row.seconds / result.totals.seconds;
  }
  return result;
}

std::vector<RooflineTotals> roofline_sweep(const Analysis& analysis, const DeviceSpec& device,
                                           const RooflineOptions& options, std::span<const Bindings> points) {
  const Evaluator evaluator(analysis, device, options);
  std::vector<RooflineTotals> totals;
  totals.reserve(points.size());
  for (const Bindings& point : points) {
    Bindings bindings = options.bindings;
    for (const auto& [name, value] : point) bindings.insert_or_assign(name, value);
    totals.push_back(evaluator.evaluate(bindings, [](const RowBound&) {}));
  }
  return totals;
}

std::vector<Ridge> ridge_points(const DeviceSpec& device, std::string_view level) {
  std::vector<Ridge> ridges;
  const MemoryLevel* memory = device.level(level);
  if (memory == nullptr || !memory->bytes_per_second.known()) return ridges;
  for (const Peak& peak : device.peaks)
    if (peak.flops_per_second.known())
      ridges.push_back({peak, *peak.flops_per_second.value / *memory->bytes_per_second.value});
  return ridges;
}

RooflinePoint roofline_point(double flops, double bytes, double peak_flops_per_second, double bytes_per_second) {
  const double work = flops / peak_flops_per_second, traffic = bytes / bytes_per_second;
  RooflinePoint point;
  point.intensity = flops / bytes;
  point.flops_per_second = std::min(peak_flops_per_second, point.intensity * bytes_per_second);
  point.seconds = std::max(work, traffic);
  point.bound = work >= traffic ? Bound::Compute : Bound::Memory;
  return point;
}

}  // namespace pagoda
