// Energy of windows, and the device that a worker runs on.
#include "gpu_watch.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <utility>

#include "disturbance.h"
#include "nvidia_library.h"

namespace pagoda::tools::bench {
namespace {

// Samples are 20 ms apart; a gap of a quarter of a second means that they do not cover the window.
constexpr double kLargestGap = 0.25;

double power_at(const ceilings::TracePoint& a, const ceilings::TracePoint& b, double seconds) {
  return b.seconds > a.seconds ? a.watts + (b.watts - a.watts) * (seconds - a.seconds) / (b.seconds - a.seconds)
                               : a.watts;
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
  std::int64_t runs = 0;
  for (const Chunk& chunk : measured) {
    if (!chunk.before || !chunk.after) return {};
    if (*chunk.after < *chunk.before) continue;
    joules += *chunk.after - *chunk.before;
    seconds += chunk.end - chunk.start;
    runs += chunk.runs;
  }
  if (runs == 0) return {};
  std::string source = "package counters (RAPL), the whole processor";
  if (const char* root = std::getenv("PAGODA_POWER_ROOT")) source += ", of the tree PAGODA_POWER_ROOT=" + std::string(root);
  return {joules / static_cast<double>(runs), std::move(source),
          seconds > 0 ? std::optional(joules / seconds) : std::nullopt};
}

std::optional<double> trapezoid(std::span<const ceilings::TracePoint> trace, double start, double end) {
  if (trace.empty() || end <= start || trace.front().seconds > start + kLargestGap ||
      trace.back().seconds < end - kLargestGap)
    return std::nullopt;
  double joules = 0;
  // Before the first sample and after the last: as they are.
  joules += trace.front().watts * std::max(0.0, std::min(end, trace.front().seconds) - start);
  joules += trace.back().watts * std::max(0.0, end - std::max(start, trace.back().seconds));
  for (std::size_t i = 0; i + 1 < trace.size(); ++i) {
    const ceilings::TracePoint &a = trace[i], &b = trace[i + 1];
    const double from = std::max(start, a.seconds), to = std::min(end, b.seconds);
    if (to <= from) continue;
    if (b.seconds - a.seconds > kLargestGap || a.watts <= 0 || b.watts <= 0) return std::nullopt;
    joules += (power_at(a, b, from) + power_at(a, b, to)) / 2 * (to - from);
  }
  return joules > 0 ? std::optional(joules) : std::nullopt;
}

Energy gpu_energy(std::span<const Chunk> measured, std::span<const ceilings::TracePoint> trace) {
  if (measured.empty()) return {};
  const Chunk &first = measured.front(), &last = measured.back();
  const bool counts = first.before && last.after && *last.after >= *first.before;
  const std::optional<double> sampled = trapezoid(trace, first.start, last.end);
  if (!counts && !sampled) return {};
  if (last.end - first.start < kEnergySeconds)
    return {std::nullopt, "none: measured runs took less than a second, too short for NVML"};
  std::int64_t runs = 0;
  for (const Chunk& chunk : measured) runs += chunk.runs;
  const double seconds = last.end - first.start;
  if (counts && *last.after > *first.before)
    return {(*last.after - *first.before) / static_cast<double>(runs),
            "energy counter of the GPU (NVML), the whole board", (*last.after - *first.before) / seconds};
  if (!sampled) return {std::nullopt, "none: the GPU's energy counter (NVML) did not move"};
  return {*sampled / static_cast<double>(runs), "trapezoid over sampled power of the GPU (NVML), the whole board",
          *sampled / seconds};
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
    int index = 0;
    const char *begin = device.data() + prefix.size(), *end = device.data() + device.size();
    if (!device.starts_with(prefix)) continue;
    if (const auto r = std::from_chars(begin, end, index); r.ec == std::errc() && r.ptr == end && index >= 0)
      return index;
  }
  return std::nullopt;
}

std::string pci_bus_id(int index) {
  const CudaDriver driver{DynamicLibrary(cuda_places())};
  char text[32] = "";
  int device = 0;
  if (!driver.init || !driver.device || !driver.bus_id || driver.init(0) != 0 || driver.device(&device, index) != 0 ||
      driver.bus_id(text, sizeof text, device) != 0)
    return "";
  return text;
}

GpuWatch::GpuWatch(int index) : nvml_(std::make_unique<ceilings::Nvml>(pci_bus_id(index))) {
  if (nvml_->available()) trace_ = std::make_unique<ceilings::NvmlTrace>(*nvml_);
}

}  // namespace pagoda::tools::bench
