// The memory plan: lifetimes, peak, weights, caches, arena, and a better order if there is one.
#include "pagoda/core/memory.h"

#include <algorithm>
#include <map>
#include <set>

#include "graph/index.h"
#include "infer/infer.h"
#include "infer/storage.h"
#include "memory/arena.h"
#include "memory/liveness.h"
#include "memory/reorder.h"
#include "memory/schedule.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/error.h"

namespace pagoda::inline core {
namespace {

// --- weights ---

class WeightCounter {
 public:
  WeightCounter(const Model& model, const Analysis& analysis)
      : model_(model), analysis_(analysis), packed_(ops::packed_weights(model)) {}

  std::vector<WeightBytes> count() {
    for (std::size_t g = 0; g < model_.graphs.size(); ++g) count(static_cast<GraphId>(g));
    std::vector<WeightBytes> result;
    for (auto& [element, weight] : by_type_) result.push_back(weight);
    return result;
  }

 private:
  void count(GraphId id) {
    const Graph& graph = model_.graphs[index(id)];
    const std::vector<std::int32_t> producer = producers_of(graph);
    for (const Node& node : graph.nodes)
      for (const ValueId input : node.inputs) {
        if (input == kAbsent) continue;
        const std::int32_t from = producer[index(input)];
        if (const Tensor* constant = from < 0 ? nullptr : graph.node(from).constant())
          add(id, input, ~from, *constant);
        else
          add_stored(id, input);
      }
  }

  // An initializer of this graph or of an enclosing one.
  void add_stored(GraphId id, ValueId value) {
    while (id >= 0) {
      const Graph& graph = model_.graphs[index(id)];
      const Value& found = graph.value(value);
      if (found.initializer >= 0) return add(id, value, found.initializer, graph.initializer(found.initializer));
      if (found.outer == kAbsent) return;
      value = found.outer;
      id = graph.parent;
    }
  }

  // The types that a precision replaces are known only for the main graph's values; in other graphs operands count like
  // the other floats.
  ElementType element_of(GraphId graph, ValueId value, const Tensor& stored) const {
    if (!analysis_.precision || !is_replaced(stored.type.element)) return stored.type.element;
    return graph == 0 ? analysis_.types[index(value)].element : storage_of(analysis_.precision).floats;
  }

  void add(GraphId graph, ValueId value, std::int32_t tensor, const Tensor& stored) {
    const auto packed = packed_.find({graph, tensor});
    if (packed == packed_.end() && !is_parameter(stored.type, tensor < 0)) return;
    if (!seen_.insert({graph, tensor}).second) return;
    const Dim elements = element_count(*stored.type.shape);
    const ElementType element = element_of(graph, value, stored);
    WeightBytes& weight = by_type_[element];
    weight.element = element;
    ++weight.tensors;
    weight.elements += (packed == packed_.end() ? elements : packed->second).value().value_or(0);
    weight.bytes += byte_size(elements, element).value().value_or(0);
  }

  const Model& model_;
  const Analysis& analysis_;
  std::map<std::pair<GraphId, std::int32_t>, Dim> packed_;  // packed weights, identified by their consumers
  std::set<std::pair<GraphId, std::int32_t>> seen_;
  std::map<ElementType, WeightBytes> by_type_;
};

// --- the plan of one order ---

class Planner {
 public:
  Planner(const Model& model, const Analysis& analysis, const MemoryOptions& options)
      : graph_(model.main()), options_(options), schedule_(schedule_of(model, analysis)) {
    sizes_ = sizes_of(schedule_, options.bindings);
  }

  const Schedule& schedule() const { return schedule_; }
  const StorageSizes& sizes() const { return sizes_; }

  MemoryPlan plan(std::vector<std::int32_t> order) const {
    MemoryPlan plan;
    const Liveness live = liveness(schedule_, order, options_.in_place);
    plan.timeline = timeline(schedule_, live, order, sizes_);
    plan.peak_formula = peak_formula(schedule_, live, order);
    add_tensors(plan, live);
    add_bodies(plan, order, live);
    std::stable_sort(plan.tensors.begin(), plan.tensors.end(),
                     [](const PlannedTensor& a, const PlannedTensor& b) { return a.first_step < b.first_step; });
    find_peak(plan);
    if (options_.arena) lay_out_tensors(plan);
    for (std::size_t s = 0; s < schedule_.storages.size(); ++s)
      if (!schedule_.storages[s].bytes && live.lifetimes[s].is_alive())
        plan.unsized.push_back(name_of(schedule_.storages[s].owner));
    for (std::size_t i = 0; i < schedule_.steps.size(); ++i)
      if (const Step& step = schedule_.steps[i];
          step.has_body && (!step.body_schedule || has_unsized(*step.body_schedule)))
        plan.unsized_bodies.push_back(static_cast<std::int32_t>(i));
    plan.order = std::move(order);
    return plan;
  }

 private:
  const Name& name_of(ValueId value) const { return graph_.value(value).name; }

