// Names of one graph's values → their ids. Names are stored only in the values: a table of a million takes 16 MB.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "pagoda/core/graph.h"

namespace pagoda::inline core::wire {

// A name to look up, hashed once.
struct NameKey {
  std::string_view name;
  std::uint32_t hash = 0;

  // Eight bytes at a time, each step a product folded to its middle.
  explicit NameKey(std::string_view text) : name(text) {
    constexpr std::uint64_t kFactor = 0x9E3779B97F4A7C15;  // 2^64 divided by the golden ratio
    const auto mix = [](std::uint64_t value) {
      __extension__ using Wide = unsigned __int128;
      const Wide product = Wide{value} * kFactor;
      return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
    };
    std::uint64_t mixed = text.size(), part = 0;
    for (; text.size() > sizeof part; text.remove_prefix(sizeof part)) {
      std::memcpy(&part, text.data(), sizeof part);
      mixed = mix(mixed ^ part);
    }
    part = 0;
    if (!text.empty()) std::memcpy(&part, text.data(), text.size());
    hash = static_cast<std::uint32_t>(mix(mix(mixed ^ part)));
  }
};

class ValueNames {
 public:
  // kAbsent where no value has the name.
  ValueId find(const NameKey& key, const std::vector<Value>& values) const {
    if (slots_.empty()) return kAbsent;
    for (std::size_t at = key.hash & mask();; at = (at + 1) & mask()) {
      const Slot& slot = slots_[at];
      if (slot.id == kAbsent) return kAbsent;
      if (slot.hash == key.hash && values[static_cast<std::size_t>(slot.id)].name == key.name) return slot.id;
    }
  }

  void reserve(std::size_t names) {
    while (2 * names > slots_.size()) grow();
  }

  // `name` is not there yet.
  void add(const NameKey& key, ValueId id) {
    if (2 * (count_ + 1) > slots_.size()) grow();
    ++count_;
    place({.hash = key.hash, .id = id});
  }

 private:
  struct Slot {
    std::uint32_t hash = 0;
    ValueId id = kAbsent;
  };

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
