// Biases between quantised operands: from release 1.21 on, the runtime stores a float32 bias as int32 with a
// DequantizeLinear of its own, which the provider is asked about like any other node.
// Source: onnxruntime/core/optimizer/qdq_transformer/weight_bias_quantization.cc; compared with the runtime's answers.
#include <algorithm>

#include "place/loaded.h"

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

}  // namespace pagoda::inline core
