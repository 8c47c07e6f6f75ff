// Settings as text lines: reading them inside a foreign program needs no library.
#include "settings.h"

#include "pagoda/base/number.h"
#include "pagoda/base/record_line.h"

namespace pagoda::tools::profile {
namespace {

using base::escaped;
using base::split_line;

constexpr std::string_view kCollect[] = {"times", "launches", "ranges"};

std::uint64_t number(const std::string& word) { return base::parse_number<std::uint64_t>(word).value_or(0); }

}  // namespace

std::string write_settings(const Settings& settings) {
  std::string text;
  const auto add = [&](std::string_view key, std::string_view value) {
    ((text += key) += '\t') += escaped(value);
    text += '\n';
  };
  add("folder", settings.folder);
  add("collect", kCollect[static_cast<std::size_t>(settings.collect)]);
  add("batch", std::to_string(settings.batch));
  add("nvtx", settings.nvtx);
  add("kernel", settings.kernel);
  add("iteration", settings.iteration);
  add("skip", std::to_string(settings.skip));
  if (settings.count) add("count", std::to_string(*settings.count));
  if (settings.keep_raw) add("keep_raw", "1");
  if (settings.list_ranges) add("list_ranges", "1");
  if (settings.replay) add("replay", "1");
  add("cupti", settings.cupti);
  add("nvml", settings.nvml);
  for (const auto& [chip, groups] : settings.groups)
    for (const std::vector<std::string>& group : groups) {
      text += "group\t" + escaped(chip);
      for (const std::string& metric : group) text += '\t' + escaped(metric);
      text += '\n';
    }
  return text;
}

Settings parse_settings(std::string_view text) {
  Settings settings;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::vector<std::string> words = split_line(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (words.size() < 2) continue;
    const std::string &key = words[0], &value = words[1];
    if (key == "folder") settings.folder = value;
    if (key == "batch" && number(value) > 0) settings.batch = number(value);
    if (key == "nvtx") settings.nvtx = value;
    if (key == "kernel") settings.kernel = value;
    if (key == "iteration") settings.iteration = value;
    if (key == "skip") settings.skip = number(value);
    if (key == "count") settings.count = number(value);
    if (key == "keep_raw") settings.keep_raw = true;
    if (key == "list_ranges") settings.list_ranges = true;
    if (key == "replay") settings.replay = true;
    if (key == "cupti") settings.cupti = value;
    if (key == "nvml") settings.nvml = value;
    if (key == "group") settings.groups[value].emplace_back(words.begin() + 2, words.end());
    for (std::size_t i = 0; key == "collect" && i < std::size(kCollect); ++i)
      if (value == kCollect[i]) settings.collect = static_cast<Collect>(i);
  }
  return settings;
}

}  // namespace pagoda::tools::profile
