// Device files are read strictly: an unknown key is an error that names it. Of measured ceilings, values that cannot be
// used are listed in the notes.
#include "device_json.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "form.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/text.h"
#include "pagoda/documents/device.h"
#include "pagoda/documents/result.h"

namespace pagoda::documents {
namespace {

using base::JsonField;
using Need = Form::Need;

constexpr std::array<std::string_view, 5> kMemoryLevels = {"dram", "l3", "l2", "l1", "shared"};
constexpr std::array<std::string_view, 3> kMachineKinds = {"gpu", "cpu", "npu"};

std::size_t level_order(std::string_view level) {
  return static_cast<std::size_t>(std::find(kMemoryLevels.begin(), kMemoryLevels.end(), level) - kMemoryLevels.begin());
}

std::optional<Unit> unit_named(std::string_view name) {
  for (const Unit unit : {Unit::Vector, Unit::Tensor})
    if (to_string(unit) == name) return unit;
  return std::nullopt;
}

// {"value": number or null, "unit": …, "source": …}. Units are SI without prefixes.
void read_quantity(Form& parent, const char* key, std::string_view unit, Quantity& into, Need need = Need::Optional) {
  into = {std::nullopt, "not stated"};
  parent.object(key, need, [&](Form& form) {
    form.member("value", Need::Required, [&](const JsonField& field) {
      if (!field.value().is_null()) into.value = field.positive();
    });
    form.member("unit", Need::Required, [&](const JsonField& field) {
      if (field.text() != unit) field.fail_expected(cat("\"", unit, "\""));
    });
    form.member("source", Need::Required, [&](const JsonField& field) {
      into.source = field.text();
      if (into.source.empty()) field.fail("a number needs its source, a null its reason");
    });
  });
}

void read_peak(Form& form, Peak& peak) {
  form.precision("precision", peak.precision);
  form.member("unit", Need::Required, [&](const JsonField& field) {
    const std::optional<Unit> unit = unit_named(field.text());
    if (!unit) field.fail_expected("\"vector\" or \"tensor\"");
    peak.unit = *unit;
  });
  if (form.field().has("accumulate")) form.precision("accumulate", peak.accumulate.emplace());
  read_quantity(form, "flops_per_second", "FLOP/s", peak.flops_per_second, Need::Required);
}

void read_level(Form& form, MemoryLevel& level) {
  form.member("level", Need::Required, [&](const JsonField& field) {
    level.level = field.text();
    if (level_order(level.level) == kMemoryLevels.size()) field.fail_expected("dram, l3, l2, l1 or shared");
  });
  form.member("capacity_of", Need::Optional, [&](const JsonField& field) {
    const std::string of = field.text();
    if (of != "device" && of != "unit") field.fail_expected("\"device\" or \"unit\"");
    level.per_unit = of == "unit";
  });
  read_quantity(form, "bytes_per_second", "B/s", level.bytes_per_second, Need::Required);
  read_quantity(form, "capacity", "B", level.capacity_bytes);
}

void read_link(Form& form, Link& link) {
  form.text("name", link.name, Need::Required);
  read_quantity(form, "bytes_per_second", "B/s", link.bytes_per_second, Need::Required);
  form.text("sums_in_switch", link.sums_source);
  form.member("devices", Need::Optional, [&](const JsonField& field) {
    link.devices = field.integer();
    if (link.devices < 2) field.fail_expected("an integer of at least 2");
  });
}

void read_energy(Form& parent, std::optional<DeviceEnergy>& into) {
  parent.object("energy", Need::Optional, [&](Form& form) {
    DeviceEnergy& energy = into.emplace();
    form.list("work", Need::Required, [&](Form& work) {
      DeviceEnergy::Work& each = energy.work.emplace_back();
      work.precision("precision", each.precision);
      read_quantity(work, "joules_per_flop", "J/FLOP", each.joules_per_flop, Need::Required);
    });
    read_quantity(form, "joules_per_byte", "J/B", energy.joules_per_byte, Need::Required);
    read_quantity(form, "constant_power", "W", energy.constant_watts, Need::Required);
  });
}

void read_power_mode(Form& form, PowerMode& mode) {
  form.text("id", mode.id, Need::Required);
  read_quantity(form, "units", "1", mode.units, Need::Required);
  read_quantity(form, "clock", "Hz", mode.clock_hz, Need::Required);
  read_quantity(form, "dram_bytes_per_second", "B/s", mode.dram_bytes_per_second, Need::Required);
  read_quantity(form, "power", "W", mode.watts, Need::Required);
  read_energy(form, mode.energy);
}

// Values that a roofline requires but the device lacks.
std::vector<std::string> lacks(const DeviceSpec& spec) {
  std::vector<std::string> missing;
  const MemoryLevel* dram = spec.level("dram");
  if (dram == nullptr || !dram->bytes_per_second.known())
    missing.push_back("no bandwidth of level \"dram\"; a roofline needs one");
  if (spec.peaks.empty()) missing.push_back("no compute peak; a roofline needs one");
  return missing;
}

// Of float16 on tensor units, at the stated power.
Quantity flops_per_joule(const DeviceSpec& board) {
  const Peak* peak = board.peak(Precision::Float16, Unit::Tensor, Precision::Float32);
  if (peak == nullptr || !board.watts.known()) return {std::nullopt, "rate or power not stated"};
  return {*peak->flops_per_second.value / *board.watts.value, cat(board.id, ": ", peak->flops_per_second.source)};
}

void read_members(Form& form, DeviceSpec& spec) {
  form.text("id", spec.id, Need::Required);
  form.text("name", spec.name, Need::Required);
  form.text("vendor", spec.vendor);
  form.member("kind", Need::Required, [&](const JsonField& field) {
    spec.kind = field.text();
    if (std::find(kMachineKinds.begin(), kMachineKinds.end(), spec.kind) == kMachineKinds.end())
      field.fail_expected(cat(
          "one of ", base::joined(kMachineKinds, ", ", [](std::string_view kind) { return cat("\"", kind, "\""); })));
  });
  form.text("architecture", spec.architecture);
  form.member("compute_capability", Need::Optional, [&](const JsonField& field) {
    spec.compute_capability = field.text();
    if (spec.compute_capability.find_first_not_of("0123456789.") != std::string::npos)
      field.fail_expected("a version, such as \"9.0\"");
  });
  form.texts("driver_names", spec.driver_names);
  form.texts("aliases", spec.aliases);
  read_quantity(form, "units", "1", spec.units);
  read_quantity(form, "boost_clock", "Hz", spec.boost_clock_hz);
  read_quantity(form, "tensor_clock", "Hz", spec.tensor_clock_hz);
  read_quantity(form, "memory_clock", "Hz", spec.memory_clock_hz);
  read_quantity(form, "power", "W", spec.watts);
  read_quantity(form, "launch_overhead", "s", spec.launch_overhead_seconds);
  read_quantity(form, "special_per_second", "1/s", spec.special_per_second);
  form.list("peaks", Need::Required, [&](Form& peak) { read_peak(peak, spec.peaks.emplace_back()); });
  form.list("levels", Need::Required, [&](Form& level) { read_level(level, spec.levels.emplace_back()); });
  form.list("links", Need::Optional, [&](Form& link) { read_link(link, spec.links.emplace_back()); });
  form.list("power_modes", Need::Optional, [&](Form& mode) { read_power_mode(mode, spec.power_modes.emplace_back()); });
  read_energy(form, spec.energy);
}

// The best of the measurements of one ceiling so far: sustained before burst before issue.
struct Candidate {
  CeilingMode mode = CeilingMode::Issue;
  Quantity quantity;
  CeilingStatus status = CeilingStatus::Ok;

