// The sample models.
#include "onnx/sample_models.h"

#include <algorithm>
#include <stdexcept>

#include "pagoda/base/error.h"
#include "pagoda/core/model.h"

namespace pagoda::test {

onnx::ModelProto new_model() {
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.set_producer_name("test");
  model.add_opset_import()->set_version(17);
  model.mutable_graph()->set_name("g");
  return model;
}

onnx::NodeProto& add_node(onnx::GraphProto& graph, const std::string& op, const std::vector<std::string>& inputs,
                          const std::vector<std::string>& outputs, const std::string& name) {
  onnx::NodeProto& node = *graph.add_node();
  node.set_op_type(op);
  if (!name.empty()) node.set_name(name);
  for (const std::string& input : inputs) node.add_input(input);
  for (const std::string& output : outputs) node.add_output(output);
  return node;
}

onnx::ValueInfoProto& add_input(onnx::GraphProto& graph, const std::string& name,
                                const std::vector<std::string>& dims) {
  onnx::ValueInfoProto& value = *graph.add_input();
  value.set_name(name);
  onnx::TypeProto::Tensor& type = *value.mutable_type()->mutable_tensor_type();
  type.set_elem_type(onnx::TensorProto::FLOAT);
  type.mutable_shape();
  for (const std::string& dim : dims) {
    onnx::TensorShapeProto::Dimension& size = *type.mutable_shape()->add_dim();
    if (dim.empty()) continue;
    if (std::all_of(dim.begin(), dim.end(), [](char c) { return c >= '0' && c <= '9'; }))
      size.set_dim_value(std::stoll(dim));
    else
      size.set_dim_param(dim);
  }
  return value;
}

void add_output(onnx::GraphProto& graph, const std::string& name) { graph.add_output()->set_name(name); }

onnx::TensorProto& add_weight(onnx::GraphProto& graph, const std::string& name, int type,
                              const std::vector<std::int64_t>& dims, std::size_t raw) {
  onnx::TensorProto& tensor = *graph.add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(type);
  for (const std::int64_t dim : dims) tensor.add_dims(dim);
  tensor.set_raw_data(std::string(raw, '\0'));
  return tensor;
}

onnx::TensorProto& add_indices(onnx::GraphProto& graph, const std::string& name,
                               const std::vector<std::int64_t>& values) {
  onnx::TensorProto& tensor = *graph.add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(onnx::TensorProto::INT64);
  tensor.add_dims(static_cast<std::int64_t>(values.size()));
  for (const std::int64_t value : values) tensor.add_int64_data(value);
  return tensor;
}

onnx::AttributeProto& add_attribute(onnx::NodeProto& node, const std::string& name,
                                    onnx::AttributeProto::AttributeType type) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(type);
  return attribute;
}

void add_unknown(google::protobuf::Message& message, int number, const std::string& bytes) {
  *message.GetReflection()->MutableUnknownFields(&message)->AddLengthDelimited(number) = bytes;
}

void add_metadata(onnx::NodeProto& node, const std::string& key, const std::string& value) {
  onnx::StringStringEntryProto entry;
  entry.set_key(key);
  entry.set_value(value);
  add_unknown(node, 9, entry.SerializeAsString());
}

onnx::ModelProto convolution() {
  onnx::ModelProto model = new_model();
  onnx::GraphProto& graph = *model.mutable_graph();
  graph.set_doc_string("a convolution");
  add_input(graph, "x", {"batch", "3", "32", "32"});
  add_weight(graph, "w", onnx::TensorProto::FLOAT, {64, 3, 3, 3}, 4 * 64 * 27);
  onnx::TensorProto& bias = *graph.add_initializer();
  bias.set_name("b");
  bias.set_data_type(onnx::TensorProto::FLOAT);
  bias.add_dims(64);
  for (int i = 0; i < 64; ++i) bias.add_float_data(0.5F);
  onnx::NodeProto& conv = add_node(graph, "Conv", {"x", "w", "b"}, {"c"}, "/layer1/layer1.0/conv/Conv");
  onnx::AttributeProto& pads = add_attribute(conv, "pads", onnx::AttributeProto::INTS);
  for (int i = 0; i < 4; ++i) pads.add_ints(1);
  add_indices(graph, "shape", {0, -1});
  add_node(graph, "Reshape", {"c", "shape"}, {"y"}, "/Reshape");
  add_output(graph, "y");
  return model;
}

