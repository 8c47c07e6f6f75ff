// Places tensors with limited lifetimes in one block of memory, so that no two share bytes while both are alive.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pagoda/core/dim.h"

namespace pagoda::inline core {

struct ArenaBlock {
  Int bytes = 0;
  std::int32_t first_step = 0;  // both inclusive
  std::int32_t last_step = 0;
};

struct ArenaLayout {
  Int bytes = 0;
  std::vector<Int> offsets;  // by block
};

// Finding the smallest arena is NP-hard; this takes the best of a sweep over time (best fit among the free gaps) and,
// while the number of overlapping pairs is moderate, of placements of large and of long-lived blocks first. It stops
// when it reaches the lower bound, the most bytes alive at once with each block rounded up to the alignment.
ArenaLayout lay_out(std::span<const ArenaBlock> blocks, std::int64_t alignment);

}  // namespace pagoda::inline core
