// Which attributes of nodes are structure, on which an estimate depends, and which are parameters of the model: learned
// numbers, tables of words, compiled blobs.
#pragma once

#include <cstdint>
#include <string_view>

namespace pagoda::inline core::ops {

enum class AttributeRole : std::uint8_t {
  Structure,  // kept
  Parameter,  // numbers become 0 and texts empty; lists keep their lengths
  Indices,    // the same, but the largest stays: it gives a size
};

// What an attribute holds.
struct AttributeShape {
  bool is_list_of_reals = false, is_list_of_texts = false;
  std::uint64_t integers = 0;    // in its list
  std::uint64_t text_bytes = 0;  // of its text
};

AttributeRole attribute_role(std::string_view domain, std::string_view op_type, std::string_view attribute,
                             const AttributeShape& shape);

}  // namespace pagoda::inline core::ops
