// Items of a series: nodes, fused kernels, or measured kernels joined to nodes; each with its least time.
#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "draw/text.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/text.h"
#include "pagoda/measured/join.h"
#include "plot/chart.h"

namespace pagoda::present::plot {
namespace {

constexpr const char* kSplit = "split";  // a kernel with nodes on both sides, so that it does not run as one

using documents::EstimateNode;
using documents::plus;
using documents::real;

// "1x64x56x56": the shape of a node's first output, with formulas unchanged; "?" if the rank is unknown.
std::string shape_text(const EstimateNode& node) {
  if (node.outputs.empty()) return "";
  const TensorType& type = node.outputs.front().type;
  if (!type.shape) return "?";
  const std::string text = base::joined(*type.shape, "x", &Dim::to_string);
  return text.empty() ? "scalar" : text;
}

// The type of a node's arithmetic: "float16"; empty: none.
std::string dtype_text(const EstimateNode& node) {
  return node.precision == ElementType::Undefined ? std::string() : std::string(to_string(node.precision));
}

// The least time of a node by its FLOPs and bytes, if the estimate has no bound for this device. Kernels that fuse fold
// quantisation into products.
void bound_by_counts(Item& item, const ChartEstimate& estimate, const EstimateNode& node, const Roofs& roofs) {
  const auto& traffic = estimate.document().traffic;
  const bool is_folded =
      traffic && traffic->model != TrafficModel::Unfused && node.dequantized_from != ElementType::Undefined;
  if (const std::optional<Precision> type =
          precision(is_folded ? std::string(to_string(node.dequantized_from)) : dtype_text(node)))
    item.roof = roof_of(roofs, *type, node.counts.macs.value_or(0) > 0);
  if (item.flops && *item.flops == 0)
    item.compute_seconds = 0;
  else if (item.flops && item.roof)
    item.compute_seconds = *item.flops / roofs.compute[*item.roof].value;
  if (item.bytes) item.memory_seconds = *item.bytes / roofs.bandwidth.front().value;
}

void bound_by_estimate(Item& item, const EstimateNode& node, const RowBound& bound, const Roofs& roofs) {
  if (bound.bound != Bound::Unknown) {
    item.compute_seconds = bound.compute_seconds;
    item.memory_seconds = bound.memory_seconds;
    item.flops = bound.flops;
    item.bytes = bound.bytes;
  }
  if (bound.precision) item.roof = roof_named(roofs, *bound.precision, bound.unit);
  // Several formats may have the same rate; prefer the roof of the work's own format.
  if (const std::optional<Precision> own = precision(dtype_text(node)); own && item.roof)
    if (const auto other = roof_of(roofs, *own, node.counts.macs.value_or(0) > 0))
      if (roofs.compute[*other].value == roofs.compute[*item.roof].value) item.roof = other;
}

void finish(Item& item) {
  if (item.compute_seconds && item.memory_seconds)
    item.bound_seconds = std::max(*item.compute_seconds, *item.memory_seconds);
}

// Marks a different requested precision: "float32 as float16".
void mark_precision(Item& item, const ChartEstimate& estimate) {
  const std::optional<Precision> own = precision(item.dtype), asked = estimate.document().roofline->precision;
  const bool is_integer = item.dtype.find("int") != std::string::npos;
  if (own && asked && *own != *asked && !is_integer) item.dtype += cat(" as ", to_string(*asked));
}

// `moved`: the bytes of its kernel, if they are not those of the node.
Item item_of(const ChartEstimate& estimate, std::size_t at, const Roofs& roofs, bool same_device,
             const std::optional<double>& moved = std::nullopt) {
  const EstimateNode& node = *estimate.nodes[at];
  Item item;
  item.name = node.shown_name();
  item.type = node.qualified_op();
  item.scope = node.scope;
  item.shape = shape_text(node);
  item.dtype = dtype_text(node);
  item.nodes = {at};
  if (const auto* const place = estimate.document().place_of(node)) {
    item.on = place->on;
    item.part = place->part;
    item.why = place->reason;
  }
  if (node.runs_nothing()) {
    item.absence = Absence::NoWork;
    item.flops = item.bytes = 0;
    return item;
  }
  item.flops = real(node.counts.flops);
  item.bytes = moved ? moved : real(node.counts.bytes);
  item.at_least = node.counts.flops.is_at_least() || node.counts.bytes.is_at_least();
  const RowBound* bound = same_device ? estimate.document().bound_of(node) : nullptr;
  if (bound != nullptr) {
    bound_by_estimate(item, node, *bound, roofs);
    mark_precision(item, estimate);
  } else {
    bound_by_counts(item, estimate, node, roofs);
  }
  finish(item);
  return item;
}

// DRAM traffic if the nodes at these positions run as one kernel.
std::optional<double> fused_bytes(const ChartEstimate& estimate, const std::vector<std::size_t>& nodes,
                                  const measured::Readers& readers) {
  if (nodes.size() < 2) return std::nullopt;
  std::vector<std::size_t> rows;
  rows.reserve(nodes.size());
  for (const std::size_t at : nodes)
    rows.push_back(static_cast<std::size_t>(estimate.nodes[at] - estimate.document().nodes.data()));
  std::ranges::sort(rows);
  return measured::crossing_bytes(rows, estimate.document(), readers);
}

// Several nodes as one item: sums of work and of arithmetic times; `bytes` is the traffic of the whole kernel.
Item merged(const ChartEstimate& estimate, const std::vector<std::size_t>& nodes, std::size_t main, const Roofs& roofs,
            bool same_device, const std::optional<double>& bytes) {
  Item result = item_of(estimate, main, roofs, same_device);
  if (nodes.size() == 1) return result;
  result.nodes = nodes;
  result.absence = Absence::NoWork;
  result.flops = 0;
  result.compute_seconds = 0;
  bool is_modelled = true;
  for (const std::size_t at : nodes) {
    const Item part = item_of(estimate, at, roofs, same_device);
    if (part.on == "cpu" ? result.on == "provider" : part.on == "provider" && result.on == "cpu") result.on = kSplit;
    if (result.why.empty()) result.why = part.why;
    if (part.absence == Absence::NoWork) continue;
    result.absence = Absence::None;
    result.flops = plus(result.flops, part.flops);
    result.compute_seconds = plus(result.compute_seconds, part.compute_seconds);
    is_modelled = is_modelled && part.flops && part.bytes;
    result.at_least = result.at_least || part.at_least;
    if (!result.roof) result.roof = part.roof;
  }
  result.bytes = is_modelled ? bytes : std::nullopt;
  result.memory_seconds.reset();
  if (result.bytes) result.memory_seconds = *result.bytes / roofs.bandwidth.front().value;
  finish(result);
  return result;
}

std::size_t find(std::vector<std::size_t>& parent, std::size_t at) {
  while (parent[at] != at) at = parent[at] = parent[parent[at]];
  return at;
}

// FLOPs of all precisions; empty if one of them was not collected.
std::optional<double> counted_flops(const documents::MeasuredKernel& kernel) {
  std::optional<double> flops;
  if (!kernel.flops.empty()) flops = 0;
  for (const auto& [type, amount] : kernel.flops) flops = plus(flops, amount);
  return flops;
}

// The roof of the format in which kernels did more than half of their work, by their counters. Frameworks multiply
// float32 in TF32 by default: under the roof of float32, such work would seem to use the machine far better than it
// does.
std::optional<std::size_t> counted_roof(const std::map<std::string, double>& flops, const Roofs& roofs) {
  constexpr std::string_view kTensor = ".tensor";
  double sum = 0;
  for (const auto& [format, amount] : flops) sum += amount;
  for (const auto& [format, amount] : flops) {
    if (!(amount > 0.5 * sum)) continue;
    const bool is_tensor = format.ends_with(kTensor);
    const auto type = precision(is_tensor ? format.substr(0, format.size() - kTensor.size()) : format);
    return type ? roof_named(roofs, *type, is_tensor ? Unit::Tensor : Unit::Vector) : std::nullopt;
  }
  return std::nullopt;
}

std::map<std::string, double> counted_formats(const documents::Measured& measured,
                                              const std::vector<std::size_t>& kernels) {
  std::map<std::string, double> flops;
  for (const std::size_t k : kernels)
    for (const auto& [format, amount] : measured.kernels[k].flops) flops[format] += amount.value_or(0);
  return flops;
}

// Holds the item's work against the roof of the format that it ran in: the same work at another rate.
void hold_against(Item& item, std::size_t roof, const Roofs& roofs) {
  if (item.roof && item.compute_seconds)
    *item.compute_seconds *= roofs.compute[*item.roof].value / roofs.compute[roof].value;
  else if (item.flops)
    item.compute_seconds = *item.flops / roofs.compute[roof].value;
  item.roof = roof;
  finish(item);
}

void add_kernel(Item& item, const documents::MeasuredKernel& kernel) {
  const bool first = item.kernels.empty();
  const auto& [spread, bytes] = std::tie(kernel.spread, kernel.bytes);
  const std::pair<std::optional<double> Item::*, std::optional<double>> parts[] = {
      {&Item::seconds, kernel.seconds},
      {&Item::min_seconds, spread ? std::optional(spread->min) : std::nullopt},
      {&Item::max_seconds, spread ? std::optional(spread->max) : std::nullopt},
      {&Item::counted_flops, counted_flops(kernel)},
      {&Item::dram_bytes, bytes.all_dram()},
      {&Item::l2_bytes, bytes.l2},
      {&Item::l1_bytes, bytes.l1},
      {&Item::joules, kernel.energy_joules}};
  for (const auto& [total, part] : parts) item.*total = first ? part : plus(item.*total, part);
  if (kernel.launches) item.launches = item.launches.value_or(0) + *kernel.launches;
  item.kernels.push_back(kernel.name);
}

Item kernel_item(const documents::MeasuredKernel& kernel) {
  Item item;
  item.name = kernel.name;
  item.type = kernel.op_type.empty() ? "kernel" : kernel.op_type;
  item.scope = kernel.nvtx;
  item.shape = kernel.detail;
  add_kernel(item, kernel);
  return item;
}

// The nodes that a kernel executed: by the file's join, else the node with the kernel's name.
std::vector<std::size_t> nodes_of(const documents::MeasuredKernel& kernel, const ChartEstimate& estimate,
                                  const std::map<std::string, std::size_t>& by_name) {
  if (kernel.joined) return estimate.positions(kernel.joined->nodes);
  const auto found = kernel.node.empty() ? by_name.end() : by_name.find(kernel.node);
  return found == by_name.end() ? std::vector<std::size_t>() : std::vector{found->second};
}

// The differences that the join found between counters and estimate, by first kernel.
std::map<std::size_t, std::string> flags_of(const documents::Measured& measured) {
  std::map<std::size_t, std::string> result;
  if (!measured.join) return result;
  for (const documents::NodeCounts& counts : measured.join->counts) {
    if (counts.kernels.empty()) continue;
    std::string& text = result[counts.kernels.front()];
    for (const documents::CountFlag flag : counts.flags) text += cat(text.empty() ? "" : "; ", to_string(flag));
  }
  return result;
}

// The parts of a training step: forward keeps the node's name; the others append the part to the name and the type.
std::vector<Item> step_items(const ChartEstimate& estimate, const Roofs& roofs, bool same_device) {
  std::vector<Item> items;
  for (const documents::EstimateTraining::Row& row : estimate.document().training->rows) {
    const auto at = estimate.position(row.node);
    if (!at) continue;
    Item item = item_of(estimate, *at, roofs, false);
    if (row.part == "optimizer") {
      item.name = item.type = "optimizer";
      item.scope = item.shape = "";
    } else if (row.part != "forward") {
      for (std::string* text : {&item.name, &item.type}) *text += " " + row.part;
    }
    const bool is_idle = !(row.bound.flops > 0) && !(row.bound.bytes > 0);
    item.absence = is_idle ? Absence::NoWork : Absence::None;
    item.flops = row.bound.flops;
    item.bytes = row.bound.bytes;
    if (!is_idle && same_device && row.bound.bound != Bound::Unknown) {
      bound_by_estimate(item, *estimate.nodes[*at], row.bound, roofs);
    } else if (!is_idle) {
      item.compute_seconds.reset();
      bound_by_counts(item, estimate, *estimate.nodes[*at], roofs);
    }
    finish(item);
    items.push_back(std::move(item));
  }
  return items;
}

}  // namespace

std::vector<Item> estimate_items(const ChartEstimate& estimate, const Roofs& roofs, bool same_device) {
  if (estimate.document().training && !estimate.document().training->rows.empty())
    return step_items(estimate, roofs, same_device);
  std::vector<Item> items;
  std::vector<bool> is_done(estimate.nodes.size(), false);
  std::map<std::size_t, std::pair<std::size_t, std::vector<std::size_t>>> group_at;  // by first node: group, its nodes
  std::vector<std::optional<double>> moved(estimate.nodes.size());                   // by kernels of one node
  const auto& traffic = estimate.document().traffic;
  for (std::size_t group = 0; traffic && group < traffic->groups.size(); ++group) {
    std::vector<std::size_t> nodes = estimate.positions(traffic->groups[group].nodes);
    if (nodes.size() == 1) moved[nodes.front()] = real(traffic->groups[group].counts.bytes);
    if (nodes.size() < 2) continue;
    for (const std::size_t at : nodes) is_done[at] = true;
    const std::size_t first = *std::ranges::min_element(nodes);
    group_at[first] = {group, std::move(nodes)};
  }
  for (std::size_t at = 0; at < estimate.nodes.size(); ++at) {
    const auto found = group_at.find(at);
    if (found == group_at.end()) {
      if (!is_done[at]) items.push_back(item_of(estimate, at, roofs, same_device, moved[at]));
      continue;
    }
    auto& [place, nodes] = found->second;
    const documents::EstimateGroup& group = traffic->groups[place];
    const std::size_t main = estimate.heaviest(nodes);
    std::ranges::sort(nodes);
    Item item = merged(estimate, nodes, main, roofs, same_device, real(group.counts.bytes));
    if (same_device && estimate.document().roofline && place < estimate.document().roofline->groups.size()) {
      bound_by_estimate(item, *estimate.nodes[main], estimate.document().roofline->groups[place], roofs);
      finish(item);
    }
    item.rule = to_string(group.rule);
    item.saved_bytes = real(group.saved_bytes);
    items.push_back(std::move(item));
  }
  return items;
}

std::vector<Item> joined_items(const ChartEstimate& estimate, const documents::Measured& measured, const Roofs& roofs,
                               bool same_device) {
  const std::size_t count = estimate.nodes.size();
  std::map<std::string, std::size_t> by_name;
  for (std::size_t at = 0; at < count; ++at) by_name.emplace(estimate.nodes[at]->shown_name(), at);
  const measured::Readers readers = measured::readers_of(estimate.document());

  // Nodes that share a kernel, and kernels that share a node, form one item: only their sums can be compared.
  std::vector<std::size_t> parent(count);
  std::iota(parent.begin(), parent.end(), std::size_t{0});
  std::vector<std::vector<std::size_t>> joined;
  for (const documents::MeasuredKernel& kernel : measured.kernels) {
    joined.push_back(nodes_of(kernel, estimate, by_name));
    for (const std::size_t at : joined.back()) parent[find(parent, at)] = find(parent, joined.back().front());
  }
  std::map<std::size_t, std::vector<std::size_t>> members, kernels;
  for (std::size_t at = 0; at < count; ++at) members[find(parent, at)].push_back(at);
  for (std::size_t k = 0; k < joined.size(); ++k)
    if (!joined[k].empty()) kernels[find(parent, joined[k].front())].push_back(k);

  const std::map<std::size_t, std::string> flags = flags_of(measured);
  std::vector<Item> items;
  for (const auto& [root, nodes] : members) {
    Item item =
        merged(estimate, nodes, estimate.heaviest(nodes), roofs, same_device, fused_bytes(estimate, nodes, readers));
    if (const auto found = kernels.find(root); found != kernels.end()) {
      for (const std::size_t k : found->second) {
        add_kernel(item, measured.kernels[k]);
        if (measured.kernels[k].joined) item.rule = measured.kernels[k].joined->rule;
      }
      if (const auto flag = flags.find(found->second.front()); flag != flags.end()) item.flags = flag->second;
      if (const auto roof = counted_roof(counted_formats(measured, found->second), roofs); roof && roof != item.roof) {
        hold_against(item, *roof, roofs);
        if (const std::string as = cat(" as ", to_string(roofs.compute[*roof].precisions.front()));
            !item.dtype.empty() && item.dtype.find(" as ") == std::string::npos)
          item.dtype += as;
      }
      if (item.absence == Absence::NoWork) item.absence = Absence::None;  // an engine may copy instead of making a view
    } else if (item.absence == Absence::None) {
      item.absence = Absence::Unmeasured;
    }
    items.push_back(std::move(item));
  }
  std::ranges::sort(items, [](const Item& a, const Item& b) { return a.nodes.front() < b.nodes.front(); });
  for (std::size_t k = 0; k < joined.size(); ++k)
    if (joined[k].empty()) items.push_back(kernel_item(measured.kernels[k]));
  return items;
}

std::optional<Precision> counted_precision(const documents::Measured& measured, const Roofs& roofs) {
  std::vector<std::size_t> all(measured.kernels.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  const auto roof = counted_roof(counted_formats(measured, all), roofs);
  return roof ? std::optional(roofs.compute[*roof].precisions.front()) : std::nullopt;
}

std::vector<Item> kernel_items(const documents::Measured& measured) {
  std::vector<Item> items;
  for (const documents::MeasuredKernel& kernel : measured.kernels) items.push_back(kernel_item(kernel));
  return items;
}

}  // namespace pagoda::present::plot
