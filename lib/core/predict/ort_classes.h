// Which class of ONNX Runtime's CPU kernels a node of a graph runs as, where its own operands decide that.
#pragma once

#include "pagoda/core/analysis.h"
#include "pagoda/core/onnxruntime.h"
#include "predict/links.h"
#include "predict/number.h"

namespace pagoda::inline core {

class OrtClasses {
 public:
  OrtClasses(const Graph& graph, const Analysis& analysis, const Links& links)
      : graph_(graph), analysis_(analysis), links_(links) {}

  // `node` is null for rows of bodies.
  OrtKernelClass of(const Node* node, const NodeReport& row) const;
  // Of a product of integers by `matrix`, or by what it is dequantised from.
  OrtKernelClass of_integers(ValueId matrix) const;
  // Elements side by side in a row of the node's work (OrtKernel::width); 0: the class has no rows.
  double row_width(OrtKernelClass kind, const Node& node) const;
  // Bytes that a cubic Resize reads: four numbers per interpolation along an axis. The engine interpolates each line of
  // the image that it reads to the output's width once, and the results again for each output: twice per output with as
  // many lines as before, three times with half as many. Measured with ONNX Runtime 1.32, ratios from 1/2 to 4: 43 to
  // 62 ns per interpolation.
  double cubic_bytes(const Node& node) const;

 private:
  const Shape* shape(ValueId value) const { return shape_of(analysis_, value); }
  ValueId integer_matrix(const Node& node) const;
  bool is_broadcast(const Node& node) const;

  const Graph& graph_;
  const Analysis& analysis_;
  const Links& links_;
};

}  // namespace pagoda::inline core
