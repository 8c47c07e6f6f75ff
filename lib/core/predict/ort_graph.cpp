#include "predict/ort_graph.h"

#include <algorithm>
#include <utility>

#include "parallel/split.h"

namespace pagoda::inline core {

// --- nodes that run on load, and norms of several nodes ---

OrtLoading::OrtLoading(const Model& model, const Links& links)
    : links_(links), graph_(links.graph()), analysis_(links.analysis()) {
  has_fixed_sizes_ = std::all_of(graph_.inputs.begin(), graph_.inputs.end(), [&](ValueId input) {
    const auto& shape = graph_.value(input).declared.shape;
    return shape && std::all_of(shape->begin(), shape->end(), [](const Dim& dim) { return dim.is_constant(); });
  });
  find_constants(model);
  find_repeats();
  for (std::size_t n = 0; n < graph_.nodes.size(); ++n)
    if (graph_.nodes[n].op_type == "Mul") find_norm(static_cast<std::int32_t>(n));
}

void OrtLoading::find_constants(const Model& model) {
  constant_ = constant_values(model, analysis_);
  if (!has_fixed_sizes_) return;
  for (const NodeReport& row : analysis_.nodes) {
    if (row.graph != 0) continue;
    const Node& node = graph_.node(row.node);
    const auto is_known = [&](ValueId input) { return input == kAbsent || constant_[index(input)]; };
    if (row.cost.mark != Mark::Host && row.facts.placement != Placement::AsksShape &&
        (!node.bodies().empty() || !std::all_of(node.inputs.begin(), node.inputs.end(), is_known)))
      continue;
    for (const ValueId output : node.outputs)
      if (output != kAbsent) constant_[index(output)] = true;
  }
}

bool OrtLoading::computes(const NodeReport& row) const {
  return has_fixed_sizes_ && is_constant(graph_.node(row.node).output(0)) && row.cost.mark != Mark::Folded &&
         row.cost.mark != Mark::Unmodelled;
}

double OrtLoading::read_weight_bytes() const {
  std::map<ValueId, double> stored;
  for (const NodeReport& row : analysis_.nodes) {
    if (row.graph != 0) continue;
    const Node& node = graph_.node(row.node);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId input = node.inputs[i];
      const Shape* sizes = links_.shape(input);
      if (sizes == nullptr || !graph_.is_stored(input)) continue;
      const auto place = static_cast<int>(i);
      const bool is_picked = row.cost.mark == Mark::Compute && !row.cost.reads_whole(place);
      const double whole = number(element_count(*sizes)) * bits(links_.type(input)) / 8;
      double& most = stored[input];
      most = std::max(most, is_picked ? number(row.cost.part_read(place)) : whole);
    }
  }
  double sum = 0;
  for (const auto& [value, most] : stored) sum += most;
  return sum;
}

ValueId OrtLoading::kept(const Node& node) const {
  const ValueId first = node.input(0), second = node.input(1), output = node.output(0);
  if (first == kAbsent || output == kAbsent) return kAbsent;
  if (node.op_type == "Cast") return links_.type(first) == links_.type(output) ? first : kAbsent;
  const bool is_sum = node.op_type == "Add" || node.op_type == "Sub";
  if (!is_sum && node.op_type != "Mul" && node.op_type != "Div") return kAbsent;
  const auto is_neutral = [&](ValueId number, ValueId operand) {
    const Shape *few = links_.shape(number), *many = links_.shape(operand);
    return few != nullptr && many != nullptr && few->size() <= many->size() && element_count(*few) == Dim(1) &&
           is_all(graph_, analysis_, number, is_sum ? 0 : 1);
  };
  if (is_neutral(second, first)) return first;
  const bool commutes = node.op_type == "Add" || node.op_type == "Mul";
  return commutes && is_neutral(first, second) ? second : kAbsent;
}

