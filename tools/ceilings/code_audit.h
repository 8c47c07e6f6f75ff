// Counts the instructions of a hot loop from its bytes in memory, so the audited code is the timed code. Decodes only
// the instructions that the kernels may contain: an unknown one is an error, not a guess.
#pragma once

#include <map>
#include <string>

#include "cpu_kernels.h"

namespace pagoda::tools::ceilings {

struct CodeAudit {
  std::map<std::string, int> instructions;  // mnemonic → count
  int total = 0;
  std::string error;  // where decoding failed; empty: decoded to the end of the loop
};
CodeAudit audit(const Code& code);

// What is wrong with a kernel's loop; empty: nothing. The loop must contain `expected` of `instruction` and at most
// `overhead` instructions that do no work.
std::string objection(const CodeAudit& found, std::string_view instruction, int expected, int overhead);

}  // namespace pagoda::tools::ceilings
