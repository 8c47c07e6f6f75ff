// Joules of a run, and of each point of a sweep, by the device's constants.
#include "pagoda/core/energy.h"

#include <algorithm>
#include <map>

#include "describe.h"
#include "pagoda/base/text.h"
#include "pagoda/estimate/measured_runs.h"

namespace pagoda::estimate {
namespace {

// The precision of most of the work; empty: not known.
std::optional<Precision> main_precision(const EstimateRoofline& roofline) {
  std::map<Precision, double> work;
  for (const RowBound& row : roofline.rows)
    if (row.precision) work[*row.precision] += row.flops;
  const auto most = std::ranges::max_element(work, {}, [](const auto& each) { return each.second; });
  return most == work.end() ? std::nullopt : std::optional(most->first);
}

// Uses the roofline's time, not the time of W and Q as one kernel, since rows run one after another.
std::optional<double> joules_at(const EnergyModel& model, const TotalWork& work, const std::optional<double>& seconds) {
  if (!work.flops || !work.bytes || !seconds || !(*seconds > 0)) return std::nullopt;
  return joules(model, *work.flops, *work.bytes, *seconds);
}

std::optional<double> seconds_of(const std::optional<RooflineTotals>& time) {
  return time ? std::optional(time->seconds) : std::nullopt;
}

}  // namespace

std::string add_energy(const DeviceSpec& device, EstimateDocument& estimate) {
  // Constants are per FLOP, and for one device.
  if (!estimate.roofline || estimate.roofline->parallel || estimate.count == Convention::Macs) return {};
  EstimateRoofline& roofline = *estimate.roofline;
  const std::optional<Precision> precision = main_precision(roofline);
  const std::optional<EnergyModel> model = precision ? energy_model(device, *precision) : std::nullopt;
  if (!model) {
    const std::vector<std::string> missing =
        precision ? missing_energy(device, *precision) : std::vector<std::string>();
    return missing.empty()
               ? ""
               : "device " + device.name + ": no joules, for it states no " + base::joined(missing, "; no ");
  }
  if (estimate.sweep) {
    estimate.sweep->has_joules = true;
    for (EstimatePoint& point : estimate.sweep->points)
      point.joules = joules_at(*model, {real(point.counts.flops), real(point.counts.bytes)}, seconds_of(point.time));
  }
  // Of the run, or of the training step if there is one.
  const TotalWork work = total_work(estimate);
  const std::optional<double> seconds =
      estimate.training ? seconds_of(estimate.training->time) : roofline.totals.seconds;
  const std::optional<double> joules = joules_at(*model, work, seconds);
  if (!joules) return {};
  const std::optional<double> items = real(roofline.items);
  roofline.energy =
      EstimateEnergy{.precision = *precision,
                     .joules_per_flop = model->joules_per_flop,
                     .joules_per_byte = model->joules_per_byte,
                     .constant_watts = model->constant_watts,
                     .joules = *joules,
                     .work_joules = model->joules_per_flop * *work.flops,
                     .traffic_joules = model->joules_per_byte * *work.bytes,
                     .constant_joules = model->constant_watts * *seconds,
                     .flops_per_joule = *work.flops / *joules,
                     .joules_per_item = items && *items > 0 ? std::optional(*joules / *items) : std::nullopt,
                     .time_balance = time_balance(*model),
                     .energy_balance = energy_balance(*model),
                     .race_to_idle = race_to_halt(*model)};
  if (!roofline.predicted) return {};
  EstimatePrediction& predicted = *roofline.predicted;
  predicted.joules = joules_at(*model, work, predicted.seconds);
  if (predicted.joules && items && *items > 0) predicted.joules_per_item = *predicted.joules / *items;
  return {};
}

}  // namespace pagoda::estimate
