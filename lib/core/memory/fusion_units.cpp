// The bytes each group moves: its rows' bytes less those that stay inside or are read twice; and an execution order of
// groups.
#include <algorithm>
#include <cassert>
#include <queue>

#include "graph/index.h"
#include "memory/fusion.h"
#include "pagoda/core/memory.h"

namespace pagoda::inline core {
namespace {

// A group has the precision of its first contraction, else of its first row.
TrafficGroup sum_of_rows(FusionGraph& graph, const Group& group) {
  TrafficGroup result;
  result.joined_by = group.joined_by;
  result.rule = *std::min_element(group.joined_by.begin(), group.joined_by.end());
  bool has_contraction = false;
  for (const std::int32_t node : group.nodes) {
    const OpCost& cost = graph.row(node).cost;
    result.rows.push_back(graph.schedule().steps[index(node)].row);
    result.cost += cost;
    if (cost.mark == Mark::Unmodelled) result.cost.mark = Mark::Unmodelled;
    const bool contracts = cost.macs != Dim(0);
    if (result.rows.size() == 1 || (contracts && !has_contraction)) result.cost.precision = cost.precision;
    has_contraction = has_contraction || contracts;
  }
  return result;
}

// Whether both operands of a product reach its kernel as narrow numbers.
bool dequantises_operands(FusionGraph& graph, std::int32_t id, std::int32_t node) {
  for (std::size_t i = 0; i < 2; ++i) {
    const ValueId operand = graph.node(node).inputs[i];
    const Storage* storage = graph.storage_at(operand);
    const bool recomputes = storage != nullptr && storage->is_recomputed && storage->readers.front() != node;
    if (!recomputes && graph.maker(operand) != id) return false;
  }
  return true;
}

// The precision in which all products of the group multiply, if they dequantise their operands themselves.
ElementType multiplies(FusionGraph& graph, const Group& group, std::int32_t id) {
  ElementType type = ElementType::Undefined;
  for (const std::int32_t node : group.nodes) {
    const NodeReport& row = graph.row(node);
    if (row.cost.macs == Dim(0)) continue;
    const bool is_first = type == ElementType::Undefined;
    if (is_first) type = row.dequantized_from;
    if (type == ElementType::Undefined || row.dequantized_from != type || !dequantises_operands(graph, id, node))
      return ElementType::Undefined;
  }
  return type;
}

// Parts add up to at most the whole tensor.
void count_again(FusionGraph& graph, MovedUnit& unit, Access& known, const Access& access) {
  unit.traffic.cost.bytes_read -= access.bytes;
  const Storage* storage = access.storage < 0 ? nullptr : &graph.schedule().storages[index(access.storage)];
  const std::optional<Dim> all = storage == nullptr ? std::nullopt : graph.bytes(storage->owner);
  Dim together = known.bytes + access.bytes;
  if (all && greater_equal(together, *all) == true) together = max(*all, known.bytes);
  unit.traffic.cost.bytes_read += together - known.bytes;
  known.bytes = std::move(together);
}

void count_reads(FusionGraph& graph, MovedUnit& unit, std::int32_t id, std::int32_t node) {
  const NodeReads& reads = graph.reads(node);
  unit.traffic.cost.bytes_read -= reads.spared;
  for (const Access& access : reads.accesses) {
    if (access.storage >= 0 && access.storage == graph.appended(node)) {  // extended in place
      unit.traffic.cost.bytes_read -= access.bytes;
      continue;
    }
    const auto known = std::find_if(unit.reads.begin(), unit.reads.end(),
                                    [&](const Access& a) { return a.storage == access.storage; });
    if (graph.maker(access.value) == id) {
      unit.traffic.cost.bytes_read -= access.bytes;
    } else if (known == unit.reads.end()) {
      unit.reads.push_back(access);
    } else {
      count_again(graph, unit, *known, access);
    }
  }
}

void count_writes(FusionGraph& graph, MovedUnit& unit, std::int32_t id, std::int32_t node) {
  const OpCost& cost = graph.row(node).cost;
  const auto& outputs = graph.node(node).outputs;
  Dim stated = 0;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const ValueId output = outputs[i];
    if (output == kAbsent) continue;
    const bool is_whole = cost.writes_whole(static_cast<int>(i));
    Dim bytes = is_whole ? graph.bytes(output).value_or(Dim(0)) : cost.part_written(static_cast<int>(i));
    stated += bytes;
    if (graph.appended(node) >= 0) {
      const ValueId past = graph.schedule().storages[index(graph.appended(node))].owner;
      const Dim kept = graph.bytes(past).value_or(Dim(0));
      bytes -= kept;
      unit.traffic.cost.bytes_written -= kept;
    }
    const Storage* storage = graph.storage_at(output);
    if (storage == nullptr) continue;
    const auto is_inside = [&](std::int32_t reader) { return graph.group_of(reader) == id; };
    if (!storage->readers.empty() && storage->is_private(is_inside))
      unit.traffic.cost.bytes_written -= bytes;
    else
      unit.writes.push_back({graph.storage(output), output, bytes});
  }
  // Bytes that a rule writes without stating the output.
  if (stated != cost.bytes_written) unit.writes.push_back({.bytes = cost.bytes_written - stated});
}

MovedUnit account(FusionGraph& graph, std::int32_t id) {
  const Group& group = graph.group(id);
  MovedUnit unit{.nodes = group.nodes};
  unit.traffic = sum_of_rows(graph, group);
  OpCost& moved = unit.traffic.cost;
  const Dim unfused = moved.bytes();
  for (const std::int32_t node : group.nodes) count_reads(graph, unit, id, node);
  if (const ElementType type = multiplies(graph, group, id); type != ElementType::Undefined) moved.precision = type;
  for (const std::int32_t node : group.nodes) count_writes(graph, unit, id, node);
  unit.traffic.saved = unfused - moved.bytes();
  return unit;
}

// By node: the past that a Concat extends in place to become the present, if nothing else reads that past; -1 for other
// nodes.
std::vector<std::int32_t> appended_caches(const Model& model, const Analysis& analysis, const Schedule& schedule) {
  std::vector<std::int32_t> appended(schedule.steps.size(), -1);
  for (const CachePair& pair : find_kv_cache(model, analysis).pairs) {
    const std::int32_t past = schedule.storage_of[index(pair.past)];
    const std::int32_t present = schedule.storage_of[index(pair.present)];
    if (pair.is_in_place || past < 0 || present < 0) continue;
    const std::int32_t maker = schedule.storages[index(present)].producer;
    if (maker >= 0 && schedule.storages[index(past)].readers == Ids{maker} && schedule.is_kernel(index(maker)) &&
        schedule.graph->node(maker).op_type == "Concat")
      appended[index(maker)] = past;
  }
  return appended;
}

// Orders units so that each comes after those whose tensors it reads; otherwise in the file's order.
std::vector<MovedUnit> in_order(std::vector<MovedUnit> units, const Schedule& schedule) {
  const std::vector<std::int32_t> unit_of = unit_of_nodes(units, schedule.steps.size());
  // Readers of a sequence wait for the producers of its members.
  std::vector<std::vector<std::int32_t>> next(units.size());
  std::vector<int> waits(units.size(), 0);
  std::vector<std::int32_t> pending;
  for (std::size_t u = 0; u < units.size(); ++u) {
    std::vector<std::int32_t> sources;
    for (const std::int32_t node : units[u].nodes) {
      const Ids& reads = schedule.steps[index(node)].reads;
      pending.assign(reads.begin(), reads.end());
      for (int looks = 0; !pending.empty() && looks < FusionGraph::kMaxVisits; ++looks) {
        const Storage& storage = schedule.storages[index(pending.back())];
        pending.pop_back();
        pending.insert(pending.end(), storage.holds.begin(), storage.holds.end());
        if (storage.producer < 0) continue;
        const std::int32_t source = unit_of[index(storage.producer)];
        if (source >= 0 && source != static_cast<std::int32_t>(u)) sources.push_back(source);
      }
    }
    std::sort(sources.begin(), sources.end());
    sources.erase(std::unique(sources.begin(), sources.end()), sources.end());
    for (const std::int32_t source : sources) next[index(source)].push_back(static_cast<std::int32_t>(u));
    waits[u] = static_cast<int>(sources.size());
  }
  using Ready = std::pair<std::int32_t, std::size_t>;  // first node, unit
  std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
  const auto make_ready = [&](std::size_t u) { ready.emplace(units[u].nodes.front(), u); };
  for (std::size_t u = 0; u < units.size(); ++u)
    if (waits[u] == 0) make_ready(u);
  std::vector<MovedUnit> result;
  result.reserve(units.size());
  while (!ready.empty()) {
    const std::size_t u = ready.top().second;
    ready.pop();
    for (const std::int32_t follower : next[u])
      if (--waits[index(follower)] == 0) make_ready(index(follower));
    result.push_back(std::move(units[u]));
  }
  assert(result.size() == units.size());  // groups are closed, so none waits for itself
  return result;
}

}  // namespace

