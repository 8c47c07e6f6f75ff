// Device specs: built-in devices, power modes. The files are read in device_json.cpp.
#include "pagoda/core/device.h"

#include <algorithm>

#include "pagoda/base/text.h"

namespace pagoda::inline core {

std::string_view to_string(Unit unit) { return unit == Unit::Vector ? "vector" : "tensor"; }

const Peak* DeviceSpec::peak(Precision precision, Unit unit, std::optional<Precision> accumulate) const {
  const Peak* best = nullptr;
  for (const Peak& candidate : peaks) {
    if (candidate.precision != precision || candidate.unit != unit || !candidate.flops_per_second.known()) continue;
    if (accumulate && candidate.accumulate && candidate.accumulate != accumulate) continue;
    if (best == nullptr || *candidate.flops_per_second.value > *best->flops_per_second.value) best = &candidate;
  }
  return best;
}

const MemoryLevel* DeviceSpec::level(std::string_view wanted) const {
  for (const MemoryLevel& candidate : levels)
    if (candidate.level == wanted) return &candidate;
  return nullptr;
}

std::optional<Int> DeviceSpec::memory_bytes() const {
  const MemoryLevel* dram = level("dram");
  if (dram == nullptr || !dram->capacity_bytes.known()) return std::nullopt;
  return static_cast<Int>(*dram->capacity_bytes.value);
}

DeviceSpec in_power_mode(const DeviceSpec& spec, std::string_view mode) {
  const auto found = std::find_if(spec.power_modes.begin(), spec.power_modes.end(),
                                  [&](const PowerMode& candidate) { return candidate.id == mode; });
  if (found == spec.power_modes.end()) {
    std::vector<std::string> names;
    for (const PowerMode& candidate : spec.power_modes) names.push_back(candidate.id);
    throw UnknownDevice("device " + spec.id + " has no power mode \"" + std::string(mode) + "\"; " +
                        (names.empty() ? "it has none" : "known: " + base::joined(names)));
  }
  const bool scalable =
      found->units.known() && found->clock_hz.known() && spec.units.known() && spec.boost_clock_hz.known();
  if (!scalable) throw Error("device " + spec.id + ": units and clock of power mode " + found->id + " are not known");
  const double ratio = *found->units.value * *found->clock_hz.value / (*spec.units.value * *spec.boost_clock_hz.value);

  DeviceSpec result = spec;
  const auto scale = [&](Quantity& quantity) {
    if (quantity.known())
      quantity = {*quantity.value * ratio, quantity.source + "; x units x clock of " + found->clock_hz.source};
  };
  for (Peak& peak : result.peaks) scale(peak.flops_per_second);
  scale(result.special_per_second);
  for (MemoryLevel& level : result.levels) {
    if (level.level != "dram")
      scale(level.bytes_per_second);
    else if (found->dram_bytes_per_second.known())
      level.bytes_per_second = found->dram_bytes_per_second;
  }
  result.units = found->units;
  result.boost_clock_hz = found->clock_hz;
  if (found->watts.known()) result.watts = found->watts;
  result.power_mode = found->id;
  return result;
}

}  // namespace pagoda::inline core
