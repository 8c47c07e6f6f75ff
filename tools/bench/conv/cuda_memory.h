// The few calls of CUDA's driver that libraries on a GPU need around them: memory, events, waiting. Opened at run time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace pagoda::tools::conv {

class CudaDevice {
 public:
  // Throws Error that says what is missing: the driver, or the device.
  explicit CudaDevice(int index);
  ~CudaDevice();
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;

  std::string name() const;
  void wait() const;
  // Seconds on the default stream of each of n calls of `work`, by events of the device.
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
  // Seconds of n calls together: what lies between launches is in it, what lies around them is not.
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

// Bytes on the device.
class CudaBuffer {
 public:
  CudaBuffer(const CudaDevice& device, std::size_t bytes);  // throws Error where there is no room
  ~CudaBuffer();
  CudaBuffer(const CudaBuffer&) = delete;
  CudaBuffer& operator=(const CudaBuffer&) = delete;

  void* get() const { return reinterpret_cast<void*>(address_); }
  void from_host(const void* data);
  void to_host(void* data) const;

 private:
  const CudaDevice& device_;
  std::size_t bytes_;
  std::uintptr_t address_ = 0;  // CUdeviceptr
};

}  // namespace pagoda::tools::conv
