// Limits on names and on messages that occur only once.
#include "onnx/message.h"

namespace pagoda::inline core::wire {

std::string_view name_in(File& file, std::uint32_t number, Range payload) {
  if (payload.size() > kLongestText)
    throw Error("field " + std::to_string(number) + " at byte " + std::to_string(payload.begin) + " has " +
                std::to_string(payload.size()) + " bytes, expected a name of at most " + std::to_string(kLongestText));
  return file.keep(payload);
}

void take_once(std::optional<Range>& place, const Field& field) {
  if (place)
    malformed(field.whole.begin,
              "field " + std::to_string(field.number) + " a second time in its message, expected once");
  place = field.payload;
}

}  // namespace pagoda::inline core::wire
