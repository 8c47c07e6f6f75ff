// The low 9 bits of an instruction's first word are its number; a branch has its distance in words 0 and 1. The numbers
// are from cuobjdump's listings of these kernels for sm_75 to sm_120.
#include "gpu_blobs.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "pagoda/base/cat.h"
#include "pagoda/base/error.h"
#include "run_checks.h"

namespace pagoda::tools::ceilings {
namespace {

struct Number {
  int number;
  std::string_view name;
};
// clang-format off
constexpr std::array<Number, 30> kNumbers = {{
    {0x012, "LOP3"}, {0x020, "FMUL"},  {0x021, "FADD"},  {0x023, "FFMA"},  {0x024, "IMAD"},  {0x025, "IMAD"},
    {0x026, "IDP"},  {0x029, "DADD"},  {0x02b, "DFMA"},  {0x030, "HADD2"}, {0x031, "HFMA2"}, {0x035, "HFMA2"},
    {0x037, "IMMA"}, {0x03c, "HMMA"},  {0x03f, "DMMA"},  {0x07a, "QMMA"},  {0x108, "MUFU"},  {0x118, "NOP"},
    {0x147, "BRA"},  {0x181, "LDG"},   {0x184, "LDS"},   {0x186, "STG"},   {0x188, "STS"},   {0x18e, "RED"},
    // UBLKCP is only in the loop of bulk copies.
    {0x1f0, "HGMMA"},{0x1f1, "IGMMA"}, {0x0ca, "R2UR"},  {0x1a7, "SYNCS"}, {0x1e9, "UTCBAR"},{0x1ba, "UBLKCP"},
}};
// clang-format on

std::string name_of(std::uint64_t word, std::uint64_t high) {
  const int number = static_cast<int>(word & 0x1ff);
  if (number == 0x1f3) return "QGMMA";
  // All products of tcgen05 have one number: bits 8-9 of the second word select the unit, and bits 62-63 of the first
  // word are set for 4-bit formats with block scales.
  if (number == 0x1ea) {
    const int unit = static_cast<int>(high >> 8 & 3);
    return unit == 1         ? "UTCIMMA"
           : unit == 3       ? "UTCQMMA"
           : unit == 2       ? "op1ea"
           : word >> 62 != 0 ? "UTCOMMA"
                             : "UTCHMMA";
  }
  for (const Number& n : kNumbers)
    if (n.number == number) return std::string(n.name);
  return printed("op%03x", static_cast<unsigned>(number));
}

template <typename T>
T at(std::span<const unsigned char> bytes, std::size_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) throw Error("cubin: truncated");
  return value_at<T>(bytes.data() + offset);
}

struct Section {
  std::string name;
  std::span<const unsigned char> bytes;
};

// ELF64: the section table is at e_shoff; section e_shstrndx contains the names.
std::vector<Section> sections(std::span<const unsigned char> elf) {
  if (elf.size() < 64 || std::memcmp(elf.data(), "\177ELF\2", 5) != 0) throw Error("cubin: not an ELF file of 64 bits");
  const auto table = at<std::uint64_t>(elf, 0x28);
  const auto entry = at<std::uint16_t>(elf, 0x3a), count = at<std::uint16_t>(elf, 0x3c),
             names = at<std::uint16_t>(elf, 0x3e);
  const auto content = [&](std::size_t index) {
    const std::size_t header = table + index * entry;
    const auto type = at<std::uint32_t>(elf, header + 4);
    const auto offset = at<std::uint64_t>(elf, header + 0x18), size = at<std::uint64_t>(elf, header + 0x20);
    constexpr std::uint32_t kNoBits = 8;
    if (type == kNoBits) return std::span<const unsigned char>();
    if (offset > elf.size() || size > elf.size() - offset) throw Error("cubin: truncated");
    return elf.subspan(offset, size);
  };
  const auto text = content(names);
  std::vector<Section> result;
  for (std::size_t i = 0; i < count; ++i) {
    const auto name = at<std::uint32_t>(elf, table + i * entry);
    if (name >= text.size()) continue;
    const auto* begin = reinterpret_cast<const char*>(text.data()) + name;
    result.push_back({std::string(begin, strnlen(begin, text.size() - name)), content(i)});
  }
  return result;
}

constexpr std::string_view kText = ".text.";

}  // namespace

