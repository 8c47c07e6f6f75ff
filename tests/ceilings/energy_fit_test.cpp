// Planted constants must come back from noisy runs; what the runs cannot determine must be refused or reported.
#include "pagoda/measured/energy_fit.h"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

namespace {

using namespace pagoda;
using namespace pagoda::measured;
using namespace pagoda::measured;
using namespace pagoda::measured;

constexpr double kPerFlop = 0.6e-12, kPerByte = 60e-12, kWatts = 140;

// An intensity sweep of `n` runs of 10 s on a machine with 60 TFLOP/s and 4 TB/s, and half-rate variants.
std::vector<measured::EnergyRow> intensity_sweep(int n, double noise, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> error(1, noise);
  std::vector<measured::EnergyRow> rows;
  for (int i = 0; i < n; ++i) {
    const double intensity = 0.25 * std::pow(2.0, i % 13), duty = i % 2 ? 0.5 : 1;
    const double flops = 60e12 * std::min(1.0, intensity / 15) * 10 * duty, bytes = flops / intensity;
    rows.push_back({{flops, bytes}, 10, (kPerFlop * flops + kPerByte * bytes + kWatts * 10) * error(random)});
  }
  return rows;
}

}  // namespace

TEST_CASE("planted joules per flop and byte and the constant power come back within 2 % at 1 % noise") {
  const measured::EnergyFit fit = measured::fit_energy({"float32", "dram"}, intensity_sweep(52, 0.01, 11));
  REQUIRE(fit.terms.size() == 3);
  CHECK(fit.terms[0].value == doctest::Approx(kPerFlop).epsilon(0.02));
  CHECK(fit.terms[1].value == doctest::Approx(kPerByte).epsilon(0.02));
  CHECK(fit.terms[2].value == doctest::Approx(kWatts).epsilon(0.02));
  CHECK(fit.terms[2].name == "constant_watts");
  CHECK(fit.relative_rms < 0.015);
  CHECK(fit.condition_number < 20);
}

TEST_CASE("intervals cover the planted constants about 19 times of 20") {
  int covered = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const measured::EnergyFit fit =
        measured::fit_energy({"float32", "dram"}, intensity_sweep(52, 0.02, seed), {200, seed});
    covered += fit.terms[1].interval[0] <= kPerByte && kPerByte <= fit.terms[1].interval[1];
  }
  CHECK(covered >= 86);
  CHECK(covered < 100);
}

TEST_CASE("no constant is negative: what costs nothing is 0") {
  std::vector<measured::EnergyRow> rows = intensity_sweep(26, 0.0, 1);
  // Energy that falls with the third kind of work: its unconstrained constant would be negative.
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].work.push_back(static_cast<double>(i % 5) * 1e12);
    rows[i].joules -= 0.01e-12 * rows[i].work.back();
  }
  const measured::EnergyFit fit = measured::fit_energy({"float32", "dram", "l2"}, rows);
  CHECK(fit.terms[2].value == 0);
  CHECK(fit.terms[1].value == doctest::Approx(kPerByte).epsilon(0.02));
}

TEST_CASE("runs that do not tell two costs apart have a large condition number") {
  std::vector<measured::EnergyRow> rows;
  for (int i = 1; i <= 10; ++i) rows.push_back({{i * 1e12, i * 2.0000001e12 + i % 2}, 10.0 + i % 3, 100.0 * i + 300});
  CHECK(measured::fit_energy({"a", "b"}, rows).condition_number > 1e6);
}

TEST_CASE("unusable runs are refused with the reason") {
  CHECK_THROWS_WITH_AS(measured::fit_energy({"a", "b"}, intensity_sweep(2, 0, 1)),
                       doctest::Contains("2 runs for 3 constants"), Error);
  auto rows = intensity_sweep(6, 0, 1);
  rows[3].joules = 0;  // energy counters return 0 for short windows
  CHECK_THROWS_WITH_AS(measured::fit_energy({"a", "b"}, rows), doctest::Contains("run 3"), Error);
  rows = intensity_sweep(6, 0, 1);
  for (auto& row : rows) row.work[1] = 0;
  CHECK_THROWS_WITH_AS(measured::fit_energy({"a", "dram"}, rows), doctest::Contains("no run has any dram"), Error);
}
