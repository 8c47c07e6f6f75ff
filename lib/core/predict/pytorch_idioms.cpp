// Finds the calls of the framework that exporters write as several nodes: a GELU is five, scaled-dot-product attention
// is seven. Each pattern is what an exporter emits for one call; other arithmetic of a model stays as it is.
#include <algorithm>
#include <string_view>

#include "predict/graph_facts.h"
#include "predict/pytorch.h"

namespace pagoda::inline core {
namespace {

using pytorch::kBends;
using pytorch::kInActivation;

constexpr std::size_t kMaxActivation = 10;  // nodes; tanh's GELU has nine

class Finder : Links {
 public:
  Finder(const Model& model, const Analysis& analysis)
      : Links(model.main(), analysis, Reads::Uses),
        idioms_(graph().nodes.size()),
        constant_(constants_by_mark(graph(), analysis, {Mark::Folded, Mark::Host})) {}

  std::vector<Idiom> run() {
    find_arguments();
    const auto last = static_cast<std::int32_t>(graph().nodes.size()) - 1;
    std::vector<std::int32_t> softmaxes;
    for (std::int32_t id = last; id >= 0; --id)
      if (node(id).op_type == "Softmax") softmaxes.push_back(id);
    for (const std::int32_t softmax : softmaxes) match_attention(softmax, Scaled::Both);
    // If one attention is the call, or one cannot be, the remaining candidates were written step by step.
    const bool is_decided = std::any_of(softmaxes.begin(), softmaxes.end(), [&](std::int32_t softmax) {
      return idioms_[index(softmax)].call == Call::Part || reshapes_scores(softmax);
    });
    if (!is_decided)
      for (const std::int32_t softmax : softmaxes) match_attention(softmax, Scaled::Queries);
    for (std::int32_t id = last; id >= 0; --id) {
      if (is(id, "Div")) match_layer_norm(id);
      if (is(id, "InstanceNormalization")) match_group_norm(id);
      if (is(id, "ScatterND")) match_assignment(id);
    }
    for (std::int32_t id = last; id >= 0; --id) {
      if (is(id, "Mul") || is(id, "Div")) match_activation(id);
      if (is(id, "Add")) match_linear(id);
      if (is(id, "ReduceMean")) match_variance(id);
    }
    return std::move(idioms_);
  }

 private:
  const Node& node(std::int32_t id) const { return graph().nodes[index(id)]; }
  bool is_constant(ValueId value) const { return value != kAbsent && constant_[index(value)]; }
  bool is_scalar(ValueId value) const {
    const Shape* s = shape(value);
    return s != nullptr && element_count(*s) == Dim(1);
  }
  ValueId output(std::int32_t id) const { return node(id).output(0); }
  bool is_free(std::int32_t id) const { return id >= 0 && idioms_[index(id)].call == Call::Own; }
  bool is(std::int32_t id, std::string_view op) const { return is_free(id) && node(id).op_type == op; }
  // Steps of a pattern: an operand, and the free node that writes a value. A failed step (kAbsent, -1) fails the next.
  ValueId operand(std::int32_t id, std::size_t place) const { return id < 0 ? kAbsent : node(id).input(place); }
  std::int32_t from(ValueId value, std::initializer_list<std::string_view> ops) const {
    const std::int32_t id = writer(value);
    return std::any_of(ops.begin(), ops.end(), [&](std::string_view op) { return is(id, op); }) ? id : -1;
  }
  // The operand of a binary node that is not `known`.
  ValueId other_operand(std::int32_t id, ValueId known) const {
    const Node& n = node(id);
    if (n.inputs.size() != 2) return kAbsent;
    return n.inputs[0] == known ? n.inputs[1] : n.inputs[0];
  }
  void claim(Idiom idiom, std::vector<std::int32_t> nodes) {
    const std::int32_t last = *std::max_element(nodes.begin(), nodes.end());
    for (const std::int32_t id : nodes) idioms_[index(id)].call = Call::Part;
    idioms_[index(last)] = std::move(idiom);
  }