  void add_tensors(MemoryPlan& plan, const Liveness& live) const {
    std::vector<std::int32_t> at(schedule_.storages.size(), -1);
    for (std::size_t s = 0; s < schedule_.storages.size(); ++s) {
      const std::int32_t owner = live.shares[s];
      const Lifetime& life = live.lifetimes[index(owner)];
      if (schedule_.storages[s].place != StoragePlace::Device || !life.is_alive() || sizes_.storages[s] == 0) continue;
      if (owner == static_cast<std::int32_t>(s)) {
        at[s] = static_cast<std::int32_t>(plan.tensors.size());
        plan.tensors.push_back({.value = schedule_.storages[s].owner,
                                .name = name_of(schedule_.storages[s].owner),
                                .bytes = sizes_.storages[s],
                                .first_step = life.first,
                                .last_step = life.last});
      } else if (at[index(owner)] >= 0) {
        plan.tensors[index(at[index(owner)])].shared_by.push_back(name_of(schedule_.storages[s].owner));
      }
    }
    for (std::size_t v = 0; v < schedule_.storage_of.size(); ++v) {
      const std::int32_t storage = schedule_.storage_of[v];
      if (storage < 0 || schedule_.storages[index(storage)].owner == static_cast<ValueId>(v)) continue;
      const std::int32_t tensor = at[index(live.shares[index(storage)])];
      if (tensor >= 0) plan.tensors[index(tensor)].shared_by.push_back(name_of(static_cast<ValueId>(v)));
    }
  }

  // Adds the memory that a body takes beyond the node's own outputs, as in the timeline.
  void add_bodies(MemoryPlan& plan, std::span<const std::int32_t> order, const Liveness& live) const {
    std::vector<Int> alone;
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (sizes_.bodies[index(order[i])] == 0) continue;
      if (alone.empty()) alone = timeline(schedule_, live, order, {sizes_.storages, std::vector<Int>(order.size(), 0)});
      if (plan.timeline[i] == alone[i]) continue;
      const auto step = static_cast<std::int32_t>(i);
      plan.tensors.push_back(
          {.bytes = plan.timeline[i] - alone[i], .first_step = step, .last_step = step, .body_of = order[i]});
    }
  }

  static void find_peak(MemoryPlan& plan) {
    if (plan.timeline.empty()) {  // no nodes: inputs that are also outputs
      for (const PlannedTensor& tensor : plan.tensors) plan.peak_bytes += tensor.bytes;
    } else {
      const auto peak = std::max_element(plan.timeline.begin(), plan.timeline.end());
      plan.peak_bytes = *peak;
      plan.peak_step = static_cast<std::int32_t>(peak - plan.timeline.begin());
    }
    for (std::size_t i = 0; i < plan.tensors.size(); ++i)
      if (plan.tensors[i].first_step <= plan.peak_step && plan.peak_step <= plan.tensors[i].last_step)
        plan.peak_tensors.push_back(i);
    std::stable_sort(plan.peak_tensors.begin(), plan.peak_tensors.end(),
                     [&](std::size_t a, std::size_t b) { return plan.tensors[a].bytes > plan.tensors[b].bytes; });
  }

  void lay_out_tensors(MemoryPlan& plan) const {
    std::vector<ArenaBlock> blocks;
    blocks.reserve(plan.tensors.size());
    for (const PlannedTensor& tensor : plan.tensors)
      blocks.push_back({tensor.bytes, tensor.first_step, tensor.last_step});
    const ArenaLayout layout = lay_out(blocks, options_.alignment);
    plan.arena_bytes = layout.bytes;
    for (std::size_t i = 0; i < blocks.size(); ++i) plan.tensors[i].offset = layout.offsets[i];
  }

  const Graph& graph_;
  const MemoryOptions& options_;
  Schedule schedule_;
  StorageSizes sizes_;
};

}  // namespace

MemoryPlan plan_memory(const Model& model, const Analysis& analysis, const MemoryOptions& options) {
  if (options.alignment < 1)
    throw Error(cat("the alignment of the arena is ", options.alignment, ", expected at least 1"));
  if (!options.order.empty() && !is_topological(model, options.order))
    throw Error(
        "the given order of nodes is not a topological order of the main graph: each node once, after those that make "
        "its inputs");
  const Planner planner(model, analysis, options);
  MemoryPlan plan = planner.plan(options.order.empty() ? file_order(planner.schedule()) : options.order);
  plan.weights = WeightCounter(model, analysis).count();
  plan.kv_cache = find_kv_cache(model, analysis);
  if (options.reorder && options.order.empty()) {
    if (auto order = better_order(model, planner.schedule(), planner.sizes(), options.in_place)) {
      MemoryPlan better = planner.plan(std::move(*order));
      plan.reordered = {
          .order = std::move(better.order), .peak_bytes = better.peak_bytes, .arena_bytes = better.arena_bytes};
    }
  }
  return plan;
}

}  // namespace pagoda::inline core
