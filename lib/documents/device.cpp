// Devices by name and from files; device_json.cpp reads the documents.
#include "pagoda/documents/device.h"

#include <algorithm>

#include "device_json.h"
#include "embedded.h"
#include "pagoda/base/files.h"
#include "pagoda/base/text.h"

namespace pagoda::documents {
namespace {

struct Alias {
  std::string_view name, id;
};
constexpr Alias kAliases[] = {{"h100", "h100-sxm"}, {"a100", "a100-80gb"}};

// What of a name counts: letters and digits, without case.
std::string letters(std::string_view name) {
  std::string result = base::lower(name);
  std::erase_if(result, [](char c) { return c == ' ' || c == '-' || c == '_'; });
  return result;
}

const Alias* alias_of(std::string_view name) {
  for (const Alias& alias : kAliases)
    if (alias.name == letters(name)) return &alias;
  return nullptr;
}

// The ids that may be meant: those that hold the name, else those that a few letters more or less turn into it.
std::vector<std::string> nearest(std::string_view name) {
  constexpr std::size_t kMost = 3;
  const std::string wanted = letters(name);
  std::vector<std::pair<std::size_t, std::string>> found;
  for (const std::string& id : device_ids()) {
    const std::size_t distance = base::edit_distance(wanted, letters(id));
    const bool holds = wanted.size() > 1 && letters(id).find(wanted) != std::string::npos;
    if (holds || distance <= std::max<std::size_t>(1, wanted.size() / 3)) found.emplace_back(distance, id);
  }
  std::sort(found.begin(), found.end());
  std::vector<std::string> ids;
  for (std::size_t i = 0; i < std::min(kMost, found.size()); ++i) ids.push_back(found[i].second);
  return ids;
}

bool is_path(std::string_view name) {
  return name.find_first_of("/\\") != std::string_view::npos || name.ends_with(".json");
}

// "30w" is a mode of the device, "gpu=918MHz" clocks of one's own; nothing: as it is stated.
DeviceSpec in_mode(const DeviceSpec& spec, std::string_view mode) {
  if (mode.empty()) return spec;
  return mode.find('=') == std::string_view::npos ? in_power_mode(spec, base::lower(mode))
                                                  : at_clocks(spec, base::lower(mode));
}

constexpr std::size_t kMaxFileBytes = 16 << 20;  // a device file has a few kB, a full ceilings file some hundred

}  // namespace

std::vector<std::string> device_ids() { return ids_of(device_files()); }

std::string alias_note(std::string_view name) {
  const Alias* alias = alias_of(name.substr(0, name.find(':')));
  return alias == nullptr ? "" : std::string(alias->name) + " is taken for " + std::string(alias->id);
}

std::pair<std::string_view, std::string_view> split_mode(std::string_view name) {
  constexpr std::string_view kEnd = ".json:";
  std::size_t colon = name.rfind(kEnd);
  if (colon != std::string_view::npos)
    colon += kEnd.size() - 1;
  else if (!is_path(name))
    colon = name.find(':');
  if (colon == std::string_view::npos) return {name, {}};
  return {name.substr(0, colon), name.substr(colon + 1)};
}

std::vector<std::string> split_devices(std::string_view list) {
  std::vector<std::string> names;
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    const std::string_view item = list.substr(0, comma);
    const bool is_clock = !names.empty() && names.back().find(':') != std::string::npos &&
                          item.find('=') != std::string_view::npos && item.find_first_of(":/") == std::string_view::npos;
    if (is_clock)
      (names.back() += ",") += item;
    else if (!item.empty())
      names.emplace_back(item);
    list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
  }
  return names;
}

std::string device_text(std::string_view name) {
  if (is_path(name)) return base::read_file(std::string(name), "a device or ceilings file", kMaxFileBytes);
  const Alias* alias = alias_of(name);
  const std::string wanted = letters(alias == nullptr ? name : alias->id);
  for (const base::EmbeddedFile& file : documents::device_files())
    if (letters(id_of(file)) == wanted) return std::string(file.text);
  const std::vector<std::string> near = nearest(name);
  throw UnknownDevice("device \"" + std::string(name) + "\" is not known; " +
                      (near.empty() ? "" : "did you mean " + base::joined(near) + "? ") +
                      "known: " + base::joined(device_ids()) + "; or give a device or ceilings file");
}

DeviceSpec device(std::string_view name) {
  const auto [id, mode] = split_mode(name);
  return in_mode(parse_device(device_text(id), id), mode);
}

DeviceSpec parse_device(std::string_view json, std::string_view subject) {
  const base::JsonDocument document =
      base::parse_json(json, subject, "expected pagoda.device/1 or a file of ert-ceilings --json");
  const std::string schema = document.schema();
  if (schema == "pagoda.device/1") return read_device(document);
  if (schema == "pagoda.ceilings/1") return read_ceilings(document);
  base::fail(subject, "schema " + (schema.empty() ? "is missing" : "\"" + schema + "\" is not known") +
                          "; expected pagoda.device/1 or pagoda.ceilings/1");
}

DeviceSpec load_device(const std::string& path) {
  return parse_device(base::read_file(path, "a device or ceilings file", kMaxFileBytes), path);
}

DeviceSpec find_device(std::string_view name_or_path) {
  const auto [name, mode] = split_mode(name_or_path);
  return is_path(name) ? in_mode(load_device(std::string(name)), mode) : device(name_or_path);
}

}  // namespace pagoda::documents
