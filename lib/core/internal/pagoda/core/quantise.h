// The int8 form of a float32 model, as ONNX Runtime's quantisers write it, for a model that is not quantised yet.
//
//   Model model = load_model("vit.onnx");
//   std::optional<QuantisedForm> narrow = quantised_form(model, analyze(model));
//   analyze(narrow->model);   // weights of 1 byte, integer products, conversions as nodes
//
// Models whose multiply-accumulates are mostly convolutions become what quantize_static writes: a QuantizeLinear and a
// DequantizeLinear around the tensors of every supported operator, activations in uint8 and weights in int8, the form
// that runs on integers on x86. All others become what quantize_dynamic writes: products with stored weights find the
// range of their activations as they run. The graph is that of the quantisers; scales and stored values are not known.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pagoda/core/analyze.h"
#include "pagoda/core/graph.h"

#pragma GCC visibility push(default)
namespace pagoda::inline core {

struct QuantisedForm {
  Model model;
  bool is_static = false;                // Q/DQ pairs; otherwise dynamic
  std::vector<std::string> quantised;    // nodes of the float model that multiply integers now
  std::vector<std::string> left_in_floats;  // those that multiply a stored weight in floats all the same
};

// Of the main graph; bodies of control flow stay as they are. Empty if no node can be quantised.
std::optional<QuantisedForm> quantised_form(const Model& model, const Analysis& analysis);

}  // namespace pagoda::inline core
#pragma GCC visibility pop
