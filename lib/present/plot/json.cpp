// The chart as pagoda.chart/1: columns instead of objects, and repeated texts as indices into a table, so that ten
// thousand operators take less than 2 MB in a page. The page reads the same text.
#include <algorithm>
#include <array>

#include "draw/text.h"
#include "pagoda/base/number.h"
#include "plot/draw.h"
#include "plot/json_parts.h"

namespace pagoda::present::plot {
namespace {

using JsonLayout = base::JsonWriter::Layout;
using Strings = Places<std::string>;

// Six digits of times that are derived from counts and roofs, so that a page stays small.
std::optional<double> rounded(const std::optional<double>& seconds) {
  if (!seconds || *seconds == 0) return seconds;
  return base::parse_number<double>(number(*seconds, 6));
}

void write_star(base::JsonWriter& json, const Star& star, bool has_label) {
  json.begin_object(JsonLayout::Line);
  if (has_label) json.member("label", star.label);
  members(json, "flops", Amount{star.flops}, "bytes", Amount{star.bytes}, "seconds", star.seconds);
  if (!has_label && star.shortest && star.longest)
    json.member("shortest", *star.shortest).member("longest", *star.longest);
  if (star.joules) json.member("joules", *star.joules);
  json.end_object();
}

void write_stars(base::JsonWriter& json, std::string_view key, const std::vector<Star>& stars) {
  if (stars.empty()) return;
  json.key(key).begin_array();
  for (const Star& star : stars) write_star(json, star, true);
  json.end_array();
}

// Amounts of items; a measured one is left out where no item has it.
struct AmountColumn {
  const char* name;
  std::optional<double> Item::*value;
  bool is_measured = true;
};
constexpr AmountColumn kAmounts[] = {{"flops", &Item::flops, false},
                                     {"bytes", &Item::bytes, false},
                                     {"compute_seconds", &Item::compute_seconds, false},
                                     {"memory_seconds", &Item::memory_seconds, false},
                                     {"saved_bytes", &Item::saved_bytes},
                                     {"seconds", &Item::seconds},
                                     {"min_seconds", &Item::min_seconds},
                                     {"max_seconds", &Item::max_seconds},
                                     {"counted_flops", &Item::counted_flops},
                                     {"dram_bytes", &Item::dram_bytes},
                                     {"l2_bytes", &Item::l2_bytes},
                                     {"l1_bytes", &Item::l1_bytes},
                                     {"joules", &Item::joules}};

void write_items(base::JsonWriter& json, const std::vector<Item>& items, const std::vector<Dot>& dots,
                 const ChartEstimate* estimate, Strings& strings) {
  std::vector<std::optional<std::size_t>> dot_of(items.size());
  for (std::size_t d = 0; d < dots.size(); ++d)
    for (const std::size_t i : dots[d].items) dot_of[i] = d;
  const auto texts = [&](std::string_view key, std::string Item::*text) {
    list(json, key, items, [&](const Item& item) { return strings.place(item.*text); });
  };
  const auto any = [&](auto has) { return std::ranges::any_of(items, has); };
  json.key("items").begin_object().member("count", items.size());
  list(json, "name", items, [](const Item& item) { return item.name; });
  texts("type", &Item::type);
  texts("scope", &Item::scope);
  texts("shape", &Item::shape);
  texts("dtype", &Item::dtype);
  list(json, "absence", items, [](const Item& item) { return static_cast<int>(item.absence); });
  list(json, "limit", items, [](const Item& item) { return static_cast<int>(item.limit); });
  json.member("dot", dot_of);
  list(json, "roof", items, [](const Item& item) { return item.roof; });
  for (const auto& [name, value, is_measured] : kAmounts) {
    if (is_measured && !any([value = value](const Item& item) { return (item.*value).has_value(); })) continue;
    const bool is_derived = value == &Item::compute_seconds || value == &Item::memory_seconds;
    amounts(json, name, items,
            [&, value = value](const Item& item) { return is_derived ? rounded(item.*value) : item.*value; });
  }
  if (any([](const Item& item) { return item.at_least; }))
    list(json, "at_least", items, [](const Item& item) { return static_cast<int>(item.at_least); });
  if (any([](const Item& item) { return item.launches.has_value(); }))
    list(json, "launches", items, [](const Item& item) { return item.launches; });
  if (any([](const Item& item) { return !item.flags.empty(); })) texts("flags", &Item::flags);
  if (any([](const Item& item) { return !item.on.empty(); })) {
    texts("on", &Item::on);
    texts("why", &Item::why);
    list(json, "part", items, [](const Item& item) { return item.part; });
  }
  // Items of several nodes: [item, rule, name, type, name, type, …].
  json.key("members").begin_array(JsonLayout::Line);
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (items[i].nodes.size() < 2 || estimate == nullptr) continue;
    json.begin_array(JsonLayout::Line).value(i).value(strings.place(items[i].rule));
    for (const std::size_t at : items[i].nodes)
      json.value(estimate->nodes[at]->shown_name()).value(strings.place(std::string(estimate->nodes[at]->op_type)));
    json.end_array();
  }
  json.end_array().key("kernels").begin_array(JsonLayout::Line);
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (items[i].kernels.empty() || (items[i].kernels.size() == 1 && items[i].kernels.front() == items[i].name))
      continue;
    json.begin_array(JsonLayout::Line).value(i);
    for (const std::string& kernel : items[i].kernels) json.value(strings.place(kernel));
    json.end_array();
  }
  json.end_array().end_object();
}

