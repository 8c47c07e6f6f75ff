// What disturbed a measurement, as bits, and their names in results.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace pagoda::tools::ceilings {

enum Disturbance : std::uint32_t {
  kPreempted = 1,   // another thread ran in between
  kStolen = 2,      // the hypervisor ran another machine
  kPowerCap = 4,    // the clock was held down by the power limit: expected of tensor cores, flagged and kept
  kThermal = 8,     // … by heat: the sample is useless
  kHwSlowdown = 16  // … by the board: the sample is useless
};
std::vector<std::string> names(std::uint32_t disturbances);

}  // namespace pagoda::tools::ceilings
