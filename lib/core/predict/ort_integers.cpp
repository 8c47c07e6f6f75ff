// As ONNX Runtime 1.32 does on x86: qdq_selectors.cc and qdq_rules.cc for Q/DQ pairs, dynamic_quantize_matmul_fusion.cc
// and matmul_integer_to_float.cc for ranges found at run time; checked against the optimised graphs of files that its
// quantisers write.
#include <algorithm>

#include "predict/ort_graph.h"

namespace pagoda::inline core {
namespace {

// Have a kernel on 8-bit elements, with one scale for each operand.
constexpr std::string_view kComputed[] = {"Add",       "AveragePool", "Concat",  "GlobalAveragePool",
                                          "LeakyRelu", "Mul",         "Sigmoid", "Softmax"};
// Move elements of any type: both conversions drop out.
constexpr std::string_view kMoved[] = {"Flatten", "Gather",  "MaxPool", "Reshape",   "Resize",
                                       "Slice",   "Squeeze", "Split",   "Transpose", "Unsqueeze"};

}  // namespace

bool OrtIntegers::runs_each_time(const Node& node) const {
  if (node.op_type != "DequantizeLinear" || node.integer("block_size", 0) != 0 ||
      !links_.graph().is_stored(node.input(0)))
    return false;
  const auto& readers = links_.readers(node.output(0));
  return std::any_of(readers.begin(), readers.end(), [&](std::int32_t id) {
    return rows_[index(id)] != nullptr && rows_[index(id)]->cost.macs != Dim(0) && !multiplies(id);
  });
}

bool OrtIntegers::multiplies(std::int32_t id) const {
  const NodeReport* row = rows_[index(id)];
  if (row == nullptr || row->dequantized_from == ElementType::Undefined) return false;
  const Node& node = links_.graph().node(id);
  for (const ValueId input : node.inputs)
    if (input != kAbsent && !is_dequantised_constant(input) && !has_kernel(input)) return false;
  const Node* next = links_.only_reader(node.output(0));
  if (next != nullptr && is_one_of(next->op_type, kJoinedActivations)) next = links_.only_reader(next->output(0));
  if (next == nullptr || next->op_type != "QuantizeLinear") return row->facts.form != ProductForm::Convolution;
  const Node* back = links_.only_reader(next->output(0));
  return back == nullptr || back->op_type != "DequantizeLinear" || has_kernel(back->output(0));
}

bool OrtIntegers::moves(const Node& node) const { return is_one_of(node.op_type, kMoved); }

bool OrtIntegers::computes(std::int32_t id) const {
  const Node& node = links_.graph().node(id);
  if (!plain_domain(node.domain).empty()) return false;
  const bool is_moved = moves(node);
  if (!is_moved && !is_one_of(node.op_type, kComputed)) return false;
  for (std::size_t i = 0; i < node.inputs.size() && (i == 0 || !is_moved); ++i) {
    const ValueId input = node.inputs[i];
    if (!links_.is_written_by(input, "DequantizeLinear") || !has_kernel(input)) return false;
  }
  return std::all_of(node.outputs.begin(), node.outputs.end(), [&](ValueId output) {
    const Node* next = links_.only_reader(output);
    if (next == nullptr || next->op_type != "QuantizeLinear") return false;
    if (links_.type(next->output(0)) != ElementType::Int8) return true;
    const Node* back = links_.only_reader(next->output(0));
    return back != nullptr && back->op_type == "DequantizeLinear" && has_kernel(back->output(0));
  });
}

bool OrtIntegers::is_dequantised_constant(ValueId value) const {
  const Node* from = links_.writing(value);
  return from == nullptr || (from->op_type == "DequantizeLinear" && links_.graph().is_stored(from->input(0)));
}

// Kernels of x86 take uint8 activations. The engine turns int8 into uint8, but only between a QuantizeLinear and the
// one node that reads it; `value` is what DequantizeLinear gives.
bool OrtIntegers::has_kernel(ValueId value) const {
  if (!links_.is_written_by(value, "DequantizeLinear")) return true;
  const ValueId narrow = links_.writing(value)->input(0);
  if (links_.type(narrow) != ElementType::Int8) return true;
  return links_.only_reader(narrow) != nullptr && (links_.is_output(value) || links_.only_reader(value) != nullptr);
}

bool OrtIntegers::quantises(const Node& node) const {
  std::int32_t from = links_.writer(node.input(0));
  if (from >= 0 && is_one_of(links_.graph().node(from).op_type, kJoinedActivations) && !runs(from)) {
    const std::int32_t before = links_.writer(links_.graph().node(from).input(0));
    if (before >= 0 && multiplies(before)) from = before;
  }
  return from >= 0 && runs(from);
}

// The MatMulInteger whose sums `node` converts or scales: Cast, then a product with the scales, then a bias.
const Node* OrtIntegers::product_behind(const Node& node) const {
  if (node.op_type == "Cast")
    return links_.is_written_by(node.input(0), "MatMulInteger") ? links_.writing(node.input(0)) : nullptr;
  if (node.op_type != "Mul" && node.op_type != "Add") return nullptr;
  for (const ValueId input : node.inputs)
    if (links_.is_written_by(input, node.op_type == "Mul" ? "Cast" : "Mul") && links_.only_reader(input) != nullptr)
      if (const Node* product = product_behind(*links_.writing(input))) return product;
  return nullptr;
}

bool OrtIntegers::scales_product(const Node& node) const {
  if (product_behind(node) == nullptr) {  // a product of two scales
    const Node* next = links_.only_reader(node.output(0));
    return node.op_type == "Mul" && next != nullptr && next->op_type == "Mul" && product_behind(*next) != nullptr;
  }
  if (node.op_type != "Add") return true;
  return std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {  // a bias
    const Shape* shape = links_.shape(input);
    return shape != nullptr && shape->size() == 1 && links_.graph().is_stored(input);
  });
}

bool OrtIntegers::absorbs(const Node& node) const {
  if (!plain_domain(node.domain).empty()) return false;
  if (node.op_type == "DequantizeLinear") {
    const auto& readers = links_.readers(node.output(0));
    return !readers.empty() && std::all_of(readers.begin(), readers.end(), [&](std::int32_t id) { return runs(id); });
  }
  if (node.op_type == "QuantizeLinear") return quantises(node);
  if (node.op_type == "DynamicQuantizeLinear") {  // by the only product that reads it
    const Node* next = links_.only_reader(node.output(0));
    return next != nullptr && next->op_type == "MatMulInteger";
  }
  return scales_product(node);
}

}  // namespace pagoda::inline core
