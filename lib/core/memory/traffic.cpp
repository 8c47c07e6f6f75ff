// Traffic under each model: single rows, fused groups, groups with a cache.
#include "pagoda/core/traffic.h"

#include <algorithm>
#include <list>

#include "graph/index.h"
#include "memory/fusion.h"
#include "pagoda/base/enum_names.h"

namespace pagoda::inline core {
namespace {

constexpr base::EnumNames<TrafficModel::Resident> kModels("unfused", "fused", "resident");
constexpr base::EnumNames<Fusion::None> kFusions("attention", "normalisation", "softmax", "batch-norm", "residual",
                                                 "activation", "scale", "bias", "quantize", "dequantize", "rotation",
                                                 "shared-operand", "layout", "elementwise", "");

bool runs(const NodeReport& row) { return row.cost.mark == Mark::Compute || row.cost.mark == Mark::Unmodelled; }

void add_group(Traffic& traffic, TrafficGroup group) {
  for (const std::int32_t row : group.rows)
    traffic.group_of[index(row)] = static_cast<std::int32_t>(traffic.groups.size());
  traffic.groups.push_back(std::move(group));
}

// Sums pairwise, so that formulas of many terms are copied only a few times.
Dim sum(const Traffic& traffic, Dim OpCost::*bytes, std::size_t begin, std::size_t end) {
  if (begin == end) return 0;
  if (end - begin == 1) return traffic.groups[begin].cost.*bytes;
  const std::size_t middle = begin + (end - begin) / 2;
  return sum(traffic, bytes, begin, middle) + sum(traffic, bytes, middle, end);
}

void add_rows(Traffic& traffic, const Analysis& analysis, std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i)
    if (runs(analysis.nodes[i]))
      add_group(traffic, {.rows = {static_cast<std::int32_t>(i)},
                          .joined_by = {Fusion::None},
                          .cost = analysis.nodes[i].cost,
                          .saved = 0});
}

// A node with a body has its own row (for example an aggregate) and those of the body.
std::pair<std::size_t, std::size_t> rows_of_body(const Schedule& schedule, const Analysis& analysis,
                                                 std::int32_t node) {
  const Step& step = schedule.steps[index(node)];
  const std::size_t begin = step.row >= 0 ? index(step.row) : step.body_begin;
  std::size_t end = std::max(step.body_end, step.row >= 0 ? begin + 1 : begin);
  // An aggregate follows the node's own row.
  while (end < analysis.nodes.size() && step.row >= 0 && step.body < 0 && analysis.nodes[end].graph == 0 &&
         analysis.nodes[end].node == node)
    ++end;
  return {begin, end};
}

// --- groups with a cache of whole tensors that evicts the least recently used first ---

struct CacheResult {
  std::vector<std::pair<Int, Int>> moved;  // bytes read and written, by unit (0 for units with a body)
  std::vector<ResidentTensor> stayed;
};

struct Entry {
  Int bytes = 0;
  bool is_cached = false;
  bool is_dirty = false;        // written by a group, but not yet to memory
  std::int32_t writer = -1;     // unit that is charged for the write
  std::int32_t last_unit = -1;  // the last to read it
  Int saved = 0;
  bool met_memory = false;
  std::list<std::int32_t>::iterator place = {};  // in the order of use, while cached
};

class Cache {
 public:
  Cache(std::span<const MovedUnit> units, const Schedule& schedule, const TrafficOptions& options)
      : units_(units), schedule_(schedule), options_(options), entries_(schedule.storages.size()) {
    result_.moved.assign(units.size(), {0, 0});
  }

