// Writes a chain of fully connected layers of any length and width, to see how time grows with nodes and weight bytes.
//   generate_graph LAYERS WIDTH OUT.onnx             weights inside the file (up to protobuf's 2 GB)
//   generate_graph LAYERS WIDTH OUT.onnx --external  weights in OUT.onnx.data
#include <onnx/onnx_pb.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>
#include <string>
#include <vector>

namespace {

void set_shape(onnx::ValueInfoProto& value, const std::string& name, long width) {
  value.set_name(name);
  auto* tensor = value.mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(onnx::TensorProto::FLOAT);
  tensor->mutable_shape()->add_dim()->set_dim_param("batch");
  tensor->mutable_shape()->add_dim()->set_dim_value(width);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fputs("usage: generate_graph LAYERS WIDTH OUT.onnx [--external]\n", stderr);
    return 2;
  }
  const long layers = std::atol(argv[1]);
  const long width = std::atol(argv[2]);
  const std::string out = argv[3];
  const bool external = argc > 4 && std::string(argv[4]) == "--external";
  const std::string data_name = out.substr(out.find_last_of('/') + 1) + ".data";

  onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(17);
  onnx::GraphProto& graph = *model.mutable_graph();
  graph.set_name("chain");
  set_shape(*graph.add_input(), "x0", width);
  std::string weights(static_cast<std::size_t>(width * width) * sizeof(float), '\0');
  std::minstd_rand random(1);
  for (std::size_t i = 0; i < weights.size(); i += 4) {
    const float value = static_cast<float>(random() % 2000) * 1e-4F - 0.1F;
    __builtin_memcpy(&weights[i], &value, sizeof(value));
  }
  std::ofstream data;
  if (external) data.open(out + ".data", std::ios::binary);
  for (long layer = 0; layer < layers; ++layer) {
    const std::string index = std::to_string(layer);
    onnx::TensorProto& weight = *graph.add_initializer();
    weight.set_name("w" + index);
    weight.set_data_type(onnx::TensorProto::FLOAT);
    weight.add_dims(width);
    weight.add_dims(width);
    if (external) {
      weight.set_data_location(onnx::TensorProto::EXTERNAL);
      const auto add = [&](const char* key, const std::string& value) {
        auto* entry = weight.add_external_data();
        entry->set_key(key);
        entry->set_value(value);
      };
      add("location", data_name);
      add("offset", std::to_string(static_cast<std::size_t>(layer) * weights.size()));
      add("length", std::to_string(weights.size()));
      data.write(weights.data(), static_cast<std::streamsize>(weights.size()));
    } else {
      weight.set_raw_data(weights);
    }
    onnx::NodeProto& matmul = *graph.add_node();
    matmul.set_op_type("MatMul");
    matmul.set_name("layer" + index + "/MatMul");
    matmul.add_input("x" + index);
    matmul.add_input("w" + index);
    matmul.add_output("h" + index);
    onnx::NodeProto& relu = *graph.add_node();
    relu.set_op_type("Relu");
    relu.set_name("layer" + index + "/Relu");
    relu.add_input("h" + index);
    relu.add_output("x" + std::to_string(layer + 1));
  }
  set_shape(*graph.add_output(), "x" + std::to_string(layers), width);
  std::ofstream file(out, std::ios::binary);
  return model.SerializeToOstream(&file) ? 0 : 1;
}
