// Models that a program already holds as ONNX's own classes.
//
//   onnx::ModelProto proto = make_my_model();
//   Analysis analysis = analyze(to_model(proto));
//
// Needs libonnx and libprotobuf: link pagoda::onnx, which find_package(pagoda COMPONENTS onnx) brings. Files need
// neither; load_model() reads them.
#pragma once

#include <onnx/onnx_pb.h>

#include <string>

#include "pagoda/core/graph.h"

#pragma GCC visibility push(default)
namespace pagoda {

// The model of `proto`. Weights are neither copied nor serialised: of a large tensor only its length is kept, and its
// extent's offset tells it from others. `directory` is where external data of small tensors are looked for; empty:
// nowhere. Throws Error as parse_model() does, and for a model that the file format cannot hold.
Model to_model(const ::onnx::ModelProto& proto, const std::string& directory = "");

}  // namespace pagoda
#pragma GCC visibility pop
