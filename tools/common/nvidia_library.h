// NVIDIA's libraries, opened at run time, so that nothing of CUDA is linked: where they lie, their functions, and why
// one is absent. Knows nothing of Pagoda, as programs that are not ours load it, too.
#pragma once

#include <string>
#include <type_traits>
#include <vector>

namespace pagoda::tools {

class DynamicLibrary {
 public:
  DynamicLibrary() = default;
  // The first of `places`, paths or names for the loader, that opens. It stays open: a driver does not take kindly to
  // being unloaded, and others may hold pointers into it. `is_global`: its symbols serve libraries opened later.
  explicit DynamicLibrary(const std::vector<std::string>& places, bool is_global = false);

  explicit operator bool() const { return handle_ != nullptr; }
  // "libcuda.so.1 cannot be opened", or the loader's words where a file is there. Empty where it is open.
  const std::string& why() const { return why_; }
  std::string path() const;  // of the file that was opened; empty where that is not known

  void* address(const char* name) const;
  template <typename Function>
  Function symbol(const char* name) const {
    return reinterpret_cast<Function>(address(name));
  }
  // False where the library has no such function.
  template <typename Function>
  bool find(Function& function, const char* name) const {
    function = symbol<Function>(name);
    return function != nullptr;
  }

 private:
  void* handle_ = nullptr;
  std::string why_;
};

// Where each is looked for, in order; `chosen`, where it is not empty, is the only place.
std::vector<std::string> cuda_places(const std::string& chosen = "");
std::vector<std::string> nvml_places(const std::string& chosen = "");
// Without a choice that of the environment's PAGODA_CUPTI. Toolkits come before the loader: a program may bring a copy
// of the same name, as PyTorch's wheels do, and two copies do not agree. `root`: before the toolkits' folders.
std::vector<std::string> cupti_places(const std::string& chosen = "", const std::string& root = "");
std::vector<std::string> cublaslt_places(const std::string& chosen = "");

// CUPTI opens libraries of its folder by their bare names: opened first, they are found. False without such a folder.
bool open_neighbours(const DynamicLibrary& cupti);

// The calls of the driver that need no context; null where it has none.
struct CudaDriver {
  explicit CudaDriver(const DynamicLibrary& library);
  bool is_complete() const { return init && version && device_count && device_name && device && bus_id; }
  int (*init)(unsigned) = nullptr;
  int (*version)(int*) = nullptr;
  int (*device_count)(int*) = nullptr;
  int (*device)(int*, int) = nullptr;
  int (*device_name)(char*, int, int) = nullptr;
  int (*bus_id)(char*, int, int) = nullptr;
};

// What --device auto means here: "cuda" where CUDA's driver has a device, else "cpu".
std::string automatic_device();

}  // namespace pagoda::tools
