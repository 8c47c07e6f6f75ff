// Finds what prevents profiling before any program is started. CUPTI calls crash without a driver, so they are made in
// a child process, where a crash is a result like any other.
#pragma once

#include <string>
#include <vector>

namespace pagoda::tools::profile {

struct ProbedDevice {
  int index = 0;
  std::string name, chip;  // chip: CUPTI's name; empty: not asked for
};

struct Probe {
  std::vector<ProbedDevice> devices;
  int driver = 0;              // 13000 is 13.0
  std::string problem;         // with its remedy; empty: none
  bool is_driver_old = false;  // the problem is that CUPTI is newer than the driver
};

// Returned by the injected library's probe if the driver is too old for its CUPTI; other failures return 1.
inline constexpr int kProbeOldDriver = 2;

enum class ProbeFor {
  Driver,    // needs a driver and a device
  Times,     // also a CUPTI that answers
  Chip,      // also CUPTI's name of the chip
  Counters,  // also readable counters: the privilege, and no other process that reads them
};

// Time limit of a child that asks a driver; the first context of a driver is slow to create.
inline constexpr unsigned kAnswerSeconds = 60;

// `library`: libpagoda_inject.so. Never throws and never crashes.
Probe probe(ProbeFor what, const std::string& library);

}  // namespace pagoda::tools::profile
