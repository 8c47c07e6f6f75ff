// The device memory that ONNX Runtime's arena requests for tensors that stay: weights, and the block of activations.
//
// The arena requests regions and serves tensors from them, best fit first. By default a region is twice the last one,
// from 1 MiB on, or the next power of two that holds the tensor; with `arena_extend_strategy=kSameAsRequested` it is the
// tensor's own size. Tensors arrive in the order of a hash table that differs from process to process, and with it what
// the regions add up to: hence a range.
// Source: onnxruntime/core/framework/bfc_arena.cc, release 1.31. Compared with the requests of 72 sessions on stand-in
// CUDA libraries: tests/placement/device_arena_test.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#pragma GCC visibility push(default)
namespace pagoda::inline core {

struct DeviceArena {
  std::int64_t as_requested = 0;               // with kSameAsRequested
  std::int64_t low = 0, median = 0, high = 0;  // by default, over orders of arrival
  std::int64_t before_last = 0;                // the median without the last tensor
};

// What the regions add up to where the tensors arrive in this order, and then `last`.
struct Regions {
  std::int64_t before_last = 0, total = 0;
};
Regions region_bytes(std::span<const std::int64_t> tensors, std::int64_t last = 0);

// `tensors`: their bytes. `last`: bytes of a tensor that arrives after all others; 0: none.
DeviceArena device_arena(std::vector<std::int64_t> tensors, std::int64_t last = 0);

}  // namespace pagoda::inline core
#pragma GCC visibility pop
