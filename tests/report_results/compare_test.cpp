// Comparison of two sets: what is called slower when nothing changed, and when something did.
#include <doctest/doctest.h>

#include "pagoda/base/statistics.h"
#include "pagoda/lab/result_report.h"
#include "sample.h"

namespace pagoda::lab {
namespace {

using test::append;
using test::made;
using test::Made;
using test::Noise;

struct Trial {
  int configurations = 9;
  std::int64_t repeats = 3;
  double between = 0.01, within = 0.02, spikes = 0.05;
  double slower = 1;  // the first configuration of the new set
};

lab::ResultComparison compared(const Trial& study, std::uint64_t seed) {
  std::vector<documents::Result> base, now;
  Noise process(seed, study.between), run(seed + 1'000'000, study.within, study.spikes);
  for (int c = 0; c < study.configurations; ++c) {
    for (std::vector<documents::Result>* set : {&base, &now}) {
      const double factor = set == &now && c == 0 ? study.slower : 1;
      append(*set, made({.model = "m" + std::to_string(c % 3),
                         .batch = 1 + c / 3,
                         .repeats = study.repeats,
                         .process = [&] { return factor * process(); },
                         .run = [&] { return 0.01 * run(); }}));
    }
  }
  return compare_results(base, now);
}

// Upper limit for the observed share of events with `probability` in n trials: three standard deviations.
double most(double probability, int n) { return probability + 3 * std::sqrt(probability * (1 - probability) / n); }

int alarms(const Trial& study, int studies) {
  int count = 0;
  for (int i = 0; i < studies; ++i) count += compared(study, static_cast<std::uint64_t>(i)).regressed() ? 1 : 0;
  return count;
}

}  // namespace

TEST_CASE("equal distributions raise an alarm in at most the stated part of studies") {
  struct Row {
    std::string reason;
    Trial study;
  };
  // Without a tolerance, to show the level of the test itself.
  const Row rows[] = {
      {"three repeats: Welch's test", {.repeats = 3}},
      {"seven repeats: ranks", {.configurations = 4, .repeats = 7}},
      {"one process: blocks, no noise between processes", {.repeats = 1, .between = 0}},
      {"spikes in every fifth run", {.repeats = 3, .spikes = 0.2}},
  };
  constexpr int kStudies = 400;
  for (const Row& row : rows) {
    int count = 0;
    for (int i = 0; i < kStudies; ++i) {
      std::vector<documents::Result> base, now;
      Noise process(static_cast<std::uint64_t>(i), row.study.between),
          run(static_cast<std::uint64_t>(i) + 1'000'000, row.study.within, row.study.spikes);
      for (int c = 0; c < row.study.configurations; ++c)
        for (std::vector<documents::Result>* set : {&base, &now})
          append(*set, made({.model = "m" + std::to_string(c),
                             .repeats = row.study.repeats,
                             .samples = 40,
                             .process = [&] { return process(); },
                             .run = [&] { return 0.01 * run(); }}));
      count += compare_results(base, now, {.tolerance = 0}).regressed() ? 1 : 0;
    }
    CAPTURE(row.reason);
    CAPTURE(count);
    CHECK(static_cast<double>(count) / kStudies <= most(0.05, kStudies));
    MESSAGE(row.reason, ": ", count, " alarms in ", kStudies, " studies");
  }
}

TEST_CASE("with the tolerance, alarms are rarer still") { CHECK(alarms({}, 200) <= 4); }

TEST_CASE("a planted slowdown of 10 % is found among nine configurations, and no other") {
  int found = 0, others = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const lab::ResultComparison c = compared({.repeats = 5, .slower = 1.10}, seed);
    for (const lab::SpeedUp& row : c.rows) {
      if (row.verdict != lab::SpeedVerdict::Slower) continue;
      (row.name == "m0 torch batch=1 compile=eager device=cpu" ? found : others) += 1;
    }
  }
  CHECK(found >= 95);
  CHECK(others <= 5);
}

TEST_CASE("a slowdown within the tolerance is none, however sure") {
  std::vector<documents::Result> base = made({.repeats = 8, .run = Noise(1, 1e-4)}),
                                 now = made({.repeats = 8, .process = [] { return 1.01; }, .run = Noise(2, 1e-4)});
  const lab::ResultComparison c = compare_results(base, now);
  REQUIRE(c.rows.size() == 1);
  CHECK(*c.rows[0].p_slower < 0.001);
  CHECK(c.rows[0].verdict == lab::SpeedVerdict::Same);
  CHECK_FALSE(c.regressed());
  CHECK(compare_results(base, now, {.tolerance = 0.005}).regressed());
}

TEST_CASE("only an interval within the tolerance is called the same") {
  struct Row {
    std::string reason;
    double noise, factor;
    SpeedVerdict verdict;
  };
  const Row rows[] = {
      {"a narrow interval around 1", 0.001, 1, SpeedVerdict::Same},
      {"an interval wider than the tolerance", 0.1, 1, SpeedVerdict::CannotTell},
      {"a large ratio with a wider interval", 3, 1 / 90.0, SpeedVerdict::CannotTell},
  };
  for (const Row& row : rows) {
    // Three repeats, so far apart that no test is significant.
    const auto spread = [&](double factor) {
      return [factor, noise = row.noise, i = 0]() mutable { return factor * std::exp(noise * (i++ % 3 - 1)); };
    };
    const lab::ResultComparison c =
        compare_results(made({.repeats = 3, .process = spread(1), .run = Noise(1, 1e-6)}),
                        made({.repeats = 3, .process = spread(row.factor), .run = Noise(2, 1e-6)}));
    CAPTURE(row.reason);
    REQUIRE(c.rows.size() == 1);
    CAPTURE(c.rows[0].low.value_or(0));
    CAPTURE(c.rows[0].high.value_or(0));
    CHECK(c.rows[0].verdict == row.verdict);
    CHECK(c.tested == 1);
  }
}

