// The few CUDA driver calls needed around GPU libraries: memory, events, waiting; and the functions of such a library.
// Driver and libraries are opened at run time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cuda_driver.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/error.h"

namespace pagoda::tools::conv {

class CudaDevice {
 public:
  // Throws Error with what is missing: the driver or the device.
  explicit CudaDevice(int index);
  ~CudaDevice();
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;

  const std::string& name() const { return name_; }
  void wait() const;
  // Seconds of each of n calls of `work` on the default stream, timed with CUDA events.
  template <typename Work>
  std::vector<double> time_each(std::int64_t n, const Work& work) const {
    std::vector<double> seconds;
    for (std::int64_t i = 0; i < n; ++i) {
      start();
      work();
      seconds.push_back(stop());
    }
    return seconds;
  }
  // Seconds of n calls together: includes the time between launches, but not that before the first and after the last.
  template <typename Work>
  double time_together(std::int64_t n, const Work& work) const {
    start();
    for (std::int64_t i = 0; i < n; ++i) work();
    return stop();
  }

 private:
  friend class CudaBuffer;
  void check(int code, const char* call) const;
  void start() const;
  double stop() const;

  CudaDriver driver_;
  int device_ = 0;
  std::string name_;
  CudaHandle context_ = nullptr, begin_ = nullptr, end_ = nullptr;
};

// A buffer in device memory.
class CudaBuffer {
 public:
  CudaBuffer(const CudaDevice& device, std::size_t bytes);  // throws Error if memory is full
  ~CudaBuffer();
  CudaBuffer(const CudaBuffer&) = delete;
  CudaBuffer& operator=(const CudaBuffer&) = delete;

  void* get() const { return reinterpret_cast<void*>(address_); }
  void from_host(const void* data);
  std::vector<float> floats() const;  // all of it

 private:
  const CudaDevice& device_;
  std::size_t bytes_;
  CudaAddress address_ = 0;
};

// A library of NVIDIA's: each function has the type that the library's header gives it.
//
//   struct Api : GpuLibrary { Function<decltype(&::cudnnCreate)> create = find("cudnnCreate"); … };
class GpuLibrary {
 public:
  // `package`: what to install if the file cannot be opened.
  GpuLibrary(const std::string& file, const std::string& package);

  template <typename Pointer>
  struct Function {
    template <typename... Arguments>
    auto operator()(Arguments... arguments) const {
      return address(arguments...);
    }
    const char* name;
    Pointer address;
  };
  struct Symbol {
    template <typename Pointer>
    operator Function<Pointer>() const {
      return {name, reinterpret_cast<Pointer>(address)};
    }
    const char* name;
    void* address;
  };
  Symbol find(const char* name);

  std::string missing;  // why the library cannot be used; empty: it can

 private:
  std::string file_;
  DynamicLibrary library_;
};

// A library on a device. Api is a GpuLibrary with a type Handle, functions `create` and `destroy` of handles, and
// `text`, what a status means.
template <typename Api>
struct GpuContext {
  GpuContext() = default;
  GpuContext(const GpuContext&) = delete;
  GpuContext& operator=(const GpuContext&) = delete;
  ~GpuContext() {
    if (handle) api.destroy(handle);
  }
  // Returns why the library cannot be used on the device; empty: it can.
  std::string open(int device_index) {
    if (!api.missing.empty()) return api.missing;
    try {
      device.emplace(device_index);
      check(api.create, &handle);
    } catch (const Error& error) {
      return error.what();
    }
    return {};
  }
  // Throws Error unless the call succeeds.
  template <typename Call, typename... Arguments>
  void check(const Call& call, Arguments... arguments) const {
    if (const auto status = call(arguments...); static_cast<int>(status) != 0)
      throw Error(cat(call.name, ": ", api.text(status)));
  }

  Api api;
  std::optional<CudaDevice> device;
  typename Api::Handle handle = nullptr;
};

}  // namespace pagoda::tools::conv
