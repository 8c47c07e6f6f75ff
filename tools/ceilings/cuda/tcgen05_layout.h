// Shared by tcgen05's kernels and the host: sizes of a product, bits of its descriptors, and the block scales with
// which results are checked. Facts of the instruction set are from the PTX ISA, sections on tcgen05.
#pragma once

#include "shared.h"

namespace tcgen05 {

// A single block on an SM (cta_group::1) multiplies 128 × 256 × 32 bytes of depth at a time. This takes 128 clocks in
// every format (bfloat16: 2·128·256·16 FLOP / 8192 per clock) and reads (128 + 256) × 32 bytes of shared memory: 96 of
// the SM's 128 bytes per clock. Two blocks of a cluster (cta_group::2) multiply 256 × 256: each has half of the rows of
// A and of B, so it reads (128 + 128) × 32 bytes, 64 bytes per clock. Published measurements on B200 agree: with both
// operands in shared memory, only N below 128 is slower than the tensor cores (SemiAnalysis, "Dissecting Nvidia
// Blackwell", 2026). On compute capability 10.3, products of 4-bit numbers can have 48 bytes of depth, 96 numbers, in
// the same time (2·128·256·96 / 49152). One block would need 144 bytes per clock; a pair needs 96.
constexpr int kM = 128, kN = 256, kDepthBytes = 32, kLongDepthBytes = 48;
constexpr int kProducts = 32;  // per trip
// Shared memory of a block: two stages of its rows of A and B, each with 128 bytes of depth.
constexpr int kStageA = kM * 128, kStageB = kN * 128, kBytes = 2 * (kStageA + kStageB);
// A launch requests more than half of an SM's shared memory (228 KiB / 2), so that no second block becomes resident and
// waits for tensor memory; includes 1 KiB to align the tiles.
constexpr unsigned kShared = 117 * 1024;
static_assert(kShared >= kBytes + 1024 && kShared > 114 * 1024);
// 32-bit columns of tensor memory: the accumulators, then the scales of A (4) and of B (8).
constexpr uint32_t kColumns = 512, kScalesA = kN, kScalesB = kN + 32;

// Shared memory descriptor: address, leading offset and stride offset in units of 16 bytes. The stride from one group
// of 8 rows to the next is 1024 bytes; the leading offset is unused in this layout and set to 1. Bits 46-48 are 1 on
// these chips; bits 61-63 are 2, the 128-byte swizzle.
PAGODA_BOTH constexpr uint64_t descriptor(uint32_t address) {
  return static_cast<uint64_t>((address & 0x3ffff) >> 4) | uint64_t{1} << 16 | uint64_t{1024 >> 4} << 32 |
         uint64_t{1} << 46 | uint64_t{2} << 61;
}

// A stage holds 4 products, or 2 long ones; the products of a trip cycle through both stages.
PAGODA_BOTH constexpr int per_stage(int depth) { return depth == kDepthBytes ? 4 : 2; }
PAGODA_BOTH constexpr uint32_t offset(int k, int depth, int stage_bytes) {
  return static_cast<uint32_t>(k / per_stage(depth) % 2 * stage_bytes + k % per_stage(depth) * depth);
}
PAGODA_BOTH constexpr uint32_t address_a(uint32_t pool, int k, int depth) { return pool + offset(k, depth, kStageA); }
PAGODA_BOTH constexpr uint32_t address_b(uint32_t pool, int k, int depth) {
  return pool + 2 * kStageA + offset(k, depth, kStageB);
}
// For a long product, bit 52 turns the leading offset into an address (/ 16) at which depth beyond the 128 bytes
// continues. The products of a stage end before that, so the address, the other stage's, is never read.
PAGODA_BOTH constexpr uint64_t long_descriptor(uint32_t address, uint32_t next) {
  return (descriptor(address) & ~(uint64_t{0x3fff} << 16)) | static_cast<uint64_t>((next & 0x3ffff) >> 4) << 16 |
         uint64_t{1} << 52;
}

// Instruction descriptor: accumulator in bits 4-5 (float32: 1, int32: 2; 0 with block scales), format of A and of B in
// 7-9 and 10-12, N / 8 in 17-22, M / 16 in 24-28; both operands K-major, dense, not negated. With scales, bit 23 is
// their format (1: ue8m0, 0: ue4m3), and bits 4-5 and 29-30 select which of a word's four scales comes first: 0.
// M of a pair is 256. Bit 31: a long product.
PAGODA_BOTH constexpr uint32_t instruction(int blocks, uint32_t accumulator, uint32_t format, uint32_t scale_format,
                                           int depth = kDepthBytes) {
  return accumulator << 4 | format << 7 | format << 10 | uint32_t{kN / 8} << 17 | scale_format << 23 |
         static_cast<uint32_t>(blocks * kM / 16) << 24 | (depth == kDepthBytes ? 0U : 1U) << 31;
}

// Scales for checking results: powers of two. Within a product's depth, each row of A and of B has up to four blocks. A
// long product has more scales than fit into a word; all its scales are equal, so that their positions do not matter: 2
// in A, 1 in B.
constexpr int kAlike = -1;  // instead of a number of blocks: all scales are equal
constexpr int kLongExponent = 1;
PAGODA_BOTH constexpr int exponent_a(int row, int block) { return (row / 3 + block) % 4 - 2; }
PAGODA_BOTH constexpr int exponent_b(int row, int block) { return (row / 5 + 2 * block) % 3 - 1; }

}  // namespace tcgen05
