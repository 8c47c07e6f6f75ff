// Device specs: lookups, power modes and clocks. lib/documents/device_json.cpp reads the files.
#include "pagoda/core/device.h"
#include "pagoda/base/number.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "pagoda/base/cat.h"
#include "pagoda/base/quantity.h"
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

namespace {

// Multiplies peaks and on-chip rates by `ratio`, the change of units × clock.
void scale_rates(DeviceSpec& spec, double ratio, const std::string& why) {
  const auto scale = [&](Quantity& quantity) {
    if (quantity.known()) quantity = {*quantity.value * ratio, quantity.source + "; x units x clock of " + why};
  };
  for (Peak& peak : spec.peaks) scale(peak.flops_per_second);
  scale(spec.special_per_second);
  for (MemoryLevel& level : spec.levels)
    if (level.level != "dram") scale(level.bytes_per_second);
}

bool is_one(double ratio) { return std::abs(ratio - 1) < 1e-9; }

// Reads "918MHz", "1.3GHz", "8" (units). A clock without a unit could be in MHz, kHz or Hz: it is in Hz from 1e6 on,
// else refused.
double amount_of(std::string_view text, bool is_clock, const std::string& whole) {
  try {
    const double value =
        is_clock ? base::quantity(base::Measure::Hertz, text).value : base::parse_number<double>(text).value_or(0);
    if (value >= (is_clock ? 1e6 : std::numeric_limits<double>::min())) return value;
  } catch (const Error& error) {
    throw UnknownDevice(cat("'", whole, "': ", error.what()));
  }
  throw UnknownDevice(cat("'", whole, "': '", text, "' is not a ", (is_clock ? "clock" : "count of units"),
                          "; expected ", (is_clock ? "918MHz or 1.3GHz" : "a number above 0")));
}

double known_or_fail(const DeviceSpec& spec, const Quantity& quantity, const char* what) {
  if (!quantity.known())
    throw Error("device " + spec.id + " does not state " + what +
                ", so that its rates cannot be scaled; add it to its file");
  return *quantity.value;
}

}  // namespace

DeviceSpec in_power_mode(const DeviceSpec& spec, std::string_view mode) {
  const auto found = std::find_if(spec.power_modes.begin(), spec.power_modes.end(),
                                  [&](const PowerMode& candidate) { return candidate.id == mode; });
  if (found == spec.power_modes.end()) {
    std::vector<std::string> names;
    for (const PowerMode& candidate : spec.power_modes) names.push_back(candidate.id);
    throw UnknownDevice(cat("device ", spec.id, " has no power mode \"", mode, "\"; ",
                            (names.empty() ? "it has none" : "known: " + base::joined(names)),
                            "; or give clocks: gpu=918MHz,mem=2133MHz"));
  }
  const bool scalable =
      found->units.known() && found->clock_hz.known() && spec.units.known() && spec.boost_clock_hz.known();
  if (!scalable) throw Error("device " + spec.id + ": units and clock of power mode " + found->id + " are not known");
  const double ratio = *found->units.value * *found->clock_hz.value / (*spec.units.value * *spec.boost_clock_hz.value);

  DeviceSpec result = spec;
  scale_rates(result, ratio, found->clock_hz.source);
  bool is_same = is_one(ratio);
  for (MemoryLevel& level : result.levels) {
    if (level.level != "dram" || !found->dram_bytes_per_second.known()) continue;
    is_same = is_same && level.bytes_per_second.known() &&
              is_one(*level.bytes_per_second.value / *found->dram_bytes_per_second.value);
    level.bytes_per_second = found->dram_bytes_per_second;
  }
  result.units = found->units;
  result.boost_clock_hz = found->clock_hz;
  if (found->watts.known()) result.watts = found->watts;
  if (found->energy || !is_same) result.energy = found->energy;
  result.power_mode = found->id;
  return result;
}

DeviceSpec at_clocks(const DeviceSpec& spec, std::string_view clocks) {
  const std::string whole = spec.id + ":" + std::string(clocks);
  DeviceSpec result = spec;
  double ratio = 1, memory = 1;
  for (std::string_view rest = clocks; !rest.empty();) {
    const std::string_view part = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), part.size() + 1));
    const std::size_t equals = part.find('=');
    const std::string_view name = part.substr(0, equals);
    const std::string_view value = equals == std::string_view::npos ? std::string_view() : part.substr(equals + 1);
    const std::string source = cat("asked for: ", part);
    if (name == "gpu" || name == "units") {
      Quantity& quantity = name == "gpu" ? result.boost_clock_hz : result.units;
      const double given = amount_of(value, name == "gpu", whole);
      ratio *= given / known_or_fail(spec, quantity, name == "gpu" ? "boost_clock" : "units");
      quantity = {given, source};
    } else if (name == "mem") {
      const double given = amount_of(value, true, whole);
      memory *= given / known_or_fail(spec, result.memory_clock_hz, "memory_clock");
      result.memory_clock_hz = {given, source};
    } else {
      throw UnknownDevice(cat("'", whole, "': '", name, "' is not a clock; expected gpu, mem or units"));
    }
  }
  scale_rates(result, ratio, std::string(clocks));
  for (MemoryLevel& level : result.levels)
    if (level.level == "dram" && level.bytes_per_second.known() && !is_one(memory))
      level.bytes_per_second = {*level.bytes_per_second.value * memory,
                                level.bytes_per_second.source + "; x memory clock of " + std::string(clocks)};
  if (!is_one(ratio) || !is_one(memory)) {
    result.energy = std::nullopt;
    result.watts = {std::nullopt, "not stated at these clocks"};
  }
  result.power_mode = std::string(clocks);
  return result;
}

}  // namespace pagoda::inline core