  // Higher is better for rates, lower for latencies.
  void offer(Candidate other, bool lower_is_better = false) {
    const double now = *other.quantity.value;
    const bool better = quantity.known() && (lower_is_better ? now < *quantity.value : now > *quantity.value);
    if (!quantity.known() || other.mode > mode || (other.mode == mode && better)) *this = std::move(other);
  }
};

// The ceiling's value or its fastest sample, whichever is faster: an upper limit cannot be below a measured sample.
double fastest(const Ceiling& ceiling, bool lower_is_better) {
  const double extreme = (lower_is_better ? ceiling.min : ceiling.max).value_or(*ceiling.value);
  if (lower_is_better) return extreme > 0 ? std::min(*ceiling.value, extreme) : *ceiling.value;
  return std::max(*ceiling.value, extreme);
}

// Formats for which the run reports that the machine has no instructions: "float16.avx512.fma.core: the CPU has no …".
std::vector<Precision> formats_not_run(const CeilingsDocument& document) {
  std::vector<Precision> formats;
  for (const std::string& line : document.not_run) {
    const std::optional<Precision> type = precision(line.substr(0, line.find('.')));
    if (type && line.find(" has no ") != std::string::npos) formats.push_back(*type);
  }
  return formats;
}

// The energy fit of ert-ceilings: "energy.float32" in J/FLOP, "energy.dram" in J/B, "energy.constant_watts". A term
// that did not converge or was fitted as 0 cannot be separated from the others and stays unknown.
std::optional<DeviceEnergy> energy_of_ceilings(const CeilingsDocument& document) {
  DeviceEnergy energy;
  energy.joules_per_byte = energy.constant_watts = {std::nullopt, "not measured"};
  for (const Ceiling& ceiling : document.ceilings) {
    if (ceiling.kind != CeilingKind::Energy || ceiling.status != CeilingStatus::Ok) continue;
    if (!ceiling.value || !(*ceiling.value > 0)) continue;
    const std::string name = ceiling.id.substr(ceiling.id.find('.') + 1);  // "float32", "bfloat16_tensor", "dram"
    const Quantity quantity{*ceiling.value, cat("measured: ", ceiling.id, " of the energy fit")};
    if (ceiling.unit == "J/FLOP") {
      if (const auto type = precision(name.substr(0, name.find_first_of("._"))))
        energy.work.push_back({*type, quantity});
    } else if (ceiling.unit == "J/B" && name == "dram") {
      energy.joules_per_byte = quantity;
    } else if (ceiling.unit == "W") {
      energy.constant_watts = quantity;
    }
  }
  return energy.work.empty() ? std::nullopt : std::optional(std::move(energy));
}

std::string spaced(std::string_view name) {
  std::string result(name);
  std::replace(result.begin(), result.end(), '_', ' ');
  return result;
}

}  // namespace

DeviceSpec read_device(const base::JsonDocument& document) {
  DeviceSpec spec;
  bool is_flagship = false;
  read_form(document, [&](Form& form) {
    read_members(form, spec);
    form.member("flagship", Need::Optional, [&](const JsonField& field) {
      const std::string id = field.text();
      is_flagship = id == spec.id;
      if (!is_flagship) spec.flagship_flops_per_joule = device(id).flagship_flops_per_joule;
    });
  });
  std::erase_if(spec.peaks, [](const Peak& peak) { return !peak.flops_per_second.known(); });
  std::ranges::sort(spec.peaks, {},
                    [](const Peak& peak) { return std::tuple(peak.precision, peak.unit, peak.accumulate); });
  std::ranges::stable_sort(spec.levels, {}, [](const MemoryLevel& level) { return level_order(level.level); });
  if (is_flagship) spec.flagship_flops_per_joule = flops_per_joule(spec);
  if (const auto missing = lacks(spec); !missing.empty())
    base::fail(document.subject(), base::joined(missing, "\n  " + document.subject() + ": "));
  return spec;
}

DeviceSpec device_of(const CeilingsDocument& document, const std::string& subject) {
  DeviceSpec spec;
  spec.id = "measured";
  spec.name = document.name().empty() ? subject : document.name();
  spec.kind = document.kind;
  spec.measured = true;

  for (const std::string& member : document.unknown) spec.notes.push_back(left_out(member));

  std::map<std::tuple<Precision, Unit, std::optional<Precision>>, Candidate> peaks;
  std::map<std::string, Candidate> levels;
  Candidate launch, special;
  for (const Ceiling& ceiling : document.ceilings) {
    const auto skip = [&](const std::string& why) { spec.notes.push_back(cat(ceiling.id, ": ", why)); };
    if (ceiling.kind == CeilingKind::Energy) continue;  // energy_of_ceilings()
    if (ceiling.status == CeilingStatus::Impossible || ceiling.status == CeilingStatus::WrongResult) {
      skip(cat("marked ", spaced(to_string(ceiling.status))));
      continue;
    }
    if (!ceiling.value) {
      skip("has no value");
      continue;
    }
    if (!(*ceiling.value > 0))
      base::fail(subject, ceiling.id + ": its value is not above 0; expected a rate or time that was measured");
    const bool lower_is_better = ceiling.kind == CeilingKind::Latency;
    const double value = fastest(ceiling, lower_is_better);
    const Candidate candidate{.mode = ceiling.mode,
                              .quantity = {value, cat("measured, ", to_string(ceiling.mode), ": ", ceiling.id, " in ",
                                                      subject, value == *ceiling.value ? "" : "; the fastest sample")},
                              .status = ceiling.status};
    const std::optional<Unit> unit = unit_named(ceiling.unit_type);
    const std::optional<Precision> type = precision(ceiling.precision);
    switch (ceiling.kind) {
      case CeilingKind::Compute:
        if (ceiling.unit_type == "special")
          special.offer(candidate);
        else if (ceiling.unit_type == "scalar" || ceiling.op == "atomic_add")
          break;  // below the vector peak, or of no operator's work: not a bound
        else if (!unit)
          skip(cat("unit \"", ceiling.unit_type, "\" is neither vector nor tensor"));
        else if (!type)
          skip("its precision is not known");
        else
          peaks[{*type, *unit, precision(ceiling.accumulate)}].offer(candidate);
        break;
      case CeilingKind::Bandwidth:
        if (ceiling.level == "pcie") break;  // a link to the host, not a level of memory
        if (level_order(ceiling.level) == kMemoryLevels.size())
          skip(cat("level \"", ceiling.level, "\" is none that all traffic passes"));
        else
          levels[ceiling.level].offer(candidate);
        break;
      case CeilingKind::Latency:
        if (ceiling.id.find("launch") != std::string::npos || ceiling.level == "launch") launch.offer(candidate, true);
        break;
      case CeilingKind::Energy:
        break;
    }
  }

  const auto caution = [&](const std::string& of, const Candidate& candidate) {
    if (!candidate.quantity.known() || candidate.status == CeilingStatus::Ok) return;
    // The status first, then all values that have it: where a list is cut off, its meaning is not.
    const std::string begin = spaced(to_string(candidate.status)) + ": ";
    const auto same = std::find_if(spec.cautions.begin(), spec.cautions.end(),
                                   [&](const std::string& other) { return other.starts_with(begin); });
    if (same == spec.cautions.end())
      spec.cautions.push_back(begin + of);
    else
      *same += ", " + of;
  };
  spec.peaks.reserve(peaks.size());
  for (auto& [key, candidate] : peaks) {
    const auto& [type, unit, accumulate] = key;
    caution(cat(to_string(type), " ", to_string(unit), " peak"), candidate);
    spec.peaks.push_back({type, unit, accumulate, std::move(candidate.quantity)});
  }
  const Quantity unknown{std::nullopt, "not measured"};
  // What a GPU says of itself: a number of a section of the file. Of a CPU only its memory is a whole device's.
  const auto stated = [&](const char* section, const base::Settings& settings, const char* key) -> Quantity {
    const auto found = settings.find(key);
    const bool is_stated = document.kind != "cpu" || std::string_view(key) == "memory_bytes";
    if (!is_stated || found == settings.end() || std::holds_alternative<std::monostate>(found->second)) return unknown;
    constexpr double kMost = 1e15;
    const double number = number_of(settings, key).value_or(0);
    if (!(number > 0 && number < kMost))
      base::fail(cat(subject, ".", section, ".", key),
                 cat("expected a number above 0, at most 1e15, found \"", base::setting_text(found->second), "\""));
    return {number, cat(key, " of the ", section, " in ", subject)};
  };
  for (const std::string_view name : kMemoryLevels)
    if (const auto found = levels.find(std::string(name)); found != levels.end()) {
      caution(cat(name, " bandwidth"), found->second);
      const char* key = name == "dram" ? "memory_bytes" : name == "l2" ? "l2_bytes" : nullptr;
      const Quantity capacity = key == nullptr ? unknown : stated("machine", document.machine, key);
      spec.levels.push_back({std::string(name), std::move(found->second.quantity), capacity, false});
    }
  spec.units = stated("machine", document.machine, "sms");
  spec.boost_clock_hz = stated("clocks", document.clocks, "sm_max_hz");
  spec.watts = stated("env", document.env, "power_limit_watts");
  spec.tensor_clock_hz = spec.memory_clock_hz = unknown;
  spec.compute_capability = text_of(document.machine, "compute_capability");
  if (const auto sheet = device_of_driver(spec.name)) spec.flagship_flops_per_joule = sheet->flagship_flops_per_joule;
  caution("launch overhead", launch);
  caution("special evaluations", special);
  for (const Precision type : formats_not_run(document))
    if (spec.peak(type, Unit::Vector) == nullptr && spec.peak(type, Unit::Tensor) == nullptr)
      spec.lacks.push_back(type);
  spec.launch_overhead_seconds = launch.quantity.known() ? launch.quantity : unknown;
  spec.special_per_second = special.quantity.known() ? special.quantity : unknown;
  spec.energy = energy_of_ceilings(document);
  if (const auto missing = lacks(spec); !missing.empty()) base::fail(subject, missing.front());
  return spec;
}

}  // namespace pagoda::documents
