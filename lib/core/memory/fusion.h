// Which nodes of the main graph run as one kernel, and the bytes that each such group moves.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "graph/index.h"
#include "memory/schedule.h"
#include "pagoda/core/traffic.h"

namespace pagoda::inline core {

// The operators that a group can absorb.
enum class GroupKind : std::uint8_t {
  Contraction,  // element-wise operators after it
  Pointwise,    // the same, and reductions of its rows
  RowWise,      // the same, as long as rows stay whole
  Attention,    // a quantisation and a transpose of the result
  Dequantize,   // its only reader
  Other,
};

// Rows of full-size values: trailing axes that a reduction or norm combines. One statistic per row.
struct RowShape {
  Dim rows = 0, row = 0;  // elements = rows · row
  bool operator==(const RowShape&) const = default;
};

struct Group {
  GroupKind kind = GroupKind::Other;
  std::vector<std::int32_t> nodes;  // ascending; empty for one that was merged into another
  std::vector<Fusion> joined_by;
  Dim elements = 0;     // elements of its full-size values: Contraction, Pointwise, RowWise
  RowShape shape = {};  // RowWise
};

// A tensor that a node reads or writes, and how many of its bytes.
struct Access {
  std::int32_t storage = -1;
  ValueId value = kAbsent;
  Dim bytes;
};

struct NodeReads {
  std::vector<Access> accesses;  // their bytes sum to the row's bytes_read, less `spared`
  bool whole = false;            // each is read in full, once
  Dim spared = 0;                // bytes saved by recomputing tensors from narrower numbers
};

// The partition of a graph's kernels into groups, while it is built.
class FusionGraph {
 public:
  static constexpr std::size_t kMaxNodes = 64;  // in a group: larger ones would exceed registers and code size
  static constexpr int kMaxVisits = 256;        // nodes visited before a merge counts as not provably legal

  // `appended`: by node, the storage that a Concat extends in place, else -1; empty if no rule reads appended().
  FusionGraph(const Model& model, const Analysis& analysis, const Schedule& schedule,
              std::vector<std::int32_t> appended = {});

  const Analysis& analysis() const { return analysis_; }
  const Schedule& schedule() const { return schedule_; }
  std::int64_t opset() const { return opset_; }

  // --- nodes ---
  const Node& node(std::int32_t id) const { return schedule_.graph->node(id); }
  std::int32_t appended(std::int32_t node) const { return appended_[index(node)]; }
  const NodeReport& row(std::int32_t id) const { return analysis_.nodes[index(schedule_.steps[index(id)].row)]; }
  // Null where the node is not a kernel, or cannot fuse.
  const OpFacts* op(std::int32_t id) const {
    return computes(id) && is_fusible(row(id).facts.kind) ? &row(id).facts : nullptr;
  }
  bool is_attention(std::int32_t id) const { return computes(id) && row(id).facts.kind == OpKind::Attention; }
  bool only_moves(std::int32_t id) const;  // a kernel that moves elements and computes nothing
  const NodeReads& reads(std::int32_t node);
  ValueId output(std::int32_t id) const { return node(id).output(0); }

  // --- values ---
  const Shape* shape(ValueId value) const { return shape_of(analysis_, value); }  // null when unknown
  std::optional<Dim> bytes(ValueId value) const { return bytes_of(analysis_.types[index(value)]); }
  const Dim* elements(ValueId value);  // null when unknown
  std::int32_t storage(ValueId value) const { return value == kAbsent ? -1 : schedule_.storage_of[index(value)]; }
  const Storage* storage_at(ValueId value) const {
    const std::int32_t id = storage(value);
    return id < 0 ? nullptr : &schedule_.storages[index(id)];
  }
  // The kernel that computes it; -1 for inputs, weights, bodies.
  std::int32_t producer(ValueId value) const {
    const Storage* from = storage_at(value);
    const bool is_computed = from != nullptr && from->place == StoragePlace::Device && from->producer >= 0;
    return is_computed && schedule_.is_kernel(index(from->producer)) ? from->producer : -1;
  }
  std::int32_t maker(ValueId value) const {  // the group of that kernel; -1 if there is none
    const std::int32_t from = producer(value);
    return from < 0 ? -1 : group_of(from);
  }
  // The one node that needs it; -1 if others do, or for an output.
  std::int32_t only_reader(ValueId value) const {
    const Storage* made = storage_at(value);
    return made == nullptr || made->is_output || made->readers.size() != 1 ? -1 : made->readers.front();
  }

  // --- groups ---
  std::int32_t group_of(std::int32_t node) const { return group_of_[index(node)]; }
  Group& group(std::int32_t id) { return groups_[index(id)]; }
  std::span<const Group> groups() const { return groups_; }

  std::int32_t add_group(GroupKind kind, std::int32_t node);
  using Member = std::pair<std::int32_t, Fusion>;  // a node, and the rule that joins it
  // Adds nodes without a group, and all nodes of other groups, to `group` if the union is closed and small enough.
  bool add(std::int32_t group, std::span<const Member> added);
  bool join(std::int32_t group, std::int32_t node, Fusion why) { return add(group, std::array{Member(node, why)}); }
  bool merge(std::int32_t into, std::int32_t from, Fusion why);
  // Forms a new group from nodes without a group.
  bool add_closed(GroupKind kind, std::vector<std::int32_t> nodes, Fusion why);

 private:
  bool computes(std::int32_t id) const {  // it is a kernel that is modelled
    return schedule_.is_kernel(index(id)) && schedule_.steps[index(id)].mark == Mark::Compute;
  }
  NodeReads reads_of_row(std::int32_t node) const;
  void read_recomputed(std::int32_t node, NodeReads& reads);
  bool is_closed(const std::vector<std::int32_t>& members);

  const Analysis& analysis_;
  const Schedule& schedule_;
  const std::int64_t opset_;
  const std::vector<std::int32_t> appended_;  // by node
  std::vector<std::int32_t> group_of_;        // by node
  std::vector<Group> groups_;
  std::vector<std::optional<Dim>> elements_;     // by value
  std::vector<std::optional<NodeReads>> reads_;  // by node
  std::vector<std::int32_t> mark_;               // by node: stamp of the last visit
  std::int32_t stamp_ = 0;
};

// Order of passes: first patterns with several products or with halves, before other rules claim their nodes; then the
// rules for the nodes after a kernel, in one pass; last the rules that need all groups: layouts, and products that
// share an operand.
void fuse_attention(FusionGraph& graph);
void fuse_rotations(FusionGraph& graph);
void fuse_in_order(FusionGraph& graph);
void fuse_layouts(FusionGraph& graph);
void fuse_shared_operands(FusionGraph& graph);

// A group, or a node with a body. Each row of a body moves its own bytes.
struct MovedUnit {
  std::vector<std::int32_t> nodes;  // ascending
  bool has_body = false;
  TrafficGroup traffic = {};        // of a group
  std::vector<Access> reads = {};   // of a group, from outside, each storage once
  std::vector<Access> writes = {};  // of a group, read outside
};

// By node: its unit; -1 for nodes in none.
std::vector<std::int32_t> unit_of_nodes(std::span<const MovedUnit> units, std::size_t nodes);

// Lets each reader of a DequantizeLinear dequantise by itself, if all can: its output then need not reach memory.
void recompute_dequantised(const Model& model, const Analysis& analysis, Schedule& schedule);

// In an order in which they can run.
std::vector<MovedUnit> fuse(const Model& model, const Analysis& analysis, const Schedule& schedule);

}  // namespace pagoda::inline core
