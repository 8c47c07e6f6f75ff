// Error: thrown when input cannot be used at all (missing file, malformed protobuf, contradictory bindings). The
// library never prints, exits or logs.
#pragma once

#include <stdexcept>

#pragma GCC visibility push(default)
namespace pagoda::base {

// Unusable input. what() names the subject, what was found, what was expected and the remedy, in one line.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace pagoda::base
#pragma GCC visibility pop

namespace pagoda {
using base::Error;
}
