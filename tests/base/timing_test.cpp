// The measuring loop and its statistics, on synthetic runs with known quantiles.
#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "pagoda/base/timing.h"

namespace pagoda {
namespace {

using Samples = std::vector<double>;

// Exponential(1) shifted by 1: quantile(p) = 1 - ln(1 - p); mean 2, standard deviation 1. In milliseconds.
double shifted_exponential(std::mt19937_64& random) {
  const double u = (static_cast<double>(random() >> 11) + 0.5) / 9007199254740992.0;
  return 1e-3 * (1 - std::log(u));
}

TEST_CASE("percentiles of a known distribution are found within their sampling error") {
  std::mt19937_64 random(1);
  Samples samples;
  for (int i = 0; i < 100000; ++i) samples.push_back(shifted_exponential(random));
  const base::Latency l = base::summarize_latency(samples, 0.01);
  // Standard error of a quantile: sqrt(p(1-p)/n) / density, with density e^-(x-1); five of them.
  const auto tolerance = [](double p) { return 5e-3 * std::sqrt(p * (1 - p) / 100000) / (1 - p); };
  CHECK(std::abs(l.p50 - 1e-3 * (1 + std::log(2.0))) < tolerance(0.5));
  CHECK(std::abs(l.p95 - 1e-3 * (1 + std::log(20.0))) < tolerance(0.95));
  CHECK(std::abs(l.p99 - 1e-3 * (1 + std::log(100.0))) < tolerance(0.99));
  CHECK(std::abs(l.mean - 2e-3) < 5e-3 / std::sqrt(1e5));
  CHECK(std::abs(l.std - 1e-3) < 2e-5);
  CHECK(l.min >= 1e-3);
  CHECK(l.min <= l.p50);
  CHECK(l.p99 <= l.max);
  REQUIRE(l.ci95);
  CHECK((*l.ci95)[0] < l.p50);
  CHECK(l.p50 < (*l.ci95)[1]);
  CHECK(l.converged);
  CHECK(l.samples.size() == base::kKeptSamples);
}

TEST_CASE("small sets are summarised exactly") {
  const base::Latency l = base::summarize_latency(Samples{3, 1, 2}, 0.01);
  CHECK(l.n == 3);
  CHECK(l.p50 == 2);
  CHECK(l.min == 1);
  CHECK(l.max == 3);
  CHECK(l.mean == 2);
  CHECK(l.std == 1);
  CHECK_FALSE(l.ci95);
  CHECK_FALSE(l.converged);
  CHECK(l.samples == Samples{3, 1, 2});
  CHECK(base::summarize_latency({}, 0.01).n == 0);
  CHECK(base::summarize_latency(Samples{4}, 0.01).std == 0);
}

// A callable whose run i takes `seconds(i)`, and which counts its runs and calls.
struct Machine {
  std::function<double(std::int64_t)> seconds;
  std::int64_t runs = 0, calls = 0;
  double total = 0;
  Samples operator()(std::int64_t n) {
    ++calls;
    Samples out;
    for (; n > 0; --n) out.push_back(seconds(runs++));
    for (const double s : out) total += s;
    return out;
  }
};

base::Timing time_machine(Machine& machine, const base::TimingOptions& options) {
  return base::time_runs([&](std::int64_t n) { return machine(n); }, options);
}

TEST_CASE("counted runs are exactly as many as asked for") {
  Machine machine{[](std::int64_t i) { return i < 7 ? 1.0 : 0.1; }};
  const base::Timing timing = time_machine(
      machine, {.budget_seconds = 0.01, .min_iterations = 5, .max_iterations = 5, .warmup_iterations = 7});
  CHECK(timing.warmup_iterations == 7);
  CHECK(timing.latency.n == 5);
  CHECK(machine.runs == 12);
  CHECK(timing.latency.max == doctest::Approx(0.1));
}

TEST_CASE("warm-up goes on until the runs settle, however long that is") {
  // 40 ms falling towards 10 ms over about 100 runs.
  Machine slow{[](std::int64_t i) { return 0.01 + 0.03 * std::exp(-static_cast<double>(i) / 30); }};
  Machine fast{[](std::int64_t i) { return i == 0 ? 1.0 : 0.01; }};
  const base::Timing a = time_machine(slow, {}), b = time_machine(fast, {});
  CHECK(a.settled);
  CHECK(b.settled);
  CHECK(a.warmup_iterations > 60);
  CHECK(b.warmup_iterations < 25);
  CHECK(a.latency.p50 == doctest::Approx(0.01).epsilon(0.12));
  CHECK(b.latency.p50 == doctest::Approx(0.01));
  CHECK(b.first_call_seconds == 1.0);
  CHECK(b.latency.max < 1);  // no statistic includes the first call
}

TEST_CASE("what never settles is measured after the time for warm-up, and says so") {
  Machine drifting{[](std::int64_t i) { return 0.01 * std::pow(1.02, static_cast<double>(i)); }};
  const base::Timing t = time_machine(drifting, {.budget_seconds = 1, .warmup_seconds = 1});
  CHECK_FALSE(t.settled);
  CHECK(t.warmup_seconds >= 1);
  CHECK(t.latency.n >= 10);
}

TEST_CASE("quiet runs stop early, noisy ones at the end of the budget") {
  Machine quiet{[](std::int64_t) { return 0.01; }};
  const base::Timing q = time_machine(quiet, {.budget_seconds = 10});
  CHECK(q.latency.converged);
  CHECK(q.latency.n >= 10);
  CHECK(q.latency.n < 40);

  std::mt19937_64 random(3);
  Machine noisy{[&](std::int64_t) { return 0.01 * (random() % 2 ? 1 : 3); }};
  const base::Timing n = time_machine(noisy, {.budget_seconds = 1});
  CHECK_FALSE(n.latency.converged);
  CHECK(n.latency.mean * static_cast<double>(n.latency.n) == doctest::Approx(1).epsilon(0.1));
}

TEST_CASE("there are at least min and at most max iterations") {
  Machine slow{[](std::int64_t) { return 5.0; }};
  CHECK(time_machine(slow, {.budget_seconds = 1, .warmup_seconds = 0, .min_iterations = 7}).latency.n == 7);
  std::mt19937_64 random(3);
  Machine noisy{[&](std::int64_t) { return 1e-6 * static_cast<double>(1 + random() % 7); }};
  CHECK(time_machine(noisy, {.half_width = 1e-9, .max_iterations = 1000}).latency.n == 1000);
}

TEST_CASE("deciding is rare: a chunk of short runs is asked for at once") {
  std::mt19937_64 random(5);
  Machine noisy{[&](std::int64_t) { return 1e-5 * static_cast<double>(1 + random() % 9); }};
  time_machine(noisy, {.budget_seconds = 2, .half_width = 1e-9});
  CHECK(noisy.runs / noisy.calls > 300);
}

TEST_CASE("a run that ends early keeps what it measured") {
  std::int64_t made = 0;
  const base::Timing t = base::time_runs(
      [&](std::int64_t n) {
        Samples out(static_cast<std::size_t>(std::min<std::int64_t>(n, 40 - made)),
                    0.01 * static_cast<double>(1 + made % 3));
        made += static_cast<std::int64_t>(out.size());
        return out;
      },
      {.half_width = 1e-9});
  CHECK(made == 40);
  CHECK(t.latency.n + t.warmup_iterations == 40);
  CHECK(base::time_runs([](std::int64_t) { return Samples(); }, {}).latency.n == 0);
}

}  // namespace
}  // namespace pagoda
