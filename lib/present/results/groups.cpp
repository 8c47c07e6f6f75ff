#include "results/groups.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "pagoda/base/statistics.h"
#include "pagoda/measured/axes.h"

namespace pagoda::present::results {
namespace {

constexpr std::array<std::string_view, 10> kWorkload = {"model", "mode",       "device",  "dtype",     "batch",
                                                        "data",  "input_size", "command", "optimizer", "sequence"};
constexpr std::size_t kBlocks = 10;  // of the samples of a process
constexpr std::size_t kFewestRepeats = 3;

bool is_protocol(const std::string& name) {
  return name == "repeat" || name == "model_file" || name == "model_sha256" || name == "seed" || name == "layers" ||
         name == "verify" || name.starts_with("measure.");
}

std::string named(const documents::Config& config, bool workload) {
  documents::Config part;
  for (const auto& [name, value] : config)
    if (is_workload_axis(name) == workload && !is_protocol(name) && name != "model_name") part[name] = value;
  return documents::config_label(part);
}

}  // namespace

bool is_workload_axis(const std::string& axis) {
  return std::find(kWorkload.begin(), kWorkload.end(), axis) != kWorkload.end();
}
std::string workload_name(const documents::Config& config) { return named(config, true); }
std::string series_name(const documents::Config& config) { return named(config, false); }

std::string text_of(const base::Settings& settings, const std::string& name) {
  const auto it = settings.find(name);
  return it == settings.end() || std::holds_alternative<std::monostate>(it->second) ? std::string()
                                                                                    : base::setting_text(it->second);
}

documents::Config without_protocol(const documents::Config& config, const std::vector<std::string>& without) {
  documents::Config result;
  for (const auto& [name, value] : config)
    if (!is_protocol(name) && std::find(without.begin(), without.end(), name) == without.end()) result[name] = value;
  return result;
}

std::vector<Group> groups(const std::vector<documents::Result>& results, const std::vector<std::string>& without) {
  std::vector<Group> list;
  std::map<std::string, std::size_t> places;
  for (const documents::Result& result : results) {
    const documents::Config config = without_protocol(result.config, without);
    const auto [place, is_new] = places.emplace(documents::canonical(config), list.size());
    if (is_new)
      list.push_back({.name = documents::config_label(config),
                      .model = text_of(config, "model"),
                      .sha256 = text_of(result.config, "model_sha256"),
                      .repeats = {},
                      .failure = {}});
    Group& group = list[place->second];
    if (result.status == documents::ResultStatus::Ok && result.timing && result.timing->latency.n > 0 &&
        result.timing->latency.p50 > 0)
      group.repeats.push_back(&result);
    else if (group.failure.empty())
      group.failure = std::string(to_string(result.status)) + (result.reason.empty() ? "" : ": " + result.reason);
  }
  return list;
}

Units units(const Group& group) {
  Units result;
  result.are_repeats = group.repeats.size() >= kFewestRepeats;
  for (const documents::Result* repeat : group.repeats) {
    const base::Latency& latency = repeat->timing->latency;
    if (result.are_repeats) {
      result.logs.push_back(std::log(latency.p50));
      continue;
    }
    const std::size_t count = latency.samples.size(), blocks = std::min(count, kBlocks);
    for (std::size_t b = 0; b < blocks; ++b) {
      const auto at = [&](std::size_t i) { return latency.samples.begin() + static_cast<std::ptrdiff_t>(i); };
      const std::vector<double> block(at(b * count / blocks), at((b + 1) * count / blocks));
      if (const double middle = base::median(block); middle > 0) result.logs.push_back(std::log(middle));
    }
  }
  return result;
}

double median_seconds(const Group& group) {
  std::vector<double> medians;
  for (const documents::Result* repeat : group.repeats) medians.push_back(repeat->timing->latency.p50);
  return base::median(medians);
}

}  // namespace pagoda::present::results
