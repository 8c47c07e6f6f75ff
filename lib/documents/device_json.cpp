// A device file is strict: a key that is not known is a mistake and is named. A ceilings file is another tool's output
// and may hold more than is needed here: what cannot be used is listed in the notes.
#include "device_json.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "pagoda/base/text.h"

namespace pagoda::documents {
namespace {

using Field = base::JsonField;

std::string text(const Field& field, const char* key, const char* otherwise) {
  return field.has(key) ? field.at(key).text() : otherwise;
}

// {"value": number or null, "unit": …, "source": …}. Units are SI without prefixes.
Quantity quantity(const Field& field, std::string_view unit) {
  field.only({"value", "unit", "source"});
  if (field.at("unit").text() != unit) field.at("unit").fail("expected \"" + std::string(unit) + "\"");
  Quantity result{std::nullopt, field.at("source").text()};
  if (result.source.empty()) field.at("source").fail("a number needs its source, a null its reason");
  if (!field.at("value").value().is_null()) result.value = field.at("value").positive();
  return result;
}

Quantity optional_quantity(const Field& field, const char* key, std::string_view unit) {
  return field.has(key) ? quantity(field.at(key), unit) : Quantity{std::nullopt, "not stated"};
}

Precision read_precision(const Field& field) {
  const std::optional<Precision> result = precision(field.text());
  if (!result) field.fail("\"" + field.text() + "\" is no precision; known: " + precision_names());
  return *result;
}

std::optional<Unit> unit_named(std::string_view name) {
  for (const Unit unit : {Unit::Vector, Unit::Tensor})
    if (to_string(unit) == name) return unit;
  return std::nullopt;
}

Peak read_peak(const Field& field) {
  field.only({"precision", "unit", "accumulate", "flops_per_second"});
  Peak peak;
  peak.precision = read_precision(field.at("precision"));
  const std::optional<Unit> unit = unit_named(field.at("unit").text());
  if (!unit) field.at("unit").fail("expected \"vector\" or \"tensor\"");
  peak.unit = *unit;
  if (field.has("accumulate")) peak.accumulate = read_precision(field.at("accumulate"));
  peak.flops_per_second = quantity(field.at("flops_per_second"), "FLOP/s");
  return peak;
}

constexpr std::array<std::string_view, 5> kLevels = {"dram", "l3", "l2", "l1", "shared"};

std::size_t level_order(std::string_view level) {
  return static_cast<std::size_t>(std::find(kLevels.begin(), kLevels.end(), level) - kLevels.begin());
}

MemoryLevel read_level(const Field& field) {
  field.only({"level", "capacity_of", "bytes_per_second", "capacity"});
  MemoryLevel level;
  level.level = field.at("level").text();
  if (level_order(level.level) == kLevels.size()) field.at("level").fail("expected dram, l3, l2, l1 or shared");
  const std::string of = text(field, "capacity_of", "device");
  if (of != "device" && of != "unit") field.at("capacity_of").fail("expected \"device\" or \"unit\"");
  level.per_unit = of == "unit";
  level.bytes_per_second = quantity(field.at("bytes_per_second"), "B/s");
  level.capacity_bytes = optional_quantity(field, "capacity", "B");
  return level;
}

PowerMode read_power_mode(const Field& field) {
  field.only({"id", "units", "clock", "dram_bytes_per_second", "power"});
  PowerMode mode;
  mode.id = field.at("id").text();
  mode.units = quantity(field.at("units"), "1");
  mode.clock_hz = quantity(field.at("clock"), "Hz");
  mode.dram_bytes_per_second = quantity(field.at("dram_bytes_per_second"), "B/s");
  mode.watts = quantity(field.at("power"), "W");
  return mode;
}

void require_dram(const DeviceSpec& spec, std::string_view subject) {
  const MemoryLevel* dram = spec.level("dram");
  if (dram == nullptr || !dram->bytes_per_second.known())
    throw Error(std::string(subject) + ": no bandwidth of level \"dram\"; a roofline needs one");
  if (spec.peaks.empty()) throw Error(std::string(subject) + ": no compute peak; a roofline needs one");
}

// Where a level of a ceilings file has a name of its own. Empty: no level that all traffic passes.
std::string_view canonical_level(std::string_view level) {
  // as named    here
  constexpr std::array<std::pair<std::string_view, std::string_view>, 12> kNames = {{
      {"dram", "dram"},
      {"hbm", "dram"},
      {"ddr", "dram"},
      {"gddr", "dram"},
      {"memory", "dram"},
      {"global", "dram"},
      {"l3", "l3"},
      {"llc", "l3"},
      {"l2", "l2"},
      {"l1", "l1"},
      {"shared", "shared"},
      {"smem", "shared"},
  }};
  for (const auto& [named, here] : kNames)
    if (named == level) return here;
  return "";
}

// Which of several measurements of one ceiling is used: what can be sustained before what lasts for a moment.
int mode_rank(std::string_view mode) {
  constexpr std::array<std::string_view, 3> kModes = {"issue", "burst", "sustained"};
  const auto found = std::find(kModes.begin(), kModes.end(), mode);
  return found == kModes.end() ? 0 : static_cast<int>(found - kModes.begin()) + 1;
}

// The best of the measurements of one ceiling so far.
struct Candidate {
  int rank = -1;
  Quantity quantity;

