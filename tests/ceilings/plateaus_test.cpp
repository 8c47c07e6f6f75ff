// Planted memory hierarchies: levels must come back at their rates, and every planted doubt must be reported.
#include "pagoda/lab/plateaus.h"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <random>

namespace {

using namespace pagoda;
using namespace pagoda::lab;
using namespace pagoda::lab;

constexpr double kKiB = 1024, kMiB = 1024 * 1024;
const std::vector<lab::KnownLevel> kPlateauLevels = {
    {"l1", 48 * kKiB}, {"l2", 1 * kMiB}, {"l3", 32 * kMiB}, {"dram", {}}};

// A sweep of `rate` over sizes in a ratio of 1.15, with noise of 1 %.
std::vector<lab::WorkingSetPoint> sweep(const std::function<double(double)>& rate, double to = 512 * kMiB) {
  std::mt19937_64 random(3);
  std::normal_distribution<double> noise(1, 0.01);
  std::vector<lab::WorkingSetPoint> points;
  for (double bytes = 4 * kKiB; bytes < to; bytes *= 1.15) points.push_back({bytes, rate(bytes) * noise(random)});
  return points;
}

// Rates of levels, blended where a working set straddles a capacity: the part that fits runs at the inner rate.
double hierarchy(double bytes, double l1, double l2, double l3, double dram) {
  const double capacity[] = {48 * kKiB, 1 * kMiB, 32 * kMiB};
  const double rates[] = {l1, l2, l3, dram};
  for (int i = 0; i < 3; ++i) {
    if (bytes <= capacity[i]) return rates[i];
    const double share = 1 - (bytes - capacity[i]) / (0.3 * capacity[i]);
    if (share > 0) return 1 / (share / rates[i] + (1 - share) / rates[i + 1]);
  }
  return dram;
}

}  // namespace

TEST_CASE("planted plateaus are found at their rates and without doubts") {
  const auto found =
      lab::find_plateaus(sweep([](double b) { return hierarchy(b, 500e9, 220e9, 108e9, 31e9); }), kPlateauLevels);
  REQUIRE(found.size() == 4);
  const double rates[] = {500e9, 220e9, 108e9, 31e9};
  for (std::size_t i = 0; i < 4; ++i) {
    CAPTURE(found[i].level);
    CAPTURE(found[i].why);
    CHECK(found[i].level == kPlateauLevels[i].level);
    CHECK(found[i].bytes_per_second == doctest::Approx(rates[i]).epsilon(0.01));
    CHECK(!found[i].ambiguous);
    CHECK(found[i].points >= 5);
  }
}

TEST_CASE("a spurious plateau makes its level ambiguous and leaves the names of the others alone") {
  const auto found = lab::find_plateaus(sweep([](double b) {
                                               const double rate = hierarchy(b, 500e9, 220e9, 108e9, 31e9);
                                               return b > 4 * kMiB && b < 10 * kMiB ? 0.8 * rate : rate;
                                             }),
                                             kPlateauLevels);
  REQUIRE(found.size() == 4);
  CHECK(found[2].level == "l3");
  CHECK(found[2].ambiguous);
  CHECK(found[2].why.find("inside it") != std::string::npos);
  CHECK(found[3].level == "dram");
  CHECK(!found[3].ambiguous);
  CHECK(!found[1].ambiguous);
}

TEST_CASE("prefetchers that make a level faster from some size on, and edges that set in early, raise no doubt") {
  // As seen on a Zen 5 core: L2 at 185 GB/s up to 350 KiB, 240 GB/s from there, falling from 700 KiB on; L3 at 100 GB/s
  // up to 4 MiB, 118 GB/s beyond, falling from 14 MiB on.
  const auto found = lab::find_plateaus(sweep([](double b) {
                                               if (b > 350 * kKiB && b <= 690 * kKiB) return 240e9;
                                               if (b > 690 * kKiB && b <= 1 * kMiB) return 190e9;
                                               if (b > 4.2 * kMiB && b <= 14 * kMiB) return 118e9;
                                               if (b > 14 * kMiB && b <= 32 * kMiB) return 106e9;
                                               return hierarchy(b, 490e9, 185e9, 100e9, 44e9);
                                             }),
                                             kPlateauLevels);
  REQUIRE(found.size() == 4);
  for (const lab::Plateau& p : found) {
    CAPTURE(p.level);
    CHECK(p.why == "");
  }
}

TEST_CASE("a cache that does not end where its capacity says is ambiguous") {
  // Only half of the L2 cache is visible: an edge at 0.5 MiB, none near 1 MiB.
  const auto found = lab::find_plateaus(
      sweep([](double b) {
        return b <= 48 * kKiB ? 500e9 : b <= 0.45 * kMiB ? 220e9 : b <= 32 * kMiB ? 108e9 : 31e9;
      }),
      kPlateauLevels);
  REQUIRE(found.size() == 4);
  CHECK(found[1].ambiguous);
  CHECK(found[2].ambiguous);
  CHECK(!found[0].ambiguous);
}

TEST_CASE("two levels of one speed cannot be told apart") {
  const auto found =
      lab::find_plateaus(sweep([](double b) { return hierarchy(b, 500e9, 220e9, 31e9, 31e9); }), kPlateauLevels);
  REQUIRE(found.size() == 4);
  CHECK(found[2].ambiguous);
  CHECK(found[3].ambiguous);
  CHECK(found[3].why.find("no edge near 32 MiB") != std::string::npos);
}

TEST_CASE("a level of which the sweep holds less than five points is not reported") {
  const auto found = lab::find_plateaus(
      sweep([](double b) { return hierarchy(b, 500e9, 220e9, 108e9, 31e9); }, 40 * kMiB), kPlateauLevels);
  REQUIRE(found.size() == 3);
  CHECK(found.back().level == "l3");
  CHECK(lab::find_plateaus({}, kPlateauLevels).empty());
}

TEST_CASE("the fit finds steps, not noise") {
  std::mt19937_64 random(5);
  std::normal_distribution<double> noise(0, 0.01);
  std::vector<double> values;
  for (int i = 0; i < 60; ++i) values.push_back((i < 20 ? 0.0 : i < 45 ? -0.5 : -1.5) + noise(random));
  CHECK(change_points(values) == std::vector<std::size_t>{0, 20, 45});
  for (double& v : values) v = noise(random);
  CHECK(change_points(values) == std::vector<std::size_t>{0});
  CHECK(change_points(std::vector<double>{1}) == std::vector<std::size_t>{0});
}
