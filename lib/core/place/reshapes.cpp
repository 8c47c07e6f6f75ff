// Products that become Gemm, and Reshapes that become one, at the runtime's first level of optimisation.
// Source: onnxruntime/core/optimizer/{matmul_add_fusion,reshape_fusion}.cc, release 1.31; compared with the graphs that
// the runtime writes after that level.
#include <algorithm>
#include <iterator>
#include <utility>

#include "place/loaded.h"
#include "predict/graph_facts.h"

namespace pagoda::inline core {

// A product with a matrix and the sum of its result with a row become one Gemm, between Reshapes where the other
// operand is not a matrix.
bool LoadedGraph::fuse_sums(bool keeps_attention) {
  constexpr ElementType kTypes[] = {ElementType::Float32, ElementType::Float16, ElementType::Bfloat16};
  bool has_changed = false;
  const std::vector<std::int32_t> order = this->order();
  for (const std::int32_t id : order) {
    if (node(id).is_gone || node(id).op != "MatMul" || !is_plain(node(id))) continue;
    const LoadedNode product = node(id);
    const std::int32_t next = only_reader(product.outputs.front());
    if (next < 0 || node(next).op != "Add" || !is_plain(node(next))) continue;
    const ValueId left = product.inputs[0], right = product.inputs[1];
    if (std::ranges::find(kTypes, type(left).element) == std::end(kTypes)) continue;
    const LoadedNode sum = node(next);
    const ValueId bias = sum.inputs[0] == product.outputs.front() ? sum.inputs[1] : sum.inputs[0];
    const Shape *rows = shape(left), *columns = shape(right), *added = shape(bias);
    if (rows == nullptr || columns == nullptr || added == nullptr || columns->size() != 2) continue;
    const bool is_matrix = rows->size() == 2;
    const Dim &depth = (*columns)[0], &width = (*columns)[1];
    if (!is_matrix && release_ < kSince1_21) continue;
    if (!is_matrix && (!is_fixed(left) || !is_fixed(right))) continue;
    if (!is_matrix && keeps_attention && feeds_attention(product, sum)) continue;
    const bool is_row = added->size() == 1 && (*added)[0] == width;
    const bool are_vague = is_vague(left) || is_vague(bias);
    const auto fits = [&](const Dim& height) {
      return (height == Dim(1) && (*added)[1] == width) ||
             (!are_vague && height == (*rows)[0] && ((*added)[1] == Dim(1) || (*added)[1] == width));
    };
    if (!is_row && !(is_matrix && added->size() == 2 && fits((*added)[0]))) continue;
    LoadedNode gemm = made_node("Gemm", {left, right, bias}, sum.outputs);
    gemm.made_of = note_fused("MatMulAdd", {id, next}, sum.outputs.front());
    const Shape sizes = *rows;
    remove(id);
    remove(next);
    has_changed = true;
    if (is_matrix) {
      add_node(std::move(gemm));
      continue;
    }
    const ElementType element = type(left).element;
    Dim height(1);
    for (std::size_t i = 0; i + 1 < sizes.size(); ++i) height = height * sizes[i];
    const std::int32_t flat = add_reshape(left, {element, Shape{height, depth}});
    gemm.inputs[0] = node(flat).outputs.front();
    gemm.outputs = {add_value(sum.outputs.front(), {element, Shape{height, width}})};
    add_node(made_node("Reshape", {gemm.outputs.front(), add_sizes(sum.outputs.front())}, sum.outputs));
    add_node(std::move(gemm));
  }
  return has_changed;
}

// Products around a LayerNormalization that a later fusion makes one Attention stay.
bool LoadedGraph::feeds_attention(const LoadedNode& product, const LoadedNode& sum) const {
  const auto is_written_as = [&](const LoadedNode& norm) {
    std::size_t sums = 0, products = 0, shapes = 0;
    ValueId other = kAbsent;
    const std::vector<std::int32_t>& all = readers(norm.outputs.front());
    for (const std::int32_t reader : all) {
      const LoadedNode& each = node(reader);
      sums += each.op == "Add";
      products += each.op == "MatMul";
      shapes += each.op == "Shape";
      if (each.op == "Add") other = each.inputs[each.inputs[0] == norm.outputs.front() ? 1 : 0];
    }
    const bool is_alike = sums == 1 && products == 3 && shapes + 4 == all.size();
    return is_alike && writer(other) >= 0 && node(writer(other)).op == "Add" ? writer(other) : -1;
  };
  const std::int32_t before = writer(product.inputs[0]);
  if (before >= 0 && node(before).op == "LayerNormalization" && is_written_as(node(before)) >= 0) return true;
  // The sum after the attention.
  for (const std::int32_t reader : readers(sum.outputs.front()))
    if (node(reader).op == "Add")
      for (const ValueId input : node(reader).inputs)
        if (const std::int32_t norm = writer(input); norm >= 0 && node(norm).op == "LayerNormalization")
          if (const std::int32_t last = is_written_as(node(norm)); last >= 0 && node(last).outputs == sum.outputs)
            return true;
  return false;
}

ValueId LoadedGraph::add_sizes(ValueId of) {
  const auto& sizes = type(of).shape;
  const Dim rank(static_cast<std::int64_t>(sizes ? sizes->size() : 0));
  return add_value(of, {ElementType::Int64, Shape{rank}}, true);
}

std::int32_t LoadedGraph::add_reshape(ValueId from, TensorType type) {
  return add_node(made_node("Reshape", {from, add_sizes(from)}), from, std::move(type));
}

bool LoadedGraph::is_same_size(ValueId a, ValueId b, std::size_t axis) const {
  const Shape *x = shape(a), *y = shape(b);
  return x != nullptr && y != nullptr && !is_vague(a) && !is_vague(b) && axis < x->size() && axis < y->size() &&
         (*x)[axis] == (*y)[axis];
}

// The sizes that a Concat of single sizes gives a Reshape of `root`: stored ones, 0 for those of `root` at the same
// place, and -1 for one other.
std::optional<std::vector<std::int64_t>> LoadedGraph::shape_of_concat(std::int32_t concat, ValueId root) const {
  std::vector<std::int64_t> sizes;
  std::size_t others = 0;
  const auto writing = [&](ValueId value, std::string_view op) -> const LoadedNode* {
    const std::int32_t id = writer(value);
    return id >= 0 && node(id).op == op && is_plain(node(id)) ? &node(id) : nullptr;
  };
  for (const ValueId input : node(concat).inputs) {
    if (is_constant(input)) {
      const TensorValue* held = known(input);
      if (held == nullptr) return std::nullopt;
      for (const Scalar& each : *held) {
        const auto size = integer_of(each);
        if (!size) return std::nullopt;
        sizes.push_back(*size);
      }
      continue;
    }
    const LoadedNode* unsqueeze = writing(input, "Unsqueeze");
    const LoadedNode* gather = unsqueeze == nullptr ? nullptr : writing(unsqueeze->inputs[0], "Gather");
    const LoadedNode* measure = gather == nullptr ? nullptr : writing(gather->inputs[0], "Shape");
    const TensorValue* place = gather == nullptr ? nullptr : known(gather->inputs[1]);
    const auto axis = static_cast<std::int64_t>(sizes.size());
    if (measure != nullptr && place != nullptr && place->size() == 1 && integer_of(place->front()) == axis &&
        (measure->inputs[0] == root || is_same_size(measure->inputs[0], root, sizes.size()))) {
      sizes.push_back(0);
      continue;
    }
    const Shape* form = shape(input);
    const bool is_single =
        form != nullptr && !is_vague(input) && (form->empty() || (form->size() == 1 && (*form)[0] == Dim(1)));
    if (!is_single || others++ > 0) return std::nullopt;
    sizes.push_back(-1);
  }
  return std::ranges::count(sizes, -1) > 1 ? std::nullopt : std::optional(sizes);
}

// Reshapes, Squeezes and Unsqueezes behind a Reshape become one with it, up to the last fixed shape.
bool LoadedGraph::fuse_chain(std::int32_t id) {
  constexpr std::string_view kChained[] = {"Reshape", "Squeeze", "Unsqueeze"};
  const auto keeps_zeros = [&](std::int32_t each) {
    return node(each).like != nullptr && node(each).like->integer("allowzero", 0) != 0;
  };
  if (keeps_zeros(id)) return false;
  std::vector<std::int32_t> chain = {id};
  for (;;) {
    const ValueId result = node(chain.back()).outputs.front();
    const std::int32_t next = only_reader(result);
    if (next < 0 || !is_one_of(node(next).op, kChained) || !is_plain(node(next)) || node(next).inputs[0] != result ||
        keeps_zeros(next))
      break;
    if (!is_fixed(node(next).outputs.front())) break;
    chain.push_back(next);
  }
  if (chain.size() < 2) return false;
  const ValueId from = node(id).inputs[0];
  const std::vector<ValueId> results = node(chain.back()).outputs;
  for (const std::int32_t each : chain) remove(each);
  add_node(made_node("Reshape", {from, add_sizes(results.front())}, results));
  return true;
}

bool LoadedGraph::fuse_reshapes() {
  bool has_changed = false;
  const std::vector<std::int32_t> order = this->order();
  for (const std::int32_t id : order) {
    const LoadedNode& each = node(id);
    if (each.is_gone || each.op != "Reshape" || !is_plain(each) || each.inputs.size() < 2) continue;
    const std::int32_t concat = writer(each.inputs[1]);
    if (concat < 0 || node(concat).op != "Concat" || !is_plain(node(concat)) || only_reader(each.inputs[1]) != id ||
        !shape_of_concat(concat, each.inputs[0])) {
      has_changed |= fuse_chain(id);
      continue;
    }
    const ValueId sizes = each.inputs[1];
    std::erase(values_[at(sizes)].readers, id);
    remove_unread(concat);
    values_[at(sizes)].readers = {id};
    values_[at(sizes)].is_constant = true;
    has_changed = true;
  }
  return has_changed;
}

}  // namespace pagoda::inline core
