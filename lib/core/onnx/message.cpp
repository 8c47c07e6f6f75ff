// Limits on names and on messages that occur only once.
#include "onnx/message.h"

#include "pagoda/base/cat.h"

namespace pagoda::inline core::wire {

std::string_view name_in(File& file, std::uint32_t number, Range payload) {
  if (payload.size() > kLongestText)
    throw Error(cat("field ", number, " at byte ", payload.begin, " has ", payload.size(),
                    " bytes, expected a name of at most ", kLongestText));
  return file.keep(payload);
}

void take_once(std::optional<Range>& place, const Field& field) {
  if (place) malformed(field.whole.begin, cat("field ", field.number, " a second time in its message, expected once"));
  place = field.payload;
}

}  // namespace pagoda::inline core::wire
