#include "page/parts.h"

#include <array>
#include <map>

#include "pagoda/estimate/measured_runs.h"
#include "pagoda/present/spell.h"
#include "plot/json_parts.h"
#include "plot/roofs.h"
#include "report/verdict.h"

namespace pagoda::present::plot {
namespace {

using JsonLayout = base::JsonWriter::Layout;
using estimate::WhatIf;

constexpr std::size_t kPrecisions = static_cast<std::size_t>(Precision::Int4) + 1;

std::int64_t index_of(const std::optional<Precision>& precision) {
  return precision ? static_cast<std::int64_t>(*precision) : -1;
}

void write_formulas(base::JsonWriter& json, const FormulaTable& table) {
  json.key("atoms").begin_array(JsonLayout::Line);
  for (const FormulaTable::Atom& atom : table.atoms) {
    if (atom.kind == Dim::AtomKind::Symbol) {
      json.value(atom.symbol);
      continue;
    }
    const char* const kind = atom.kind == Dim::AtomKind::FloorDiv ? "/"
                             : atom.kind == Dim::AtomKind::Min    ? "min"
                                                                  : "max";
    json.begin_array(JsonLayout::Line).value(kind).value(atom.a).value(atom.b).end_array();
  }
  json.end_array().member("monomials", table.monomials);
  json.key("formulas").begin_array(JsonLayout::Line);
  for (const auto& terms : table.formulas) {
    json.begin_array(JsonLayout::Line);
    for (const FormulaTable::Term& term : terms) {
      json.value(Amount{term.coefficient});
      json.value(term.monomial);
    }
    json.end_array();
  }
  json.end_array();
}

using Lists = Places<std::vector<std::int64_t>>;
// Classes of kernels: two kernels are in one class if they are the same in every case.
using Classes = Places<std::vector<std::int32_t>>;

// The kernel of each class in one case.
std::vector<std::int32_t> in_case(const std::vector<std::vector<std::int32_t>>& classes, std::size_t at) {
  std::vector<std::int32_t> kernels;
  kernels.reserve(classes.size());
  for (const std::vector<std::int32_t>& of_cases : classes) kernels.push_back(of_cases[at]);
  return kernels;
}

// Kernels of all cases. Cases of equal widths differ only in the precisions, so that these are lists of their own.
struct Kernels {
  Lists counts;      // bytes read, bytes written, runs, then for each part: macs, arith, comparisons, special, needed bytes
  Lists precisions;  // for each part: its precision and its narrowest one
};

// For each kernel its two lists.
void write_kernels(base::JsonWriter& json, const char* key, const RooflineWork& work, Kernels& kernels) {
  std::vector<std::size_t> places;
  std::vector<std::int64_t> count(work.kernels.size(), 0);
  for (const RooflineKernel& kernel : work.kernels) {
    std::vector<std::int64_t> counts = {kernel.bytes_read, kernel.bytes_written, kernel.runs}, precisions;
    for (const RooflinePart& part : kernel.parts) {
      counts.insert(counts.end(), {part.macs, part.arith, part.comparisons, part.special, part.needed_bytes});
      precisions.insert(precisions.end(), {index_of(part.precision), index_of(part.narrowest)});
    }
    places.push_back(kernels.counts.place(std::move(counts)));
    places.push_back(kernels.precisions.place(std::move(precisions)));
  }
  for (const std::int32_t kernel : work.kernel_of)
    if (kernel >= 0) ++count[static_cast<std::size_t>(kernel)];
  json.key(key).begin_object(JsonLayout::Line).member("kernels", places).member("count", count).end_object();
}

// The kernel of a row, or of a fused group, in every case.
std::vector<std::int32_t> kernels_of(const WhatIf& what_if, RooflineWork WhatIf::Case::*work, std::size_t at) {
  std::vector<std::int32_t> kernels;
  for (const WhatIf::Case& each : what_if.cases) kernels.push_back((each.*work).kernel_of[at]);
  return kernels;
}

// The kernels of the chart's items in every case.
struct ItemKernels {
  Classes classes;                    // of rows, or on a fused chart of groups
  std::vector<std::size_t> class_of;  // by item
  // On an unfused chart: the fused kernels of groups of several rows. Each group has its own index, so that the page
  // can find the rows of one kernel.
  std::vector<std::vector<std::int32_t>> groups;
  std::vector<std::int64_t> group_of;  // by item; -1: none
  // On a fused chart: the classes of rows.
  Classes rows;
  std::vector<std::vector<std::size_t>> rows_of;  // by item
};

ItemKernels item_kernels(const WhatIf& what_if, const Series& series, bool is_fused) {
  ItemKernels result;
  std::map<std::int32_t, std::size_t> size_of, place_of;  // by group
  for (const std::int32_t group : what_if.group_of)
    if (group >= 0) ++size_of[group];
  const auto of_row = [&](std::size_t node) { return kernels_of(what_if, &WhatIf::Case::rows, node); };
  const auto of_group = [&](std::int32_t group) {
    return kernels_of(what_if, &WhatIf::Case::fused, static_cast<std::size_t>(group));
  };
  for (const Item& item : series.items) {
    if (is_fused) {
      std::vector<std::int32_t> kernels(what_if.cases.size(), -1);  // of the first node that runs
      std::vector<std::size_t>& rows = result.rows_of.emplace_back();
      for (const std::size_t node : item.nodes) {
        rows.push_back(result.rows.place(of_row(node)));
        if (what_if.group_of[node] < 0) continue;
        const std::vector<std::int32_t> fused = of_group(what_if.group_of[node]);
        for (std::size_t i = 0; i < kernels.size(); ++i)
          if (kernels[i] < 0) kernels[i] = fused[i];
      }
      result.class_of.push_back(result.classes.place(std::move(kernels)));
      continue;
    }
    const std::size_t node = item.nodes.front();
    result.class_of.push_back(result.classes.place(of_row(node)));
    const std::int32_t group = what_if.group_of[node];
    result.group_of.push_back(-1);
    if (group < 0 || size_of[group] < 2) continue;
    const auto [found, is_new] = place_of.emplace(group, result.groups.size());
    result.group_of.back() = static_cast<std::int64_t>(found->second);
    if (is_new) result.groups.push_back(of_group(group));
  }
  return result;
}

void write_cases(base::JsonWriter& json, const WhatIf& what_if, const ItemKernels& items) {
  Kernels kernels;
  json.key("cases").begin_array();
  for (std::size_t at = 0; at < what_if.cases.size(); ++at) {
    const WhatIf::Case& each = what_if.cases[at];
    json.begin_object(JsonLayout::Line).key("precision");
    each.precision ? json.value(to_string(*each.precision)) : json.null();
    json.key("option");
    each.precision ? json.value(option_name(*each.precision)) : json.null();
    json.member("unmodelled", each.rows.unmodelled);
    write_kernels(json, "rows", each.rows, kernels);
    write_kernels(json, "fused", each.fused, kernels);
    const WhatIf::Counts& totals = each.totals;
    members(json, "classes", in_case(items.classes.values(), at), "groups", in_case(items.groups, at), "row_classes",
            in_case(items.rows.values(), at), "memory", each.memory, "totals",
            std::array{totals.macs, totals.arith, totals.special, totals.comparisons, totals.bytes_read,
                       totals.bytes_written, each.fused_read, each.fused_written})
        .end_object();
  }
  json.end_array().member("counts", kernels.counts.values()).member("kernel_precisions", kernels.precisions.values());
}

// FLOPs of one multiply-accumulate, arithmetic operation, special function and comparison. Every convention is linear.
std::array<Int, 4> weights(Convention count) {
  std::array<Int, 4> result{};
  constexpr Dim OpCost::*kMembers[] = {&OpCost::macs, &OpCost::arith, &OpCost::special, &OpCost::comparisons};
  for (std::size_t i = 0; i < result.size(); ++i) {
    OpCost cost;
    cost.*kMembers[i] = 1;
    result[i] = *flops(cost, count).value();
  }
  return result;
}

// Rates by precision: [contraction rate, 1 if on tensor units, its roof, lane rate, its roof]; roof -1: none.
void write_device(base::JsonWriter& json, const DeviceSpec& device, const std::array<bool, kPrecisions>& is_used) {
  const DeviceRates rates = device_rates(device);
  const Roofs roofs = make_roofs({.device = device}, std::nullopt);
  json.begin_object(JsonLayout::Line)
      .member("id", device.id + (device.power_mode.empty() ? "" : ":" + device.power_mode))
      .member("name", device.name)
      .member("graph", report::graph_name(device.name));
  json.key("roofs").begin_array(JsonLayout::Line);
  for (const Roof& roof : roofs.compute)
    json.begin_array(JsonLayout::Line).value(roof.id).value(roof.name).value(roof.value).end_array();
  json.end_array().member("dram", roofs.bandwidth.front().value);
  const auto place = [](const std::optional<std::size_t>& roof) {
    return roof ? static_cast<std::int64_t>(*roof) : std::int64_t{-1};
  };
  json.key("rates").begin_object(JsonLayout::Line);
  for (std::size_t i = 0; i < kPrecisions; ++i) {
    const DeviceRates::Rate& rate = rates.rates[i];
    if (!is_used[i]) continue;
    json.key(std::to_string(i)).begin_array(JsonLayout::Line);
    json.value(Amount{rate.contraction});
    json.value(rate.unit == Unit::Tensor ? 1 : 0).value(place(roof_named(roofs, rate.precision, rate.unit)));
    json.value(Amount{rate.lanes});
    json.value(place(roof_named(roofs, static_cast<Precision>(i), Unit::Vector))).end_array();
  }
  json.end_object().key("special");
  json.value(Amount{rates.special_per_second});
  json.key("levels").begin_array(JsonLayout::Line);
  for (const DeviceRates::Level& level : rates.levels) {
    json.value(Amount{level.bytes_per_second});
    json.value(Amount{level.inside_bytes});
  }
  json.end_array();
  members(json, "launch", device.launch_overhead_seconds.value, "assumed", device.launch_overhead_seconds.is_assumed(),
          "memory", device.memory_bytes())
      .end_object();
}

}  // namespace

std::string what_if_json(const Chart& chart) {
  if (chart.series.size() != 1 || chart.estimates.size() != 1 || chart.series.front().has_time() || chart.by_model)
    return "";
  const ChartEstimate& estimate = chart.estimates.front();
  const auto& roofline = estimate.document().roofline;
  if (!estimate.source->what_if || !roofline || roofline->device != chart.device.id) return "";
  const WhatIf& what_if = *estimate.source->what_if;
  const bool is_fused = roofline->traffic == TrafficModel::Fused;
  const ItemKernels items = item_kernels(what_if, chart.series.front(), is_fused);
  std::vector<std::string> arguments;
  for (const std::string& word : what_if.arguments) arguments.push_back(command_line(word));
  base::JsonWriter json;
  members(json.begin_object(JsonLayout::Compact), "model", estimate::short_model_name(estimate.document()), "fused",
          is_fused, "case", what_if.at, "arguments", arguments);
  json.key("sizes").begin_array();
  for (const WhatIf::Size& size : what_if.sizes)
    members(json.begin_object(JsonLayout::Line), "name", size.name, "option", command_line(size.field), "symbols",
            size.symbols, "value", size.value, "most", size.most, "batch", size.is_batch)
        .end_object();
  json.end_array();
  write_formulas(json, what_if.formulas);
  write_cases(json, what_if, items);
  members(json, "group_of", items.group_of, "rows_of", items.rows_of, "class_of", items.class_of, "tokens",
          what_if.tokens, "weights", weights(estimate.document().count));
  std::array<bool, kPrecisions> is_used{};
  for (const WhatIf::Case& each : what_if.cases)
    for (const RooflineWork* work : {&each.rows, &each.fused})
      for (const RooflineKernel& kernel : work->kernels)
        for (const RooflinePart& part : kernel.parts)
          for (const auto& precision : {part.precision, part.narrowest})
            if (precision) is_used[static_cast<std::size_t>(*precision)] = true;
  json.key("devices").begin_array();
  for (const DeviceSpec& device : what_if.devices) {
    // Leaves out devices whose roofs cannot be drawn.
    const bool has_dram = device.level("dram") != nullptr && device.level("dram")->bytes_per_second.known();
    if (has_dram && !device.peaks.empty()) write_device(json, device, is_used);
  }
  json.end_array();
  json.member("bytes_at_least", estimate.document().fit && estimate.document().fit->at_least)
      .member("at_least", estimate.document().totals.counts.bytes.is_at_least())
      .member("unset", estimate.document().unset)
      .member("precision", report::precision_text(*roofline));
  json.key("words").begin_object(JsonLayout::Line);
  for (const auto& [name, sentence] : report::sentences()) json.member(name, sentence);
  json.end_object().end_object();
  return std::move(json).text();
}

}  // namespace pagoda::present::plot
