#include "plot/what_if.h"

#include <algorithm>
#include <array>
#include <map>

#include "pagoda/base/json_writer.h"
#include "pagoda/estimate/measured_runs.h"
#include "plot/roofs.h"

namespace pagoda::present::plot {
namespace {

using JsonLayout = base::JsonWriter::Layout;
using estimate::WhatIf;

constexpr std::size_t kPrecisions = static_cast<std::size_t>(Precision::Int4) + 1;

void write_number(base::JsonWriter& json, double value) {
  constexpr double kExact = 9007199254740992.0;
  if (value > -kExact && value < kExact && value == static_cast<double>(static_cast<std::int64_t>(value)))
    json.value(static_cast<std::int64_t>(value));
  else
    json.value(value);
}

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
  json.end_array();
  json.key("monomials").begin_array(JsonLayout::Line);
  for (const auto& factors : table.monomials) {
    json.begin_array(JsonLayout::Line);
    for (const std::uint32_t atom : factors) json.value(atom);
    json.end_array();
  }
  json.end_array();
  json.key("formulas").begin_array(JsonLayout::Line);
  for (const auto& terms : table.formulas) {
    json.begin_array(JsonLayout::Line);
    for (const FormulaTable::Term& term : terms) {
      write_number(json, term.coefficient);
      json.value(term.monomial);
    }
    json.end_array();
  }
  json.end_array();
}

// Lists of numbers, each written once; others refer to it by its place.
class Lists {
 public:
  std::size_t place(std::vector<std::int64_t> list) {
    const auto [found, is_new] = places_.emplace(std::move(list), lists_.size());
    if (is_new) lists_.push_back(found->first);
    return found->second;
  }
  void write(base::JsonWriter& json, const char* key) const {
    json.key(key).begin_array(JsonLayout::Line);
    for (const std::vector<std::int64_t>& list : lists_) {
      json.begin_array(JsonLayout::Line);
      for (const std::int64_t number : list) json.value(number);
      json.end_array();
    }
    json.end_array();
  }

 private:
  std::map<std::vector<std::int64_t>, std::size_t> places_;
  std::vector<std::vector<std::int64_t>> lists_;
};

// Kernels of all cases. Cases of equal widths differ only in the precisions, so that these are lists of their own.
struct Kernels {
  Lists counts;      // bytes read, bytes written, then for each part: macs, arith, comparisons, special, needed bytes
  Lists precisions;  // for each part: its precision and its narrowest one
};

// For each kernel its two lists.
void write_kernels(base::JsonWriter& json, const RooflineWork& work, Kernels& kernels) {
  json.key("kernels").begin_array(JsonLayout::Line);
  for (const RooflineKernel& kernel : work.kernels) {
    std::vector<std::int64_t> counts = {kernel.bytes_read, kernel.bytes_written}, precisions;
    for (const RooflinePart& part : kernel.parts) {
      counts.insert(counts.end(), {part.macs, part.arith, part.comparisons, part.special, part.needed_bytes});
      precisions.insert(precisions.end(), {index_of(part.precision), index_of(part.narrowest)});
    }
    json.value(kernels.counts.place(std::move(counts))).value(kernels.precisions.place(std::move(precisions)));
  }
  json.end_array();
  std::vector<std::int64_t> count(work.kernels.size(), 0);
  for (const std::int32_t kernel : work.kernel_of)
    if (kernel >= 0) ++count[static_cast<std::size_t>(kernel)];
  json.key("count").begin_array(JsonLayout::Line);
  for (const std::int64_t each : count) json.value(each);
  json.end_array();
}

// Classes of kernels: two kernels are in one class if they are the same in every case.
class Classes {
 public:
  std::size_t place(std::vector<std::int32_t> of_cases) {
    const auto [found, is_new] = places_.emplace(std::move(of_cases), kernels_.size());
    if (is_new) kernels_.push_back(found->first);
    return found->second;
  }
  // The kernel of each class in one case.
  void write(base::JsonWriter& json, const char* key, std::size_t at) const {
    json.key(key).begin_array(JsonLayout::Line);
    for (const std::vector<std::int32_t>& of_cases : kernels_) json.value(of_cases[at]);
    json.end_array();
  }

