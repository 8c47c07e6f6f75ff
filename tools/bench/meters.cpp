#include "meters.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace pagoda::tools::bench {
namespace {

constexpr double kMostAdded = 1e7;  // runs for the energy alone: those of 100 ns fill a second

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

Meters::Meters(std::optional<int> gpu) {
  if (gpu) watch.emplace(*gpu);
  const bool has_own = gpu ? watch->nvml().joules() || watch->nvml().watts() : rapl.available();
  if (!has_own) rails.emplace();
  if (rails && !rails->available()) rails.reset();
}

std::optional<double> Meters::joules() {
  if (watch) return watch->nvml().joules();
  return rapl.available() ? std::optional(rapl.joules()) : std::nullopt;
}

bool Meters::needs_seconds() const { return watch ? watch->nvml().available() : rails || rapl.available(); }

Energy Meters::energy(std::span<const Chunk> measured) {
  if (rails) return rail_energy(measured, *rails);
  return watch ? gpu_energy(measured, watch->points()) : package_energy(measured);
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
  // that are used only for energy. Few runs foretell badly how many fill the rest, so the window is looked at again.
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
