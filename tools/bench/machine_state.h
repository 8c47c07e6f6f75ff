// State of the machine around an experiment: metadata of the record, and possible disturbances.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "pagoda/documents/result.h"

namespace pagoda::tools::bench {

// Counters at one moment; empty if the system does not provide them.
struct MachineState {
  std::optional<double> steal_seconds;  // since the machine started, sum over all processors
  std::optional<double> load, clock_hz, temperature_celsius;
};

// Reads files under `root` (root/proc/stat, …), so tests can provide their own.
MachineState machine_state(const std::string& root = "");

documents::Interference interference(const MachineState& before, const MachineState& after);

// Host, kernel, processor, governor, GPU driver, git commit of the working directory, and the runner's version.
base::Settings metadata(const std::string& root = "");

// Usable memory in bytes: physical memory, or the control group's limit if that is lower.
std::int64_t usable_bytes(const std::string& root = "");

}  // namespace pagoda::tools::bench
