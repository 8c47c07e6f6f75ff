// Counts and formulas on streams.
//
//   const Dim work = 2 * Dim::symbol("batch");
//   std::cout << work << " = " << work.evaluate({{"batch", 8}}) << '\n';  // 2*batch = 16
//
// Int is not a class, so argument-dependent lookup does not find its operator. The global namespace and pagoda declare
// it; a namespace with its own operators << needs: using pagoda::operator<<;
#pragma once

#include <concepts>
#include <iosfwd>
#include <string>

#include "pagoda/base/integer.h"
#include "pagoda/core/dim.h"

#pragma GCC visibility push(default)
namespace pagoda::base {

template <std::same_as<Int> Count>
std::ostream& operator<<(std::ostream& out, Count count) {
  return out << to_string(count);
}

}  // namespace pagoda::base

namespace pagoda {
using base::operator<<;
inline namespace core {
std::ostream& operator<<(std::ostream& out, const Dim& dim);  // Dim::to_string()
}
}  // namespace pagoda
#pragma GCC visibility pop

using pagoda::base::operator<<;
