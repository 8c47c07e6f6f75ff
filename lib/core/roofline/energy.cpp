// Closed forms of the energy roofline; each is checked against the definitions of energy and time in the tests.
#include "pagoda/core/energy.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "pagoda/base/cat.h"
#include "pagoda/base/error.h"
#include "pagoda/base/text.h"

namespace pagoda::inline core {
namespace {

double seconds_per_flop(const EnergyModel& model) { return 1 / model.flops_per_second; }
double seconds_per_byte(const EnergyModel& model) { return 1 / model.bytes_per_second; }
double flop_watts(const EnergyModel& model) { return model.joules_per_flop * model.flops_per_second; }
double byte_watts(const EnergyModel& model) { return model.joules_per_byte * model.bytes_per_second; }

const Peak* fastest_peak(const DeviceSpec& device, Precision precision) {
  const Peak *tensor = device.peak(precision, Unit::Tensor), *vector = device.peak(precision, Unit::Vector);
  if (tensor == nullptr || vector == nullptr) return tensor == nullptr ? vector : tensor;
  return *vector->flops_per_second.value > *tensor->flops_per_second.value ? vector : tensor;
}

// Either the model or what it lacks; neither for a device without energy constants.
struct Found {
  std::optional<EnergyModel> model = std::nullopt;
  std::vector<std::string> missing = {};
};

Found found_in(const DeviceSpec& device, std::optional<Precision> precision) {
  Found found;
  if (!device.energy || device.energy->work.empty()) return found;
  const DeviceEnergy& energy = *device.energy;
  const auto lacks = [&](const std::string& what, const std::string& reason) {
    found.missing.push_back(what + ": " + (reason.empty() ? "not stated" : reason));
  };
  const auto name = [](const DeviceEnergy::Work& each) { return std::string(to_string(each.precision)); };
  if (!precision && energy.work.size() > 1) {
    lacks("joules_per_flop", "stated for several precisions: " + base::joined(energy.work, ", ", name));
    return found;
  }
  const Precision type = precision.value_or(energy.work.front().precision);
  const auto work = std::find_if(energy.work.begin(), energy.work.end(),
                                 [&](const DeviceEnergy::Work& each) { return each.precision == type; });
  const MemoryLevel* dram = device.level("dram");
  const Peak* peak = fastest_peak(device, type);
  const std::string of_type = "joules_per_flop of " + std::string(to_string(type));
  if (work == energy.work.end())
    lacks(of_type, "stated only for " + base::joined(energy.work, ", ", name));
  else if (!work->joules_per_flop.known())
    lacks(of_type, work->joules_per_flop.source);
  if (!energy.joules_per_byte.known()) lacks("joules_per_byte", energy.joules_per_byte.source);
  if (!energy.constant_watts.known()) lacks("constant_power", energy.constant_watts.source);
  if (dram == nullptr || !dram->bytes_per_second.known())
    lacks("bandwidth of memory", dram == nullptr ? "" : dram->bytes_per_second.source);
  if (peak == nullptr) lacks("peak of " + std::string(to_string(type)), "");
  if (found.missing.empty())
    found.model = EnergyModel{.joules_per_flop = *work->joules_per_flop.value,
                              .joules_per_byte = *energy.joules_per_byte.value,
                              .constant_watts = *energy.constant_watts.value,
                              .flops_per_second = *peak->flops_per_second.value,
                              .bytes_per_second = *dram->bytes_per_second.value};
  return found;
}

}  // namespace

std::optional<EnergyModel> energy_model(const DeviceSpec& device, std::optional<Precision> precision) {
  return found_in(device, precision).model;
}

std::vector<std::string> missing_energy(const DeviceSpec& device, std::optional<Precision> precision) {
  return found_in(device, precision).missing;
}

void check(const EnergyModel& model) {
  const auto require = [](bool ok, const char* what) {
    if (!ok) throw Error(cat("energy model: ", what));
  };
  require(std::isfinite(model.flops_per_second) && model.flops_per_second > 0, "flops_per_second must be above 0");
  require(std::isfinite(model.bytes_per_second) && model.bytes_per_second > 0, "bytes_per_second must be above 0");
  require(std::isfinite(model.joules_per_flop) && model.joules_per_flop >= 0, "joules_per_flop must not be negative");
  require(std::isfinite(model.joules_per_byte) && model.joules_per_byte >= 0, "joules_per_byte must not be negative");
  require(std::isfinite(model.constant_watts) && model.constant_watts >= 0, "constant_watts must not be negative");
  require(!model.cap_watts || *model.cap_watts > 0, "cap_watts must be above 0");
}

double seconds(const EnergyModel& model, double flops, double bytes) {
  const double roofline = std::max(flops * seconds_per_flop(model), bytes * seconds_per_byte(model));
  if (!model.cap_watts) return roofline;
  return std::max(roofline, (flops * model.joules_per_flop + bytes * model.joules_per_byte) / *model.cap_watts);
}

double joules(const EnergyModel& model, double flops, double bytes, double seconds) {
  return flops * model.joules_per_flop + bytes * model.joules_per_byte + model.constant_watts * seconds;
}

double joules(const EnergyModel& model, double flops, double bytes) {
  return joules(model, flops, bytes, seconds(model, flops, bytes));
}

double flops_per_joule(const EnergyModel& model, double intensity) { return 1 / joules(model, 1, 1 / intensity); }

double peak_flops_per_joule(const EnergyModel& model) { return 1 / joules(model, 1, 0); }

double time_balance(const EnergyModel& model) { return model.flops_per_second / model.bytes_per_second; }

double energy_balance(const EnergyModel& model) { return model.joules_per_byte / model.joules_per_flop; }

double flop_efficiency(const EnergyModel& model) {
  return model.joules_per_flop / (model.joules_per_flop + model.constant_watts * seconds_per_flop(model));
}

// Right of β_t: I = η·β_ε. Left of it: I = η·β_ε + (1 − η)·(β_t − I), so I·(2 − η) = η·β_ε + (1 − η)·β_t.
double half_peak_intensity(const EnergyModel& model) {
  const double efficiency = flop_efficiency(model);
  const double balance = efficiency * energy_balance(model);
  if (balance >= time_balance(model)) return balance;
  return (balance + (1 - efficiency) * time_balance(model)) / (2 - efficiency);
}

bool race_to_halt(const EnergyModel& model) {
  return flop_efficiency(model) * energy_balance(model) <= time_balance(model);
}

double watts(const EnergyModel& model, double intensity) {
  return joules(model, 1, 1 / intensity) / seconds(model, 1, 1 / intensity);
}

double peak_watts(const EnergyModel& model) {
  const double free = flop_watts(model) + byte_watts(model);
  return model.constant_watts + (model.cap_watts ? std::min(*model.cap_watts, free) : free);
}

}  // namespace pagoda::inline core