 private:
  std::map<std::vector<std::int32_t>, std::size_t> places_;
  std::vector<std::vector<std::int32_t>> kernels_;
};

// The kernel of a row, or of a fused group, in every case.
std::vector<std::int32_t> kernels_of(const WhatIf& what_if, RooflineWork WhatIf::Case::*work, std::size_t at) {
  std::vector<std::int32_t> kernels;
  for (const WhatIf::Case& each : what_if.cases) kernels.push_back((each.*work).kernel_of[at]);
  return kernels;
}

// The class of each item: of its row, or on a fused chart of its group.
Classes classes_of(const WhatIf& what_if, const Series& series, bool is_fused, std::vector<std::size_t>& of_items) {
  Classes classes;
  for (const Item& item : series.items) {
    if (!is_fused) {
      of_items.push_back(classes.place(kernels_of(what_if, &WhatIf::Case::rows, item.nodes.front())));
      continue;
    }
    std::vector<std::int32_t> kernels(what_if.cases.size(), -1);  // kernel of the first node that runs
    for (const std::size_t node : item.nodes) {
      if (what_if.group_of[node] < 0) continue;
      const auto of_group =
          kernels_of(what_if, &WhatIf::Case::fused, static_cast<std::size_t>(what_if.group_of[node]));
      for (std::size_t i = 0; i < kernels.size(); ++i)
        if (kernels[i] < 0) kernels[i] = of_group[i];
    }
    of_items.push_back(classes.place(std::move(kernels)));
  }
  return classes;
}

// For each item its group of several rows (-1: none), and the fused kernels of each group in every case. Each group has
// its own index, so that the page can find the rows of one kernel.
std::vector<std::vector<std::int32_t>> groups_of(const WhatIf& what_if, const Series& series,
                                                 std::vector<std::int64_t>& group_of_item) {
  std::map<std::int32_t, std::size_t> rows;
  for (const std::int32_t group : what_if.group_of)
    if (group >= 0) ++rows[group];
  std::vector<std::vector<std::int32_t>> groups;
  std::map<std::int32_t, std::size_t> places;
  for (const Item& item : series.items) {
    const std::int32_t group = what_if.group_of[item.nodes.front()];
    group_of_item.push_back(-1);
    if (group < 0 || rows[group] < 2) continue;
    const auto [found, is_new] = places.emplace(group, groups.size());
    group_of_item.back() = static_cast<std::int64_t>(found->second);
    if (is_new) groups.push_back(kernels_of(what_if, &WhatIf::Case::fused, static_cast<std::size_t>(group)));
  }
  return groups;
}

// For each item, which is a fused kernel, the classes of its rows.
Classes rows_of(const WhatIf& what_if, const Series& series, std::vector<std::vector<std::size_t>>& of_items) {
  Classes classes;
  for (const Item& item : series.items) {
    std::vector<std::size_t>& rows = of_items.emplace_back();
    for (const std::size_t node : item.nodes)
      rows.push_back(classes.place(kernels_of(what_if, &WhatIf::Case::rows, node)));
  }
  return classes;
}

void write_cases(base::JsonWriter& json, const WhatIf& what_if, const Classes& classes,
                 const std::vector<std::vector<std::int32_t>>& groups, const Classes& rows) {
  Kernels kernels;
  json.key("cases").begin_array();
  for (std::size_t at = 0; at < what_if.cases.size(); ++at) {
    const WhatIf::Case& each = what_if.cases[at];
    json.begin_object(JsonLayout::Line).key("precision");
    each.precision ? json.value(to_string(*each.precision)) : json.null();
    json.key("option");
    each.precision ? json.value(option_name(*each.precision)) : json.null();
    json.member("unmodelled", each.rows.unmodelled);
    json.key("rows").begin_object(JsonLayout::Line);
    write_kernels(json, each.rows, kernels);
    json.end_object().key("fused").begin_object(JsonLayout::Line);
    write_kernels(json, each.fused, kernels);
    json.end_object();
    classes.write(json, "classes", at);
    json.key("groups").begin_array(JsonLayout::Line);
    for (const std::vector<std::int32_t>& of_cases : groups) json.value(of_cases[at]);
    json.end_array();
    rows.write(json, "row_classes", at);
    json.key("memory");
    each.memory ? json.value(*each.memory) : json.null();
    json.key("totals").begin_array(JsonLayout::Line);
    const WhatIf::Counts& totals = each.totals;
    for (const std::uint32_t id : {totals.macs, totals.arith, totals.special, totals.comparisons, totals.bytes_read,
                                   totals.bytes_written, each.fused_read, each.fused_written})
      json.value(id);
    json.end_array().end_object();
  }
  json.end_array();
  kernels.counts.write(json, "counts");
  kernels.precisions.write(json, "kernel_precisions");
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
      .key("roofs");
  json.begin_array(JsonLayout::Line);
  for (const Roof& roof : roofs.compute)
    json.begin_array(JsonLayout::Line).value(roof.id).value(roof.name).value(roof.value).end_array();
  json.end_array().key("dram").value(roofs.bandwidth.front().value);
  const auto place = [](const std::optional<std::size_t>& roof) {
    return roof ? static_cast<std::int64_t>(*roof) : std::int64_t{-1};
  };
  json.key("rates").begin_object(JsonLayout::Line);
  for (std::size_t i = 0; i < kPrecisions; ++i) {
    const DeviceRates::Rate& rate = rates.rates[i];
    if (!is_used[i]) continue;
    json.key(std::to_string(i)).begin_array(JsonLayout::Line);
    write_number(json, rate.contraction);
    json.value(rate.unit == Unit::Tensor ? 1 : 0).value(place(roof_named(roofs, rate.precision, rate.unit)));
    write_number(json, rate.lanes);
    json.value(place(roof_named(roofs, static_cast<Precision>(i), Unit::Vector))).end_array();
  }
  json.end_object().key("special");
  write_number(json, rates.special_per_second);
  json.key("levels").begin_array(JsonLayout::Line);
  for (const DeviceRates::Level& level : rates.levels) {
    write_number(json, level.bytes_per_second);
    write_number(json, level.inside_bytes);
  }
  json.end_array();
  json.member("launch", device.launch_overhead_seconds.value)
      .member("assumed", device.launch_overhead_seconds.is_assumed());
  json.key("memory");
  const auto memory = device.memory_bytes();
  memory ? json.value(static_cast<std::int64_t>(*memory)) : json.null();
  json.end_object();
}

}  // namespace

