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

// Notes the changes during a run. On a GPU, leaves out the processor's clocks and temperature, which could be mistaken
// for the GPU's (note_gpu).
void note_machine(const MachineState& before, const MachineState& after, bool is_gpu, documents::Interference& into);

// Host, kernel, processor, governor, GPU driver, git commit of the working directory, and the runner's version.
base::Settings metadata(const std::string& root = "");

// Usable memory in bytes: physical memory, or the control group's limit if that is lower.
std::int64_t usable_bytes(const std::string& root = "");

// How long until one processor sees what another wrote, one way: the median over the first processor that this process
// may use with each of the others, at most eight. Within one cache it is 20 to 50 ns, between two 80 to 150
// (github.com/nviennot/core-to-core-latency); on a virtual machine the host decides which, and may change it. Takes a
// few milliseconds. Empty if there is one processor, or if all others were busy.
std::optional<double> handoff_seconds();

}  // namespace pagoda::tools::bench
