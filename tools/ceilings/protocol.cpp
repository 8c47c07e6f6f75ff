// The protocol of a measurement.
#include "protocol.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <random>

#include "pagoda/statistics.h"
#include "pagoda/theory.h"

namespace ceilings {
namespace {

using pagoda::Ceiling;
using pagoda::CeilingStatus;

bool usable(const Sample& s) { return (s.disturbances & kUselessSample) == 0 && s.rate > 0; }

std::vector<double> rates(const std::vector<Sample>& samples) {
  std::vector<double> result;
  for (const Sample& s : samples) result.push_back(s.rate);
  return result;
}

// The undisturbed ones; all where that leaves too few to say anything.
std::vector<Sample> best_of(const std::vector<Sample>& samples) {
  std::vector<Sample> clean;
  std::copy_if(samples.begin(), samples.end(), std::back_inserter(clean), usable);
  return clean.size() >= 6 ? clean : samples;
}

double middle(const std::vector<Sample>& samples, double Sample::*field) {
  std::vector<double> values;
  for (const Sample& s : samples)
    if (s.*field > 0) values.push_back(s.*field);
  return values.empty() ? 0 : pagoda::median(values);
}

bool narrow(const std::vector<Sample>& samples, const Plan& plan) {
  std::vector<Sample> clean;
  std::copy_if(samples.begin(), samples.end(), std::back_inserter(clean), usable);
  if (static_cast<int>(clean.size()) < plan.min_samples) return false;
  const auto width = pagoda::summarize(rates(clean)).relative_half_width();
  return width && *width <= plan.half_width;
}

// Above theory even at the highest clock that any sample saw: a reading of the clock can be disturbed downwards.
bool impossible(const Ceiling& c, const std::vector<Sample>& samples) {
  double highest = 0;
  for (const Sample& s : samples) highest = std::max(highest, s.clock_hz);
  Ceiling at_highest = c;
  // Rates of memory do not follow this clock.
  if (at_highest.theory.observed_clock && c.clock_hz && c.level != "dram")
    *at_highest.theory.observed_clock *= highest / *c.clock_hz;
  return pagoda::impossible(at_highest);
}

class Run {
 public:
  Run(const Plan& plan, const std::function<double()>& now) : plan_(plan), now_(now), random_(plan.seed) {}

  // What is left of the budget, shared evenly over the experiments to come.
  double share(std::size_t to_come) const {
    if (plan_.budget_seconds <= 0) return 1e30;
    return std::max(0.0, start_ + plan_.budget_seconds - now_()) /
           static_cast<double>(std::max<std::size_t>(to_come, 1));
  }

  std::vector<Sample> experiment(Experiment& e, double seconds, std::size_t& chosen) {
    const double end = now_() + seconds;
    warm_up(e, std::min(plan_.warm_up_seconds, 0.25 * seconds));
    chosen = e.candidates.size() > 1 ? choose(e, now_() + 0.4 * (end - now_())) : 0;
    return report(e.candidates[chosen], end);
  }

  std::vector<Sample> report(Candidate& candidate, double end) {
    std::vector<Sample> samples;
    while (static_cast<int>(samples.size()) < plan_.max_samples) {
      samples.push_back(candidate.run(plan_.sample_seconds));
      if (narrow(samples, plan_)) break;
      // Even without time left a median needs a few samples.
      if (now_() >= end && static_cast<int>(samples.size()) >= std::min(plan_.min_samples, 7)) break;
    }
    return samples;
  }

  std::vector<std::size_t> shuffled(std::size_t n) {
    std::vector<std::size_t> order(n);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::shuffle(order.begin(), order.end(), random_);
    return order;
  }

 private:
  void warm_up(Experiment& e, double seconds) {
    const double end = now_() + seconds;
    std::vector<double> series;
    const auto window = static_cast<std::size_t>(plan_.settle_window);
    while (now_() < end) {
      series.push_back(e.candidates.front().run(plan_.sample_seconds).rate);
      if (pagoda::settled(series, window, plan_.settle_tolerance)) return;
    }
  }

  // The candidate of the best median. These samples are never reported.
  std::size_t choose(Experiment& e, double end) {
    std::vector<std::vector<Sample>> samples(e.candidates.size());
    for (int round = 0; round < plan_.choose_samples && (round < 2 || now_() < end); ++round)
      for (const std::size_t i : shuffled(e.candidates.size()))
        samples[i].push_back(e.candidates[i].run(plan_.sample_seconds));
    const bool lower = e.ceiling.kind == pagoda::CeilingKind::Latency;
    std::size_t best = 0;
    double best_rate = 0;
    for (std::size_t i = 0; i < samples.size(); ++i) {
      std::vector<Sample> clean;
      std::copy_if(samples[i].begin(), samples[i].end(), std::back_inserter(clean), usable);
      const double rate = pagoda::median(rates(clean.empty() ? samples[i] : clean));
      if (i == 0 || (lower ? rate < best_rate : rate > best_rate)) {
        best = i;
        best_rate = rate;
      }
    }
    return best;
  }

