// Times runs and reads the energy of those that are measured, from energy counters or power samples, and a GPU's clock,
// temperature and throttle reasons. The runner reads all of it, so workers need no code for it.
//
//   Meters meters(cuda_index(device));
//   const MeteredTiming t = time_with_energy(meters, run, options);   // t.timing, t.energy.joules
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "nvml.h"
#include "pagoda/base/timing.h"
#include "pagoda/documents/result.h"
#include "power.h"

namespace pagoda::tools::bench {

// Runs that a worker made for one request.
struct Chunk {
  double start = 0, end = 0;            // seconds of the steady clock
  std::optional<double> before, after;  // joules of a counter at start and end
  std::int64_t runs = 0;
};

// NVML's counter is updated every 20 to 100 ms: over one second, the error of both ends together is at most a fifth.
// Shorter windows have no energy.
inline constexpr double kEnergySeconds = 1;

using Energy = documents::RunEnergy;

// The chunks without warm-up: those after the first `warmup` runs.
std::vector<Chunk> measured_chunks(const std::vector<Chunk>& chunks, std::int64_t warmup);

// Sum over chunks of a counter that is updated often (RAPL: every millisecond).
Energy package_energy(std::span<const Chunk> measured);
// Energy over the whole window, first start to last end: a GPU's counter is updated about ten times a second, too
// rarely for single chunks. Without a counter: trapezoidal rule over power samples.
Energy gpu_energy(std::span<const Chunk> measured, std::span<const ceilings::TracePoint> trace);

// First and last clock, highest temperature and all throttle reasons within a window.
void note_gpu(std::span<const ceilings::TracePoint> trace, double start, double end, documents::Interference& into);

// "cuda:1" → 1, "cuda" and "tensorrt" → 0; empty: not an NVIDIA GPU.
std::optional<int> cuda_index(const std::string& device);
// The same of a device that is "cpu" (empty), "cuda" or "cuda:N". Throws UsageError for others.
std::optional<int> gpu_of(const std::string& device);

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
  std::optional<ceilings::Nvml> nvml;        // of a GPU
  std::optional<ceilings::NvmlTrace> trace;  // if NVML knows the GPU
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
