// The operators that the current ONNX and ONNX Runtime define: data/ops.csv, embedded.
#pragma once

#include <span>
#include <string_view>

namespace pagoda::ops {

struct DefinedOp {
  std::string_view domain;  // "ai.onnx" for the default
  std::string_view name;
  std::string_view versions;  // of the domain's opset that define or change it, ascending, separated by blanks
};

std::span<const DefinedOp> defined_ops();

}  // namespace pagoda::ops
