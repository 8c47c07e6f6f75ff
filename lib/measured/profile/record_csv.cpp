// Writes a record as a table of Nsight Compute: one column per metric, a row of units below the header, one row per
// launch.
#include <algorithm>
#include <set>

#include "pagoda/base/text.h"
#include "pagoda/measured/record.h"

namespace pagoda::measured::profile {
namespace {

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) result += c == '"' ? std::string("\"\"") : std::string(1, c);
  return result + "\"";
}

std::string unit(const std::string& metric) {
  if (metric == "seconds") return "second";
  if (metric.starts_with("gpu__time")) return "nsecond";
  if (metric.find("bytes") != std::string::npos) return "byte";
  return metric.find("cycles") != std::string::npos ? "cycle" : "";
}

std::vector<std::string> recorded_metrics(const std::vector<RecordedRun>& runs) {
  std::vector<std::string> metrics;
  for (const RecordedRun& run : runs)
    for (const ProcessRecord& process : run)
      for (const auto& group : process.metrics)
        for (const std::string& metric : group)
          if (std::ranges::find(metrics, metric) == metrics.end()) metrics.push_back(metric);
  return metrics;
}

// Grid, block and range as ncu prints them.
std::vector<std::string> head(const ProcessRecord& process, const RecordedLaunch& launch, std::size_t id) {
  const std::size_t comma = launch.detail.find(", block ");
  const bool has_grid = launch.detail.starts_with("grid ") && comma != std::string::npos;
  // Domain, name, six fields of payload, colour and message.
  const std::string range =
      launch.nvtx.empty() ? "" : "\"<default domain>:" + launch.nvtx + ":none:none:none:none:none:none\"";
  return {std::to_string(id),
          process.process,
          launch.kernel,
          launch.context,
          has_grid ? launch.detail.substr(5, comma - 5) : "",
          has_grid ? launch.detail.substr(comma + 8) : "",
          range,
          launch.node};
}

}  // namespace

std::string record_csv(const std::vector<RecordedRun>& runs) {
  const std::vector<std::string> metrics = recorded_metrics(runs);
  const DevicesOfRuns recorded = recorded_devices(runs);
  std::set<std::string> peaks;
  for (const documents::MeasuredDevice& device : recorded.devices)
    for (const auto& [of, peak] : device.peaks) peaks.insert(of);
  std::string text, units;
  const auto column = [&](const std::string& name, const std::string& in) {
    text += (text.empty() ? "" : ",") + quoted(name);
    units += (units.empty() ? "" : ",") + quoted(in);
  };
  for (const char* name :
       {"ID", "Process ID", "Kernel Name", "Context", "Grid Size", "Block Size", "NVTX Range", "Node"})
    column(name, "");
  for (const std::string& metric : metrics)
    column(metric == "seconds" ? "gpu__time_duration.sum" : metric, unit(metric));
  for (const std::string& of : peaks) column("share_of_peak." + of, "%");
  text += "\n" + units + "\n";
  std::size_t id = 0;
  for (const RecordedRun& run : runs)
    for (const ProcessRecord& process : run)
      for (const RecordedLaunch& launch : process.launches) {
        std::string row = base::joined(head(process, launch, id++), ",", quoted);
        for (const std::string& metric : metrics) {
          std::string cell = "n/a";
          if (!launch.values.empty()) {
            const auto& names = process.metrics[launch.metrics];
            const auto found = std::ranges::find(names, metric);
            if (found != names.end())
              cell = base::shortest(launch.values[static_cast<std::size_t>(found - names.begin())]);
          }
          row += "," + quoted(cell);
        }
        std::map<std::string, double> shares;
        if (const auto place = recorded.place(process, launch); place && !recorded.devices[*place].peaks.empty()) {
          const documents::MeasuredDevice& device = recorded.devices[*place];
          shares = launch_shares(launch_amounts(process, launch, documents::chip_metrics(device.chip)), device);
        }
        for (const std::string& of : peaks)
          row += "," + quoted(shares.contains(of) ? base::shortest(100 * shares.at(of)) : "n/a");
        text += row + "\n";
      }
  return text;
}

}  // namespace pagoda::measured::profile
