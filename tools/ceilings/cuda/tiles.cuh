// Operand tiles of wgmma and tcgen05 in shared memory (K-major rows of 128 bytes with the 128-byte swizzle), and the
// formats of their elements.
#pragma once

#include "common.cuh"

// Patterns of small integers with a known product: rows of A contain (row % 3) - 1, rows of B row % 4. In the first of
// two stages, A is multiplied by kEven for even products, to detect a product that reads another product's operands.
__device__ __forceinline__ int pattern(bool of_a, int row) { return of_a ? row % 3 - 1 : row % 4; }

// `of` encodes a number, in every element if T has several; `random` returns one in [-1, 1], or any finite code.
template <typename Format, typename Element>
struct Uniform {
  typedef Element T;
  static __device__ T random(uint32_t seed) { return Format::of(uniform(seed)); }
};
struct F16 : Uniform<F16, __half> {
  static __device__ T of(float x) { return __float2half(x); }
};
struct Bf16 : Uniform<Bf16, __nv_bfloat16> {
  static __device__ T of(float x) { return __float2bfloat16(x); }
};
struct Tf32 : Uniform<Tf32, uint32_t> {
  static __device__ T of(float x) { return __float_as_uint(x) & 0xffffe000U; }
};
struct I8 {
  typedef signed char T;
  static __device__ T of(float x) { return (signed char)x; }
  static __device__ T random(uint32_t seed) { return (signed char)(uniform(seed) * 127.0F); }
};
// e4m3 of a value in [-3, 3]: sign, exponent with bias 7, 3 bits of mantissa, truncated.
struct E4m3 : Uniform<E4m3, unsigned char> {
  static __device__ T of(float x) {
    const uint32_t bits = __float_as_uint(x);
    const int exponent = (int)(bits >> 23 & 255) - 127 + 7;
    return exponent <= 0 ? 0 : (unsigned char)(bits >> 31 << 7 | (uint32_t)exponent << 3 | (bits >> 20 & 7));
  }
};
// Two e2m1 numbers per byte: sign, two bits of exponent with bias 1, one bit of mantissa. Every code is finite; `of`
// accepts the integers that are exact: 0, 1, 2, 3, 4, 6.
struct E2m1 {
  typedef unsigned char T;
  static __device__ T of(float x) {
    const float size = x < 0 ? -x : x;
    const unsigned code = size == 0 ? 0 : size == 1 ? 2 : size == 2 ? 4 : size == 3 ? 5 : size == 4 ? 6 : 7;
    const unsigned number = code | (x < 0 ? 8U : 0U);
    return (unsigned char)(number | number << 4);
  }
  static __device__ T random(uint32_t seed) { return (unsigned char)hash(seed); }
};

// The part of an operand with which a tile is filled.
struct Tile {
  int rows, first;  // rows, and the number of the first one in the whole operand
  bool of_a;
  uint32_t seed;
  int even = 1;    // factor of the pattern for even products
  int depth = 32;  // bytes of a row per product
};

// Fills rows of 128 bytes, swizzled: the 16-byte chunk c of row r is stored at c ^ (r % 8).
template <typename F>
__device__ void fill_tile(unsigned char* to, const Tile& tile, int fill) {
  typedef typename F::T T;
  constexpr int kPerRow = 128 / (int)sizeof(T), kPerChunk = 16 / (int)sizeof(T);
#pragma unroll 4
  for (int i = threadIdx.x; i < tile.rows * kPerRow; i += blockDim.x) {
    const int row = i / kPerRow, column = i % kPerRow;
    const int place = row * 128 + ((column / kPerChunk) ^ (row & 7)) * 16 + column % kPerChunk * (int)sizeof(T);
    T* const at = reinterpret_cast<T*>(to + place);
    const bool even = column * (int)sizeof(T) / tile.depth % 2 == 0;
    if (fill == kRandom)
      *at = F::random(tile.seed + i);
    else if (fill == kPattern)
      *at = F::of((float)(pattern(tile.of_a, tile.first + row) * (even ? tile.even : 1)));
    else
      *at = F::of(fill == kOnes ? 1.0F : 0.0F);
  }
}
