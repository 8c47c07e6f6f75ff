// Facts about an operator besides its mathematics, for fusion, memory, batch sizes, training and generated weights.
// Each operator's table row states them once, from a preset that it may modify:
//
//   {"Relu", infer_unary, cost_compare, nullptr, "1 comparison per element", kPointwise},
//   {"Conv", infer_conv, cost_conv, nullptr, "…", kConvolution.reads({{}, WeightUse::Weight, WeightUse::Additive})},
//
// A user's rule without facts is Unknown in all: it is counted but never fused.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>

#pragma GCC visibility push(default)
namespace pagoda::inline core {

enum class OpKind : std::uint8_t {
  Unknown,
  // Kinds that fusion can join:
  Product,     // convolutions and matrix products
  Pointwise,   // each output element from the elements at its place in the (broadcast) operands; may run in place
  Reduction,   // combines elements along axes
  Norm,        // statistics along axes, then element-wise: norms and softmax
  Quantize,    // to integers, element-wise
  Dequantize,  // from integers
  Transpose,
  Expand,
  // All others run as separate kernels:
  View,       // another name for the same bytes
  Layout,     // moves elements: concatenate, slice, pad, tile
  Gather,     // picks or places elements by index
  Attention,  // queries, keys and values in one operator; also operators that prepare or update them
  Pool,       // windows, regions and interpolation
  Recurrent,
  Signal,    // transforms, windows, running sums
  Generate,  // constants, ranges, random numbers
  Search,    // sorts, finds, generates text
  Sequence,  // sequences, optionals and maps of tensors
  Text,
  Learner,  // trees, vectors, scalers: ai.onnx.ml
  Training,
  Other,
};
constexpr bool is_fusible(OpKind kind) { return kind >= OpKind::Product && kind <= OpKind::Expand; }

// How a product stores and multiplies its operands, inputs 0 and 1.
enum class ProductForm : std::uint8_t {
  Other,          // packed or scaled operands, or operands at other inputs
  Convolution,    // output channels of the weights come first
  Deconvolution,  // input channels come first
  Matrix,         // of two axes
  Matrices,       // numpy's matmul: batched over the leading axes
  Einsum,
  Integers,           // matrices of integers and their zero points
  ScaledConvolution,  // a convolution of quantised, masked or resampled operands
};
constexpr bool is_convolution(ProductForm form) {
  return form == ProductForm::Convolution || form == ProductForm::Deconvolution ||
         form == ProductForm::ScaledConvolution;
}
// Whether the product multiplies inputs 0 and 1 unchanged: engines can then fold a DequantizeLinear before each into
// it.
constexpr bool multiplies_first_two(ProductForm form) {
  return form >= ProductForm::Convolution && form <= ProductForm::Matrices;
}

// How a pointwise operator changes the result before it.
enum class Epilogue : std::uint8_t { Activation, Add, Multiply, BatchNorm };

// The axes over which a norm takes its statistics.
enum class RowAxes : std::uint8_t {
  Other,
  Softmax,       // the attribute axis; up to opset 12 also all after it
  FromAxis,      // from the attribute axis on
  Last,          // the last
  Channel,       // all after the channels
  ChannelGroup,  // a group of channels, and all axes after them
};

// Where the axes of output 0 come from, for following a batch axis up to the inputs.
enum class BatchAxis : std::uint8_t {
  Unknown,
  Lost,      // not a single axis of the output
  Same,      // as in the first operand that is not a weight
  First,     // as in input 0, except a product's last two
  Permuted,  // as in input 0, permuted by the attribute perm
  Indexed,   // as in the indices, input 1, where they select rows of a stored table
  Sequence,  // a recurrent operator: inputs 0, 5 and 6 are [sequence, batch, …], with layout 1 [batch, …]
};

// Whether train/rules.cpp has a backward rule; if not, why.
enum class Gradient : std::uint8_t {
  Unknown,
  Rule,
  Unmodelled,  // differentiable, but its work is reported as not modelled
  // Not differentiable:
  Integers,  // the operands or results are integers
  Truth,     // the result is a truth value
  Index,     // an index or a size
  Bits,
  Text,
  Constant,  // constant almost everywhere
  NoInput,   // no input that could have a gradient
};
constexpr bool has_gradient(Gradient gradient) { return gradient <= Gradient::Unmodelled; }

// Where an operator on constants or shape arithmetic may run.
enum class Placement : std::uint8_t {
  Any,           // done before the first run, or on the host
  NeverFolded,   // random numbers, and weights that runtimes keep at their stored width
  Materialises,  // turns a shape into a tensor of that shape: where host arithmetic ends
  AsksShape,     // reads no elements: host arithmetic begins here
};

// Whether output 0 contains the numbers of input 0.
enum class Numbers : std::uint8_t {
  New,
  Rearranged,  // possibly in a different order
  Same,        // in the same order, maybe rounded or scaled
};

// How an operator reads a stored weight: determines which random numbers keep a model's values sensible.
enum class WeightUse : std::uint8_t {
  Unknown,
  Weight,      // of a product
  Embedding,   // looked up by index
  Additive,    // biases, means, offsets
  Factor,      // scales of norms and other factors: about one
  Positive,    // variances, divisors, arguments of roots and logarithms
  QuantScale,  // of quantised numbers
  ZeroPoint,
};

// Caches and states that an operator takes, updates and returns: `count` inputs from `input` on, and as many outputs
// from `output` on. One buffer can hold both, because the unchanged part stays in place.
struct Updates {
  std::int8_t input = 0, output = 0, count = 0;
  bool in_pages = false;  // [pages, tokens per page, heads, size], shared among the sequences

