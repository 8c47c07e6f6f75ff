// The measurement protocol on synthetic machines with known rates and a clock of their own.
#include "protocol.h"

#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <utility>

namespace {

using namespace pagoda::tools::ceilings;

struct Machine {
  double now = 0;
  std::mt19937_64 random{3};
  std::function<double()> clock() {
    return [this] { return now; };
  }
  // A configuration with a true rate, a relative noise, and a share of samples that another thread disturbs.
  Candidate candidate(const char* name, double rate, double noise, double disturbed = 0,
                      std::uint32_t how = kPreempted) {
    return {name, {{"name", std::string(name)}}, [=, this](double seconds) {
              now += seconds;
              Sample s;
              s.seconds = seconds;
              s.clock_hz = 1e9;
              s.rate = rate * std::normal_distribution<double>(1, noise)(random);
              if (std::uniform_real_distribution<double>(0, 1)(random) < disturbed) {
                s.disturbances = how;
                s.rate *= 0.5;
              }
              return s;
            }};
  }
};

Experiment experiment(const char* id, std::vector<Candidate> candidates) {
  Experiment e;
  e.ceiling.id = id;
  e.ceiling.unit = "FLOP/s";
  e.ceiling.units = 2;
  e.candidates = std::move(candidates);
  return e;
}

Plan plan() {
  Plan p;
  p.sample_seconds = 0.1;
  p.warm_up_seconds = 1;
  return p;
}

pagoda::documents::Ceiling run_one(Machine& machine, Experiment e, const Plan& p = plan()) {
  std::vector<Experiment> list;
  list.push_back(std::move(e));
  return measure(list, p, machine.clock(), nullptr).ceilings.front();
}

}  // namespace

TEST_CASE("a quiet machine converges on its rate, and says per clock and unit") {
  Machine m;
  const pagoda::documents::Ceiling c = run_one(m, experiment("a", {m.candidate("k", 3.2e10, 0.002)}));
  CHECK(c.status == pagoda::documents::CeilingStatus::Ok);
  CHECK(c.converged);
  CHECK(c.value.value() == doctest::Approx(3.2e10).epsilon(0.005));
  CHECK((*c.ci95)[0] <= 3.2e10 * 1.003);
  CHECK(c.n >= 15);
  CHECK(c.per_clock_unit.value() == doctest::Approx(16).epsilon(0.01));
  CHECK(c.kernel == "k");
}

TEST_CASE("a noisy machine ends with converged false, not with a pretty number") {
  Machine m;
  const pagoda::documents::Ceiling c = run_one(m, experiment("a", {m.candidate("k", 1e9, 0.2)}));
  CHECK(!c.converged);
  CHECK((c.status == pagoda::documents::CeilingStatus::NotConverged ||
         c.status == pagoda::documents::CeilingStatus::Contended));
  CHECK(c.n == 60);
}

TEST_CASE("disturbed samples are dropped and counted") {
  Machine m;
  const pagoda::documents::Ceiling c = run_one(m, experiment("a", {m.candidate("k", 1e9, 0.002, 0.3)}));
  CHECK(c.status == pagoda::documents::CeilingStatus::Ok);
  CHECK(c.dropped > 0);
  CHECK(c.value.value() == doctest::Approx(1e9).epsilon(0.005));
}

TEST_CASE("where everything is disturbed the samples stay, and the status says so") {
  Machine m;
  const pagoda::documents::Ceiling c = run_one(m, experiment("a", {m.candidate("k", 1e9, 0.0001, 1)}));
  CHECK(c.status == pagoda::documents::CeilingStatus::Contended);
  CHECK(!c.converged);
  CHECK(c.dropped == 0);
}

