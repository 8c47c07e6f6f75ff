// PTX as text becomes kernels whose instructions name registers by number: the part of the language that nvcc writes
// for our kernels (PTX ISA 9.0), and no more. What is not known is an error, not a guess.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace ptx {

// A program that does what it must not, or text that this interpreter does not know.
class Fault : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct Operand {
  enum class Kind { Register, Immediate, Address, Vector, Special, None };
  Kind kind = Kind::None;
  int reg = -1;            // of a register; base of an address, -1: none
  std::uint64_t bits = 0;  // of an immediate; offset of an address
  std::string name;        // of a special register; of a variable until it has its place
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
  std::vector<std::string> registers;  // names, by number
  std::vector<Instruction> code;
  std::uint64_t static_shared = 0;  // bytes of shared memory before those that a launch asks for
  std::uint64_t pool_align = 0;     // of the latter; 0: the kernel uses none
  unsigned cluster = 1;             // blocks that run together and reach each other's shared memory
  unsigned most_threads = 0;        // of a block; 0: not said
};

// First address of a block's shared memory: some of it is the system's, so nobody may count on zero.
inline constexpr std::uint64_t kSharedBase = 1024;

std::map<std::string, Kernel> parse(std::string_view text);

// What an instruction does, by its whole name. Throws Fault where it is not known.
Handler handler_of(const std::string& mnemonic);

}  // namespace ptx
