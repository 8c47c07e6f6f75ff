// The CUDA driver, opened at run time: this tool links no part of CUDA, so on machines without a driver it still starts
// and reports what is missing. Every handle is owned, every call checked.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "pagoda/lab/theory.h"
#include "tool.h"

namespace pagoda::tools::ceilings {

// No driver, no such device, or a failed call. The message names the call and, if known, the remedy.
class GpuError : public ToolError {
 public:
  explicit GpuError(const std::string& message, int code = kNoDevice) : ToolError(code, message) {}
};

using DevicePointer = unsigned long long;

class Gpu {
 public:
  // Throws GpuError. Empty `library`: the system's driver.
  explicit Gpu(int index, const std::string& library = "");
  ~Gpu();
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  const lab::GpuAttributes& attributes() const;
  std::string pci_bus_id() const;
  int driver_version() const;  // 13000 is 13.0
  std::size_t free_bytes() const;
  std::size_t memory_bytes() const;  // of the device, in use or not
  int shared_bytes_per_block() const;
  bool ecc() const;

  void load(std::span<const unsigned char> cubin);
  bool has(const std::string& kernel) const;

  struct Launch {
    unsigned blocks = 1, threads = 256, shared_bytes = 0;
    unsigned repeats = 1;  // launches, one after the other
  };
  // Seconds on the device between an event before and one after the launches. Throws DeviceLost (protocol.h) if a
  // kernel fails or still runs after 20 s: the context is then unusable.
  double time(const std::string& kernel, const Launch& launch, std::vector<void*> arguments);
  void launch(const std::string& kernel, const Launch& launch, std::vector<void*> arguments);
  // The same for any work that `enqueue` puts on the given stream.
  double time_work(const std::function<void(void* stream)>& enqueue, const std::string& what);
  void synchronize();
  // Whether a kernel failed or hangs. Nothing is released then, since that would wait for the kernel.
  bool lost() const;
  int device() const;
  void* context() const;

  DevicePointer allocate(std::size_t bytes);
  void release(DevicePointer pointer);
  void fill(DevicePointer pointer, std::uint32_t word, std::size_t words);
  void write(DevicePointer to, const void* from, std::size_t bytes);
  void read(void* to, DevicePointer from, std::size_t bytes);
  void* allocate_host(std::size_t bytes);
  void release_host(void* pointer);
  // Seconds of one copy; both directions at once if both destinations are given.
  double time_copies(DevicePointer to_device, const void* from_host, void* to_host, DevicePointer from_device,
                     std::size_t bytes);
  // Seconds of `repeats` copies by the driver from one place of the device's memory to another.
  double time_copies_on_device(DevicePointer to, DevicePointer from, std::size_t bytes, unsigned repeats);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Owns a buffer of device memory.
class GpuBuffer {
 public:
  GpuBuffer() = default;
  GpuBuffer(Gpu& gpu, std::size_t bytes) : gpu_(&gpu), pointer_(gpu.allocate(bytes)), bytes_(bytes) {}
  GpuBuffer(GpuBuffer&& other) noexcept { *this = std::move(other); }
  GpuBuffer& operator=(GpuBuffer&& other) noexcept {
    std::swap(gpu_, other.gpu_);
    std::swap(pointer_, other.pointer_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~GpuBuffer() {
    if (gpu_) gpu_->release(pointer_);
  }
  DevicePointer get() const { return pointer_; }
  std::size_t bytes() const { return bytes_; }

 private:
  Gpu* gpu_ = nullptr;
  DevicePointer pointer_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace pagoda::tools::ceilings
