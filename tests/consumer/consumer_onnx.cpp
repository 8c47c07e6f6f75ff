#include <pagoda/onnx/to_model.h>

int main() {
  onnx::ModelProto proto;
  proto.mutable_graph()->set_name("empty");
  return pagoda::to_model(proto).graph_name == "empty" ? 0 : 1;
}
