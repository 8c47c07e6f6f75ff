// Writes the graph that onnxruntime.quantization 1.32 makes of a float model: quantize_dynamic with QInt8 weights,
// quantize_static with Q/DQ pairs, QUInt8 activations and QInt8 weights, per tensor.
#include "pagoda/core/quantise.h"

#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "pagoda/base/cat.h"
#include "predict/graph_facts.h"

namespace pagoda::inline core {
namespace {

// Operators around whose tensors quantize_static puts pairs (its registry of Q/DQ operators).
// clang-format off
constexpr std::string_view kStatic[] = {
    "Add",        "ArgMax",  "AveragePool",  "BatchNormalization", "Clip",      "Concat",    "Conv",      "ConvTranspose",
    "Gather",     "Gemm",    "GlobalAveragePool", "InstanceNormalization", "LayerNormalization", "LeakyRelu",
    "MatMul",     "MaxPool", "Mul",          "Pad",                "Relu",      "Reshape",   "Resize",    "Sigmoid",
    "Slice",      "Softmax", "Split",        "Squeeze",            "Transpose", "Unsqueeze", "Where"};
// clang-format on
// They only move elements: quantised if their operand is.
constexpr std::string_view kMovers[] = {"MaxPool", "Reshape", "Squeeze", "Transpose", "Unsqueeze"};
// Removed behind a quantised result, whose range they only cut.
constexpr std::string_view kCuts[] = {"Clip", "Relu"};
// The bias of these is stored in int32.
constexpr std::string_view kBiased[] = {"BatchNormalization", "Conv", "ConvTranspose", "Gemm"};

constexpr std::string_view kContrib = "com.microsoft";

class Quantiser {
 public:
  Quantiser(const Model& model, const Analysis& analysis)
      : model_(model),
        graph_(model_.graphs.front()),
        analysis_(analysis),
        links_(model.graphs.front(), analysis, Reads::Uses) {
    for (const Graph& body : model_.graphs)
      if (body.parent == 0)
        for (const Value& value : body.values)
          if (value.outer != kAbsent) captured_.insert(value.outer);
  }

  std::optional<QuantisedForm> run() {
    double in_convolutions = 0, others = 0;  // multiply-accumulates
    for (const NodeReport& row : analysis_.nodes)
      (row.facts.form == ProductForm::Convolution ? in_convolutions : others) += number(row.cost.macs);
    QuantisedForm form;
    form.is_static = in_convolutions > others;
    form.is_static ? write_static(form) : write_dynamic(form);
    if (form.quantised.empty()) return std::nullopt;
    model_.opsets.try_emplace(std::string(kContrib), 1);
    form.model = std::move(model_);
    return form;
  }

 private:
  bool is_float32(ValueId value) const {
    return value != kAbsent && index(value) < analysis_.types.size() &&
           analysis_.types[index(value)].element == ElementType::Float32;
  }
  // A float32 tensor of the file with at least `rank` axes.
  bool is_weight(ValueId value, std::size_t rank) const {
    if (value == kAbsent || !graph_.is_stored(value)) return false;
    const TensorType& type = graph_.initializer(graph_.value(value).initializer).type;
    return type.element == ElementType::Float32 && type.shape && type.shape->size() >= rank;
  }
  static bool is_standard(const Node& node) { return plain_domain(node.domain).empty(); }
  static bool multiplies(const Node& node) {
    return is_standard(node) && (node.op_type == "Conv" || node.op_type == "ConvTranspose" || node.op_type == "Gemm" ||
                                 node.op_type == "MatMul");
  }
  const Name& name_of(const Node& node) const { return display_name(graph_, node); }

  // --- values and nodes of the new graph ---

  ValueId add_value(const std::string& name) {
    graph_.values.emplace_back().name = name;
    return static_cast<ValueId>(graph_.values.size() - 1);
  }
  ValueId add_stored(const std::string& name, ElementType element, Shape shape) {
    Tensor& tensor = graph_.initializers.emplace_back();
    tensor.name = name;
    tensor.type = {.element = element, .shape = std::move(shape)};
    const ValueId value = add_value(name);
    graph_.values.back().initializer = static_cast<std::int32_t>(graph_.initializers.size() - 1);
    return value;
  }
  // The stored tensor in another type, once for all its readers.
  ValueId narrowed(ValueId weight, ElementType element, bool is_transposed = false) {
    const auto key = std::pair(weight, is_transposed);
    if (const auto found = narrowed_.find(key); found != narrowed_.end()) return found->second;
    Shape shape = *graph_.initializer(graph_.value(weight).initializer).type.shape;
    if (is_transposed) std::swap(shape.front(), shape.back());
    return narrowed_[key] = add_stored(graph_.value(weight).name + "_quantized", element, std::move(shape));
  }
  ValueId scale_of(ValueId value) { return add_stored(graph_.value(value).name + "_scale", ElementType::Float32, {}); }
  ValueId zero_of(ValueId value, ElementType element) {
    return add_stored(graph_.value(value).name + "_zero_point", element, {});
  }
  Node& add_node(const Node& like, std::string_view op, ValueIds inputs, ValueIds outputs,
                 std::string_view domain = "") {
    Node& node = nodes_.emplace_back();
    node.name = cat(name_of(like), "_", op);
    node.op_type = op;
    node.domain = domain;
    node.scope = like.scope;
    node.inputs = std::move(inputs);
    node.outputs = std::move(outputs);
    return node;
  }
  void set_integer(Node& node, std::string name, std::int64_t number) {
    node.attributes.push_back({.name = std::move(name), .value = number, .reference = {}});
  }

