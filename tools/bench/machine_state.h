// What the machine says of itself around an experiment: metadata of a record, and what may have disturbed it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "pagoda/documents/result.h"

namespace pagoda::tools::bench {

// Counters at one moment. Empty where the system does not say.
struct MachineState {
  std::optional<double> steal_seconds;  // since the machine started, over all processors
  std::optional<double> load, clock_hz, temperature_celsius;
};

// Files are read under `root`, so that tests can give others: root/proc/stat, …
MachineState machine_state(const std::string& root = "");

documents::Interference interference(const MachineState& before, const MachineState& after);

// Host, kernel, processor, governor, commit of the folder that the runner was started in, runner's version.
base::Settings metadata(const std::string& root = "");

// Bytes that may be used: physical memory, or the control group's limit where that is lower.
std::int64_t usable_bytes(const std::string& root = "");

}  // namespace pagoda::tools::bench
