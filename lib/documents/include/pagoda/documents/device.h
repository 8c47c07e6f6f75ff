// Devices by name and from files.
//
//   DeviceSpec h100 = device("h100-sxm");
//   DeviceSpec orin = device("orin-agx:30w");          // in one of its power modes
//   DeviceSpec slow = device("orin-agx:gpu=918MHz,mem=2133MHz");
//   DeviceSpec here = load_device("ceilings.json");    // as ert-ceilings measured it
//
// Built-in devices are the files of data/devices, compiled in.
#pragma once

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
// What to say of a short name: "h100 is taken for h100-sxm". Empty for all others.
std::string alias_note(std::string_view name);

// A file of schema pagoda.device/1 or pagoda.ceilings/1. Throws Error, which names every mistake of a device file. Of
// measured ceilings the sustained value is taken, else the burst value, else the issue value, of several of one kind
// the best, and of its samples the fastest: a limit that a run may not exceed. Values that were disturbed or did not
// settle are named in DeviceSpec::cautions, and formats that the file says the machine has no instructions for in
// DeviceSpec::lacks. The source of each number says which. Values are in FLOP/s, B/s and s; precision, unit ("vector",
// "tensor") and level are as in a device file.
DeviceSpec load_device(const std::string& path);
// The same from JSON text; `subject` names it in errors.
DeviceSpec parse_device(std::string_view json, std::string_view subject);

// A device file of that name with null for every number, and beside it the unit and where to find it: a start for a
// file of one's own.
std::string device_template(std::string_view name);

// device() for a known name, load_device() for what looks like a path (holds '/', '\\' or ends in ".json"); a file's
// power modes and clocks follow it: "mine.json:30w".
DeviceSpec find_device(std::string_view name_or_path);

// The names of a list with commas; those between the clocks of one device do not part them:
// "orin-agx:gpu=918MHz,mem=2133MHz".
std::vector<std::string> split_devices(std::string_view list);
// "orin-agx" and "30w" of orin-agx:30w; no mode: empty.
std::pair<std::string_view, std::string_view> split_mode(std::string_view name_or_path);
// The file of a device, built in or by its path.
std::string device_text(std::string_view name_or_path);
// That file with these constants of energy, of the device or, for "id:mode", of that power mode.
std::string device_with_energy(std::string_view name_or_path, const DeviceEnergy& energy);

}  // namespace pagoda::documents
#pragma GCC visibility pop
