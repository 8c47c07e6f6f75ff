// Errors and diagnostics: how the library says that something is wrong.
//
// Input that cannot be used at all (missing file, malformed protobuf, contradictory bindings) throws `Error`.
// One node that cannot be analysed becomes a `Diagnostic`; analysis goes on and totals become lower bounds.
// The library never prints, exits or logs.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace pagoda {

// Unusable input. what() names the subject, what was found, what was expected and the remedy, in one line.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

enum class Severity { Info, Warning, Error };

// One finding about one node (or about the whole model when `node` is empty).
struct Diagnostic {
  Severity severity = Severity::Warning;
  std::string node;  // name of the node in the file, or of its first output when it has none
  std::string message;
};

std::string_view to_string(Severity severity);

}  // namespace pagoda
