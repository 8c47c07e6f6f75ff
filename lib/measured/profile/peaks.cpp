// Evaluates what the devices of a record report: clocks while kernels ran, peaks, and the share of a peak that a kernel
// reached.
#include <cmath>

#include "pagoda/base/cat.h"
#include "pagoda/measured/record.h"

namespace pagoda::measured::profile {
namespace {

// The clock of a quantity's peak: for bytes the clock of their memory level, else the SM's.
std::string clock_of(std::string_view of) {
  const documents::QuantityName name = documents::quantity_name(of);
  return name.kind == documents::QuantityKind::Bytes ? std::string(name.of) : "sm";
}
std::string cycles_of(const std::string& clock) { return clock == "sm" ? "cycles" : "cycles." + clock; }

using ClockSums = std::map<std::string, std::pair<double, double>>;  // cycles, and seconds of launches with both

}  // namespace

std::map<std::string, double> shares_of_peak(const documents::MeasuredKernel& kernel,
                                             const documents::MeasuredDevice& device) {
  std::map<std::string, double> shares;
  if (!kernel.seconds || !(*kernel.seconds > 0)) return shares;
  const auto add = [&](const std::string& of, const std::optional<double>& amount) {
    const auto peak = device.peaks.find(of);
    if (amount && peak != device.peaks.end() && peak->second.per_second.value_or(0) > 0)
      shares[of] = *amount / *kernel.seconds / *peak->second.per_second;
  };
  for (const auto& [precision, flops] : kernel.flops) add(precision, flops);
  for (const documents::LevelField& level : documents::kLevels)
    add(cat("bytes.", level.name), kernel.bytes.*level.bytes);
  return shares;
}

std::map<std::string, double> finite_values(const ProcessRecord& process, const RecordedLaunch& launch) {
  std::map<std::string, double> values;
  for (std::size_t i = 0; i < launch.values.size(); ++i)
    if (std::isfinite(launch.values[i])) values[process.metrics[launch.metrics][i]] = launch.values[i];
  return values;
}

std::map<std::string, double> launch_amounts(const ProcessRecord& process, const RecordedLaunch& launch,
                                             const documents::ChipMetrics& chip) {
  if (launch.values.empty()) return {};
  return documents::evaluate_metrics(chip, finite_values(process, launch));
}

DevicesOfRuns recorded_devices(const std::vector<RecordedRun>& runs) {
  DevicesOfRuns result;
  std::vector<const RecordedDevice*> recorded;  // one per device of the result
  std::vector<ClockSums> sums;
  const auto place = [&](const RecordedDevice& device) {
    for (std::size_t i = 0; i < recorded.size(); ++i) {
      if (recorded[i]->chip != device.chip || recorded[i]->name != device.name) continue;
      if (recorded[i]->peaks.empty()) recorded[i] = &device;  // a process that counted nothing has no peaks
      if (device.peaks.empty() || recorded[i]->peaks == device.peaks) return i;
    }
    recorded.push_back(&device);
    sums.emplace_back();
    return recorded.size() - 1;
  };
  for (const RecordedRun& run : runs)
    for (const ProcessRecord& process : run) {
      for (const auto& [context, device] : process.device_of) result.places[{&process, context}] = place(device);
      for (const RecordedLaunch& launch : process.launches) {
        const auto found = result.place(process, launch);
        const documents::ChipMetrics* const chip =
            found ? documents::find_chip_metrics(recorded[*found]->chip) : nullptr;
        if (chip == nullptr) continue;
        const auto amounts = launch_amounts(process, launch, *chip);
        const auto seconds = amounts.find("seconds");
        if (seconds == amounts.end()) continue;
        for (const char* clock : {"sm", "l1", "l2", "dram"})
          if (const auto cycles = amounts.find(cycles_of(clock)); cycles != amounts.end()) {
            auto& [all_cycles, all_seconds] = sums[*found][clock];
            all_cycles += cycles->second;
            all_seconds += seconds->second;
          }
      }
    }
  for (std::size_t i = 0; i < recorded.size(); ++i) {
    documents::MeasuredDevice device{recorded[i]->name, recorded[i]->chip, {}, {}};
    for (const auto& [clock, sum] : sums[i])
      if (sum.first > 0 && sum.second > 0) device.clocks[clock] = sum.first / sum.second;
    if (const documents::ChipMetrics* const chip = documents::find_chip_metrics(recorded[i]->chip))
      for (const auto& [id, per_cycle] : documents::evaluate_metrics(*chip, recorded[i]->peaks)) {
        const documents::QuantityName name = documents::quantity_name(id);
        if (name.kind != documents::QuantityKind::Peak || !std::isfinite(per_cycle) || !(per_cycle > 0)) continue;
        const std::string of(name.of);
        const auto hz = device.clocks.find(clock_of(of));
        device.peaks[of] = {per_cycle,
                            hz == device.clocks.end() ? std::nullopt : std::optional(per_cycle * hz->second)};
      }
    result.devices.push_back(std::move(device));
  }
  return result;
}

std::map<std::string, double> launch_shares(const std::map<std::string, double>& amounts,
                                            const documents::MeasuredDevice& device) {
  std::map<std::string, double> shares;
  for (const auto& [of, peak] : device.peaks) {
    const auto amount =
        amounts.find(documents::quantity_name(of).kind == documents::QuantityKind::Bytes ? of : "flops." + of);
    const auto cycles = amounts.find(cycles_of(clock_of(of)));
    if (amount != amounts.end() && cycles != amounts.end() && cycles->second > 0)
      shares[of] = amount->second / (peak.per_cycle * cycles->second);
  }
  return shares;
}

documents::Measured of_chip(const documents::Measured& measured, const std::string& chip) {
  documents::Measured part = measured;
  std::erase_if(part.kernels, [&](const documents::MeasuredKernel& kernel) {
    return !kernel.device || measured.devices[*kernel.device].chip != chip;
  });
  return part;
}

std::vector<std::vector<std::string>> session_metrics(const documents::MetricPlan& plan, documents::MetricMode mode) {
  std::vector<std::vector<std::string>> lists;
  for (const documents::MetricGroup& group : plan.groups) {
    if (mode == documents::MetricMode::Exact && !lists.empty())
      lists.front().insert(lists.front().end(), group.metrics.begin(), group.metrics.end());
    else
      lists.push_back(group.metrics);
  }
  for (std::vector<std::string>& list : lists) list.insert(list.end(), plan.constants.begin(), plan.constants.end());
  return lists;
}

}  // namespace pagoda::measured::profile
