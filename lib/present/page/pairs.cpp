#include "page/parts.h"

#include <algorithm>
#include <array>

#include "pagoda/base/json_writer.h"
#include "pagoda/estimate/compare.h"
#include "pagoda/estimate/measured_runs.h"

namespace pagoda::present::plot {
namespace {

using documents::EstimateDocument;
using documents::real;
using JsonLayout = base::JsonWriter::Layout;

const ChartEstimate& file_of(const Chart& chart, const Series& series) { return chart.estimates[*series.estimate]; }

// The items of each node: one, or for a training step one per part.
std::vector<std::vector<std::size_t>> items_of_nodes(const Series& series, std::size_t nodes) {
  std::vector<std::vector<std::size_t>> items(nodes);
  for (std::size_t i = 0; i < series.items.size(); ++i)
    for (const std::size_t node : series.items[i].nodes) items[node].push_back(i);
  return items;
}

struct Total {
  const char* name;
  const char* unit;
  std::optional<double> (*value)(const Chart&, const Series&);
};

template <auto Counter>
std::optional<double> counted(const Chart& chart, const Series& series) {
  return real(file_of(chart, series).document().totals.counts.*Counter);
}

std::optional<double> floor_of(const Chart& chart, const Series& series) {
  const auto& roofline = file_of(chart, series).document().roofline;
  const bool is_known = roofline && roofline->totals.floor_seconds > 0 && roofline->device == chart.device.id;
  return is_known ? std::optional(roofline->totals.floor_seconds) : std::nullopt;
}

std::optional<double> memory_of(const Chart& chart, const Series& series) {
  const auto& fit = file_of(chart, series).document().fit;
  return fit && !fit->at_least ? real(fit->total_bytes) : std::nullopt;
}

// clang-format off
constexpr Total kTotals[] = {
    {"time",             "s",    [](const Chart&, const Series& s) { return s.seconds > 0 ? std::optional(s.seconds) : std::nullopt; }},
    {"floor",            "s",    floor_of},
    {"work",             "FLOP", [](const Chart&, const Series& s) { return s.bound_star ? std::optional(s.bound_star->flops) : std::nullopt; }},
    {"traffic",          "B",    [](const Chart&, const Series& s) { return s.bound_star ? std::optional(s.bound_star->bytes) : std::nullopt; }},
    {"parameters",       "",     counted<&documents::EstimateCounts::params>},
    {"weights",          "B",    counted<&documents::EstimateCounts::param_bytes>},
    {"memory of a run",  "B",    memory_of},
};
// clang-format on

struct ItemPair {
  std::ptrdiff_t before = -1, after = -1;  // indices in Series::items; -1: only in the other series
};

// Pairs of two series with estimates: matched by kernels if both are fused, then by nodes (estimate/compare.h), then
// items that only one series has. Unmatched items without work are left out.
std::vector<ItemPair> pairs_of(const Chart& chart, const Series& before, const Series& after) {
  const EstimateDocument &a = file_of(chart, before).document(), &b = file_of(chart, after).document();
  const auto items_a = items_of_nodes(before, a.nodes.size()), items_b = items_of_nodes(after, b.nodes.size());
  const estimate::Comparison comparison = estimate::compare(a, b);
  std::vector<bool> is_taken_a(before.items.size(), false), is_taken_b(after.items.size(), false);
  std::vector<ItemPair> pairs;
  const auto add = [&](const std::vector<std::size_t>& of_a, const std::vector<std::size_t>& of_b) {
    for (std::size_t k = 0; k < std::min(of_a.size(), of_b.size()); ++k) {
      if (is_taken_a[of_a[k]] || is_taken_b[of_b[k]]) continue;
      is_taken_a[of_a[k]] = is_taken_b[of_b[k]] = true;
      pairs.push_back({static_cast<std::ptrdiff_t>(of_a[k]), static_cast<std::ptrdiff_t>(of_b[k])});
    }
  };
  const auto add_all = [&](const std::vector<estimate::RowPair>& rows, const auto& position) {
    for (const estimate::RowPair& row : rows)
      if (row.before >= 0 && row.after >= 0)
        add(items_a[position(file_of(chart, before), static_cast<std::size_t>(row.before))],
            items_b[position(file_of(chart, after), static_cast<std::size_t>(row.after))]);
  };
  add_all(comparison.groups, [](const ChartEstimate& estimate, std::size_t group) {
    return estimate.heaviest(estimate.positions(estimate.document().traffic->groups[group].nodes));
  });
  add_all(comparison.nodes, [](const ChartEstimate& estimate, std::size_t row) {
    return *estimate.position(estimate.document().nodes[row].index);
  });
  const auto add_rest = [&](const Series& series, const std::vector<bool>& is_taken, std::ptrdiff_t ItemPair::*side) {
    for (std::size_t i = 0; i < series.items.size(); ++i) {
      if (is_taken[i] || series.items[i].absence == Absence::NoWork) continue;
      ItemPair pair;
      pair.*side = static_cast<std::ptrdiff_t>(i);
      pairs.push_back(pair);
    }
  };
  add_rest(after, is_taken_b, &ItemPair::after);
  add_rest(before, is_taken_a, &ItemPair::before);
  return pairs;
}

}  // namespace

std::string pairs_json(const Chart& chart) {
  if (chart.series.size() < 2 ||
      std::ranges::any_of(chart.series, [](const Series& series) { return !series.estimate.has_value(); }))
    return "";
  base::JsonWriter json;
  json.begin_object(JsonLayout::Compact).key("totals").begin_array();
  for (const Total& total : kTotals) {
    json.begin_object(JsonLayout::Line).member("name", total.name).member("unit", total.unit);
    json.key("values").begin_array(JsonLayout::Line);
    for (const Series& series : chart.series) json.value(total.value(chart, series));
    json.end_array().end_object();
  }
  json.end_array().key("pairs").begin_array();
  for (std::size_t k = 1; k < chart.series.size(); ++k) {
    json.begin_array(JsonLayout::Line);
    for (const ItemPair& pair : pairs_of(chart, chart.series.front(), chart.series[k]))
      json.value(std::array{pair.before, pair.after});
    json.end_array();
  }
  json.end_array().end_object();
  return std::move(json).text();
}

}  // namespace pagoda::present::plot