void write_estimate(base::JsonWriter& json, const ChartEstimate& estimate) {
  if (const auto& memory_plan = estimate.document().memory) {
    const documents::EstimateMemory& memory = *memory_plan;
    json.key("memory").begin_object().member("excludes", memory.excludes);
    json.member("peak_bytes", Amount{static_cast<double>(memory.peak_bytes)}).member("peak_step", memory.peak_step);
    double weight_bytes = 0;
    for (const auto& weights : memory.weights) weight_bytes += static_cast<double>(weights.bytes);
    json.member("weight_bytes", Amount{memory.weights.empty() ? std::nullopt : std::optional(weight_bytes)});
    amounts(json, "timeline", memory.timeline, [](Int bytes) { return std::optional(static_cast<double>(bytes)); });
    json.end_object();
  }
  if (estimate.sweep != nullptr) {
    const auto& points = estimate.sweep->points;
    using Point = documents::EstimatePoint;
    json.key("sweep").begin_object().member("dim", estimate.sweep->dims.front());
    list(json, "size", points, [](const Point& point) { return point.sizes.front(); });
    amounts(json, "flops", points, [](const Point& point) { return documents::real(point.counts.flops); });
    amounts(json, "bytes", points, [](const Point& point) { return documents::real(point.counts.bytes); });
    amounts(json, "seconds", points, least_seconds);
    amounts(json, "memory_bytes", points, [](const Point& point) { return documents::real(point.memory_bytes); });
    json.end_object();
  }
}

void write_roofs(base::JsonWriter& json, std::string_view key, const std::vector<Roof>& roofs) {
  json.key(key).begin_array();
  for (const Roof& roof : roofs) {
    json.begin_object(JsonLayout::Line);
    members(json, "id", roof.id, "name", roof.name, "value", roof.value, "unit", roof.unit_text());
    members(json, "measured", roof.measured, "spec", roof.spec, "shown", roof.shown, "source", roof.source);
    json.end_object();
  }
  json.end_array();
}

}  // namespace