  // A scalar computed from sizes and constants alone is a Python argument, not a kernel: 1/sqrt(head) as traced.
  void find_arguments() {
    for (const Node& n : graph().nodes) {
      if (n.inputs.empty() || n.outputs.size() != 1 || !is_scalar(n.outputs[0]) || is_constant(n.outputs[0])) continue;
      const bool is_argument = std::all_of(n.inputs.begin(), n.inputs.end(), [&](ValueId input) {
        return input == kAbsent || (is_constant(input) && !graph().values[index(input)].is_input);
      });
      if (!is_argument || is_output(n.outputs[0])) continue;
      constant_[index(n.outputs[0])] = true;
      idioms_[index(id(n))].call = Call::Part;
    }
  }

  // The tensor that a constant scalar scales to `value`; kAbsent if there is none, or several nodes read `value`.
  ValueId scaled_tensor(ValueId value) const {
    const std::int32_t scale = writer(value);
    if ((!is(scale, "Mul") && !is(scale, "Div")) || only_reader_id(value) < 0) return kAbsent;
    const Node& n = node(scale);
    if (is_scalar(n.inputs[1]) && is_constant(n.inputs[1])) return n.inputs[0];
    const bool first = n.op_type == "Mul" && is_scalar(n.inputs[0]) && is_constant(n.inputs[0]);
    return first ? n.inputs[1] : kAbsent;
  }

  // softmax(q · kᵀ + mask) · v, one call of scaled_dot_product_attention. An exported call scales queries and keys;
  // libraries that switch the call off for an export scale the queries alone.
  // Attention that its author wrote step by step scales the scores instead.
  enum class Scaled : std::uint8_t { Both, Queries };
  void match_attention(std::int32_t softmax, Scaled scaled) {
    std::vector<std::int32_t> members = {softmax};
    Idiom idiom{.call = Call::Attention};
    ValueId scores = node(softmax).inputs[0];
    std::int32_t from = writer(scores);
    if (is(from, "Add")) {
      if (only_reader_id(scores) < 0) return;
      members.push_back(from);
      const Node& add = node(from);
      const std::size_t side = is(writer(add.inputs[0]), "MatMul") ? 0 : 1;
      idiom.mask = add.inputs[1 - side];
      if (scaled == Scaled::Queries && !is_constant(idiom.mask)) return;
      scores = add.inputs[side];
      from = writer(scores);
    }
    if (!is(from, "MatMul") || only_reader_id(scores) < 0) return;
    members.push_back(from);
    const Shape* rank = shape(scores);
    if (scaled == Scaled::Queries && (rank == nullptr || rank->size() != 4)) return;
    for (std::size_t i = 0; i < 2; ++i) {
      const ValueId operand = node(from).inputs[i], tensor = scaled_tensor(operand);
      const bool is_wanted = scaled == Scaled::Both || i == 0;
      if ((tensor != kAbsent) != is_wanted) return;
      if (is_wanted) members.push_back(writer(operand));
      idiom.operands.push_back(is_wanted ? tensor : operand);
      if (i == 1) take_transposed_keys(idiom.operands.back(), members);
    }
    ValueId weights = output(softmax);
    std::int32_t product = only_reader_id(weights);
    while (is(product, "Dropout") || is(product, "Identity")) {
      members.push_back(product);
      weights = output(product);
      product = only_reader_id(weights);
    }
    take_guard(weights, product, members);
    if (!is(product, "MatMul") || node(product).inputs[0] != weights) return;
    members.push_back(product);
    idiom.operands.push_back(node(product).inputs[1]);
    idiom.products = {from, product};
    idiom.result = output(product);
    claim(std::move(idiom), std::move(members));
  }

