// One sparse tensor product of 16x8x32 halves in one warp: does the hardware count 2*16*8*32
// operations, or only the half that is multiplied?
#include <cstdio>

__global__ void sparse_product(float* out) {
  float d0 = 0, d1 = 0, d2 = 0, d3 = 0;
  const unsigned one = 0x3c003c00, kept = 0x44444444;  // two halves of 1; keeps the first two of every four
  asm volatile(
      "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 "
      "{%0,%1,%2,%3}, {%4,%4,%4,%4}, {%4,%4,%4,%4}, {%0,%1,%2,%3}, %5, 0x0;"
      : "+f"(d0), "+f"(d1), "+f"(d2), "+f"(d3)
      : "r"(one), "r"(kept));
  out[threadIdx.x] = d0 + d1 + d2 + d3;
}

int main() {
  float *out = nullptr, first = 0;
  if (cudaMalloc(&out, 32 * sizeof(float)) != cudaSuccess) return 4;
  sparse_product<<<1, 32>>>(out);
  if (cudaMemcpy(&first, out, sizeof first, cudaMemcpyDeviceToHost) != cudaSuccess) return 1;
  std::printf("each of four sums is %g, 16 expected\n", first / 4);
  return first == 64 ? 0 : 1;
}
