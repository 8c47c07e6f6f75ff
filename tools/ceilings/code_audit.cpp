// A decoder for the few x86-64 instructions in the hot loops, by their encoding in the manuals of Intel (volume 2) and
// AMD (volume 4): prefixes, opcode map, opcode, ModRM, displacement.
#include "code_audit.h"

#include <array>
#include <cstring>
#include <string_view>

namespace pagoda::tools::ceilings {
namespace {

using Byte = unsigned char;

struct Row {
  int map;     // 0: one-byte, 1: 0F, 2: 0F38, 3: 0F3A, 5: MAP5, 6: MAP6
  int prefix;  // 0, 0x66, 0xF3, 0xF2
  int opcode;
  int wide;               // W bit: 0, 1, or -1 for either
  std::string_view name;  // without the "v" that VEX and EVEX add
};

// clang-format off
constexpr std::array<Row, 51> kRows = {{
    {0, 0,    0x01, -1, "add"},       {0, 0,    0x03, -1, "add"},       {0, 0,    0x31, -1, "xor"},
    {0, 0,    0x39, -1, "cmp"},       {0, 0,    0x3b, -1, "cmp"},       {0, 0,    0x81, -1, "add"},
    {0, 0,    0x83, -1, "add"},       {0, 0,    0x89, -1, "mov"},       {0, 0,    0x90, -1, "nop"},
    {0, 0,    0xff, -1, "dec"},
    {1, 0,    0x18, -1, "prefetcht0"},
    {1, 0,    0x10, -1, "movups"},    {1, 0x66, 0x10, -1, "movupd"},    {1, 0,    0x11, -1, "movups"},
    {1, 0,    0x28, -1, "movaps"},    {1, 0x66, 0x28, -1, "movapd"},    {1, 0,    0x29, -1, "movaps"},
    {1, 0x66, 0x29, -1, "movapd"},    {1, 0,    0x2b, -1, "movntps"},   {1, 0x66, 0x2b, -1, "movntpd"},
    {1, 0,    0x44, -1, "cmove"},     {1, 0,    0x58, -1, "addps"},     {1, 0x66, 0x58, -1, "addpd"},
    {1, 0xf3, 0x58, -1, "addss"},     {1, 0xf2, 0x58, -1, "addsd"},     {1, 0,    0x59, -1, "mulps"},
    {1, 0x66, 0x59, -1, "mulpd"},     {1, 0xf3, 0x59, -1, "mulss"},     {1, 0xf2, 0x59, -1, "mulsd"},
    {1, 0,    0x5c, -1, "subps"},     {1, 0x66, 0x5c, -1, "subpd"},     {1, 0xf3, 0x5c, -1, "subss"},
    {1, 0xf2, 0x5c, -1, "subsd"},     {1, 0x66, 0xef,  0, "pxor"},      {1, 0x66, 0xef,  1, "pxorq"},
    {1, 0,    0x75, -1, "jne"},       {1, 0,    0x85, -1, "jne"},
    {2, 0x66, 0x50, -1, "pdpbusd"},   {2, 0xf3, 0x52, -1, "dpbf16ps"},
    {2, 0xf3, 0x5c, -1, "tdpbf16ps"}, {2, 0xf2, 0x5e, -1, "tdpbssd"},
    {2, 0x66, 0x98,  0, "fmadd132ps"},{2, 0x66, 0x98,  1, "fmadd132pd"},
    {2, 0x66, 0xa8,  0, "fmadd213ps"},{2, 0x66, 0xa8,  1, "fmadd213pd"},
    {2, 0x66, 0xa9,  0, "fmadd213ss"},{2, 0x66, 0xa9,  1, "fmadd213sd"},
    {2, 0x66, 0xb8,  0, "fmadd231ps"},{2, 0x66, 0xb8,  1, "fmadd231pd"},
    {6, 0x66, 0xa8, -1, "fmadd213ph"},{6, 0x66, 0xa9, -1, "fmadd213sh"},
}};
// clang-format on

constexpr int kPrefixOf[4] = {0, 0x66, 0xf3, 0xf2};  // by the two prefix bits of VEX and EVEX

// Bytes of ModRM, SIB and displacement, from the ModRM byte on; x86 only. Compressed displacements also have 1 byte.
[[maybe_unused]] std::size_t operand_bytes(const Byte* modrm) {
  const int mod = modrm[0] >> 6, rm = modrm[0] & 7;
  if (mod == 3) return 1;
  std::size_t bytes = 1;
  if (rm == 4) {
    ++bytes;
    if (mod == 0 && (modrm[1] & 7) == 5) bytes += 4;
  } else if (mod == 0 && rm == 5) {
    bytes += 4;
  }
  return bytes + (mod == 1 ? 1 : mod == 2 ? 4 : 0);
}

}  // namespace

#if defined(__x86_64__)
CodeAudit audit(const Code& code) {
  CodeAudit result;
  const auto* at = reinterpret_cast<const Byte*>(code.loop);
  const auto* end = reinterpret_cast<const Byte*>(code.loop_end);
  while (at < end) {
    const Byte* const start = at;
    int map = 0, prefix = 0, wide = 0;
    bool vector = false, evex = false;
    for (; *at == 0x66 || *at == 0xf2 || *at == 0xf3; ++at) prefix = *at;
    if (*at == 0x62) {  // EVEX: four bytes
      map = at[1] & 7;
      prefix = kPrefixOf[at[2] & 3];
      wide = at[2] >> 7;
      vector = evex = true;
      at += 4;
    } else if (*at == 0xc4) {  // three-byte VEX
      map = at[1] & 31;
      prefix = kPrefixOf[at[2] & 3];
      wide = at[2] >> 7;
      vector = true;
      at += 3;
    } else if (*at == 0xc5) {  // two-byte VEX
      map = 1;
      prefix = kPrefixOf[at[1] & 3];
      vector = true;
      at += 2;
    } else {
      if ((*at & 0xf0) == 0x40) wide = (*at++ >> 3) & 1;  // REX
      if (*at == 0x0f) {
        map = 1;
        ++at;
      }
    }
    const int opcode = *at++;
    std::string name;
    if (map == 0 && opcode == 0x75) {  // jne with a displacement of 1 byte
      name = "jne";
      ++at;
    } else if (map == 1 && !vector && opcode == 0x85) {  // of 4 bytes
      name = "jne";
      at += 4;
    } else {
      for (const Row& row : kRows)
        if (row.map == map && row.prefix == prefix && row.opcode == opcode && (row.wide < 0 || row.wide == wide)) {
          const bool tile = row.name.starts_with("tdp");
          name = (vector && !tile ? "v" : "") + std::string(row.name);
          break;
        }
      // The quadword form of xor exists only in EVEX.
      if (name == "vpxorq" && !evex) name = "vpxor";
      if (!name.empty() && opcode != 0x90) {
        const int extension = (at[0] >> 3) & 7;
        if (map == 0 && (opcode == 0x81 || opcode == 0x83) && extension == 7) name = "cmp";
        if (map == 0 && opcode == 0xff && extension != 1) name.clear();
        if (map == 1 && opcode == 0x18 && extension != 1) name.clear();
        at += operand_bytes(at);
        if (map == 0 && opcode == 0x81) at += 4;
        if (map == 0 && opcode == 0x83) at += 1;
      }
    }
    if (name.empty() || at > end) {
      result.error = "unknown instruction at byte " + std::to_string(start - reinterpret_cast<const Byte*>(code.loop)) +
                     " of the loop";
      return result;
    }
    ++result.instructions[name];
    ++result.total;
  }
  return result;
}
#elif defined(__aarch64__)
// Every instruction has 4 bytes; those used are recognised by fixed bits (Arm Architecture Reference Manual, C4).
CodeAudit audit(const Code& code) {
  struct Pattern {
    std::uint32_t mask, bits;
    std::string_view name;
  };
  constexpr std::array<Pattern, 18> kPatterns = {{
      {0xbfa0fc00, 0x0e20cc00, "fmla"},  // float32, float64
      {0xbfe0fc00, 0x0e400c00, "fmla"},  // float16
      {0xffe08000, 0x1f400000, "fmadd"},
      {0xbfe0fc00, 0x0e809400, "sdot"},
      {0xbfe0fc00, 0x2e40fc00, "bfdot"},
      {0xbfa0fc00, 0x0e20d400, "fadd"},
      {0xffc00000, 0xad400000, "ldp"},
      {0xffc00000, 0xad000000, "stp"},
      {0xffc00000, 0xac000000, "stnp"},
      {0x7f200000, 0x0b000000, "add"},
      {0x7f800000, 0x11000000, "add"},
      {0x7fe0fc00, 0x1a800000, "csel"},
      {0xff00001f, 0x54000001, "b.ne"},
      {0xff20e000, 0x65200000, "fmla"},  // SVE: predicated, any element size
      {0xff20fc00, 0x65000000, "fadd"},
      {0xffc0e000, 0x85804000, "ldr"},
      {0xffc0e000, 0xe5804000, "str"},
      {0xffe0f800, 0x04205000, "add"},  // addvl
  }};
  CodeAudit result;
  for (const char* at = code.loop; at < code.loop_end; at += 4) {
    std::uint32_t word;
    std::memcpy(&word, at, 4);
    std::string name;
    for (const Pattern& p : kPatterns)
      if ((word & p.mask) == p.bits) name = p.name;
    if ((word & 0x7f800000) == 0x71000000) name = "subs";
    if ((word & 0x7f20001f) == 0x6b00001f) name = "cmp";
    if ((word & 0x7fe00c00) == 0x1a800000) name = "csel";
    if (name.empty()) {
      result.error = "unknown instruction at byte " + std::to_string(at - code.loop) + " of the loop";
      return result;
    }
    ++result.instructions[name];
    ++result.total;
  }
  return result;
}
#else
CodeAudit audit(const Code&) { return {{}, 0, "no decoder for this architecture"}; }
#endif

std::string objection(const CodeAudit& found, std::string_view instruction, int expected, int overhead) {
  if (!found.error.empty()) return found.error;
  const auto counted = found.instructions.find(std::string(instruction));
  const int count = counted == found.instructions.end() ? 0 : counted->second;
  if (count != expected)
    return std::to_string(count) + " " + std::string(instruction) + " in the loop, must be " + std::to_string(expected);
  int idle = 0;
  for (const char* name : {"add", "cmp", "cmove", "dec", "jne", "nop", "mov", "subs", "csel", "b.ne"})
    if (const auto other = found.instructions.find(name); other != found.instructions.end()) idle += other->second;
  if (idle > overhead)
    return std::to_string(idle) + " instructions of the loop do no work, at most " + std::to_string(overhead) + " may";
  return "";
}

}  // namespace pagoda::tools::ceilings
