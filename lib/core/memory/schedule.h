// The main graph in terms of memory: steps that read and write storages. A storage is the bytes that one value owns and
// its views share. The memory plan and the traffic models are based on it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "pagoda/base/small_vector.h"
#include "pagoda/core/analysis.h"
#include "pagoda/core/graph.h"

namespace pagoda::inline core {

enum class StoragePlace : std::uint8_t {
  Device,    // an activation
  Host,      // shape arithmetic
  Constant,  // a weight, or computed only from weights
};

// Storages or nodes; most lists have one or two.
using Ids = base::SmallVector<std::int32_t, 2>;

struct Storage {
  ValueId owner = kAbsent;
  std::int32_t producer = -1;  // node; -1 for inputs and weights
  StoragePlace place = StoragePlace::Device;
  bool is_input = false;          // of the graph
  bool is_output = false;         // it, or a view of it, is a graph output
  bool is_held = false;           // a member of a sequence
  int element_bits = 0;           // of the owner
  std::optional<Dim> bytes = {};  // 0 unless on the device; empty when unknown
  std::int32_t continues = -1;    // the storage that its producer updates into it: one buffer can hold both
  bool is_in_place = false;       // both share that buffer: the first has the size of the largest
  bool is_of_weights = false;     // dequantised from stored weights, or derived only from such values
  bool is_recomputed = false;     // by all readers except the one left in `readers`
  Ids readers = {};               // nodes that need the elements, ascending, each once
  Ids holds = {};                 // storages that live as long as this one: members of a sequence

  // Whether only nodes that are inside need it: it is no output, and `is_inside` holds for all readers.
  template <typename IsInside>
  bool is_private(const IsInside& is_inside) const {
    return !is_output && std::all_of(readers.begin(), readers.end(), is_inside);
  }
};

struct Step {
  std::int32_t row = -1;      // in Analysis::nodes; -1 for a call represented by its body's rows
  Mark mark = Mark::Compute;  // of that row
  bool is_pointwise = false;  // may overwrite an operand
  bool has_body = false;      // a branch, loop or call: reads what its body captures
  // Whether the body's own activations come on top of the node's outputs (loops: the results of trips accumulate) or
  // include them (branches, calls).
  bool body_on_top = false;
  GraphId body = -1;           // the graph that was entered; -1 if none was, or if its rows are one aggregate
  std::size_t body_begin = 0;  // rows of its body in Analysis::nodes
  std::size_t body_end = 0;
  std::size_t last_run = 0;  // first row of the body's last run: an unrolled loop has rows for each run
  std::unique_ptr<struct Schedule> body_schedule;  // of the graph that was entered
  Ids reads;                                       // storages, each once
  Ids writes;                                      // storages that begin here
};

struct Schedule {
  const Graph* graph = nullptr;
  std::vector<std::int32_t> storage_of;  // by ValueId; -1 for values of other graphs
  std::vector<Storage> storages;         // producers first
  std::vector<Step> steps;               // by node

  // Whether the node runs a kernel: not a view, constant or host arithmetic, and without a body.
  bool is_kernel(std::size_t node) const {
    const Step& step = steps[node];
    return !step.has_body && step.row >= 0 && (step.mark == Mark::Compute || step.mark == Mark::Unmodelled);
  }
};

Schedule schedule_of(const Model& model, const Analysis& analysis);

// One Step per node of graph `id`, whose rows begin at rows[begin]: finds the rows of each node in the flat list of an
// analysis, which also contains the rows of bodies. Sets `row`, `mark`, `has_body`, `body`, `body_begin`, `body_end`
// and `last_run`; the caller sets the rest. Rows that do not fit the graph (which analyze() never makes) leave the
// nodes without rows.
std::vector<Step> locate_steps(const Model& model, const std::vector<NodeReport>& rows, GraphId id, std::size_t begin);

// Totals::weight_bytes of an analysis whose params are counted.
Dim weight_bytes(const Model& model, const Analysis& analysis, const Schedule& schedule);

// Sets NodeReport::needed_bytes of all rows, the bytes of weights that an engine holds, and the peak of activations.
void count_memory(const Model& model, Analysis& analysis);

// The type in the file of an initializer's or a Constant node's tensor; null for a storage that another node makes.
const TensorType* stored_type(const Graph& graph, const Storage& storage);

// Bytes of a value of this type; empty when the rank is unknown or elements have no fixed width.
std::optional<Dim> bytes_of(const TensorType& type);

// The value with unbound dims at 1; 0 where that makes the size negative.
Int size_at(const Dim& bytes, const Bindings& bindings);

}  // namespace pagoda::inline core