TEST_CASE("throttle reasons: a power cap is flagged and kept, heat invalidates") {
  Machine m;
  const pagoda::documents::Ceiling capped = run_one(m, experiment("a", {m.candidate("k", 1e9, 0.001, 1, kPowerCap)}));
  CHECK(capped.status == pagoda::documents::CeilingStatus::Ok);
  CHECK(capped.throttle == std::vector<std::string>{"sw_power_cap"});
  for (const std::uint32_t reason : {kThermal, kHwSlowdown}) {
    const pagoda::documents::Ceiling hot = run_one(m, experiment("a", {m.candidate("k", 1e9, 0.001, 1, reason)}));
    CHECK(hot.status == pagoda::documents::CeilingStatus::Throttled);
    CHECK(hot.throttle == names(reason));
  }
}

TEST_CASE("the best configuration is found and reported without bias") {
  Machine m;
  std::vector<Candidate> candidates;
  for (int i = 0; i < 12; ++i) candidates.push_back(m.candidate("same", 1e9, 0.01));
  candidates.push_back(m.candidate("best", 1.1e9, 0.01));
  const pagoda::documents::Ceiling c = run_one(m, experiment("a", candidates));
  CHECK(std::get<std::string>(c.config.at("name")) == "best");
  CHECK(c.value.value() == doctest::Approx(1.1e9).epsilon(0.01));
}

TEST_CASE(
    "a configuration whose first run is slow, its memory not yet in the caches, is still chosen where it is the best") {
  Machine m;
  const auto cold_at_first = [&](const char* name, double rate) {
    Candidate c = m.candidate(name, rate, 0.001);
    return Candidate{c.name, c.config, [run = c.run, first = true](double seconds) mutable {
                       Sample s = run(seconds);
                       if (std::exchange(first, false)) s.rate *= 0.05;
                       return s;
                     }};
  };
  Plan p = plan();
  p.choose_samples = 2;
  // The warm-up runs only the first configuration, so the others would start cold.
  const pagoda::documents::Ceiling c =
      run_one(m, experiment("a", {cold_at_first("warm", 1e9), cold_at_first("best", 1.25e9)}), p);
  CHECK(c.kernel == "best");
}

TEST_CASE("of latencies the smallest is the best") {
  Machine m;
  Experiment e = experiment("launch", {m.candidate("slow", 3e-6, 0.001), m.candidate("fast", 2e-6, 0.001)});
  e.ceiling.kind = pagoda::documents::CeilingKind::Latency;
  CHECK(run_one(m, e).kernel == "fast");
}

TEST_CASE("impossible values and wrong results have no value") {
  Machine m;
  Experiment e = experiment("a", {m.candidate("k", 3.2e10, 0.001)});
  e.theory = [](pagoda::documents::Ceiling& c) { c.theory.observed_clock = 3.0e10; };
  pagoda::documents::Ceiling c = run_one(m, e);
  CHECK(c.status == pagoda::documents::CeilingStatus::Impossible);
  CHECK(!c.value);
  CHECK(c.median);
  e.theory = nullptr;
  e.verify = [] { return Verdict{false, "lane 3 is 4, must be 5"}; };
  c = run_one(m, e);
  CHECK(c.status == pagoda::documents::CeilingStatus::WrongResult);
  CHECK(c.note == "lane 3 is 4, must be 5");
  CHECK(!c.value);
}

TEST_CASE("the order is random, repeatable by its seed, and last visits are compared with first ones") {
  Machine m;
  double rate = 1e9;
  std::vector<Experiment> list;
  for (const char* id : {"a", "b", "c", "d", "e", "f"})
    list.push_back(experiment(id, {{id, {}, [&](double seconds) {
                                      m.now += seconds;
                                      rate *= 0.9995;  // the machine heats up
                                      Sample s;
                                      s.rate = rate;
                                      s.seconds = seconds;
                                      return s;
                                    }}}));
  const Measured first = measure(list, plan(), m.clock(), nullptr);
  REQUIRE(first.checks.size() == 1);
  CHECK(first.checks[0].name == "drift");
  CHECK(!first.checks[0].passed);
  const Measured again = measure(list, plan(), m.clock(), nullptr);
  CHECK(again.order == first.order);
  CHECK(first.order != std::vector<std::size_t>{0, 1, 2, 3, 4, 5});
}

