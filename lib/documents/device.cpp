// Devices by name and from files; device_json.cpp reads the documents.
#include "pagoda/documents/device.h"

#include <algorithm>

#include "device_json.h"
#include "embedded.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/files.h"
#include "pagoda/base/open_file.h"
#include "pagoda/base/text.h"
#include "pagoda/documents/measured.h"
#include "pagoda/documents/metrics.h"

namespace pagoda::documents {
namespace {

// A name as it is compared: in lower case, without spaces, hyphens and underscores.
std::string letters(std::string_view name) {
  std::string result = base::lower(name);
  std::erase_if(result, [](char c) { return c == ' ' || c == '-' || c == '_'; });
  return result;
}

// The built-in file that states this alias; null if none does.
const base::EmbeddedFile* file_of_alias(std::string_view name) {
  const std::string wanted = letters(name);
  for (const base::EmbeddedFile& file : device_files()) {
    if (file.text.find("\"aliases\"") == std::string_view::npos) continue;
    const base::JsonDocument document = base::parse_json(file.text, id_of(file), "expected pagoda.device/1");
    for (const std::string& alias : document.root().texts("aliases"))
      if (letters(alias) == wanted) return &file;
  }
  return nullptr;
}

// Older drivers leave out the vendor.
std::string_view without_vendor(std::string_view driver_name) {
  constexpr std::string_view kVendor = "NVIDIA ";
  return driver_name.starts_with(kVendor) ? driver_name.substr(kVendor.size()) : driver_name;
}

// The ids that may be meant: first those that are part of the name ("v100-sxm2") or contain it ("4090"), then those at
// a small edit distance.
std::vector<std::string> nearest(std::string_view name) {
  constexpr std::size_t kMost = 3;
  const std::string wanted = letters(name);
  std::vector<std::pair<std::size_t, std::string>> found;
  for (const std::string& id : device_ids()) {
    const std::size_t distance = base::edit_distance(wanted, letters(id));
    const std::string candidate = letters(id);
    const bool is_part = wanted.size() > 1 && (candidate.find(wanted) != std::string::npos ||
                                               (candidate.size() > 2 && wanted.find(candidate) != std::string::npos));
    if (is_part || distance <= std::max<std::size_t>(1, wanted.size() / 3))
      found.emplace_back(is_part ? 0 : distance, id);
  }
  std::sort(found.begin(), found.end());
  std::vector<std::string> ids;
  for (std::size_t i = 0; i < std::min(kMost, found.size()); ++i) ids.push_back(found[i].second);
  return ids;
}

// "30w" selects a power mode of the device, "gpu=918MHz" custom clocks; empty: the device unchanged.
DeviceSpec in_mode(const DeviceSpec& spec, std::string_view mode) {
  if (mode.empty()) return spec;
  return mode.find('=') == std::string_view::npos ? in_power_mode(spec, base::lower(mode))
                                                  : at_clocks(spec, base::lower(mode));
}

// A device from the peaks that a measured device reported, at the clocks of the run: the roofs for its kernels.
DeviceSpec device_of(const MeasuredDevice& measured) {
  const std::string source = cat("reported by the device at the clock of the run (",
                                 measured.chip.empty() ? "chip not said" : measured.chip, ")");
  const Quantity unknown{std::nullopt, "not in a measurement"};
  DeviceSpec spec;
  spec.id = base::lower(measured.chip.empty() ? "measured" : measured.chip);
  spec.name = measured.name.empty() ? spec.id : measured.name;
  spec.kind = "gpu";
  spec.units = spec.boost_clock_hz = spec.tensor_clock_hz = spec.memory_clock_hz = spec.watts = unknown;
  spec.launch_overhead_seconds = spec.special_per_second = unknown;
  if (const auto clock = measured.clocks.find("sm"); clock != measured.clocks.end())
    spec.boost_clock_hz = {clock->second, "mean while kernels ran"};
  constexpr std::string_view kTensor = ".tensor";
  for (const auto& [of, peak] : measured.peaks) {
    if (!peak.per_second) continue;
    const bool is_tensor = of.ends_with(kTensor);
    const std::string name = is_tensor ? of.substr(0, of.size() - kTensor.size()) : of;
    if (const QuantityName level = quantity_name(of); level.kind == QuantityKind::Bytes)
      spec.levels.push_back({std::string(level.of), {*peak.per_second, source}, unknown});
    else if (const std::optional<Precision> type = precision(name))
      spec.peaks.push_back({*type, is_tensor ? Unit::Tensor : Unit::Vector, std::nullopt, {*peak.per_second, source}});
  }
  // Slowest level (DRAM) first.
  std::ranges::stable_sort(spec.levels, {}, [](const MemoryLevel& level) { return *level.bytes_per_second.value; });
  return spec;
}

DeviceSpec read_measured(std::string_view json, std::string_view subject) {
  const Measured measured = parse_measured(json, subject);
  for (const MeasuredDevice& device : measured.devices)
    if (DeviceSpec spec = device_of(device); !spec.peaks.empty() && spec.level("dram") != nullptr) return spec;
  base::fail(
      subject,
      "names no device with peaks of arithmetic and memory; expected a measurement by pagoda-profile's counters, "
      "or another device");
}

constexpr std::string_view kDeviceFile = "a device or ceilings file";
constexpr std::size_t kMaxFileBytes = 4 << 20;  // a device file has a few kB, a full ceilings file some hundred kB

}  // namespace

std::vector<std::string> device_ids() { return ids_of(device_files()); }

std::string alias_note(std::string_view name) {
  name = name.substr(0, name.find(':'));
  const base::EmbeddedFile* file = file_of_alias(name);
  return file == nullptr ? "" : cat(letters(name), " is taken for ", id_of(*file));
}

std::pair<std::string_view, std::string_view> split_mode(std::string_view name) {
  constexpr std::string_view kEnd = ".json:";
  std::size_t colon = name.rfind(kEnd);
  if (colon != std::string_view::npos)
    colon += kEnd.size() - 1;
  else if (!base::is_path(name))
    colon = name.find(':');
  if (colon == std::string_view::npos) return {name, {}};
  return {name.substr(0, colon), name.substr(colon + 1)};
}

std::vector<std::string> split_devices(std::string_view list) {
  std::vector<std::string> names;
  for (const std::string& item : base::split(list, ",")) {
    const bool is_clock = !names.empty() && names.back().find(':') != std::string::npos &&
                          item.find('=') != std::string::npos && item.find_first_of(":/") == std::string::npos;
    if (is_clock)
      (names.back() += ",") += item;
    else if (!item.empty())
      names.push_back(item);
  }
  return names;
}

std::string device_text(std::string_view name) {
  // A file of another kind is named by its reader; identifiers have no points.
  if (base::is_path(name) || (name.find('.') != std::string_view::npos && base::file_state(std::string(name))))
    return base::read_text(std::string(name), kDeviceFile, base::Reads::Json, kMaxFileBytes);
  const std::string wanted = letters(name);
  for (const base::EmbeddedFile& file : device_files())
    if (letters(id_of(file)) == wanted) return std::string(file.text);
  if (const base::EmbeddedFile* file = file_of_alias(name)) return std::string(file->text);
  const std::vector<std::string> near = nearest(name);
  throw UnknownDevice(cat("device \"", name, "\" is not known; ",
                          near.empty() ? "" : cat("did you mean ", base::joined(near), "? "),
                          "known: ", base::joined(device_ids()), "; or give a device or ceilings file"));
}

DeviceSpec device(std::string_view name) {
  const auto [id, mode] = split_mode(name);
  return in_mode(parse_device(device_text(id), id), mode);
}

std::optional<DeviceSpec> device_of_driver(std::string_view driver_name) {
  const std::string_view wanted = without_vendor(driver_name);
  for (const base::EmbeddedFile& file : device_files()) {
    if (wanted.empty() || file.text.find(wanted) == std::string_view::npos) continue;
    DeviceSpec spec = parse_device(file.text, id_of(file));
    for (const std::string& name : spec.driver_names)
      if (without_vendor(name) == wanted) return spec;
  }
  return std::nullopt;
}

DeviceSpec parse_device(std::string_view json, std::string_view subject) {
  const base::JsonDocument document =
      base::parse_json(json, subject, "expected pagoda.device/1 or a file of ert-ceilings --json");
  const std::string schema = document.schema();
  if (schema == "pagoda.device/1") return read_device(document);
  if (schema == "pagoda.ceilings/1") return device_of(parse_ceilings(document), document.subject());
  if (schema == "pagoda.measured/1") return read_measured(json, subject);
  document.fail_schema("pagoda.device/1, pagoda.ceilings/1 or pagoda.measured/1");
}

DeviceSpec load_device(const std::string& path) {
  return parse_device(base::read_text(path, kDeviceFile, base::Reads::Json, kMaxFileBytes), path);
}

DeviceSpec find_device(std::string_view name_or_path) { return device(name_or_path); }

}  // namespace pagoda::documents