bool OrtLoading::joins_weights(const Node& node, ValueId value) const {
  if (node.op_type == "BatchNormalization") return is_constant(node.input(1));
  const bool multiplies = node.op_type == "Mul";
  if ((!multiplies && node.op_type != "Add") || node.inputs.size() != 2) return false;
  const ValueId numbers = node.input(0) == value ? node.input(1) : node.input(0);
  const Shape *many = links_.shape(value), *few = links_.shape(numbers);
  if (!is_constant(numbers) || many == nullptr || few == nullptr || many->size() < 3) return false;
  if (few->empty()) return multiplies;
  if (few->size() + 1 < many->size() || few->size() > many->size()) return false;
  const Dim& channels = (*many)[1];
  return (*few)[few->size() + 1 - many->size()] == channels && element_count(*few) == channels;
}

bool OrtLoading::is_scale_of_product(const Node& node) const {
  if ((node.op_type != "Mul" && node.op_type != "Div") || node.inputs.size() != 2) return false;
  const auto is_number = [&](ValueId value) {
    const Shape* shape = links_.shape(value);
    return shape != nullptr && element_count(*shape) == Dim(1);
  };
  const std::size_t place = is_number(node.input(1)) ? 0 : is_number(node.input(0)) ? 1 : 2;
  if (place == 2 || !is_constant(node.input(1 - place))) return false;
  const ValueId scaled = node.input(place);
  const auto is_matmul = [](const Node* other) {
    return other != nullptr && (other->op_type == "MatMul" || other->op_type == "FusedMatMul");
  };
  return (is_matmul(links_.writing(scaled)) && links_.only_reader(scaled) != nullptr) ||
         is_matmul(links_.only_reader(node.output(0)));
}

namespace {

// An attribute as text; empty if it is neither an integer nor a list of them.
std::string attribute_text(const Attribute& attribute) {
  std::string text = ' ' + attribute.name + '=';
  if (const auto* one = std::get_if<std::int64_t>(&attribute.value)) return text + std::to_string(*one);
  const auto* list = std::get_if<std::vector<std::int64_t>>(&attribute.value);
  if (list == nullptr) return {};
  for (const std::int64_t each : *list) text += std::to_string(each) + ',';
  return text;
}

}  // namespace

// A constant integer as text, any other value by its number.
std::string OrtLoading::operand_text(ValueId value) const {
  if (value != kAbsent && is_constant(value)) {
    const std::int32_t stored = graph_.value(value).initializer;
    const auto& known = stored < 0 ? analysis_.values[index(value)] : graph_.initializers[index(stored)].value;
    if (known && known->size() == 1)
      if (const Dim* number = std::get_if<Dim>(&known->front())) return " #" + number->to_string();
  }
  return ' ' + std::to_string(value);
}

// common_subexpression_elimination.cc: equal operators run once. Stored operands are equal if they hold the
// same single number.
void OrtLoading::find_repeats() {
  std::map<ValueId, ValueId> first;  // by value: the earlier one that equals it
  std::map<std::string, std::int32_t> seen;
  for (const NodeReport& row : analysis_.nodes) {
    if (row.graph != 0 || (row.cost.mark != Mark::Host && row.cost.mark != Mark::View)) continue;
    const Node& node = graph_.node(row.node);
    std::string text(node.op_type);
    bool is_comparable = true;
    for (const Attribute& attribute : node.attributes) {
      const std::string value = attribute_text(attribute);
      is_comparable &= !value.empty();
      text += value;
    }
    if (!is_comparable) continue;
    for (const ValueId input : node.inputs) {
      const auto found = first.find(input);
      text += operand_text(found == first.end() ? input : found->second);
    }
    const auto [earlier, is_new] = seen.try_emplace(std::move(text), row.node);
    if (is_new) continue;
    repeats_.insert(row.node);
    for (std::size_t i = 0; i < node.outputs.size(); ++i)
      if (node.outputs[i] != kAbsent) first[node.outputs[i]] = graph_.node(earlier->second).output(i);
  }
}

// The node of type `op` that writes `value`, or writes the operand of a node that only passes `value` on. -1: another
// type, or several nodes read what it writes.
std::int32_t OrtLoading::writer(ValueId value, std::string_view op) const {
  const Node* idle = links_.writing(value);
  if (idle != nullptr && links_.only_reader(value) != nullptr)
    if (const ValueId behind = kept(*idle); behind != kAbsent) value = behind;
  return links_.is_written_by(value, op) && links_.only_reader(value) != nullptr ? links_.writer(value) : -1;
}

