// Operators of PyTorch, as named by its profiler, and the ONNX operators that its exporters produce from them: of
// PyTorch 2.15.0, from aten/src/ATen/native/native_functions.yaml and torch/onnx/symbolic_opset*.py.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace pagoda::measured {

// A call becomes one of these sequences: "MatMul Add". '?' marks an operator that may be missing, '+' one that may
// repeat.
struct PytorchCall {
  std::string_view aten;
  std::array<std::string_view, 3> onnx;  // unused entries are empty
};

std::span<const PytorchCall> pytorch_calls();  // sorted by name

// The row of an operator or of its form that writes into its operand ("aten::add_"); nullptr: none.
const PytorchCall* pytorch_call(std::string_view op);

// Whether an operator, by the engine's name, may execute a row of this type alone.
bool may_be(std::string_view op, std::string_view op_type);

// A node on the way along a sequence.
struct TypedNode {
  std::string_view type;
  bool is_view = false;  // may stand between the operators of a sequence
};
// The places from `first` on of the operators of a sequence; empty: they do not follow each other there.
std::vector<std::size_t> places_of(std::string_view sequence, std::span<const TypedNode> nodes, std::size_t first);

}  // namespace pagoda::measured
