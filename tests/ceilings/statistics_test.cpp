// Intervals must cover what they claim, and a choice must not be biased upwards: both by simulation with fixed seeds.
#include "pagoda/statistics.h"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

using namespace pagoda;

TEST_CASE("quantiles interpolate between order statistics") {
  const std::vector<double> x = {1, 2, 3, 4};
  CHECK(quantile(x, 0) == 1);
  CHECK(quantile(x, 0.5) == 2.5);
  CHECK(quantile(x, 1) == 4);
  CHECK(median(std::vector<double>{3, 1, 2}) == 2);
  CHECK(std::isnan(median({})));
}

TEST_CASE("too few samples have no interval") {
  // [min, max] of n samples covers with 1 - 2^(1-n): 0.9375 at 5, 0.96875 at 6.
  CHECK(!median_interval(std::vector<double>(5, 1.0)));
  CHECK(median_interval(std::vector<double>(6, 1.0)));
}

TEST_CASE("the interval of the median covers it in 93 to 97 of 100 runs, whatever the distribution") {
  std::mt19937_64 random(42);
  std::normal_distribution<double> normal(100, 1);
  std::exponential_distribution<double> exponential(1);  // median ln 2: disturbances only slow down
  std::uniform_real_distribution<double> uniform(0, 1);
  for (const int n : {10, 15, 20, 31, 60})
    for (int shape = 0; shape < 3; ++shape) {
      const double truth = shape == 0 ? 100 : shape == 1 ? std::log(2.0) : 0.5;
      int covered = 0;
      constexpr int kRuns = 4000;
      for (int run = 0; run < kRuns; ++run) {
        std::vector<double> x;
        for (int i = 0; i < n; ++i)
          x.push_back(shape == 0 ? normal(random) : shape == 1 ? exponential(random) : uniform(random));
        const auto interval = median_interval(x).value();
        covered += interval[0] <= truth && truth <= interval[1];
      }
      CAPTURE(n);
      CAPTURE(shape);
      CHECK(covered > 0.93 * kRuns);
      CHECK(covered < 0.97 * kRuns);
    }
}

TEST_CASE("choosing on one half and reporting on the other is not biased upwards; the largest value is") {
  std::mt19937_64 random(7);
  std::normal_distribution<double> noise(100, 2);  // 20 configurations that are all equally good
  double reported = 0, chosen = 0, largest = 0;
  constexpr int kRuns = 500;
  for (int run = 0; run < kRuns; ++run) {
    std::vector<std::vector<double>> candidates(20);
    double most = 0;
    for (auto& samples : candidates)
      for (int i = 0; i < 20; ++i) {
        samples.push_back(noise(random));
        most = std::max(most, samples.back());
      }
    const Choice best = choose(candidates).value();
    reported += best.reported.median / kRuns;
    chosen += best.chosen_on.median / kRuns;
    largest += most / kRuns;
  }
  CHECK(reported == doctest::Approx(100).epsilon(0.001));
  CHECK(chosen > 101);
  CHECK(largest > 105);
}

TEST_CASE("the better configuration is chosen, in either direction") {
  const std::vector<std::vector<double>> candidates = {{10, 10, 10, 10}, {12, 11, 12, 11}, {1}};
  CHECK(choose(candidates)->index == 1);
  CHECK(choose(candidates)->reported.median == 11);
  CHECK(choose(candidates, true)->index == 0);
  CHECK(!choose({{1}, {}}));
}

TEST_CASE("a series settles when its last windows agree") {
  std::vector<double> series;
  for (int i = 0; i < 10; ++i) series.push_back(100.0 - 10 * std::exp(-i));
  CHECK(!settled(std::span(series).first(4), 2, 0.01));
  CHECK(settled(series, 3, 0.01));
  CHECK(!settled(series, 6, 0.01));
}

TEST_CASE("contention shows in the upper tail") {
  CHECK(!summarize(std::vector<double>{100, 100, 101, 100, 99, 100}).contended());
  CHECK(summarize(std::vector<double>{60, 62, 61, 60, 100, 99}).contended());
}

TEST_CASE("drift counts when the intervals are apart by more than the tolerance") {
  const std::vector<double> a = {100, 101, 99, 100, 100, 101, 99}, b = {97, 96, 97, 98, 97, 97, 96};
  CHECK(drift(a, a, 0.01).significant == false);
  CHECK(drift(a, b, 0.01).significant);
  CHECK(drift(a, b, 0.01).relative == doctest::Approx(-0.03));
  CHECK(!drift(a, b, 0.05).significant);
}

TEST_CASE("the trend of a series ignores outliers") {
  std::vector<double> falling;
  for (int i = 0; i < 20; ++i) falling.push_back(100 - 0.5 * i);
  falling[7] = 10;
  CHECK(relative_trend(falling) == doctest::Approx(-0.105).epsilon(0.02));
}
