// Names of one graph's values → their ids. Names are stored only in the values: a table of a million takes 16 MB.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "pagoda/core/graph.h"

namespace pagoda::inline core::wire {

class ValueNames {
 public:
  // kAbsent where no value has the name.
  ValueId find(std::string_view name, const std::vector<Value>& values) const {
    if (slots_.empty()) return kAbsent;
    const std::uint32_t hash = hash_of(name);
    for (std::size_t at = hash & mask();; at = (at + 1) & mask()) {
      const Slot& slot = slots_[at];
      if (slot.id == kAbsent) return kAbsent;
      if (slot.hash == hash && values[static_cast<std::size_t>(slot.id)].name == name) return slot.id;
    }
  }

  void reserve(std::size_t names) {
    while (2 * names > slots_.size()) grow();
  }

  // `name` is not there yet.
  void add(std::string_view name, ValueId id) {
    if (2 * (count_ + 1) > slots_.size()) grow();
    ++count_;
    place({.hash = hash_of(name), .id = id});
  }

 private:
  struct Slot {
    std::uint32_t hash = 0;
    ValueId id = kAbsent;
  };

  static std::uint32_t hash_of(std::string_view name) {
    return static_cast<std::uint32_t>(std::hash<std::string_view>()(name));
  }
  std::size_t mask() const { return slots_.size() - 1; }

  void place(Slot slot) {
    std::size_t at = slot.hash & mask();
    while (slots_[at].id != kAbsent) at = (at + 1) & mask();
    slots_[at] = slot;
  }

  void grow() {
    std::vector<Slot> old(slots_.empty() ? 16 : 2 * slots_.size());
    old.swap(slots_);
    for (const Slot& slot : old)
      if (slot.id != kAbsent) place(slot);
  }

  std::vector<Slot> slots_;  // a power of two, at most half full
  std::size_t count_ = 0;
};

}  // namespace pagoda::inline core::wire