onnx::ModelProto branches() {
  onnx::ModelProto model = new_model();
  onnx::GraphProto& graph = *model.mutable_graph();
  add_input(graph, "x", {"n"});
  add_input(graph, "condition", {});
  add_node(graph, "Relu", {"x"}, {"r"}, "relu");
  onnx::NodeProto& branch = add_node(graph, "If", {"condition"}, {"y"}, "if");

  onnx::GraphProto& then_graph = *add_attribute(branch, "then_branch", onnx::AttributeProto::GRAPH).mutable_g();
  then_graph.set_name("then");
  add_weight(then_graph, "table", onnx::TensorProto::FLOAT, {100}, 400);
  add_node(then_graph, "Add", {"r", "x"}, {"sum"}, "add");
  onnx::NodeProto& loop = add_node(then_graph, "Loop", {"", "condition", "sum"}, {"looped"}, "loop");
  onnx::GraphProto& body = *add_attribute(loop, "body", onnx::AttributeProto::GRAPH).mutable_g();
  body.set_name("body");
  add_input(body, "i", {});
  add_input(body, "go", {});
  add_input(body, "carried", {"n"});
  add_node(body, "Mul", {"carried", "r"}, {"next"}, "mul");
  add_output(body, "go");
  add_output(body, "next");
  add_output(then_graph, "looped");

  onnx::GraphProto& else_graph = *add_attribute(branch, "else_branch", onnx::AttributeProto::GRAPH).mutable_g();
  else_graph.set_name("else");
  onnx::NodeProto& constant = add_node(else_graph, "Constant", {}, {"k"}, "constant");
  onnx::TensorProto& value = *add_attribute(constant, "value", onnx::AttributeProto::TENSOR).mutable_t();
  value.set_data_type(onnx::TensorProto::FLOAT);
  value.add_dims(500);
  value.set_raw_data(std::string(2000, '\1'));
  add_node(else_graph, "Sub", {"r", "k"}, {"difference"}, "add");
  add_output(else_graph, "difference");

  add_output(graph, "y");
  return model;
}

onnx::ModelProto call() {
  onnx::ModelProto model = new_model();
  model.add_opset_import()->set_domain("local");
  onnx::GraphProto& graph = *model.mutable_graph();
  add_input(graph, "x", {"n", "8"});
  onnx::NodeProto& node = add_node(graph, "Scaled", {"x"}, {"y"}, "call");
  node.set_domain("local");
  add_unknown(node, 8, "wide");
  add_attribute(node, "alpha", onnx::AttributeProto::FLOAT).set_f(2);
  add_output(graph, "y");

  onnx::FunctionProto& function = *model.add_functions();
  function.set_domain("local");
  function.set_name("Scaled");
  function.add_input("a");
  function.add_output("b");
  function.add_attribute("alpha");
  function.add_opset_import()->set_version(17);
  onnx::NodeProto& leaky = *function.add_node();
  leaky.set_op_type("LeakyRelu");
  leaky.add_input("a");
  leaky.add_output("b");
  onnx::AttributeProto& alpha = add_attribute(leaky, "alpha", onnx::AttributeProto::FLOAT);
  alpha.set_ref_attr_name("alpha");
  add_unknown(function, 13, "wide");
  onnx::AttributeProto beta;
  beta.set_name("beta");
  beta.set_type(onnx::AttributeProto::INT);
  beta.set_i(3);
  add_unknown(function, 11, beta.SerializeAsString());
  onnx::ValueInfoProto info;
  info.set_name("b");
  info.mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT16);
  add_unknown(function, 12, info.SerializeAsString());
  return model;
}