  // The input that output `place` updates; -1 for none.
  constexpr int input_of(int place) const {
    return place >= output && place < output + count ? input + (place - output) : -1;
  }
};

struct OpFacts {
  static constexpr std::int8_t kNoTokens = 127;

  OpKind kind = OpKind::Unknown;
  ProductForm form = ProductForm::Other;
  Epilogue epilogue = Epilogue::Activation;
  RowAxes rows = RowAxes::Other;
  BatchAxis batch = BatchAxis::Unknown;
  Gradient gradient = Gradient::Unknown;
  Placement placement = Placement::Any;
  Numbers numbers = Numbers::New;
  // If it lengthens or updates a key-value cache: the token axis, unless the attribute axis states one.
  std::int8_t token_axis = kNoTokens;
  Updates updates = {};
  std::array<WeightUse, 8> weights = {};  // by input

  constexpr WeightUse weight(std::size_t input) const {
    return input < weights.size() ? weights[input] : WeightUse::Unknown;
  }

  // The same facts with one replaced; the argument's type selects which.
  template <typename Fact>
  constexpr OpFacts with(Fact fact) const {
    OpFacts facts = *this;
    facts.set(fact);
    return facts;
  }
  constexpr OpFacts tokens_along(int axis) const {
    OpFacts facts = *this;
    facts.token_axis = static_cast<std::int8_t>(axis);
    return facts;
  }
  constexpr OpFacts updating(int input, int output, int count, bool in_pages = false) const {
    OpFacts facts = *this;
    facts.updates = {static_cast<std::int8_t>(input), static_cast<std::int8_t>(output), static_cast<std::int8_t>(count),
                     in_pages};
    return facts;
  }
  constexpr OpFacts reads(std::initializer_list<WeightUse> uses) const {
    OpFacts facts = *this;
    std::size_t input = 0;
    for (const WeightUse use : uses) facts.weights[input++] = use;
    return facts;
  }

 private:
  constexpr void set(ProductForm fact) { form = fact; }
  constexpr void set(Epilogue fact) { epilogue = fact; }
  constexpr void set(RowAxes fact) { rows = fact; }
  constexpr void set(BatchAxis fact) { batch = fact; }
  constexpr void set(Gradient fact) { gradient = fact; }
  constexpr void set(Placement fact) { placement = fact; }
  constexpr void set(Numbers fact) { numbers = fact; }
};

}  // namespace pagoda::inline core
#pragma GCC visibility pop
