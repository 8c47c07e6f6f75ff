// The table of cpu_kernels_x86.S.
#include <array>

#include "cpu_kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NAMED(name) #name, name

extern "C" {
pagoda::tools::ceilings::ComputeFunction pagoda_fma_f64_scalar, pagoda_fma_f32_scalar, pagoda_mul_add_f64_sse,
    pagoda_mul_add_f32_sse, pagoda_fma_f64_avx2, pagoda_fma_f32_avx2, pagoda_add_f64_avx2, pagoda_add_f32_avx2,
    pagoda_fma_add_f64_avx2, pagoda_fma_add_f32_avx2, pagoda_fma_f64_avx512, pagoda_fma_f32_avx512,
    pagoda_add_f64_avx512, pagoda_add_f32_avx512, pagoda_fma_add_f64_avx512, pagoda_fma_add_f32_avx512,
    pagoda_fma_f16_avx512, pagoda_dot_i8_avx_vnni, pagoda_dot_i8_avx512, pagoda_dot_bf16_avx512, pagoda_amx_bf16,
    pagoda_amx_i8;
pagoda::tools::ceilings::BandwidthFunction pagoda_load_sse, pagoda_load_avx2, pagoda_load_avx512,
    pagoda_load_halves_avx2, pagoda_load_halves_avx512, pagoda_load_ahead_avx2, pagoda_load_ahead_avx512,
    pagoda_store_sse, pagoda_store_avx2, pagoda_store_avx512, pagoda_store_nt_avx2, pagoda_store_nt_avx512,
    pagoda_copy_sse, pagoda_copy_avx2, pagoda_copy_avx512, pagoda_copy_nt_avx2, pagoda_copy_nt_avx512,
    pagoda_triad_avx2, pagoda_triad_avx512, pagoda_triad_nt_avx2, pagoda_triad_nt_avx512, pagoda_update_avx2,
    pagoda_update_avx512, pagoda_update_ahead_avx2, pagoda_update_ahead_avx512;
pagoda::tools::ceilings::ChainFunction pagoda_chain, pagoda_chain_avx2, pagoda_chain_avx512;
}