  // The dynamo exporter transposes keys as one batch of matrices: Reshape, Transpose, Reshape.
  void take_transposed_keys(ValueId& keys, std::vector<std::int32_t>& members) const {
    const std::int32_t unfold = from(keys, {"Reshape"}), transpose = from(operand(unfold, 0), {"Transpose"}),
                       fold = from(operand(transpose, 0), {"Reshape"});
    if (fold < 0) return;
    for (const ValueId value : {keys, operand(unfold, 0), operand(transpose, 0)})
      if (only_reader_id(value) < 0) return;
    const auto* perm = node(transpose).integers("perm");
    if (perm == nullptr || *perm != std::vector<std::int64_t>{0, 2, 1}) return;
    const Shape *before = shape(node(fold).inputs[0]), *after = shape(keys);
    if (before == nullptr || after == nullptr || before->size() != 4 || after->size() != 4) return;
    if ((*before)[2] != (*after)[3] || (*before)[3] != (*after)[2]) return;
    members.insert(members.end(), {unfold, transpose, fold});
    keys = node(fold).inputs[0];
  }

  // Where(IsNaN(p), 0, p): guards rows in which every key is masked.
  void take_guard(ValueId& weights, std::int32_t& product, std::vector<std::int32_t>& members) const {
    if (weights == kAbsent || readers(weights).size() != 2) return;
    std::int32_t test = readers(weights)[0], choice = readers(weights)[1];
    if (is(choice, "IsNaN")) std::swap(test, choice);
    if (!is(test, "IsNaN") || !is(choice, "Where") || node(choice).inputs[0] != output(test)) return;
    if (only_reader_id(output(test)) != choice) return;
    members.push_back(test);
    members.push_back(choice);
    weights = output(choice);
    product = only_reader_id(weights);
  }

  // Whether the scores are reshaped to add window masks, which the call cannot do.
  bool reshapes_scores(std::int32_t softmax) const {
    bool reshapes = false;
    std::int32_t from = writer(node(softmax).inputs[0]);
    while (is(from, "Add") || is(from, "Reshape")) {
      const Node& n = node(from);
      reshapes = reshapes || n.op_type == "Reshape";
      from = writer(n.inputs[n.op_type == "Add" && is_constant(n.inputs[0]) ? 1 : 0]);
    }
    return reshapes && is(from, "MatMul") && scaled_tensor(node(from).inputs[0]) != kAbsent;
  }

  // (x - mean) / sqrt(mean((x - mean)²) + epsilon) · weight + bias
  void match_layer_norm(std::int32_t divide) {
    const std::int32_t centre = from(operand(divide, 0), {"Sub"}), root = from(operand(divide, 1), {"Sqrt"}),
                       mean = from(operand(centre, 1), {"ReduceMean"}), epsilon = from(operand(root, 0), {"Add"}),
                       variance = from(operand(epsilon, 0), {"ReduceMean"}),
                       square = from(operand(variance, 0), {"Mul", "Pow"});
    if (mean < 0 || square < 0) return;
    const ValueId x = operand(centre, 0);
    if (operand(mean, 0) != x || operand(square, 0) != output(centre)) return;
    std::vector<std::int32_t> members = {divide, centre, root, mean, epsilon, variance, square};
    Idiom idiom{.call = Call::LayerNorm, .operands = {x}, .result = output(divide)};
    take_affine(idiom, members);
    claim(std::move(idiom), std::move(members));
  }

  void match_group_norm(std::int32_t norm) {
    const std::int32_t before = writer(node(norm).inputs[0]), after = only_reader_id(output(norm));
    if (!is(before, "Reshape") || !is(after, "Reshape")) return;
    std::vector<std::int32_t> members = {before, norm, after};
    Idiom idiom{.call = Call::GroupNorm, .operands = {node(before).inputs[0]}, .result = output(after)};
    take_affine(idiom, members);
    claim(std::move(idiom), std::move(members));
  }

  // A weight and a bias that follow a norm.
  void take_affine(Idiom& idiom, std::vector<std::int32_t>& members) const {
    for (const std::string_view op : {"Mul", "Add"}) {
      const std::int32_t next = only_reader_id(idiom.result);
      if (!is(next, op) || !is_constant(other_operand(next, idiom.result))) return;
      members.push_back(next);
      idiom.result = output(next);
    }
  }

