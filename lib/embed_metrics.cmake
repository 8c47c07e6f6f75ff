# cmake -DDIRECTORY=data/metrics -DOUTPUT=builtin_metrics.cpp -P embed_metrics.cmake
# Writes a C++ source that holds the metric catalogue as string literals, so that installed programs need no data folder.
file(GLOB paths "${DIRECTORY}/*.json")
list(SORT paths)
list(LENGTH paths count)
set(entries "")
foreach(path IN LISTS paths)
  get_filename_component(id "${path}" NAME_WE)
  file(READ "${path}" json)
  string(APPEND entries "    BuiltinMetrics{\"${id}\", R\"pagoda(${json})pagoda\"},\n")
endforeach()
file(WRITE "${OUTPUT}" "// Written by embed_metrics.cmake from data/metrics.
#include \"profile/builtin_metrics.h\"

#include <array>

namespace pagoda::profile {
namespace {

constexpr std::array<BuiltinMetrics, ${count}> kMetrics = {
${entries}};

}  // namespace

std::span<const BuiltinMetrics> builtin_metrics() { return kMetrics; }

}  // namespace pagoda::profile
")
