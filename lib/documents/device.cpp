// Devices by name and from files; device_json.cpp reads the documents.
#include "pagoda/documents/device.h"

#include "device_json.h"
#include "embedded.h"
#include "pagoda/base/files.h"

namespace pagoda::documents {
namespace {

std::string join(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) (list += list.empty() ? "" : ", ") += name;
  return list;
}

constexpr std::size_t kMaxFileBytes = 16 << 20;  // a device file has a few kB, a full ceilings file some hundred

}  // namespace

std::vector<std::string> device_ids() {
  std::vector<std::string> ids;
  for (const base::EmbeddedFile& file : documents::device_files())
    ids.emplace_back(file.name.substr(0, file.name.rfind('.')));
  return ids;
}

DeviceSpec device(std::string_view name) {
  const std::size_t colon = name.find(':');
  const std::string_view id = name.substr(0, colon);
  for (const base::EmbeddedFile& file : documents::device_files()) {
    if (file.name != std::string(id) + ".json") continue;
    const DeviceSpec spec = parse_device(file.text, id);
    return colon == std::string_view::npos ? spec : in_power_mode(spec, name.substr(colon + 1));
  }
  throw UnknownDevice("device \"" + std::string(name) + "\" is not known; known: " + join(device_ids()) +
                      "; or give a device or ceilings file");
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
  const bool is_path = name_or_path.find_first_of("/\\") != std::string_view::npos || name_or_path.ends_with(".json");
  return is_path ? load_device(std::string(name_or_path)) : device(name_or_path);
}

}  // namespace pagoda::documents
