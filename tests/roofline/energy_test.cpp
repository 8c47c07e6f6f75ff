// The closed forms of the energy roofline against the definitions of time, energy and power.
#include "pagoda/core/energy.h"

#include <doctest/doctest.h>

#include <cmath>

#include "pagoda/base/error.h"
#include "support/sometimes.h"

using namespace pagoda;
using doctest::Approx;

namespace {

// Both signs of the balance gap: η·β_ε below β_t (a modern GPU) and above it (no constant power, expensive traffic).
const EnergyModel kGpu{.joules_per_flop = 8.67e-12,
                       .joules_per_byte = 133.6e-12,
                       .constant_watts = 23.1,
                       .flops_per_second = 5.327e12,
                       .bytes_per_second = 204.8e9};
const EnergyModel kDearTraffic{.joules_per_flop = 1e-12,
                               .joules_per_byte = 900e-12,
                               .constant_watts = 0,
                               .flops_per_second = 1e12,
                               .bytes_per_second = 100e9};
const EnergyModel kModels[] = {kGpu, kDearTraffic};
constexpr double kIntensities[] = {0.25, 0.5, 1, 3, 8, 10, 17, 26, 26.01, 64, 100, 900, 4096};

double time_of(const EnergyModel& m, double flops, double bytes) {
  return std::max(flops / m.flops_per_second, bytes / m.bytes_per_second);
}

// B(I) of energy.h.
double effective_balance(const EnergyModel& m, double intensity) {
  const double efficiency = flop_efficiency(m);
  return efficiency * energy_balance(m) + (1 - efficiency) * std::max(0.0, time_balance(m) - intensity);
}

}  // namespace

TEST_CASE("energy is work, traffic and constant power over the time of the roofline") {
  for (const EnergyModel& m : kModels)
    for (const double intensity : kIntensities) {
      const double flops = 3e12, bytes = flops / intensity, time = time_of(m, flops, bytes);
      CAPTURE(intensity);
      CHECK(seconds(m, flops, bytes) == Approx(time));
      CHECK(joules(m, flops, bytes) ==
            Approx(m.joules_per_flop * flops + m.joules_per_byte * bytes + m.constant_watts * time));
      CHECK(flops_per_joule(m, intensity) == Approx(flops / joules(m, flops, bytes)));
      CHECK(watts(m, intensity) == Approx(joules(m, flops, bytes) / time));
    }
}

TEST_CASE("with the effective balance B, energy is that of a FLOP at peak times 1 + B/I") {
  for (const EnergyModel& m : kModels)
    for (const double intensity : kIntensities) {
      const double per_flop = m.joules_per_flop + m.constant_watts / m.flops_per_second;
      CHECK(1 / flops_per_joule(m, intensity) == Approx(per_flop * (1 + effective_balance(m, intensity) / intensity)));
      CHECK(flop_efficiency(m) == Approx(m.joules_per_flop / per_flop));
    }
}

TEST_CASE("the arch reaches half of its peak where intensity equals the effective balance") {
  for (const EnergyModel& m : kModels) {
    const double half = half_peak_intensity(m);
    CHECK(half == Approx(effective_balance(m, half)));
    CHECK(flops_per_joule(m, half) == Approx(peak_flops_per_joule(m) / 2));
    CHECK(flops_per_joule(m, 1e12) == Approx(peak_flops_per_joule(m)));
  }
}

TEST_CASE("racing to halt pays where the compute-bound side is past half of the peak efficiency") {
  CHECK(race_to_halt(kGpu));
  CHECK(half_peak_intensity(kGpu) <= time_balance(kGpu));
  CHECK_FALSE(race_to_halt(kDearTraffic));
  CHECK(half_peak_intensity(kDearTraffic) == Approx(energy_balance(kDearTraffic)));  // 900 FLOP/B; β_t is 10
  CHECK(half_peak_intensity(kDearTraffic) > time_balance(kDearTraffic));
}

