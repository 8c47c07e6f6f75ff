// Facts of a graph that ONNX Runtime's optimisations find, and its execution providers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pagoda/core/eager.h"
#include "pagoda/core/onnxruntime.h"
#include "predict/graph_facts.h"

namespace pagoda::inline core {

// --- which class of ONNX Runtime's CPU kernels a node runs as, where its own operands decide that ---

// `node` is null for rows of bodies.
OrtKernelClass ort_class(const Links& links, const Node* node, const NodeReport& row);
// Of a product of integers by `matrix`, or by what it is dequantised from.
OrtKernelClass ort_class_of_integers(const Links& links, ValueId matrix);
// Elements side by side in a row of the node's work (OrtKernel::width); 0: the class has no rows.
double ort_row_width(const Tensors& tensors, OrtKernelClass kind, const Node& node);
// Bytes that a cubic Resize reads: four numbers per interpolation along an axis. The engine interpolates each line of
// the image that it reads to the output's width once, and the results again for each output: twice per output with as
// many lines as before, three times with half as many. Measured with ONNX Runtime 1.32, ratios from 1/2 to 4: 43 to
// 62 ns per interpolation.
double cubic_resize_bytes(const Tensors& tensors, const Node& node);

// Nodes that ONNX Runtime runs once, when it loads a file, and norms that it makes of several nodes.
class OrtLoading {
 public:
  struct Norm {
    ValueId operand = kAbsent, result = kAbsent;
  };

  OrtLoading(const Model& model, const Links& links);

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
  const std::map<std::int32_t, Norm>& norms() const { return norms_; }
  bool is_part_of_norm(std::int32_t node) const { return parts_.contains(node); }

 private:
  void find_constants(const Model& model);
  void find_repeats();
  std::string operand_text(ValueId value) const;
  void find_norm(std::int32_t last);
  bool is_constant(ValueId value) const { return value != kAbsent && constant_[index(value)]; }
  std::int32_t writer(ValueId value, std::string_view op) const;
  ValueId operand_of_root(std::int32_t root, std::vector<std::int32_t>& nodes) const;

  const Links& links_;
  const Graph& graph_;
  const Analysis& analysis_;
  bool has_fixed_sizes_ = false;
  std::vector<bool> constant_;
  std::map<std::int32_t, Norm> norms_;
  std::set<std::int32_t> parts_, repeats_;
};

// Which nodes ONNX Runtime's CPU provider runs on integers, and which conversions and scales their kernels absorb.
class OrtIntegers {
 public:
  // `rows`: of rows_of_nodes().
  OrtIntegers(const Links& links, const std::vector<const NodeReport*>& rows) : links_(links), rows_(rows) {}

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

  const Links& links_;
  const std::vector<const NodeReport*>& rows_;
};

// The kernels of one graph so far, the layouts of the values that they write, and the reorders between them.
class OrtLayouts : public Links {
 public:
  using Order = std::vector<std::int64_t>;  // axis i of a value is axis order[i] of what is stored

  enum class Layout : std::uint8_t {  // from Blocks on, the value itself is in blocks of channels
    Plain,
    Copied,  // plain, and reordered once for all convolutions: no other operator works on that copy
    Blocks,
    Both,    // in blocks, and reordered once for all readers that want it plain
    Joined,  // in blocks, written by a convolution that can still absorb an Add or an activation
  };

  OrtLayouts(const Graph& graph, const Analysis& analysis)
      : Links(graph, analysis), layouts_(graph.values.size(), Layout::Plain) {}

  void at_row(std::int32_t row) { row_ = row; }
  void launch(OrtKernel kernel);
  void launch(OrtKernelClass kind, double moved, double width = 0);
  OrtKernel& last_kernel() { return kernels_.back(); }
  std::vector<OrtKernel> take() { return std::move(kernels_); }

  Layout layout(ValueId value) const { return layouts_[index(value)]; }
  void set_layout(ValueId value, Layout layout) { layouts_[index(value)] = layout; }
  bool is_in_blocks(ValueId value) const { return value != kAbsent && layout(value) >= Layout::Blocks; }

  // Brings an operand into the plain layout, with its axes in order.
  void want_plain(ValueId value);
  // Brings an operand into blocks; the reorder also does a deferred transpose.
  void want_blocks(ValueId value);
  // Integer convolutions of images read and write N, H, W, C.
  void want_channels_last(ValueId value);
  void set_channels_last(ValueId value);
  // A product takes a matrix that is stored transposed.
  void want_matrix(ValueId value);
  // The operand of an absorbed node keeps its order and layout.
  void keep_order(ValueId from, ValueId to);
  // Moves a deferred transpose past an absorbed node.
  void move_order(ValueId from, ValueId to);
  // The engine pushes transposes down the graph and cancels inverse pairs: each waits until a kernel needs its order.
  void defer_transpose(const Node& node);
  // The order that all of these operands share, other than that of their axes; null: they share none.
  const Order* shared_order(const std::vector<ValueId>& operands) const;
  // Gives the result of a kernel the order of its operands. False: it has another rank.
  bool take_order(ValueId result, const Order* order);

 private:
  // Runs the deferred transpose of an operand, if there is one.
  void want_transposed(ValueId value);
  OrtKernel order_kernel(ValueId value, const Order& order) const;

  std::vector<Layout> layouts_;
  std::map<ValueId, Order> transposed_;  // deferred
  std::vector<OrtKernel> kernels_;
  std::int32_t row_ = 0;
};

// An execution provider. All rewrite the graph alike; they differ in what their convolutions and products absorb.
struct OrtProvider {
  int channel_block = 0;  // floats in a block of channels of convolutions; 0: plain layout
  // Activations that go into the kernel of a convolution, and of another product.
  std::span<const std::string_view> after_conv, after_product;
  bool joins_sum_and_relu = false;  // a convolution in plain layout absorbs a sum if a Relu follows
  bool has_cubic_lines = false;     // a cubic Resize works line by line (cubic_resize_bytes)

  bool joins(std::string_view activation, bool is_conv) const {
    const auto& names = is_conv ? after_conv : after_product;
    return std::find(names.begin(), names.end(), activation) != names.end();
  }
};

// Sorted by name.
inline constexpr std::string_view kJoinedActivations[] = {"Clip", "HardSigmoid", "HardSwish", "LeakyRelu",
                                                          "Relu", "Sigmoid",     "Tanh"};
inline constexpr std::string_view kJoinedByCudnn[] = {"Relu"};

constexpr OrtProvider cpu_provider(int channel_block) {
  return {.channel_block = channel_block,
          .after_conv = kJoinedActivations,
          .after_product = kJoinedActivations,
          .has_cubic_lines = true};
}
// conv_activation_fusion.cc: FusedConv of the CUDA provider is Conv + Relu or Conv + Add + Relu; no product has one.
inline constexpr OrtProvider kCudaProvider = {
    .after_conv = kJoinedByCudnn, .after_product = {}, .joins_sum_and_relu = true};

// All dims must be bound.
OrtKernels ort_kernels(const Model& model, const Analysis& analysis, const OrtProvider& provider);
// The kernels of the CUDA provider, in float32.
EagerKernels ort_cuda_kernels(const Model& model, const Analysis& analysis);

}  // namespace pagoda::inline core