  // Higher is better for rates, lower for latencies.
  void offer(int new_rank, double value, std::string source, bool lower_is_better = false) {
    const bool better = !quantity.known() || (lower_is_better ? value < *quantity.value : value > *quantity.value);
    if (new_rank < rank || (new_rank == rank && !better)) return;
    rank = new_rank;
    quantity = {value, std::move(source)};
  }
};

std::string machine_name(const Field& document, std::string_view otherwise) {
  if (!document.has("machine")) return std::string(otherwise);
  const Field machine = document.at("machine");
  if (machine.value().is_text()) return machine.text();
  for (const char* key : {"device", "gpu", "name", "cpu"})
    if (machine.has(key) && machine.at(key).value().is_text()) return machine.at(key).text();
  return std::string(otherwise);
}

}  // namespace

bool before(const Peak& a, const Peak& b) {
  return std::tuple(a.precision, a.unit, a.accumulate) < std::tuple(b.precision, b.unit, b.accumulate);
}

DeviceSpec read_device(const base::JsonDocument& document) {
  const Field field = document.root();
  field.only({"schema", "id", "name", "vendor", "kind", "architecture", "compute_capability", "units", "boost_clock",
              "tensor_clock", "power", "launch_overhead", "special_per_second", "peaks", "levels", "power_modes"});
  DeviceSpec spec;
  spec.id = field.at("id").text();
  spec.name = field.at("name").text();
  spec.kind = field.at("kind").text();
  spec.vendor = text(field, "vendor", "");
  spec.architecture = text(field, "architecture", "");
  spec.compute_capability = text(field, "compute_capability", "");
  spec.units = optional_quantity(field, "units", "1");
  spec.boost_clock_hz = optional_quantity(field, "boost_clock", "Hz");
  spec.tensor_clock_hz = optional_quantity(field, "tensor_clock", "Hz");
  spec.watts = optional_quantity(field, "power", "W");
  spec.launch_overhead_seconds = optional_quantity(field, "launch_overhead", "s");
  spec.special_per_second = optional_quantity(field, "special_per_second", "1/s");
  for (const Field& peak : field.at("peaks").array()) spec.peaks.push_back(read_peak(peak));
  for (const Field& level : field.at("levels").array()) spec.levels.push_back(read_level(level));
  if (field.has("power_modes"))
    for (const Field& mode : field.at("power_modes").array()) spec.power_modes.push_back(read_power_mode(mode));

  std::erase_if(spec.peaks, [](const Peak& peak) { return !peak.flops_per_second.known(); });
  std::sort(spec.peaks.begin(), spec.peaks.end(), before);
  std::stable_sort(spec.levels.begin(), spec.levels.end(),
                   [](const auto& a, const auto& b) { return level_order(a.level) < level_order(b.level); });
  require_dram(spec, document.subject());
  return spec;
}

DeviceSpec read_ceilings(const base::JsonDocument& document) {
  const Field field = document.root();
  const std::string& subject = document.subject();
  DeviceSpec spec;
  spec.id = "measured";
  spec.name = machine_name(field, subject);
  spec.kind = "measured";
  spec.measured = true;

  std::map<std::tuple<Precision, Unit, std::optional<Precision>>, Candidate> peaks;
  std::map<std::string, Candidate> levels;
  Candidate launch, special;
  for (const Field& ceiling : field.at("ceilings").array()) {
    const std::string kind = ceiling.at("kind").text();
    const std::string id = text(ceiling, "id", "?");
    const auto skip = [&](const std::string& why) { spec.notes.push_back(id + ": " + why); };
    if (kind == "energy") continue;  // ceilings of power, not of time
    if (base::lower(text(ceiling, "status", "")) == "impossible") {
      skip("marked impossible");
      continue;
    }
    if (!ceiling.has("value") || ceiling.at("value").value().is_null()) {
      skip("has no value");
      continue;
    }
    const double value = ceiling.at("value").positive();
    const std::string mode = text(ceiling, "mode", "");
    const std::string source = "measured" + (mode.empty() ? "" : ", " + mode) + ": " + id + " in " + subject;
    const int rank = mode_rank(mode);

    if (kind == "compute") {
      // "unit" is the execution unit, or the physical one where "unit_type" names the former.
      const std::string unit_text = text(ceiling, "unit_type", text(ceiling, "unit", "").c_str());
      if (unit_text == "special") {
        special.offer(rank, value, source);
        continue;
      }
      if (unit_text == "scalar") continue;  // beneath the vector unit's: bounds nothing
      const std::optional<Unit> unit = unit_named(unit_text);
      const std::optional<Precision> type = precision(text(ceiling, "precision", ""));
      if (!unit || !type) {
        skip(!unit ? "unit \"" + unit_text + "\" is neither vector nor tensor" : "its precision is not known");
        continue;
      }
      std::optional<Precision> accumulate;
      if (ceiling.has("accumulate")) accumulate = precision(ceiling.at("accumulate").text());
      peaks[{*type, *unit, accumulate}].offer(rank, value, source);
    } else if (kind == "bandwidth") {
      const std::string level(canonical_level(base::lower(text(ceiling, "level", ""))));
      if (level.empty()) {
        skip("level \"" + text(ceiling, "level", "") + "\" is none that all traffic passes");
        continue;
      }
      levels[level].offer(rank, value, source);
    } else if (kind == "latency") {
      if (id.find("launch") != std::string::npos || text(ceiling, "level", "") == "launch")
        launch.offer(rank, value, source, true);
    } else {
      skip("kind \"" + kind + "\" is not known");
    }
  }

  for (auto& [key, candidate] : peaks) {
    const auto& [type, unit, accumulate] = key;
    spec.peaks.push_back({type, unit, accumulate, std::move(candidate.quantity)});
  }
  const Quantity unknown{std::nullopt, "not measured"};
  for (const std::string_view name : kLevels)
    if (const auto found = levels.find(std::string(name)); found != levels.end())
      spec.levels.push_back({std::string(name), std::move(found->second.quantity), unknown, false});
  for (Quantity* missing : {&spec.units, &spec.boost_clock_hz, &spec.tensor_clock_hz, &spec.watts}) *missing = unknown;
  spec.launch_overhead_seconds = launch.quantity.known() ? launch.quantity : unknown;
  spec.special_per_second = special.quantity.known() ? special.quantity : unknown;
  require_dram(spec, subject);
  return spec;
}

}  // namespace pagoda::documents
