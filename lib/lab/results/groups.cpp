#include "results/groups.h"

#include <algorithm>
#include <array>
#include <map>

#include "pagoda/base/cat.h"
#include "pagoda/base/statistics.h"
#include "pagoda/base/text.h"

namespace pagoda::lab::results {
namespace {

constexpr std::array<std::string_view, 10> kWorkload = {"model", "mode",       "device",  "dtype",     "batch",
                                                        "data",  "input_size", "command", "optimizer", "sequence"};
constexpr std::size_t kBlocks = 10;  // of samples, per process
constexpr std::size_t kFewestRepeats = 3;

bool is_protocol(const std::string& name) {
  return name == "repeat" || name == "model_file" || name == "model_sha256" || name == "seed" || name == "layers" ||
         name == "verify" || name.starts_with("measure.");
}

std::string named(const documents::Config& config, bool workload) {
  documents::Config part;
  for (const auto& [name, value] : config)
    if ((std::ranges::count(kWorkload, name) > 0) == workload && !is_protocol(name) && name != "model_name")
      part[name] = value;
  return documents::config_label(part);
}

}  // namespace

std::string workload_name(const documents::Config& config) { return named(config, true); }
std::string series_name(const documents::Config& config) { return named(config, false); }
std::string mode_of(const documents::Config& config) {
  const std::string mode = text_of(config, "mode");
  return mode.empty() ? "inference" : mode;
}

std::string text_of(const base::Settings& settings, const std::string& name) {
  const auto it = settings.find(name);
  return it == settings.end() || std::holds_alternative<std::monostate>(it->second) ? std::string()
                                                                                    : base::setting_text(it->second);
}

std::vector<std::string> texts_of(const base::Settings& settings, std::vector<std::string> names) {
  for (std::string& name : names) name = text_of(settings, name);
  return names;
}

documents::Config without_protocol(const documents::Config& config, const std::vector<std::string>& without) {
  documents::Config result;
  for (const auto& [name, value] : config)
    if (!is_protocol(name) && std::ranges::find(without, name) == without.end()) result[name] = value;
  return result;
}

std::vector<Group> groups(const std::vector<documents::Result>& results, const std::vector<std::string>& without) {
  std::vector<Group> list;
  std::map<std::string, std::size_t> places;
  for (const documents::Result& result : results) {
    const documents::Config config = without_protocol(result.config, without);
    const auto [place, is_new] = places.emplace(documents::canonical(config), list.size());
    if (is_new)
      list.push_back({.config = config,
                      .name = documents::config_label(config),
                      .sha256 = text_of(result.config, "model_sha256"),
                      .repeats = {},
                      .failure = {}});
    Group& group = list[place->second];
    if (result.status == documents::ResultStatus::Ok && result.timing && result.timing->latency.n > 0 &&
        result.timing->latency.p50 > 0)
      group.repeats.push_back(&result);
    else if (group.failure.empty())
      group.failure = cat(to_string(result.status), result.reason.empty() ? "" : ": ", result.reason);
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

std::optional<double> median_of(const std::vector<const documents::Result*>& repeats, std::string_view column) {
  const auto columns = number_columns();
  const auto found = std::ranges::find(columns, column, &NumberColumn::name);
  std::vector<double> known;
  for (const documents::Result* repeat : repeats)
    if (const auto value = found->value(*repeat)) known.push_back(*value);
  return known.empty() ? std::nullopt : std::optional(base::median(known));
}

std::string inputs_text(const documents::Result& result) {
  return base::joined(result.inputs, "; ", [](const documents::InputTensor& input) { return to_string(input); });
}

std::vector<std::pair<std::string, std::string>> pairs_of(std::string_view text,
                                                          const std::function<Error(const std::string&)>& error) {
  std::vector<std::pair<std::string, std::string>> list;
  for (const std::string& part : base::split(text, ",")) {
    const std::size_t equals = part.find('=');
    if (equals == std::string::npos || equals == 0) throw error(part);
    list.emplace_back(part.substr(0, equals), part.substr(equals + 1));
  }
  return list;
}

}  // namespace pagoda::lab::results

namespace pagoda::lab {
namespace {

bool has_accelerator(const documents::Result& result, const std::string& wanted) {
  if (results::text_of(result.config, "device") == wanted) return true;
  for (const char* fact : {"gpu", "device", "device_kind", "cpu"})
    if (base::lower(results::text_of(result.metadata, fact)).find(base::lower(wanted)) != std::string::npos)
      return true;
  return false;
}

bool is_training(const documents::Result& result) { return results::text_of(result.config, "mode") == "training"; }

bool holds(const documents::Result& result, const std::string& axis, const std::string& value) {
  if (axis == "accelerator") return has_accelerator(result, value);
  if (axis == "test" && (value == "train" || value == "training")) return is_training(result);
  if (axis == "test" && (value == "eval" || value == "inference")) return !is_training(result);
  return results::text_of(result.config, axis) == value;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> conditions_of(std::string_view text) {
  return results::pairs_of(
      text, [](const std::string& part) { return Error("\"" + part + "\": expected AXIS=VALUE, like compile=eager"); });
}

std::vector<documents::Result> results_where(const std::vector<documents::Result>& results,
                                             const std::vector<std::string>& conditions) {
  std::vector<documents::Result> left = results;
  for (const std::string& text : conditions)
    for (const auto& [axis, value] : conditions_of(text))
      std::erase_if(left, [&, &a = axis, &v = value](const documents::Result& r) { return !holds(r, a, v); });
  if (left.empty() && !results.empty()) throw Error("\"" + base::joined(conditions) + "\": no record has these values");
  return left;
}

documents::Measured runs_where(documents::Measured measured, const std::vector<std::string>& conditions) {
  const std::vector<std::string> names = results::setting_names(measured.runs, &documents::MeasuredRun::config);
  for (const std::string& text : conditions)
    for (const auto& [axis, value] : conditions_of(text)) {
      if (std::ranges::find(names, axis) == names.end())
        throw Error(cat("\"", axis, "=", value, "\": the runs have no such setting; theirs are: ",
                        names.empty() ? "none" : base::joined(names)));
      std::erase_if(measured.runs, [&, &a = axis, &v = value](const documents::MeasuredRun& run) {
        return results::text_of(run.config, a) != v;
      });
    }
  if (measured.runs.empty() && !conditions.empty())
    throw Error("\"" + base::joined(conditions) + "\": no run has these values");
  return measured;
}

}  // namespace pagoda::lab