TEST_CASE("a budget is kept, shared by all experiments, and progress tells the time left") {
  Machine m;
  std::vector<Experiment> list;
  for (int i = 0; i < 10; ++i)
    list.push_back(experiment("x", {m.candidate("k", 1e9, 0.2), m.candidate("l", 1e9, 0.2)}));
  Plan p = plan();
  p.budget_seconds = 20;
  std::vector<double> left;
  measure(list, p, m.clock(), [&](const Progress& progress) { left.push_back(progress.seconds_left); });
  CHECK(m.now < 26);
  CHECK(m.now > 15);
  CHECK(left.size() == 40);  // 4 visits each
  CHECK(left.front() > left[35]);
}

TEST_CASE("loads that heat are sampled after a soak, one after another, so that one soak a round serves all") {
  Machine m;
  // A chip that runs a quarter faster until it has carried this load for 4 s; other loads let it cool down.
  double hot_since = -1, fast_samples = 0;
  std::vector<std::string> runs;
  const auto load = [&](const std::string& id, bool heats) {
    Experiment e = experiment(id.c_str(), {{id, {}, [&, id, heats](double seconds) {
                                              if (!heats) hot_since = -1;
                                              if (heats && hot_since < 0) hot_since = m.now;
                                              if (runs.empty() || runs.back() != id) runs.push_back(id);
                                              const bool fast = heats && m.now - hot_since < 4;
                                              fast_samples += fast;
                                              m.now += seconds;
                                              return Sample{.rate = fast ? 1.25e9 : 1e9, .seconds = seconds};
                                            }}});
    e.heats = heats;
    return e;
  };
  std::vector<Experiment> list;
  for (const char* id : {"hot a", "cool b", "hot c", "cool d", "hot e", "cool f"})
    list.push_back(load(id, id[0] == 'h'));
  Plan p = plan();
  p.soak_seconds = 5;
  const Measured measured = measure(list, p, m.clock(), nullptr);
  for (const pagoda::documents::Ceiling& c : measured.ceilings) {
    CAPTURE(c.id);
    CHECK(c.max.value() == 1e9);  // not one sample of the fast start
    CHECK(c.config.contains("soak_seconds") == (c.id[0] == 'h'));
  }
  CHECK(fast_samples > 0);
  CHECK(runs.size() == 6 * 4);  // visits: neighbours belong to different experiments
  for (std::size_t i = 0; i + 6 <= runs.size(); i += 6)
    for (std::size_t k = 0; k < 6; ++k) CHECK((runs[i + k][0] == 'h') == (k >= 3));
  CHECK(m.now < 4 * 5 + 40);  // one soak per round, not per visit
  CHECK(budgeted(p, 6, 60, 1).soak_seconds == 3);
  CHECK(budgeted(p, 6, 170, 1).soak_seconds == 5);
}

TEST_CASE("a small budget shortens the samples of a long plan, and no other's") {
  const Plan full{.sample_seconds = 0.1, .visits = 6, .min_samples = 24, .budget_seconds = 600, .seconds_each = 12};
  CHECK(budgeted(full, 10, std::nullopt, 7).budget_seconds == 120);
  CHECK(budgeted(full, 90, std::nullopt, 7).sample_seconds == 0.1);
  CHECK(budgeted(full, 90, 600, 7).sample_seconds == 0.1);
  CHECK(budgeted(full, 90, 0.5, 7).sample_seconds == 1e-3);
  const Plan short_one = budgeted(full, 90, 60, 7);
  CHECK(short_one.budget_seconds == 60);
  Machine m;
  std::vector<Experiment> list;
  for (int i = 0; i < 90; ++i)
    list.push_back(experiment("e", {m.candidate("a", 1e9, 0.03), m.candidate("b", 2e9, 0.03)}));
  const double start = m.now;
  measure(list, short_one, m.clock(), nullptr);
  CHECK(m.now - start < 60 + short_one.sample_seconds);
}

