// Traffic of every level: 16-byte accesses, four or eight in flight per thread; every loaded word enters an xor.
#include "common.cuh"

__device__ __forceinline__ void mix(uint4& sum, const uint4& x) {
  sum.x ^= x.x;
  sum.y ^= x.y;
  sum.z ^= x.z;
  sum.w ^= x.w;
}

__device__ __forceinline__ unsigned folded(const uint4& sum) { return sum.x ^ sum.y ^ sum.z ^ sum.w; }

#define LOAD(name, ADDRESS, CONSTRAINT, INSTRUCTION)          \
  __device__ __forceinline__ uint4 name(ADDRESS p) {          \
    uint4 v;                                                  \
    asm volatile(INSTRUCTION ".v4.u32 {%0,%1,%2,%3}, [%4];"   \
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) \
                 : CONSTRAINT(p));                            \
    return v;                                                 \
  }
LOAD(load_l1, const uint4*, "l", "ld.global.ca")
LOAD(load_l2, const uint4*, "l", "ld.global.cg")
LOAD(load_stream, const uint4*, "l", "ld.global.cs")
LOAD(load_shared, unsigned, "r", "ld.shared")

__device__ __forceinline__ void store_stream(uint4* p, const uint4& v) {
  asm volatile("st.global.cs.v4.u32 [%0], {%1,%2,%3,%4};" ::"l"(p), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w) : "memory");
}

__device__ __forceinline__ uint4 axpy(const uint4& b, const uint4& c, float s) {
  uint4 r;
  r.x = __float_as_uint(__fmaf_rn(s, __uint_as_float(c.x), __uint_as_float(b.x)));
  r.y = __float_as_uint(__fmaf_rn(s, __uint_as_float(c.y), __uint_as_float(b.y)));
  r.z = __float_as_uint(__fmaf_rn(s, __uint_as_float(c.z), __uint_as_float(b.z)));
  r.w = __float_as_uint(__fmaf_rn(s, __uint_as_float(c.w), __uint_as_float(b.w)));
  return r;
}

// Stores what the threads have read, so that no compiler or cache can drop a load: `out` has 8192 words, one per warp,
// so that atomics rarely collide. The xor of all words of `out` equals the xor of all words read.
__device__ __forceinline__ void keep(unsigned* out, const uint4& sum) {
  unsigned all = folded(sum);
#pragma unroll
  for (int step = 16; step > 0; step /= 2) all ^= __shfl_xor_sync(0xffffffffU, all, step);
  const unsigned warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  if (threadIdx.x % 32 == 0) atomicXor(out + (warp & 8191), all);
}

// `trips` passes over whole arrays of n vectors; n is a multiple of 4 × threads of the grid. The stride between the
// four accesses of a thread is the grid's number of threads or, with `near`, the block's, so that a block works on one
// range.
#define EVERY_VECTOR                                                                                              \
  const size_t grid = (size_t)gridDim.x * blockDim.x, step = near ? blockDim.x : grid;                            \
  const size_t first = blockIdx.x * (size_t)blockDim.x * (near ? 4 : 1) + threadIdx.x;                            \
  _Pragma("unroll 1") for (unsigned trip = 0; trip < trips; ++trip)                                               \
      _Pragma("unroll 1") for (size_t i = first; i < n; i += 4 * grid)
#define STREAM(name, PARAMS, BODY)  \
  KERNEL(512) name PARAMS {         \
    start(clocks);                  \
    EVERY_VECTOR BODY stop(clocks); \
  }
#define FOUR _Pragma("unroll") for (int k = 0; k < 4; ++k)
#define EIGHT _Pragma("unroll") for (int k = 0; k < 8; ++k)

KERNEL(512) hbm_read(unsigned trips, const uint4* b, size_t n, unsigned* out, unsigned near, Clocks* clocks) {
  start(clocks);
  uint4 sum = make_uint4(0, 0, 0, 0);
  EVERY_VECTOR {
    uint4 v[4];
    FOUR v[k] = load_stream(b + i + k * step);
    FOUR mix(sum, v[k]);
  }
  stop(clocks);
  keep(out, sum);
}
#if __CUDA_ARCH__ >= 900
// The same by bulk copies: one thread requests pieces of 16 KiB, four of them in flight, which need no registers and no
// instruction per vector; all threads then read each piece from shared memory. 256 threads; n is a multiple of a
// piece's vectors times the blocks; 64 KiB of shared memory, followed by the barriers. `near` is unused.
constexpr unsigned kPieceBytes = 16384, kPieceVectors = kPieceBytes / 16, kPieces = 4;

__device__ __forceinline__ void request_piece(unsigned pool, unsigned number, const uint4* from) {
  const unsigned place = number % kPieces, barrier = pool + kPieces * kPieceBytes + 8 * place;
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "n"(kPieceBytes) : "memory");
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                   pool + place * kPieceBytes),
               "l"(from), "n"(kPieceBytes), "r"(barrier)
               : "memory");
}

