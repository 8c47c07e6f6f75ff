// Large JSON read element by element: a trace of 100 MB is never held as a document.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>

#include "pagoda/base/json_fields.h"

namespace pagoda::measured::import {

// Calls `each` with every element of the outermost array, or of the array that is the member `key` of the outermost
// object, and its index. Returns the other members of that object (for an outermost array: an empty object). Throws
// Error for what is no JSON, naming `subject` and the byte, for another shape, and for nesting beyond 100.
base::Json stream_elements(std::string_view text, std::string_view subject, const char* key,
                           const std::function<void(base::Json&, std::size_t)>& each);

}  // namespace pagoda::measured::import
