# cmake -DDIRECTORY=data/calibration -DOUTPUT=builtin_calibrations.cpp -P embed_calibrations.cmake
# Writes a C++ source that holds the calibrations as string literals, so that installed programs need no data folder.
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
  string(APPEND entries "    BuiltinCalibration{\"${id}\", R\"pagoda(${json})pagoda\"},\n")
endforeach()
file(WRITE "${OUTPUT}" "// Written by embed_calibrations.cmake from data/calibration.
#include \"predict/builtin_calibrations.h\"

#include <array>

namespace pagoda {
namespace {

constexpr std::array<BuiltinCalibration, ${count}> kCalibrations = {
${entries}};

}  // namespace

std::span<const BuiltinCalibration> builtin_calibrations() { return kCalibrations; }

}  // namespace pagoda
")
