// Biases between quantised operands: from release 1.21 on, the runtime stores a float32 bias as int32 with a
// DequantizeLinear of its own, which the provider is asked about like any other node.
// Pairs of QuantizeLinear and DequantizeLinear are repeated on the other side of views, which then work with integers.
// Source: onnxruntime/core/optimizer/qdq_transformer/{weight_bias_quantization,qdq_propagation}.cc; compared with the
// runtime's answers.
#include <algorithm>

#include "place/loaded.h"
#include "predict/graph_facts.h"

namespace pagoda::inline core {
namespace {

constexpr std::string_view kQuantised[] = {"Conv", "ConvTranspose", "Gemm"};

}  // namespace

// Whether DequantizeLinear writes the operand with a stored scale: one, or one for each index of `axis`.
bool LoadedGraph::is_dequantised(ValueId value, std::optional<std::int64_t> axis) const {
  const std::int32_t id = writer(value);
  if (id < 0 || node(id).op != "DequantizeLinear" || node(id).inputs.size() < 2) return false;
  const ValueId scale = node(id).inputs[1];
  const Shape* sizes = shape(scale);
  if (!is_constant(scale) || sizes == nullptr) return false;
  if (sizes->empty() || element_count(*sizes) == Dim(1)) return true;
  return axis && node(id).like != nullptr && node(id).like->integer("axis", 1) == *axis;
}

// Whether QuantizeLinear alone reads the value, perhaps behind a Relu or Clip.
bool LoadedGraph::is_quantised(ValueId value) const {
  std::int32_t next = only_reader(value);
  if (next >= 0 && (node(next).op == "Relu" || node(next).op == "Clip")) next = only_reader(node(next).outputs.front());
  return next >= 0 && node(next).op == "QuantizeLinear";
}

bool LoadedGraph::quantise_biases() {
  if (release_ < kSince1_21) return false;
  bool has_changed = false;
  const std::vector<std::int32_t> order = this->order();
  for (const std::int32_t id : order) {
    const LoadedNode& each = node(id);
    if (!is_plain(each) || each.inputs.size() < 3 || std::ranges::find(kQuantised, each.op) == std::end(kQuantised))
      continue;
    const ValueId bias = each.inputs[2];
    const Shape* sizes = shape(bias);
    if (!is_constant(bias) || type(bias).element != ElementType::Float32 || sizes == nullptr || sizes->size() != 1)
      continue;
    const bool is_turned = each.op == "Gemm" && (each.like == nullptr || each.like->integer("transB", 0) == 0);
    const bool has_weights = is_dequantised(each.inputs[1], is_turned ? 1 : 0) || is_constant(each.inputs[1]);
    if (!is_dequantised(each.inputs[0], std::nullopt) || !has_weights || !is_quantised(each.outputs.front())) continue;
    const LoadedNode& before = node(writer(each.inputs[0]));
    const ValueId stored = add_value(bias, {ElementType::Int32, *sizes}, true);
    const ValueId scale = add_value(before.inputs[1], {ElementType::Float32, Shape{}}, true);
    LoadedNode made = made_node("DequantizeLinear", {stored, scale});
    made.domain = before.domain;
    const std::int32_t dequantised = add_node(std::move(made), bias, type(bias));
    set_input(id, 2, node(dequantised).outputs.front());
    has_changed = true;
  }
  return has_changed;
}

// Whether a pair before the node means the same behind it.
bool LoadedGraph::passes_pairs(const LoadedNode& node) const {
  constexpr std::string_view kViews[] = {"Reshape", "Slice", "Squeeze", "Transpose", "Unsqueeze"};
  constexpr std::int64_t kFirstPool = 12;
  return is_plain(node) && !node.inputs.empty() && !node.outputs.empty() && node.outputs.front() != kAbsent &&
         (is_one_of(node.op, kViews) || (node.op == "MaxPool" && model_.opset("") >= kFirstPool));
}

bool LoadedGraph::has_one_scale(const LoadedNode& node) const {
  return node.inputs.size() > 1 && std::all_of(node.inputs.begin() + 1, node.inputs.end(), [&](ValueId value) {
           const Shape* sizes = shape(value);
           return value == kAbsent || (is_constant(value) && sizes != nullptr && element_count(*sizes) == Dim(1));
         });
}

// A QuantizeLinear like `model` behind the value, and a DequantizeLinear for each of these readers.
void LoadedGraph::insert_pairs(ValueId value, const std::vector<std::int32_t>& nodes, const LoadedNode& model) {
  const ElementType element = type(dequantises(model) ? model.inputs[0] : model.outputs[0]).element;
  const TensorType old = type(value);
  const std::int32_t before = writer(value);
  const ValueId first = add_value(value, old);
  values_[at(value)].writer = -1;
  std::ranges::replace(node(before).outputs, value, first);
  link(before);
  LoadedNode quantise = made_node("QuantizeLinear", model.inputs),
             dequantise = made_node("DequantizeLinear", model.inputs);
  quantise.domain = dequantise.domain = model.domain;
  const std::vector<std::int32_t> all = readers(value);
  for (const std::int32_t reader : all)
    for (std::size_t i = 0; i < node(reader).inputs.size(); ++i)
      if (node(reader).inputs[i] == value) set_input(reader, i, first);
  quantise.inputs[0] = first;
  dequantise.inputs[0] = node(add_node(quantise, value, {element, old.shape})).outputs.front();
  if (values_[at(value)].is_output) {
    dequantise.outputs = {value};
    add_node(std::move(dequantise));
    return;
  }
  for (const std::int32_t reader : nodes)
    for (std::size_t i = 0; i < node(reader).inputs.size(); ++i)
      if (node(reader).inputs[i] == first) set_input(reader, i, node(add_node(dequantise, value, old)).outputs.front());
}

bool LoadedGraph::propagate_pairs() {
  bool has_changed = false;
  // The readers behind a view that get a pair; empty: none does.
  const auto behind = [&](std::int32_t view) {
    const ValueId result = node(view).outputs.front();
    std::vector<std::int32_t> found = readers(result);
    if (values_[at(result)].is_output && !found.empty()) return std::vector<std::int32_t>();
    std::erase_if(found, [&](std::int32_t reader) { return quantises(node(reader)); });
    return found;
  };
  const std::vector<std::int32_t> order = this->order();
  for (const std::int32_t id : order) {
    if (node(id).is_gone || !dequantises(node(id)) || !has_one_scale(node(id)) || node(id).outputs.empty()) continue;
    const LoadedNode model = node(id);
    std::vector<std::int32_t> todo;
    if (const std::int32_t next = only_reader(model.outputs.front()); next >= 0) todo.push_back(next);
    while (!todo.empty()) {
      const std::int32_t view = todo.back();
      todo.pop_back();
      if (!passes_pairs(node(view))) continue;
      const std::vector<std::int32_t> next = behind(view);
      const ValueId result = node(view).outputs.front();
      if (next.empty() && !(values_[at(result)].is_output && readers(result).empty())) continue;
      insert_pairs(result, next, model);
      has_changed = true;
      todo.insert(todo.end(), next.begin(), next.end());
    }
  }
  for (const std::int32_t id : order) {
    if (node(id).is_gone || !quantises(node(id)) || !has_one_scale(node(id)) || node(id).outputs.empty()) continue;
    const LoadedNode model = node(id);
    std::int32_t reader = id, view = writer(model.inputs[0]);
    while (view >= 0 && passes_pairs(node(view)) && only_reader(node(view).outputs.front()) == reader) {
      const ValueId value = node(view).inputs[0];
      const std::int32_t before = writer(value);
      if (before < 0 || dequantises(node(before)) || only_reader(value) != view) break;
      insert_pairs(value, {view}, model);
      has_changed = true;
      reader = only_reader(node(before).outputs.front());
      view = before;
    }
  }
  return has_changed;
}

}  // namespace pagoda::inline core
