#pragma once

#include <string>

#include "pagoda/core/placement.h"

namespace pagoda::test {

// One letter a node: p(rovider), c(pu), f(olded), u(sed in another), ? (unknown).
inline std::string letters_of(const GraphPlacement& placed) {
  std::string letters;
  for (const PlacedNode& node : placed.nodes) letters += std::string("pcfu?")[static_cast<std::size_t>(node.on)];
  return letters;
}

}  // namespace pagoda::test