std::vector<std::int32_t> unit_of_nodes(std::span<const MovedUnit> units, std::size_t nodes) {
  std::vector<std::int32_t> result(nodes, -1);
  for (std::size_t u = 0; u < units.size(); ++u)
    for (const std::int32_t node : units[u].nodes) result[index(node)] = static_cast<std::int32_t>(u);
  return result;
}

void recompute_dequantised(const Model& model, const Analysis& analysis, Schedule& schedule) {
  FusionGraph graph(model, analysis, schedule);
  const auto dequantises_itself = [&](std::int32_t reader) {
    const OpFacts* op = schedule.is_kernel(index(reader)) ? graph.op(reader) : nullptr;
    return op != nullptr && op->kind != OpKind::Dequantize && graph.reads(reader).whole;
  };
  std::vector<std::int32_t> chosen;  // storages
  for (std::size_t id = 0; id < schedule.storages.size(); ++id) {
    const Storage& made = schedule.storages[id];
    if (made.producer < 0 || made.readers.size() < 2 || made.is_output || made.is_held) continue;
    const OpFacts* op = graph.op(made.producer);
    if (op == nullptr || op->kind != OpKind::Dequantize || !graph.reads(made.producer).whole) continue;
    if (std::all_of(made.readers.begin(), made.readers.end(), dequantises_itself))
      chosen.push_back(static_cast<std::int32_t>(id));
  }
  for (const std::int32_t id : chosen) {
    Storage& made = schedule.storages[index(id)];
    made.is_recomputed = true;
    const Ids& sources = schedule.steps[index(made.producer)].reads;
    for (std::size_t i = 1; i < made.readers.size(); ++i) {
      Ids& reads = schedule.steps[index(made.readers[i])].reads;
      reads.erase(std::remove(reads.begin(), reads.end(), id), reads.end());
      for (const std::int32_t source : sources) {
        if (std::find(reads.begin(), reads.end(), source) != reads.end()) continue;
        reads.push_back(source);
        Ids& readers = schedule.storages[index(source)].readers;
        readers.insert(std::upper_bound(readers.begin(), readers.end(), made.readers[i]), made.readers[i]);
      }
    }
    made.readers.resize(1);
  }
}

std::vector<MovedUnit> fuse(const Model& model, const Analysis& analysis, const Schedule& schedule) {
  FusionGraph graph(model, analysis, schedule, appended_caches(model, analysis, schedule));
  fuse_attention(graph);
  fuse_rotations(graph);
  fuse_in_order(graph);
  fuse_layouts(graph);
  fuse_shared_operands(graph);

  std::vector<MovedUnit> units;
  for (std::size_t i = 0; i < graph.groups().size(); ++i)
    if (!graph.groups()[i].nodes.empty()) units.push_back(account(graph, static_cast<std::int32_t>(i)));
  for (std::size_t i = 0; i < schedule.steps.size(); ++i)
    if (schedule.steps[i].has_body) units.push_back({.nodes = {static_cast<std::int32_t>(i)}, .has_body = true});
  return in_order(std::move(units), schedule);
}

}  // namespace pagoda::inline core
