# Read after CMake's own rules for macOS, which make a loadable module by -bundle. zig ignores that word, and its linker
# fails on what is left, a program without a main.
set(CMAKE_SHARED_MODULE_CREATE_CXX_FLAGS "-shared")
