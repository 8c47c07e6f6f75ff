// Reads the machine code of NVIDIA GPUs from a cubin, as far as counting the instructions of a hot loop needs, so that
// the bytes audited are the bytes embedded and timed. Valid for Volta and later: 16 bytes an instruction.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pagoda::tools::ceilings {

struct SassLoop {
  int total = 0;                     // instructions, without NOPs
  std::map<std::string, int> count;  // by mnemonic; those not known by their number, "op1c4"
};

// Kernel names of a cubin. Throws Error where it is no ELF file of 64 bits.
std::vector<std::string> kernels_of(std::span<const unsigned char> cubin);
// Of the loops of a kernel, the one with most of the instructions `wanted`; the shortest of several. Empty: no such
// kernel, or no loop. `capability` is 10 × major + minor: branches are encoded otherwise since Hopper.
std::optional<SassLoop> hot_loop(std::span<const unsigned char> cubin, int capability, std::string_view kernel,
                                 const std::vector<std::string_view>& wanted);

// What the loop of an embedded kernel must hold.
struct SassClaim {
  std::string_view kernel;
  std::vector<std::string_view> instructions;  // any of these count
  int count;                                   // together
  int overhead;                                // other instructions, at most
  int data_center_blackwell = 0;               // the count there, where products are made of several instructions
};
std::span<const SassClaim> sass_claims();
// What is wrong; empty: nothing, or the kernel does not exist for this architecture.
std::string objection(std::span<const unsigned char> cubin, const SassClaim& claim, int capability);

}  // namespace pagoda::tools::ceilings
