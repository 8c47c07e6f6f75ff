// How many bytes a model moves between memory and the chip, under three models of what stays on the chip.
//
//   Traffic fused = traffic(model, analysis, {.model = TrafficModel::Fused});
//   fused.bytes();                        // exact; a formula where dims are free
//   for (const TrafficGroup& group : fused.groups) …   // rows that run as one kernel, why, and what that saves
//   Traffic resident = traffic(model, analysis, {.model = TrafficModel::Resident, .l2_bytes = 50'000'000});
//
// Unfused: every row reads its inputs and writes its outputs (OpCost::bytes_read and bytes_written, summed).
//
// Fused: rows form groups by the rules of fusion_rules(). A group reads each distinct tensor from outside once, writes
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
#include <span>
#include <string_view>
#include <vector>

#include "pagoda/core/analysis.h"
#include "pagoda/core/graph.h"

#pragma GCC visibility push(default)
namespace pagoda::inline core {

enum class TrafficModel : std::uint8_t { Unfused, Fused, Resident };
std::optional<TrafficModel> traffic_model(std::string_view name);  // "unfused", "fused", "resident"
std::string_view to_string(TrafficModel model);

// Why a row is in a group. In the order of fusion_rules(): a group is named after its first rule in this order.
enum class Fusion : std::uint8_t {
  Attention,
  Normalisation,
  Softmax,
  BatchNorm,
  Residual,
  Activation,
  Scale,
  Bias,
  Quantize,
  Dequantize,
  Rotation,
  SharedOperand,
  Layout,
  Elementwise,
  None,
};
std::string_view to_string(Fusion fusion);

struct FusionRule {
  Fusion fusion;
  std::string_view name;
  std::string_view joins;  // which rows
  std::string_view legal;  // when
};
std::span<const FusionRule> fusion_rules();

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
