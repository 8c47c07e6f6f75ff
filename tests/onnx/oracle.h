// Compares what ONNX's own classes read from a file with what Pagoda read, field by field and by
// name. Shares no code with either reader.
#pragma once

#include <onnx/onnx_pb.h>

#include <string>

#include "pagoda/core/graph.h"

namespace pagoda::test {

// The differences between `model` and `proto`, one per line; empty if there are none.
std::string disagreement(const Model& model, const onnx::ModelProto& proto);

}  // namespace pagoda::test