TEST_CASE("what differs between visits enters the interval, however narrow each visit is") {
  Machine m;
  double offset = 0;
  std::normal_distribution<double> noise(0, 0.01);
  Experiment e = experiment("a", {{"k", {}, [&](double seconds) {
                                     m.now += seconds;
                                     Sample s;
                                     s.seconds = seconds;
                                     s.rate = 1e9 * (1 + offset);
                                     return s;
                                   }}});
  e.prepare = [&] { offset = noise(m.random); };  // memory is placed elsewhere each time
  const pagoda::documents::Ceiling c = run_one(m, e);
  CHECK(!c.converged);
  CHECK(c.status == pagoda::documents::CeilingStatus::NotConverged);
  CHECK((*c.ci95)[1] - (*c.ci95)[0] > 0.01 * *c.value);
  CHECK(std::get<std::int64_t>(c.config.at("visits")) == 4);
}

TEST_CASE("an experiment that fails is unavailable with its reason, and the others go on") {
  Machine m;
  std::vector<Experiment> list;
  list.push_back(experiment("good", {m.candidate("k", 1e9, 0.001)}));
  list.push_back(experiment("bad", {{"k", {}, [](double) -> Sample { throw std::runtime_error("no memory left"); }}}));
  list.push_back(experiment("fine", {m.candidate("k", 2e9, 0.001)}));
  const Measured measured = measure(list, plan(), m.clock(), nullptr);
  CHECK(measured.lost.empty());
  CHECK(measured.ceilings[0].status == pagoda::documents::CeilingStatus::Ok);
  CHECK(measured.ceilings[1].status == pagoda::documents::CeilingStatus::Unavailable);
  CHECK(measured.ceilings[1].note == "no memory left");
  CHECK(!measured.ceilings[1].value);
  CHECK(measured.ceilings[2].status == pagoda::documents::CeilingStatus::Ok);
}

TEST_CASE("a lost device ends the run, and keeps what was measured before") {
  Machine m;
  int calls = 0;
  std::vector<Experiment> list;
  for (int i = 0; i < 6; ++i) list.push_back(experiment("good", {m.candidate("k", 1e9, 0.001)}));
  list.push_back(experiment("hangs", {{"k", {}, [&](double seconds) {
                                         m.now += seconds;
                                         if (++calls > 30) throw DeviceLost("k: still running after 20 s");
                                         Sample s;
                                         s.rate = 1;
                                         s.seconds = seconds;
                                         return s;
                                       }}}));
  const Measured measured = measure(list, plan(), m.clock(), nullptr);
  CHECK(measured.lost == "k: still running after 20 s");
  CHECK(measured.ceilings[6].status == pagoda::documents::CeilingStatus::Unavailable);
  CHECK_FALSE(measured.ceilings[6].pending);  // it had its turn
  for (int i = 0; i < 6; ++i) CHECK(measured.ceilings[static_cast<std::size_t>(i)].value.has_value());
}

TEST_CASE("what a lost device left unmeasured is pending, the one that took it is not") {
  Machine m;
  std::vector<Experiment> list;
  list.push_back(experiment("hangs", {{"k", {}, [](double) -> Sample { throw DeviceLost("k: failed"); }}}));
  for (int i = 0; i < 6; ++i) list.push_back(experiment("good", {m.candidate("k", 1e9, 0.001)}));
  const Measured measured = measure(list, plan(), m.clock(), nullptr);
  CHECK_FALSE(measured.ceilings[0].pending);
  std::size_t pending = 0;
  for (const pagoda::documents::Ceiling& c : measured.ceilings) {
    pending += c.pending;
    CHECK_FALSE((c.pending && c.value.has_value()));
  }
  CHECK(pending > 0);
}
