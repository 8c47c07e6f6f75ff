// Limits on the lists of a model: an entry takes many times its size in the file, in one list as in many.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace pagoda::inline core::wire {

enum class Entry : std::uint8_t {
  IdleNode,  // a node without outputs
  Initializer,
  SparseInitializer,
  Input,  // of graphs and functions
  Output,
  ValueType,
  Attribute,  // also a function's default
  NodeInput,
  NodeOutput,
  FunctionOpset,
  ShortText,  // in the list of an attribute; a forest of trees has millions of longer ones
};

struct EntryLimit {
  const char* what;
  std::size_t any;        // of any model
  std::size_t of_a_node;  // and for each node that it lists
};

inline constexpr std::size_t kMostUnused = 65'536;
inline constexpr std::size_t kShortText = 4;  // bytes; longer texts take at most six times their size in the file
// Models have at most a few for a node on average. Up to IR version 3 every initializer is an input, too.
inline constexpr std::array<EntryLimit, 11> kEntryLimits = {{
    {"nodes without outputs", kMostUnused, 0},
    {"initializers", kMostUnused, 4},
    {"sparse initializers", kMostUnused, 4},
    {"inputs", kMostUnused + kMostUnused, 8},
    {"outputs", kMostUnused, 8},
    {"value types", kMostUnused, 8},
    {"attributes", kMostUnused, 16},
    {"inputs of nodes", kMostUnused, 16},
    {"outputs of nodes", kMostUnused, 16},
    {"opset imports of functions", kMostUnused, 4},
    {"texts of less than four bytes in attributes", std::size_t{1} << 21, 0},
}};

static_assert(kEntryLimits.size() == static_cast<std::size_t>(Entry::ShortText) + 1);

class Entries {
 public:
  void add_node() { ++nodes_; }
  // Throws Error where the model lists too many of the kind for its nodes, which come first in a file.
  void add(Entry entry) {
    const auto kind = static_cast<std::size_t>(entry);
    const EntryLimit& limit = kEntryLimits[kind];
    if (counts_[kind]++ >= limit.any + limit.of_a_node * nodes_) [[unlikely]]
      fail(limit);
  }

 private:
  [[noreturn]] void fail(const EntryLimit& limit) const;

  std::array<std::size_t, kEntryLimits.size()> counts_ = {};
  std::size_t nodes_ = 0;
};

}  // namespace pagoda::inline core::wire
