// Converts models held in memory as ONNX's own classes.
//
//   onnx::ModelProto proto = make_my_model();
//   Analysis analysis = analyze(to_model(proto));
//
// Requires libonnx and libprotobuf: link pagoda::onnx, provided by find_package(pagoda COMPONENTS onnx). Files need
// neither; use load_model().
#pragma once

#include <onnx/onnx_pb.h>

#include <string>

#include "pagoda/core/graph.h"

#pragma GCC visibility push(default)
namespace pagoda {

// The model of `proto`. Weights are neither copied nor serialised: for a large tensor only its length is kept, and the
// offset of its extent identifies it. `directory` is searched for external data of small tensors; empty: no search.
// Throws Error as parse_model() does, and for a model too large for the file format.
Model to_model(const ::onnx::ModelProto& proto, const std::string& directory = "");

}  // namespace pagoda
#pragma GCC visibility pop
