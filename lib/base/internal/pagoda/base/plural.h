// Numbers of things as text, with the noun in the right form.
#pragma once

#include <string>
#include <string_view>

#include "pagoda/base/cat.h"
#include "pagoda/base/integer.h"
#include "pagoda/base/text.h"

#pragma GCC visibility push(default)
namespace pagoda::base {

// "1 kernel", "12,345 kernels". `many`: the noun, or noun and verb, of several; empty: `one` and an "s".
inline std::string counted(Int count, std::string_view one, std::string_view many = {}) {
  if (count == 1) return cat("1 ", one);
  return many.empty() ? cat(grouped(count), " ", one, "s") : cat(grouped(count), " ", many);
}

}  // namespace pagoda::base
#pragma GCC visibility pop