std::vector<std::string> kernels_of(std::span<const unsigned char> cubin) {
  std::vector<std::string> result;
  for (const Section& s : sections(cubin))
    if (s.name.starts_with(kText)) result.push_back(s.name.substr(kText.size()));
  return result;
}

std::optional<CodeAudit> hot_loop(std::span<const unsigned char> cubin, int capability, std::string_view kernel,
                                  const std::vector<std::string_view>& wanted) {
  std::span<const unsigned char> code;
  for (const Section& s : sections(cubin))
    if (s.name == cat(kText, kernel)) code = s.bytes;
  std::optional<CodeAudit> best;
  int most = -1;
  for (std::size_t i = 0; i + 16 <= code.size(); i += 16) {
    const auto low = at<std::uint64_t>(code, i), high = at<std::uint64_t>(code, i + 8);
    if ((low & 0x1ff) != 0x147) continue;
    // The distance is in units of 4 bytes, from the next instruction. Since Hopper it has 56 bits: 16-23 and 34-63 of
    // the first word and 0-17 of the second; before, 48 bits, without the lowest 8.
    const std::uint64_t upper = (high & 0x3ffff) << 30 | low >> 34;
    const std::int64_t distance = capability >= 90
                                      ? static_cast<std::int64_t>((upper << 8 | (low >> 16 & 0xff)) << 8) >> 8
                                      : static_cast<std::int64_t>(upper << 16) >> 16;
    const std::int64_t target = static_cast<std::int64_t>(i) + 16 + 4 * distance;
    if (target < 0 || target >= static_cast<std::int64_t>(i)) continue;
    CodeAudit loop;
    int found = 0;
    for (auto j = static_cast<std::size_t>(target); j <= i; j += 16) {
      const std::string name = name_of(at<std::uint64_t>(code, j), at<std::uint64_t>(code, j + 8));
      if (name == "NOP") continue;
      ++loop.total;
      ++loop.instructions[name];
      for (const std::string_view w : wanted) found += w == name;
    }
    if (found > most || (found == most && loop.total < best->total)) {
      most = found;
      best = std::move(loop);
    }
  }
  return best;
}

std::vector<SassClaim> sass_claims() {
  const SassClaim memory[] = {
      {"hbm_read", {"LDG"}, 4, 40},
      {"hbm_read_bulk", {"LDS", "UBLKCP"}, 5, 90},
      {"hbm_write", {"STG"}, 4, 60},
      {"hbm_copy", {"LDG", "STG"}, 8, 60},
      {"hbm_scale", {"LDG", "STG"}, 8, 90},
      {"hbm_add", {"LDG", "STG"}, 12, 90},
      {"hbm_triad", {"LDG", "STG"}, 12, 90},
      // Unrolled by four steps of 16 words, plus up to three remaining steps.
      {"intensity", {"FFMA"}, 112, 64},
      {"l2_read", {"LDG"}, 8, 90},
      {"l2_write", {"STG"}, 8, 110},
      {"l1_read", {"LDG"}, 8, 40},
      {"shared_read", {"LDS"}, 8, 40},
      {"shared_write", {"STS"}, 8, 40},
      {"atomics", {"RED"}, 8, 20},
  };
  std::vector<SassClaim> claims = arithmetic_claims();
  claims.insert(claims.end(), std::begin(memory), std::end(memory));
  return claims;
}

std::string objection(std::span<const unsigned char> cubin, const SassClaim& claim, int capability) {
  const auto names = kernels_of(cubin);
  if (std::ranges::find(names, claim.kernel) == names.end()) return "";
  const auto loop = hot_loop(cubin, capability, claim.kernel, claim.instructions);
  if (!loop) return cat(claim.kernel, " has no loop");
  int count = 0;
  for (const std::string_view name : claim.instructions) count += loop->count(name);
  const bool blackwell = capability / 10 == 10;
  const int wanted = blackwell && claim.data_center_blackwell ? claim.data_center_blackwell : claim.count;
  // IMAD also moves registers and computes addresses.
  const bool exact = claim.instructions.front() != "IMAD";
  if (exact ? count != wanted : count < wanted || count > wanted + 4)
    return cat(claim.kernel, " has ", count, " ", claim.instructions.front(), " in its loop, must have ", wanted);
  if (loop->total - count > claim.overhead)
    return cat(claim.kernel, " has ", loop->total - count, " other instructions in its loop, at most ", claim.overhead,
               " may be");
  return "";
}

}  // namespace pagoda::tools::ceilings
