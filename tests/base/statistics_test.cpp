// Intervals must cover what they claim: simulated with fixed seeds.
#include "pagoda/base/statistics.h"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

using namespace pagoda;
using namespace pagoda::base;

TEST_CASE("quantiles interpolate between order statistics") {
  const std::vector<double> x = {1, 2, 3, 4};
  CHECK(base::quantile(x, 0) == 1);
  CHECK(base::quantile(x, 0.5) == 2.5);
  CHECK(base::quantile(x, 1) == 4);
  CHECK(median(std::vector<double>{3, 1, 2}) == 2);
  CHECK(std::isnan(median({})));
}

TEST_CASE("too few samples have no interval") {
  // [min, max] of n samples covers the median with probability 1 - 2^(1-n): 0.9375 at 5, 0.96875 at 6.
  CHECK(!base::median_interval(std::vector<double>(5, 1.0)));
  CHECK(base::median_interval(std::vector<double>(6, 1.0)));
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
        const auto interval = base::median_interval(x).value();
        covered += interval[0] <= truth && truth <= interval[1];
      }
      CAPTURE(n);
      CAPTURE(shape);
      CHECK(covered > 0.93 * kRuns);
      CHECK(covered < 0.97 * kRuns);
    }
}

TEST_CASE("a series settles when its last windows agree") {
  std::vector<double> series;
  for (int i = 0; i < 10; ++i) series.push_back(100.0 - 10 * std::exp(-i));
  CHECK(!base::settled(std::span(series).first(4), 2, 0.01));
  CHECK(base::settled(series, 3, 0.01));
  CHECK(!base::settled(series, 6, 0.01));
}

TEST_CASE("contention shows in the upper tail") {
  CHECK(!summarize(std::vector<double>{100, 100, 101, 100, 99, 100}).contended());
  CHECK(summarize(std::vector<double>{60, 62, 61, 60, 100, 99}).contended());
}

TEST_CASE("groups that differ from each other widen the interval, so that two runs of new groups agree") {
  // Every group has its own offset of 1 %, its samples have noise of 0.1 %, as on a machine with neighbours.
  std::mt19937_64 random(11);
  std::normal_distribution<double> offset(0, 1), noise(0, 0.1);
  constexpr int kRuns = 2000;
  for (const int groups : {3, 4, 5, 6}) {
    const auto run = [&] {
      std::vector<std::vector<double>> x(static_cast<std::size_t>(groups));
      for (auto& group : x) {
        const double of_group = 100 + offset(random);
        for (int i = 0; i < 6; ++i) group.push_back(of_group + noise(random));
      }
      return x;
    };
    int covered = 0, pooled = 0, agree = 0;
    std::array<double, 2> before = grouped_interval(run()).value();
    for (int i = 0; i < kRuns; ++i) {
      const auto x = run();
      const auto interval = grouped_interval(x).value();
      std::vector<double> all;
      for (const auto& group : x) all.insert(all.end(), group.begin(), group.end());
      const auto narrow = base::median_interval(all).value();
      covered += interval[0] <= 100 && 100 <= interval[1];
      pooled += narrow[0] <= 100 && 100 <= narrow[1];
      agree += interval[0] <= before[1] && before[0] <= interval[1];
      before = interval;
    }
    CAPTURE(groups);
    CHECK(covered > 0.95 * kRuns);
    CHECK(agree > 0.97 * kRuns);
    CHECK(pooled < 0.90 * kRuns);  // ignoring the groups would claim 95 %
  }
}

TEST_CASE("groups that agree leave the interval of all samples; too few of them give none") {
  const std::vector<double> x = {100, 101, 99, 100, 100, 101, 99};
  const std::vector<std::vector<double>> same = {x, x, x};
  std::vector<double> all;
  for (const auto& group : same) all.insert(all.end(), group.begin(), group.end());
  CHECK(grouped_interval(same).value() == base::median_interval(all).value());
  CHECK(!grouped_interval(std::vector<std::vector<double>>{x}));
  CHECK(!grouped_interval(std::vector<std::vector<double>>{x, {}}));
  CHECK(!grouped_interval(std::vector<std::vector<double>>{{1, 2}, {3}}));
}

TEST_CASE("groups that differ by factors have no negative end, and values that are not rates no interval") {
  const std::vector<std::vector<double>> apart = {{100, 101, 99}, {300, 301, 299}};
  const auto interval = grouped_interval(apart).value();
  CHECK(interval[0] > 0);
  CHECK(interval[1] > 1000);  // two groups that differ by a factor of 3 say little
  CHECK(!grouped_interval(std::vector<std::vector<double>>{{-1, 1, 2}, {-3, -2, -1}}));
}
