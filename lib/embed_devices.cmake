# cmake -DDIRECTORY=data/devices -DOUTPUT=builtin_devices.cpp -P embed_devices.cmake
# Writes a C++ source that holds the device files as string literals, so that installed programs need no data folder.
file(GLOB paths "${DIRECTORY}/*.json")
set(ids "")
foreach(path IN LISTS paths)
  get_filename_component(id "${path}" NAME_WE)
  list(APPEND ids ${id})
endforeach()
list(SORT ids)
list(LENGTH ids count)

set(entries "")
foreach(id IN LISTS ids)
  file(READ "${DIRECTORY}/${id}.json" json)
  string(APPEND entries "    BuiltinDevice{\"${id}\", R\"pagoda(${json})pagoda\"},\n")
endforeach()
file(WRITE "${OUTPUT}" "// Written by embed_devices.cmake from data/devices.
#include \"roofline/builtin_devices.h\"

#include <array>

namespace pagoda::devices {
namespace {

constexpr std::array<BuiltinDevice, ${count}> kDevices = {
${entries}};

}  // namespace

std::span<const BuiltinDevice> builtin_devices() { return kDevices; }

}  // namespace pagoda::devices
")
