// The measurement protocol.
#include "protocol.h"

#include <cmath>
#include <numeric>
#include <random>

#include "pagoda/base/statistics.h"
#include "pagoda/lab/theory.h"
#include "run_checks.h"

namespace pagoda::tools::ceilings {
namespace {

using documents::Ceiling, documents::CeilingStatus;

bool usable(const Sample& s) { return (s.disturbances & kUselessSample) == 0 && s.rate > 0; }

std::vector<double> rates(const std::vector<Sample>& samples) {
  std::vector<double> result;
  for (const Sample& s : samples) result.push_back(s.rate);
  return result;
}

std::vector<Sample> undisturbed(const std::vector<Sample>& samples) {
  std::vector<Sample> clean;
  std::ranges::copy_if(samples, std::back_inserter(clean), usable);
  return clean;
}

// With fewer undisturbed samples than this, all samples count.
constexpr std::size_t kFewestUndisturbed = 6;

std::uint32_t all_disturbances(const std::vector<Sample>& samples) {
  std::uint32_t seen = 0;
  for (const Sample& s : samples) seen |= s.disturbances;
  return seen;
}

double middle(const std::vector<Sample>& samples, double Sample::*field) {
  std::vector<double> values;
  for (const Sample& s : samples)
    if (s.*field > 0) values.push_back(s.*field);
  return values.empty() ? 0 : base::median(values);
}

std::vector<Sample> joined(const std::vector<std::vector<Sample>>& visits) {
  std::vector<Sample> all;
  for (const auto& visit : visits) all.insert(all.end(), visit.begin(), visit.end());
  return all;
}

// The rates of each visit's samples that count: the undisturbed ones, or all if these are too few over all visits.
std::vector<std::vector<double>> groups_of(const std::vector<std::vector<Sample>>& visits) {
  const bool enough = undisturbed(joined(visits)).size() >= kFewestUndisturbed;
  std::vector<std::vector<double>> groups;
  for (const auto& visit : visits)
    if (std::vector<double> group = rates(enough ? undisturbed(visit) : visit); !group.empty())
      groups.push_back(std::move(group));
  return groups;
}

// True if the value exceeds theory even at the highest clock of any sample: disturbances can lower a clock reading.
bool impossible(const Ceiling& c, const std::vector<Sample>& samples) {
  double highest = 0;
  for (const Sample& s : samples) highest = std::max(highest, s.clock_hz);
  Ceiling at_highest = c;
  // DRAM rates do not scale with this clock.
  if (at_highest.theory.observed_clock && c.clock_hz && c.level != "dram")
    *at_highest.theory.observed_clock *= highest / *c.clock_hz;
  return lab::impossible(at_highest);
}

class Run {
 public:
  Run(const Plan& plan, const std::function<double()>& now) : plan_(plan), now_(now), random_(plan.seed) {}

  // The rest of the budget, divided evenly among the remaining visits.
  double share(double to_come) const {
    if (plan_.budget_seconds <= 0) return 1e30;
    return std::max(0.0, start_ + plan_.budget_seconds - now_()) / std::max(to_come, 1.0);
  }

  // The first visit also chooses a candidate, on samples that are never reported.
  std::vector<Sample> visit(Experiment& e, double seconds) {
    double end = now_() + seconds;
    warm_up(e.candidates[e.chosen.value_or(0)], std::min(plan_.warm_up_seconds, 0.25 * seconds));
    if (!e.chosen) e.chosen = e.candidates.size() > 1 ? choose(e, now_() + 0.5 * (end - now_())) : 0;
    Candidate& chosen = e.candidates[*e.chosen];
    if (e.heats) end += soak(chosen);
    const int least = std::max(1, plan_.min_samples / plan_.visits),
              most = std::max(1, plan_.max_samples / plan_.visits);
    std::vector<Sample> samples;
    int clean = 0;
    while (static_cast<int>(samples.size()) < most) {
      samples.push_back(chosen.run(plan_.sample_seconds));
      clean += usable(samples.back());
      if (clean >= least && narrow(samples)) break;
      // A median needs a few samples even if no time is left.
      if (now_() >= end && static_cast<int>(samples.size()) >= std::min(least, 3)) break;
    }
    if (e.heats) heated_until_ = now_();
    return samples;
  }

  std::vector<std::size_t> shuffled(std::size_t n) {
    std::vector<std::size_t> order(n);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::shuffle(order.begin(), order.end(), random_);
    return order;
  }

  // Random order, but experiments that heat come together at the end, so that one soak serves them all.
  std::vector<std::size_t> order_of(const std::vector<Experiment>& experiments) {
    std::vector<std::size_t> order = shuffled(experiments.size());
    if (plan_.soak_seconds > 0)
      std::stable_partition(order.begin(), order.end(), [&](std::size_t i) { return !experiments[i].heats; });
    return order;
  }

