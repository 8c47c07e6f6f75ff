#include <utility>

#include "graph/index.h"
#include "parallel/split.h"

namespace pagoda::inline core {
namespace {

Dim product(const Shape& shape, std::size_t begin, std::size_t end) {
  Dim result = 1;
  for (std::size_t i = begin; i < end; ++i) result *= shape[i];
  return result;
}

// Reshapes one axis, of which a device has `local` elements, into axes [begin, end) of `to`. After the axes that make
// up `outer`, the leading axis takes as much of the split as it can.
bool cut(Dim local, Dim outer, const Shape& to, std::size_t begin, std::size_t end, bool has_heads, Shape& part,
         Dim* cut_at) {
  for (; outer != Dim(1) && begin < end; ++begin) {
    const auto rest = exact_div(outer, to[begin]), fewer = exact_div(local, to[begin]);
    if (!rest || !fewer) return false;
    part.push_back(to[begin]);
    outer = *rest;
    local = *fewer;
  }
  for (std::size_t axis = begin; axis < end; ++axis) {
    const Dim inner = product(to, axis + 1, end);
    if (to[axis] != Dim(1)) {
      if (const auto leading = exact_div(local, inner)) {
        part.push_back(*leading);
        part.insert(part.end(), to.begin() + axis + 1, to.begin() + end);
        return true;
      }
      if (!has_heads || !exact_div(inner, local)) {
        *cut_at = to[axis];
        return false;
      }
    }
    part.push_back(1);
  }
  return true;
}

}  // namespace

std::optional<Part> reshaped(const Part& part, const Shape& from, const Shape& to, Dim* cut_at) {
  Part result = part;
  result.shape.clear();
  std::size_t i = 0, j = 0;
  while (i < from.size() || j < to.size()) {
    const bool has_from = i < from.size(), has_to = j < to.size();
    if (has_from && has_to && from[i] == to[j]) {
      result.shape.push_back(part.shape[i++]);
      ++j;
      continue;
    }
    if (has_to && to[j] == Dim(1)) {
      result.shape.push_back(to[j++]);
      continue;
    }
    if (has_from && from[i] == Dim(1)) {
      ++i;
      continue;
    }
    if (!has_from || !has_to) return std::nullopt;
    // Find the smallest groups of axes on both sides with the same number of elements.
    std::size_t end_i = i + 1, end_j = j + 1;
    while (product(from, i, end_i) != product(to, j, end_j)) {
      const Dim left = product(from, i, end_i), right = product(to, j, end_j);
      if (end_j < to.size() && (exact_div(left, right) || end_i == from.size()))
        ++end_j;
      else if (end_i < from.size())
        ++end_i;
      else
        return std::nullopt;
    }
    const bool is_split = product(part.shape, i, end_i) != product(from, i, end_i);
    if (!is_split) {
      result.shape.insert(result.shape.end(), to.begin() + j, to.begin() + end_j);
    } else if (end_j == j + 1) {
      result.shape.push_back(product(part.shape, i, end_i));
      for (std::size_t axis = i; axis < end_i && part.shape[axis] == from[axis]; ++axis) result.outer *= from[axis];
    } else if (end_i == i + 1) {
      if (!cut(part.shape[i], part.outer, to, j, end_j, part.has_heads, result.shape, cut_at)) return std::nullopt;
      result.has_heads = true;
      result.outer = 1;
    } else {
      return std::nullopt;
    }
    i = end_i;
    j = end_j;
  }
  return result;
}

std::optional<Part> broadcast(const Part& part, const Shape& from, const Shape& to) {
  if (from.size() > to.size()) return std::nullopt;
  Part result = part;
  result.shape = to;
  const std::size_t offset = to.size() - from.size();
  for (std::size_t axis = 0; axis < from.size(); ++axis) {
    if (from[axis] == to[offset + axis]) {
      result.shape[offset + axis] = part.shape[axis];
    } else if (from[axis] != Dim(1)) {
      if (part.shape[axis] != from[axis]) return std::nullopt;
    } else if (const auto fewer = exact_div(to[offset + axis], Dim(result.replicas)); fewer && result.replicas > 1) {
      result.shape[offset + axis] = *fewer;  // each of the devices with this part repeats it for its own queries
      result.replicas = 1;
    }
  }
  return result;
}

std::optional<Part> same_axes(const Part& part, const Shape& from, const Shape& to) {
  if (from.size() != to.size()) return std::nullopt;
  Part result = part;
  result.shape = to;
  for (std::size_t axis = 0; axis < from.size(); ++axis) {
    if (part.shape[axis] == from[axis]) continue;
    if (to[axis] != from[axis]) return std::nullopt;
    result.shape[axis] = part.shape[axis];
  }
  return result;
}

bool is_split(const Part& part, const Shape& whole, int axis) {
  if (axis < 0) axis += static_cast<int>(whole.size());
  if (axis < 0 || index(axis) >= whole.size()) return false;
  return part.shape[index(axis)] != whole[index(axis)];
}

int split_axis(const Part& part, const Shape& whole) {
  for (std::size_t axis = whole.size(); axis-- > 0;)
    if (part.shape[axis] != whole[axis]) return static_cast<int>(axis);
  return -1;
}

Fraction fraction(const Shape& part, const Shape& whole) {
  Fraction result;
  for (std::size_t axis = 0; axis < whole.size(); ++axis) {
    if (part[axis] == whole[axis]) continue;
    const auto of = part[axis].value(), all = whole[axis].value();
    if (!of || !all || *all == 0) continue;
    result.part *= *of;
    result.whole *= *all;
  }
  return result;
}

std::optional<WeightProduct> weight_product(const Node& node, const OpFacts& facts, std::size_t weight_rank) {
  if (facts.kind != OpKind::Product) return std::nullopt;
  if (node.op_type == "MatMulNBits" && (weight_rank == 2 || weight_rank == 3))
    return WeightProduct{.columns_axis = 0, .rows_axis = 1, .per_column = {5}, .per_block = {2, 3}};
  const bool is_matrix = facts.form == ProductForm::Matrix;  // Gemm and its like
  const bool has_form =
      is_matrix ? weight_rank == 2 : facts.form == ProductForm::Matrices || facts.form == ProductForm::Integers;
  if (!has_form || weight_rank < 2 || node.op_type == "QMoE" || node.op_type == "MoE" || node.integer("transA", 0) != 0)
    return std::nullopt;
  WeightProduct product{.columns_axis = static_cast<int>(weight_rank) - 1,
                        .rows_axis = static_cast<int>(weight_rank) - 2};
  if (node.integer("transB", 0) != 0) std::swap(product.columns_axis, product.rows_axis);
  if (is_matrix) product.per_column = {2};
  return product;
}

}  // namespace pagoda::inline core
