// Compares a Model with the ModelProto of the same file.
#include "onnx/oracle.h"

#include <cstring>
#include <map>
#include <span>
#include <sstream>
#include <vector>

namespace pagoda::test {
namespace {

std::string plain(const std::string& domain) { return domain == "ai.onnx" ? "" : domain; }

class Comparison {
 public:
  explicit Comparison(const Model& model) : model_(model) {}

  std::string run(const onnx::ModelProto& proto) {
    same("IR version", model_.ir_version, proto.ir_version());
    same("producer", model_.producer, proto.producer_name());
    same("producer version", model_.producer_version, proto.producer_version());
    std::map<std::string, std::int64_t, std::less<>> opsets;
    for (const onnx::OperatorSetIdProto& opset : proto.opset_import())
      opsets[plain(opset.domain())] = std::max(opsets[plain(opset.domain())], std::int64_t{opset.version()});
    same("opsets", model_.opsets == opsets, true);
    graph(model_.main(), proto.graph());
    same("functions", model_.functions.size(), static_cast<std::size_t>(proto.functions_size()));
    for (int i = 0; i < proto.functions_size() && found_.str().empty(); ++i)
      function(model_.functions[static_cast<std::size_t>(i)], proto.functions(i));
    return found_.str();
  }

 private:
  template <typename T, typename U>
  void same(const std::string& what, const T& got, const U& expected) {
    if (!(got == expected)) found_ << where_ << what << ": " << got << ", the classes have " << expected << '\n';
  }

  static std::string name(const Graph& graph, ValueId id) {
    return id == kAbsent ? "" : graph.values[static_cast<std::size_t>(id)].name;
  }

  template <typename Protos>
  void names(const std::string& what, const Graph& graph, std::span<const ValueId> ids, const Protos& protos) {
    std::string got, expected;
    for (const ValueId id : ids) got += name(graph, id) + '\n';
    for (const std::string& proto : protos) expected += proto + '\n';
    same(what, got, expected);
  }

  void function(const Function& function, const onnx::FunctionProto& proto) {
    where_ = "function " + proto.name() + ": ";
    same("name", function.name, proto.name());
    same("domain", function.domain, plain(proto.domain()));
    const Graph& body = model_.graphs[static_cast<std::size_t>(function.body)];
    names("inputs", body, body.inputs, proto.input());
    names("outputs", body, body.outputs, proto.output());
    nodes(body, proto.node());
  }

  void graph(const Graph& graph, const onnx::GraphProto& proto) {
    where_ = "graph " + proto.name() + ": ";
    same("name", graph.name, proto.name());
    std::map<std::string, const onnx::TensorProto*> initializers;
    for (const onnx::TensorProto& tensor : proto.initializer()) initializers[tensor.name()] = &tensor;
    for (const onnx::SparseTensorProto& tensor : proto.sparse_initializer())
      initializers[tensor.values().name()] = nullptr;
    same("initializers", graph.initializers.size(), initializers.size());
    for (const Tensor& tensor : graph.initializers)
      if (const auto found = initializers.find(tensor.name); found == initializers.end())
        same("initializer", tensor.name, "none of that name");
      else if (found->second != nullptr)
        this->tensor(tensor, *found->second);
    std::vector<std::string> inputs, outputs;
    for (const onnx::ValueInfoProto& input : proto.input())
      if (!initializers.contains(input.name())) inputs.push_back(input.name());
    for (const onnx::ValueInfoProto& output : proto.output()) outputs.push_back(output.name());
    names("inputs", graph, graph.inputs, inputs);
    names("outputs", graph, graph.outputs, outputs);
    types(graph, proto);
    nodes(graph, proto.node());
  }