  // Element-wise nodes that compute one function of one tensor and use it at least twice: x · sigmoid(x).
  void match_activation(std::int32_t last) {
    std::vector<std::int32_t> members = {last};
    bool bends = false;
    while (members.size() <= kMaxActivation) {
      ValueId only = kAbsent, next = kAbsent;
      int uses = 0;
      bool is_single = true;
      for (const std::int32_t member : members) {
        for (const ValueId input : node(member).inputs) {
          if (input == kAbsent || is_scalar(input)) continue;
          if (is_constant(input)) return;
          if (std::find(members.begin(), members.end(), writer(input)) != members.end()) continue;
          is_single = is_single && (only == kAbsent || only == input);
          only = input;
          ++uses;
          if (next == kAbsent || writer(input) > writer(next)) next = input;
        }
      }
      if (bends && is_single && uses >= 2) {
        claim({.call = Call::Activation, .operands = {only}, .result = output(last)}, std::move(members));
        return;
      }
      const std::int32_t from = writer(next);
      if (!is_free(from) || !is_one_of(node(from).op_type, kInActivation) || is_output(next)) return;
      for (const std::int32_t reader : readers(next))
        if (std::find(members.begin(), members.end(), reader) == members.end()) return;
      bends = bends || is_one_of(node(from).op_type, kBends);
      members.push_back(from);
    }
  }

  // mean((x - mean(x))²) is one reduction.
  void match_variance(std::int32_t last) {
    const std::int32_t square = from(operand(last, 0), {"Mul", "Pow"}), centre = from(operand(square, 0), {"Sub"}),
                       mean = from(operand(centre, 1), {"ReduceMean"});
    if (mean < 0 || only_reader_id(output(square)) < 0) return;
    const ValueId x = operand(centre, 0), centred = operand(square, 0);
    if (operand(mean, 0) != x || (is(square, "Mul") && operand(square, 1) != centred)) return;
    const auto& read_by = readers(centred);
    if (std::any_of(read_by.begin(), read_by.end(), [&](auto reader) { return reader != square; })) return;
    std::vector<std::int32_t> members = {last, square, centre};
    if (only_reader_id(output(mean)) >= 0) members.push_back(mean);
    claim({.call = Call::Variance, .operands = {x}, .result = output(last)}, std::move(members));
  }

  // x[..., 1:] = y is exported with many nodes that compute indices; the framework only copies y into place.
  void match_assignment(std::int32_t scatter) {
    if (node(scatter).inputs.size() < 2) return;
    std::vector<ValueId> pending = {node(scatter).inputs[1]};
    while (!pending.empty()) {
      const ValueId value = pending.back();
      pending.pop_back();
      const std::int32_t from = writer(value);
      if (!is_free(from) || type(value) != ElementType::Int64) continue;
      const auto& read_by = readers(value);
      const bool is_private = std::all_of(read_by.begin(), read_by.end(), [&](std::int32_t reader) {
        return reader == scatter || idioms_[index(reader)].call == Call::Part;
      });
      if (!is_private || is_output(value)) continue;
      idioms_[index(from)].call = Call::Part;
      pending.insert(pending.end(), node(from).inputs.begin(), node(from).inputs.end());
    }
  }

  void match_linear(std::int32_t add) {
    const Node& n = node(add);
    for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
      const std::int32_t product = writer(n.inputs[side]);
      const ValueId bias = n.inputs[1 - side];
      if (!is(product, "MatMul") || only_reader_id(n.inputs[side]) != add || !is_constant(bias)) continue;
      const Shape* weight = shape(node(product).inputs[1]);
      const Shape* bias_shape = shape(bias);
      if (weight == nullptr || bias_shape == nullptr || weight->size() != 2 || bias_shape->size() != 1) continue;
      if (!is_constant(node(product).inputs[1])) continue;
      Idiom idiom{.call = Call::Linear, .operands = node(product).inputs, .result = n.outputs[0]};
      idiom.operands.push_back(bias);
      idiom.products = {product};
      claim(std::move(idiom), {product, add});
      return;
    }
  }

  std::vector<Idiom> idioms_;
  std::vector<bool> constant_;
};

}  // namespace

std::vector<Idiom> find_idioms(const Model& model, const Analysis& analysis) { return Finder(model, analysis).run(); }

}  // namespace pagoda::inline core
