// Counts the instructions of a hot loop from its bytes in memory, so that what is audited is what was timed. Knows the
// instructions the kernels may consist of, and no others: an unknown one is an error, not a guess.
#pragma once

#include <map>
#include <string>

#include "cpu_kernels.h"

namespace pagoda::tools::ceilings {

struct CodeAudit {
  std::map<std::string, int> instructions;  // mnemonic → how often
  int total = 0;
  std::string error;  // where decoding stopped; empty: it reached the end of the loop
};
CodeAudit audit(const Code& code);

// What is wrong with the loop of a kernel that must hold `expected` of `instruction` and at most `overhead` others that
// do no work. Empty: nothing.
std::string objection(const CodeAudit& found, std::string_view instruction, int expected, int overhead);

}  // namespace pagoda::tools::ceilings
