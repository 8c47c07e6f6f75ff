#include "code_audit.h"

namespace pagoda::tools::ceilings {

CodeAudit audit(std::string_view kernel) {
  CodeAudit result;
  for (const LoopInstruction& row : loop_instructions()) {
    if (row.kernel != kernel) continue;
    result.instructions[std::string(row.mnemonic)] += row.count;
    result.total += row.count;
  }
  if (result.total == 0)
    result.error = "no loop of " + std::string(kernel) + " was listed by objdump when this was built";
  return result;
}

std::string objection(const CodeAudit& found, std::string_view instruction, int expected, int overhead) {
  if (!found.error.empty()) return found.error;
  if (const int count = found.count(instruction); count != expected)
    return std::to_string(count) + " " + std::string(instruction) + " in the loop, must be " + std::to_string(expected);
  int idle = 0;
  for (const char* name : {"add", "addvl", "b.ne", "cmove", "cmp", "csel", "dec", "jne", "mov", "nop", "subs"})
    idle += found.count(name);
  if (idle > overhead)
    return std::to_string(idle) + " instructions of the loop do no work, at most " + std::to_string(overhead) + " may";
  return "";
}

}  // namespace pagoda::tools::ceilings
