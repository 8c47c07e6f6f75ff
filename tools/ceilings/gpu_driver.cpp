// The CUDA driver as ert-ceilings needs it for measuring. Numbers are those of cuda.h.
#include "gpu_driver.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "pagoda/base/cat.h"
#include "protocol.h"

namespace pagoda::tools::ceilings {
namespace {

// Device and function attributes, with their numbers in cuda.h.
enum DeviceAttribute {
  kClockRate = 13,
  kMultiprocessors = 16,
  kEccEnabled = 32,
  kMemoryClockRate = 36,
  kBusWidth = 37,
  kL2Bytes = 38,
  kMajor = 75,
  kMinor = 76,
  kSharedPerBlockOptin = 97
};
enum FunctionAttribute { kMaxDynamicShared = 8, kSharedCarveout = 9 };

// Results after which a context is unusable: deinitialized, uncorrectable memory error, illegal address, launch
// timeout, context destroyed, assertion, hardware stack error, illegal instruction, misaligned address, invalid address
// space, invalid program counter, launch failure, unknown.
constexpr int kFatal[] = {4, 214, 220, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 999};
constexpr int kNotReady = 600;
constexpr auto kLongestWait = std::chrono::seconds(20);

CudaDriver open_driver(const std::string& name) {
  const DynamicLibrary library(cuda_places(name));
  if (!library) throw GpuError("no NVIDIA driver: " + library.why() + "; install the driver, or measure with --cpu");
  CudaDriver driver(library);
  if (const char* missing = first_missing(
          driver.init, driver.version, driver.error_string, driver.device_count, driver.device, driver.device_name,
          driver.device_attribute, driver.bus_id, driver.retain_context, driver.release_context, driver.set_context,
          driver.synchronize, driver.load_module, driver.get_function, driver.set_function_attribute, driver.launch,
          driver.memory_info, driver.allocate, driver.release, driver.allocate_host, driver.release_host, driver.fill,
          driver.to_host, driver.to_device, driver.to_host_async, driver.to_device_async, driver.on_device_async,
          driver.create_stream, driver.wait_event, driver.create_event, driver.record_event, driver.query_event,
          driver.elapsed))
    throw GpuError(cat("the NVIDIA driver has no ", missing, "; it is too old"), kOldDriver);
  return driver;
}

}  // namespace

void Gpu::check(int result, std::string_view function) {
  if (result == 0) return;
  if (function.ends_with("_v2")) function.remove_suffix(3);
  const std::string message =
      cat(running_, running_.empty() ? "" : ": ", function, ": ", api_.text(result), " (", result, ")");
  if (std::ranges::find(kFatal, result) == std::end(kFatal)) throw GpuError(message);
  lost_ = true;
  throw DeviceLost(message);
}

// Waits for an event with a time limit: a kernel that hangs must not lose the results of the others.
void Gpu::wait(CudaHandle event) {
  const auto begin = std::chrono::steady_clock::now();
  for (;;) {
    const int result = api_.query_event(event);
    if (result != kNotReady) return check(result, api_.query_event.name);
    const auto waited = std::chrono::steady_clock::now() - begin;
    if (waited > kLongestWait) {
      lost_ = true;
      throw DeviceLost(running_ + ": still running after 20 s");
    }
    if (waited > std::chrono::milliseconds(2)) std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

int Gpu::attribute(int which) const {
  int value = 0;
  return api_.device_attribute(&value, which, device_) == 0 ? value : 0;
}

std::pair<std::size_t, std::size_t> Gpu::memory() {
  std::size_t available = 0, total = 0;
  call(api_.memory_info, &available, &total);
  return {available, total};
}

CudaHandle Gpu::function(const std::string& kernel) {
  const auto [found, is_new] = functions_.try_emplace(kernel);
  for (std::size_t i = 0; is_new && found->second == nullptr && i < modules_.size(); ++i)
    if (api_.get_function(&found->second, modules_[i], kernel.c_str()) != 0) found->second = nullptr;
  return found->second;
}

Gpu::Gpu(int index, const std::string& library) : api_(open_driver(library)) {
  if (const int result = api_.init(0); result != 0) throw GpuError("cuInit: " + cuda_problem(result));
  int count = 0;
  call(api_.device_count, &count);
  if (index < 0 || index >= count) throw GpuError(cat("no GPU ", index, ": the driver has ", count));
  call(api_.device, &device_, index);
  char name[256] = {};
  call(api_.device_name, name, sizeof name - 1, device_);
  attributes_ = {.name = name,
                 .major = attribute(kMajor),
                 .minor = attribute(kMinor),
                 .sms = attribute(kMultiprocessors),
                 .sm_clock_hz = 1e3 * attribute(kClockRate),  // kHz
                 .memory_clock_hz = 1e3 * attribute(kMemoryClockRate),
                 .memory_bus_bits = attribute(kBusWidth),
                 .l2_bytes = static_cast<double>(attribute(kL2Bytes))};
  call(api_.retain_context, &context_, device_);
  call(api_.set_context, context_);
  for (CudaHandle& stream : streams_) call(api_.create_stream, &stream, 1);  // 1: non-blocking
  for (CudaHandle& event : events_) call(api_.create_event, &event, 0);
}

// Streams, events and modules are destroyed with the primary context.
Gpu::~Gpu() {
  if (context_ && !lost_) api_.release_context(device_);
}

std::string Gpu::pci_bus_id() {
  char text[64] = {};
  call(api_.bus_id, text, sizeof text - 1, device_);
  return text;
}

int Gpu::driver_version() {
  int version = 0;
  call(api_.version, &version);
  return version;
}

int Gpu::shared_bytes_per_block() const { return attribute(kSharedPerBlockOptin); }
bool Gpu::ecc() const { return attribute(kEccEnabled) != 0; }

void Gpu::load(std::span<const unsigned char> cubin) {
  CudaHandle module = nullptr;
  const int result = api_.load_module(&module, cubin.data());
  // Invalid image, no binary for this device, unsupported PTX version: the compiler is newer than the driver.
  if (result == 200 || result == 209 || result == 222)
    throw GpuError(cat("the driver (CUDA ", driver_version() / 1000, ".", driver_version() % 1000 / 10,
                       ") does not take the kernels (", result,
                       "); build with a CUDA toolkit that is not newer, or update the driver"),
                   kOldDriver);
  check(result, api_.load_module.name);
  modules_.push_back(module);
}

void Gpu::launch(const std::string& kernel, const Launch& launch, Arguments arguments) {
  const CudaHandle found = function(kernel);
  if (!found) throw GpuError("no kernel " + kernel + " for this architecture");
  running_ = kernel;
  if (const auto set = shared_set_.find(found); set == shared_set_.end() || set->second != launch.shared_bytes) {
    if (launch.shared_bytes > 48 * 1024)
      call(api_.set_function_attribute, found, kMaxDynamicShared, static_cast<int>(launch.shared_bytes));
    // If no shared memory is requested, use all of L1 as cache.
    call(api_.set_function_attribute, found, kSharedCarveout, launch.shared_bytes > 0 ? 100 : 0);
    shared_set_[found] = launch.shared_bytes;
  }
  std::vector<void*> pointers = arguments.pointers();
  for (unsigned i = 0; i < launch.repeats; ++i)
    call(api_.launch, found, launch.blocks, 1, 1, launch.threads, 1, 1, launch.shared_bytes, streams_[0],
         pointers.data(), nullptr);
}

double Gpu::time_work(const std::function<void(CudaHandle)>& enqueue, const std::string& what) {
  call(api_.record_event, events_[0], streams_[0]);
  running_ = what;
  enqueue(streams_[0]);
  call(api_.record_event, events_[1], streams_[0]);
  wait(events_[1]);
  running_.clear();
  float milliseconds = 0;
  call(api_.elapsed, &milliseconds, events_[0], events_[1]);
  return 1e-3 * static_cast<double>(milliseconds);
}

double Gpu::time(const std::string& kernel, const Launch& how, Arguments arguments) {
  return time_work([&](CudaHandle) { launch(kernel, how, std::move(arguments)); }, kernel);
}

// Also waits for an event first, so that a hang is detected.
void Gpu::synchronize() {
  call(api_.record_event, events_[1], streams_[0]);
  wait(events_[1]);
  call(api_.synchronize);
  running_.clear();
}

DevicePointer Gpu::allocate(std::size_t bytes) {
  DevicePointer pointer = 0;
  call(api_.allocate, &pointer, bytes);
  return pointer;
}
void Gpu::release(DevicePointer pointer) {
  if (pointer && !lost_) api_.release(pointer);
}
void Gpu::fill(DevicePointer pointer, std::uint32_t word, std::size_t words) {
  call(api_.fill, pointer, word, words);
  synchronize();
}
void Gpu::write(DevicePointer to, const void* from, std::size_t bytes) {
  call(api_.to_device, to, from, bytes);
  synchronize();  // the call returns when host memory can be reused, possibly before the device's is written
}
void Gpu::read(void* to, DevicePointer from, std::size_t bytes) { call(api_.to_host, to, from, bytes); }
void* Gpu::allocate_host(std::size_t bytes) {
  void* pointer = nullptr;
  call(api_.allocate_host, &pointer, bytes, 0);
  return pointer;
}
void Gpu::release_host(void* pointer) {
  if (pointer && !lost_) api_.release_host(pointer);
}

double Gpu::time_copies(DevicePointer to_device, const void* from_host, void* to_host, DevicePointer from_device,
                        std::size_t bytes) {
  return time_work(
      [&](CudaHandle stream) {
        call(api_.wait_event, streams_[1], events_[0], 0);
        if (from_host) call(api_.to_device_async, to_device, from_host, bytes, stream);
        if (!to_host) return;
        call(api_.to_host_async, to_host, from_device, bytes, streams_[1]);
        call(api_.record_event, events_[2], streams_[1]);
        call(api_.wait_event, stream, events_[2], 0);
      },
      "");
}

double Gpu::time_copies_on_device(DevicePointer to, DevicePointer from, std::size_t bytes, unsigned repeats) {
  return time_work(
      [&](CudaHandle stream) {
        for (unsigned i = 0; i < repeats; ++i) call(api_.on_device_async, to, from, bytes, stream);
      },
      "cuMemcpyDtoDAsync");
}

}  // namespace pagoda::tools::ceilings
