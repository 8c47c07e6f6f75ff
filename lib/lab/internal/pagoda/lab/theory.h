// Theoretical peak rates: work per clock from tables, times the units and clocks that the machine itself reports.
//
//   GpuAttributes h200{.name = "NVIDIA H200", .major = 9, .sms = 132, .sm_clock_hz = 1.98e9};
//   work_per_clock(h200, Precision::Bfloat16, Unit::Tensor, "fma");     // 4096 FLOP per clock and SM
//   gpu_theory(h200, ceiling);  // datasheet, at the highest clock, at the clock seen while it ran
//
// No rate in FLOP/s is stored here: "% of peak" is meaningless without a clock, and data sheets state tensor rates at a
// different clock than vector rates. Values without a table entry or attribute are absent; implausible attribute values
// count as missing.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "pagoda/core/device.h"
#include "pagoda/documents/ceilings.h"

#pragma GCC visibility push(default)
namespace pagoda::lab {

// As reported by a CUDA driver; 0: not reported.
struct GpuAttributes {
  std::string name;
  int major = 0, minor = 0;  // compute capability
  int sms = 0;
  double sm_clock_hz = 0;      // highest
  double memory_clock_hz = 0;  // highest; two transfers per clock
  int memory_bus_bits = 0;
  double l2_bytes = 0;
};

// FLOP or OP per clock and SM. `op`: "fma", "gemm" (2 per multiply-accumulate), "add", "mul" (1), "dp4a" (8), "special"
// (1). `accumulate` matters on product lines that halve the rate of one accumulator.
std::optional<double> work_per_clock(const GpuAttributes& gpu, Precision precision, Unit unit, std::string_view op,
                                     std::optional<Precision> accumulate = std::nullopt);
// B per clock and SM of "l1" and "shared"; the total rate of an L2 is not documented anywhere.
std::optional<double> bytes_per_clock(const GpuAttributes& gpu, std::string_view level);
// Bus width × memory clock × 2 / 8, if both are plausible.
std::optional<double> dram_bytes_per_second(const GpuAttributes& gpu);
// The built-in device of a product name such as "NVIDIA H100 80GB HBM3"; empty if there is no certain match.
std::optional<DeviceSpec> datasheet_of(const GpuAttributes& gpu);

// The theory of a ceiling by its kind, level, precision, unit_type, op, accumulate, units and clock_hz.
documents::CeilingTheory gpu_theory(const GpuAttributes& gpu, const documents::Ceiling& ceiling);

// Issue rates of the pipes of a core, per clock.
struct CpuCore {
  std::string_view microarchitecture;
  int width_bits = 0;                 // width of a vector pipe; wider instructions take several clocks
  int fma_pipes = 0;                  // pipes that execute FMA and multiply
  int add_pipes = 0;                  // pipes that add
  bool adds_beside = false;           // adds have their own pipes, so FMAs and adds issue together
  int load_pipes = 0, load_bits = 0;  // vector loads from the first-level cache
  int store_pipes = 0, store_bits = 0;
  int dot_pipes = 0;  // int8 and bfloat16 dot products; 0: none or not known
  bool amx = false;
};

struct CpuIdentity {
  std::string vendor;  // "AuthenticAMD", "GenuineIntel", "ARM"
  int family = 0, model = 0;
  std::string name;
};

// Empty for a core that is not in the table.
std::optional<CpuCore> cpu_core(const CpuIdentity& cpu);
// FLOP or OP per clock and core of instructions of `vector_bits` (64: scalar double, 32: scalar float). `op`: "fma",
// "add", "mul", "mul_add" (one multiply and one add instruction), "fma_add" (one FMA and one add), "dot", "amx".
std::optional<double> work_per_clock(const CpuCore& core, Precision precision, int vector_bits, std::string_view op);
// B per clock and core from the first-level cache, for instructions of `vector_bits`: "load", "store", "copy" or
// "update" (a load and a store), "triad" (two loads and a store). The slower of load and store pipes limits.
std::optional<double> l1_bytes_per_clock(const CpuCore& core, int vector_bits, std::string_view op);

// A value above the limit at the observed clock is a measurement error, never a ceiling.
inline constexpr double kImpossibleAbove = 1.005;
bool impossible(const documents::Ceiling& ceiling);

}  // namespace pagoda::lab
#pragma GCC visibility pop
