// Which rounds of --here count: those in which the host had the processors on one cache.
#include <doctest/doctest.h>

#include <deque>

#include "here.h"
#include "support/files.h"

namespace pagoda::tools {
namespace {

constexpr StudyRow kStudy[] = {{"a", "one"}, {"b", "two"}, {"c", "three"}};
constexpr HereEngine kEngine = {"made-up", "Made up", "", "ort", "cpu", nullptr, 2, 1, 1, nullptr, kStudy, {}, nullptr};

// A round of a model: its median time, and what a line took between its processors, in ns.
struct Round {
  const char* model;
  double seconds;
  std::vector<double> nanoseconds;
};

std::vector<documents::Result> results(const std::vector<Round>& rounds, const char* device = "cpu") {
  std::vector<documents::Result> list;
  for (const Round& round : rounds) {
    documents::Result& result = list.emplace_back();
    result.config = {{"model", std::string(round.model)}, {"batch", std::int64_t{1}}, {"device", std::string(device)}};
    base::Latency& latency = result.timing.emplace().latency;
    latency.p50 = latency.p95 = latency.min = round.seconds;
    for (const double each : round.nanoseconds) result.interference.handoff_seconds.push_back(1e-9 * each);
  }
  return list;
}

const std::vector<Round> kMixed = {{"a", 0.10, {25, 26}},   {"a", 0.16, {150, 160}},  // both
                                   {"b", 0.20, {26, 150}},  {"b", 0.30, {155, 155}},  // moved, apart
                                   {"c", 0.40, {26, 26}},   {"c", 0.44, {27, 27}}};   // one cache

}  // namespace

TEST_CASE("rounds with one cache count, those with two give the time apart") {
  const auto list = results(kMixed);
  const Rounds rounds = rounds_of(kEngine, list);
  const Placements placements = placements_of(rounds);
  CHECK(placements.is_of_one_cache);
  CHECK(placements.together == 3);
  CHECK(placements.apart == 2);
  CHECK(placements.apart_share() == 0.4);
  const HereRun a = run_of(kStudy[0], rounds.at(&kStudy[0]), placements);
  CHECK(a.seconds == 0.10);
  CHECK(a.apart_seconds == 0.16);
  const HereRun c = run_of(kStudy[2], rounds.at(&kStudy[2]), placements);
  CHECK(c.seconds == doctest::Approx(0.42));
  CHECK_FALSE(c.apart_seconds);
  // A run that was never measured with one cache is measured again; until then all of its rounds count.
  const auto lacking = runs_without_one_cache(rounds, placements);
  REQUIRE(lacking.size() == 1);
  CHECK(lacking.front() == &kStudy[1]);
  const HereRun b = run_of(kStudy[1], rounds.at(&kStudy[1]), placements);
  CHECK(b.seconds == 0.20);  // the other is over 1.25 times that
  CHECK_FALSE(b.apart_seconds);
  const auto notes = notes_of(rounds, placements, "here.runs");
  REQUIRE(notes.size() == 2);
  CHECK(test::contains(notes[0], "2 of 5 rounds ran while the host had the processors on different caches"));
  CHECK(test::contains(notes[1], "1 of 3 runs were disturbed"));
}

TEST_CASE("a machine whose processors hardly ever share a cache is calibrated as it is") {
  const auto list = results({{"a", 0.1, {90}}, {"a", 0.1, {25}}, {"b", 0.2, {90}}, {"b", 0.2, {91}}, {"c", 0.3, {90}}});
  const Rounds rounds = rounds_of(kEngine, list);
  const Placements placements = placements_of(rounds);
  CHECK_FALSE(placements.is_of_one_cache);
  CHECK(runs_without_one_cache(rounds, placements).empty());
  CHECK_FALSE(run_of(kStudy[0], rounds.at(&kStudy[0]), placements).apart_seconds);
}

TEST_CASE("placements are of runs on processors, and of runs that recorded them") {
  const auto gpu = results(kMixed, "cuda"), old = results({{"a", 0.1, {}}, {"b", 0.2, {}}});
  for (const auto* list : {&gpu, &old}) {
    const Rounds rounds = rounds_of(kEngine, *list);
    const Placements placements = placements_of(rounds);
    CHECK(placements.apart == 0);
    CHECK(placements.together == 0);
    CHECK(runs_without_one_cache(rounds, placements).empty());
  }
}

}  // namespace pagoda::tools
