// The known name that a misspelt one may mean, for messages: "btach" may mean "batch".
#pragma once

#include <span>
#include <string_view>

#pragma GCC visibility push(default)
namespace pagoda::base {

// The nearest of the known names, at an edit distance of at most 2/5 of the letters of `name`. Empty if none is that
// near.
std::string_view nearest(std::string_view name, std::span<const std::string_view> known);

}  // namespace pagoda::base
#pragma GCC visibility pop
