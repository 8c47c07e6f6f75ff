#include "page/parts.h"

#include <algorithm>

#include "pagoda/base/json_writer.h"
#include "pagoda/estimate/compare.h"
#include "pagoda/estimate/measured_runs.h"
#include "pagoda/measured/against.h"

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
  std::vector<std::size_t> before, after;  // indices in Series::items; empty: only in the other series
};

// Pairs of two series with estimates: one for each block (estimate/compare.h), then items that are in no block, such as
// kernels that joined no node. Items without work are left out.
std::vector<ItemPair> pairs_of(const Chart& chart, const Series& before, const Series& after,
                               const estimate::Comparison& comparison) {
  const EstimateDocument &a = file_of(chart, before).document(), &b = file_of(chart, after).document();
  const auto items_a = items_of_nodes(before, a.nodes.size()), items_b = items_of_nodes(after, b.nodes.size());
  const auto items = [&](const Series& series, const std::vector<std::vector<std::size_t>>& of_node,
                         const std::vector<std::int32_t>& nodes) {
    std::vector<std::size_t> list;
    for (const std::int32_t row : nodes) {
      const ChartEstimate& file = file_of(chart, series);
      const auto position = file.position(file.document().nodes[static_cast<std::size_t>(row)].index);
      if (!position) continue;
      for (const std::size_t item : of_node[*position])
        if (series.items[item].absence != Absence::NoWork && std::ranges::find(list, item) == list.end())
          list.push_back(item);
    }
    return list;
  };
  std::vector<ItemPair> pairs;
  for (const estimate::Block& block : comparison.blocks) {
    ItemPair pair{items(before, items_a, block.before), items(after, items_b, block.after)};
    if (!pair.before.empty() || !pair.after.empty()) pairs.push_back(std::move(pair));
  }
  const auto add_rest = [&](const Series& series, std::vector<std::size_t> ItemPair::*side) {
    std::vector<bool> is_taken(series.items.size(), false);
    for (const ItemPair& pair : pairs)
      for (const std::size_t item : pair.*side) is_taken[item] = true;
    for (std::size_t item = 0; item < is_taken.size(); ++item) {
      if (is_taken[item] || series.items[item].absence == Absence::NoWork) continue;
      pairs.emplace_back();
      (pairs.back().*side).push_back(item);
    }
  };
  add_rest(before, &ItemPair::before);
  add_rest(after, &ItemPair::after);
  return pairs;
}

// Two measured series by the kernels that ran, others by those of the traffic model.
estimate::Comparison compared(const Chart& chart, const Series& before, const Series& after) {
  const EstimateDocument &a = file_of(chart, before).document(), &b = file_of(chart, after).document();
  if (!before.measured || !after.measured) return estimate::compare(a, b);
  return estimate::compare(a, b, measured::ran_rows(chart.measured[*before.measured]),
                           measured::ran_rows(chart.measured[*after.measured]));
}

// The items or tokens of a run of each series, if they differ; empty if they are equal, of different kinds or unknown.
std::vector<double> units_of(const Chart& chart) {
  std::vector<double> units;
  const bool are_tokens = file_of(chart, chart.series.front()).document().phase.has_value();
  for (const Series& series : chart.series) {
    const EstimateDocument& document = file_of(chart, series).document();
    const double items = document.roofline ? real(document.roofline->items).value_or(0) : 0;
    if (items <= 0 || document.phase.has_value() != are_tokens) return {};
    units.push_back(items);
  }
  return std::ranges::count(units, units.front()) == std::ssize(units) ? std::vector<double>() : units;
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
  // Pairs of each other series with the first; null: unrelated models, of which only totals are compared.
  json.end_array().key("pairs").begin_array();
  for (std::size_t k = 1; k < chart.series.size(); ++k) {
    const Series &before = chart.series.front(), &after = chart.series[k];
    const estimate::Comparison comparison = compared(chart, before, after);
    if (!comparison.is_related) {
      json.null();
      continue;
    }
    json.begin_array(JsonLayout::Line);
    for (const ItemPair& pair : pairs_of(chart, before, after, comparison))
      json.begin_array().value(pair.before).value(pair.after).end_array();
    json.end_array();
  }
  json.end_array();
  if (const std::vector<double> units = units_of(chart); !units.empty()) {
    const bool are_tokens = file_of(chart, chart.series.front()).document().phase.has_value();
    json.member("unit", are_tokens ? "token" : "item").member("units", units);
  }
  json.end_object();
  return std::move(json).text();
}

}  // namespace pagoda::present::plot