namespace {

// Every attribute kind, container type, tensor field and placement of metadata.
onnx::ModelProto everything() {
  onnx::ModelProto model = convolution();
  model.set_producer_version("1.0");
  onnx::StringStringEntryProto& property = *model.add_metadata_props();
  property.set_key("license");
  property.set_value("none");
  onnx::GraphProto& graph = *model.mutable_graph();
  onnx::NodeProto& node = add_node(graph, "Custom", {"y", "", "w"}, {"z", "", "q"});
  node.set_domain("my.domain");
  add_metadata(node, "namespace", ": Net/layer1: Sequential/layer1.0: Conv/conv2d: aten.conv2d");
  add_metadata(node, "pkg.torch.onnx.stack_trace", std::string(300, 's'));
  add_attribute(node, "f", onnx::AttributeProto::FLOAT).set_f(0.5F);
  add_attribute(node, "i", onnx::AttributeProto::INT).set_i(-7);
  add_attribute(node, "s", onnx::AttributeProto::STRING).set_s("text");
  onnx::AttributeProto& floats = add_attribute(node, "floats", onnx::AttributeProto::FLOATS);
  floats.add_floats(1);
  floats.add_floats(2);
  add_attribute(node, "strings", onnx::AttributeProto::STRINGS).add_strings("a");
  onnx::TypeProto& type = *add_attribute(node, "type", onnx::AttributeProto::TYPE_PROTO).mutable_tp();
  type.mutable_optional_type()
      ->mutable_elem_type()
      ->mutable_sequence_type()
      ->mutable_elem_type()
      ->mutable_tensor_type()
      ->set_elem_type(onnx::TensorProto::INT32);
  onnx::SparseTensorProto& sparse =
      *add_attribute(node, "sparse", onnx::AttributeProto::SPARSE_TENSOR).mutable_sparse_tensor();
  sparse.mutable_values()->set_data_type(onnx::TensorProto::FLOAT);
  sparse.mutable_values()->add_dims(1);
  sparse.mutable_values()->add_float_data(3);
  sparse.mutable_indices()->set_data_type(onnx::TensorProto::INT64);
  sparse.mutable_indices()->add_dims(1);
  sparse.mutable_indices()->add_int64_data(5);
  sparse.add_dims(4);
  sparse.add_dims(4);
  onnx::TensorProto& external = add_weight(graph, "external", onnx::TensorProto::FLOAT16, {1000, 1000}, 0);
  external.clear_raw_data();
  external.set_data_location(onnx::TensorProto::EXTERNAL);
  for (const auto& [key, value] : {std::pair("location", "weights.bin"), {"offset", "4096"}, {"length", "2000000"}}) {
    onnx::StringStringEntryProto& entry = *external.add_external_data();
    entry.set_key(key);
    entry.set_value(value);
  }
  onnx::TensorProto& strings = *graph.add_initializer();
  strings.set_name("words");
  strings.set_data_type(onnx::TensorProto::STRING);
  strings.add_dims(2);
  strings.add_string_data("a");
  strings.add_string_data("b");
  onnx::ValueInfoProto& map = *graph.add_output();
  map.set_name("z");
  map.mutable_type()->mutable_sequence_type()->mutable_elem_type()->mutable_map_type()->set_key_type(
      onnx::TensorProto::INT64);
  map.mutable_type()
      ->mutable_sequence_type()
      ->mutable_elem_type()
      ->mutable_map_type()
      ->mutable_value_type()
      ->mutable_tensor_type()
      ->set_elem_type(onnx::TensorProto::FLOAT);
  add_input(graph, "free", {"", "a.b", "2*batch + 1"});
  model.add_training_info()->mutable_algorithm()->set_name("training");
  add_unknown(model, 99, "newer");
  return model;
}

}  // namespace

std::vector<Sample> sample_models() {
  return {{"convolution", convolution().SerializeAsString()},
          {"branches", branches().SerializeAsString()},
          {"call", call().SerializeAsString()},
          {"everything", everything().SerializeAsString()}};
}

std::string sample(std::string_view name) {
  for (Sample& sample : sample_models())
    if (sample.name == name) return std::move(sample.bytes);
  throw std::invalid_argument("no such sample: " + std::string(name));
}

std::span<const std::byte> as_bytes(const std::string& text) { return std::as_bytes(std::span(text)); }

Model parse(const onnx::ModelProto& proto) { return parse_model(as_bytes(proto.SerializeAsString())); }

std::string parse_error(const std::string& bytes) {
  return error_of([&] { parse_model(as_bytes(bytes)); });
}

}  // namespace pagoda::test
