// Which row is the first to need each weight and each input of the model, and how many bytes of it: every run
// must read them, whatever it fuses (RooflineTotals::floor_seconds).

#include <algorithm>
#include <utility>

#include "graph/index.h"
#include "infer/storage.h"
#include "memory/liveness.h"
#include "memory/schedule.h"

namespace pagoda::inline core {
namespace {

struct Need {
  std::int32_t row = -1;
  Dim bytes;
};

class Counter {
 public:
  Counter(const Model& model, Analysis& analysis) : model_(model), analysis_(analysis), seen_(model.graphs.size()) {}

  void count(const Schedule& schedule) {
    for (std::size_t s = 0; s < schedule.storages.size(); ++s) {
      const Storage& input = schedule.storages[s];
      if (input.is_input && input.place == StoragePlace::Device)
        add(schedule, static_cast<std::int32_t>(s), analysis_.types[index(input.owner)]);
    }
    count_weights(schedule, 0);
  }

 private:
  void add(const Schedule& schedule, std::int32_t storage, const TensorType& type) {
    const auto size = bytes_of(type);
    if (!size) return;
    if (const auto found = need(schedule, storage, *size))
      analysis_.nodes[index(found->row)].needed_bytes += found->bytes;
  }

  // Weights stored by this graph and the bodies it enters, in initializers or Constant nodes. A function's weights are
  // the same in every call.
  void count_weights(const Schedule& schedule, GraphId id) {
    std::vector<bool>& seen = seen_[index(id)];
    seen.resize(schedule.graph->values.size(), false);
    for (std::size_t s = 0; s < schedule.storages.size(); ++s) {
      const Storage& storage = schedule.storages[s];
      if (storage.place != StoragePlace::Constant || storage.readers.empty()) continue;
      const TensorType* stored = stored_type(*schedule.graph, storage);
      if (stored == nullptr || seen[index(storage.owner)]) continue;
      seen[index(storage.owner)] = true;
      add(schedule, static_cast<std::int32_t>(s), id == 0 ? analysis_.types[index(storage.owner)] : in_body(*stored));
    }
    for (const Step& step : schedule.steps)
      if (step.body_schedule) count_weights(*step.body_schedule, step.body);
  }

  // The type in a body where a precision replaces floats: only the main graph's types show whether a product reads the
  // value, so assume the operand type if there is one.
  TensorType in_body(TensorType type) const {
    const FloatStorage storage = storage_of(analysis_.precision);
    if (storage.floats == ElementType::Undefined || !is_replaced(type.element)) return type;
    type.element = storage.operands != ElementType::Undefined ? storage.operands : storage.floats;
    return type;
  }

  // The first row that reads all of the tensor, else the first that reads a part of it. `size` is the size of the
  // tensor, whatever its name in a body.
  std::optional<Need> need(const Schedule& schedule, std::int32_t storage, const Dim& size) const {
    std::optional<Need> part;
    for (const std::int32_t reader : schedule.storages[index(storage)].readers) {
      const std::optional<Need> found = schedule.steps[index(reader)].has_body
                                            ? need_inside(schedule, reader, storage, size)
                                            : need_of_row(schedule, reader, storage, size);
      if (found && found->bytes == size) return found;
      if (found && !part) part = found;
    }
    return part;
  }

  // A call sees the tensor as one of its inputs; the bodies of structures capture it.
  std::optional<Need> need_inside(const Schedule& schedule, std::int32_t node, std::int32_t storage,
                                  const Dim& size) const {
    const Step& step = schedule.steps[index(node)];
    if (!step.body_schedule) return std::nullopt;
    const Graph& body = model_.graphs[index(step.body)];
    const Schedule& inner = *step.body_schedule;
    const auto look = [&](ValueId outer, std::size_t name) -> std::optional<Need> {
      if (outer == kAbsent || schedule.storage_of[index(outer)] != storage || inner.storage_of[name] < 0)
        return std::nullopt;
      return need(inner, inner.storage_of[name], size);
    };
    for (std::size_t v = 0; v < body.values.size(); ++v)
      if (auto found = look(body.values[v].outer, v)) return found;
    const auto& inputs = schedule.graph->nodes[index(node)].inputs;
    if (step.row >= 0) return std::nullopt;  // a structure, whose inputs are its own
    for (std::size_t i = 0; i < std::min(inputs.size(), body.inputs.size()); ++i)
      if (auto found = look(inputs[i], index(body.inputs[i]))) return found;
    return std::nullopt;
  }

  // A row that updates a cache in place may read none of it itself, but passes it on to readers: they need the past,
  // less the rows just written.
  std::optional<Need> need_of_row(const Schedule& schedule, std::int32_t node, std::int32_t storage,
                                  const Dim& size) const {
    const Step& step = schedule.steps[index(node)];
    const OpCost& cost = analysis_.nodes[index(step.row)].cost;
    const auto& inputs = schedule.graph->nodes[index(node)].inputs;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i] == kAbsent || schedule.storage_of[index(inputs[i])] != storage) continue;
      const int place = static_cast<int>(i);
      if (cost.reads_whole(place)) return Need{step.row, size};
      if (Dim part = cost.part_read(place); part != Dim(0)) return Need{step.row, std::move(part)};
    }
    for (const std::int32_t written : step.writes) {
      const Storage& present = schedule.storages[index(written)];
      if (present.continues != storage) continue;
      const std::optional<Need> later = need(schedule, written, size);
      if (later) return Need{step.row, later->bytes - cost.bytes_written};
    }
    return std::nullopt;
  }

  const Model& model_;
  Analysis& analysis_;
  std::vector<std::vector<bool>> seen_;  // weights already counted, by graph and value
};

}  // namespace

void count_memory(const Model& model, Analysis& analysis) {
  const Schedule schedule = schedule_of(model, analysis);
  analysis.totals.activation_peak_bytes = activation_peak(schedule);
  analysis.totals.weight_bytes = weight_bytes(model, analysis, schedule);
  for (NodeReport& row : analysis.nodes) row.needed_bytes = 0;
  Counter(model, analysis).count(schedule);
}

}  // namespace pagoda::inline core
