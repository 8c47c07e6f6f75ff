# Compiles for another platform by zig, which brings the libraries of each:
#   cmake --toolchain packaging/zig.cmake -DPAGODA_ZIG=<folder> …
# The folder holds zig-cc, zig-c++, zig-ar, zig-ranlib, zig-rc and target.cmake; packaging/platforms.py writes it.
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES PAGODA_ZIG)
include(${PAGODA_ZIG}/target.cmake)  # CMAKE_SYSTEM_NAME, CMAKE_SYSTEM_PROCESSOR
set(CMAKE_C_COMPILER ${PAGODA_ZIG}/zig-cc)
set(CMAKE_CXX_COMPILER ${PAGODA_ZIG}/zig-c++)
set(CMAKE_AR ${PAGODA_ZIG}/zig-ar CACHE FILEPATH "" FORCE)
set(CMAKE_RANLIB ${PAGODA_ZIG}/zig-ranlib CACHE FILEPATH "" FORCE)
set(CMAKE_RC_COMPILER ${PAGODA_ZIG}/zig-rc CACHE FILEPATH "" FORCE)
set(CMAKE_CXX_STANDARD_LIBRARIES_INIT "")
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE BOTH)
if(CMAKE_SYSTEM_NAME STREQUAL "Darwin")  # nothing here rewrites paths in its files when they are installed
  set(CMAKE_BUILD_WITH_INSTALL_RPATH ON)
  set(CMAKE_USER_MAKE_RULES_OVERRIDE_CXX ${CMAKE_CURRENT_LIST_DIR}/zig-darwin.cmake)
  # macOS's math.h asks float.h for INFINITY alone, and zig's libc++ reads float.h once: FLT_RADIX would be missing. The
  # first request is for both parts.
  set(CMAKE_CXX_FLAGS_INIT "-D__need_float_float -D__need_infinity_nan")
endif()
