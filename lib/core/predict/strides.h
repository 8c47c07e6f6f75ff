// Where the elements of a tensor lie in memory. PyTorch's transposes, slices and most reshapes are views; a kernel that
// needs a different layout later pays for the copy. Only strides show which reshape copies.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace pagoda::inline core {

using Sizes = std::vector<std::int64_t>;

// Distances, in elements, between neighbours along each axis; 0 along a broadcast axis.
using Strides = std::vector<std::int64_t>;

double element_count(std::span<const std::int64_t> sizes);
Strides contiguous(std::span<const std::int64_t> sizes);

// Row-major without gaps; the strides of axes of size 1 do not matter.
bool is_contiguous(const Sizes& sizes, const Strides& strides);
// Whether PyTorch treats an N, C, H, W tensor as stored in N, H, W, C order. The order of its strides decides, with or
// without gaps; a tensor that fits both orders is row-major.
bool is_channels_last(const Sizes& sizes, const Strides& strides);
Strides channels_last(std::span<const std::int64_t> sizes);
// Whether each element has its own place and there are no gaps, with axes in any order.
bool is_dense(const Sizes& sizes, const Strides& strides);

// Strides of the same memory under different sizes; nullopt if the reshape has to copy.
std::optional<Strides> view_as(const Sizes& sizes, const Strides& strides, const Sizes& wanted);

// Dense strides as PyTorch's element-wise kernels allocate their results: the first operand that orders two axes
// decides their order. Operands are aligned to `sizes` (strides of broadcast axes are 0).
Strides strides_like(const Sizes& sizes, std::span<const Strides> operands);

// Whether a permutation of axes swaps the last two and nothing else.
bool swaps_last_two(std::vector<std::int64_t> order);

// Whether the fastest axis is the same in both, so that a copy reads and writes whole cache lines.
bool same_inner_axis(const Sizes& sizes, const Strides& a, const Strides& b);

}  // namespace pagoda::inline core
