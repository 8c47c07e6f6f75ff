// Random contents for weights: the same seed gives the same contents, generated in pieces and never held as a whole.
#pragma once

#include <cstdint>
#include <string>

#include "onnx/weight_use.h"

namespace pagoda::inline core::wire {

struct Filling {
  ElementType element = ElementType::Undefined;
  std::uint64_t elements = 0;
  WeightUse use;
  std::uint64_t seed = 0;

  std::uint64_t bytes() const;
  // Whole pieces of the data: elements [begin, end), both multiples of kPiece, except that `end` may be the end of the
  // data.
  static constexpr std::uint64_t kPiece = std::uint64_t{1} << 16;
  std::string piece(std::uint64_t begin, std::uint64_t end) const;
};

}  // namespace pagoda::inline core::wire
