// Model → ModelProto, field by field.
#include "support/onnx_file.h"

#include <onnx/onnx_pb.h>

#include <stdexcept>

namespace pagoda::test {
namespace {

class Writer {
 public:
  explicit Writer(const Model& model) : model_(model) {}

  std::string write() {
    onnx::ModelProto proto;
    proto.set_ir_version(model_.ir_version);
    proto.set_producer_name(model_.producer);
    proto.set_producer_version(model_.producer_version);
    for (const auto& [domain, version] : model_.opsets) {
      onnx::OperatorSetIdProto* opset = proto.add_opset_import();
      opset->set_domain(domain);
      opset->set_version(version);
    }
    write_graph(model_.main(), *proto.mutable_graph());
    return proto.SerializeAsString();
  }

 private:
  static std::string name_of(const Graph& graph, ValueId id) {
    return id == kAbsent ? "" : graph.values[static_cast<std::size_t>(id)].name;
  }

  void write_graph(const Graph& graph, onnx::GraphProto& proto) {
    proto.set_name(graph.name.empty() ? "graph" : graph.name);
    for (const ValueId input : graph.inputs) write_value(graph, input, *proto.add_input());
    for (const ValueId output : graph.outputs) write_value(graph, output, *proto.add_output());
    for (const Tensor& tensor : graph.initializers) write_tensor(tensor, *proto.add_initializer());
    for (const Node& node : graph.nodes) write_node(graph, node, *proto.add_node());
    for (std::size_t i = 0; i < graph.values.size(); ++i) {
      const Value& value = graph.values[i];
      const bool is_known = value.declared.element != ElementType::Undefined;
      if (is_known && !value.is_input && value.initializer < 0 && value.outer == kAbsent)
        write_value(graph, static_cast<ValueId>(i), *proto.add_value_info());
    }
  }

  static void write_value(const Graph& graph, ValueId id, onnx::ValueInfoProto& proto) {
    proto.set_name(name_of(graph, id));
    const TensorType& type = graph.values[static_cast<std::size_t>(id)].declared;
    if (type.element != ElementType::Undefined) write_type(type, *proto.mutable_type());
  }

  static void write_type(const TensorType& type, onnx::TypeProto& proto) {
    TensorType member = type;
    switch (type.container) {
      case Container::Tensor:
        break;
      case Container::Sequence:
        member.container = Container::Tensor;
        return write_type(member, *proto.mutable_sequence_type()->mutable_elem_type());
      case Container::Optional:
        member.container = Container::Tensor;
        return write_type(member, *proto.mutable_optional_type()->mutable_elem_type());
      case Container::OptionalSequence:
        member.container = Container::Sequence;
        return write_type(member, *proto.mutable_optional_type()->mutable_elem_type());
      case Container::SequenceOfMaps:
        member.container = Container::Map;
        return write_type(member, *proto.mutable_sequence_type()->mutable_elem_type());
      case Container::Map:
        if (type.key == ElementType::Undefined) throw std::invalid_argument("a map without a type of its keys");
        proto.mutable_map_type()->set_key_type(static_cast<int>(type.key));
        member.container = Container::Tensor;
        return write_type(member, *proto.mutable_map_type()->mutable_value_type());
      case Container::SparseTensor:
        throw std::invalid_argument("a type that text graphs do not have");
    }
    onnx::TypeProto::Tensor& tensor = *proto.mutable_tensor_type();
    tensor.set_elem_type(static_cast<int>(type.element));
    if (!type.shape) return;
    tensor.mutable_shape();
    for (const Dim& dim : *type.shape) {
      onnx::TensorShapeProto::Dimension& size = *tensor.mutable_shape()->add_dim();
      if (const auto value = dim.value64()) {
        size.set_dim_value(*value);
      } else {
        size.set_dim_param(dim.to_string());
      }
    }
  }

  static void write_tensor(const Tensor& tensor, onnx::TensorProto& proto) {
    proto.set_name(tensor.name);
    proto.set_data_type(static_cast<int>(tensor.type.element));
    if (tensor.type.shape)
      for (const Dim& dim : *tensor.type.shape) proto.add_dims(dim.value64().value());
    if (!tensor.value) return;
    for (const Scalar& scalar : *tensor.value) {
      if (const double* real = std::get_if<double>(&scalar)) {
        if (tensor.type.element == ElementType::Float32) {
          proto.add_float_data(static_cast<float>(*real));
        } else if (tensor.type.element == ElementType::Float64) {
          proto.add_double_data(*real);
        } else {
          throw std::invalid_argument("values of this float type have no writer");
        }
      } else if (tensor.type.element == ElementType::Int64) {
        proto.add_int64_data(std::get<Dim>(scalar).value64().value());
      } else {
        proto.add_int32_data(static_cast<std::int32_t>(std::get<Dim>(scalar).value64().value()));
      }
    }
  }

  void write_node(const Graph& graph, const Node& node, onnx::NodeProto& proto) {
    proto.set_name(node.name);
    proto.set_op_type(node.op_type);
    proto.set_domain(node.domain);
    for (const ValueId input : node.inputs) proto.add_input(name_of(graph, input));
    for (const ValueId output : node.outputs) proto.add_output(name_of(graph, output));
    for (const Attribute& attribute : node.attributes) write_attribute(attribute, *proto.add_attribute());
  }

  void write_attribute(const Attribute& attribute, onnx::AttributeProto& proto) {
    proto.set_name(attribute.name);
    const AttributeValue& value = attribute.value;
    if (const auto* integer = std::get_if<std::int64_t>(&value)) {
      proto.set_type(onnx::AttributeProto::INT);
      proto.set_i(*integer);
    } else if (const auto* real = std::get_if<double>(&value)) {
      proto.set_type(onnx::AttributeProto::FLOAT);
      proto.set_f(static_cast<float>(*real));
    } else if (const auto* text = std::get_if<std::string>(&value)) {
      proto.set_type(onnx::AttributeProto::STRING);
      proto.set_s(*text);
    } else if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&value)) {
      proto.set_type(onnx::AttributeProto::INTS);
      for (const std::int64_t element : *integers) proto.add_ints(element);
    } else if (const auto* reals = std::get_if<std::vector<double>>(&value)) {
      proto.set_type(onnx::AttributeProto::FLOATS);
      for (const double element : *reals) proto.add_floats(static_cast<float>(element));
    } else if (const auto* texts = std::get_if<std::vector<std::string>>(&value)) {
      proto.set_type(onnx::AttributeProto::STRINGS);
      for (const std::string& element : *texts) proto.add_strings(element);
    } else if (const auto* tensor = std::get_if<Tensor>(&value)) {
      proto.set_type(onnx::AttributeProto::TENSOR);
      write_tensor(*tensor, *proto.mutable_t());
    } else if (const auto* graph = std::get_if<GraphId>(&value)) {
      proto.set_type(onnx::AttributeProto::GRAPH);
      write_graph(model_.graphs[static_cast<std::size_t>(*graph)], *proto.mutable_g());
    } else if (const auto* type = std::get_if<TensorType>(&value)) {
      proto.set_type(onnx::AttributeProto::TYPE_PROTO);
      write_type(*type, *proto.mutable_tp());
    } else {
      throw std::invalid_argument("an attribute that text graphs do not have");
    }
  }

  const Model& model_;
};

}  // namespace

std::string onnx_bytes(const Model& model) { return Writer(model).write(); }

}  // namespace pagoda::test
