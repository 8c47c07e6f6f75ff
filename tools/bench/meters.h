// Times runs and reads the energy of those that are measured: of a GPU, or of the CPU.
//
//   Meters meters(cuda_index(device));
//   const MeteredTiming t = time_with_energy(meters, run, options);   // t.timing, t.energy.joules
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "gpu_watch.h"
#include "pagoda/base/timing.h"
#include "power.h"

namespace pagoda::tools::bench {

// Energy sources while a model runs on a GPU or, if `gpu` is empty, on the CPU: an energy counter (or NVML's power) of
// that device, else samples of a Jetson's power rails.
struct Meters {
  explicit Meters(std::optional<int> gpu);
  std::optional<double> joules();
  // True if windows shorter than kEnergySeconds have no energy, or one that belongs in part to the requests between few
  // short runs and to the steps of a counter (RAPL's are a millisecond).
  bool needs_seconds() const;
  Energy energy(std::span<const Chunk> measured);

  Rapl rapl;
  std::optional<GpuWatch> watch;
  std::optional<RailTrace> rails;
};

struct MeteredTiming {
  base::Timing timing;
  Energy energy;                // unknown if there were no runs
  std::vector<Chunk> measured;  // without warm-up
};

// As base::time_runs. Runs are added for the energy alone if the measured ones, however many were asked for, are too
// short for the meters.
MeteredTiming time_with_energy(Meters& meters, const std::function<std::vector<double>(std::int64_t)>& run,
                               const base::TimingOptions& options);

}  // namespace pagoda::tools::bench