  // --- dynamic ---

  struct Dynamic {
    ValueId narrow, scale, zero;
  };
  // The activation in uint8, with the range found in each run, once for all readers.
  const Dynamic& dynamic(ValueId value, const Node& reader) {
    const auto found = dynamic_.find(value);
    if (found != dynamic_.end()) return found->second;
    const std::string name = graph_.value(value).name;
    const Dynamic result = {add_value(name + "_quantized"), add_value(name + "_scale"),
                            add_value(name + "_zero_point")};
    add_node(reader, "DynamicQuantizeLinear", {value}, {result.narrow, result.scale, result.zero});
    return dynamic_.emplace(value, result).first->second;
  }

  void write_dynamic(QuantisedForm& form) {
    std::vector<Node> old = std::move(graph_.nodes);
    graph_.nodes = {};
    for (Node& node : old) {
      const std::string name = node.name.empty() && !node.outputs.empty() && node.outputs[0] != kAbsent
                                   ? graph_.value(node.outputs[0]).name
                                   : node.name;
      if (write_dynamic(node))
        form.quantised.push_back(name);
      else if (multiplies(node) && is_weight(node.input(1), 2))
        form.left_in_floats.push_back(name);
      if (!node.op_type.empty()) nodes_.push_back(std::move(node));
    }
    graph_.nodes = std::move(nodes_);
  }

  // Writes the quantised form of a product and clears `node`; false if there is none.
  bool write_dynamic(Node& node) {
    if (!is_float32(node.input(0))) return false;
    const bool is_gemm = is_standard(node) && node.op_type == "Gemm" && node.integer("transA", 0) == 0;
    const auto is = [&](std::string_view op, std::size_t rank) {
      return is_standard(node) && node.op_type == op && is_weight(node.input(1), rank);
    };
    if (is("MatMul", 2) || (is_gemm && is_weight(node.input(1), 2)))
      write_product(node, is_gemm);
    else if (is("LSTM", 3) && is_weight(node.input(2), 3))
      write_lstm(node);
    else if (node.domain == kContrib && node.op_type == "Attention" && is_weight(node.input(1), 2))
      write_attention(node);
    else
      return false;
    node.op_type = {};
    return true;
  }

  void write_product(const Node& node, bool is_gemm) {
    const Dynamic from = dynamic(node.input(0), node);
    const ValueId weight = node.input(1);
    const bool is_transposed = is_gemm && node.integer("transB", 0) != 0;
    const ValueId narrow = narrowed(weight, ElementType::Int8, is_transposed);
    const bool has_bias = is_gemm && node.input(2) != kAbsent;
    const ValueId result = node.output(0);
    const std::string name = graph_.value(result).name;
    const ValueId scales = add_value(name + "_scales"), sums = add_value(name + "_quantized"),
                  floats = add_value(name + "_cast"), product = has_bias ? add_value(name + "_product") : result;
    add_node(node, "scales", {from.scale, scale_of(weight)}, {scales}).op_type = "Mul";
    add_node(node, "MatMulInteger", {from.narrow, narrow, from.zero, zero_of(weight, ElementType::Int8)}, {sums});
    set_integer(add_node(node, "Cast", {sums}, {floats}), "to", static_cast<std::int64_t>(ElementType::Float32));
    add_node(node, "Mul", {floats, scales}, {product});
    if (has_bias) add_node(node, "Add", {product, node.input(2)}, {result});
  }

  // Weights are stored as [directions, inputs, 4 · hidden].
  void write_lstm(const Node& node) {
    ValueIds inputs = node.inputs;
    inputs.resize(8, kAbsent);
    for (const std::size_t at : {1, 2}) {
      const ValueId weight = node.inputs[at];
      Shape shape = *graph_.initializer(graph_.value(weight).initializer).type.shape;
      std::swap(shape[1], shape[2]);
      inputs[at] = add_stored(graph_.value(weight).name + "_quantized", ElementType::Int8, shape);
      const Shape directions = {shape[0]};
      inputs.push_back(add_stored(graph_.value(weight).name + "_scale", ElementType::Float32, directions));
      inputs.push_back(add_stored(graph_.value(weight).name + "_zero_point", ElementType::Int8, directions));
    }
    add_node(node, "DynamicQuantizeLSTM", std::move(inputs), node.outputs, kContrib).attributes = node.attributes;
  }

