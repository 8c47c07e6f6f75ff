// The bookkeeping of fusion: the reads of each node, the members of each group, and the test that a group is closed.
#include <algorithm>

#include "graph/index.h"
#include "memory/fusion.h"

namespace pagoda::inline core {
FusionGraph::FusionGraph(const Model& model, const Analysis& analysis, const Schedule& schedule,
                         std::vector<std::int32_t> appended)
    : analysis_(analysis),
      schedule_(schedule),
      opset_(model.opset("")),
      appended_(std::move(appended)),
      group_of_(schedule.steps.size(), -1),
      elements_(model.main().values.size()),
      reads_(schedule.steps.size()),
      mark_(schedule.steps.size(), 0) {}

bool FusionGraph::only_moves(std::int32_t id) const {
  if (!computes(id)) return false;
  const OpCost& cost = row(id).cost;
  if (cost.macs != Dim(0) || cost.arith != Dim(0) || cost.special != Dim(0)) return false;
  const OpKind kind = row(id).facts.kind;
  if (kind == OpKind::Transpose || kind == OpKind::Expand || kind == OpKind::Layout) return true;
  const Storage* picks =
      kind == OpKind::Gather && node(id).op_type == "Gather" ? storage_at(node(id).inputs[1]) : nullptr;
  return picks != nullptr && picks->place != StoragePlace::Device;
}

const Dim* FusionGraph::elements(ValueId value) {
  const Shape* known = shape(value);
  if (known == nullptr) return nullptr;
  std::optional<Dim>& count = elements_[index(value)];
  if (!count) count = element_count(*known);
  return &*count;
}

const NodeReads& FusionGraph::reads(std::int32_t id) {
  std::optional<NodeReads>& known = reads_[index(id)];
  if (!known) {
    known = reads_of_row(id);
    if (known->whole) read_recomputed(id, *known);
  }
  return *known;
}

// Replaces a tensor that this node recomputes by the inputs of that computation.
void FusionGraph::read_recomputed(std::int32_t id, NodeReads& reads) {
  std::vector<Access> accesses;
  for (Access& access : reads.accesses) {
    const Storage* made = storage_at(access.value);
    if (made == nullptr || !made->is_recomputed || made->readers.front() == id) {
      accesses.push_back(std::move(access));
      continue;
    }
    reads.spared += access.bytes;
    for (const Access& source : this->reads(made->producer).accesses) {
      reads.spared -= source.bytes;
      accesses.push_back(source);
    }
  }
  reads.accesses = std::move(accesses);
}

NodeReads FusionGraph::reads_of_row(std::int32_t id) const {
  NodeReads known;
  known.whole = true;
  const OpCost& cost = row(id).cost;
  const auto& inputs = node(id).inputs;
  Dim stated = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const ValueId input = inputs[i];
    if (input == kAbsent ||
        std::any_of(known.accesses.begin(), known.accesses.end(), [&](const Access& a) { return a.value == input; }))
      continue;
    const auto all = bytes(input);
    if (!all) continue;
    const bool is_whole = cost.reads_whole(static_cast<int>(i));
    Dim moved = is_whole ? *all : cost.part_read(static_cast<int>(i));
    if (!is_whole && moved == Dim(0)) continue;
    known.whole = known.whole && moved == *all;
    stated += moved;
    known.accesses.push_back({storage(input), input, std::move(moved)});
  }
  // Data in attributes, and bytes that a rule reads without stating the input.
  if (stated != cost.bytes_read) {
    known.whole = false;
    known.accesses.push_back({.bytes = cost.bytes_read - stated});
  }
  return known;
}

std::int32_t FusionGraph::add_group(GroupKind kind, std::int32_t node_id) {
  const auto id = static_cast<std::int32_t>(groups_.size());
  groups_.push_back({.kind = kind, .nodes = {node_id}, .joined_by = {Fusion::None}});
  group_of_[index(node_id)] = id;
  return id;
}

