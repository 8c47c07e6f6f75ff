// Searches for a node order with fewer bytes alive at once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "graph/index.h"
#include "memory/liveness.h"
#include "memory/schedule.h"

namespace pagoda::inline core {

// The cost of an order.
struct OrderCost {
  const Schedule& schedule;
  const StorageSizes& sizes;
  bool in_place = false;  // operands may be overwritten

  Int peak(std::span<const std::int32_t> order) const { return peak_bytes(schedule, order, sizes, in_place); }

  // growth(): additional bytes alive after the node has run; rise(): while it runs. `left` gives the number of readers
  // of a storage that have not run yet, including this node.
  template <typename Left>
  Int growth(std::int32_t node, const Left& left) const {
    Int growth = 0;
    const Step& step = schedule.steps[index(node)];
    for (const std::int32_t written : step.writes) {
      const Storage& s = schedule.storages[index(written)];
      const bool is_needed = s.is_output || s.is_held || !s.readers.empty();
      if (s.is_in_place || is_needed)  // what continues another storage is not freed below
        growth += sizes.storages[index(s.is_in_place ? s.continues : written)];
    }
    for (const std::int32_t read : step.reads)
      if (sizes.storages[index(read)] != 0 && ends_with(read, left)) growth -= sizes.storages[index(read)];
    return growth;
  }
  template <typename Left>
  Int rise(std::int32_t node, const Left& left) const {
    Int rise = 0;
    const Step& step = schedule.steps[index(node)];
    for (const std::int32_t written : step.writes)
      if (!schedule.storages[index(written)].is_in_place) rise += sizes.storages[index(written)];
    if (step.has_body) {
      const Int body = sizes.bodies[index(node)];
      return step.body_on_top ? rise + body : std::max(rise, body);
    }
    if (in_place && rise != 0 && can_overwrite(schedule, node))
      for (const std::int32_t read : step.reads)
        if (sizes.storages[index(read)] == rise && !schedule.storages[index(read)].is_input && ends_with(read, left))
          return 0;
    return rise;
  }

 private:
  template <typename Left>
  bool ends_with(std::int32_t storage, const Left& left) const {
    const Storage& s = schedule.storages[index(storage)];
    return !s.is_output && !s.is_held && left(storage) == 1;
  }
};

// Dependencies between nodes.
struct Precedence {
  std::vector<std::vector<std::int32_t>> before, after;  // by node, each once
};
Precedence precedence_of(const Model& model);

// Whether each node occurs once, after the producers of its inputs.
bool is_topological(const Model& model, std::span<const std::int32_t> order);

// Reorders the nodes around each peak of the order, as long as that lowers the peak.
std::vector<std::int32_t> lower_peaks(const OrderCost& cost, const Precedence& precedence,
                                      std::vector<std::int32_t> order);

// An order of lower peak than the file's; empty when none was found. Near-linear in the size of the graph.
std::optional<std::vector<std::int32_t>> better_order(const Model& model, const OrderCost& cost);

}  // namespace pagoda::inline core
