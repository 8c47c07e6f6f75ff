// What kind of kernel an operator is, for deciding which can run as one and which can overwrite an operand.
#pragma once

#include <cstdint>
#include <string_view>

#include "pagoda/core/graph.h"

namespace pagoda::inline core {

enum class OpKind : std::uint8_t {
  Contraction,  // convolutions and matrix products
  Pointwise,    // each output element from the elements at its place in the (broadcast) operands
  Reduction,    // joins elements along axes
  RowNorm,      // statistics along axes and then element by element: norms and softmax
  Quantize,     // to integers, element by element
  Dequantize,   // from integers
  Transpose,
  Expand,
};

// How a pointwise operator changes what it follows.
enum class Epilogue : std::uint8_t { Activation, Add, Multiply, BatchNorm };

struct OpClass {
  std::string_view name;
  std::string_view domain;
  OpKind kind;
  Epilogue epilogue = Epilogue::Activation;
};

// Null for operators of no such kind. BatchNormalization counts in inference only.
const OpClass* op_class(const Node& node);

}  // namespace pagoda::inline core
