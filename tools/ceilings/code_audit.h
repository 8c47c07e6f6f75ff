// The instructions of the hot loops, as objdump lists them in the object file that is linked: the audited code is the
// timed code.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

namespace pagoda::tools::ceilings {

struct LoopInstruction {
  std::string_view kernel, mnemonic;
  int count;
};
std::span<const LoopInstruction> loop_instructions();  // written when Pagoda is built

struct CodeAudit {
  std::map<std::string, int, std::less<>> instructions;  // mnemonic → count
  int total = 0;
  std::string error;  // why nothing is known of the loop; empty: it is known

  int count(std::string_view mnemonic) const {
    const auto found = instructions.find(mnemonic);
    return found == instructions.end() ? 0 : found->second;
  }
};
CodeAudit audit(std::string_view kernel);

// The objection to a kernel's loop; empty: none. The loop must contain `expected` of `instruction` and at most
// `overhead` instructions that do no work.
std::string objection(const CodeAudit& found, std::string_view instruction, int expected, int overhead);

}  // namespace pagoda::tools::ceilings