 private:
  // Runs load, never reported, until power and clock are as after hours of it; returns the seconds spent.
  double soak(Candidate& candidate) {
    const double start = now_();
    if (heated_until_ && start - *heated_until_ <= kStaysHot) return 0;
    while (now_() - start < plan_.soak_seconds) candidate.run(plan_.sample_seconds);
    return now_() - start;
  }

  // True if samples agree so well that this visit needs no more. Their spread does not predict other visits.
  bool narrow(const std::vector<Sample>& samples) const {
    const base::Summary s = base::summarize(rates(undisturbed(samples)));
    return s.n >= 3 && s.max - s.min <= 2 * plan_.half_width * s.median;
  }

  void warm_up(Candidate& candidate, double seconds) {
    const double end = now_() + seconds;
    std::vector<double> series;
    const auto window = static_cast<std::size_t>(plan_.settle_window);
    while (now_() < end) {
      series.push_back(candidate.run(plan_.sample_seconds).rate);
      if (base::settled(series, window, plan_.settle_tolerance)) return;
    }
  }

  // The candidate with the best median. These samples are never reported. The first of each is not used: it warms the
  // caches and sets the amount of work for the next one.
  std::size_t choose(Experiment& e, double end) {
    std::vector<std::vector<Sample>> samples(e.candidates.size());
    for (int round = -1; round < plan_.choose_samples && (round < 2 || now_() < end); ++round)
      for (const std::size_t i : shuffled(e.candidates.size())) {
        const Sample s = e.candidates[i].run(plan_.sample_seconds);
        if (round >= 0) samples[i].push_back(s);
      }
    const bool lower = e.ceiling.kind == documents::CeilingKind::Latency;
    std::size_t best = 0;
    double best_rate = 0;
    for (std::size_t i = 0; i < samples.size(); ++i) {
      const std::vector<Sample> clean = undisturbed(samples[i]);
      const double rate = base::median(rates(clean.empty() ? samples[i] : clean));
      if (i == 0 || (lower ? rate < best_rate : rate > best_rate)) {
        best = i;
        best_rate = rate;
      }
    }
    return best;
  }

  // Seconds without load that hardly change average power and temperature; memory is prepared in this time.
  static constexpr double kStaysHot = 1;

