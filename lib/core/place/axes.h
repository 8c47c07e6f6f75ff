// Permutations and lists of axes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace pagoda::inline core {

using Axes = std::vector<std::int64_t>;

Axes inverse(const Axes& perm);
// First `a`, then `b`.
Axes composed(const Axes& a, const Axes& b);
bool is_identity(const Axes& perm);
// Counts from the front; false: an axis is none, or twice.
bool normalise(Axes& axes, std::size_t rank);
// The permutation of what is left without these axes of the transposed tensor's source.
Axes without(const Axes& axes, const Axes& perm);
// The permutation with dims of 1 added at these axes, which stay there.
Axes with(const Axes& axes, const Axes& perm);

}  // namespace pagoda::inline core
