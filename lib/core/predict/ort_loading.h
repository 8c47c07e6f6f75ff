// Nodes that ONNX Runtime runs once, when it loads a file, and norms that it makes of several nodes.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "pagoda/core/analysis.h"
#include "predict/links.h"

namespace pagoda::inline core {

struct OrtNorm {
  ValueId operand = kAbsent, result = kAbsent;
};

class OrtLoading {
 public:
  OrtLoading(const Model& model, const Analysis& analysis, const Links& links);

  // All inputs of the file have fixed sizes, so the engine knows all shapes.
  bool has_fixed_sizes() const { return has_fixed_sizes_; }
  // By ValueId: whether the value is stored or computed from such values, and from shapes if the sizes are fixed.
  const std::vector<bool>& constants() const { return constant_; }
  // Whether the engine runs the node when it loads the file.
  bool computes(const NodeReport& row) const;
  // The operand that the node passes on as it is, so that the engine removes the node: a cast to the same type, a sum
  // with the number 0, a product with 1 (noop_elimination.cc). kAbsent for all others.
  ValueId kept(const Node& node) const;
  // Whether the node multiplies or shifts the channels of `value`, which a convolution writes, by stored numbers: they
  // go into its weights (conv_bn_fusion.cc, conv_mul_fusion.cc, conv_add_fusion.cc).
  bool joins_weights(const Node& node, ValueId value) const;
  // Whether the node is a scalar factor of the product before or after it (matmul_scale_fusion.cc).
  bool is_scale_of_product(const Node& node) const;
  // Whether the node computes sizes, or views a value, as an earlier one does: the engine does so once.
  bool repeats(std::int32_t node) const { return repeats_.contains(node); }
  // Of stored tensors, each once, by the most that a node reads of it.
  double read_weight_bytes() const;
  // Norms without a mean, x / sqrt(mean(x²) + ε) · weight, by their last node (layer_norm_fusion.cc).
  const std::map<std::int32_t, OrtNorm>& norms() const { return norms_; }
  bool is_part_of_norm(std::int32_t node) const { return parts_.contains(node); }

 private:
  void find_constants(const Model& model);
  void find_repeats();
  static std::string attribute_text(const Attribute& attribute);
  std::string operand_text(ValueId value) const;
  void find_norm(std::int32_t last);
  bool is_constant(ValueId value) const;
  std::int32_t writer(ValueId value, std::string_view op) const;
  ValueId operand_of_root(std::int32_t root, std::vector<std::int32_t>& nodes) const;

  const Graph& graph_;
  const Analysis& analysis_;
  const Links& links_;
  bool has_fixed_sizes_ = false;
  std::vector<bool> constant_;
  std::map<std::int32_t, OrtNorm> norms_;
  std::set<std::int32_t> parts_, repeats_;
};

}  // namespace pagoda::inline core