KERNEL(256) hbm_read_bulk(unsigned trips, const uint4* b, size_t n, unsigned* out, unsigned near, Clocks* clocks) {
  extern __shared__ uint4 pool[];
  const unsigned base = (unsigned)__cvta_generic_to_shared(pool);
  const unsigned each = (unsigned)(n / kPieceVectors / gridDim.x), all = each * trips;
  // Within a pass, a block's pieces are one grid of pieces apart; after the last one comes the first again.
  const size_t step = (size_t)gridDim.x * kPieceVectors;
  const uint4* const first = b + blockIdx.x * (size_t)kPieceVectors;
  const uint4* next = first;
  unsigned requested = 0;
  const auto request = [&](unsigned number) {
    request_piece(base, number, next);
    next += step;
    if (++requested == each) {
      requested = 0;
      next = first;
    }
  };
  if (threadIdx.x == 0) {
    for (unsigned i = 0; i < kPieces; ++i)
      asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(base + kPieces * kPieceBytes + 8 * i) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  start(clocks);
  if (threadIdx.x == 0)
    for (unsigned number = 0; number < kPieces && number < all; ++number) request(number);
  uint4 sum = make_uint4(0, 0, 0, 0);
#pragma unroll 1
  for (unsigned number = 0; number < all; ++number) {
    const unsigned place = number % kPieces;
    if (threadIdx.x == 0) wait(base + kPieces * kPieceBytes + 8 * place, number / kPieces & 1);
    __syncthreads();
    uint4 v[4];
    FOUR v[k] = load_shared(base + place * kPieceBytes + 16 * (threadIdx.x + 256 * k));
    FOUR mix(sum, v[k]);
    __syncthreads();
    if (threadIdx.x == 0 && number + kPieces < all) request(number + kPieces);
  }
  stop(clocks);
  keep(out, sum);
}
#endif

STREAM(hbm_write, (unsigned trips, uint4* a, size_t n, float s, unsigned near, Clocks* clocks), {
  const unsigned w = __float_as_uint(s);
  FOUR store_stream(a + i + k * step, make_uint4(w, w, w, w));
})
STREAM(hbm_copy, (unsigned trips, uint4* a, const uint4* b, size_t n, unsigned near, Clocks* clocks), {
  uint4 v[4];
  FOUR v[k] = load_stream(b + i + k * step);
  FOUR store_stream(a + i + k * step, v[k]);
})
STREAM(hbm_scale, (unsigned trips, uint4* a, const uint4* b, size_t n, float s, unsigned near, Clocks* clocks), {
  uint4 v[4];
  FOUR v[k] = load_stream(b + i + k * step);
  FOUR store_stream(a + i + k * step, axpy(make_uint4(0, 0, 0, 0), v[k], s));
})
STREAM(hbm_add, (unsigned trips, uint4* a, const uint4* b, const uint4* c, size_t n, unsigned near, Clocks* clocks), {
  uint4 v[4];
  uint4 w[4];
  FOUR v[k] = load_stream(b + i + k * step);
  FOUR w[k] = load_stream(c + i + k * step);
  FOUR store_stream(a + i + k * step, axpy(v[k], w[k], 1.0F));
})
STREAM(hbm_triad, (unsigned trips, uint4* a, const uint4* b, const uint4* c, size_t n, float s, unsigned near,
                   Clocks* clocks), {
  uint4 v[4];
  uint4 w[4];
  FOUR v[k] = load_stream(b + i + k * step);
  FOUR w[k] = load_stream(c + i + k * step);
  FOUR store_stream(a + i + k * step, axpy(v[k], w[k], s));
})

// Arithmetic and traffic in a given ratio: `steps` multiply-adds x = -x/2 + 5/4 on each word between load and store, so
// 8 × steps FLOP per 32 bytes.
STREAM(intensity, (unsigned trips, uint4* a, const uint4* b, size_t n, unsigned steps, unsigned near, Clocks* clocks), {
  float v[16];
  FOUR {
    const uint4 x = load_stream(b + i + k * step);
    v[4 * k] = __uint_as_float(x.x);
    v[4 * k + 1] = __uint_as_float(x.y);
    v[4 * k + 2] = __uint_as_float(x.z);
    v[4 * k + 3] = __uint_as_float(x.w);
  }
  _Pragma("unroll 4") for (unsigned at = 0; at < steps; ++at)
      _Pragma("unroll") for (int k = 0; k < 16; ++k) v[k] = __fmaf_rn(v[k], -0.5F, 1.25F);
  FOUR store_stream(a + i + k * step, make_uint4(__float_as_uint(v[4 * k]), __float_as_uint(v[4 * k + 1]),
                                                 __float_as_uint(v[4 * k + 2]), __float_as_uint(v[4 * k + 3])));
})

// All SMs go through n vectors repeatedly, a multiple of 8 × threads of the grid. Each block always comes back to vectors
// of its own: where two SMs read a line at about the same time, one read of the L2 serves both, and the rate would be that
// of the links to the SMs.
#define OWN_VECTORS                                                                                   \
  const size_t step = 8 * (size_t)blockDim.x * gridDim.x;                                             \
  size_t i = 8 * (size_t)blockDim.x * blockIdx.x + threadIdx.x;                                       \
  start(clocks);                                                                                      \
  _Pragma("unroll 1") for (unsigned trip = 0; trip < trips; ++trip, i = i + step < n ? i + step : i + step - n)

KERNEL(512) l2_read(unsigned trips, const uint4* b, size_t n, unsigned* out, Clocks* clocks) {
  uint4 sum = make_uint4(0, 0, 0, 0);
  OWN_VECTORS {
    uint4 v[8];
    EIGHT v[k] = load_l2(b + i + k * (size_t)blockDim.x);
    EIGHT mix(sum, v[k]);
  }
  stop(clocks);
  keep(out, sum);
}
KERNEL(512) l2_write(unsigned trips, uint4* a, size_t n, unsigned value, Clocks* clocks) {
  OWN_VECTORS {
    EIGHT a[i + k * (size_t)blockDim.x] = make_uint4(value, value, value, value);
  }
  stop(clocks);
}

// A private piece of 32 KiB per block of 256 threads, small enough for its L1. The address changes with the trip, so
// that no load can be hoisted out of the loop or merged with another.
KERNEL(256) l1_read(unsigned trips, const uint4* b, unsigned* out, Clocks* clocks) {
  const uint4* mine = b + blockIdx.x * (size_t)2048;
  uint4 sum = make_uint4(0, 0, 0, 0);
  start(clocks);
#pragma unroll 1
  for (unsigned trip = 0; trip < trips; ++trip) {
    const uint4* at = mine + ((threadIdx.x + 32 * trip) & 255);
    uint4 v[8];
    EIGHT v[k] = load_l1(at + 256 * k);
    EIGHT mix(sum, v[k]);
  }
  stop(clocks);
  keep(out, sum);
}

// The same from 32 KiB of shared memory. A `stride` of 1 has no bank conflicts; larger ones are the conflict control.
KERNEL(256) shared_read(unsigned trips, unsigned stride, unsigned* out, Clocks* clocks) {
  extern __shared__ uint4 pool[];
  for (int k = 0; k < 8; ++k) pool[threadIdx.x + 256 * k] = make_uint4(hash(threadIdx.x + 256 * k), 1, 2, k);
  __syncthreads();
  const unsigned base = (unsigned)__cvta_generic_to_shared(pool);
  uint4 sum = make_uint4(0, 0, 0, 0);
  start(clocks);
#pragma unroll 1
  for (unsigned trip = 0; trip < trips; ++trip) {
    const unsigned at = base + 16 * ((threadIdx.x * stride + 32 * trip) & 255);
    uint4 v[8];
    EIGHT v[k] = load_shared(at + 4096 * k);
    EIGHT mix(sum, v[k]);
  }
  stop(clocks);
  keep(out, sum);
}
// Each trip, a different warp writes a given address. Their order is undefined, so all write the same value there.
KERNEL(256) shared_write(unsigned trips, unsigned value, unsigned* out, Clocks* clocks) {
  extern __shared__ uint4 pool[];
  const unsigned base = (unsigned)__cvta_generic_to_shared(pool), mine = value + threadIdx.x % 32;
  start(clocks);
#pragma unroll 1
  for (unsigned trip = 0; trip < trips; ++trip) {
    const unsigned at = base + 16 * ((threadIdx.x + 32 * trip) & 255);
    EIGHT asm volatile("st.shared.v4.u32 [%0], {%1,%1,%1,%1};" ::"r"(at + 4096 * k), "r"(mine) : "memory");
  }
  stop(clocks);
  // One word of each of the eight ranges, hashed with its position.
  keep(out, make_uint4(hash(pool[threadIdx.x + 256 * (threadIdx.x % 8)].x + 256 * threadIdx.x), 0, 0, 0));
}

// Additions to one word (`spread` 0) or to one word per thread; 8 per trip.
KERNEL(256) atomics(unsigned trips, unsigned* words, unsigned spread, Clocks* clocks) {
  unsigned* mine = words + (spread ? blockIdx.x * blockDim.x + threadIdx.x : 0);
  start(clocks);
#pragma unroll 1
  for (unsigned trip = 0; trip < trips; ++trip)
    EIGHT asm volatile("red.global.add.u32 [%0], 1;" ::"l"(mine) : "memory");
  stop(clocks);
}
