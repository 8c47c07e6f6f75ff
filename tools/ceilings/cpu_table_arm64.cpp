// The table of cpu_kernels_arm64.S.
#include <array>

#include "cpu_kernels.h"

#if defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>

#define NAMED(name) #name, name

extern "C" {
pagoda::tools::ceilings::ComputeFunction pagoda_fma_f64_scalar, pagoda_fma_f64_neon, pagoda_fma_f32_neon,
    pagoda_fma_f16_neon, pagoda_dot_i8_neon, pagoda_dot_bf16_neon, pagoda_fma_f64_sve, pagoda_fma_f32_sve,
    pagoda_fma_f16_sve;
pagoda::tools::ceilings::BandwidthFunction pagoda_load_neon, pagoda_store_neon, pagoda_store_nt_neon, pagoda_copy_neon,
    pagoda_triad_neon, pagoda_load_sve, pagoda_store_sve, pagoda_copy_sve, pagoda_triad_sve;
pagoda::tools::ceilings::ChainFunction pagoda_chain;
std::uint64_t pagoda_sve_bytes();
}

namespace pagoda::tools::ceilings {
namespace {

using P = Precision;

// Bytes of an SVE vector; 0 if the core has no SVE.
int sve_bytes() { return (getauxval(AT_HWCAP) & HWCAP_SVE) != 0 ? static_cast<int>(pagoda_sve_bytes()) : 0; }
// Other lengths do not fit the slots or divide the arrays. No core has them; if one did, this name matches no CPU flag.
const int kSveBytes = sve_bytes();
const bool kSveFits = kSveBytes == 16 || kSveBytes == 32 || kSveBytes == 64;
const std::string_view kSve = kSveFits || kSveBytes == 0 ? "sve" : "SVE vectors of 128, 256 or 512 bits";
const int kSveBits = kSveFits ? 8 * kSveBytes : 128;
const std::int64_t kSveFma = 100 * 2 * (kSveBits / 8);  // FLOP per trip times bytes per lane

// clang-format off
const std::array<ComputeKernel, 9> kCompute = {{
    // name                        feature    isa       precision    op   bits acc steps work      instruction n   step
    {NAMED(pagoda_fma_f64_scalar), "",        "scalar", P::Float64,  "fma",  64, 14, 5, 100 * 2,  "fmadd",  100, Step::Accumulate},
    {NAMED(pagoda_fma_f64_neon),   "asimd",   "neon",   P::Float64,  "fma", 128, 14, 5, 100 * 4,  "fmla",   100, Step::Accumulate},
    {NAMED(pagoda_fma_f32_neon),   "asimd",   "neon",   P::Float32,  "fma", 128, 14, 5, 100 * 8,  "fmla",   100, Step::Accumulate},
    {NAMED(pagoda_fma_f16_neon),   "asimdhp", "neon",   P::Float16,  "fma", 128, 14, 5, 100 * 16, "fmla",   100, Step::Accumulate},
    {NAMED(pagoda_dot_i8_neon),    "asimddp", "neon",   P::Int8,     "dot", 128, 14, 5, 100 * 32, "sdot",   100, Step::DotInt8, "int32"},
    {NAMED(pagoda_dot_bf16_neon),  "bf16",    "neon",   P::Bfloat16, "dot", 128, 14, 5, 100 * 16, "bfdot",  100, Step::DotBfloat16, "float32"},
    {NAMED(pagoda_fma_f64_sve),    kSve,      "sve",    P::Float64,  "fma", kSveBits, 14, 5, kSveFma / 8, "fmla", 100, Step::Accumulate},
    {NAMED(pagoda_fma_f32_sve),    kSve,      "sve",    P::Float32,  "fma", kSveBits, 14, 5, kSveFma / 4, "fmla", 100, Step::Accumulate},
    {NAMED(pagoda_fma_f16_sve),    kSve,      "sve",    P::Float16,  "fma", kSveBits, 14, 5, kSveFma / 2, "fmla", 100, Step::Accumulate},
}};

const std::array<BandwidthKernel, 9> kBandwidth = {{
    // name                       feature  isa     op         bits step arr mov alloc instruction n
    {NAMED(pagoda_load_neon),     "asimd", "neon", "load",     128, 256, 1, 1, 0, "ldp",  8},
    {NAMED(pagoda_store_neon),    "asimd", "neon", "store",    128, 256, 1, 1, 1, "stp",  8},
    {NAMED(pagoda_store_nt_neon), "asimd", "neon", "store_nt", 128, 256, 1, 1, 0, "stnp", 8},
    {NAMED(pagoda_copy_neon),     "asimd", "neon", "copy",     128, 256, 2, 2, 1, "ldp",  8},
    {NAMED(pagoda_triad_neon),    "asimd", "neon", "triad",    128, 256, 3, 3, 1, "ldp", 16},
    {NAMED(pagoda_load_sve),      kSve,    "sve",  "load",     kSveBits, 2 * kSveBits, 1, 1, 0, "ldr", 16},
    {NAMED(pagoda_store_sve),     kSve,    "sve",  "store",    kSveBits, 2 * kSveBits, 1, 1, 1, "str", 16},
    {NAMED(pagoda_copy_sve),      kSve,    "sve",  "copy",     kSveBits, 2 * kSveBits, 2, 2, 1, "ldr", 16},
    {NAMED(pagoda_triad_sve),     kSve,    "sve",  "triad",    kSveBits, 2 * kSveBits, 3, 3, 1, "ldr", 32},
}};

constexpr std::array<ChainKernel, 1> kChains = {{{"scalar", pagoda_chain, ""}}};
// clang-format on

}  // namespace

std::span<const ComputeKernel> compute_kernels() { return kCompute; }
std::span<const BandwidthKernel> bandwidth_kernels() { return kBandwidth; }
std::span<const ChainKernel> chain_kernels() { return kChains; }

// Bit 24 of FPCR: flush to zero.
void flush_denormals() {
  std::uint64_t control;
  asm volatile("mrs %0, fpcr" : "=r"(control));
  asm volatile("msr fpcr, %0" : : "r"(control | (std::uint64_t{1} << 24)));
}

bool allow_tiles() { return false; }

}  // namespace pagoda::tools::ceilings
#endif