namespace pagoda::tools::ceilings {
namespace {

using P = Precision;

// clang-format off
constexpr std::array<ComputeKernel, 22> kCompute = {{
    // name                            feature        isa       precision    op      bits acc steps  work  instruction     n  step
    {NAMED(pagoda_fma_f64_scalar),     "fma",         "scalar", P::Float64,  "fma",     64, 12, 8,  96 * 2,      "vfmadd213sd", 96, Step::Fma},
    {NAMED(pagoda_fma_f32_scalar),     "fma",         "scalar", P::Float32,  "fma",     32, 12, 8,  96 * 2,      "vfmadd213ss", 96, Step::Fma},
    {NAMED(pagoda_mul_add_f64_sse),    "sse2",        "sse",    P::Float64,  "mul_add",128, 14, 6,  168 * 2,     "mulpd",       84, Step::MulAdd},
    {NAMED(pagoda_mul_add_f32_sse),    "sse2",        "sse",    P::Float32,  "mul_add",128, 14, 6,  168 * 4,     "mulps",       84, Step::MulAdd},
    {NAMED(pagoda_fma_f64_avx2),       "fma",         "avx2",   P::Float64,  "fma",    256, 12, 8,  96 * 8,      "vfmadd213pd", 96, Step::Fma},
    {NAMED(pagoda_fma_f32_avx2),       "fma",         "avx2",   P::Float32,  "fma",    256, 12, 8,  96 * 16,     "vfmadd213ps", 96, Step::Fma},
    {NAMED(pagoda_add_f64_avx2),       "avx2",        "avx2",   P::Float64,  "add",    256, 12, 8,  96 * 4,      "vsubpd",      96, Step::Subtract},
    {NAMED(pagoda_add_f32_avx2),       "avx2",        "avx2",   P::Float32,  "add",    256, 12, 8,  96 * 8,      "vsubps",      96, Step::Subtract},
    {NAMED(pagoda_fma_add_f64_avx2),   "fma",         "avx2",   P::Float64,  "fma_add",256, 14, 6,  48 * 12,     "vfmadd213pd", 48, Step::FmaAdd},
    {NAMED(pagoda_fma_add_f32_avx2),   "fma",         "avx2",   P::Float32,  "fma_add",256, 14, 6,  48 * 24,     "vfmadd213ps", 48, Step::FmaAdd},
    {NAMED(pagoda_fma_f64_avx512),     "avx512f",     "avx512", P::Float64,  "fma",    512, 12, 8,  96 * 16,     "vfmadd213pd", 96, Step::Fma},
    {NAMED(pagoda_fma_f32_avx512),     "avx512f",     "avx512", P::Float32,  "fma",    512, 12, 8,  96 * 32,     "vfmadd213ps", 96, Step::Fma},
    {NAMED(pagoda_add_f64_avx512),     "avx512f",     "avx512", P::Float64,  "add",    512, 12, 8,  96 * 8,      "vsubpd",      96, Step::Subtract},
    {NAMED(pagoda_add_f32_avx512),     "avx512f",     "avx512", P::Float32,  "add",    512, 12, 8,  96 * 16,     "vsubps",      96, Step::Subtract},
    {NAMED(pagoda_fma_add_f64_avx512), "avx512f",     "avx512", P::Float64,  "fma_add",512, 14, 4,  48 * 24,     "vfmadd213pd", 48, Step::FmaAdd},
    {NAMED(pagoda_fma_add_f32_avx512), "avx512f",     "avx512", P::Float32,  "fma_add",512, 14, 4,  48 * 48,     "vfmadd213ps", 48, Step::FmaAdd},
    {NAMED(pagoda_fma_f16_avx512),     "avx512_fp16", "avx512", P::Float16,  "fma",    512, 12, 8,  96 * 64,     "vfmadd213ph", 96, Step::Fma},
    {NAMED(pagoda_dot_i8_avx_vnni),    "avx_vnni",    "avx2",   P::Int8,     "dot",    256, 12, 8,  96 * 64,     "vpdpbusd",    96, Step::DotInt8, "int32"},
    {NAMED(pagoda_dot_i8_avx512),      "avx512_vnni", "avx512", P::Int8,     "dot",    512, 12, 8,  96 * 128,    "vpdpbusd",    96, Step::DotInt8, "int32"},
    {NAMED(pagoda_dot_bf16_avx512),    "avx512_bf16", "avx512", P::Bfloat16, "dot",    512, 12, 8,  96 * 64,     "vdpbf16ps",   96, Step::DotBfloat16, "float32"},
    {NAMED(pagoda_amx_bf16),           "amx_bf16",    "amx",    P::Bfloat16, "amx",   8192,  4, 4,  16 * 16384,  "tdpbf16ps",   16, Step::Tile, "float32"},
    {NAMED(pagoda_amx_i8),             "amx_int8",    "amx",    P::Int8,     "amx",   8192,  4, 4,  16 * 32768,  "tdpbssd",     16, Step::Tile, "int32"},
}};

constexpr std::array<BandwidthKernel, 25> kBandwidth = {{
    // name                              feature    isa       op         bits  step arr mov alloc instruction n
    {NAMED(pagoda_load_sse),             "sse2",    "sse",    "load",     128,  256, 1, 1, 0, "movaps",   16},
    {NAMED(pagoda_load_avx2),            "avx2",    "avx2",   "load",     256,  512, 1, 1, 0, "vmovaps",  16},
    {NAMED(pagoda_load_avx512),          "avx512f", "avx512", "load",     512, 1024, 1, 1, 0, "vmovaps",  16},
    {NAMED(pagoda_load_halves_avx2),     "avx2",    "avx2",   "load",     256,  512, 1, 1, 0, "vmovaps",  16},
    {NAMED(pagoda_load_halves_avx512),   "avx512f", "avx512", "load",     512, 1024, 1, 1, 0, "vmovaps",  16},
    {NAMED(pagoda_load_ahead_avx2),      "avx2",    "avx2",   "load",     256,  512, 1, 1, 0, "vmovaps",  16},
    {NAMED(pagoda_load_ahead_avx512),    "avx512f", "avx512", "load",     512, 1024, 1, 1, 0, "vmovaps",  16},
    {NAMED(pagoda_store_sse),            "sse2",    "sse",    "store",    128,  256, 1, 1, 1, "movaps",   16},
    {NAMED(pagoda_store_avx2),           "avx2",    "avx2",   "store",    256,  512, 1, 1, 1, "vmovaps",  16},
    {NAMED(pagoda_store_avx512),         "avx512f", "avx512", "store",    512, 1024, 1, 1, 1, "vmovaps",  16},
    {NAMED(pagoda_store_nt_avx2),        "avx2",    "avx2",   "store_nt", 256,  512, 1, 1, 0, "vmovntps", 16},
    {NAMED(pagoda_store_nt_avx512),      "avx512f", "avx512", "store_nt", 512, 1024, 1, 1, 0, "vmovntps", 16},
    {NAMED(pagoda_copy_sse),             "sse2",    "sse",    "copy",     128,  128, 2, 2, 1, "movaps",   16},
    {NAMED(pagoda_copy_avx2),            "avx2",    "avx2",   "copy",     256,  256, 2, 2, 1, "vmovaps",  16},
    {NAMED(pagoda_copy_avx512),          "avx512f", "avx512", "copy",     512,  512, 2, 2, 1, "vmovaps",  16},
    {NAMED(pagoda_copy_nt_avx2),         "avx2",    "avx2",   "copy_nt",  256,  256, 2, 2, 0, "vmovntps",  8},
    {NAMED(pagoda_copy_nt_avx512),       "avx512f", "avx512", "copy_nt",  512,  512, 2, 2, 0, "vmovntps",  8},
    {NAMED(pagoda_triad_avx2),           "avx2",    "avx2",   "triad",    256,  256, 3, 3, 1, "vaddpd",    8},
    {NAMED(pagoda_triad_avx512),         "avx512f", "avx512", "triad",    512,  512, 3, 3, 1, "vaddpd",    8},
    {NAMED(pagoda_triad_nt_avx2),        "avx2",    "avx2",   "triad_nt", 256,  256, 3, 3, 0, "vmovntps",  8},
    {NAMED(pagoda_triad_nt_avx512),      "avx512f", "avx512", "triad_nt", 512,  512, 3, 3, 0, "vmovntps",  8},
    {NAMED(pagoda_update_avx2),          "avx2",    "avx2",   "update",   256,  256, 1, 2, 0, "vpxor",     8},
    {NAMED(pagoda_update_avx512),        "avx512f", "avx512", "update",   512,  512, 1, 2, 0, "vpxorq",    8},
    {NAMED(pagoda_update_ahead_avx2),    "avx2",    "avx2",   "update",   256,  256, 1, 2, 0, "vpxor",     8},
    {NAMED(pagoda_update_ahead_avx512),  "avx512f", "avx512", "update",   512,  512, 1, 2, 0, "vpxorq",    8},
}};

constexpr std::array<ChainKernel, 3> kChains = {{
    {"scalar", pagoda_chain, ""},
    {"avx2", pagoda_chain_avx2, "fma"},
    {"avx512", pagoda_chain_avx512, "avx512f"},
}};
// clang-format on

}  // namespace

std::span<const ComputeKernel> compute_kernels() { return kCompute; }
std::span<const BandwidthKernel> bandwidth_kernels() { return kBandwidth; }
std::span<const ChainKernel> chain_kernels() { return kChains; }

void flush_denormals() { _mm_setcsr(_mm_getcsr() | 0x8040); }  // flush to zero, denormals are zero

bool allow_tiles() {
#if defined(SYS_arch_prctl)
  constexpr long kRequestPermission = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
  return false;
#endif
}

}  // namespace pagoda::tools::ceilings
#endif