// x of sqrt(mean(x²) + ε); kAbsent: `root` is -1, or the root of another term.
ValueId OrtLoading::operand_of_root(std::int32_t root, std::vector<std::int32_t>& nodes) const {
  const auto operand = [&](std::int32_t id, std::size_t place) {
    return id < 0 ? kAbsent : graph_.node(id).input(place);
  };
  const std::int32_t sum = writer(operand(root, 0), "Add");
  const std::int32_t mean = std::max(writer(operand(sum, 0), "ReduceMean"), writer(operand(sum, 1), "ReduceMean"));
  const ValueId squared = operand(mean, 0);
  const std::int32_t square = std::max(writer(squared, "Pow"), writer(squared, "Mul"));
  if (square < 0) return kAbsent;
  const Node& times = graph_.node(square);
  if (times.op_type == "Mul" && times.input(0) != times.input(1)) return kAbsent;
  nodes.insert(nodes.end(), {root, sum, mean, square});
  return times.input(0);
}

void OrtLoading::find_norm(std::int32_t last) {
  const Node& scaled = graph_.node(last);
  if (scaled.inputs.size() != 2) return;
  const std::size_t side = is_constant(scaled.input(0)) ? 1 : 0;
  const ValueId weight = scaled.input(1 - side);
  if (!is_constant(weight)) return;
  const Shape* sizes = links_.shape(weight);
  if (sizes == nullptr || sizes->size() != 1) return;
  const ValueId normed = scaled.input(side);
  std::vector<std::int32_t> nodes;
  ValueId operand = kAbsent, divided = kAbsent;
  if (const std::int32_t quotient = writer(normed, "Div"); quotient >= 0) {
    divided = graph_.node(quotient).input(0);
    nodes = {quotient};
    operand = operand_of_root(writer(graph_.node(quotient).input(1), "Sqrt"), nodes);
  } else if (const std::int32_t product = writer(normed, "Mul"); product >= 0) {
    for (const std::size_t place : {std::size_t{0}, std::size_t{1}}) {
      const ValueId inverse = graph_.node(product).input(place);
      const std::int32_t one = std::max(writer(inverse, "Div"), writer(inverse, "Reciprocal"));
      if (one < 0 || (graph_.node(one).op_type == "Div" && !is_constant(graph_.node(one).input(0)))) continue;
      const std::int32_t root = writer(graph_.node(one).inputs.back(), "Sqrt");
      if (root < 0) continue;
      nodes = {product, one};
      divided = graph_.node(product).input(1 - place);
      operand = operand_of_root(root, nodes);
      break;
    }
  }
  if (operand == kAbsent || operand != divided) return;
  parts_.insert(nodes.begin(), nodes.end());
  norms_[last] = {operand, scaled.output(0)};
}

// --- integers ---
//
// As ONNX Runtime 1.32 does on x86: qdq_selectors.cc and qdq_rules.cc for Q/DQ pairs, dynamic_quantize_matmul_fusion.cc
// and matmul_integer_to_float.cc for ranges found at run time; checked against the optimised graphs of files that its
// quantisers write.

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

bool OrtIntegers::moves(const Node& node) const {
  // These move elements of any type: both conversions drop out.
  constexpr std::string_view kMoved[] = {"Flatten", "Gather",  "MaxPool", "Reshape",   "Resize",
                                         "Slice",   "Squeeze", "Split",   "Transpose", "Unsqueeze"};
  return is_one_of(node.op_type, kMoved);
}

