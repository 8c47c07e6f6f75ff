// Names of operators in short lists.
#pragma once

#include <algorithm>
#include <iterator>
#include <string_view>

namespace pagoda::inline core {

template <std::size_t N>
bool is_one_of(std::string_view name, const std::string_view (&names)[N]) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

}  // namespace pagoda::inline core
