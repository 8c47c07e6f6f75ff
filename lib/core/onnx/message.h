// Reads the fields of one message, and checks that those nobody reads are well-formed.
#pragma once

#include <optional>
#include <type_traits>

#include "onnx/rewrite.h"

namespace pagoda::inline core::wire {

// Calls `reads` with the fields of a message, in turn until one returns true; all return false for unknown or unused
// fields. on() makes one of the fields with a tag.
template <typename... Reads>
void for_each_field(File& file, Message kind, Range body, int depth, const Reads&... reads) {
  Reader reader(file, body, depth);
  while (const std::optional<Field> field = reader.next())
    if (!(reads(*field) || ...)) check_unread(file, kind, *field, depth);
}

// Reads the fields with this tag. `read` may return whether it takes the field; else it takes all.
template <typename Read>
auto on(std::uint32_t tag, const Read& read) {
  return [tag, read](const Field& field) {
    if (field.tag() != tag) return false;
    if constexpr (std::is_same_v<decltype(read(field)), bool>) return read(field);
    read(field);
    return true;
  };
}
// The same for fields that are entries of a list.
template <typename Read>
auto on_each(File& file, Entry entry, std::uint32_t tag, const Read& read) {
  return on(tag, [&file, entry, read](const Field& field) {
    file.count(entry);
    read(field);
  });
}

// Calls `read` with each number of a packed field, or with the one of a field that is not packed.
template <typename Read>
void for_each_number(File& file, const Field& field, int depth, const char* what, const Read& read) {
  if (field.type == Type::Varint) return read(field.varint);
  for (Reader packed(file, field.payload, depth); !packed.at_end();) {
    file.count_fields(1);
    read(packed.varint(what));
  }
}

}  // namespace pagoda::inline core::wire