  // The last declaration of a name counts: outputs override others, which override inputs.
  void types(const Graph& graph, const onnx::GraphProto& proto) {
    std::map<std::string, const onnx::TypeProto*> declared;
    for (const auto* values : {&proto.input(), &proto.value_info(), &proto.output()})
      for (const onnx::ValueInfoProto& value : *values)
        if (value.has_type()) declared[value.name()] = &value.type();
    for (const Value& value : graph.values)
      if (value.initializer < 0 && value.outer == kAbsent && declared.contains(value.name))
        type("type of " + value.name, value.declared, *declared.at(value.name));
  }

  void type(const std::string& what, const TensorType& type, const onnx::TypeProto& proto) {
    if (!proto.has_tensor_type())
      return same(what + " is a tensor", type.container == Container::Tensor && type.element != ElementType::Undefined,
                  false);
    const onnx::TypeProto::Tensor& tensor = proto.tensor_type();
    if (tensor.elem_type() <= 26) same(what, static_cast<int>(type.element), tensor.elem_type());
    same(what + " has a rank", type.shape.has_value(), tensor.has_shape());
    if (!type.shape || !tensor.has_shape()) return;
    same(what + ", its rank", type.shape->size(), static_cast<std::size_t>(tensor.shape().dim_size()));
    for (int axis = 0; axis < tensor.shape().dim_size() && found_.str().empty(); ++axis) {
      const Dim& dim = (*type.shape)[static_cast<std::size_t>(axis)];
      const onnx::TensorShapeProto::Dimension& expected = tensor.shape().dim(axis);
      if (expected.has_dim_value() && expected.dim_value() >= 0) same(what, dim == Dim(expected.dim_value()), true);
      if (expected.has_dim_param() && Dim::identifier(expected.dim_param()) == expected.dim_param())
        same(what, dim.to_string(), expected.dim_param());
    }
  }

  void tensor(const Tensor& tensor, const onnx::TensorProto& proto) {
    const std::string what = "tensor " + proto.name();
    same(what, tensor.name, proto.name());
    same(what, static_cast<int>(tensor.type.element), proto.data_type() <= 26 ? proto.data_type() : 0);
    same(what + ", its rank", tensor.type.shape->size(), static_cast<std::size_t>(proto.dims_size()));
    for (int axis = 0; axis < proto.dims_size() && found_.str().empty(); ++axis)
      same(what, (*tensor.type.shape)[static_cast<std::size_t>(axis)] == Dim(proto.dims(axis)), true);
    if (!tensor.value || proto.data_location() == onnx::TensorProto::EXTERNAL) return;
    // Only the two types in which shapes and scales come; tensor_value_test covers all.
    if (proto.data_type() == onnx::TensorProto::INT64) values(what, *tensor.value, proto, proto.int64_data());
    if (proto.data_type() == onnx::TensorProto::FLOAT) values(what, *tensor.value, proto, proto.float_data());
  }

  template <typename Field>
  void values(const std::string& what, const TensorValue& value, const onnx::TensorProto& proto, const Field& typed) {
    using T = typename Field::value_type;
    std::vector<T> expected(typed.begin(), typed.end());
    if (proto.has_raw_data()) {
      expected.resize(proto.raw_data().size() / sizeof(T));
      if (!expected.empty()) std::memcpy(expected.data(), proto.raw_data().data(), expected.size() * sizeof(T));
    }
    same(what + ", its elements", value.size(), expected.size());
    for (std::size_t i = 0; i < expected.size() && found_.str().empty(); ++i) {
      // A NaN counts as equal to a NaN.
      T got{};
      if constexpr (std::is_integral_v<T>)
        got = std::get<Dim>(value[i]).value64().value();
      else
        got = static_cast<T>(std::get<double>(value[i]));
      same(what + ", an element", got == expected[i] || (got != got && expected[i] != expected[i]), true);
    }
  }

