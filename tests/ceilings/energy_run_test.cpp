// Energy windows on a planted machine: a stepping counter, a clock of its own, known constants.
#include "energy_run.h"

#include <doctest/doctest.h>

#include <cmath>

namespace {

using namespace pagoda::tools::ceilings;

constexpr double kPerFlop = 1e-12, kPerByte = 80e-12, kIdle = 60, kActive = 25;

struct Machine {
  double now = 0, joules = 0;
  EnergyPlan plan(double counter_step) {
    EnergyPlan p;
    p.source = "nvml";
    p.now = [this] { return now += 1e-5; };
    p.joules = [this, counter_step] { return counter_step > 0 ? std::floor(joules / counter_step) * counter_step : 0; };
    p.sleep = [this](double s) {
      now += s;
      joules += s * kIdle;
    };
    p.spin = [this](double s) {
      now += s;
      joules += s * (kIdle + kActive);
    };
    p.names = {"float32", "dram"};
    p.units = {"J/FLOP", "J/B"};
    for (const double intensity : {0.5, 2.0, 8.0, 32.0, 128.0})
      p.loads.push_back({"intensity", [this, intensity](double s) {
                           const double flops = 50e12 * std::min(1.0, intensity / 12) * s, bytes = flops / intensity;
                           now += s;
                           joules += flops * kPerFlop + bytes * kPerByte + s * (kIdle + kActive);
                           return std::vector<double>{flops, bytes};
                         }});
    return p;
  }
};

}  // namespace

TEST_CASE("planted joules per operation and byte come back, and idle power stays apart") {
  Machine machine;
  pagoda::documents::CeilingsDocument document;
  run_energy(machine.plan(0.5), document);
  REQUIRE(document.ceilings.size() == 3);
  CHECK(document.ceilings[0].id == "energy.float32");
  CHECK(document.ceilings[0].unit == "J/FLOP");
  // At half duty, half of the time is idle, so the fitted constant lies between idle and active power.
  CHECK(document.ceilings[0].value.value() == doctest::Approx(kPerFlop).epsilon(0.2));
  CHECK(document.ceilings[1].value.value() == doctest::Approx(kPerByte).epsilon(0.05));
  CHECK(document.ceilings[2].unit == "W");
  CHECK(document.ceilings[2].value.value() > kIdle);
  CHECK(document.ceilings[2].value.value() < kIdle + kActive);
  REQUIRE(document.energy);
  CHECK(document.energy->rows == 10);
  CHECK(std::get<double>(document.energy->constants.at("idle_watts")) == doctest::Approx(kIdle).epsilon(0.01));
  CHECK(std::get<double>(document.energy->constants.at("active_idle_watts")) ==
        doctest::Approx(kIdle + kActive).epsilon(0.01));
  CHECK(document.not_run.empty());
}

TEST_CASE("a counter that stands still gives no energy, and the reason") {
  Machine machine;
  pagoda::documents::CeilingsDocument document;
  run_energy(machine.plan(0), document);
  CHECK(document.ceilings.empty());
  CHECK(!document.energy);
  REQUIRE(document.not_run.size() == 1);
  CHECK(document.not_run[0].find("did not move") != std::string::npos);
}
