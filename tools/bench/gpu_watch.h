// Energy of the measured runs of an experiment, from counters and from samples of power, and a GPU's clock, temperature
// and what held the clock down. All of it is read in the runner, so that a worker need not know of it.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "nvml.h"
#include "pagoda/documents/result.h"
#include "power.h"

namespace pagoda::tools::bench {

// A chunk of runs that a worker made at one go.
struct Chunk {
  double start = 0, end = 0;            // seconds of the steady clock
  std::optional<double> before, after;  // joules of a counter at these
  std::int64_t runs = 0;
};

// NVML's counter moves every 20 to 100 ms: over a second, both ends together are off by a fifth at most. Windows that
// are shorter have no energy.
inline constexpr double kEnergySeconds = 1;

using Energy = documents::RunEnergy;

// The chunks that are no warm-up: those after the first `warmup` runs.
std::vector<Chunk> measured_chunks(const std::vector<Chunk>& chunks, std::int64_t warmup);

// Sum over chunks of a counter that moves often (RAPL: each millisecond).
Energy package_energy(std::span<const Chunk> measured);
// Over the whole window, first start to last end: a GPU's counter moves some ten times a second, so that chunks are too
// short for it. Without a counter: the trapezoid over samples of power.
Energy gpu_energy(std::span<const Chunk> measured, std::span<const ceilings::TracePoint> trace);
// Of the rails of a Jetson over the whole window: the total's joules, and each rail's mean power.
Energy rail_energy(std::span<const Chunk> measured, const RailTrace& rails);

// Clock at both ends, hottest temperature and all reasons within a window.
void note_gpu(std::span<const ceilings::TracePoint> trace, double start, double end, documents::Interference& into);

// "cuda:1" → 1, "cuda" and "tensorrt" → 0; empty: no GPU of NVIDIA.
std::optional<int> cuda_index(const std::string& device);
// As the CUDA driver numbers devices in this environment (CUDA_VISIBLE_DEVICES), without a context on it. Empty where
// there is no driver or no such device.
std::string pci_bus_id(int index);

class GpuWatch {
 public:
  explicit GpuWatch(int index);
  const ceilings::Nvml& nvml() const { return *nvml_; }
  std::vector<ceilings::TracePoint> points() { return trace_ ? trace_->points() : std::vector<ceilings::TracePoint>(); }

 private:
  std::unique_ptr<ceilings::Nvml> nvml_;
  std::unique_ptr<ceilings::NvmlTrace> trace_;
};

}  // namespace pagoda::tools::bench
