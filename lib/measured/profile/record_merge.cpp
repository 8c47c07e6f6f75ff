// Merges launches of several runs into rows. A turn is a run of the program, or an iteration in it, counted with one
// group; one turn of each group makes a whole run, launch by launch.
#include <algorithm>
#include <set>

#include "import/ncu_metrics.h"
#include "import/runs.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/plural.h"
#include "pagoda/base/text.h"
#include "pagoda/measured/record.h"

namespace pagoda::measured::profile {
namespace {

using import::add_missing, import::LaunchSample;

struct Counted {
  const ProcessRecord* process = nullptr;
  const RecordedLaunch* launch = nullptr;
  const documents::ChipMetrics* chip = nullptr;  // of its device; null: times only
  std::optional<std::size_t> device;
};

// Launches of one turn, by device, range, kernel and launch shape; each list in launch order.
struct Turn {
  std::int64_t group = 0;
  std::vector<std::string> order;
  std::map<std::string, std::vector<Counted>> launches;
};

// Different devices do not share rows, since their countable metrics and their peaks may differ.
std::string key_of(const RecordedLaunch& launch, const std::optional<std::size_t>& device) {
  return cat(device ? std::to_string(*device) : "", '\n', launch.nvtx, '\n', launch.kernel, '\n', launch.detail);
}

const documents::ChipMetrics* chip_of(const ProcessRecord& process, const RecordedLaunch& launch,
                                      const documents::ChipMetrics* other) {
  const auto device = process.device_of.find(launch.context);
  if (other == nullptr || device == process.device_of.end() || device->second.chip.empty()) return other;
  return &documents::chip_metrics(device->second.chip);
}

std::vector<Turn> turns_of(const std::vector<RecordedRun>& runs, const documents::ChipMetrics* chip,
                           const DevicesOfRuns& devices) {
  std::vector<Turn> turns;
  for (const RecordedRun& run : runs) {
    std::map<std::int64_t, std::size_t> index;  // by iteration
    const bool has_iterations = std::ranges::any_of(run, [](const ProcessRecord& process) {
      return std::ranges::any_of(process.launches, [](const RecordedLaunch& launch) { return launch.iteration >= 0; });
    });
    for (const ProcessRecord& process : run)
      for (const RecordedLaunch& launch : process.launches) {
        if (has_iterations && launch.iteration < 0) continue;  // preparation before the first iteration
        const auto [found, is_new] = index.try_emplace(launch.iteration, turns.size());
        if (is_new) turns.push_back({launch.group, {}, {}});
        Turn& turn = turns[found->second];
        const auto device = devices.place(process, launch);
        const std::string key = key_of(launch, device);
        auto& list = turn.launches[key];
        if (list.empty()) turn.order.push_back(key);
        list.push_back({&process, &launch, chip_of(process, launch, chip), device});
      }
  }
  return turns;
}

documents::MeasuredKernel described(const Counted& counted) {
  const RecordedLaunch& launch = *counted.launch;
  documents::MeasuredKernel kernel;
  kernel.name = launch.kernel;
  kernel.node = launch.node;
  kernel.nvtx = launch.nvtx;
  kernel.detail = launch.kernel == "graph" && launch.kernels > 1 ? cat(launch.kernels, " kernels") : launch.detail;
  kernel.device = counted.device;
  return kernel;
}

LaunchSample sample_of(const documents::ChipMetrics* chip, const std::map<std::string, double>& values, bool is_known) {
  if (!is_known) return chip == nullptr ? LaunchSample() : import::sample_of_amounts({}, *chip);
  if (chip == nullptr) return {documents::amount(values, "seconds")};
  return import::sample_of_amounts(documents::evaluate_metrics(*chip, values), *chip);
}

// Adds a whole run: one turn of each group. Launches that differ between the turns have unknown numbers, and their keys
// are added to `differing`.
void add_run(const std::vector<const Turn*>& turns, std::size_t run, import::KernelRows& rows,
             std::set<std::string>& differing) {
  for (const std::string& key : turns.front()->order) {
    const std::vector<Counted>& first = turns.front()->launches.at(key);
    const bool is_same = std::ranges::all_of(turns, [&](const Turn* turn) {
      const auto found = turn->launches.find(key);
      return found != turn->launches.end() && found->second.size() == first.size();
    });
    if (!is_same) differing.insert(key);
    for (std::size_t i = 0; i < first.size(); ++i) {
      std::map<std::string, double> values;
      bool is_known = is_same;
      for (std::size_t turn = 0; is_known && turn < turns.size(); ++turn) {
        const Counted& counted = turns[turn]->launches.at(key)[i];
        is_known = !counted.launch->values.empty();
        values.merge(finite_values(*counted.process, *counted.launch));
      }
      rows.add(key, described(first[i]), run, sample_of(first[i].chip, values, is_known));
    }
  }
  for (const Turn* turn : turns)
    for (const std::string& key : turn->order)
      if (!turns.front()->launches.contains(key)) differing.insert(key);
}

// Combines turns into whole runs: one of each group, in order of appearance. Left-over turns are dropped.
std::vector<std::vector<const Turn*>> whole_runs(const std::vector<Turn>& turns, std::size_t& groups) {
  std::map<std::int64_t, std::vector<const Turn*>> by_group;
  for (const Turn& turn : turns) by_group[turn.group].push_back(&turn);
  groups = by_group.size();
  std::size_t runs = turns.size();
  for (const auto& [group, list] : by_group) runs = std::min(runs, list.size());
  std::vector<std::vector<const Turn*>> result(runs);
  for (std::size_t run = 0; run < runs; ++run)
    for (const auto& [group, list] : by_group) result[run].push_back(list[run]);
  return result;
}

void add_facts(const std::vector<RecordedRun>& runs, bool has_energy, documents::Measured& measured) {
  std::set<std::string> devices, notes;
  std::int64_t lost = 0, killed = 0, processes = 0;
  std::map<std::string, std::int64_t> why;
  for (const RecordedRun& run : runs)
    for (const ProcessRecord& process : run) {
      ++processes;
      devices.insert(process.devices.begin(), process.devices.end());
      notes.insert(process.notes.begin(), process.notes.end());
      if (!process.cupti.empty()) measured.env["cupti"] = process.cupti;
      lost += process.lost_launches;
      for (const documents::Missing& missing : process.lost) ++why[missing.why];
      if (!process.has_ended) ++killed;
      if (has_energy && process.joules && process.seconds && *process.seconds >= 1)
        measured.runs.push_back({{},
                                 process.seconds,
                                 *process.joules / *process.seconds,
                                 process.joules,
                                 "from the first launch to the end"});
    }
  measured.device = base::joined(devices);
  measured.notes.insert(measured.notes.end(), notes.begin(), notes.end());
  if (processes > 1) measured.env["processes"] = processes;
  for (const auto& [text, times] : why)
    measured.notes.push_back(
        cat("counters of some launches are unknown: ", text, times > 1 ? cat(" (", times, " times)") : ""));
  if (lost > 0) measured.env["launches_without_counters"] = lost;
  if (killed > 0)
    measured.notes.push_back(
        cat(killed, " processes did not end in order; launches that were not read before are missing"));
}

// Adds requested quantities for which the sessions found no counter on the device to `missing`.
void add_uncounted(const std::vector<RecordedRun>& runs, const documents::ChipMetrics& chip,
                   std::vector<documents::Missing>& missing) {
  std::set<std::string> counted, named;
  for (const RecordedRun& run : runs)
    for (const ProcessRecord& process : run)
      for (const std::vector<std::string>& group : process.metrics) counted.insert(group.begin(), group.end());
  if (counted.empty()) return;  // nothing was counted; a note gives the reason
  for (const documents::Missing& known : missing) named.insert(known.what);
  for (const documents::MetricQuantity& quantity : chip.quantities) {
    const bool is_named = quantity.id == "bytes.dram" || quantity.id == "bytes.l2_miss" || named.contains(quantity.id);
    const auto is_counted = [&](const std::string& metric) { return counted.contains(metric); };
    if (quantity.is_amount() && !is_named && !quantity.usable(is_counted))
      missing.push_back({quantity.id, "no counter on this device measures it"});
  }
}

}  // namespace

documents::Measured measured_of(const std::vector<RecordedRun>& runs, const documents::ChipMetrics* chip,
                                const RecordOptions& options) {
  documents::Measured measured;
  measured.source = "pagoda-profile";
  measured.env["mode"] = options.mode;
  add_facts(runs, chip == nullptr, measured);  // counters change the duration of a run, and so its energy
  const DevicesOfRuns recorded = recorded_devices(runs);
  measured.devices = recorded.devices;
  const std::vector<Turn> turns = turns_of(runs, chip, recorded);
  std::size_t groups = 0;
  const auto whole = whole_runs(turns, groups);
  import::set_runs(whole.size(), options.warmup, measured);
  import::KernelRows rows;
  std::set<std::string> differing;
  for (std::size_t run = 0; run < whole.size(); ++run) add_run(whole[run], run, rows, differing);
  std::move(rows).finish(measured);
  if (!differing.empty())
    measured.notes.push_back(cat(base::counted(differing.size(), "kernel was", "kernels were"),
                                 " not launched alike in the ", groups,
                                 " runs that count different metrics; their numbers are not merged and unknown"));
  measured.missing = options.missing;
  if (chip != nullptr) add_uncounted(runs, *chip, measured.missing);
  for (const documents::MeasuredDevice& device : measured.devices)
    if (chip != nullptr && device.peaks.empty())
      add_missing(measured,
                  {{"devices.peaks", cat("CUPTI gave none for ", device.name, ", where nothing was counted")}});
  add_missing(measured, {{"seconds", "a whole run is not timed; the sum of its kernels' times is known"},
                         {"kernels.energy_joules", "no counter of energy is fine enough for one kernel"}});
  if (measured.runs.empty() && chip == nullptr)
    add_missing(measured, {{"energy", "the program's work took less than a second, or NVML has no energy counter"}});
  return measured;
}

}  // namespace pagoda::measured::profile
