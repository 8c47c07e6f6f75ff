// The verdict on ERT's kernel over synthetic pairs: it must detect 1 %, and must not
// report a difference that is not there.
#include <doctest/doctest.h>

#include <random>

#include "pagoda/documents/ceilings.h"
#include "pagoda/lab/ert.h"

namespace {

using namespace pagoda;
using lab::judge;

// `points` points of `pairs` pairs. The true ratio is `ratio` at one point and `others` elsewhere. Both sides of a pair
// share a variation of 5 % (clocks, neighbours), and each side varies independently by `noise`.
documents::ErtComparison planted(std::mt19937_64& random, int points, int pairs, double ratio, double others,
                                 double noise) {
  std::normal_distribution<double> common(1, 0.05), own(1, noise);
  documents::ErtComparison comparison;
  for (int i = 0; i < points; ++i) {
    documents::ErtPoint point;
    point.scope = "core";
    point.level = i == 3 ? "l2" : "l1";
    point.flops_per_element = 1 << (i % 11);
    point.intensity = static_cast<double>(point.flops_per_element) / 16;
    point.working_set_bytes = 4096;
    point.kernel = "ours";
    for (int j = 0; j < pairs; ++j) {
      const double moment = 1e11 * common(random);
      point.pairs.push_back({moment * (i == 3 ? ratio : others) * own(random), moment * own(random)});
    }
    comparison.points.push_back(std::move(point));
  }
  return comparison;
}

int passed(int runs, int points, int pairs, double ratio, double others, double noise) {
  std::mt19937_64 random(17);
  int result = 0;
  for (int i = 0; i < runs; ++i) {
    documents::ErtComparison comparison = planted(random, points, pairs, ratio, others, noise);
    result += judge(comparison).passed;
  }
  return result;
}

}  // namespace

TEST_CASE("a kernel that is 1 % faster at one of 44 points is caught, and the point is named") {
  CHECK(passed(200, 44, 25, 1.01, 0.9, 0.003) <= 2);
  std::mt19937_64 random(1);
  documents::ErtComparison comparison = planted(random, 44, 25, 1.01, 0.9, 0.003);
  const documents::CeilingCheck check = judge(comparison);
  CHECK(!check.passed);
  CHECK(check.detail.find("l2 of a core at 8 FLOP per element") != std::string::npos);
  CHECK(comparison.points[3].ratio == doctest::Approx(1.01).epsilon(0.002));
  CHECK(comparison.points[3].interval.value()[0] > 1);
}

TEST_CASE("kernels that are exactly as fast as ours pass in 99 of 100 runs, although half of all ratios exceed 1") {
  CHECK(passed(400, 44, 25, 1, 1, 0.01) >= 392);  // 4 failures expected, 8 allowed
}

TEST_CASE("a kernel that is slower passes, and what the check cannot see is said") {
  std::mt19937_64 random(1);
  documents::ErtComparison comparison = planted(random, 44, 25, 0.97, 0.9, 0.02);
  const documents::CeilingCheck check = judge(comparison);
  CHECK(check.passed);
  CHECK(check.detail.find("closest at l2 of a core at 8 FLOP per element: 9") != std::string::npos);
  CHECK(check.detail.find("intervals up to +-") != std::string::npos);
}

TEST_CASE("too few pairs for the confidence fail the check, and so does no comparison at all") {
  std::mt19937_64 random(1);
  // 44 points at 99 %: each side of an interval may miss with 0.01/44 = 2.3e-4, and 12 pairs only reach 2^-12 = 2.4e-4.
  documents::ErtComparison twelve = planted(random, 44, 12, 0.5, 0.5, 0.001),
                           thirteen = planted(random, 44, 13, 0.5, 0.5, 0.001);
  CHECK(!judge(twelve).passed);
  CHECK(judge(twelve).detail.find("too few pairs") != std::string::npos);
  CHECK(judge(thirteen).passed);
  documents::ErtComparison none;
  CHECK(!judge(none).passed);
}

TEST_CASE("pairs and verdict survive the file") {
  std::mt19937_64 random(1);
  documents::CeilingsDocument document;
  document.kind = "cpu";
  document.ert = planted(random, 5, 20, 0.9, 0.8, 0.01);
  judge(*document.ert);
  const documents::CeilingsDocument again = documents::parse_ceilings(documents::write_ceilings(document), "text");
  REQUIRE(again.ert);
  REQUIRE(again.ert->points.size() == 5);
  CHECK(again.ert->confidence == document.ert->confidence);
  const documents::ErtPoint &a = document.ert->points[3], &b = again.ert->points[3];
  CHECK(b.level == "l2");
  CHECK(b.ratio == a.ratio);
  CHECK(b.interval.value() == a.interval.value());
  REQUIRE(b.pairs.size() == 20);
  CHECK(b.pairs[7][1] == doctest::Approx(a.pairs[7][1]).epsilon(1e-9));
}