  void write_attention(const Node& node) {
    const Dynamic from = dynamic(node.input(0), node);
    const ValueId weight = node.input(1);
    ValueIds inputs = {
        from.narrow, narrowed(weight, ElementType::Int8), node.input(2), from.scale, scale_of(weight), node.input(3),
        from.zero,   zero_of(weight, ElementType::Int8),  node.input(4)};
    add_node(node, "QAttention", std::move(inputs), node.outputs, kContrib).attributes = node.attributes;
  }

  // --- static ---

  bool is_supported(const Node& node) const { return is_standard(node) && is_one_of(node.op_type, kStatic); }

  void mark_static() {
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      const Node& node = graph_.nodes[n];
      if (!is_supported(node) || !is_float32(node.output(0))) continue;
      const bool is_mover = is_one_of(node.op_type, kMovers);
      if (is_mover && !paired_.contains(node.input(0))) continue;
      const ValueId operand = node.input(0);
      if (is_one_of(node.op_type, kCuts) && links_.writer(operand) >= 0 && links_.only_reader_id(operand) >= 0 &&
          !captured_.contains(operand) && paired_.contains(operand)) {
        paired_.erase(operand);
        cut_.insert(static_cast<std::int32_t>(n));
        cut_result_[operand] = node.output(0);
      } else {
        for (const ValueId input : node.inputs)
          if (is_float32(input) && !graph_.is_stored(input)) paired_.insert(input);
      }
      for (const ValueId output : node.outputs)
        if (is_float32(output)) paired_.insert(output);
    }
  }

  // The tensor behind its pair.
  ValueId write_pair(ValueId value, const Node& like) {
    const std::string name = graph_.value(value).name;
    const ValueId scale = scale_of(value), zero = zero_of(value, ElementType::Uint8),
                  narrow = add_value(name + "_quantized"), back = add_value(name + "_dequantized");
    add_node(like, "QuantizeLinear", {value, scale, zero}, {narrow});
    add_node(like, "DequantizeLinear", {narrow, scale, zero}, {back});
    return behind_[value] = back;
  }

  ValueId write_weight(ValueId weight, ElementType element, const Node& reader) {
    if (const auto found = behind_.find(weight); found != behind_.end()) return found->second;
    const ValueId narrow = narrowed(weight, element), scale = scale_of(weight), zero = zero_of(weight, element),
                  back = add_value(graph_.value(weight).name + "_dequantized");
    add_node(reader, "DequantizeLinear", {narrow, scale, zero}, {back});
    return behind_[weight] = back;
  }

  void write_static(QuantisedForm& form) {
    mark_static();
    const std::vector<Node> old = std::move(graph_.nodes);
    graph_.nodes = {};
    for (const ValueId input : graph_.inputs)
      if (paired_.contains(input)) {
        Node like;
        like.name = graph_.value(input).name;
        write_pair(input, like);
      }
    for (std::size_t n = 0; n < old.size(); ++n) {
      if (cut_.contains(static_cast<std::int32_t>(n))) continue;
      Node node = old[n];
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        ValueId& input = node.inputs[i];
        if (input == kAbsent) continue;
        const bool is_bias = i == 2 && is_one_of(node.op_type, kBiased);
        if (is_supported(node) && is_weight(input, 1) && (i < 2 || is_bias))
          input = write_weight(input, is_bias ? ElementType::Int32 : ElementType::Int8, node);
        else if (const auto found = behind_.find(input); found != behind_.end() && !graph_.is_stored(input))
          input = found->second;
      }
      for (ValueId& output : node.outputs)
        if (const auto found = cut_result_.find(output); found != cut_result_.end()) output = found->second;
      if (multiplies(node))
        (is_supported(node) && is_weight(old[n].input(1), 2) ? form.quantised : form.left_in_floats)
            .push_back(name_of(old[n]));
      const ValueIds outputs = node.outputs;
      nodes_.push_back(std::move(node));
      for (const ValueId output : outputs)
        if (output != kAbsent && paired_.contains(output)) write_pair(output, old[n]);
    }
    for (ValueId& output : graph_.outputs)
      if (const auto found = behind_.find(output); found != behind_.end()) output = found->second;
    graph_.nodes = std::move(nodes_);
  }

  Model model_;
  Graph& graph_;
  const Analysis& analysis_;
  const Links links_;
  std::set<ValueId> captured_;  // values that bodies read
  std::vector<Node> nodes_;
  std::map<std::pair<ValueId, bool>, ValueId> narrowed_;
  std::map<ValueId, Dynamic> dynamic_;
  std::set<ValueId> paired_;               // tensors that get a pair
  std::set<std::int32_t> cut_;             // nodes that are removed
  std::map<ValueId, ValueId> cut_result_;  // operand of a removed node → its result, which the operand's node writes
  std::map<ValueId, ValueId> behind_;      // the tensor behind the pair
};

}  // namespace

std::optional<QuantisedForm> quantised_form(const Model& model, const Analysis& analysis) {
  return model.graphs.empty() ? std::nullopt : Quantiser(model, analysis).run();
}

}  // namespace pagoda::inline core