  const Plan& plan_;
  const std::function<double()>& now_;
  std::mt19937_64 random_;
  double start_ = now_();
};

}  // namespace

std::vector<std::string> names(std::uint32_t disturbances) {
  std::vector<std::string> result;
  constexpr std::pair<std::uint32_t, const char*> kNames[] = {{kPreempted, "preempted"},
                                                              {kStolen, "stolen"},
                                                              {kPowerCap, "sw_power_cap"},
                                                              {kThermal, "thermal"},
                                                              {kHwSlowdown, "hw_slowdown"}};
  for (const auto& [bit, name] : kNames)
    if (disturbances & bit) result.push_back(name);
  return result;
}

void conclude(Ceiling& c, const std::vector<Sample>& samples, const Plan& plan) {
  const std::vector<Sample> used = best_of(samples);
  const auto usables = std::count_if(samples.begin(), samples.end(), usable);
  const pagoda::Summary s = pagoda::summarize(rates(used));
  if (s.n == 0) {
    c.status = CeilingStatus::Unavailable;
    return;
  }
  c.value = c.median = s.median;
  c.p5 = s.p5;
  c.p95 = s.p95;
  c.min = s.min;
  c.max = s.max;
  c.ci95 = s.ci95;
  c.n = static_cast<std::int64_t>(s.n);
  c.dropped = static_cast<std::int64_t>(samples.size() - used.size());
  c.contended = s.contended();
  const bool all_disturbed = used.size() == samples.size() && usables < static_cast<std::ptrdiff_t>(used.size());
  const auto width = s.relative_half_width();
  c.converged = !all_disturbed && width && *width <= plan.half_width;
  if (const double clock = middle(used, &Sample::clock_hz); clock > 0) c.clock_hz = clock;
  if (const double watts = middle(used, &Sample::watts); watts > 0) c.watts = watts;
  std::uint32_t seen = 0;
  for (const Sample& sample : samples) seen |= sample.disturbances;
  c.throttle = names(seen & (kPowerCap | kThermal | kHwSlowdown));
  if (c.clock_hz && c.units && *c.units > 0 && c.kind != pagoda::CeilingKind::Latency)
    c.per_clock_unit = *c.value / *c.clock_hz / *c.units;

  std::uint32_t kept = 0;
  for (const Sample& sample : used) kept |= sample.disturbances;
  if (kept & (kThermal | kHwSlowdown))
    c.status = CeilingStatus::Throttled;
  else if (all_disturbed || c.contended)
    c.status = CeilingStatus::Contended;
  else if (!c.converged)
    c.status = CeilingStatus::NotConverged;
  else
    c.status = CeilingStatus::Ok;
}

Measured measure(std::vector<Experiment>& experiments, const Plan& plan, const std::function<double()>& now,
                 const std::function<void(const Progress&)>& progress) {
  Measured result;
  result.ceilings.resize(experiments.size());
  Run run(plan, now);
  result.order = run.shuffled(experiments.size());
  std::vector<Sample> first;
  std::size_t first_candidate = 0;
  const double start = now();
  for (std::size_t done = 0; done < result.order.size(); ++done) {
    Experiment& e = experiments[result.order[done]];
    Ceiling& c = result.ceilings[result.order[done]] = e.ceiling;
    const std::size_t to_come = result.order.size() - done + 1;  // and the drift check
    const double share = run.share(to_come);
    const double spent =
        done > 0 ? (now() - start) / static_cast<double>(done) : plan.sample_seconds * plan.min_samples;
    if (progress) progress({done, result.order.size(), c.id, spent * static_cast<double>(to_come)});
    if (e.prepare) e.prepare();
    std::size_t chosen = 0;
    const Verdict verdict = e.verify ? e.verify() : Verdict{};
    const std::vector<Sample> samples = run.experiment(e, share, chosen);
    if (done == 0) {
      first = samples;
      first_candidate = chosen;
    }
    if (e.release) e.release();
    conclude(c, samples, plan);
    for (const auto& [key, value] : e.candidates[chosen].config) c.config[key] = value;
    if (!e.candidates[chosen].name.empty()) c.kernel = e.candidates[chosen].name;
    if (e.theory) e.theory(c);
    if (impossible(c, samples)) {
      c.status = CeilingStatus::Impossible;
      c.note = "above what its clock allows: a mistake of the measurement";
      c.value.reset();
    }
    if (!verdict.right) {
      c.status = CeilingStatus::WrongResult;
      c.note = verdict.detail;
      c.value.reset();
    }
  }
  if (!experiments.empty()) {
    Experiment& e = experiments[result.order.front()];
    if (progress) progress({result.order.size(), result.order.size(), "drift of " + e.ceiling.id, 0});
    if (e.prepare) e.prepare();
    const std::vector<Sample> last = run.report(e.candidates[first_candidate], now() + run.share(1));
    if (e.release) e.release();
    const pagoda::Drift drift = pagoda::drift(rates(best_of(first)), rates(best_of(last)), plan.drift_tolerance);
    char text[160];
    std::snprintf(text, sizeof text, "%s, first and last of %zu: %+.2f %% (allowed %.1f %%)", e.ceiling.id.c_str(),
                  result.order.size(), 100 * drift.relative, 100 * plan.drift_tolerance);
    const bool within = std::abs(drift.relative) <= plan.drift_tolerance;
    result.checks.push_back(
        {"drift", within, text + std::string(within || drift.significant ? "" : ", within its own noise")});
  }
  return result;
}

}  // namespace ceilings
