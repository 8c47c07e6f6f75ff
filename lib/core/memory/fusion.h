// Which nodes of the main graph run as one kernel, and the bytes that such a group moves.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "memory/schedule.h"
#include "pagoda/core/traffic.h"

namespace pagoda::inline core {

// What a group can take in.
enum class GroupKind : std::uint8_t {
  Contraction,  // what follows element by element
  Pointwise,    // the same, and reductions of its rows
  RowWise,      // the same, as long as rows stay whole
  Attention,    // a quantisation and the order of axes of the result
  Dequantize,   // its only reader
  Other,
};

struct Group {
  GroupKind kind = GroupKind::Other;
  std::vector<std::int32_t> nodes;  // ascending; empty for one that was merged into another
  std::vector<Fusion> joined_by;
  Dim elements = 0;       // of its full-size values: Contraction, Pointwise, RowWise
  Dim rows = 0, row = 0;  // RowWise: elements = rows · row, one statistic a row
};

// A tensor that a node needs, and how many of its bytes.
struct Access {
  std::int32_t storage = -1;
  ValueId value = kAbsent;
  Dim bytes;
};

struct NodeReads {
  std::vector<Access> accesses;  // their bytes sum to the row's bytes_read, less `spared`
  bool whole = false;            // each is read in full, once
  Dim spared = 0;                // by reading what is recomputed from narrower numbers
};

// The partition of a graph's kernels into groups while it is made.
class FusionGraph {
 public:
  static constexpr std::size_t kMaxNodes = 64;  // in a group: beyond, registers and code would not hold it
  static constexpr int kMaxVisits = 256;        // nodes to look at before a merge is given up as not provably legal

  FusionGraph(const Model& model, const Analysis& analysis, const Schedule& schedule);

  const Schedule& schedule() const { return schedule_; }
  const Node& node(std::int32_t id) const { return schedule_.graph->nodes[static_cast<std::size_t>(id)]; }
  const OpFacts* op(std::int32_t id) const;  // null where the node is no kernel, or none that fuses
  bool is_attention(std::int32_t id) const;  // a kernel that is attention in itself
  bool only_moves(std::int32_t id) const;    // a kernel that puts elements in other places, and computes nothing
  const Analysis& analysis() const { return analysis_; }
  const Shape* shape(ValueId value) const;  // null when unknown
  const Dim* elements(ValueId value);       // null when unknown
  const NodeReads& reads(std::int32_t node);
  std::int32_t storage(ValueId value) const {
    return value == kAbsent ? -1 : schedule_.storage_of[static_cast<std::size_t>(value)];
  }
  const Storage* storage_at(ValueId value) const;
  std::int32_t producer(ValueId value) const;  // the kernel that computes it; -1 for inputs, weights, bodies
  ValueId output(std::int32_t node) const;     // of a node with one output; else kAbsent
  std::int32_t group_of(std::int32_t node) const { return group_of_[static_cast<std::size_t>(node)]; }
  Group& group(std::int32_t id) { return groups_[static_cast<std::size_t>(id)]; }
  std::span<const Group> groups() const { return groups_; }

  std::int32_t add_group(GroupKind kind, std::int32_t node);
  // Puts nodes and whole groups into `group` when the union is closed and small enough.
  bool join(std::int32_t group, std::int32_t node, Fusion why);
  // Puts a node that is a group of its own and its reader into `group`, both or neither.
  bool join_after(std::int32_t group, std::int32_t alone, Fusion why_alone, std::int32_t reader, Fusion why_reader);
  bool merge(std::int32_t into, std::int32_t from, Fusion why);
  // A new group of nodes that are in none.
  bool add_closed(GroupKind kind, std::vector<std::int32_t> nodes, Fusion why);

 private:
  NodeReads reads_as_stated(std::int32_t node) const;
  void read_recomputed(std::int32_t node, NodeReads& reads);
  bool is_closed(const std::vector<std::int32_t>& members);

  const Analysis& analysis_;
  const Schedule& schedule_;
  std::vector<std::int32_t> group_of_;  // by node
  std::vector<Group> groups_;
  std::vector<std::optional<Dim>> elements_;     // by value
  std::vector<std::optional<NodeReads>> reads_;  // by node
  std::vector<std::int32_t> mark_;               // by node: stamp of the last look
  std::int32_t stamp_ = 0;
};

// The patterns of several products or of halves, before everything else claims their nodes; then the rules for what
// follows a kernel, in one pass; then what needs all groups: layouts, and products that share an operand.
void fuse_attention(const Model& model, FusionGraph& graph);
void fuse_rotations(FusionGraph& graph);
void fuse_in_order(const Model& model, FusionGraph& graph);
void fuse_layouts(FusionGraph& graph, std::span<const std::int32_t> appended);
void fuse_shared_operands(FusionGraph& graph);

// The bytes that a group, or a node with a body, moves.
struct MovedUnit {
  std::int32_t group = -1;
  std::int32_t node = -1;           // of one with a body
  std::vector<Access> reads = {};   // from outside, each storage once (groups)
  std::vector<Access> writes = {};  // needed outside
  Dim read_bytes = 0, written_bytes = 0, saved = 0;
  // The precision in which all products of the group multiply, where they dequantise their operands themselves.
  ElementType multiplies = ElementType::Undefined;
};

struct FusedGraph {
  std::vector<Group> groups;
  std::vector<MovedUnit> units;  // in an order in which they can run
};

// Lets each reader of a DequantizeLinear dequantise for itself, where all can: its output need not reach memory then.
void recompute_dequantised(const Model& model, const Analysis& analysis, Schedule& schedule);

// By node: the storage that a Concat lengthens where it is, a past that only it reads on its way to being the present;
// -1 for others.
std::vector<std::int32_t> appended_caches(const Model& model, const Analysis& analysis, const Schedule& schedule);

FusedGraph fuse(const Model& model, const Analysis& analysis, const Schedule& schedule);

// What reaches memory when units run one after another before a cache.
struct CacheResult {
  std::vector<std::pair<Int, Int>> moved;  // bytes read and written, by unit (nothing for those with a body)
  std::vector<ResidentTensor> stayed;
};
CacheResult run_cached(const FusedGraph& fused, const Schedule& schedule, const TrafficOptions& options);

}  // namespace pagoda::inline core