  CacheResult run() {
    find_last_readers();
    for (std::size_t u = 0; u < units_.size(); ++u) {
      const auto id = static_cast<std::int32_t>(u);
      if (units_[u].has_body)
        run_body(id, units_[u].nodes.front());
      else
        run_group(id, units_[u]);
    }
    for (std::size_t s = 0; s < entries_.size(); ++s)
      if (entries_[s].is_cached) drop(static_cast<std::int32_t>(s), true);
    for (std::size_t s = 0; s < entries_.size(); ++s)
      if (entries_[s].saved > 0)
        result_.stayed.push_back(
            {schedule_.storages[s].owner, entries_[s].bytes, entries_[s].saved, entries_[s].met_memory});
    return std::move(result_);
  }

 private:
  void find_last_readers() {
    const std::vector<std::int32_t> unit_of = unit_of_nodes(units_, schedule_.steps.size());
    for (std::size_t s = 0; s < entries_.size(); ++s)
      for (const std::int32_t reader : schedule_.storages[s].readers)
        entries_[s].last_unit = std::max(entries_[s].last_unit, unit_of[index(reader)]);
    // The members of a sequence are read when the sequence is.
    for (std::size_t s = entries_.size(); s-- > 0;)
      for (const std::int32_t member : schedule_.storages[s].holds)
        entries_[index(member)].last_unit = std::max(entries_[index(member)].last_unit, entries_[s].last_unit);
  }

  void run_group(std::int32_t id, const MovedUnit& unit) {
    auto& [bytes_read, bytes_written] = result_.moved[index(id)];
    for (const Access& read : unit.reads) {
      const Int bytes = size_at(read.bytes, options_.bindings);
      if (bytes == 0) continue;
      Entry* entry = read.storage < 0 ? nullptr : &entries_[index(read.storage)];
      if (entry != nullptr && entry->is_cached) {
        entry->saved += bytes;
        order_.splice(order_.begin(), order_, entry->place);
        continue;
      }
      bytes_read += bytes;
      if (entry == nullptr) continue;
      entry->met_memory = true;
      // Partial tensors bypass the cache, and so do tensors that nobody reads again.
      const bool is_whole =
          schedule_.storages[index(read.storage)].place != StoragePlace::Device || bytes == size_of(read.storage);
      if (entry->last_unit > id && is_whole) insert(read.storage, bytes, false, id);
    }
    for (const Access& write : unit.writes) {
      const Int bytes = size_at(write.bytes, options_.bindings);
      if (bytes == 0) continue;
      const bool is_needed = write.storage >= 0 && (schedule_.storages[index(write.storage)].is_output ||
                                                    entries_[index(write.storage)].last_unit >= 0);
      // Rows written by an in-place update bypass the cache, as partial reads do.
      const bool is_whole = write.storage < 0 || bytes == size_of(write.storage);
      if (!is_needed || !is_whole || bytes > options_.l2_bytes) {
        bytes_written += bytes;
        if (write.storage >= 0) entries_[index(write.storage)].met_memory = true;
        continue;
      }
      insert(write.storage, bytes, true, id);
    }
    for (const Access& read : unit.reads) leave_if_last(read.storage, id);
  }

  // A body reads memory, so the tensors it needs must be written back.
  void run_body(std::int32_t id, std::int32_t node) {
    for (const std::int32_t read : schedule_.steps[index(node)].reads) {
      if (entries_[index(read)].is_dirty) write_back(entries_[index(read)]);
      leave_if_last(read, id);
    }
  }

  Int size_of(std::int32_t storage) const {
    const auto& bytes = schedule_.storages[index(storage)].bytes;
    return bytes ? size_at(*bytes, options_.bindings) : -1;
  }

  void insert(std::int32_t id, Int bytes, bool is_dirty, std::int32_t unit) {
    if (bytes > options_.l2_bytes) return;
    Entry& entry = entries_[index(id)];
    if (entry.is_cached) return;
    while (used_ + bytes > options_.l2_bytes) drop(order_.back(), true);
    used_ += bytes;
    order_.push_front(id);
    entry.bytes = bytes;
    entry.is_cached = true;
    entry.is_dirty = is_dirty;
    if (is_dirty) entry.writer = unit;
    entry.place = order_.begin();
  }

