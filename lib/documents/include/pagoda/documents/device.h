// Devices by name and from files.
//
//   DeviceSpec h100 = device("h100-sxm");
//   DeviceSpec orin = device("orin-agx:30w");          // in one of its power modes
//   DeviceSpec slow = device("orin-agx:gpu=918MHz,mem=2133MHz");
//   DeviceSpec here = load_device("ceilings.json");    // as ert-ceilings measured it
//
// Built-in devices are the files of data/devices, compiled in.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pagoda/core/device.h"

#pragma GCC visibility push(default)
namespace pagoda::documents {

std::vector<std::string> device_ids();  // sorted
// A built-in device. "id:mode" is the device in a power mode, "id:gpu=918MHz,mem=2133MHz" at other clocks.
// Case, spaces, hyphens and underscores do not matter: "RTX 4090". Throws UnknownDevice, which names the nearest ids.
DeviceSpec device(std::string_view name);
// A note on an ambiguous short name: "h100 is taken for h100-sxm". Empty for all other names.
std::string alias_note(std::string_view name);
// The built-in device whose file states this name, which a driver prints: "NVIDIA H200". Empty: none does.
std::optional<DeviceSpec> device_of_driver(std::string_view driver_name);

// Loads a file of schema pagoda.device/1, pagoda.ceilings/1, or pagoda.measured/1 with peaks reported by the device.
// Throws Error, which lists every mistake in a device file. For measured ceilings, takes the sustained value, else
// burst, else issue; among several of one kind the best, and of its samples the fastest, since a run must not exceed
// this limit. DeviceSpec::cautions lists values that were disturbed or did not settle, DeviceSpec::lacks formats for
// which the file says the machine has no instructions. The source of each number says which value was taken. Values are
// in FLOP/s, B/s and s; precision, unit ("vector", "tensor") and level are as in a device file.
DeviceSpec load_device(const std::string& path);
// The same from JSON text; `subject` names it in errors.
DeviceSpec parse_device(std::string_view json, std::string_view subject);

// A device file with that name and null for every number, each with its unit and where to find it: a starting point for
// a custom file.
std::string device_template(std::string_view name);

// device() for a known name, load_device() for a path (contains '/' or '\\', or ends in ".json"); power modes and
// clocks follow the file name: "mine.json:30w".
DeviceSpec find_device(std::string_view name_or_path);

// The names in a comma-separated list; commas between the clocks of one device do not split it:
// "orin-agx:gpu=918MHz,mem=2133MHz".
std::vector<std::string> split_devices(std::string_view list);
// Splits "orin-agx:30w" into "orin-agx" and "30w"; without a mode the second is empty.
std::pair<std::string_view, std::string_view> split_mode(std::string_view name_or_path);
// The text of a device file, built in or given by its path.
std::string device_text(std::string_view name_or_path);
// That file with these energy constants, set for the device or, for "id:mode", for that power mode.
std::string device_with_energy(std::string_view name_or_path, const DeviceEnergy& energy);

}  // namespace pagoda::documents
#pragma GCC visibility pop
