// Diagnostics: one node that cannot be analysed becomes a `Diagnostic`; analysis goes on and totals become lower
// bounds. Input that cannot be used at all throws `Error` (pagoda/base/error.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#pragma GCC visibility push(default)
namespace pagoda::inline core {

enum class Severity : std::uint8_t { Info, Warning, Error };

// Why a diagnostic exists, for grouping and counting.
enum class Cause : std::uint8_t {
  Note,           // a fact worth knowing, or an assumption that was made
  Unmodelled,     // the node has no rule, or not enough is known of it
  Contradiction,  // the node contradicts its operator: the model cannot run at these sizes
  UnknownInput,   // the node is unmodelled only because a node before it is: an input's rank is unknown
  FixedBatch,     // the file fixes the batch of an input, which is read as a symbol
  OpenBranch,     // the data decide the branch of an If: what both cost
  OpenSizes,      // inputs whose sizes must be given first
};

// One finding about one node (or about the whole model when `node` is empty).
struct Diagnostic {
  Severity severity = Severity::Warning;
  std::string node;  // name of the node in the file, or of its first output when it has none
  std::string message;
  Cause cause = Cause::Note;
};

std::string_view to_string(Severity severity);

}  // namespace pagoda::inline core
#pragma GCC visibility pop
