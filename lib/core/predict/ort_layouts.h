// The layout of each tensor while ONNX Runtime's kernels are found, and the reorders and transposes between kernels.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "pagoda/core/onnxruntime.h"
#include "predict/tensors.h"

namespace pagoda::inline core {

// The kernels of one graph so far, in order, with the layouts of the values that they write.
class OrtLayouts : public Tensors {
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
      : Tensors(analysis), layouts_(graph.values.size(), Layout::Plain) {}

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
  // The engine pushes transposes down the graph and cancels inverse pairs, so each is deferred until a kernel needs its
  // order.
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

}  // namespace pagoda::inline core