bool OrtIntegers::computes(std::int32_t id) const {
  // These have a kernel on 8-bit elements, with one scale for each operand.
  constexpr std::string_view kComputed[] = {"Add",       "AveragePool", "Concat",  "GlobalAveragePool",
                                            "LeakyRelu", "Mul",         "Sigmoid", "Softmax"};
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

// --- layouts ---

namespace {

const OrtLayouts::Order kChannelsLast = {0, 3, 1, 2};

}  // namespace

void OrtLayouts::launch(OrtKernel kernel) {
  kernel.row = row_;
  kernels_.push_back(kernel);
}

void OrtLayouts::launch(OrtKernelClass kind, double moved, double width) {
  launch(moving_kernel(kind, moved, 0, width));
}

void OrtLayouts::want_plain(ValueId value) {
  if (value == kAbsent) return;
  want_transposed(value);
  if (!is_in_blocks(value) || layout(value) == Layout::Both) return;
  launch(OrtKernelClass::Reorder, 2 * bytes(value));
  set_layout(value, Layout::Both);
}

void OrtLayouts::want_blocks(ValueId value) {
  if (is_in_blocks(value) || value == kAbsent || layout(value) == Layout::Copied) return;
  launch(OrtKernelClass::Reorder, 2 * bytes(value));
  set_layout(value, Layout::Copied);
}

void OrtLayouts::want_channels_last(ValueId value) {
  if (is_in_blocks(value)) want_plain(value);
  if (sizes(value).size() != kChannelsLast.size()) return want_plain(value);
  if (const auto found = transposed_.find(value); found != transposed_.end()) {
    if (found->second == kChannelsLast) return;
    want_transposed(value);
  }
  launch(transpose_kernel(sizes(value), {0, 2, 3, 1}, 1));
}

void OrtLayouts::set_channels_last(ValueId value) { transposed_[value] = kChannelsLast; }

void OrtLayouts::want_matrix(ValueId value) {
  if (const auto found = transposed_.find(value); found != transposed_.end() && swaps_last_two(found->second))
    transposed_.erase(found);
  want_plain(value);
}

void OrtLayouts::want_transposed(ValueId value) {
  if (const auto deferred = transposed_.extract(value)) launch(order_kernel(value, deferred.mapped()));
}

OrtKernel OrtLayouts::order_kernel(ValueId value, const Order& order) const {
  const Sizes wanted = sizes(value);
  if (wanted.size() != order.size()) return moving_kernel(OrtKernelClass::TransposeScattered, 2 * bytes(value));
  Sizes stored(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) stored[static_cast<std::size_t>(order[i])] = wanted[i];
  return transpose_kernel(stored, order, bytes(value) / std::max(elements(value), 1.0));
}

void OrtLayouts::keep_order(ValueId from, ValueId to) {
  if (const auto found = transposed_.find(from); found != transposed_.end()) transposed_[to] = Order(found->second);
  set_layout(to, layout(from));
}

void OrtLayouts::move_order(ValueId from, ValueId to) {
  if (auto deferred = transposed_.extract(from)) transposed_[to] = std::move(deferred.mapped());
}

void OrtLayouts::defer_transpose(const Node& node) {
  const ValueId input = node.input(0), output = node.output(0);
  const std::size_t rank = sizes(output).size();
  Order order(rank);
  const auto* perm = node.integers("perm");
  for (std::size_t i = 0; i < rank; ++i) {
    order[i] = perm == nullptr || perm->size() != rank ? static_cast<std::int64_t>(rank - 1 - i) : (*perm)[i];
    if (order[i] < 0 || order[i] >= static_cast<std::int64_t>(rank)) return;  // not a permutation: the file is broken
  }
  if (is_in_blocks(input)) want_plain(input);
  if (const auto before = transposed_.find(input); before != transposed_.end())
    for (std::int64_t& axis : order) axis = before->second[static_cast<std::size_t>(axis)];
  if (!std::is_sorted(order.begin(), order.end())) transposed_[output] = std::move(order);
}

const OrtLayouts::Order* OrtLayouts::shared_order(const std::vector<ValueId>& operands) const {
  const Order* order = nullptr;
  for (const ValueId operand : operands) {
    const auto found = transposed_.find(operand);
    if (found == transposed_.end() || (order != nullptr && found->second != *order)) return nullptr;
    order = &found->second;
  }
  return order;
}

bool OrtLayouts::take_order(ValueId result, const Order* order) {
  if (order == nullptr || sizes(result).size() != order->size()) return false;
  transposed_[result] = Order(*order);
  return true;
}

}  // namespace pagoda::inline core
