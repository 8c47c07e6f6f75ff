// The few CUDA driver calls needed around GPU libraries: memory, events, waiting; and the functions of such a library.
// Driver and libraries are opened at run time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "nvidia_library.h"

namespace pagoda::tools::conv {

class CudaDevice {
 public:
  // Throws Error with what is missing: the driver or the device.
  explicit CudaDevice(int index);
  ~CudaDevice();
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;

  std::string name() const;
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
  void start() const;
  double stop() const;
  struct State;
  std::unique_ptr<State> state_;
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
  void to_host(void* data) const;

 private:
  const CudaDevice& device_;
  std::size_t bytes_;
  unsigned long long address_ = 0;  // CUdeviceptr
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

}  // namespace pagoda::tools::conv
