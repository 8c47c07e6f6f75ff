// When each storage of a schedule is alive, and the resulting peak, as a formula and as numbers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "memory/schedule.h"

namespace pagoda::inline core {

struct Lifetime {
  std::int32_t first = 0;  // positions in the order, both inclusive
  std::int32_t last = -1;  // before `first`: never alive

  bool is_alive() const { return last >= first; }
  void extend(std::int32_t position) { last = std::max(last, position); }
};

struct Liveness {
  // By storage: the operand's storage if it reuses its bytes (in place) or is an updated cache, else itself. Only
  // storages that map to themselves have a lifetime, which covers all that share their bytes.
  std::vector<std::int32_t> shares;
  std::vector<Lifetime> lifetimes;

  // Whether it owns bytes while it is alive, at some step.
  bool is_owner(std::size_t storage) const {
    return shares[storage] == static_cast<std::int32_t>(storage) && lifetimes[storage].is_alive();
  }
};

// The nodes of a schedule in the file's order.
std::vector<std::int32_t> file_order(const Schedule& schedule);

// Whether the node's only output can reuse the bytes of an operand of the same size: it is element-wise.
bool can_overwrite(const Schedule& schedule, std::int32_t node);

// `order` is a topological order of all nodes.
Liveness liveness(const Schedule& schedule, std::span<const std::int32_t> order, bool in_place);

// Sizes as numbers; unknown ones are 0.
struct StorageSizes {
  std::vector<Int> storages;
  std::vector<Int> bodies;  // by node: peak of the body's own activations
};
StorageSizes sizes_of(const Schedule& schedule, const Bindings& bindings);

// Whether some activation, here or in a body, is of unknown size.
bool has_unsized(const Schedule& schedule);

// Bytes alive while each step of the order runs.
std::vector<Int> timeline(const Schedule& schedule, const Liveness& live, std::span<const std::int32_t> order,
                          const StorageSizes& sizes);

// The most of those bytes; 0 without steps.
Int peak_bytes(const Schedule& schedule, std::span<const std::int32_t> order, const StorageSizes& sizes, bool in_place);

// The peak for all sizes. Empty when a size is unknown or the formula grows too complex.
std::optional<Dim> peak_formula(const Schedule& schedule, const Liveness& live, std::span<const std::int32_t> order);

// The peak in the file's order, with only caches in place. Of the main graph: Totals::activation_peak_bytes.
std::optional<Dim> activation_peak(const Schedule& schedule);

}  // namespace pagoda::inline core
