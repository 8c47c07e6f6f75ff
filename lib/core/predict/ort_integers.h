// Which nodes ONNX Runtime's CPU provider runs on integers, and which conversions and scales their kernels absorb.
#pragma once

#include <vector>

#include "pagoda/core/analysis.h"
#include "predict/links.h"

namespace pagoda::inline core {

class OrtIntegers {
 public:
  OrtIntegers(const Graph& graph, const Analysis& analysis, const Links& links);

  // A product of dequantised operands. Convolutions run on integers only if their result is quantised again.
  bool multiplies(std::int32_t id) const;
  // An operator between DequantizeLinear and QuantizeLinear that has an integer kernel, or only moves elements.
  bool computes(std::int32_t id) const;
  bool moves(const Node& node) const;  // of those, one that only moves elements
  // A conversion that such kernels absorb or that runs when the file is loaded, or what scales an integer product.
  bool absorbs(const Node& node) const;
  // Whether the node dequantises a stored tensor for a product in float32: the engine folds no DequantizeLinear.
  bool runs_each_time(const Node& node) const;

 private:
  bool has_kernel(ValueId value) const;
  bool is_dequantised_constant(ValueId value) const;
  bool runs(std::int32_t id) const { return multiplies(id) || computes(id); }
  bool quantises(const Node& node) const;
  const Node* product_behind(const Node& node) const;
  bool scales_product(const Node& node) const;

  const Graph& graph_;
  const Analysis& analysis_;
  const Links& links_;
  std::vector<const NodeReport*> row_of_;
};

}  // namespace pagoda::inline core
