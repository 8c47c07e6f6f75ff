// Analyses a model that a program has made with ONNX's own classes, without writing it to a file.
#include <onnx/onnx_pb.h>
#include <pagoda/onnx/to_model.h>
#include <pagoda/pagoda.h>

#include <cstdio>
#include <string>

namespace {

// x:[batch, 1024] → MatMul with a weight of 1024 × 4096 → Relu → y
onnx::ModelProto layer() {
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(17);
  onnx::GraphProto& graph = *model.mutable_graph();
  graph.set_name("layer");
  onnx::ValueInfoProto& input = *graph.add_input();
  input.set_name("x");
  onnx::TypeProto::Tensor& type = *input.mutable_type()->mutable_tensor_type();
  type.set_elem_type(onnx::TensorProto::FLOAT);
  type.mutable_shape()->add_dim()->set_dim_param("batch");
  type.mutable_shape()->add_dim()->set_dim_value(1024);
  onnx::TensorProto& weight = *graph.add_initializer();
  weight.set_name("w");
  weight.set_data_type(onnx::TensorProto::FLOAT);
  weight.add_dims(1024);
  weight.add_dims(4096);
  weight.set_raw_data(std::string(std::size_t{4} * 1024 * 4096, '\0'));
  onnx::NodeProto& product = *graph.add_node();
  product.set_op_type("MatMul");
  product.add_input("x");
  product.add_input("w");
  product.add_output("h");
  onnx::NodeProto& relu = *graph.add_node();
  relu.set_op_type("Relu");
  relu.add_input("h");
  relu.add_output("y");
  graph.add_output()->set_name("y");
  return model;
}

}  // namespace

int main() {
  const onnx::ModelProto proto = layer();
  const pagoda::Analysis analysis = pagoda::analyze(pagoda::to_model(proto));
  std::printf("%s multiply-accumulates, %s parameters\n", analysis.totals.cost.macs.to_string().c_str(),
              analysis.totals.params.to_string().c_str());
  return analysis.partial ? 1 : 0;
}
