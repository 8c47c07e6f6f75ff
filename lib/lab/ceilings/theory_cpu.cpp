// Issue rates of the pipes of CPU cores, per clock. Sources: AMD's "Software Optimization Guide" of each family,
// Intel's "64 and IA-32 Architectures Optimization Reference Manual", Arm's "Software Optimization Guide" of each core:
// the sections on execution pipes and on the load/store unit.
#include <algorithm>
#include <array>

#include "pagoda/lab/theory.h"

namespace pagoda::lab {
namespace {

struct CoreRow {
  std::string_view vendor;
  int family, first_model, last_model;
  CpuCore core;
};

// clang-format off
constexpr std::array<CoreRow, 22> kCoreRows = {{
    // vendor         family  models         core              width fma add beside  loads   stores  dots amx
    {"ARM",                8, 0xd0c, 0xd0c, {"Neoverse N1",      128, 2, 2, false,  2, 128, 1, 128, 2, false}},
    {"ARM",                8, 0xd40, 0xd40, {"Neoverse V1",      128, 4, 4, false,  3, 128, 2, 128, 4, false}},
    {"ARM",                8, 0xd49, 0xd49, {"Neoverse N2",      128, 2, 2, false,  3, 128, 2, 128, 2, false}},
    {"ARM",                8, 0xd4f, 0xd4f, {"Neoverse V2",      128, 4, 4, false,  3, 128, 2, 128, 4, false}},
    {"AuthenticAMD",    0x17, 0x30,  0xff,  {"Zen 2",            256, 2, 2, true,   2, 256, 1, 256, 0, false}},
    {"AuthenticAMD",    0x19, 0x00,  0x0f,  {"Zen 3",            256, 2, 2, true,   2, 256, 1, 256, 0, false}},
    {"AuthenticAMD",    0x19, 0x10,  0x1f,  {"Zen 4",            256, 2, 2, true,   2, 256, 1, 256, 2, false}},
    {"AuthenticAMD",    0x19, 0x20,  0x5f,  {"Zen 3",            256, 2, 2, true,   2, 256, 1, 256, 0, false}},
    {"AuthenticAMD",    0x19, 0x60,  0xaf,  {"Zen 4",            256, 2, 2, true,   2, 256, 1, 256, 2, false}},
    {"AuthenticAMD",    0x1a, 0x00,  0x1f,  {"Zen 5",            512, 2, 2, true,   2, 512, 1, 512, 2, false}},
    {"AuthenticAMD",    0x1a, 0x20,  0x3f,  {"Zen 5 mobile",     256, 2, 2, true,   2, 256, 1, 256, 2, false}},
    {"AuthenticAMD",    0x1a, 0x40,  0x4f,  {"Zen 5",            512, 2, 2, true,   2, 512, 1, 512, 2, false}},
    {"AuthenticAMD",    0x1a, 0x60,  0x7f,  {"Zen 5 mobile",     256, 2, 2, true,   2, 256, 1, 256, 2, false}},
    {"GenuineIntel",       6, 0x4e,  0x4e,  {"Skylake",          256, 2, 2, false,  2, 256, 1, 256, 0, false}},
    {"GenuineIntel",       6, 0x55,  0x55,  {"Skylake-SP",       512, 2, 2, false,  2, 512, 1, 512, 0, false}},
    {"GenuineIntel",       6, 0x5e,  0x5e,  {"Skylake",          256, 2, 2, false,  2, 256, 1, 256, 0, false}},
    {"GenuineIntel",       6, 0x6a,  0x6c,  {"Ice Lake-SP",      512, 2, 2, false,  2, 512, 1, 512, 2, false}},
    {"GenuineIntel",       6, 0x8e,  0x8e,  {"Kaby Lake",        256, 2, 2, false,  2, 256, 1, 256, 0, false}},
    {"GenuineIntel",       6, 0x8f,  0x8f,  {"Sapphire Rapids",  512, 2, 2, false,  2, 512, 1, 512, 0, true}},
    {"GenuineIntel",       6, 0x9e,  0x9e,  {"Coffee Lake",      256, 2, 2, false,  2, 256, 1, 256, 0, false}},
    {"GenuineIntel",       6, 0xad,  0xae,  {"Granite Rapids",   512, 2, 2, false,  2, 512, 1, 512, 0, true}},
    {"GenuineIntel",       6, 0xcf,  0xcf,  {"Emerald Rapids",   512, 2, 2, false,  2, 512, 1, 512, 0, true}},
}};
// clang-format on

}  // namespace

std::optional<CpuCore> cpu_core(const CpuIdentity& cpu) {
  for (const CoreRow& row : kCoreRows)
    if (row.vendor == cpu.vendor && row.family == cpu.family && cpu.model >= row.first_model &&
        cpu.model <= row.last_model)
      return row.core;
  return std::nullopt;
}

std::optional<double> work_per_clock(const CpuCore& core, Precision precision, int vector_bits, std::string_view op) {
  const int lane_bits = bits(precision);
  const double lanes = static_cast<double>(std::min(vector_bits, core.width_bits)) / lane_bits;
  // FLOP of the instructions that issue in one clock.
  if (op == "fma") return 2 * core.fma_pipes * lanes;
  if (op == "mul") return core.fma_pipes * lanes;
  if (op == "add") return core.add_pipes * lanes;
  // Equal numbers of multiplies and adds: simultaneous if adds have their own pipes, alternating if they share.
  if (op == "mul_add") return (core.adds_beside ? core.fma_pipes + core.add_pipes : core.fma_pipes) * lanes;
  // Equal numbers of FMAs (2 FLOP) and adds (1 FLOP).
  if (op == "fma_add") return core.fma_pipes * lanes * (core.adds_beside ? 3 : 1.5);
  // Each 32-bit lane sums 4 products of bytes or 2 products of 16-bit floats.
  const double sums = static_cast<double>(std::min(vector_bits, core.width_bits)) / 32;
  const int products = 32 / lane_bits;
  if (op == "dot" && core.dot_pipes > 0) return 2 * core.dot_pipes * sums * products;
  // A tile product of 16 × 16 results over 64 bytes of depth takes 16 clocks.
  const int depth = 64 * 8 / lane_bits;
  if (op == "amx" && core.amx) return 2.0 * 16 * 16 * depth / 16;
  return std::nullopt;
}

std::optional<double> l1_bytes_per_clock(const CpuCore& core, int vector_bits, std::string_view op) {
  const double load = core.load_pipes * static_cast<double>(std::min(vector_bits, core.load_bits)) / 8;
  const double store = core.store_pipes * static_cast<double>(std::min(vector_bits, core.store_bits)) / 8;
  if (load <= 0 || store <= 0) return std::nullopt;
  if (op == "load") return load;
  if (op == "store") return store;
  // Loads and stores issue together, so the time is the longer of the two; all bytes are credited.
  if (op == "copy" || op == "update") return 2 / std::max(1 / load, 1 / store);
  if (op == "triad") return 3 / std::max(2 / load, 1 / store);
  return std::nullopt;
}

}  // namespace pagoda::lab
