// What ONNX's own classes read from a file, compared with what Pagoda read, field by field and by names: shares no
// code with either reader.
#pragma once

#include <onnx/onnx_pb.h>

#include <string>

#include "pagoda/core/graph.h"

namespace pagoda::test {

// What `model` says otherwise than `proto`, one line each; empty when both say the same.
std::string disagreement(const Model& model, const onnx::ModelProto& proto);

}  // namespace pagoda::test
