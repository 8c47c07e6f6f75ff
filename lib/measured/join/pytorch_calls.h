// Operators of PyTorch, as named by its profiler, and the ONNX operators that its exporters produce from them: of
// PyTorch 2.15.0, from aten/src/ATen/native/native_functions.yaml and torch/onnx/symbolic_opset*.py.
#pragma once

#include <array>
#include <span>
#include <string_view>

namespace pagoda::measured {

struct PytorchCall {
  std::string_view aten;
  std::array<std::string_view, 3> onnx;  // unused entries are empty
};

std::span<const PytorchCall> pytorch_calls();  // sorted by name

// Whether an operator, by the engine's name, may execute a row of this type.
bool may_be(std::string_view op, std::string_view op_type);

}  // namespace pagoda::measured
