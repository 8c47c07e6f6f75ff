// The tensors of a model as eager execution sees them, and the kernels launched so far.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "pagoda/core/eager.h"
#include "predict/pytorch.h"
#include "predict/strides.h"

namespace pagoda::inline core {

// A tensor on the device. Floats are Float32 or Float16 as autocast leaves them, whatever the file says.
struct Tile {
  bool known = false;
  bool is_constant = false;  // a weight, or computed from weights alone
  ElementType type = ElementType::Float32;
  Sizes sizes;
  Strides strides;

  double elements() const { return element_count(sizes); }
  double bytes() const { return elements() * bits(type) / 8; }
  bool is_half() const { return type == ElementType::Float16; }
};

// Appends kernels and follows tensors. Operations take tensors by value and return what PyTorch would hand on.
class EagerState {
 public:
  EagerState(const Model& model, const Analysis& analysis, const EagerOptions& options);

  const Model& model() const { return model_; }
  const Analysis& analysis() const { return analysis_; }
  const Graph& graph() const { return model_.main(); }
  const Bindings& bindings() const { return options_.bindings; }
  bool on_cpu() const { return options_.engine.on_cpu; }
  // The type of products' operands and results.
  ElementType product_type() const {
    return options_.engine.products == Precision::Float32 ? ElementType::Float32 : ElementType::Float16;
  }
  double number(const Dim& dim) const { return static_cast<double>(dim.evaluate(bindings())); }

  // Whether the exporter removed the biases of all convolutions, as it does where they are 0: those of norms at their
  // initial values, folded into the convolutions before them.
  bool lacks_biases() const { return lacks_biases_; }

  // The row of a node of the main graph.
  const NodeReport& row_of(std::int32_t node) const { return *rows_[static_cast<std::size_t>(node)]; }

  // The tensor of a value; `known` is false if the value is absent or has no shape.
  const Tile& tile(ValueId value) const;
  void set(ValueId value, Tile tile);
  // The type and sizes that the analysis found, row-major.
  Tile declared(ValueId value) const;

  void at_row(std::int32_t row) { row_ = row; }
  const NodeReport& row() const { return analysis_.nodes[static_cast<std::size_t>(row_)]; }
  double macs() const { return number(row().cost.macs); }  // multiply-accumulates of the row
  void launch(KernelLaunch kernel);
  std::vector<KernelLaunch> take();

  // --- what the framework does before it launches a kernel ---
  // Autocast: a separate kernel, unless the tensor has the type already. Weights are cast in every step, too.
  Tile cast(Tile tile, ElementType type);
  Tile converted(Tile tile, ElementType type);  // the kernel of a cast to another type
  Tile copy(Tile tile, Strides strides);
  Tile make_contiguous(Tile tile);
  Tile make_packed(Tile tile);                   // without gaps: channels last if it is so already, else row-major
  Tile reshaped(Tile tile, const Sizes& sizes);  // a view if strides allow, else a copy

 private:
  const Model& model_;
  const Analysis& analysis_;
  const EagerOptions& options_;
  std::vector<const NodeReport*> rows_;  // by node of the main graph
  std::vector<Tile> tiles_;
  std::vector<KernelLaunch> kernels_;
  std::int32_t row_ = 0;
  bool lacks_biases_ = false;
};

// Each lowers one row and returns false if it cannot; the row then costs its counted work and bytes.
bool lower_call(EagerState& state, const Idiom& idiom);
bool lower_node(EagerState& state, const Node& node);
// Convolutions, products and attention.
bool lower_conv(EagerState& state, const Node& node, double macs);
bool lower_product(EagerState& state, std::span<const ValueId> operands, ValueId result, double macs);
bool lower_attention(EagerState& state, const Idiom& idiom);
bool lower_attention_operator(EagerState& state, const Node& node);
// Element-wise. An empty `op` is an activation idiom: its one operand counts once, however often its nodes read it.
bool lower_pointwise(EagerState& state, std::string_view op, std::span<const ValueId> operands, ValueId result);
bool lower_norm(EagerState& state, KernelClass kind, ValueId operand, ValueId result);

}  // namespace pagoda::inline core
