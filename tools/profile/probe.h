// What stands in the way of profiling, found out in a child process before any program is started: calls of CUPTI crash
// where there is no driver, so they are made where a crash is an answer.
#pragma once

#include <string>
#include <vector>

namespace pagoda::tools::profile {

struct ProbedDevice {
  int index = 0;
  std::string name, chip;  // chip: as CUPTI names it; empty: not asked for
};

struct Probe {
  std::vector<ProbedDevice> devices;
  int driver = 0;       // 13000 is 13.0
  std::string problem;  // with its remedy; empty: none
  bool is_driver_old = false;  // and it is that CUPTI is newer than the driver
};

// What the injected library's probe returns where the driver is too old for its CUPTI; other failures: 1.
inline constexpr int kProbeOldDriver = 2;

enum class ProbeFor {
  Driver,    // a driver and a device
  Times,     // and a CUPTI that answers
  Chip,      // and what it calls the chip
  Counters,  // and that counters can be read: privilege, and that nobody else reads them
};

// `library`: libpagoda_inject.so. Never throws and never crashes.
Probe probe(ProbeFor what, const std::string& library);

}  // namespace pagoda::tools::profile
