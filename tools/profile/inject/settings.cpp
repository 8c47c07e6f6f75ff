// Settings as text lines: reading them inside a foreign program needs no library.
#include "settings.h"

#include <utility>

#include "pagoda/base/cat.h"
#include "pagoda/base/enum_names.h"
#include "pagoda/base/number.h"
#include "pagoda/base/record_line.h"

namespace pagoda::tools::profile {
namespace {

using base::escaped, base::split_line;

constexpr base::EnumNames<Collect::Ranges> kCollect("times", "launches", "ranges");

// Members by key.
constexpr std::pair<std::string_view, std::string Settings::*> kTexts[] = {
    {"folder", &Settings::folder},       {"nvtx", &Settings::nvtx},   {"kernel", &Settings::kernel},
    {"iteration", &Settings::iteration}, {"cupti", &Settings::cupti}, {"nvml", &Settings::nvml}};
constexpr std::pair<std::string_view, bool Settings::*> kFlags[] = {
    {"keep_raw", &Settings::keep_raw}, {"list_ranges", &Settings::list_ranges}, {"replay", &Settings::replay}};

}  // namespace

std::string write_settings(const Settings& settings) {
  std::string text;
  const auto add = [&](std::string_view key, std::string_view value) { text += cat(key, "\t", escaped(value), "\n"); };
  for (const auto& [key, member] : kTexts) add(key, settings.*member);
  for (const auto& [key, member] : kFlags)
    if (settings.*member) add(key, "1");
  add("collect", kCollect[settings.collect]);
  add("batch", cat(settings.batch));
  add("skip", cat(settings.skip));
  if (settings.count) add("count", cat(*settings.count));
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
    for (const auto& [name, member] : kTexts)
      if (key == name) settings.*member = value;
    for (const auto& [name, member] : kFlags)
      if (key == name) settings.*member = true;
    const auto number = base::parse_number<std::uint64_t>(value);
    if (key == "batch" && number.value_or(0) > 0) settings.batch = *number;
    if (key == "skip") settings.skip = number.value_or(0);
    if (key == "count") settings.count = number.value_or(0);
    if (key == "group") settings.groups[value].emplace_back(words.begin() + 2, words.end());
    if (key == "collect") settings.collect = kCollect.value(value).value_or(settings.collect);
  }
  return settings;
}

}  // namespace pagoda::tools::profile
