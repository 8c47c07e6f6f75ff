// Disturbances of a measurement as bits, and their names in results.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace pagoda::tools::ceilings {

enum Disturbance : std::uint32_t {
  kPreempted = 1,   // another thread ran in between
  kStolen = 2,      // the hypervisor ran another machine
  kPowerCap = 4,    // the power limit lowered the clock: expected with tensor cores, so flagged but kept
  kThermal = 8,     // heat lowered the clock: the sample is useless
  kHwSlowdown = 16  // the board lowered the clock: the sample is useless
};
std::vector<std::string> names(std::uint32_t disturbances);

}  // namespace pagoda::tools::ceilings
