// Evaluates the formulas of one analysis at every point of a sweep.
#include "pagoda/core/sweep.h"

#include <algorithm>
#include <span>

#include "pagoda/base/cat.h"
#include "pagoda/base/text.h"
#include "pagoda/core/conventions.h"
#include "pagoda/core/decoder.h"
#include "pagoda/core/fit.h"

namespace pagoda::inline core {
namespace {

// Nullopt if the sizes give no valid count: negative, a division by 0, beyond 128 bits.
std::optional<Int> count_at(const Dim& dim, const Bindings& bindings) {
  try {
    const Int value = dim.evaluate(bindings);
    return value < 0 ? std::nullopt : std::optional(value);
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::optional<Int> sum(const std::optional<Int>& a, const std::optional<Int>& b) {
  if (!a || !b) return std::nullopt;
  return count_at(Dim(*a) + Dim(*b), {});
}

// Cross product, the last axis fastest.
std::vector<std::vector<std::int64_t>> points_of(const std::vector<SweepAxis>& axes) {
  std::vector<std::vector<std::int64_t>> points = {{}};
  for (const SweepAxis& axis : axes) {
    if (axis.sizes.empty()) throw Error("the sweep over '" + axis.dim + "' has no sizes");
    if (points.size() > kMaxSweepPoints / axis.sizes.size())
      throw Error(cat("the sweep has more than ", kMaxSweepPoints, " points; give fewer sizes"));
    std::vector<std::vector<std::int64_t>> longer;
    for (const auto& point : points)
      for (const std::int64_t size : axis.sizes) {
        longer.push_back(point);
        longer.back().push_back(size);
      }
    points = std::move(longer);
  }
  return points;
}

class Sweeper {
 public:
  Sweeper(const Model& model, const Analysis& analysis, const std::vector<SweepAxis>& axes, const SweepOptions& options)
      : model_(model), analysis_(analysis), options_(options) {
    for (const SweepAxis& axis : axes) symbols_.push_back(axis_symbols(model, analysis, axis.dim));
    if (options.traffic == TrafficModel::Fused) traffic_ = traffic(model, analysis, {.model = TrafficModel::Fused});
    if (!is_published(options.count)) flops_ = flops(analysis.totals.cost, options.count);
    items_ = options.items;
    tables_ = position_tables(model, analysis);
    for (std::size_t axis = 0; axis < axes.size(); ++axis)
      if (!items_ && axes[axis].dim == "batch") items_ = Dim::symbol(symbols_[axis].front());
  }

  Bindings bindings(const std::vector<std::int64_t>& sizes) const {
    Bindings bindings;
    for (std::size_t axis = 0; axis < sizes.size(); ++axis)
      for (const std::string& symbol : symbols_[axis]) {
        const auto [at, is_new] = bindings.emplace(symbol, sizes[axis]);
        if (!is_new && at->second != sizes[axis]) throw Error("two sweeps set '" + symbol + "'; sweep it once");
      }
    return bindings;
  }

  std::vector<SweepPoint> run(const std::vector<std::vector<std::int64_t>>& points) {
    std::vector<Bindings> all;
    all.reserve(points.size());
    for (const auto& sizes : points) all.push_back(bindings(sizes));
    const bool is_resident = options_.traffic == TrafficModel::Resident;  // its bytes differ from point to point
    std::vector<SweepPoint> result(points.size());
    for (std::size_t i = 0; i < points.size(); ++i) {
      result[i].sizes = points[i];
      result[i].problem = broken_requirement(analysis_, all[i]);
      if (result[i].problem.empty()) result[i].problem = exceeded_table(tables_, all[i]);
      if (!result[i].problem.empty()) continue;
      if (is_resident)
        traffic_ = traffic(model_, analysis_,
                           {.model = TrafficModel::Resident, .l2_bytes = options_.l2_bytes, .bindings = all[i]});
      count(result[i], all[i]);
      if (options_.time && is_resident) set_time(result[i], times_at(std::span(&all[i], 1)).front());
    }
    if (!options_.time || is_resident) return result;
    const std::vector<RooflineTotals> times = times_at(all);
    for (std::size_t i = 0; i < points.size(); ++i)
      if (result[i].problem.empty()) set_time(result[i], times[i]);
    return result;
  }

  std::vector<RooflineTotals> times_at(std::span<const Bindings> points) const {
    return roofline_sweep(analysis_, options_.time->device, options_.time->options, points,
                          traffic_ ? &*traffic_ : nullptr);
  }

 private:
  void count(SweepPoint& point, const Bindings& at) {
    const Totals& totals = analysis_.totals;
    point.macs = count_at(totals.cost.macs, at);
    point.param_bytes = count_at(totals.param_bytes, at);
    if (totals.activation_peak_bytes)
      point.activation_peak_bytes = count_at(*totals.activation_peak_bytes, at);
    else if (!options_.is_step)
      point.activation_peak_bytes = planned_peak(at);
    if (items_) point.items = count_at(*items_, at);
    point.memory_bytes = sum(count_at(totals.weight_bytes, at), point.activation_peak_bytes);
    if (is_published(options_.count)) {
      count_published(point, at);
    } else {
      point.flops = count_at(flops_, at);
      const OpCost& cost = totals.cost;
      point.bytes_read = count_at(traffic_ ? traffic_->bytes_read : cost.bytes_read, at);
      point.bytes_written = count_at(traffic_ ? traffic_->bytes_written : cost.bytes_written, at);
      point.bytes = sum(point.bytes_read, point.bytes_written);
    }
    const bool is_known = point.flops && point.bytes && *point.bytes > 0;
    if (is_known && (!analysis_.partial || is_published(options_.count)))
      point.intensity = static_cast<double>(*point.flops) / static_cast<double>(*point.bytes);
  }

  // For a formula that is too complex.
  std::optional<Int> planned_peak(const Bindings& at) const {
    const MemoryNeed need = memory_need(model_, analysis_, nullptr, at);
    return need.at_least || !need.activations ? std::nullopt : std::optional(need.cache + *need.activations);
  }

  // The published rules multiply the graph as exported by the batch and take every other free size as 1.
  void count_published(SweepPoint& point, const Bindings& at) {
    if (!exported_) exported_ = analyze(model_);
    const std::vector<std::string> batch = batch_dims(model_, analysis_);
    const auto bound = std::find_if(at.begin(), at.end(), [&](const auto& size) {
      return std::find(batch.begin(), batch.end(), size.first) != batch.end();
    });
    const PagodaCounts counts =
        pagoda_counts(model_, *exported_, bound == at.end() ? 1 : bound->second, options_.is_step);
    if (!counts.failure.empty()) return;
    point.flops = counts.total.flops;
    point.bytes = counts.total.memory_bytes;
    point.param_bytes = counts.total.param_bytes;
  }

  static void set_time(SweepPoint& point, const RooflineTotals& time) {
    point.time = time;
    point.bound = time.bound();
  }

  const Model& model_;
  const Analysis& analysis_;
  const SweepOptions& options_;
  std::vector<std::vector<std::string>> symbols_;  // by axis
  std::optional<Traffic> traffic_;  // fused, or resident at the current point; else empty: rows move their own bytes
  std::optional<Analysis> exported_;
  Dim flops_;
  std::optional<Dim> items_;
  std::vector<PositionTable> tables_;
};

bool is_compute_bound(const RooflineTotals& time) { return time.compute_seconds >= time.memory_seconds; }

// Bisects all sizes between the last memory-bound point and the first compute-bound one: both sums grow with the size
// and, if they are linear, cross once.
std::optional<RidgeCrossing> find_ridge(const Sweeper& sweeper, const SweepAxis& axis,
                                        const std::vector<SweepPoint>& points) {
  if (!std::is_sorted(axis.sizes.begin(), axis.sizes.end())) return std::nullopt;
  const auto first = std::find_if(points.begin(), points.end(),
                                  [](const SweepPoint& p) { return p.time && is_compute_bound(*p.time); });
  if (first == points.end()) return std::nullopt;
  if (first == points.begin()) return RidgeCrossing{first->sizes[0], true};
  std::int64_t below = std::prev(first)->sizes[0], above = first->sizes[0];
  while (above - below > 1) {
    // Up to sixteen sizes per round: compiling the formulas costs more than evaluating them.
    std::vector<Bindings> tried;
    std::vector<std::int64_t> sizes;
    const std::int64_t steps = std::min<std::int64_t>(above - below - 1, 16);
    for (std::int64_t i = 1; i <= steps; ++i) {
      sizes.push_back(below + (above - below) / (steps + 1) * i + (above - below) % (steps + 1) * i / (steps + 1));
      tried.push_back(sweeper.bindings({sizes.back()}));
    }
    const std::vector<RooflineTotals> times = sweeper.times_at(tried);
    const auto hit = std::find_if(times.begin(), times.end(), is_compute_bound);
    const auto at = static_cast<std::size_t>(hit - times.begin());
    if (hit != times.end()) above = sizes[at];
    if (at > 0) below = sizes[at - 1];
  }
  return RidgeCrossing{above, false};
}

}  // namespace

std::string sizes_text(const Sweep& sweep, const SweepPoint& point) {
  std::vector<std::string> sizes;
  for (std::size_t i = 0; i < sweep.axes.size(); ++i) sizes.push_back(cat(sweep.axes[i].dim, "=", point.sizes[i]));
  return base::joined(sizes);
}

Sweep sweep(const Model& model, const Analysis& analysis, const std::vector<SweepAxis>& axes,
            const SweepOptions& options) {
  Sweeper sweeper(model, analysis, axes, options);
  Sweep result{.axes = axes, .points = sweeper.run(points_of(axes)), .ridge = {}, .traffic = options.traffic};
  if (axes.size() == 1 && options.time && options.traffic != TrafficModel::Resident)
    result.ridge = find_ridge(sweeper, axes[0], result.points);
  return result;
}

}  // namespace pagoda::inline core
