#include "pagoda/lab/energy_report.h"

#include <algorithm>
#include <cmath>

#include "pagoda/base/cat.h"
#include "pagoda/base/text.h"
#include "pagoda/core/energy.h"
#include "report/rows.h"
#include "results/csv.h"

namespace pagoda::lab {
namespace {

using measured::EnergyFit, measured::EnergyRun, measured::EnergyTerm;

constexpr const char* kUnits[] = {"J/FLOP", "J/B", "W"};
constexpr const char* kNames[] = {"work", "traffic", "constant power"};

// The readable name of a constant: "joules_per_byte" is the energy of traffic.
std::string readable(const std::string& term) {
  return kNames[term == "joules_per_flop" ? 0 : term == "joules_per_byte" ? 1 : 2];
}

std::size_t worst(const EnergyFit& fit) {
  const auto& errors = fit.relative_residual;
  const auto is_smaller = [](double a, double b) { return std::abs(a) < std::abs(b); };
  return static_cast<std::size_t>(std::ranges::max_element(errors, is_smaller) - errors.begin());
}

bool is_indistinct(const EnergyFit& fit, const std::string& term) {
  return std::ranges::any_of(fit.indistinct,
                             [&](const auto& group) { return std::ranges::find(group, term) != group.end(); });
}

// One line per doubt about the constants.
std::string doubts(const EnergyFit& fit) {
  std::string text;
  for (const auto& group : fit.indistinct)
    text += cat("not separable: ", base::joined(group, " and ", readable),
                "; in these runs they grow together: add runs of other intensities, clocks or idle shares\n");
  for (const EnergyTerm& term : fit.terms)
    if (!(term.value > 0))
      text += readable(term.name) + " came out as 0: these runs do not show its cost\n";
    else if (!(term.interval[0] > 0) && !is_indistinct(fit, term.name))
      text +=
          readable(term.name) + ": its interval reaches 0, so that these runs do not prove that it costs anything\n";
  const std::string condition = "condition number " + base::rounded(fit.condition_number);
  return text.empty() ? cat("the runs tell all three constants apart (", condition, ")\n") : cat(text, condition, "\n");
}

// The time and energy balance points of the device, and their consequences.
std::string balances(const EnergyModel& model, const DeviceSpec& device, Precision precision) {
  using present::report::intensity_text;
  return cat("\non ", device.name, device.power_mode.empty() ? "" : ", ", device.power_mode, ", ", to_string(precision),
             ":\n  time balance     ", intensity_text(time_balance(model)),
             " FLOP/B: right of it arithmetic bounds the time\n  energy balance   ",
             intensity_text(energy_balance(model)),
             " FLOP/B: right of it arithmetic takes more energy than traffic\n  half of the best ",
             intensity_text(half_peak_intensity(model)), " FLOP/B: from there on above half of ",
             base::si_text(peak_flops_per_joule(model), "FLOP/J"), "\n  most power       ",
             base::si_text(peak_watts(model), "W"), ", at the time balance\n",
             race_to_halt(model)
                 ? "  race to idle: what is bound by arithmetic is also efficient in energy, so that finishing early "
                   "saves energy\n"
                 : "  no race to idle: work bound by arithmetic in time can still be bound by traffic in energy\n");
}

std::string one_report(const EnergyStudy& study, const std::optional<DeviceSpec>& device, Precision precision) {
  const EnergyFit& fit = study.fit;
  base::Grid grid{results::columns_of({"constant", ">", ">95 % from", ">to"}), {}};
  for (std::size_t i = 0; i < fit.terms.size(); ++i)
    grid.rows.push_back({kNames[i], base::si_text(fit.terms[i].value, kUnits[i], {.digits = 4}),
                         base::si_text(fit.terms[i].interval[0], kUnits[i]),
                         base::si_text(fit.terms[i].interval[1], kUnits[i])});
  const std::size_t most = worst(fit);
  std::string text = cat(study.rows.size(), " runs", study.label.empty() ? "" : " of ", study.label,
                         ": energy = work x FLOP + traffic x B + constant power x s\n\n", base::aligned(grid, 0),
                         "\nmean error ", base::rounded(100 * fit.mean_error, 4), " %, largest ",
                         results::percent(std::abs(fit.relative_residual[most])), " (",
                         base::printable(study.rows[most].label), ")\n", doubts(fit));
  if (!device) return text;
  DeviceSpec with = *device;
  with.energy = device_energy(study, precision, "fitted");
  if (const auto model = energy_model(with, precision)) text += balances(*model, with, precision);
  return text;
}

std::string several_report(const std::vector<EnergyStudy>& studies) {
  base::Grid grid{
      results::columns_of({"runs of", ">runs", ">work", ">traffic", ">constant power", ">mean error", "not separable"}),
      {}};
  for (const EnergyStudy& study : studies) {
    std::vector<std::string> row = {base::printable(study.label), cat(study.rows.size())};
    for (std::size_t i = 0; i < study.fit.terms.size(); ++i)
      row.push_back(base::si_text(study.fit.terms[i].value, kUnits[i]));
    row.insert(row.end(),
               {results::percent(study.fit.mean_error), base::joined(study.fit.indistinct, "; ", [](const auto& group) {
                  return base::joined(group, " and ", readable);
                })});
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
  constexpr std::size_t kShownRows = 5;
  std::string text = studies.size() == 1 ? one_report(studies.front(), device, precision) : several_report(studies);
  if (left_out.empty()) return text;
  text += cat(left_out.size(), left_out.size() == 1 ? " row left out:\n" : " rows left out:\n");
  for (std::size_t i = 0; i < std::min(kShownRows, left_out.size()); ++i)
    text += cat("  ", base::printable(left_out[i]), "\n");
  return text + (left_out.size() > kShownRows ? "  …\n" : "");
}

std::string energy_constants_csv(const std::vector<EnergyStudy>& studies) {
  std::string text =
      "runs_of,runs,joules_per_flop,joules_per_flop_low,joules_per_flop_high,joules_per_byte,joules_per_byte_low,"
      "joules_per_byte_high,constant_watts,constant_watts_low,constant_watts_high,mean_error,largest_error,"
      "condition_number,not_told_apart\r\n";
  for (const EnergyStudy& study : studies) {
    const EnergyFit& fit = study.fit;
    std::vector<double> terms;
    for (const EnergyTerm& term : fit.terms)
      terms.insert(terms.end(), {term.value, term.interval[0], term.interval[1]});
    text +=
        results::csv_row(study.label, study.rows.size(), terms, fit.mean_error,
                         std::abs(fit.relative_residual[worst(fit)]), fit.condition_number,
                         base::joined(fit.indistinct, ";", [](const auto& each) { return base::joined(each, "+"); }));
  }
  return text;
}

std::string energy_runs_csv(const std::vector<EnergyStudy>& studies) {
  std::string text =
      "run,runs_of,flops,bytes,intensity,seconds,joules,flops_per_second,bytes_per_second,watts,flops_per_joule,"
      "fitted_joules,error\r\n";
  for (const EnergyStudy& study : studies)
    for (std::size_t i = 0; i < study.rows.size(); ++i) {
      const EnergyRun& run = study.rows[i];
      const double fitted = run.joules * (1 - study.fit.relative_residual[i]);
      text += results::csv_row(run.label, study.label, run.flops, run.bytes, run.flops / run.bytes, run.seconds,
                               run.joules, run.flops / run.seconds, run.bytes / run.seconds, run.joules / run.seconds,
                               run.flops / run.joules, fitted, fitted / run.joules - 1);
    }
  return text;
}

DeviceEnergy device_energy(const EnergyStudy& study, Precision precision, const std::string& source) {
  return {.work = {{precision, quantity_of(study.fit, 0, source)}},
          .joules_per_byte = quantity_of(study.fit, 1, source),
          .constant_watts = quantity_of(study.fit, 2, source)};
}

}  // namespace pagoda::lab