  void write_back(Entry& entry) {
    result_.moved[index(entry.writer)].second += entry.bytes;
    entry.is_dirty = false;
    entry.met_memory = true;
  }

  void drop(std::int32_t id, bool is_needed) {
    Entry& entry = entries_[index(id)];
    if (entry.is_dirty && is_needed) write_back(entry);
    if (entry.is_dirty) entry.saved += entry.bytes;
    entry.is_cached = entry.is_dirty = false;
    used_ -= entry.bytes;
    order_.erase(entry.place);
  }

  void leave_if_last(std::int32_t id, std::int32_t unit) {
    if (id >= 0 && entries_[index(id)].is_cached && entries_[index(id)].last_unit <= unit &&
        !schedule_.storages[index(id)].is_output)
      drop(id, false);
  }

  std::span<const MovedUnit> units_;
  const Schedule& schedule_;
  const TrafficOptions& options_;
  std::vector<Entry> entries_;     // by storage
  std::list<std::int32_t> order_;  // cached storages, most recently used first
  Int used_ = 0;
  CacheResult result_;
};

// Adds the groups of the fused graph, and the rows of each node with a body.
void add_units(Traffic& result, const Model& model, const Analysis& analysis, const TrafficOptions& options) {
  Schedule schedule = schedule_of(model, analysis);
  recompute_dequantised(model, analysis, schedule);
  std::vector<MovedUnit> units = fuse(model, analysis, schedule);
  CacheResult cached;
  const bool is_resident = options.model == TrafficModel::Resident;
  if (is_resident) cached = Cache(units, schedule, options).run();
  for (std::size_t u = 0; u < units.size(); ++u) {
    if (units[u].has_body) {
      const auto [begin, end] = rows_of_body(schedule, analysis, units[u].nodes.front());
      add_rows(result, analysis, begin, end);
      continue;
    }
    TrafficGroup& group = units[u].traffic;
    if (is_resident) {
      const Int unfused = size_at(group.saved + group.cost.bytes(), options.bindings);
      group.cost.bytes_read = cached.moved[u].first;
      group.cost.bytes_written = cached.moved[u].second;
      group.saved = Dim(unfused) - group.cost.bytes();
    }
    add_group(result, std::move(group));
  }
  // Rows that the graph does not account for (see locate_steps) still move their bytes.
  for (std::size_t i = 0; i < analysis.nodes.size(); ++i)
    if (runs(analysis.nodes[i]) && result.group_of[i] < 0) add_rows(result, analysis, i, i + 1);
  result.stayed = std::move(cached.stayed);
  for (ResidentTensor& tensor : result.stayed) tensor.name = model.main().value(tensor.value).name;
  if (!is_resident) return;
  for (TrafficGroup& group : result.groups) {  // rows of bodies still have formulas
    group.cost.bytes_read = size_at(group.cost.bytes_read, options.bindings);
    group.cost.bytes_written = size_at(group.cost.bytes_written, options.bindings);
  }
}

}  // namespace

std::string_view to_string(Fusion fusion) { return kFusions[fusion]; }
std::optional<TrafficModel> traffic_model(std::string_view name) { return kModels.value(name); }
std::vector<std::string_view> traffic_model_names() { return kModels.all(); }
std::string_view to_string(TrafficModel model) { return kModels[model]; }

Traffic traffic(const Model& model, const Analysis& analysis, const TrafficOptions& options) {
  Traffic result;
  result.model = options.model;
  result.group_of.assign(analysis.nodes.size(), -1);
  if (options.model == TrafficModel::Unfused) {
    add_rows(result, analysis, 0, analysis.nodes.size());
  } else {
    add_units(result, model, analysis, options);
  }
  result.bytes_read = sum(result, &OpCost::bytes_read, 0, result.groups.size());
  result.bytes_written = sum(result, &OpCost::bytes_written, 0, result.groups.size());
  return result;
}

}  // namespace pagoda::inline core