TEST_CASE("the power line rises to the time balance and falls behind it") {
  for (const EnergyModel& m : kModels) {
    const double balance = time_balance(m), flop_watts = m.joules_per_flop * m.flops_per_second;
    for (const double intensity : kIntensities) {
      const double expected = intensity < balance
                                  ? m.constant_watts + flop_watts * (intensity + energy_balance(m)) / balance
                                  : m.constant_watts + flop_watts * (1 + energy_balance(m) / intensity);
      CHECK(watts(m, intensity) == Approx(expected));
      CHECK(watts(m, intensity) <= peak_watts(m) * (1 + 1e-12));
    }
    CHECK(watts(m, balance) == Approx(peak_watts(m)));
    CHECK(peak_watts(m) == Approx(m.constant_watts + flop_watts + m.joules_per_byte * m.bytes_per_second));
  }
}

TEST_CASE("balances of a known machine") {
  CHECK(time_balance(kGpu) == Approx(26.0).epsilon(0.001));  // Orin AGX at MAXN clocks, FP32
  CHECK(energy_balance(kGpu) == Approx(133.6 / 8.67));
}

TEST_CASE("a cap stretches time so that power stays below it") {
  EnergyModel m = kGpu;
  const double free = peak_watts(m) - m.constant_watts;  // 46.2 W from work, 27.4 W from traffic
  test::Sometimes is_capped("work that would exceed the cap");
  for (const double cap : {free * 1.01, free * 0.7, 40.0, 30.0, 20.0}) {
    m.cap_watts = cap;
    CAPTURE(cap);
    for (const double intensity : kIntensities) {
      CAPTURE(intensity);
      CHECK(watts(m, intensity) <= m.constant_watts + cap + 1e-9);
      const double bytes = 1 / intensity, unlimited = time_of(m, 1, bytes);
      const bool inside = (m.joules_per_flop + m.joules_per_byte * bytes) / unlimited > cap;
      CHECK(seconds(m, 1, bytes) >= unlimited);
      CHECK((seconds(m, 1, bytes) > unlimited * (1 + 1e-12)) == inside);
      if (is_capped(inside)) CHECK(watts(m, intensity) == Approx(m.constant_watts + cap));
    }
    CHECK(peak_watts(m) == Approx(m.constant_watts + std::min(cap, free)));
  }
}

TEST_CASE("constants that a device does not state are named with their reasons") {
  const DeviceEnergy whole{.work = {{Precision::Float32, {1e-12, "test"}}},
                           .joules_per_byte = {100e-12, "test"},
                           .constant_watts = {20.0, "test"}};
  DeviceSpec device;
  device.peaks = {{.precision = Precision::Float32, .unit = Unit::Vector, .accumulate = {}, .flops_per_second = {1e13, "test"}}};
  device.levels = {{.level = "dram", .bytes_per_second = {1e12, "test"}, .capacity_bytes = {}}};
  CHECK(missing_energy(device).empty());  // no constants at all: nothing is missing from them
  CHECK_FALSE(energy_model(device));
  device.energy = whole;
  CHECK(missing_energy(device).empty());
  CHECK(energy_model(device));
  CHECK(missing_energy(device, Precision::Float16) ==
        std::vector<std::string>{"joules_per_flop of float16: stated only for float32", "peak of float16: not stated"});
  device.energy->joules_per_byte = {std::nullopt, "came out as 0"};
  device.energy->constant_watts = {std::nullopt, ""};
  device.energy->work[0].joules_per_flop.value = std::nullopt;
  CHECK_FALSE(energy_model(device));
  CHECK(missing_energy(device) == std::vector<std::string>{"joules_per_flop of float32: test",
                                                          "joules_per_byte: came out as 0",
                                                          "constant_power: not stated"});
}

TEST_CASE("a model that cannot be is refused") {
  EnergyModel m = kGpu;
  CHECK_NOTHROW(check(m));
  m.cap_watts = 0;
  CHECK_THROWS_AS(check(m), Error);
  m = kGpu;
  m.flops_per_second = 0;
  CHECK_THROWS_WITH_AS(check(m), "energy model: flops_per_second must be above 0", Error);
  m = kGpu;
  m.joules_per_byte = -1;
  CHECK_THROWS_AS(check(m), Error);
}
