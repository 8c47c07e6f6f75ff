#include "nvidia_library.h"

#include <dlfcn.h>
#include <link.h>

#include <cstdlib>
#include <filesystem>

// The CUPTI folder of the toolkit that this was built with.
#ifndef PAGODA_CUPTI_FOLDER
#define PAGODA_CUPTI_FOLDER ""
#endif

namespace pagoda::tools {

namespace fs = std::filesystem;

DynamicLibrary::DynamicLibrary(const std::vector<std::string>& places, bool is_global) {
  std::string told;
  for (const std::string& place : places) {
    handle_ = dlopen(place.c_str(), RTLD_NOW | (is_global ? RTLD_GLOBAL : RTLD_LOCAL));
    if (handle_) return;
    // The error of an existing file that does not open is more useful than a missing file.
    const char* const error = dlerror();
    std::error_code ignored;
    if (told.empty() && error && fs::exists(place, ignored)) told = error;
  }
  why_ = !told.empty()        ? told
         : places.size() == 1 ? places.front() + " cannot be opened"
                              : fs::path(places.back()).filename().string() + " is in none of the usual places";
}

void* DynamicLibrary::address(const char* name) const { return handle_ ? dlsym(handle_, name) : nullptr; }

std::string DynamicLibrary::path() const {
  link_map* map = nullptr;
  if (!handle_ || dlinfo(handle_, RTLD_DI_LINKMAP, &map) != 0 || !map) return "";
  return map->l_name;
}

std::vector<std::string> cuda_places(const std::string& chosen) { return {chosen.empty() ? "libcuda.so.1" : chosen}; }

std::vector<std::string> nvml_places(const std::string& chosen) {
  return {chosen.empty() ? "libnvidia-ml.so.1" : chosen};
}

std::vector<std::string> cupti_places(const std::string& chosen, const std::string& root) {
  if (!chosen.empty()) return {chosen};
  if (const char* named = std::getenv("PAGODA_CUPTI"); named && *named != '\0') return {named};
  std::vector<std::string> places;
  for (const std::string folder :
       {PAGODA_CUPTI_FOLDER, "/usr/local/cuda/lib64", "/usr/local/cuda/extras/CUPTI/lib64", "/usr/local/cuda/lib",
        "/usr/local/cuda/targets/x86_64-linux/lib", "/usr/local/cuda/targets/sbsa-linux/lib"})
    for (const char* name : {"libcupti.so", "libcupti.so.13", "libcupti.so.12"})
      if (!folder.empty()) places.push_back(root + folder + "/" + name);
  places.insert(places.end(), {"libcupti.so.13", "libcupti.so.12", "libcupti.so"});
  return places;
}

std::vector<std::string> cublaslt_places(const std::string& chosen) {
  if (!chosen.empty()) return {chosen};
  return {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so", "/usr/local/cuda/lib64/libcublasLt.so"};
}

bool open_neighbours(const DynamicLibrary& cupti) {
  const fs::path folder = fs::path(cupti.path()).parent_path();
  bool has_host = false;
  for (const char* name : {"libnvperf_host.so", "libnvperf_target.so"})
    if (const fs::path file = folder / name; fs::exists(file)) {
      const bool is_open = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL) != nullptr;
      has_host = has_host || (is_open && std::string(name) == "libnvperf_host.so");
    }
  return has_host;
}

}  // namespace pagoda::tools
