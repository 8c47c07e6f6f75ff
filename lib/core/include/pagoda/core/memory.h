// The memory plan of a model: the lifetime of each activation, their peak, and an offset for each in one arena.
//
//   MemoryPlan plan = plan_memory(model, analysis, {.bindings = {{"batch", 8}}, .in_place = true});
//   plan.peak_bytes;                                       // at plan.peak_step, made of plan.peak_tensors
//   plan.arena_bytes;                                      // offsets in plan.tensors[i].offset
//   if (plan.reordered) plan.reordered->order;             // nodes in an order that needs less
//
// The rules. A tensor lives from the node that writes it (a graph input: from the start) to the last node that reads
// its elements (a graph output: to the end); reading its shape does not count. A view (Reshape, Squeeze, Identity …)
// shares the bytes of its source, which live as long as any view of them. A sequence keeps its members alive. A branch,
// loop body or function needs the peak of its own activations while its node runs; for a data-dependent If, the
// costlier branch counts, as in the totals. Not counted: weights and values computed only from them (see
// MemoryPlan::weights), shape arithmetic on the host, kernel workspace, and allocator overhead. Where sizes are free,
// numbers are for 1 in each free dim and each data-dependent size.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pagoda/core/analysis.h"
#include "pagoda/core/graph.h"

#pragma GCC visibility push(default)
namespace pagoda::inline core {

// For reports: the memory that the peak leaves out.
inline constexpr std::string_view kMemoryPlanExcludes =
    "weights, constants, host values, kernel workspace, allocator overhead";

struct MemoryOptions {
  Bindings bindings = {};                // values of free dims; those missing are 1
  bool in_place = false;                 // element-wise operators overwrite an operand of the same size on its last use
  bool reorder = true;                   // search for a node order that lowers the peak
  bool arena = true;                     // compute offsets
  std::int64_t alignment = 64;           // of offsets, in bytes
  std::vector<std::int32_t> order = {};  // main-graph nodes in the order to plan for; empty: the file's
};

// An activation that owns bytes, and the views and in-place results that share them.
struct PlannedTensor {
  ValueId value = kAbsent;           // the first to occupy the bytes
  Name name = {};                    // of that value
  std::vector<Name> shared_by = {};  // the others
  Int bytes = 0;
  std::int32_t first_step = 0;  // positions in MemoryPlan::order, both inclusive
  std::int32_t last_step = 0;
  std::optional<Int> offset = {};  // in the arena; empty without one
  std::int32_t body_of = -1;       // activations inside a branch, loop body or function: its node; no value
};

struct WeightBytes {
  ElementType element = ElementType::Undefined;
  std::int64_t tensors = 0;
  Int elements = 0;
  Int bytes = 0;
};

// A graph input with past keys, values or states, and the output that returns them with the new tokens.
struct CachePair {
  static constexpr int kState = -1;  // as `axis`: a state of fixed size, rewritten by every run

  ValueId past = kAbsent;
  ValueId present = kAbsent;
  int axis = 0;         // the axis along which it grows
  Dim bytes_per_token;  // size of one entry along that axis, for the whole batch; of one token if paged; 0 for a state
  Dim tokens_per_page = 0;  // tokens per block of PagedAttention's cache; 0 for a contiguous cache
  // Whether the operator that produces the present reuses the past's buffer. A Concat does not: it copies.
  bool is_in_place = false;
  bool is_fixed = false;  // past and present have the same shape: a state, or a buffer whose capacity the caller sets
};

struct KvCache {
  std::vector<CachePair> pairs;  // in the order of the outputs
  Dim bytes_per_token;           // of all pairs
  Dim past_bytes;                // of all past inputs
  // Bytes of the caches when past and present of each pair share a buffer, as in serving engines (and in the plan's
  // peak for in-place pairs); and when the caller provides separate buffers.
  Dim shared_bytes, separate_bytes;
  // Bytes that a run writes in place: the new tokens, and states in full. And bytes that it moves in addition where
  // each present is a copy: an operator rewrites the past's rows, a Concat reads and writes them.
  Dim written_bytes, copied_bytes;

  Dim fixed_bytes;  // of the pairs whose size does not grow with tokens

  // Bytes of all pairs when each of `sequences` sequences, the batch of bytes_per_token, holds `tokens` tokens. Paged
  // caches round up to ceil_div(tokens, tokens_per_page) pages per sequence. Fixed pairs keep their size.
  Dim bytes_after(const Dim& tokens, const Dim& sequences) const;
};
// The caches of the main graph, as in MemoryPlan::kv_cache.
KvCache find_kv_cache(const Model& model, const Analysis& analysis);

struct ReorderedPlan {
  std::vector<std::int32_t> order;  // main-graph nodes; a valid input for MemoryOptions::order
  Int peak_bytes = 0;
  std::optional<Int> arena_bytes;
};

struct MemoryPlan {
  Int peak_bytes = 0;
  std::optional<Dim> peak_formula;        // exact for all sizes; empty when it grows too complex or a size is unknown
  std::int32_t peak_step = 0;             // the first step that reaches the peak
  std::vector<std::size_t> peak_tensors;  // indices in `tensors` of those alive at the peak, largest first
  std::vector<std::int32_t> order;        // main-graph node run at each step
  std::vector<Int> timeline;              // bytes alive while each step runs
  std::vector<PlannedTensor> tensors;     // by first step
  std::optional<Int> arena_bytes;         // ≥ peak_bytes
  std::vector<WeightBytes> weights;       // by element type; together Totals::param_bytes
  KvCache kv_cache;
  std::optional<ReorderedPlan> reordered;  // only where it lowers the peak
  // Activations of unknown size (for example of unknown rank), and nodes whose bodies have some: the peak is then a
  // lower bound.
  std::vector<Name> unsized;
  std::vector<std::int32_t> unsized_bodies;
};

// Throws Error when MemoryOptions::order is not a topological order of the main graph.
MemoryPlan plan_memory(const Model& model, const Analysis& analysis, const MemoryOptions& options = {});

}  // namespace pagoda::inline core
#pragma GCC visibility pop
