#include "memory/schedule.h"

#include <algorithm>

#include "graph/index.h"

namespace pagoda::inline core {
namespace {

// An output of a body, as its caller sees it.
struct BodyOutput {
  const TensorType* type = nullptr;  // null when no row states it
  StoragePlace place = StoragePlace::Device;
  std::int32_t input = -1;  // the body's input whose bytes it shares
};

class Builder {
 public:
  Builder(const Model& model, const std::vector<NodeReport>& rows, GraphId id, std::size_t begin)
      : model_(model), rows_(rows), graph_(model.graphs[index(id)]) {
    result_.graph = &graph_;
    result_.steps = locate_steps(model, rows, id, begin);
    result_.storage_of.assign(graph_.values.size(), -1);
    result_.storages.reserve(graph_.values.size());
  }

  // `types` are the types of the values, null where the rows determine them. `input_places` are the places of a body's
  // inputs, which take no bytes in the body; null for the main graph.
  Schedule build(std::vector<const TensorType*> types, const std::vector<StoragePlace>* input_places) {
    types_ = std::move(types);
    for (std::size_t i = 0; i < graph_.values.size(); ++i) {
      const Value& value = graph_.values[i];
      if (value.initializer >= 0)
        add(static_cast<ValueId>(i), {.place = StoragePlace::Constant, .bytes = Dim(0)});
      else if (value.outer != kAbsent)  // counted in its own graph
        add(static_cast<ValueId>(i), {.is_input = true, .bytes = Dim(0)});
    }
    for (std::size_t i = 0; i < graph_.inputs.size(); ++i) {
      Storage input{.is_input = true, .bytes = Dim(0)};
      if (input_places == nullptr)
        input.bytes = size_of(graph_.inputs[i]);
      else if (i < input_places->size())
        input.place = (*input_places)[i];
      add(graph_.inputs[i], std::move(input));
    }
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) visit(i);
    for (const ValueId output : graph_.outputs)
      if (output != kAbsent && storage(output) >= 0) result_.storages[index(storage(output))].is_output = true;
    if (input_places == nullptr) share_buffers();
    return std::move(result_);
  }

  const std::vector<const TensorType*>& types() const { return types_; }

 private:
  std::int32_t storage(ValueId value) const { return value == kAbsent ? -1 : result_.storage_of[index(value)]; }

  std::int32_t add(ValueId value, Storage storage) {
    storage.owner = value;
    if (types_[index(value)] != nullptr) storage.element_bits = bits(types_[index(value)]->element);
    result_.storages.push_back(std::move(storage));
    return result_.storage_of[index(value)] = static_cast<std::int32_t>(result_.storages.size()) - 1;
  }

  std::optional<Dim> size_of(ValueId value) const {
    const TensorType* type = types_[index(value)];
    return type == nullptr ? std::nullopt : bytes_of(*type);
  }

  void read(std::int32_t node, std::int32_t storage) {
    if (storage < 0) return;
    Ids& readers = result_.storages[index(storage)].readers;
    if (!readers.empty() && readers.back() == node) return;  // nodes read in order
    readers.push_back(node);
    result_.steps[index(node)].reads.push_back(storage);
  }

  void visit(std::size_t i) {
    const Node& node = graph_.nodes[i];
    const auto id = static_cast<std::int32_t>(i);
    Step& step = result_.steps[i];
    if (step.row >= 0) learn_types(node, rows_[index(step.row)]);
    std::vector<BodyOutput> body;
    if (step.has_body) body = visit_body(id);
    if (step.has_body || result_.is_kernel(i))
      for (const ValueId input : node.inputs) read(id, storage(input));
    for (std::size_t j = 0; j < node.outputs.size(); ++j)
      if (node.outputs[j] != kAbsent) write(id, node.outputs[j], j < body.size() ? &body[j] : nullptr);
  }

  void learn_types(const Node& node, const NodeReport& row) {
    std::size_t at = 0;
    for (const ValueId output : node.outputs) {
      if (output == kAbsent || at >= row.outputs.size()) continue;
      const TensorType*& type = types_[index(output)];
      if (type == nullptr) type = &row.outputs[at].type;
      ++at;
    }
  }

  void write(std::int32_t id, ValueId output, const BodyOutput* from_body) {
    const Node& node = graph_.nodes[index(id)];
    Step& step = result_.steps[index(id)];
    if (from_body != nullptr && from_body->type != nullptr && types_[index(output)] == nullptr)
      types_[index(output)] = from_body->type;
    const TensorType* type = types_[index(output)];
    const bool is_view = step.mark == Mark::View && !step.has_body;
    const bool is_reference = type != nullptr && type->container != Container::Tensor;
    const bool is_call = from_body != nullptr && step.row < 0;
    std::int32_t shared = -1;  // the storage of an input whose bytes it is
    if (is_view && !is_reference) shared = storage(node.input(0));
    if (is_call && from_body->input >= 0) shared = storage(node.input(index(from_body->input)));
    if (shared >= 0) {
      result_.storage_of[index(output)] = shared;
      return;
    }
    Storage written{.producer = id, .bytes = Dim(0)};
    if (is_view) {  // a sequence of, or an optional with, the input tensors
      for (const ValueId input : node.inputs) {
        const std::int32_t member = storage(input);
        if (member < 0) continue;
        written.holds.push_back(member);
        read(id, member);
        result_.storages[index(member)].is_held = true;
      }
    } else {
      const NodeReport* row =
          step.row >= 0 && !step.has_body && step.mark == Mark::Compute ? &rows_[index(step.row)] : nullptr;
      written.place = place_of(step, is_call ? from_body : nullptr);
      if (written.place == StoragePlace::Device) written.bytes = size_of(output);
      // The members of a new sequence are the bytes that the row wrote.
      if (!written.bytes && is_reference && row != nullptr && node.outputs.size() == 1)
        written.bytes = row->cost.bytes_written;
      written.is_of_weights = row != nullptr && makes_of_weights(node, *row);
      if (row != nullptr) {
        const auto place = std::find(node.outputs.begin(), node.outputs.end(), output) - node.outputs.begin();
        const int input = row->facts.updates.input_of(static_cast<int>(place));
        if (input >= 0) written.continues = storage(node.input(index(input)));
      }
    }
    step.writes.push_back(add(output, std::move(written)));
  }

