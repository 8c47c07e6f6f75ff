// Skeletons: the same structure without parameters. secret_test.cpp proves that none stays.
#include <doctest/doctest.h>

#include "onnx/sample_models.h"
#include "onnx/wire.h"
#include "pagoda/core/model.h"

namespace pagoda::test {
namespace {

std::string skeleton_of(const std::string& bytes, const SkeletonOptions& options = {}) {
  return skeleton(as_bytes(bytes), options);
}

onnx::ModelProto parsed(const std::string& bytes) {
  onnx::ModelProto proto;
  REQUIRE(proto.ParseFromString(bytes));
  return proto;
}

std::string entry(const onnx::TensorProto& tensor, const std::string& key) {
  for (const onnx::StringStringEntryProto& entry : tensor.external_data())
    if (entry.key() == key) return entry.value();
  return "absent";
}

TEST_CASE("a skeleton loads as the model that it was taken from") {
  for (const Sample& sample : sample_models()) {
    CAPTURE(sample.name);
    const std::string small = skeleton_of(sample.bytes);
    CHECK(small.size() < sample.bytes.size() + 500);
    CHECK(structure_of(parse_model(as_bytes(small))) == structure_of(parse_model(as_bytes(sample.bytes))));
  }
}

TEST_CASE("the skeleton of a skeleton is the skeleton") {
  for (const Sample& sample : sample_models()) {
    const std::string small = skeleton_of(sample.bytes);
    CHECK(skeleton_of(small) == small);
  }
}

TEST_CASE("large tensors become external references that keep offset and length") {
  const std::string bytes = sample("convolution");
  const onnx::ModelProto proto = parsed(skeleton_of(bytes));
  const onnx::TensorProto& weight = proto.graph().initializer(0);
  CHECK_FALSE(weight.has_raw_data());
  CHECK(weight.data_location() == onnx::TensorProto::EXTERNAL);
  CHECK(entry(weight, "location") == "<in the model>");
  CHECK(entry(weight, "length") == "6912");
  CHECK(bytes.substr(std::stoull(entry(weight, "offset")), 6912) == parsed(bytes).graph().initializer(0).raw_data());
  const onnx::TensorProto& bias = proto.graph().initializer(1);
  CHECK(bias.float_data_size() == 0);
  CHECK(entry(bias, "length") == "256");
  CHECK(parsed(skeleton_of(bytes, {.weights_location = "w.bin"})).graph().initializer(0).external_data(0).value() ==
        "w.bin");
}

TEST_CASE("a model without large tensors is copied byte for byte") {
  CHECK(skeleton_of(sample("call")) == sample("call"));
}

TEST_CASE("what is neither a parameter nor a text for people is kept byte for byte") {
  onnx::ModelProto expected = convolution();
  const onnx::ModelProto after = parsed(skeleton_of(expected.SerializeAsString()));
  for (int i = 0; i < 2; ++i) *expected.mutable_graph()->mutable_initializer(i) = after.graph().initializer(i);
  expected.mutable_graph()->clear_doc_string();
  CHECK(after.SerializeAsString() == expected.SerializeAsString());
}

TEST_CASE("tensors lose their weights at any depth") {
  const std::string payload(4000, '\x55');
  const auto fill = [&](onnx::TensorProto& tensor) {
    tensor.set_data_type(onnx::TensorProto::FLOAT);
    tensor.add_dims(1000);
    tensor.set_raw_data(payload);
  };
  onnx::ModelProto proto = new_model();
  onnx::GraphProto& graph = *proto.mutable_graph();
  onnx::SparseTensorProto& sparse = *graph.add_sparse_initializer();
  sparse.mutable_values()->set_name("sparse");
  sparse.add_dims(100000);
  fill(*sparse.mutable_values());
  onnx::TensorProto& indices = *sparse.mutable_indices();
  indices.set_data_type(onnx::TensorProto::INT64);
  indices.add_dims(2000);
  indices.set_raw_data(payload + payload + payload + payload);
  onnx::NodeProto& node = add_node(graph, "Op", {}, {"y"});
  fill(*add_attribute(node, "tensor", onnx::AttributeProto::TENSOR).mutable_t());
  fill(*add_attribute(node, "tensors", onnx::AttributeProto::TENSORS).add_tensors());
  onnx::GraphProto& body = *add_attribute(node, "graphs", onnx::AttributeProto::GRAPHS).add_graphs();
  fill(*body.add_initializer());
  fill(*add_attribute(node, "sparse", onnx::AttributeProto::SPARSE_TENSOR).mutable_sparse_tensor()->mutable_values());
  onnx::FunctionProto& function = *proto.add_functions();
  function.set_name("f");
  onnx::NodeProto& inner = *function.add_node();
  inner.set_op_type("Constant");
  fill(*add_attribute(inner, "value", onnx::AttributeProto::TENSOR).mutable_t());
  onnx::AttributeProto standard;
  standard.set_name("default");
  standard.set_type(onnx::AttributeProto::TENSOR);
  fill(*standard.mutable_t());
  add_unknown(function, 11, standard.SerializeAsString());
  fill(*proto.add_training_info()->mutable_initialization()->add_initializer());

  const std::string bytes = proto.SerializeAsString();
  const std::string small = skeleton_of(bytes);
  CHECK(small.size() < 2000);
  CHECK(small.find(payload.substr(0, 100)) == std::string::npos);
  CHECK(structure_of(parse_model(as_bytes(small))) == structure_of(parse_model(as_bytes(bytes))));
}

TEST_CASE("unpacked typed data are dropped as well") {
  // 100 elements of float_data, one field each: protobuf accepts that for a packed field.
  std::string tensor("\x08\x64\x10\x01", 4);
  for (int i = 0; i < 100; ++i) tensor += std::string("\x25\0\0\x80\x3f", 5);
  wire::append_bytes_field(tensor, 8, "t");
  std::string graph, bytes;
  wire::append_bytes_field(graph, 5, tensor);
  wire::append_bytes_field(bytes, 7, graph);
  const onnx::ModelProto proto = parsed(skeleton_of(bytes));
  CHECK(proto.graph().initializer(0).float_data_size() == 0);
  CHECK(proto.graph().initializer(0).name() == "t");
  CHECK(entry(proto.graph().initializer(0), "length") == "400");
}

TEST_CASE("external tensors keep their entries") {
  const onnx::ModelProto before = parsed(sample("everything"));
  const onnx::ModelProto after = parsed(skeleton_of(before.SerializeAsString()));
  CHECK(after.graph().initializer(3).SerializeAsString() == before.graph().initializer(3).SerializeAsString());
  const Model model = parse_model(as_bytes(before.SerializeAsString()));
  const Tensor& external = model.main().initializers[3];
  CHECK(external.extent.location == "weights.bin");
  CHECK(external.extent.offset == 4096);
  CHECK(external.extent.bytes == 2'000'000);
}

TEST_CASE("stack traces stay or go as asked") {
  const std::string with = skeleton_of(sample("everything"), {.keep_stack_traces = true});
  const std::string without = skeleton_of(sample("everything"));
  CHECK(with.find("stack_trace") != std::string::npos);
  CHECK(without.find("stack_trace") == std::string::npos);
  CHECK(without.find("aten.conv2d") != std::string::npos);
  CHECK(describe(parse_model(as_bytes(with))) == describe(parse_model(as_bytes(without))));
}

TEST_CASE("a long text in an attribute stays in no skeleton and is left out of the analysis") {
  onnx::ModelProto proto = convolution();
  add_attribute(*proto.mutable_graph()->mutable_node(0), "blob", onnx::AttributeProto::STRING)
      .set_s(std::string(3'000'000, 'x'));
  CHECK(skeleton_of(proto.SerializeAsString()).size() < 3'000);
  const Model model = parse(proto);
  CHECK(std::get<std::string>(model.main().nodes[0].attribute("blob")->value).empty());
}

TEST_CASE("a name of megabytes is an error") {
  onnx::ModelProto proto = convolution();
  proto.mutable_graph()->mutable_node(0)->set_name(std::string(3'000'000, 'x'));
  CHECK(parse_error(proto.SerializeAsString()).find("expected a name of at most") != std::string::npos);
}

TEST_CASE("errors of skeletons are those of loading") {
  const std::string bytes = sample("convolution");
  CHECK_THROWS_AS(skeleton_of(bytes.substr(0, bytes.size() / 2)), Error);
  CHECK_THROWS_AS(skeleton_of("hello"), Error);
}

}  // namespace
}  // namespace pagoda::test
