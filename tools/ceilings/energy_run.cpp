// Windows begin and end at an update of the counter: counters update only every 1 to 100 ms, and an end between two
// updates could be wrong by a whole step of energy.
#include "energy_run.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace pagoda::tools::ceilings {
namespace {

struct Edge {
  double seconds = 0, joules = 0;
};

// The time of the counter's next update, or the end of the wait if there is none.
Edge next_edge(const EnergyPlan& plan, const std::function<void()>& keep_busy) {
  const double before = plan.joules(), give_up = plan.now() + plan.edge_seconds;
  for (;;) {
    keep_busy();
    const double joules = plan.joules(), now = plan.now();
    if (joules != before || now >= give_up) return {now, joules};
  }
}

// Mean power over a window that contains only `wait`.
std::optional<double> constant_watts(const EnergyPlan& plan, const std::function<void(double)>& wait) {
  const double settled = plan.now() + plan.settle_seconds;
  while (plan.now() < settled) wait(0.02);
  const Edge start = next_edge(plan, [&] { wait(0.001); });
  while (plan.now() < start.seconds + plan.window_seconds) wait(0.02);
  const Edge end = next_edge(plan, [&] { wait(0.001); });
  if (!(end.seconds > start.seconds) || !(end.joules > start.joules)) return std::nullopt;
  return (end.joules - start.joules) / (end.seconds - start.seconds);
}

// Runs a load in slices of 20 ms of work and, at half duty, 20 ms of rest.
measured::EnergyRow measure(const EnergyPlan& plan, const EnergyLoad& load, double duty) {
  constexpr double kSlice = 0.02;
  measured::EnergyRow row;
  row.work.assign(plan.names.size(), 0);
  bool counting = false;
  const auto slice = [&] {
    const std::vector<double> work = load.run(kSlice);
    if (counting)
      for (std::size_t i = 0; i < work.size() && i < row.work.size(); ++i) row.work[i] += work[i];
    if (duty < 1) plan.sleep(kSlice * (1 - duty) / duty);
  };
  const double settled = plan.now() + plan.settle_seconds;
  while (plan.now() < settled) slice();
  const Edge start = next_edge(plan, slice);
  counting = true;
  while (plan.now() < start.seconds + plan.window_seconds) slice();
  const Edge end = next_edge(plan, slice);
  row.seconds = end.seconds - start.seconds;
  row.joules = end.joules - start.joules;
  return row;
}

// Describes the rails used for the fit: which were added up, how and how often they were read, and the mean watts of
// each.
void describe_rails(const RailTrace& rails, documents::EnergyReport& energy) {
  energy.constants["rails"] = rails.source();
  for (const std::string& name : rails.names()) {
    const std::vector<PowerSample> samples = rails.samples(name);
    double sum = 0;
    std::int64_t read = 0;
    for (const PowerSample& sample : samples)
      if (!std::isnan(sample.watts)) sum += sample.watts, ++read;
    if (read < 2) continue;
    energy.constants["watts." + name] = sum / static_cast<double>(read);
    energy.constants["samples"] = static_cast<std::int64_t>(samples.size());
    energy.constants["period_seconds"] =
        (samples.back().seconds - samples.front().seconds) / static_cast<double>(samples.size() - 1);
  }
}

}  // namespace

bool use_rails(EnergyPlan& plan) {
  plan.rails = std::make_shared<RailTrace>();
  plan.source = "rails";
  plan.joules = [rails = plan.rails] { return rails->joules(); };
  return !plan.rails->total().rails.empty();
}

void add_loads(std::vector<Experiment>& experiments, std::span<const std::pair<std::string, std::string>> wanted,
               EnergyPlan& plan) {
  for (const auto& [id, name] : wanted)
    for (Experiment& e : experiments) {
      // Issue rates are measured with zeros as data, which take little energy.
      if (e.ceiling.id != id || e.ceiling.mode == documents::CeilingMode::Issue) continue;
      const std::size_t index = plan.names.size();
      plan.names.push_back(name);
      plan.units.emplace_back(e.ceiling.kind == documents::CeilingKind::Compute ? "J/FLOP" : "J/B");
      if (e.prepare) e.prepare();
      plan.loads.push_back({id, [&e, index](double seconds) {
                              const Sample s = e.candidates.front().run(seconds);
                              std::vector<double> work(index + 1, 0);
                              work[index] = s.rate * s.seconds;
                              return work;
                            }});
    }
}

void run_energy(const EnergyPlan& plan, documents::CeilingsDocument& document) {
  const std::optional<double> idle = constant_watts(plan, plan.sleep);
  if (!idle) {
    document.not_run.push_back("energy: the " + plan.source + " counter did not move within " +
                               std::to_string(plan.window_seconds) + " s");
    return;
  }
  base::Settings constants = {{"idle_watts", *idle}};
  if (plan.spin)
    if (const auto active = constant_watts(plan, plan.spin)) constants["active_idle_watts"] = *active;
  std::vector<measured::EnergyRow> rows;
  std::vector<double> powers;
  for (const EnergyLoad& load : plan.loads)
    for (const double duty : {1.0, 0.5}) {
      const measured::EnergyRow row = measure(plan, load, duty);
      // Drop rows whose counter did not move: zero joules would make the work appear free.
      if (!(row.joules > 0)) {
        document.not_run.push_back("energy of " + load.name + ": the counter stood still");
        continue;
      }
      rows.push_back(row);
      powers.push_back(row.joules / row.seconds);
    }
  measured::EnergyFit fit;
  try {
    fit = measured::fit_energy(plan.names, rows);
  } catch (const Error& error) {
    document.not_run.push_back(error.what());
    return;
  }
  for (std::size_t i = 0; i < fit.terms.size(); ++i) {
    const measured::EnergyTerm& term = fit.terms[i];
    documents::Ceiling c;
    c.id = "energy." + term.name;
    c.kind = documents::CeilingKind::Energy;
    c.mode = documents::CeilingMode::Sustained;
    c.unit = i < plan.units.size() ? plan.units[i] : "W";
    c.scope = "device";
    c.value = c.median = term.value;
    c.ci95 = term.interval;
    c.n = static_cast<std::int64_t>(rows.size());
    // An interval wider than the value means that the fit could not separate this term.
    c.converged = term.value > 0 && term.interval[1] - term.interval[0] < term.value;
    c.status = c.converged ? documents::CeilingStatus::Ok : documents::CeilingStatus::NotConverged;
    c.kernel = "non-negative least squares";
    document.ceilings.push_back(std::move(c));
  }
  documents::EnergyReport report;
  report.source = plan.source;
  report.rows = static_cast<std::int64_t>(rows.size());
  report.relative_rms = fit.relative_rms;
  report.condition_number = fit.condition_number;
  report.constants = std::move(constants);
  report.constants["fitted_constant_watts"] = fit.terms.back().value;
  report.constants["highest_watts"] = *std::ranges::max_element(powers);
  if (plan.rails) describe_rails(*plan.rails, report);
  document.energy = std::move(report);
}

}  // namespace pagoda::tools::ceilings
