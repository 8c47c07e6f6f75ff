// Traffic under each model: single rows, fused groups, groups with a cache.
#include "pagoda/core/traffic.h"

#include <algorithm>

#include "graph/index.h"
#include "memory/fusion.h"
#include "pagoda/base/enum_names.h"

namespace pagoda::inline core {
namespace {

constexpr base::EnumNames<TrafficModel::Resident> kModels("unfused", "fused", "resident");
constexpr base::EnumNames<Fusion::None> kFusions("attention", "normalisation", "softmax", "batch-norm", "residual",
                                                 "activation", "scale", "bias", "quantize", "dequantize", "rotation",
                                                 "shared-operand", "layout", "elementwise", "");

bool runs(const NodeReport& row) { return row.cost.mark == Mark::Compute || row.cost.mark == Mark::Unmodelled; }

void add_group(Traffic& traffic, TrafficGroup group) {
  for (const std::int32_t row : group.rows)
    traffic.group_of[index(row)] = static_cast<std::int32_t>(traffic.groups.size());
  traffic.groups.push_back(std::move(group));
}

// Sums pairwise, so that formulas of many terms are copied only a few times.
Dim sum(const Traffic& traffic, Dim OpCost::*bytes, std::size_t begin, std::size_t end) {
  if (begin == end) return 0;
  if (end - begin == 1) return traffic.groups[begin].cost.*bytes;
  const std::size_t middle = begin + (end - begin) / 2;
  return sum(traffic, bytes, begin, middle) + sum(traffic, bytes, middle, end);
}

void add_rows(Traffic& traffic, const Analysis& analysis, std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i)
    if (runs(analysis.nodes[i]))
      add_group(traffic, {.rows = {static_cast<std::int32_t>(i)},
                          .joined_by = {Fusion::None},
                          .cost = analysis.nodes[i].cost,
                          .saved = 0});
}

// A node with a body has its own row (for example an aggregate) and those of the body.
std::pair<std::size_t, std::size_t> rows_of_body(const Schedule& schedule, const Analysis& analysis,
                                                 std::int32_t node) {
  const Step& step = schedule.steps[index(node)];
  const std::size_t begin = step.row >= 0 ? index(step.row) : step.body_begin;
  std::size_t end = std::max(step.body_end, step.row >= 0 ? begin + 1 : begin);
  // An aggregate follows the node's own row.
  while (end < analysis.nodes.size() && step.row >= 0 && step.body < 0 && analysis.nodes[end].graph == 0 &&
         analysis.nodes[end].node == node)
    ++end;
  return {begin, end};
}

// Adds the groups of the fused graph, and the rows of each node with a body.
void add_units(Traffic& result, const Model& model, const Analysis& analysis, const TrafficOptions& options) {
  Schedule schedule = schedule_of(model, analysis);
  recompute_dequantised(model, analysis, schedule);
  std::vector<MovedUnit> units = fuse(model, analysis, schedule);
  CacheResult cached;
  const bool is_resident = options.model == TrafficModel::Resident;
  if (is_resident) cached = run_cached(units, schedule, options);
  for (std::size_t u = 0; u < units.size(); ++u) {
    if (units[u].has_body) {
      const auto [begin, end] = rows_of_body(schedule, analysis, units[u].nodes.front());
      add_rows(result, analysis, begin, end);
      continue;
    }
    TrafficGroup& group = units[u].traffic;
    if (is_resident) {
      const Int unfused = size_at(group.saved + group.cost.bytes(), options.bindings);
      group.cost.bytes_read = cached.moved[u].first;
      group.cost.bytes_written = cached.moved[u].second;
      group.saved = Dim(unfused) - group.cost.bytes();
    }
    add_group(result, std::move(group));
  }
  // Rows that the graph does not account for (see locate_steps) still move their bytes.
  for (std::size_t i = 0; i < analysis.nodes.size(); ++i)
    if (runs(analysis.nodes[i]) && result.group_of[i] < 0) add_rows(result, analysis, i, i + 1);
  result.stayed = std::move(cached.stayed);
  for (ResidentTensor& tensor : result.stayed) tensor.name = model.main().value(tensor.value).name;
  if (!is_resident) return;
  for (TrafficGroup& group : result.groups) {  // rows of bodies still have formulas
    group.cost.bytes_read = size_at(group.cost.bytes_read, options.bindings);
    group.cost.bytes_written = size_at(group.cost.bytes_written, options.bindings);
  }
}

}  // namespace

std::string_view to_string(Fusion fusion) { return kFusions[fusion]; }
std::optional<TrafficModel> traffic_model(std::string_view name) { return kModels.value(name); }
std::vector<std::string_view> traffic_model_names() { return kModels.all(); }
std::string_view to_string(TrafficModel model) { return kModels[model]; }

Traffic traffic(const Model& model, const Analysis& analysis, const TrafficOptions& options) {
  Traffic result;
  result.model = options.model;
  result.group_of.assign(analysis.nodes.size(), -1);
  if (options.model == TrafficModel::Unfused) {
    add_rows(result, analysis, 0, analysis.nodes.size());
  } else {
    add_units(result, model, analysis, options);
  }
  result.bytes_read = sum(result, &OpCost::bytes_read, 0, result.groups.size());
  result.bytes_written = sum(result, &OpCost::bytes_written, 0, result.groups.size());
  return result;
}

}  // namespace pagoda::inline core
