// Errors whose message begins with their subject.
#pragma once

#include <string>
#include <string_view>

#include "pagoda/base/error.h"

#pragma GCC visibility push(default)
namespace pagoda::base {

// Throws Error: "subject: what".
[[noreturn]] void fail(std::string_view subject, const std::string& what);

}  // namespace pagoda::base
#pragma GCC visibility pop
