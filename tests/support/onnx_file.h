// Models of text graphs as ONNX files, for tests that go through the loader or a tool.
//
//   write_file(directory + "/small.onnx", test::onnx_bytes(test::graph("x:f32[N,3] -> y = Relu(x)")));
#pragma once

#include <string>

#include "pagoda/core/graph.h"

namespace pagoda::test {

// The serialized ModelProto. Initializers without a value get no data; element types newer than ONNX 1.12 keep their
// number. Sizes that are formulas become dim params.
std::string onnx_bytes(const Model& model);

}  // namespace pagoda::test
