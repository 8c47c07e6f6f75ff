// What an engine holds of stored tensors once it has folded what it can: Totals::weight_bytes.
//
// Totals::param_bytes are the weights of the file. An engine drops those that only folded nodes read, and keeps the
// results of folded nodes that others read: a transposed embedding, an expanded mask, weights cast to a wider type. It
// also keeps tables of indices and masks that kernels read as data. Literals, and arguments such as axes, are nothing
// to keep. A folded view shares the bytes of what it views.
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "graph/index.h"
#include "infer/infer.h"
#include "infer/storage.h"
#include "memory/schedule.h"

namespace pagoda::inline core {
namespace {

class HeldWeights {
 public:
  HeldWeights(const Model& model, const Analysis& analysis)
      : model_(model), analysis_(analysis), floats_(storage_of(analysis.precision)) {}

  Dim count(const Schedule& schedule) {
    held_ = analysis_.totals.param_bytes;
    visit(schedule, 0);
    return held_;
  }

 private:
  void visit(const Schedule& schedule, GraphId id) {
    if (!seen_.insert(id).second) return;  // the weights of a function are the same in every call
    const Graph& graph = *schedule.graph;
    std::vector<bool> is_input(graph.values.size(), false);  // of some node: counted in params if it is a parameter
    for (const Node& node : graph.nodes)
      for (const ValueId input : node.inputs)
        if (input != kAbsent) is_input[index(input)] = true;
    std::vector<bool> is_viewed(schedule.storages.size(), false);
    for (std::size_t s = schedule.storages.size(); s-- > 0;) {  // views come after what they view
      const Storage& storage = schedule.storages[s];
      if (storage.place != StoragePlace::Constant) continue;
      const bool is_made = graph.value(storage.owner).initializer < 0;
      const Node* node = is_made && storage.producer >= 0 ? &graph.node(storage.producer) : nullptr;
      const bool is_stored = stored_type(graph, storage) != nullptr;
      const std::optional<TensorType> type = type_of(schedule, id, storage);
      if (!type || !type->shape) continue;
      const bool is_weight = is_parameter(*type, is_made);
      const bool is_held =
          is_viewed[s] || storage.is_output || reads(schedule, static_cast<std::int32_t>(s), !is_weight);
      if (is_held && node != nullptr && !is_stored && is_view(schedule, storage)) {
        if (const ValueId viewed = node->input(0); viewed != kAbsent) {
          const std::int32_t of = schedule.storage_of[index(viewed)];
          if (of >= 0) is_viewed[index(of)] = true;  // else the enclosing graph holds it
          continue;
        }
      }
      const std::optional<Dim> bytes = bytes_of(*type);
      if (!bytes) continue;
      if (is_stored && is_weight && !is_held && is_input[index(storage.owner)]) held_ -= *bytes;
      const bool is_counted = is_stored && (is_weight || is_packed(id, graph.value(storage.owner).initializer));
      if (!is_counted && is_held && !is_literal(*type->shape)) held_ += *bytes;
    }
    for (const Step& step : schedule.steps)
      if (step.body_schedule) visit(*step.body_schedule, step.body);
  }

  // Of the main graph as analysed, where a device may hold a part. In bodies a precision replaces the floats of the
  // file; rows state it already.
  std::optional<TensorType> type_of(const Schedule& schedule, GraphId id, const Storage& storage) const {
    if (id == 0) return analysis_.types[index(storage.owner)];
    const Graph& graph = *schedule.graph;
    if (const TensorType* stored = stored_type(graph, storage)) {
      TensorType type = *stored;
      if (floats_.floats != ElementType::Undefined && is_replaced(type.element)) type.element = floats_.floats;
      return type;
    }
    if (storage.producer < 0 || schedule.steps[index(storage.producer)].row < 0) return std::nullopt;
    std::size_t at = 0;
    const NodeReport& row = analysis_.nodes[index(schedule.steps[index(storage.producer)].row)];
    for (const ValueId output : graph.node(storage.producer).outputs) {
      if (output == storage.owner) return at < row.outputs.size() ? std::optional(row.outputs[at].type) : std::nullopt;
      if (output != kAbsent) ++at;
    }
    return std::nullopt;
  }

  // Whether readers of integers know them as weights.
  bool is_packed(GraphId graph, std::int32_t initializer) {
    if (!packed_) packed_ = ops::packed_weights(model_);
    return packed_->contains({graph, initializer});
  }

  bool is_view(const Schedule& schedule, const Storage& storage) const {
    const std::int32_t row = schedule.steps[index(storage.producer)].row;
    return row >= 0 && analysis_.nodes[index(row)].facts.kind == OpKind::View;
  }

  // Whether a node that runs reads it; with `as_data`, as more than an argument.
  bool reads(const Schedule& schedule, std::int32_t storage, bool as_data) const {
    for (const std::int32_t reader : schedule.storages[index(storage)].readers) {
      const Step& step = schedule.steps[index(reader)];
      const auto& inputs = schedule.graph->node(reader).inputs;
      if (step.has_body && step.row < 0 && step.body_schedule) {
        const Graph& body = model_.graph(step.body);
        for (std::size_t i = 0; i < std::min(inputs.size(), body.inputs.size()); ++i) {
          if (inputs[i] == kAbsent || schedule.storage_of[index(inputs[i])] != storage) continue;
          const std::int32_t inner = step.body_schedule->storage_of[index(body.inputs[i])];
          if (inner >= 0 && reads(*step.body_schedule, inner, as_data)) return true;
        }
        continue;
      }
      if (!as_data || step.has_body) return true;
      const OpCost& cost = analysis_.nodes[index(step.row)].cost;
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        const int place = static_cast<int>(i);
        if (inputs[i] != kAbsent && schedule.storage_of[index(inputs[i])] == storage &&
            (cost.reads_whole(place) || cost.part_read(place) != Dim(0)))
          return true;
      }
    }
    return false;
  }

  const Model& model_;
  const Analysis& analysis_;
  FloatStorage floats_;
  std::set<GraphId> seen_;
  std::optional<std::map<std::pair<GraphId, std::int32_t>, Dim>> packed_;
  Dim held_ = 0;
};

}  // namespace

Dim weight_bytes(const Model& model, const Analysis& analysis, const Schedule& schedule) {
  return HeldWeights(model, analysis).count(schedule);
}

}  // namespace pagoda::inline core
