#include "pagoda/documents/measured_runs.h"

#include <algorithm>
#include <array>

namespace pagoda::documents {
namespace {

// What files call the batch whose dims are not named so.
constexpr std::array<const char*, 4> kBatchNames = {"batch", "batch_size", "N", "n"};

std::optional<std::int64_t> integer_of(const base::Setting& setting) {
  if (const auto* integer = std::get_if<std::int64_t>(&setting)) return *integer;
  return std::nullopt;
}

// The dim of the estimate that a setting of a run is the size of; empty: none.
std::string dim_of(const EstimateDocument& estimate, const std::string& setting) {
  if (estimate.bindings.contains(setting)) return setting;
  if (setting == "batch")
    for (const char* name : kBatchNames)
      if (estimate.bindings.contains(name)) return name;
  return {};
}

}  // namespace

std::vector<MeasuredRun> whole_runs(const Measured& measured) {
  if (!measured.runs.empty()) return measured.runs;
  MeasuredRun run;
  run.config = measured.env;
  run.seconds = measured.seconds ? measured.seconds : measured.kernel_seconds();
  return run.seconds ? std::vector{run} : std::vector<MeasuredRun>();
}

Bindings run_sizes(const EstimateDocument& estimate, const base::Settings& config, std::string& problem) {
  Bindings sizes;
  for (const auto& [name, setting] : config) {
    const std::optional<std::int64_t> size = integer_of(setting);
    const std::string dim = dim_of(estimate, name);
    if (!size || dim.empty()) continue;
    const std::optional<std::int64_t>& bound = estimate.bindings.at(dim);
    if (!bound)
      sizes[dim] = *size;
    else if (*bound != *size)
      problem = "it ran " + dim + "=" + std::to_string(*size) + ", the estimate is of " + std::to_string(*bound) +
                "; leave the dim free, or estimate that size";
  }
  return sizes;
}

std::string run_label(const MeasuredRun& run, const std::vector<MeasuredRun>& runs) {
  std::string label;
  for (const auto& [name, setting] : run.config) {
    const bool differs = std::any_of(runs.begin(), runs.end(), [&key = name, &value = setting](const auto& other) {
      const auto found = other.config.find(key);
      return found == other.config.end() || found->second != value;
    });
    if (differs) label += (label.empty() ? "" : ", ") + name + "=" + base::setting_text(setting);
  }
  return label;
}

}  // namespace pagoda::documents
