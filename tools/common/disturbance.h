// Disturbances of a measurement as bits, and their names in results.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace pagoda::tools::ceilings {

enum Disturbance : std::uint32_t {
  kPreempted = 1,   // another thread ran in between
  kStolen = 2,      // the hypervisor ran another machine
  kPowerCap = 4,    // the power limit lowered the clock: expected with tensor cores, so flagged but kept
  kThermal = 8,     // heat lowered the clock: the sample is useless
  kHwSlowdown = 16  // the board lowered the clock: the sample is useless
};

inline std::vector<std::string> names(std::uint32_t disturbances) {
  std::vector<std::string> result;
  for (const auto& [bit, name] :
       {std::pair{kPreempted, "preempted"}, std::pair{kStolen, "stolen"}, std::pair{kPowerCap, "sw_power_cap"},
        std::pair{kThermal, "thermal"}, std::pair{kHwSlowdown, "hw_slowdown"}})
    if (disturbances & bit) result.emplace_back(name);
  return result;
}

}  // namespace pagoda::tools::ceilings
