// What reading one message of the schema asks of its fields: names within bounds, single messages once, and nothing
// unread that is not well-formed.
#pragma once

#include <optional>
#include <string_view>

#include "onnx/rewrite.h"

namespace pagoda::inline core::wire {

// Calls `read` with the fields of a message; those for which it returns false are unknown or of no interest.
template <typename Read>
void for_each_field(File& file, Message kind, Range body, int depth, const Read& read) {
  Reader reader(file, body, depth);
  while (const std::optional<Field> field = reader.next())
    if (!read(*field)) check_unread(file, kind, *field, depth);
}

// Texts longer than this are no names.
inline constexpr std::uint64_t kLongestText = std::uint64_t{1} << 20;

// The name or other text in a field's payload. Throws Error when it is too long.
std::string_view name_in(File& file, std::uint32_t number, Range payload);
inline std::string_view name_in(File& file, const Field& field) { return name_in(file, field.number, field.payload); }

// Takes the place of a message that its parent holds once. Throws Error when it stands there twice.
void take_once(std::optional<Range>& place, const Field& field);

}  // namespace pagoda::inline core::wire