std::string chart_json(const Chart& chart) {
  base::JsonWriter json;
  Strings strings;
  json.begin_object().member("schema", "pagoda.chart/1").member_if_any("tool", chart.options.tool);
  json.member("title", chart.title).key("device").begin_object(JsonLayout::Line);
  members(json, "id", chart.device.id, "name", chart.device.name, "measured", chart.device.measured,
          "launch_overhead_seconds", chart.device.launch_overhead_seconds.value);
  json.end_object().key("axes").begin_object(JsonLayout::Line);
  json.member("intensity", std::array{chart.frame.x0, chart.frame.x1});
  json.member("performance", std::array{chart.frame.y0, chart.frame.y1});
  json.end_object().key("roofs").begin_object().member("main", chart.roofs.main);
  json.member("has_main", chart.roofs.has_main);
  write_roofs(json, "compute", chart.roofs.compute);
  write_roofs(json, "bandwidth", chart.roofs.bandwidth);
  json.end_object();
  json.key("series").begin_array();
  for (const Series& series : chart.series) {
    const ChartEstimate* estimate = chart.estimate_of(series);
    json.begin_object();
    members(json, "label", series.label, "summary", summary(chart, series), "time",
            series.has_time() ? "measured" : "bound");
    json.key("source");
    series.measured ? json.value(chart.measured[*series.measured].source) : json.null();
    std::string_view traffic = "measured";
    if (estimate != nullptr)
      traffic = estimate->document().traffic ? to_string(estimate->document().traffic->model) : "unfused";
    json.member("traffic", traffic).member("condition", condition_text(chart, series));
    members(json, "seconds", series.seconds, "bound_seconds", series.bound_seconds, "joined_share",
            series.joined_share);
    for (const auto& [key, star] :
         {std::pair{"bound_star", &series.bound_star}, {"measured_star", &series.measured_star}}) {
      json.key(key);
      *star ? write_star(json, **star, false) : void(json.null());
    }
    write_stars(json, "trajectory", series.trajectory);
    write_stars(json, "runs", series.runs);
    write_stars(json, "other_runs", series.other_runs);
    json.key("colors").begin_array(JsonLayout::Line);
    for (std::size_t i = 0; i < std::min(kColors, series.types.size()); ++i)
      json.value(strings.place(series.types[i].type));
    json.end_array();
    json.key("aggregates").begin_array(JsonLayout::Line);
    for (std::size_t d = 0; d < series.dots.size(); ++d)
      if (series.dots[d].aggregate) json.value(d);
    json.end_array();
    write_items(json, series.items, series.dots, estimate, strings);
    if (estimate != nullptr) write_estimate(json, *estimate);
    json.end_object();
  }
  json.end_array();
  write_stars(json, "path", chart.path);
  json.key("changes").begin_array();
  for (const Change& change : chart.changes) {
    json.begin_object(JsonLayout::Line);
    members(json, "name", change.name, "before_seconds", change.before_seconds, "after_seconds", change.after_seconds);
    members(json, "before_intensity", change.before.x, "before_rate", change.before.y);
    members(json, "after_intensity", change.after.x, "after_rate", change.after.y, "count", change.count).end_object();
  }
  json.end_array();
  if (!chart.machines.empty()) {
    json.key("machines").begin_array();
    for (const Machine& machine : chart.machines)
      members(json.begin_object(JsonLayout::Line), "label", machine.label, "peak", machine.peak, "bandwidth",
              machine.bandwidth)
          .end_object();
    json.end_array();
  }
  if (chart.energy) {
    json.key("energy").begin_object(JsonLayout::Line).member("source", chart.energy->source);
    const auto& model = chart.energy->model;
    const auto known = [&](double value) { return model ? std::optional(value) : std::nullopt; };
    const EnergyModel none, &of = model ? *model : none;
    members(json, "joules_per_flop", known(of.joules_per_flop), "joules_per_byte", known(of.joules_per_byte),
            "constant_watts", known(of.constant_watts), "time_balance", known(time_balance(of)), "energy_balance",
            known(energy_balance(of)), "peak_flops_per_joule", known(peak_flops_per_joule(of)))
        .end_object();
  }
  json.member("strings", strings.values());
  json.key("warnings").begin_array();
  for (const std::string& warning : chart.warnings) json.value(warning);
  json.end_array().key("provenance").begin_array();
  for (const auto& [key, value] : chart.provenance)
    json.begin_array(JsonLayout::Line).value(key).value(value).end_array();
  json.end_array().end_object();
  return std::move(json).text();
}

}  // namespace pagoda::present::plot
