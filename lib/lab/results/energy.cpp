#include "pagoda/lab/energy_report.h"

#include <algorithm>
#include <cmath>

#include "pagoda/base/csv_line.h"
#include "pagoda/base/text.h"
#include "pagoda/core/energy.h"
#include "report/rows.h"

namespace pagoda::lab {
namespace {

using measured::EnergyFit;
using measured::EnergyRun;
using measured::EnergyTerm;

constexpr const char* kUnits[] = {"J/FLOP", "J/B", "W"};
constexpr const char* kNames[] = {"work", "traffic", "constant power"};

// The readable name of a constant: "joules_per_byte" is the energy of traffic.
std::string said(const std::string& term) {
  if (term == "joules_per_flop") return kNames[0];
  return term == "joules_per_byte" ? kNames[1] : kNames[2];
}

double fitted_joules(const EnergyStudy& study, std::size_t at) {
  return study.rows[at].joules * (1 - study.fit.relative_residual[at]);
}

std::size_t worst(const EnergyFit& fit) {
  const auto& errors = fit.relative_residual;
  return static_cast<std::size_t>(
      std::max_element(errors.begin(), errors.end(),
                       [](double a, double b) { return std::abs(a) < std::abs(b); }) -
      errors.begin());
}

std::string error_percent(double part) { return base::rounded(100 * part) + " %"; }

bool is_indistinct(const EnergyFit& fit, const std::string& term) {
  return std::any_of(fit.indistinct.begin(), fit.indistinct.end(), [&](const auto& group) {
    return std::find(group.begin(), group.end(), term) != group.end();
  });
}

// What the runs cannot determine, one line per doubt.
std::string doubts(const EnergyFit& fit) {
  std::string text;
  for (const auto& group : fit.indistinct)
    text += "not separable: " + base::joined(group, " and ", said) +
            "; in these runs they grow together: add runs of other intensities, clocks or idle shares\n";
  for (const EnergyTerm& term : fit.terms)
    if (!(term.value > 0))
      text += said(term.name) + " came out as 0: these runs do not show its cost\n";
    else if (!(term.interval[0] > 0) && !is_indistinct(fit, term.name))
      text += said(term.name) + ": its interval reaches 0, so that these runs do not prove that it costs anything\n";
  return text.empty() ? "the runs tell all three constants apart (condition number " +
                            base::rounded(fit.condition_number) + ")\n"
                      : text + "condition number " + base::rounded(fit.condition_number) + "\n";
}

// The time and energy balance points of the device, and what they mean.
std::string balances(const EnergyModel& model, const DeviceSpec& device, Precision precision) {
  const double time = time_balance(model), energy = energy_balance(model);
  std::string text = "\non " + device.name + (device.power_mode.empty() ? "" : ", " + device.power_mode) + ", " +
                     std::string(to_string(precision)) + ":\n";
  text += "  time balance     " + present::report::intensity_text(time) + " FLOP/B: right of it arithmetic bounds the time\n";
  text += "  energy balance   " + present::report::intensity_text(energy) + " FLOP/B: right of it arithmetic takes more energy than traffic\n";
  text += "  half of the best " + present::report::intensity_text(half_peak_intensity(model)) + " FLOP/B: from there on above half of " +
          base::si_text(peak_flops_per_joule(model), "FLOP/J") + "\n";
  text += "  most power       " + base::si_text(peak_watts(model), "W") + ", at the time balance\n";
  return text + (race_to_halt(model)
                     ? "  race to idle: what is bound by arithmetic is also efficient in energy, so that finishing early "
                       "saves energy\n"
                     : "  no race to idle: work bound by arithmetic in time can still be bound by traffic in energy\n");
}

std::string one_report(const EnergyStudy& study, const std::optional<DeviceSpec>& device, Precision precision) {
  const EnergyFit& fit = study.fit;
  base::Grid grid{.columns = {{.header = "constant"},
                              {.header = "", .is_number = true},
                              {.header = "95 % from", .is_number = true},
                              {.header = "to", .is_number = true}},
                  .rows = {}};
  for (std::size_t i = 0; i < fit.terms.size(); ++i)
    grid.rows.push_back({kNames[i], base::si_text(fit.terms[i].value, kUnits[i], {.digits = 4}),
                         base::si_text(fit.terms[i].interval[0], kUnits[i]),
                         base::si_text(fit.terms[i].interval[1], kUnits[i])});
  const std::size_t most = worst(fit);
  std::string text = std::to_string(study.rows.size()) + " runs" + (study.label.empty() ? "" : " of " + study.label) +
                     ": energy = work x FLOP + traffic x B + constant power x s\n\n" + base::aligned(grid, 0) + "\n" +
                     "mean error " + base::rounded(100 * fit.mean_error, 4) + " %, largest " +
                     error_percent(std::abs(fit.relative_residual[most])) + " (" + base::printable(study.rows[most].label) +
                     ")\n" + doubts(fit);
  if (!device) return text;
  DeviceSpec with = *device;
  with.energy = device_energy(study, precision, "fitted");
  if (const auto model = energy_model(with, precision)) text += balances(*model, with, precision);
  return text;
}

std::string several_report(const std::vector<EnergyStudy>& studies) {
  base::Grid grid{.columns = {{.header = "runs of"},
                              {.header = "runs", .is_number = true},
                              {.header = "work", .is_number = true},
                              {.header = "traffic", .is_number = true},
                              {.header = "constant power", .is_number = true},
                              {.header = "mean error", .is_number = true},
                              {.header = "not separable"}},
                  .rows = {}};
  for (const EnergyStudy& study : studies) {
    std::vector<std::string> row = {base::printable(study.label), std::to_string(study.rows.size())};
    for (std::size_t i = 0; i < study.fit.terms.size(); ++i)
      row.push_back(base::si_text(study.fit.terms[i].value, kUnits[i]));
    row.push_back(error_percent(study.fit.mean_error));
    row.push_back(base::joined(study.fit.indistinct, "; ",
                               [](const auto& group) { return base::joined(group, " and ", said); }));
    grid.rows.push_back(std::move(row));
  }
  return base::aligned(grid, 0) + "\n";
}

Quantity quantity_of(const EnergyFit& fit, std::size_t at, const std::string& source) {
  const EnergyTerm& term = fit.terms[at];
  if (!(term.value > 0)) return {std::nullopt, "came out as 0 in " + source};
  if (is_indistinct(fit, term.name)) return {std::nullopt, "not separable from other constants by " + source};
  return {term.value, source + "; 95 % from " + base::si_text(term.interval[0], kUnits[at]) + " to " +
                          base::si_text(term.interval[1], kUnits[at])};
}

}  // namespace

std::string energy_report(const std::vector<EnergyStudy>& studies, const std::vector<std::string>& left_out,
                          const std::optional<DeviceSpec>& device, Precision precision) {
  std::string text =
      studies.size() == 1 ? one_report(studies.front(), device, precision) : several_report(studies);
  if (!left_out.empty()) {
    constexpr std::size_t kShownRows = 5;
    text += std::to_string(left_out.size()) + (left_out.size() == 1 ? " row left out:\n" : " rows left out:\n");
    for (std::size_t i = 0; i < std::min(kShownRows, left_out.size()); ++i)
      text += "  " + base::printable(left_out[i]) + "\n";
    if (left_out.size() > kShownRows) text += "  …\n";
  }
  return text;
}

std::string energy_constants_csv(const std::vector<EnergyStudy>& studies) {
  std::string text = base::csv_line({"runs_of", "runs", "joules_per_flop", "joules_per_flop_low", "joules_per_flop_high",
                                     "joules_per_byte", "joules_per_byte_low", "joules_per_byte_high", "constant_watts",
                                     "constant_watts_low", "constant_watts_high", "mean_error", "largest_error",
                                     "condition_number", "not_told_apart"});
  for (const EnergyStudy& study : studies) {
    base::CsvLine line;
    line.name(study.label).add(study.rows.size());
    for (const EnergyTerm& term : study.fit.terms) line.add(term.value).add(term.interval[0]).add(term.interval[1]);
    line.add(study.fit.mean_error).add(std::abs(study.fit.relative_residual[worst(study.fit)]));
    line.add(study.fit.condition_number);
    line.add(base::joined(study.fit.indistinct, ";", [](const auto& group) { return base::joined(group, "+"); }));
    text += std::move(line).end();
  }
  return text;
}

std::string energy_runs_csv(const std::vector<EnergyStudy>& studies) {
  std::string text = base::csv_line({"run", "runs_of", "flops", "bytes", "intensity", "seconds", "joules",
                                     "flops_per_second", "bytes_per_second", "watts", "flops_per_joule",
                                     "fitted_joules", "error"});
  for (const EnergyStudy& study : studies)
    for (std::size_t i = 0; i < study.rows.size(); ++i) {
      const EnergyRun& run = study.rows[i];
      base::CsvLine line;
      line.name(run.label).name(study.label).add(run.flops).add(run.bytes).add(run.flops / run.bytes);
      line.add(run.seconds).add(run.joules).add(run.flops / run.seconds).add(run.bytes / run.seconds);
      line.add(run.joules / run.seconds).add(run.flops / run.joules).add(fitted_joules(study, i));
      line.add(fitted_joules(study, i) / run.joules - 1);
      text += std::move(line).end();
    }
  return text;
}

DeviceEnergy device_energy(const EnergyStudy& study, Precision precision, const std::string& source) {
  return {.work = {{precision, quantity_of(study.fit, 0, source)}},
          .joules_per_byte = quantity_of(study.fit, 1, source),
          .constant_watts = quantity_of(study.fit, 2, source)};
}

}  // namespace pagoda::lab
