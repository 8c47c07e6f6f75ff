// Bytes that a model moves between memory and the chip, under three models of the tensors that stay on the chip.
//
//   Traffic fused = traffic(model, analysis, {.model = TrafficModel::Fused});
//   fused.bytes();                        // exact; a formula where dims are free
//   for (const TrafficGroup& group : fused.groups) …   // rows that run as one kernel, why, and what that saves
//   Traffic resident = traffic(model, analysis, {.model = TrafficModel::Resident, .l2_bytes = 50'000'000});
//
// Unfused: every row reads its inputs and writes its outputs (OpCost::bytes_read and bytes_written, summed).
//
// Fused: rows form groups by the rules of Fusion. A group reads each distinct tensor from outside once, writes
// each tensor that something outside reads (or that is an output of the model) once, and moves nothing else. A group is
// closed: no path between two of its rows leaves it. Rules look at the graph, never at sizes, so that the formula holds
// for every binding; a row of a normalisation and a tile of a product are assumed to fit on the chip. Rows of branches,
// loop bodies and functions are groups of one.
//
// Caches: under every model, an operator that takes a past and returns a present, and TensorScatter, read the rows that
// queries need and write the new ones, since engines bind both to one buffer. A Concat copies, as in the file; in the
// fused model, a Concat that extends an input into an output also appends in place, as in engines whose tensors may
// grow. Bounds hold in both cases; the extra bytes of a copy are KvCache::copied_bytes (memory.h).
//
// Resident: groups as in Fused run in sequence on an L2 cache of `l2_bytes`, which starts cold and keeps or evicts
// whole tensors, least recently used first. Tensors that a group writes enter the cache; tensors that it reads enter if
// they will be read again. A tensor larger than the cache, or of which only selected elements are read, bypasses it. A
// tensor evicted before its last reader runs, and an output of the model, is written to memory once; a tensor that is
// never read again is dropped without a write. Bodies read and write memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "pagoda/core/analysis.h"
#include "pagoda/core/graph.h"

#pragma GCC visibility push(default)
namespace pagoda::inline core {

enum class TrafficModel : std::uint8_t { Unfused, Fused, Resident };
std::optional<TrafficModel> traffic_model(std::string_view name);  // "unfused", "fused", "resident"
std::vector<std::string_view> traffic_model_names();
std::string_view to_string(TrafficModel model);

// Why a row is in a group: which rows a rule joins, and when. A group is named after its first rule in this order. That
// the group is closed (no path leaves it and comes back) and its size are conditions of every rule; a tensor that
// something outside also reads is still written.
enum class Fusion : std::uint8_t {
  // Q·Kᵀ, element-wise operators on the scores (scale, mask, softcap), Softmax along the keys, element-wise operators
  // on the probabilities, the product with V; transposes, Expand and scalar factors of Q, K and V; a Transpose of the
  // result; an attention operator with the Expand that repeats its key heads. When: every tensor between them is read
  // inside only; scores and probabilities have the same number of elements.
  Attention,
  // Reductions and norms (LayerNormalization, RMSNormalization …) along the last axes, with the element-wise operators
  // on the same rows and on their statistics. When: all members share the rows: operands have all elements, or one a
  // row, equal in the leading axes and 1 in the others.
  Normalisation,
  // Softmax or LogSoftmax along the last axis after element-wise operators or a norm. When: as for normalisation.
  Softmax,
  // BatchNormalization (inference) after a convolution or product. When: its operand has as many elements as its
  // output.
  BatchNorm,
  // Add, Sub or Sum of a product's output and another tensor of the same size. When: as for batch-norm; the other
  // tensor does not depend on the group.
  Residual,
  // Any other element-wise operator after a convolution or product: Relu, Sigmoid, GELU and its parts, a gate. When: as
  // for batch-norm; unless a norm of rows begins with it and the product's output is written anyway.
  Activation,
  // Mul or Div of a product's output by a constant or smaller tensor. When: as for batch-norm.
  Scale,
  // Add, Sub or Sum of a product's output and a constant or smaller tensor of more than one element. When: as for
  // batch-norm.
  Bias,
  // QuantizeLinear after any kernel.
  Quantize,
  // DequantizeLinear before any kernel that reads its inputs in full; between QuantizeLinear and an element-wise
  // operator. When: all readers are such kernels, each of which dequantises for itself; the work is counted once.
  Dequantize,
  // Rotary positions written out: x · cos + concat(−x₂, x₁) · sin of the halves of x. When: only the group reads the
  // halves and the tensors made of them.
  Rotation,
  // Products of one tensor with several weights: queries, keys and values; a gate and its operand. When: the operand is
  // the same and read in full; weights are constants; no product depends on another.
  SharedOperand,
  // Transpose, Slice, Split, Expand, Concat, Pad, SpaceToDepth, Gather by constant indices and other operators that
  // only move elements, with the kernel that reads the result, else with the kernel that made the operands. When: one
  // kernel reads all results, or one kernel made all operands; caches that are lengthened in place stay apart.
  Layout,
  // Element-wise operators after, and between, element-wise operators and norms. When: operands from inside have as
  // many elements as the output.
  Elementwise,
  None,
};
std::string_view to_string(Fusion fusion);

struct TrafficOptions {
  TrafficModel model = TrafficModel::Unfused;
  std::int64_t l2_bytes = 0;  // for Resident
  Bindings bindings = {};     // for Resident: values of free dims; those missing are 1
};

struct TrafficGroup {
  Fusion rule = Fusion::None;      // None for a group of one
  std::vector<std::int32_t> rows;  // in Analysis::nodes, ascending
  std::vector<Fusion> joined_by;   // per row; None for the row that the others joined
  OpCost cost;                     // the rows' work, and the bytes that the group moves
  Dim saved;                       // extra bytes that the same rows move one by one
};

// A tensor that stayed in the cache for at least one reader.
struct ResidentTensor {
  ValueId value = kAbsent;
  Int bytes = 0;
  Int bytes_saved = 0;     // by reads and the write that did not reach memory
  bool in_memory = false;  // whether it was nevertheless read from or written to memory
  Name name = {};          // of the value
};

struct Traffic {
  TrafficModel model = TrafficModel::Unfused;
  std::vector<TrafficGroup> groups;    // in an order in which they can run; their costs sum to the totals
  std::vector<std::int32_t> group_of;  // by row; -1 for rows that run nothing (views, constants, host arithmetic)
  Dim bytes_read, bytes_written;       // numbers for Resident
  std::vector<ResidentTensor> stayed;  // for Resident, in the order of values

  Dim bytes() const { return bytes_read + bytes_written; }
};

// Where a row is unmodelled, the traffic is a lower bound, as the totals are.
Traffic traffic(const Model& model, const Analysis& analysis, const TrafficOptions& options = {});

}  // namespace pagoda::inline core
#pragma GCC visibility pop
