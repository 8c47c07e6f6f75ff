// The names, one per bit.
#include "disturbance.h"

#include <utility>

namespace pagoda::tools::ceilings {

std::vector<std::string> names(std::uint32_t disturbances) {
  std::vector<std::string> result;
  constexpr std::pair<std::uint32_t, const char*> kNames[] = {{kPreempted, "preempted"},
                                                              {kStolen, "stolen"},
                                                              {kPowerCap, "sw_power_cap"},
                                                              {kThermal, "thermal"},
                                                              {kHwSlowdown, "hw_slowdown"}};
  for (const auto& [bit, name] : kNames)
    if (disturbances & bit) result.push_back(name);
  return result;
}

}  // namespace pagoda::tools::ceilings
