#include "predict/ort_classes.h"

#include <algorithm>

namespace pagoda::inline core {
namespace {

double elements(const Shape* shape) { return shape == nullptr ? 0 : number(element_count(*shape)); }

std::size_t softmax_axis(const Node& node, std::size_t rank) {
  const std::int64_t axis = node.integer("axis", -1);
  return static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis);
}

}  // namespace

bool OrtClasses::is_broadcast(const Node& node) const {
  const double full = elements(shape(node.output(0)));
  return std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
    const double count = elements(shape(input));
    return count > 1 && count < full;
  });
}

// The matrix of 8-bit numbers on the right of a product, a stored one if there is one; kAbsent: none.
ValueId OrtClasses::integer_matrix(const Node& node) const {
  ValueId matrix = kAbsent;
  for (const ValueId input : node.inputs) {
    const Shape* known = shape(input);
    if (known == nullptr || known->size() < 2 || bits(analysis_.types[index(input)].element) != 8) continue;
    if (matrix == kAbsent || !graph_.is_stored(matrix)) matrix = input;
  }
  return matrix;
}

OrtKernelClass OrtClasses::of_integers(ValueId matrix) const {
  if (links_.is_written_by(matrix, "DequantizeLinear")) matrix = links_.writing(matrix)->input(0);
  return analysis_.types[index(matrix)].element == ElementType::Uint8 ? OrtKernelClass::ProductUnsigned
                                                                      : OrtKernelClass::ProductQuantized;
}

OrtKernelClass OrtClasses::of(const Node* node, const NodeReport& row) const {
  if (node == nullptr) return ort_class_of("", row.facts, false);
  if (node->op_type == "Resize" && node->text("mode") == "cubic") return OrtKernelClass::ResizeCubic;
  const Shape* known = shape(node->input(0));
  if (node->op_type == "Softmax" && known != nullptr && !known->empty() &&
      softmax_axis(*node, known->size()) + 1 != known->size())
    return OrtKernelClass::SoftmaxOuter;
  const OrtKernelClass kind = ort_class_of(node->op_type, row.facts, is_broadcast(*node));
  if (kind != OrtKernelClass::ProductQuantized) return kind;
  const ValueId matrix = integer_matrix(*node);
  return matrix == kAbsent ? kind : of_integers(matrix);
}

double OrtClasses::row_width(OrtKernelClass kind, const Node& node) const {
  const Shape* known = shape(node.output(0));
  if (known == nullptr || known->empty()) return 0;
  const bool has_rows =
      kind == OrtKernelClass::Norm || kind == OrtKernelClass::SkipNorm || kind == OrtKernelClass::Softmax;
  return has_rows ? number(known->back()) : 0;
}

double OrtClasses::cubic_bytes(const Node& node) const {
  constexpr double kTaps = 4, kFloat = 4;
  const Shape *from = shape(node.input(0)), *to = shape(node.output(0));
  if (from == nullptr || to == nullptr || from->size() < 2 || to->size() < 2) return 0;
  const double outputs = elements(to), lines = number((*to)[to->size() - 2]);
  const double read = lines > 0 ? std::min(kTaps, number((*from)[from->size() - 2]) / lines) : 0;
  return kTaps * kFloat * outputs * (1 + read);
}

}  // namespace pagoda::inline core
