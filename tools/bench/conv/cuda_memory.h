// The few CUDA driver calls needed around GPU libraries: memory, events, waiting. The driver is opened at run time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

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

}  // namespace pagoda::tools::conv
