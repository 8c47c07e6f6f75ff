// The files of data/devices as they were when the library was built; embed_devices.cmake writes the definition.
#pragma once

#include <span>
#include <string_view>

namespace pagoda::devices {

struct BuiltinDevice {
  std::string_view id;  // the file's name without ".json"
  std::string_view json;
};

std::span<const BuiltinDevice> builtin_devices();  // sorted by id

}  // namespace pagoda::devices
