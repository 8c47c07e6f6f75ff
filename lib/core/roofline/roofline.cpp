// Time bounds per kernel and in total. Rates are looked up once per precision; formulas are compiled once, so that a
// point of a sweep costs a few multiplications for each distinct kernel.
#include "pagoda/core/roofline.h"

#include <algorithm>
#include <array>
#include <map>

#include "graph/dim_table.h"
#include "pagoda/base/enum_names.h"
#include "pagoda/core/roofline_table.h"

namespace pagoda::inline core {
namespace {

constexpr std::size_t kPrecisions = static_cast<std::size_t>(Precision::Int4) + 1;

using Rate = DeviceRates::Rate;  // for work of one precision

bool lacks(const DeviceSpec& device, Precision type) {
  return std::find(device.lacks.begin(), device.lacks.end(), type) != device.lacks.end();
}

// The best rate of the formats that hold `type`, or of packing it into lanes if it is not listed (see roofline.h).
double vector_rate(const DeviceSpec& device, Precision type) {
  if (type == Precision::Tf32) type = Precision::Float32;  // TF32 exists in tensor units only
  const bool listed = lacks(device, type) || device.peak(type, Unit::Vector) != nullptr;
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

Rate rate_of(const DeviceSpec& device, Precision type, std::optional<Precision> accumulate) {
  Rate rate;
  rate.lanes = vector_rate(device, type) / 2;  // the peak counts a fused multiply-add twice
  const auto offer = [&](Precision format, double factor) {
    for (const Unit unit : {Unit::Tensor, Unit::Vector}) {
      const Peak* peak = device.peak(format, unit, unit == Unit::Tensor ? accumulate : std::nullopt);
      if (peak == nullptr || *peak->flops_per_second.value <= factor * rate.contraction) continue;
      rate.contraction = *peak->flops_per_second.value;
      rate.precision = format;
      rate.unit = unit;
    }
  };
  offer(type, 1);
  for (std::size_t i = 0; i < kPrecisions; ++i)
    if (const auto format = static_cast<Precision>(i); format != type && holds(format, type))
      offer(format, rate.precision == type ? kClearlyFaster : 1);
  // A vector unit multiplies narrow types at least as fast as it adds them, dot products included.
  if (const double packed = 2 * rate.lanes;
      !lacks(device, type) && rate.unit == Unit::Vector && packed > rate.contraction) {
    rate.contraction = packed;
    rate.precision = type;
  }
  return rate;
}

// Levels are listed from memory inwards.
DeviceRates rates_of(const DeviceSpec& device, std::optional<Precision> accumulate) {
  DeviceRates result;
  for (std::size_t i = 0; i < kPrecisions; ++i)
    result.rates.push_back(rate_of(device, static_cast<Precision>(i), accumulate));
  result.special_per_second = device.special_per_second.value.value_or(0);
  double inside = 0;
  for (auto level = device.levels.rbegin(); level != device.levels.rend(); ++level) {
    if (level->level != "shared" && level->bytes_per_second.known())  // kernels may bypass shared memory
      result.levels.push_back({level->level, *level->bytes_per_second.value, inside});
    const double units = level->per_unit ? device.units.value.value_or(1) : 1;
    inside += units * level->capacity_bytes.value.value_or(0);
  }
  std::reverse(result.levels.begin(), result.levels.end());
  return result;
}

// Busy time of the units. Each is linear in the work, so sums over rows are bounds for rows that run concurrently.
struct UnitSeconds {
  double tensor = 0;
  double lanes = 0;  // of the vector unit
  double mixed = 0;  // vector lanes and special units together

  double longest() const { return std::max({tensor, lanes, mixed}); }
};

using Part = RooflinePart;
using Kernel = RooflineKernel;
// Kernels, each with its rows or groups.
using Kernels = std::map<Kernel, std::vector<std::size_t>>;

// Adds a kernel; kernels with the same formulas are stored, and evaluated, once.
void add_kernel(Kernels& kernels, DimTable& table, const Analysis& analysis, std::size_t id,
                const std::vector<std::size_t>& rows, const OpCost& moved) {
  Kernel kernel;
  for (const std::size_t row : rows) {
    const NodeReport& report = analysis.nodes[row];
    const OpCost& cost = report.cost;
    if (cost.mark != Mark::Compute) continue;
    if (kernel.parts.empty()) kernel.runs = table.add(report.runs);
    Part part{.macs = table.add(cost.macs),
              .arith = table.add(cost.arith),
              .comparisons = table.add(cost.comparisons),
              .special = table.add(cost.special),
              .needed_bytes = table.add(report.needed_bytes),
              .precision = precision_of(cost.precision),
              .narrowest = std::nullopt};
    // TF32 is the only precision without an element type.
    if (analysis.precision == Precision::Tf32 && cost.precision == ElementType::Float32)
      part.precision = Precision::Tf32;
    part.narrowest = part.precision;
    if (report.dequantized_from != ElementType::Undefined) {
      part.narrowest = precision_of(report.dequantized_from);
      if (moved.precision == report.dequantized_from) part.precision = part.narrowest;
    }
    kernel.parts.push_back(part);
  }
  if (kernel.parts.empty()) return;
  kernel.bytes_read = table.add(moved.bytes_read);
  kernel.bytes_written = table.add(moved.bytes_written);
  kernels[std::move(kernel)].push_back(id);
}

Kernels kernels_of(DimTable& table, const Analysis& analysis, const Traffic* traffic) {
  Kernels kernels;
  if (traffic == nullptr) {
    for (std::size_t row = 0; row < analysis.nodes.size(); ++row)
      add_kernel(kernels, table, analysis, row, {row}, analysis.nodes[row].cost);
    return kernels;
  }
  for (std::size_t id = 0; id < traffic->groups.size(); ++id) {
    const TrafficGroup& group = traffic->groups[id];
    add_kernel(kernels, table, analysis, id, {group.rows.begin(), group.rows.end()}, group.cost);
  }
  return kernels;
}

std::int64_t unmodelled_rows(const Analysis& analysis) {
  std::int64_t rows = 0;
  for (const NodeReport& row : analysis.nodes)
    rows += row.unmodelled_inside + (row.cost.mark == Mark::Unmodelled ? 1 : 0);
  return rows;
}

class Evaluator {
 public:
  Evaluator(const Analysis& analysis, const Traffic* traffic, const DeviceSpec& device, const RooflineOptions& options)
      : device_(device),
        rates_(rates_of(device, options.accumulate)),
        kernels_(kernels_of(table_, analysis, traffic)),
        unmodelled_(unmodelled_rows(analysis)) {}

  // Calls visit(id, bound) for each row or group of every kernel that may take time; flops, intensity and share are
  // left to the caller.
  template <typename Visit>
  RooflineTotals evaluate(const Bindings& bindings, const Visit& visit) {
    table_.evaluate(bindings, values_);
    RooflineTotals totals;
    totals.unknown_rows = unmodelled_;
    UnitSeconds busy;
    double needed_bytes = 0;
    for (const auto& [kernel, ids] : kernels_) {
      const double count = static_cast<double>(ids.size());
      const std::optional<UnitSeconds> units = units_of(kernel, &Part::precision);
      const RowBound bound = bound_of(kernel, units);
      for (const std::size_t id : ids) visit(id, bound);
      if (const std::optional<UnitSeconds> least = units_of(kernel, &Part::narrowest))
        for (double UnitSeconds::*unit : {&UnitSeconds::tensor, &UnitSeconds::lanes, &UnitSeconds::mixed})
          busy.*unit += count * *least.*unit;
      double bytes = 0;
      for (const Part& part : kernel.parts) bytes += std::max(value(part.needed_bytes), 0.0);
      needed_bytes += count * bytes;
      const auto kernels = static_cast<std::int64_t>(ids.size());
      totals.unknown_rows += bound.bound == Bound::Unknown ? kernels : 0;
      totals.launches += bound.bound == Bound::None ? 0 : kernels * runs_of(kernel);
      totals.seconds += count * bound.seconds;
      totals.compute_seconds += count * bound.compute_seconds;
      totals.memory_seconds += count * bound.memory_seconds;
    }
    totals.at_least = totals.unknown_rows > 0;
    totals.floor_seconds = std::max(busy.longest(), least_memory_time(needed_bytes));
    if (const Quantity& launch = device_.launch_overhead_seconds; launch.known())
      totals.eager_seconds = std::max(totals.seconds, static_cast<double>(totals.launches) * *launch.value);
    return totals;
  }

  // Evaluates one bound per row or group, each of which has the cost cost_of(id).
  template <typename CostOf>
  RooflineTotals evaluate_all(const Bindings& bindings, std::vector<RowBound>& bounds, const CostOf& cost_of) {
    for (std::size_t id = 0; id < bounds.size(); ++id)
      if (cost_of(id).mark == Mark::Unmodelled) bounds[id].bound = Bound::Unknown;
    const RooflineTotals totals =
        evaluate(bindings, [&](std::size_t id, const RowBound& bound) { bounds[id] = bound; });
    for (std::size_t id = 0; id < bounds.size(); ++id) bounds[id].row = id;
    return totals;
  }

  // Lists the peaks that the kernels of the last evaluation need but the device does not state.
  void list_gaps(Roofline& result) const {
    std::map<std::pair<Precision, Unit>, std::int64_t> missing;
    std::map<Precision, std::int64_t> assumed;
    for (const auto& [kernel, ids] : kernels_)
      for (const Part& part : kernel.parts) {
        if (!part.precision || !has_work(part)) continue;
        const Precision type = *part.precision;
        const Rate& rate = rate_for(type);
        const bool multiplies = value(part.macs) > 0;
        const auto rows = static_cast<std::int64_t>(ids.size());
        if (multiplies ? rate.contraction <= 0 : rate.lanes <= 0)
          missing[{type, multiplies && bits(type) <= 16 ? Unit::Tensor : Unit::Vector}] += rows;
        else if (multiplies && device_.peak(type, Unit::Tensor) == nullptr &&
                 device_.peak(type, Unit::Vector) == nullptr)
          assumed[type] += rows;
      }
    for (const auto& [peak, rows] : missing) result.missing.push_back({peak.first, peak.second, rows});
    for (const auto& [type, rows] : assumed) {
      const Rate& rate = rate_for(type);
      result.assumed.push_back({type, rows, rate.precision, rate.unit});
    }
  }

 private:
  double value(DimTable::Id id) const { return values_[id]; }

  const Rate& rate_for(Precision type) const { return rates_.rates[static_cast<std::size_t>(type)]; }

  std::int64_t runs_of(const Kernel& kernel) const {
    return static_cast<std::int64_t>(std::max(value(kernel.runs), 0.0));
  }

  bool has_work(const Part& part) const { return value(part.macs) + value(part.arith) + value(part.special) > 0; }

  // At Part::precision; at Part::narrowest, as if quantisation were folded into products, whatever this kernel does.
  // Nullopt if no rate is known.
  std::optional<UnitSeconds> units_of(const Kernel& kernel, std::optional<Precision> Part::*precision) const {
    UnitSeconds seconds;
    for (const Part& part : kernel.parts) {
      if (!has_work(part)) continue;
      if (!(part.*precision)) return std::nullopt;
      const double macs = value(part.macs);
      const Rate& rate = rate_for(*(part.*precision));
      if (macs > 0 ? rate.contraction <= 0 : rate.lanes <= 0) return std::nullopt;

      // Lane issues: one does two additions or multiplications (as a fused multiply-add does), or one comparison.
      const double comparisons = value(part.comparisons);
      double issues = std::max(0.0, value(part.arith) - comparisons) / 2 + comparisons;
      if (macs > 0) {
        const double contraction = 2 * macs / rate.contraction;
        if (rate.unit == Unit::Tensor)
          seconds.tensor += contraction;
        else
          issues += contraction * rate.lanes;
      }
      if (rate.lanes <= 0) continue;  // only the contraction limits the row
      seconds.lanes += issues / rate.lanes;
      seconds.mixed += (issues + value(part.special)) / (rate.lanes + rates_.special_per_second);
    }
    return seconds;
  }

  // The time of the slowest level. The levels inside it keep all that they can hold from run to run: only the rest must
  // pass it.
  double least_memory_time(double bytes) const {
    double slowest = 0;
    for (const DeviceRates::Level& level : rates_.levels)
      slowest = std::max(slowest, (bytes - level.inside_bytes) / level.bytes_per_second);
    return slowest;
  }

  RowBound bound_of(const Kernel& kernel, const std::optional<UnitSeconds>& units) const {
    RowBound row;
    row.bytes = value(kernel.bytes_read) + value(kernel.bytes_written);
    for (const DeviceRates::Level& level : rates_.levels)
      if (const double seconds = row.bytes / level.bytes_per_second; seconds > row.memory_seconds) {
        row.memory_seconds = row.seconds = seconds;
        row.level = level.level;
      }
    if (!units) {
      row.bound = Bound::Unknown;
      return row;
    }
    const Part* main = main_part(kernel);
    if (main == nullptr && row.bytes <= 0) return row;
    row.compute_seconds = units->longest();
    row.seconds = std::max(row.compute_seconds, row.memory_seconds);
    if (main != nullptr) {
      const Rate& rate = rate_for(*main->precision);
      row.precision = value(main->macs) > 0 ? rate.precision : *main->precision;
      row.unit = value(main->macs) > 0 ? rate.unit : Unit::Vector;
    }
    classify(row, static_cast<double>(runs_of(kernel)));
    return row;
  }

  // The first contraction, else the first part with any work; null if there is none.
  const Part* main_part(const Kernel& kernel) const {
    const Part* first = nullptr;
    for (const Part& part : kernel.parts) {
      if (value(part.macs) > 0) return &part;
      if (first == nullptr && has_work(part)) first = &part;
    }
    return first;
  }

  void classify(RowBound& row, double runs) const {
    const Quantity& launch = device_.launch_overhead_seconds;
    std::array<std::pair<double, Bound>, 3> limits = {{{row.compute_seconds, Bound::Compute},
                                                       {row.memory_seconds, Bound::Memory},
                                                       {launch.value.value_or(0) * runs, Bound::Latency}}};
    std::stable_sort(limits.begin(), limits.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    row.bound = limits[0].second;
    if (limits[1].first > 0) row.headroom = limits[0].first / limits[1].first;
  }

  const DeviceSpec& device_;
  const DeviceRates rates_;
  DimTable table_;
  std::vector<double> values_;  // of the table's formulas at the current point
  const Kernels kernels_;
  const std::int64_t unmodelled_;
};

// Fills in flops and intensity, and the share of the total time.
void complete(RowBound& bound, double flops, double total_seconds) {
  bound.flops = flops;
  if (bound.bytes > 0) bound.intensity = bound.flops / bound.bytes;
  if (total_seconds > 0) bound.share = bound.seconds / total_seconds;
}

// The share of a group's time or bytes that one of its rows gets, in proportion to what each takes alone; equal shares
// if all take 0.
double fraction(double alone, double sum, std::size_t rows) {
  return sum > 0 ? alone / sum : 1.0 / static_cast<double>(rows);
}

// Distributes the time and bytes of groups over their rows.
void share_out(Roofline& result, const Analysis& analysis, const Traffic& traffic) {
  for (std::size_t id = 0; id < traffic.groups.size(); ++id) {
    const RowBound& group = result.groups[id];
    const std::vector<std::int32_t>& rows = traffic.groups[id].rows;
    double seconds = 0, bytes = 0, compute = 0;
    for (const std::int32_t row : rows) {
      const RowBound& alone = result.rows[row];
      seconds += alone.seconds;
      bytes += alone.bytes;
      compute += alone.compute_seconds;
    }
    for (const std::int32_t row : rows) {
      RowBound& shared = result.rows[row];
      const double moved = fraction(shared.bytes, bytes, rows.size());
      shared.seconds = group.seconds * fraction(shared.seconds, seconds, rows.size());
      shared.compute_seconds = group.compute_seconds * fraction(shared.compute_seconds, compute, rows.size());
      shared.memory_seconds = group.memory_seconds * moved;
      shared.bytes = group.bytes * moved;
      shared.group = static_cast<std::int32_t>(id);
      shared.bound = group.bound;
      shared.headroom = group.headroom;
      shared.level = group.level;
      const ElementType narrow = analysis.nodes[row].dequantized_from;
      if (narrow != ElementType::Undefined && narrow == traffic.groups[id].cost.precision && shared.precision) {
        shared.precision = group.precision;
        shared.unit = group.unit;
      }
    }
  }
}

}  // namespace

Bound RooflineTotals::bound() const {
  if (seconds <= 0) return at_least ? Bound::Unknown : Bound::None;
  if (eager_seconds && *eager_seconds > seconds) return Bound::Latency;
  return compute_seconds >= memory_seconds ? Bound::Compute : Bound::Memory;
}

std::string_view to_string(Bound bound) {
  constexpr base::EnumNames<Bound::Unknown> kNames("none", "compute", "memory", "latency", "unknown");
  return kNames[bound];
}

Roofline roofline(const Analysis& analysis, const DeviceSpec& device, const RooflineOptions& options) {
  Roofline result;
  result.rows.resize(analysis.nodes.size());
  Evaluator evaluator(analysis, nullptr, device, options);
  result.totals = evaluator.evaluate_all(options.bindings, result.rows,
                                         [&](std::size_t row) -> const OpCost& { return analysis.nodes[row].cost; });
  evaluator.list_gaps(result);
  for (RowBound& row : result.rows) {
    const OpCost& cost = analysis.nodes[row.row].cost;
    if (cost.mark != Mark::Compute) continue;
    complete(row, static_cast<double>(flops(cost, options.convention).evaluate(options.bindings)),
             result.totals.seconds);
  }
  return result;
}

Roofline roofline(const Analysis& analysis, const Traffic& traffic, const DeviceSpec& device,
                  const RooflineOptions& options) {
  Roofline result = roofline(analysis, device, options);
  if (traffic.model == TrafficModel::Unfused) return result;
  result.groups.resize(traffic.groups.size());
  Evaluator evaluator(analysis, &traffic, device, options);
  result.totals = evaluator.evaluate_all(options.bindings, result.groups,
                                         [&](std::size_t id) -> const OpCost& { return traffic.groups[id].cost; });
  result.missing.clear();  // those found with rows as kernels
  result.assumed.clear();
  evaluator.list_gaps(result);
  share_out(result, analysis, traffic);
  for (RowBound& row : result.rows) complete(row, row.flops, result.totals.seconds);
  for (RowBound& group : result.groups) {
    double work = 0;
    for (const std::int32_t row : traffic.groups[group.row].rows) work += result.rows[row].flops;
    complete(group, work, result.totals.seconds);
    group.group = static_cast<std::int32_t>(group.row);
  }
  return result;
}

std::vector<RooflineTotals> roofline_sweep(const Analysis& analysis, const DeviceSpec& device,
                                           const RooflineOptions& options, std::span<const Bindings> points,
                                           const Traffic* traffic) {
  const bool has_groups = traffic != nullptr && traffic->model != TrafficModel::Unfused;
  Evaluator evaluator(analysis, has_groups ? traffic : nullptr, device, options);
  std::vector<RooflineTotals> totals;
  totals.reserve(points.size());
  for (const Bindings& point : points) {
    Bindings bindings = options.bindings;
    for (const auto& [name, value] : point) bindings.insert_or_assign(name, value);
    totals.push_back(evaluator.evaluate(bindings, [](std::size_t, const RowBound&) {}));
  }
  return totals;
}

RooflineTables::RooflineTables() : table_(std::make_unique<DimTable>()) {}
RooflineTables::~RooflineTables() = default;

RooflineWork RooflineTables::add(const Analysis& analysis, const Traffic* traffic) {
  RooflineWork work;
  work.kernel_of.assign(traffic == nullptr ? analysis.nodes.size() : traffic->groups.size(), -1);
  work.unmodelled = unmodelled_rows(analysis);
  for (const auto& [kernel, ids] : kernels_of(*table_, analysis, traffic)) {
    for (const std::size_t id : ids) work.kernel_of[id] = static_cast<std::int32_t>(work.kernels.size());
    work.kernels.push_back(kernel);
  }
  return work;
}

std::uint32_t RooflineTables::add(const Dim& formula) { return table_->add(formula); }

FormulaTable RooflineTables::formulas() { return table_->parsed(); }

DeviceRates device_rates(const DeviceSpec& device) { return rates_of(device, std::nullopt); }

}  // namespace pagoda::inline core
