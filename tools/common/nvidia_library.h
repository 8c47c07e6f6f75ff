// NVIDIA's libraries, opened at run time so that no CUDA library is linked: their locations, their functions, and why
// one is missing. Independent of the rest of Pagoda, because other programs load this code as well.
#pragma once

#include <string>
#include <vector>

namespace pagoda::tools {

class DynamicLibrary {
 public:
  DynamicLibrary() = default;
  // Opens the first of `places` (paths, or names for the loader) that can be opened. The library stays open: drivers
  // may not survive unloading, and others may have pointers into it. `is_global`: its symbols are visible to later
  // libraries.
  explicit DynamicLibrary(const std::vector<std::string>& places, bool is_global = false);

  explicit operator bool() const { return handle_ != nullptr; }
  // "libcuda.so.1 cannot be opened", or the loader's message if the file exists. Empty if the library is open.
  const std::string& why() const { return why_; }
  std::string path() const;  // of the opened file; empty if unknown

  void* address(const char* name) const;
  template <typename Function>
  Function symbol(const char* name) const {
    return reinterpret_cast<Function>(address(name));
  }

 private:
  void* handle_ = nullptr;
  std::string why_;
};

// The places to search for each library, in order. If `chosen` is not empty, it is the only place.
std::vector<std::string> cuda_places(const std::string& chosen = "");
std::vector<std::string> nvml_places(const std::string& chosen = "");
// If `chosen` is empty, the environment's PAGODA_CUPTI is used instead. Toolkits come before the loader: a program may
// bring its own copy of the library, as PyTorch's wheels do, and two copies conflict. `root`: prefix of the toolkits'
// folders.
std::vector<std::string> cupti_places(const std::string& chosen = "", const std::string& root = "");
std::vector<std::string> cublaslt_places(const std::string& chosen = "");

// Opens the libraries in CUPTI's folder that CUPTI itself opens by their bare names, so that it finds them. False
// unless libnvperf_host.so opened.
bool open_neighbours(const DynamicLibrary& cupti);

}  // namespace pagoda::tools
