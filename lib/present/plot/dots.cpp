// From items to dots: identical work is drawn once; dots beyond a limit, those with the least time, are merged by
// place.
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <tuple>

#include "pagoda/base/cat.h"
#include "pagoda/base/enum_names.h"
#include "plot/chart.h"
#include "report/rows.h"

namespace pagoda::present::plot {
namespace {

constexpr double kNear = 0.8;         // share of a roof from which it is the bound
constexpr double kImpossible = 1.05;  // above this share of a roof, units, counts or precision must be wrong

// `launch`: seconds of one, 0 if unknown. The rule of Bound for what is not measured.
Limit limit_of(const Item& item, double launch) {
  if (item.absence == Absence::NoWork) return Limit::None;
  if (!item.compute_seconds || !item.memory_seconds) return Limit::Unknown;
  if (*item.compute_seconds == 0 && *item.memory_seconds == 0) return Limit::None;
  const bool is_compute = *item.compute_seconds >= *item.memory_seconds;
  if (item.seconds && item.bound_seconds && *item.bound_seconds < kNear * *item.seconds) return Limit::Neither;
  if (!item.seconds && launch > std::max(*item.compute_seconds, *item.memory_seconds)) return Limit::Latency;
  return is_compute ? Limit::Compute : Limit::Memory;
}

Absence absence_of(const Item& item, bool measured) {
  if (item.absence != Absence::None) return item.absence;
  if (measured && item.seconds && *item.seconds == 0) return Absence::ZeroTime;
  if (!item.work() || !item.traffic()) return item.nodes.empty() ? Absence::Unjoined : Absence::Unmodelled;
  if (*item.work() == 0) return *item.traffic() > 0 ? Absence::ZeroFlops : Absence::NoWork;
  if (*item.traffic() == 0 || !item.time() || *item.time() == 0) return Absence::NoRoof;
  return Absence::None;
}

bool is_drawn(const Item& item) { return item.absence == Absence::None || item.absence == Absence::ZeroFlops; }

// The same operator on the same sizes with the same counts, in layers whose names differ only in numbers, as the rows
// of the answer (report/rows.h). Different attributes show in the counts.
using Same = std::tuple<std::string, std::size_t, std::string, std::string, std::string, double, double, double, double,
                        Absence>;

Same same_key(const Item& item) {
  return {report::without_numbers(item.name),
          item.nodes.size(),
          item.type,
          item.shape,
          item.dtype,
          item.flops.value_or(-1),
          item.bytes.value_or(-1),
          item.counted_flops.value_or(-1),
          item.bound_seconds.value_or(-1),
          item.absence};
}

// Of a member or a function of items, over the dot's items; empty if one item lacks it.
template <typename Get>
std::optional<double> total(const Series& series, const Dot& dot, Get get) {
  double result = 0;
  for (const std::size_t i : dot.items) {
    const std::optional<double> value = std::invoke(get, series.items[i]);
    if (!value) return std::nullopt;
    result += *value;
  }
  return result;
}

// A position on a logarithmic axis, which starts above 0.
std::optional<double> axis_ratio(const std::optional<double>& a, const std::optional<double>& b) {
  return a.value_or(0) > 0 ? documents::ratio(a, b) : std::nullopt;
}

void place(const Series& series, const Frame& frame, Dot& dot) {
  const auto sum = [&](auto member) { return total(series, dot, member); };
  const std::optional<double> flops = sum(&Item::flops), bytes = sum(&Item::bytes), bound = sum(&Item::bound_seconds),
                              seconds = sum(&Item::seconds), work = sum(&Item::work), traffic = sum(&Item::traffic);
  const auto point = [&](const std::optional<double>& operations, const std::optional<double>& moved,
                         const std::optional<double>& time) {
    const std::optional<double> x = dot.rail ? frame.x0 : axis_ratio(operations, moved),
                                y = axis_ratio(dot.rail ? moved : operations, time);
    return x && y ? std::optional(Point{*x, *y}) : std::nullopt;
  };
  dot.estimated = point(flops, bytes, bound);
  dot.measured = point(work, traffic, seconds);
  if (dot.rail || !dot.measured) return;
  dot.low_y = axis_ratio(work, sum(&Item::max_seconds));
  dot.high_y = axis_ratio(work, sum(&Item::min_seconds));
  dot.l2_x = axis_ratio(work, sum(&Item::l2_bytes));
  dot.l1_x = axis_ratio(work, sum(&Item::l1_bytes));
  dot.above_roof = seconds && bound && *bound > kImpossible * *seconds;
}

std::size_t color_of(const Series& series, const std::string& type) {
  for (std::size_t i = 0; i < std::min(kColors, series.types.size()); ++i)
    if (series.types[i].type == type) return i;
  return kColors;
}

void group_types(Series& series) {
  std::map<std::string, TypeTime> types;
  for (const Item& item : series.items) {
    if (!item.time() && item.absence == Absence::NoWork) continue;
    TypeTime& type = types[item.type];
    type.type = item.type;
    ++type.items;
    type.seconds += series.seconds_of(item);
    type.bound_seconds += item.bound_seconds.value_or(0);
    type.flops += item.work().value_or(0);
    type.bytes += item.traffic().value_or(0);
  }
  for (auto& [name, type] : types) series.types.push_back(std::move(type));
  std::ranges::stable_sort(series.types, std::greater(), &TypeTime::seconds);
}

// Merges the dots with the least time by type and by cells of a quarter decade, so that pictures stay small.
void limit_dots(Series& series, const Frame& frame, std::size_t limit) {
  if (series.dots.size() <= limit) return;
  const auto cell = [](const std::optional<Point>& at, double Point::*axis) {
    return at ? static_cast<int>(std::floor(4 * std::log10((*at).*axis))) : -9999;
  };
  std::map<std::tuple<std::string, int, int, bool>, Dot> cells;
  for (std::size_t i = limit; i < series.dots.size(); ++i) {
    const Dot& dot = series.dots[i];
    const auto [at, is_new] =
        cells.try_emplace({dot.type, cell(dot.place(), &Point::x), cell(dot.place(), &Point::y), dot.rail}, dot);
    if (is_new) continue;  // a dot alone in its cell stays itself
    Dot& joined = at->second;
    joined.aggregate = true;
    joined.seconds += dot.seconds;
    joined.share += dot.share;
    joined.items.insert(joined.items.end(), dot.items.begin(), dot.items.end());
  }
  series.dots.resize(limit);
  for (auto& [key, dot] : cells) {
    if (dot.aggregate) dot.name = cat(dot.type, ", ", dot.items.size(), " others");
    place(series, frame, dot);
    series.dots.push_back(std::move(dot));
  }
}

std::optional<Star> whole(const Series& series, bool measured) {
  Star star{.label = series.label};
  for (const Item& item : series.items) {
    const std::optional<double> seconds = measured ? item.seconds : item.bound_seconds;
    if (item.absence == Absence::NoWork || item.absence == Absence::Unmeasured) continue;
    if (seconds) star.seconds += *seconds;
    star.flops += (measured ? item.work() : item.flops).value_or(0);
    star.bytes += (measured ? item.traffic() : item.bytes).value_or(0);
  }
  if (star.flops <= 0 || star.bytes <= 0 || star.seconds <= 0) return std::nullopt;
  return star;
}

}  // namespace

std::string_view to_string(Absence absence) {
  constexpr base::EnumNames<Absence::Unjoined> kNames("drawn", "no work on the device", "no FLOPs: left rail",
                                                      "work not known", "no bound for its type", "no kernel measured",
                                                      "measured as 0 s", "joined no operator");
  return kNames[absence];
}

std::string_view to_string(Limit limit) {
  constexpr base::EnumNames<Limit::Latency> kNames("none", "compute", "memory", "neither", "unknown", "latency");
  return kNames[limit];
}

void finish_series(Series& series, const Chart& chart) {
  double memory_seconds = 0;
  for (Item& item : series.items) {
    item.absence = absence_of(item, series.has_time());
    item.limit = limit_of(item, chart.device.launch_overhead_seconds.value.value_or(0));
    const double seconds = series.seconds_of(item);
    series.seconds += seconds;
    series.bound_seconds += item.bound_seconds.value_or(0);
    const bool is_traffic = item.compute_seconds && item.memory_seconds && *item.memory_seconds > *item.compute_seconds;
    if (item.limit == Limit::Memory || (item.limit == Limit::Latency && is_traffic)) memory_seconds += seconds;
  }
  if (series.seconds > 0) series.memory_share = memory_seconds / series.seconds;
  group_types(series);

  std::map<Same, std::size_t> dot_at;
  for (std::size_t i = 0; i < series.items.size(); ++i) {
    const Item& item = series.items[i];
    const double seconds = series.seconds_of(item);
    const double share = series.seconds > 0 ? seconds / series.seconds : 0;
    auto& absent = series.absent[static_cast<std::size_t>(item.absence)];
    ++absent.first;
    absent.second += share;
    // An unmeasured node is drawn at its bound.
    if (!is_drawn(item) && !(item.absence == Absence::Unmeasured && item.bound_seconds && item.flops.value_or(0) > 0))
      continue;
    const auto [found, is_new] = dot_at.emplace(same_key(item), series.dots.size());
    if (is_new) {
      Dot dot;
      dot.type = item.type;
      dot.rail = item.absence == Absence::ZeroFlops;
      dot.color = color_of(series, item.type);
      series.dots.push_back(std::move(dot));
    }
    Dot& dot = series.dots[found->second];
    dot.items.push_back(i);
    dot.seconds += seconds;
    dot.share += share;
  }
  std::map<std::string, std::size_t> named;
  for (Dot& dot : series.dots) {
    place(series, chart.frame, dot);
    dot.name = series.items[dot.items.front()].name;
    for (const std::size_t i : dot.items) dot.name = report::common_name(dot.name, series.items[i].name);
    ++named[dot.name];
  }
  // A pattern of several dots tells none of them from the others.
  for (Dot& dot : series.dots)
    if (named[dot.name] > 1) dot.name = series.items[dot.items.front()].name;
  std::ranges::stable_sort(series.dots, std::greater(), &Dot::seconds);
  limit_dots(series, chart.frame, chart.options.max_dots);
  count_outside(series, chart.frame);
  series.bound_star = whole(series, false);
  if (!series.has_time() || series.is_at_least()) return;
  series.measured_star = whole(series, true);
  if (series.measured_star) series.measured_star->seconds = series.whole_seconds();
}

}  // namespace pagoda::present::plot
