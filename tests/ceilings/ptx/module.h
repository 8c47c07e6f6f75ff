// Parses PTX into kernels whose instructions refer to registers by number. Supports only the part of the language that
// nvcc emits for our kernels (PTX ISA 9.0); everything else is an error, not a guess.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace ptx {

// A program that does something illegal, or PTX that this interpreter does not support.
class Fault : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct Operand {
  enum class Kind { Register, Immediate, Address, Vector, Special, None };
  Kind kind = Kind::None;
  int reg = -1;            // register number; of an address, its base, -1: none
  std::uint64_t bits = 0;  // of an immediate; of an address, its offset
  std::string name;        // of a special register, or of a variable that has no address yet
  std::vector<Operand> parts;
};

struct Step;
using Handler = std::function<void(Step&)>;

struct Instruction {
  std::string mnemonic;
  int guard = -1;  // predicate register, -1: none
  bool negated = false;
  std::vector<Operand> operands;
  int target = -1;  // of a branch
  Handler handler;
};

struct Variable {
  std::string name;
  std::uint64_t offset = 0, bytes = 0, align = 1;
};

struct Kernel {
  std::string name;
  std::vector<Variable> parameters;
  std::vector<std::string> registers;  // their names, by number
  std::vector<Instruction> code;
  std::uint64_t static_shared = 0;  // bytes of shared memory before the launch's own
  std::uint64_t pool_align = 0;     // alignment of the latter; 0: the kernel uses none
  unsigned cluster = 1;             // blocks that run together and can access each other's shared memory
  unsigned most_threads = 0;        // per block; 0: not stated
};

// First address of a block's shared memory: the system uses some of it, so no kernel may assume zero.
inline constexpr std::uint64_t kSharedBase = 1024;

std::map<std::string, Kernel> parse(std::string_view text);

// The handler of an instruction, by its full name. Throws Fault where it is not supported.
Handler handler_of(const std::string& mnemonic);

}  // namespace ptx
