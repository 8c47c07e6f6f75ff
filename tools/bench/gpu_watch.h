// Energy of an experiment's measured runs, from energy counters or power samples, and a GPU's clock, temperature and
// throttle reasons. The runner reads all of it, so workers need no code for it.
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
// Energy of a Jetson's rails over the whole window: the joules of their total, and each rail's mean power.
Energy rail_energy(std::span<const Chunk> measured, const RailTrace& rails);

// First and last clock, highest temperature and all throttle reasons within a window.
void note_gpu(std::span<const ceilings::TracePoint> trace, double start, double end, documents::Interference& into);

// "cuda:1" → 1, "cuda" and "tensorrt" → 0; empty: not an NVIDIA GPU.
std::optional<int> cuda_index(const std::string& device);
// The same of a device that is "cpu" (empty), "cuda" or "cuda:N". Throws UsageError for others.
std::optional<int> gpu_of(const std::string& device);
// `index` is the CUDA driver's number in this environment (CUDA_VISIBLE_DEVICES); creates no context. Empty if there is
// no driver or no such device.
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
