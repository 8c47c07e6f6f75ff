// Checks on the fields of one message: names within bounds, single messages only once, and well-formed unread fields.
#pragma once

#include <optional>
#include <string_view>

#include "onnx/rewrite.h"

namespace pagoda::inline core::wire {

// Calls `read` with the fields of a message; it returns false for unknown or unused ones.
template <typename Read>
void for_each_field(File& file, Message kind, Range body, int depth, const Read& read) {
  Reader reader(file, body, depth);
  while (const std::optional<Field> field = reader.next())
    if (!read(*field)) check_unread(file, kind, *field, depth);
}

// Longer texts are not names.
inline constexpr std::uint64_t kLongestText = std::uint64_t{1} << 20;

// The name or other text in a field's payload. Throws Error when it is too long.
std::string_view name_in(File& file, std::uint32_t number, Range payload);
inline std::string_view name_in(File& file, const Field& field) { return name_in(file, field.number, field.payload); }

// Records the range of a message that may occur only once in its parent. Throws Error when it occurs twice.
void take_once(std::optional<Range>& place, const Field& field);

}  // namespace pagoda::inline core::wire