  // A cache or state that only its update reads is updated in place. The buffer has the size after the update.
  void share_buffers() {
    for (std::size_t s = result_.storages.size(); s-- > 0;) {
      Storage& after = result_.storages[s];
      if (after.continues < 0 || after.place != StoragePlace::Device) continue;
      Storage& before = result_.storages[index(after.continues)];
      const bool is_only_updated = before.readers.size() == 1 && before.readers.front() == after.producer;
      if (!is_only_updated || before.place != StoragePlace::Device || before.is_output || !before.bytes || !after.bytes)
        continue;
      after.is_in_place = true;
      before.bytes =
          greater_equal(*after.bytes, *before.bytes) == true ? *after.bytes : max(*before.bytes, *after.bytes);
    }
  }

  // Engines fold a weight's DequantizeLinear into the products that read it, or store its result instead of the weight:
  // no engine treats it as an activation.
  bool makes_of_weights(const Node& node, const NodeReport& row) const {
    bool is_dequantised = row.facts.kind == OpKind::Dequantize;
    for (const ValueId input : node.inputs) {
      const std::int32_t read = storage(input);
      if (read < 0) continue;
      const Storage& operand = result_.storages[index(read)];
      if (operand.place != StoragePlace::Constant && !operand.is_of_weights) return false;
      is_dequantised = is_dequantised || operand.is_of_weights;
    }
    return is_dequantised;
  }

  static StoragePlace place_of(const Step& step, const BodyOutput* from_call) {
    if (from_call != nullptr) return from_call->place;
    if (step.mark == Mark::Folded) return StoragePlace::Constant;
    return step.mark == Mark::Host ? StoragePlace::Host : StoragePlace::Device;
  }

  // A call's body sees the call's inputs; the bodies of structures see those and what they capture.
  std::vector<BodyOutput> visit_body(std::int32_t id) {
    const Node& node = graph_.nodes[index(id)];
    for (const GraphId body : node.bodies())
      for (const Value& value : model_.graphs[index(body)].values)
        if (value.outer != kAbsent) read(id, storage(value.outer));
    Step& step = result_.steps[index(id)];
    if (step.body < 0) return {};
    const bool is_call = step.row < 0;
    step.body_on_top = !is_call && node.op_type != "If";
    std::vector<StoragePlace> places;
    if (is_call)
      for (const ValueId input : node.inputs)
        places.push_back(storage(input) < 0 ? StoragePlace::Constant : result_.storages[index(storage(input))].place);
    const Graph& body = model_.graphs[index(step.body)];
    Builder builder(model_, rows_, step.body, step.last_run);
    const std::vector<const TensorType*> learnt(body.values.size(), nullptr);
    step.body_schedule = std::make_unique<Schedule>(builder.build(learnt, &places));
    const Schedule& schedule = *step.body_schedule;
    std::vector<BodyOutput> outputs;
    for (const ValueId output : body.outputs) {
      BodyOutput& found = outputs.emplace_back();
      if (output == kAbsent) continue;
      found.type = builder.types()[index(output)];
      const std::int32_t at = schedule.storage_of[index(output)];
      if (at < 0) continue;
      found.place = schedule.storages[index(at)].place;
      const auto input = std::find(body.inputs.begin(), body.inputs.end(), schedule.storages[index(at)].owner);
      if (input != body.inputs.end()) found.input = static_cast<std::int32_t>(input - body.inputs.begin());
    }
    return outputs;
  }

  const Model& model_;
  const std::vector<NodeReport>& rows_;
  const Graph& graph_;
  Schedule result_;
  std::vector<const TensorType*> types_;
};

}  // namespace

Schedule schedule_of(const Model& model, const Analysis& analysis) {
  std::vector<const TensorType*> types;
  types.reserve(analysis.types.size());
  for (const TensorType& type : analysis.types) types.push_back(&type);
  return Builder(model, analysis.nodes, 0, 0).build(std::move(types), nullptr);
}

const TensorType* stored_type(const Graph& graph, const Storage& storage) {
  const Value& value = graph.value(storage.owner);
  if (value.initializer >= 0) return &graph.initializer(value.initializer).type;
  const Tensor* tensor = storage.producer < 0 ? nullptr : graph.node(storage.producer).constant();
  return tensor == nullptr ? nullptr : &tensor->type;
}

std::optional<Dim> bytes_of(const TensorType& type) {
  const bool holds_tensor = type.container == Container::Tensor || type.container == Container::Optional;
  if (!holds_tensor || !type.shape || bits(type.element) == 0) return std::nullopt;
  return byte_size(element_count(*type.shape), type.element);
}

Int size_at(const Dim& bytes, const Bindings& bindings) {
  constexpr Int kMost = Int{1} << 90;  // sums of the largest possible number of sizes fit in 128 bits
  const Int size = bytes.evaluate(bindings);
  if (size > kMost) throw Error("a tensor of " + to_string(size) + " bytes: the model's sizes are not credible");
  return std::max<Int>(size, 0);
}

}  // namespace pagoda::inline core
