// Int: the integer type of counts.
#pragma once

#include <string>

#pragma GCC visibility push(default)
namespace pagoda::base {

__extension__ typedef __int128 Int;  // counts of work exceed 64 bits on large models at large batches

std::string to_string(Int value);

}  // namespace pagoda::base

namespace pagoda {
using base::Int;
}  // namespace pagoda
#pragma GCC visibility pop