std::string what_if_json(const Chart& chart) {
  if (chart.series.size() != 1 || chart.estimates.size() != 1 || !chart.measured.empty() || chart.by_model) return "";
  const EstimateFile& estimate = chart.estimates.front();
  const auto& roofline = estimate.document.roofline;
  if (!estimate.what_if || !roofline || roofline->device != chart.device.id) return "";
  const WhatIf& what_if = *estimate.what_if;
  const bool is_fused = roofline->traffic == TrafficModel::Fused;
  std::vector<std::size_t> class_of_item;
  const Classes classes = classes_of(what_if, chart.series.front(), is_fused, class_of_item);

  base::JsonWriter json;
  json.begin_object(JsonLayout::Compact)
      .member("model", estimate::short_model_name(estimate.document))
      .member("fused", is_fused)
      .member("case", what_if.at);
  json.key("arguments").begin_array(JsonLayout::Line);
  for (const std::string& argument : what_if.arguments) json.value(argument);
  json.end_array();
  json.key("sizes").begin_array();
  for (const WhatIf::Size& size : what_if.sizes) {
    json.begin_object(JsonLayout::Line).member("name", size.name).member("option", size.option);
    json.key("symbols").begin_array(JsonLayout::Line);
    for (const std::string& symbol : size.symbols) json.value(symbol);
    json.end_array().key("value");
    size.value ? json.value(*size.value) : json.null();
    json.key("most");
    size.most ? json.value(*size.most) : json.null();
    json.member("batch", size.is_batch).end_object();
  }
  json.end_array();
  write_formulas(json, what_if.formulas);
  std::vector<std::int64_t> group_of_item;
  std::vector<std::vector<std::size_t>> rows_of_item;
  const auto groups = is_fused ? std::vector<std::vector<std::int32_t>>() : groups_of(what_if, chart.series.front(), group_of_item);
  const Classes rows = is_fused ? rows_of(what_if, chart.series.front(), rows_of_item) : Classes{};
  write_cases(json, what_if, classes, groups, rows);
  json.key("group_of").begin_array(JsonLayout::Line);
  for (const std::int64_t group : group_of_item) json.value(group);
  json.end_array();
  json.key("rows_of").begin_array(JsonLayout::Line);
  for (const std::vector<std::size_t>& of_item : rows_of_item) {
    json.begin_array(JsonLayout::Line);
    for (const std::size_t row : of_item) json.value(row);
    json.end_array();
  }
  json.end_array();
  json.key("class_of").begin_array(JsonLayout::Line);
  for (const std::size_t each : class_of_item) json.value(each);
  json.end_array();
  json.key("tokens");
  what_if.tokens ? json.value(*what_if.tokens) : json.null();
  json.key("weights").begin_array(JsonLayout::Line);
  for (const Int weight : weights(estimate.document.count)) json.value(static_cast<std::int64_t>(weight));
  json.end_array();
  std::array<bool, kPrecisions> is_used{};
  for (const WhatIf::Case& each : what_if.cases)
    for (const RooflineWork* work : {&each.rows, &each.fused})
      for (const RooflineKernel& kernel : work->kernels)
        for (const RooflinePart& part : kernel.parts)
          for (const auto& precision : {part.precision, part.narrowest})
            if (precision) is_used[static_cast<std::size_t>(*precision)] = true;
  json.key("precisions").begin_array(JsonLayout::Line);
  for (std::size_t i = 0; i < kPrecisions; ++i) json.value(to_string(static_cast<Precision>(i)));
  json.end_array();
  json.key("devices").begin_array();
  for (const DeviceSpec& device : what_if.devices) {
    // Leaves out devices whose roofs cannot be drawn.
    const bool has_dram = device.level("dram") != nullptr && device.level("dram")->bytes_per_second.known();
    if (has_dram && !device.peaks.empty()) write_device(json, device, is_used);
  }
  json.end_array();
  json.member("bytes_at_least", estimate.document.fit && estimate.document.fit->at_least);
  json.key("params");
  const auto& params = estimate.document.totals.counts.params;
  params ? json.value(static_cast<std::int64_t>(*params)) : json.null();
  json.end_object();
  return std::move(json).text();
}

}  // namespace pagoda::present::plot
