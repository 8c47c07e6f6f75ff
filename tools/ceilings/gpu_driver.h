// The CUDA driver, opened at run time: this tool links no part of CUDA, so on machines without a driver it still starts
// and reports what is missing. Every handle is owned, every call checked.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "cuda_driver.h"
#include "pagoda/lab/theory.h"
#include "tool.h"

namespace pagoda::tools::ceilings {

// No driver, no such device, or a failed call. The message names the call and, if known, the remedy.
class GpuError : public ToolError {
 public:
  explicit GpuError(const std::string& message, int code = kNoDevice) : ToolError(code, message) {}
};

using DevicePointer = CudaAddress;

class GpuBuffer;

// Kernel arguments by value: the driver copies them at launch.
class Arguments {
 public:
  template <typename... T>
  Arguments(const T&... values) {
    (add(values), ...);
  }
  template <typename T>
  Arguments& add(const T& value) {
    const auto* const bytes = reinterpret_cast<const char*>(&value);
    slots_.emplace_back(bytes, bytes + sizeof value);
    return *this;
  }
  Arguments& add(const GpuBuffer& buffer);  // its address on the device
  Arguments& add(const Arguments& more) {
    slots_.insert(slots_.end(), more.slots_.begin(), more.slots_.end());
    return *this;
  }
  std::vector<void*> pointers() {
    std::vector<void*> result;
    for (auto& slot : slots_) result.push_back(slot.data());
    return result;
  }

 private:
  std::vector<std::vector<char>> slots_;
};

class Gpu {
 public:
  // Throws GpuError. Empty `library`: the system's driver.
  explicit Gpu(int index, const std::string& library = "");
  ~Gpu();
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  const lab::GpuAttributes& attributes() const { return attributes_; }
  unsigned sms() const { return static_cast<unsigned>(attributes_.sms); }
  std::string pci_bus_id();
  int driver_version();  // 13000 is 13.0
  std::size_t free_bytes() { return memory().first; }
  std::size_t memory_bytes() { return memory().second; }  // of the device, in use or not
  int shared_bytes_per_block() const;
  bool ecc() const;

  void load(std::span<const unsigned char> cubin);
  bool has(const std::string& kernel) { return function(kernel) != nullptr; }

  struct Launch {
    unsigned blocks = 1, threads = 256, shared_bytes = 0;
    unsigned repeats = 1;  // launches, one after the other
  };
  // Seconds on the device between an event before and one after the launches. Throws DeviceLost (protocol.h) if a
  // kernel fails or still runs after 20 s: the context is then unusable.
  double time(const std::string& kernel, const Launch& launch, Arguments arguments);
  void launch(const std::string& kernel, const Launch& launch, Arguments arguments);
  // The same for any work that `enqueue` puts on the given stream.
  double time_work(const std::function<void(CudaHandle stream)>& enqueue, const std::string& what);
  void synchronize();
  // True if a kernel failed or hangs. Nothing is released then, since that would wait for the kernel.
  bool lost() const { return lost_; }
  CudaHandle context() const { return context_; }

  DevicePointer allocate(std::size_t bytes);
  void release(DevicePointer pointer);
  void fill(DevicePointer pointer, std::uint32_t word, std::size_t words);
  void write(DevicePointer to, const void* from, std::size_t bytes);
  void read(void* to, DevicePointer from, std::size_t bytes);
  template <typename T>
  std::vector<T> read(DevicePointer from, std::size_t count) {
    std::vector<T> values(count);
    read(values.data(), from, count * sizeof(T));
    return values;
  }
  void* allocate_host(std::size_t bytes);
  void release_host(void* pointer);
  // Seconds of one copy; both directions at once if both destinations are given.
  double time_copies(DevicePointer to_device, const void* from_host, void* to_host, DevicePointer from_device,
                     std::size_t bytes);
  // Seconds of `repeats` copies by the driver from one place of the device's memory to another.
  double time_copies_on_device(DevicePointer to, DevicePointer from, std::size_t bytes, unsigned repeats);

 private:
  void check(int result, std::string_view function);  // throws after a failed call
  template <typename... Parameters>
  void call(const CudaFunction<Parameters...>& function, std::type_identity_t<Parameters>... arguments) {
    check(function(arguments...), function.name);
  }
  void wait(CudaHandle event);
  int attribute(int which) const;
  std::pair<std::size_t, std::size_t> memory();  // free, all
  CudaHandle function(const std::string& kernel);

  CudaDriver api_;
  int device_ = 0;
  lab::GpuAttributes attributes_;
  CudaHandle context_ = nullptr, streams_[2] = {}, events_[3] = {};
  std::vector<CudaHandle> modules_;
  std::map<std::string, CudaHandle> functions_;
  std::map<CudaHandle, unsigned> shared_set_;  // functions with attributes set, by bytes of shared memory
  std::string running_;                        // the work in flight, for messages
  bool lost_ = false;
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

inline Arguments& Arguments::add(const GpuBuffer& buffer) { return add(buffer.get()); }

}  // namespace pagoda::tools::ceilings
