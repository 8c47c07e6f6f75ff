# Cross builds take header-only libraries from the host, each by a link of its own: the host's whole include folder would
# hide the target's headers. find_package() then finds them as it does in a build for the host.
#   host_headers(<package> <imported target> <header that is looked for> <folder that holds it>)
function(host_headers package target header)
  find_path(PAGODA_HOST_${package} ${header} PATH_SUFFIXES ${ARGN} NO_CMAKE_FIND_ROOT_PATH
    PATHS /usr/include /usr/local/include REQUIRED)
  set(include ${PROJECT_BINARY_DIR}/host_headers/${package})
  file(MAKE_DIRECTORY ${include})
  string(REGEX REPLACE "/.*" "" folder ${header})
  file(CREATE_LINK ${PAGODA_HOST_${package}}/${folder} ${include}/${folder} SYMBOLIC)
  string(TOLOWER ${package} name)
  file(WRITE ${CMAKE_FIND_PACKAGE_REDIRECTS_DIR}/${name}-config.cmake "
if(NOT TARGET ${target})
  add_library(${target} INTERFACE IMPORTED)
  set_target_properties(${target} PROPERTIES INTERFACE_INCLUDE_DIRECTORIES ${include})
endif()
set(${package}_FOUND TRUE)
")
endfunction()
host_headers(nlohmann_json nlohmann_json::nlohmann_json nlohmann/json.hpp)
host_headers(Eigen3 Eigen3::Eigen Eigen/Core eigen3)
host_headers(CLI11 CLI11::CLI11 CLI/CLI.hpp)
host_headers(tomlplusplus tomlplusplus::tomlplusplus toml++/toml.h)
