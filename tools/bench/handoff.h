// How long it takes until one processor sees what another wrote. Within one cache it is 20 to 50 ns, between two 80 to 150
// (github.com/nviennot/core-to-core-latency). On a virtual machine the host decides which it is, and may change it.
#pragma once

#include <optional>

namespace pagoda::tools::bench {

// Seconds, one way: the median over the first processor that this process may use with each of the others, at most eight.
// Takes a few milliseconds. Empty if there is one processor, or if none of the others answered: they were busy.
std::optional<double> handoff_seconds();

}  // namespace pagoda::tools::bench