TEST_CASE("intervals hold the true ratio in about 95 of 100 studies") {
  for (const std::int64_t repeats : {3, 7}) {
    int held = 0, mean_held = 0;
    constexpr int kStudies = 300;
    for (int i = 0; i < kStudies; ++i) {
      const lab::ResultComparison c =
          compared({.configurations = 3, .repeats = repeats, .slower = 1.2}, static_cast<std::uint64_t>(i) + 77);
      for (const lab::SpeedUp& row : c.rows)
        if (row.model == "m0") held += *row.low <= 1 / 1.2 && 1 / 1.2 <= *row.high ? 1 : 0;
      const double truth = std::pow(1 / 1.2, 1.0 / 3);
      mean_held += *c.geomean.low <= truth && truth <= *c.geomean.high ? 1 : 0;
    }
    CAPTURE(repeats);
    CHECK(held >= 0.95 * kStudies - 3 * std::sqrt(0.05 * 0.95 * kStudies));
    CHECK(mean_held >= 0.95 * kStudies - 3 * std::sqrt(0.05 * 0.95 * kStudies));
  }
}

TEST_CASE("what no longer runs is a regression, and is said with its reason") {
  std::vector<documents::Result> base = made({}), now = made({});
  now[0].status = documents::ResultStatus::OutOfMemory;
  now[0].reason = "held too much";
  const lab::ResultComparison c = compare_results(base, now);
  REQUIRE(c.broken.size() == 1);
  CHECK(c.broken[0] == "resnet50 torch batch=1 compile=eager device=cpu: out_of_memory: held too much");
  CHECK(c.regressed());
  CHECK(compare_results(now, base).repaired.size() == 1);
  CHECK_FALSE(compare_results(now, base).regressed());
}

TEST_CASE("two parts of one set are compared over an axis that is left out") {
  std::vector<documents::Result> eager = made({.repeats = 4, .run = Noise(1, 0.01)}),
                                 inductor = made({.compile = "inductor",
                                                  .repeats = 4,
                                                  .run = [noise = Noise(2, 0.01)]() mutable { return 0.5 * noise(); }});
  CHECK(compare_results(eager, inductor).rows.empty());
  const lab::ResultComparison c = compare_results(eager, inductor, {.without = {"compile"}});
  REQUIRE(c.rows.size() == 1);
  CHECK(*c.rows[0].ratio == doctest::Approx(2).epsilon(0.02));
  CHECK(c.rows[0].verdict == lab::SpeedVerdict::Faster);
}

TEST_CASE("a model counts once in the mean over models") {
  std::vector<documents::Result> base, now;
  for (std::int64_t batch = 1; batch <= 9; ++batch) {
    append(base, made({.model = "a", .batch = batch}));
    append(now, made({.model = "a", .batch = batch, .process = [] { return 0.25; }}));
  }
  append(base, made({.model = "b"}));
  append(now, made({.model = "b"}));
  CHECK(compare_results(base, now).geomean.ratio == doctest::Approx(2));  // √(4·1)
}

TEST_CASE("runs at different shapes are not compared, whatever their settings say") {
  std::vector<documents::Result> base = made({.repeats = 3}), now = made({.repeats = 3});
  for (documents::Result& r : base) r.inputs = {{.name = "x", .type = "float32", .shape = {1, 3, 1, 1}}};
  CHECK(compare_results(base, now).rows.size() == 1);  // one side does not know its shapes
  for (documents::Result& r : now) r.inputs = {{.name = "x", .type = "float32", .shape = {1, 3, 224, 224}}};
  const ResultComparison comparison = compare_results(base, now);
  CHECK(comparison.rows.empty());
  REQUIRE(comparison.only_base.size() == 1);
  REQUIRE(comparison.only_new.size() == 1);
  CHECK(comparison.only_base[0].ends_with(" at x:float32[1,3,1,1]"));
  CHECK(comparison.only_new[0].ends_with(" at x:float32[1,3,224,224]"));
}

TEST_CASE("too few measurements cannot be told") {
  std::vector<documents::Result> base = made({.samples = 1}), now = made({.samples = 1, .process = [] { return 3.0; }});
  const lab::ResultComparison c = compare_results(base, now);
  CHECK(c.rows.at(0).verdict == lab::SpeedVerdict::CannotTell);
  CHECK(*c.rows[0].ratio == doctest::Approx(1 / 3.0));
  CHECK_FALSE(c.rows[0].low.has_value());
}

TEST_CASE("tails of ranks and of Student's distribution are those of tables") {
  CHECK(base::rank_sum_tail(3, 3, 9) == doctest::Approx(0.05));
  CHECK(base::rank_sum_tail(4, 5, 18) == doctest::Approx(4.0 / 126));  // 1 + 1 + 2 of 126 orders
  CHECK(base::rank_sum_resolution(5, 5) == doctest::Approx(1.0 / 252));
  struct Row {
    double t, degrees, tail;
  };
  const Row rows[] = {
      {0, 3, 0.5}, {2.776445, 4, 0.025}, {1.812461, 10, 0.05}, {-2.228139, 10, 0.975}, {63.65674, 1, 0.005}};
  for (const Row& row : rows) {
    CHECK(base::student_tail(row.t, row.degrees) == doctest::Approx(row.tail).epsilon(1e-5));
    CHECK(base::student_quantile(1 - row.tail, row.degrees) == doctest::Approx(row.t).epsilon(1e-5));
  }
}

}  // namespace pagoda::lab
