// Common to the experiments of a GPU: kernel arguments, the pace of a kernel, operand fills.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

namespace pagoda::tools::ceilings {

inline constexpr unsigned kMostBlocksPerSm = 16;
inline constexpr unsigned kMostRecords = 4096;                   // blocks that record clocks, as in cuda/common.cuh
enum Fill { kZeros = 0, kRandom = 1, kOnes = 2, kPattern = 3 };  // as in cuda/common.cuh
inline constexpr int kEven = 2;                                  // factor of even products, as in cuda/tiles.cuh

// The record of a block: Clocks of cuda/common.cuh.
struct BlockClocks {
  std::uint64_t cycles[2], nanoseconds[2];
};

// Kernel arguments by value: the driver copies them at launch.
class Arguments {
 public:
  template <typename... T>
  explicit Arguments(T... values) {
    (add(values), ...);
  }
  template <typename T>
  Arguments& add(T value) {
    slots_.emplace_back(sizeof(T));
    std::memcpy(slots_.back().data(), &value, sizeof value);
    return *this;
  }
  std::vector<void*> pointers() {
    std::vector<void*> result;
    for (auto& slot : slots_) result.push_back(slot.data());
    return result;
  }

 private:
  std::vector<std::vector<char>> slots_;
};

// Computes the trips that fill a given time, from the rate of the previous launch.
struct Pace {
  double trips_per_second = 0;
  unsigned trips(double seconds, unsigned at_first) const {
    if (trips_per_second <= 0) return at_first;
    return static_cast<unsigned>(std::clamp(trips_per_second * seconds, 1.0, 4e9));
  }
};

// The kernels' hash (cuda/common.cuh), so that the host can compute what they must have read.
constexpr std::uint32_t hash(std::uint32_t x) {
  x ^= x >> 16;
  x *= 0x7feb352dU;
  x ^= x >> 15;
  x *= 0x846ca68bU;
  return x ^ (x >> 16);
}

}  // namespace pagoda::tools::ceilings
