// Facts of an operator, looked up once for all its nodes.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "pagoda/core/graph.h"

namespace pagoda::inline core {

// A graph has few operators, and nodes of one share the text of its name: pointers are compared, and few names are
// read. Made for one walk of a model, whose names outlive it.
template <typename Value>
class ByOperator {
 public:
  // `make()` is called for an operator that is new; `scope` separates functions, whose imports may give an operator
  // another version.
  template <typename Make>
  const Value& of(const Node& node, const void* scope, const Make& make) {
    const Key key{node.op_type.c_str(), node.domain.c_str(), node.overload.c_str(), scope};
    Known& known = known_[(std::bit_cast<std::uintptr_t>(key.type) >> 3) % known_.size()];
    if (known.key != key) known = {key, make()};
    return known.value;
  }

 private:
  struct Key {
    const char *type = nullptr, *domain = nullptr, *overload = nullptr;
    const void* scope = nullptr;
    bool operator==(const Key&) const = default;
  };
  struct Known {
    Key key;
    Value value = {};
  };
  std::array<Known, 64> known_ = {};
};

}  // namespace pagoda::inline core