  template <typename Protos>
  void nodes(const Graph& graph, const Protos& protos) {
    same("nodes", graph.nodes.size(), static_cast<std::size_t>(protos.size()));
    std::map<std::string, const Node*> by_output;
    for (const Node& node : graph.nodes)
      for (const ValueId output : node.outputs) by_output[name(graph, output)] = &node;
    const std::string where = where_;
    for (const onnx::NodeProto& proto : protos) {
      const std::string* output = nullptr;
      for (const std::string& each : proto.output())
        if (!each.empty()) output = &each;
      if (output == nullptr || !found_.str().empty()) continue;
      where_ = where + "node of " + *output + ": ";
      const auto found = by_output.find(*output);
      same("is there", found != by_output.end(), true);
      if (found != by_output.end()) node(graph, *found->second, proto);
    }
    where_ = where;
  }

  void node(const Graph& graph, const Node& node, const onnx::NodeProto& proto) {
    same("name", node.name, proto.name());
    same("operator", node.op_type, proto.op_type());
    same("domain", node.domain, plain(proto.domain()));
    names("inputs", graph, node.inputs, proto.input());
    names("outputs", graph, node.outputs, proto.output());
    same("attributes", node.attributes.size(), static_cast<std::size_t>(proto.attribute_size()));
    for (int i = 0; i < proto.attribute_size() && found_.str().empty(); ++i)
      attribute(node.attributes[static_cast<std::size_t>(i)], proto.attribute(i));
  }

  template <typename T, typename Expected>
  void value(const Attribute& attribute, const Expected& expected) {
    const T* got = std::get_if<T>(&attribute.value);
    same("attribute " + attribute.name + " is as expected", got != nullptr && *got == T(expected), true);
  }

  template <typename Protos>
  void list(const Attribute& attribute, const Protos& protos) {
    using T =
        std::conditional_t<std::is_floating_point_v<typename Protos::value_type>, double, typename Protos::value_type>;
    value<std::vector<T>>(attribute, std::vector<T>(protos.begin(), protos.end()));
  }

  void body(const Attribute& attribute, GraphId id, const onnx::GraphProto& proto) {
    const std::string where = where_;
    graph(model_.graphs[static_cast<std::size_t>(id)], proto);
    where_ = where;
    same("body of " + attribute.name + " has a parent", model_.graphs[static_cast<std::size_t>(id)].parent >= 0, true);
  }

  void attribute(const Attribute& attribute, const onnx::AttributeProto& proto) {
    using Proto = onnx::AttributeProto;
    same("attribute", attribute.name, proto.name());
    same("reference", attribute.reference, proto.ref_attr_name());
    if (!attribute.reference.empty()) return;
    switch (proto.type()) {
      case Proto::FLOAT:
        return value<double>(attribute, proto.f());
      case Proto::INT:
        return value<std::int64_t>(attribute, proto.i());
      case Proto::STRING:
        return value<std::string>(attribute, proto.s());
      case Proto::FLOATS:
        return list(attribute, proto.floats());
      case Proto::INTS:
        return list(attribute, std::vector<std::int64_t>(proto.ints().begin(), proto.ints().end()));
      case Proto::STRINGS:
        return list(attribute, proto.strings());
      case Proto::TENSOR:
        return tensor(std::get<Tensor>(attribute.value), proto.t());
      case Proto::GRAPH:
        return body(attribute, std::get<GraphId>(attribute.value), proto.g());
      case Proto::TYPE_PROTO:
        return type("attribute " + attribute.name, std::get<TensorType>(attribute.value), proto.tp());
      case Proto::GRAPHS:
        for (int i = 0; i < proto.graphs_size(); ++i)
          body(attribute, std::get<std::vector<GraphId>>(attribute.value).at(static_cast<std::size_t>(i)),
               proto.graphs(i));
        return;
      default:
        return;  // sparse tensors, and kinds that no operator uses
    }
  }

  const Model& model_;
  std::string where_;
  std::ostringstream found_;
};

}  // namespace

std::string disagreement(const Model& model, const onnx::ModelProto& proto) { return Comparison(model).run(proto); }

}  // namespace pagoda::test
