// Energy of time windows, and the GPU that a worker runs on.
#include "gpu_watch.h"

#include <algorithm>
#include <cmath>

#include "cuda_driver.h"
#include "disturbance.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/number.h"
#include "tool.h"

namespace pagoda::tools::bench {
namespace {

constexpr double kMostAdded = 1e7;  // runs for the energy alone: those of 100 ns fill a second
constexpr const char* kTooShort = "none: measured runs took less than a second, too short for ";

// Records the number of samples in a window and their interval.
void note_sampling(std::span<const PowerSample> samples, double start, double end, Energy& into) {
  const auto first = std::ranges::lower_bound(samples, start, {}, &PowerSample::seconds),
             last = std::ranges::upper_bound(first, samples.end(), end, {}, &PowerSample::seconds);
  into.samples = last - first;
  if (last - first > 1)
    into.period_seconds = ((last - 1)->seconds - first->seconds) / static_cast<double>(last - first - 1);
}

std::int64_t runs_of(std::span<const Chunk> measured) {
  std::int64_t runs = 0;
  for (const Chunk& chunk : measured) runs += chunk.runs;
  return runs;
}

// Energy of a Jetson's rails over the whole window: the joules of their total, and each rail's mean power.
Energy rail_energy(std::span<const Chunk> measured, const RailTrace& rails) {
  if (measured.empty() || !rails.available()) return {};
  const double start = measured.front().start, end = measured.back().end, seconds = end - start;
  if (seconds < kEnergySeconds) return {.source = std::string(kTooShort) + "samples of its power"};
  Energy energy{.source = rails.source()};
  const std::vector<std::string>& counted = rails.total().rails;
  for (const std::string& name : rails.names()) {
    const std::vector<PowerSample> samples = rails.samples(name);
    if (!energy.samples) note_sampling(samples, start, end, energy);
    const std::optional<double> joules = trapezoid(samples, start, end);
    energy.rails.push_back({name, joules ? std::optional(*joules / seconds) : std::nullopt,
                            std::ranges::find(counted, name) != counted.end()});
  }
  if (counted.empty()) return energy;
  if (const auto joules = trapezoid(rails.total_samples(), start, end)) {
    energy.joules = *joules / static_cast<double>(runs_of(measured));
    energy.watts = *joules / seconds;
    energy.source = "trapezoid over sampled " + energy.source;
  } else {
    energy.source = "none: samples do not cover the runs: " + energy.source;
  }
  return energy;
}

// `index` is the CUDA driver's number in this environment (CUDA_VISIBLE_DEVICES); creates no context. Empty if there is
// no driver or no such device.
std::string pci_bus_id(int index) {
  const CudaDriver driver{DynamicLibrary(cuda_places())};
  char text[32] = "";
  int device = 0;
  if (!driver.init || !driver.device || !driver.bus_id || driver.init(0) != 0 || driver.device(&device, index) != 0 ||
      driver.bus_id(text, sizeof text, device) != 0)
    return "";
  return text;
}

}  // namespace

std::vector<Chunk> measured_chunks(const std::vector<Chunk>& chunks, std::int64_t warmup) {
  std::vector<Chunk> measured;
  std::int64_t made = 0;
  for (const Chunk& chunk : chunks) {
    if (made >= warmup && chunk.runs > 0) measured.push_back(chunk);
    made += chunk.runs;
  }
  return measured;
}

Energy package_energy(std::span<const Chunk> measured) {
  double joules = 0, seconds = 0;
  for (const Chunk& chunk : measured) {
    if (!chunk.before || !chunk.after) return {};
    joules += *chunk.after - *chunk.before;
    seconds += chunk.end - chunk.start;
  }
  const std::int64_t runs = runs_of(measured);
  if (runs == 0) return {};
  if (joules <= 0) return {.source = "none: the package counters (RAPL) did not move" + power_root_note()};
  return {.joules = joules / static_cast<double>(runs),
          .watts = seconds > 0 ? std::optional(joules / seconds) : std::nullopt,
          .source = "package counters (RAPL), the whole processor" + power_root_note()};
}

Energy gpu_energy(std::span<const Chunk> measured, std::span<const ceilings::TracePoint> trace) {
  if (measured.empty()) return {};
  const Chunk &first = measured.front(), &last = measured.back();
  std::vector<PowerSample> samples;
  for (const ceilings::TracePoint& point : trace)
    samples.push_back({point.seconds, point.watts > 0 ? point.watts : std::nan("")});
  const bool counts = first.before && last.after && *last.after >= *first.before;
  const std::optional<double> sampled = trapezoid(samples, first.start, last.end);
  if (!counts && !sampled) return {};
  const double seconds = last.end - first.start, runs = static_cast<double>(runs_of(measured));
  if (seconds < kEnergySeconds) return {.source = std::string(kTooShort) + "NVML"};
  const double counted = counts ? *last.after - *first.before : 0;
  if (counted > 0) return {counted / runs, counted / seconds, "energy counter of the GPU (NVML), the whole board"};
  if (!sampled) return {.source = "none: the GPU's energy counter (NVML) did not move"};
  Energy energy{*sampled / runs, *sampled / seconds, "trapezoid over sampled power of the GPU (NVML), the whole board"};
  note_sampling(samples, first.start, last.end, energy);
  return energy;
}

void note_gpu(std::span<const ceilings::TracePoint> trace, double start, double end, documents::Interference& into) {
  into.clock_hz_before = into.clock_hz_after = into.temperature_celsius = std::nullopt;
  std::uint32_t seen = 0;
  for (const ceilings::TracePoint& point : trace) {
    if (point.seconds < start || point.seconds > end) continue;
    seen |= point.disturbances;
    if (point.sm_hz > 0) {
      if (!into.clock_hz_before) into.clock_hz_before = point.sm_hz;
      into.clock_hz_after = point.sm_hz;
    }
    if (point.celsius > 0) into.temperature_celsius = std::max(point.celsius, into.temperature_celsius.value_or(0));
  }
  into.throttle = ceilings::names(seen);
}

std::optional<int> cuda_index(const std::string& device) {
  if (device == "cuda" || device == "tensorrt") return 0;
  for (const std::string prefix : {"cuda:", "tensorrt:"}) {
    if (!device.starts_with(prefix)) continue;
    const auto index = base::parse_number<int>(std::string_view(device).substr(prefix.size()));
    if (index && *index >= 0) return index;
  }
  return std::nullopt;
}

std::optional<int> gpu_of(const std::string& device) {
  if (device == "cpu") return std::nullopt;
  if (const auto index = cuda_index(device); index && device.starts_with("cuda")) return index;
  throw UsageError(
      cat("device '", device, "' is not known; expected cpu, cuda, or cuda:N for GPU number N, as cuda:1"));
}

Meters::Meters(std::optional<int> gpu) {
  if (gpu) nvml.emplace(pci_bus_id(*gpu));
  if (nvml && nvml->available()) trace.emplace(*nvml);
  const bool has_own = nvml ? nvml->joules() || nvml->watts() : rapl.available();
  if (!has_own) rails.emplace();
  if (rails && !rails->available()) rails.reset();
}

std::optional<double> Meters::joules() {
  if (nvml) return nvml->joules();
  return rapl.available() ? std::optional(rapl.joules()) : std::nullopt;
}

bool Meters::needs_seconds() const { return nvml ? trace.has_value() : rails || rapl.available(); }

Energy Meters::energy(std::span<const Chunk> measured) {
  if (rails) return rail_energy(measured, *rails);
  if (!nvml) return package_energy(measured);
  return gpu_energy(measured, trace ? trace->points() : std::vector<ceilings::TracePoint>());
}

MeteredTiming time_with_energy(Meters& meters, const std::function<std::vector<double>(std::int64_t)>& run,
                               const base::TimingOptions& options) {
  std::vector<Chunk> chunks;
  const auto metered = [&](std::int64_t n) {
    Chunk chunk;
    chunk.before = meters.joules();
    chunk.start = steady_seconds();
    std::vector<double> seconds = run(n);
    chunk.end = steady_seconds();
    chunk.after = meters.joules();
    chunk.runs = static_cast<std::int64_t>(seconds.size());
    chunks.push_back(chunk);
    return seconds;
  };
  MeteredTiming result{.timing = base::time_runs(metered, options), .energy = {}, .measured = {}};
  if (result.timing.latency.n == 0) return result;
  result.measured = measured_chunks(chunks, result.timing.warmup_iterations);
  // If the confidence interval narrows quickly, the window may be too short for slow counters and samples: add runs
  // that are used only for energy. A few runs predict poorly how many fill the rest, so the window is checked again.
  double per_run = result.timing.latency.p50;
  for (double added = 0; meters.needs_seconds() && added < kMostAdded && !result.measured.empty();) {
    const double missing = kEnergySeconds - (result.measured.back().end - result.measured.front().start);
    if (missing <= 0 || per_run <= 0) break;
    const double runs = std::min(std::ceil(1.1 * missing / per_run), kMostAdded - added);
    metered(static_cast<std::int64_t>(runs));
    added += runs;
    per_run = (chunks.back().end - chunks.back().start) / runs;
    result.measured = measured_chunks(chunks, result.timing.warmup_iterations);
  }
  result.energy = meters.energy(result.measured);
  return result;
}

}  // namespace pagoda::tools::bench