bool FusionGraph::add_closed(GroupKind kind, std::vector<std::int32_t> nodes, Fusion why) {
  std::sort(nodes.begin(), nodes.end());
  if (nodes.size() > kMaxNodes || !is_closed(nodes)) return false;
  const auto id = static_cast<std::int32_t>(groups_.size());
  for (const std::int32_t node_id : nodes) group_of_[index(node_id)] = id;
  std::vector<Fusion> joined_by(nodes.size(), why);
  joined_by.front() = Fusion::None;
  groups_.push_back({.kind = kind, .nodes = std::move(nodes), .joined_by = std::move(joined_by)});
  return true;
}

bool FusionGraph::add(std::int32_t id, std::span<const Member> added) {
  std::vector<std::int32_t> members = group(id).nodes;
  for (const Member& member : added) members.push_back(member.first);
  if (members.size() > kMaxNodes || !is_closed(members)) return false;
  Group& target = group(id);
  for (const auto& [node_id, why] : added) {
    if (const std::int32_t left = group_of(node_id); left >= 0) group(left) = {};
    const auto place = std::lower_bound(target.nodes.begin(), target.nodes.end(), node_id);
    target.joined_by.insert(target.joined_by.begin() + (place - target.nodes.begin()), why);
    target.nodes.insert(place, node_id);
    group_of_[index(node_id)] = id;
  }
  return true;
}

bool FusionGraph::merge(std::int32_t into, std::int32_t from, Fusion why) {
  if (into == from) return true;
  const Group& source = group(from);
  std::vector<Member> added;
  for (std::size_t i = 0; i < source.nodes.size(); ++i)
    added.emplace_back(source.nodes[i], source.joined_by[i] == Fusion::None ? why : source.joined_by[i]);
  return add(into, added);
}

// A union is closed when no path leaves it and comes back through other groups. Such a path can only begin at a member
// that something outside reads, so the walk goes back from the union's inputs no further than the first such member.
bool FusionGraph::is_closed(const std::vector<std::int32_t>& members) {
  const std::int32_t inside = ++stamp_;
  const std::int32_t seen = ++stamp_;
  for (const std::int32_t member : members) mark_[index(member)] = inside;
  auto first_escape = static_cast<std::int32_t>(schedule_.steps.size());
  for (const std::int32_t member : members) {
    if (member >= first_escape) continue;
    for (const std::int32_t written : schedule_.steps[index(member)].writes)
      for (const std::int32_t reader : schedule_.storages[index(written)].readers)
        if (mark_[index(reader)] != inside) first_escape = member;
  }

  std::vector<std::int32_t> pending;
  // Records the producers of a node's inputs; false when one comes from inside through an outside node.
  const auto look_behind = [&](std::int32_t id) {
    const bool is_member = mark_[index(id)] == inside;
    for (const std::int32_t read : schedule_.steps[index(id)].reads) {
      const std::int32_t from = schedule_.storages[index(read)].producer;
      if (from < 0 || mark_[index(from)] == seen) continue;
      if (mark_[index(from)] == inside) {
        if (is_member) continue;
        return false;
      }
      const std::int32_t its_group = group_of(from);
      const std::int32_t last = its_group < 0 ? from : group(its_group).nodes.back();
      if (last > first_escape) pending.push_back(from);
      mark_[index(from)] = seen;
    }
    return true;
  };
  for (const std::int32_t member : members) look_behind(member);
  for (int visits = 0; !pending.empty(); ++visits) {
    if (visits == kMaxVisits) return false;
    const std::int32_t id = pending.back();
    pending.pop_back();
    const std::int32_t alone[] = {id};
    const auto together = group_of(id) < 0 ? std::span<const std::int32_t>(alone)
                                           : std::span<const std::int32_t>(group(group_of(id)).nodes);
    for (const std::int32_t member : together) mark_[index(member)] = seen;
    for (const std::int32_t member : together)
      if (!look_behind(member)) return false;
  }
  return true;
}

}  // namespace pagoda::inline core
