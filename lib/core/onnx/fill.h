// Random contents for weights: the same for the same seed, made element by element and never held whole.
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
  // Whole pieces of the data in order: those of elements [begin, end), both multiples of kPiece or the last one.
  static constexpr std::uint64_t kPiece = std::uint64_t{1} << 16;
  std::string piece(std::uint64_t begin, std::uint64_t end) const;
};

}  // namespace pagoda::inline core::wire