  const Plan& plan_;
  const std::function<double()>& now_;
  std::mt19937_64 random_;
  std::optional<double> heated_until_;
  double start_ = now_();
};

// Computes numbers, interval and status of a ceiling from the samples of its visits.
void conclude(Ceiling& c, const std::vector<std::vector<Sample>>& visits, const Plan& plan) {
  const std::vector<Sample> samples = joined(visits), clean = undisturbed(samples),
                            used = clean.size() >= kFewestUndisturbed ? clean : samples;
  const std::vector<std::vector<double>> groups = groups_of(visits);
  base::Summary s = base::summarize(rates(used));
  if (s.n == 0) {
    c.status = CeilingStatus::Unavailable;
    return;
  }
  if (plan.visits > 1) s.ci95 = base::grouped_interval(groups);
  c.config["visits"] = static_cast<std::int64_t>(groups.size());
  c.value = c.median = s.median;
  c.p5 = s.p5;
  c.p95 = s.p95;
  c.min = s.min;
  c.max = s.max;
  c.ci95 = s.ci95;
  c.n = static_cast<std::int64_t>(s.n);
  c.dropped = static_cast<std::int64_t>(samples.size() - used.size());
  c.contended = s.contended();
  const bool all_disturbed = used.size() == samples.size() && clean.size() < used.size();
  const auto width = s.relative_half_width();
  c.converged = !all_disturbed && width && *width <= plan.half_width;
  if (const double clock = middle(used, &Sample::clock_hz); clock > 0) c.clock_hz = clock;
  if (const double watts = middle(used, &Sample::watts); watts > 0) c.watts = watts;
  c.throttle = names(all_disturbances(samples) & (kPowerCap | kThermal | kHwSlowdown));
  if (c.clock_hz && c.units && *c.units > 0 && c.kind != documents::CeilingKind::Latency)
    c.per_clock_unit = *c.value / *c.clock_hz / *c.units;
  if (all_disturbances(used) & (kThermal | kHwSlowdown))
    c.status = CeilingStatus::Throttled;
  else if (all_disturbed || c.contended)
    c.status = CeilingStatus::Contended;
  else if (!c.converged)
    c.status = CeilingStatus::NotConverged;
  else
    c.status = CeilingStatus::Ok;
}

// Compares first and last visits over all experiments that had both: one disturbed experiment is not drift.
documents::CeilingCheck drift_check(const std::vector<std::vector<std::vector<Sample>>>& visits, const Plan& plan) {
  std::vector<double> changes;
  for (const auto& of_one : visits) {
    const auto groups = groups_of(of_one);
    if (groups.size() < 2 || of_one.size() < static_cast<std::size_t>(plan.visits)) continue;
    changes.push_back(base::median(groups.back()) / base::median(groups.front()) - 1);
  }
  if (changes.empty()) return {"drift", true, "nothing was visited twice"};
  const double change = base::median(changes);
  return {"drift", std::abs(change) <= plan.drift_tolerance,
          printed("the last visits of %zu ceilings against the first: median %+.2f %% (allowed %.1f %%)",
                  changes.size(), 100 * change, 100 * plan.drift_tolerance)};
}

}  // namespace

Plan budgeted(Plan plan, std::size_t experiments, std::optional<double> asked, std::uint64_t seed) {
  plan.seed = seed;
  if (plan.seconds_each > 0)
    plan.budget_seconds = std::min(plan.budget_seconds, plan.seconds_each * static_cast<double>(experiments));
  if (!asked) return plan;
  plan.budget_seconds = *asked;
  plan.soak_seconds = std::min(plan.soak_seconds, *asked / 20);
  // A visit needs at least three samples, and as many again to warm up and choose: they must fit. Below 1 ms, a sample
  // is mostly start-up time.
  const double fewest = 6.0 * plan.visits * static_cast<double>(std::max<std::size_t>(experiments, 1));
  plan.sample_seconds = std::min(plan.sample_seconds, std::max(1e-3, *asked / fewest));
  return plan;
}

Measured measure(std::vector<Experiment>& experiments, const Plan& plan, const std::function<double()>& now,
                 const std::function<void(const Progress&)>& progress) {
  const std::size_t n = experiments.size();
  const auto rounds = static_cast<std::size_t>(std::max(plan.visits, 1));
  Measured result;
  Run run(plan, now);
  std::vector<std::vector<std::vector<Sample>>> visits(n);
  std::vector<Verdict> verdicts(n);
  std::vector<std::string> failed(n);
  for (Experiment& e : experiments) e.chosen.reset();
  const double start = now();
  // First visits warm up longer and choose a candidate: each counts as two.
  const double all = static_cast<double>(n * (rounds + 1));
  double done = 0;
  for (std::size_t round = 0; round < rounds && result.lost.empty(); ++round) {
    const std::vector<std::size_t> order = run.order_of(experiments);
    if (round == 0) result.order = order;
    for (const std::size_t i : order) {
      Experiment& e = experiments[i];
      if (progress)
        progress({static_cast<std::size_t>(done), static_cast<std::size_t>(all), e.ceiling.id,
                  done > 0 ? (now() - start) / done * (all - done) : plan.budget_seconds});
      const double weight = round == 0 ? 2 : 1, left = all - done;
      done += weight;
      if (!failed[i].empty()) continue;
      try {
        if (e.prepare) e.prepare();
        if (round == 0 && e.verify) verdicts[i] = e.verify();
        if (verdicts[i].right) visits[i].push_back(run.visit(e, weight * run.share(left)));
      } catch (const DeviceLost& lost) {
        failed[i] = result.lost = lost.what();
        break;
      } catch (const std::exception& error) {
        failed[i] = error.what();
      }
      if (e.release) e.release();
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    const Experiment& e = experiments[i];
    Ceiling& c = result.ceilings.emplace_back(e.ceiling);
    conclude(c, visits[i], plan);
    if (e.chosen) {
      const Candidate& candidate = e.candidates[*e.chosen];
      for (const auto& [key, value] : candidate.config) c.config[key] = value;
      if (!candidate.name.empty()) c.kernel = candidate.name;
    }
    if (e.heats && plan.soak_seconds > 0) c.config["soak_seconds"] = plan.soak_seconds;
    if (e.theory) e.theory(c);
    const auto reject = [&c](CeilingStatus status, const std::string& note) {
      c.status = status;
      c.note = note;
      c.value.reset();
    };
    if (impossible(c, joined(visits[i])))
      reject(CeilingStatus::Impossible, "above what its clock allows: a mistake of the measurement");
    if (!verdicts[i].right) reject(CeilingStatus::WrongResult, verdicts[i].detail);
    if (!failed[i].empty()) {
      reject(CeilingStatus::Unavailable, failed[i]);
    } else if (visits[i].empty() && verdicts[i].right) {
      c.pending = true;
      c.note = "not reached: " + result.lost;
    }
  }
  if (n > 0 && rounds > 1) result.checks.push_back(drift_check(visits, plan));
  return result;
}

}  // namespace pagoda::tools::ceilings
