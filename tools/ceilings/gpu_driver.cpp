// The CUDA driver as ert-ceilings needs it for measuring. Numbers are those of cuda.h.
#include "gpu_driver.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>

#include "cuda_driver.h"
#include "protocol.h"

namespace pagoda::tools::ceilings {
namespace {

using Result = int;
using Handle = CudaHandle;

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
constexpr Result kFatal[] = {4, 214, 220, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 999};
constexpr Result kNotReady = 600;
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
    throw GpuError("the NVIDIA driver has no " + std::string(missing) + "; it is too old", kOldDriver);
  return driver;
}

}  // namespace

struct Gpu::State {
  explicit State(const std::string& library) : api(open_driver(library)) {}

  CudaDriver api;
  int device = 0;
  lab::GpuAttributes attributes;
  Handle context = nullptr, streams[2] = {}, events[3] = {};
  std::vector<Handle> modules;
  std::map<std::string, Handle> functions;
  std::map<Handle, unsigned> shared_set;  // functions with attributes set, by bytes of shared memory
  std::string running;                    // the work in flight, for messages
  bool lost = false;

  void check(Result result, const std::string& call) {
    if (result == 0) return;
    const std::string message =
        (running.empty() ? "" : running + ": ") + call + ": " + api.text(result) + " (" + std::to_string(result) + ")";
    if (std::find(std::begin(kFatal), std::end(kFatal), result) == std::end(kFatal)) throw GpuError(message);
    lost = true;
    throw DeviceLost(message);
  }
  // Waits for an event with a time limit: a kernel that hangs must not lose the results of the others.
  void wait(Handle event) {
    const auto begin = std::chrono::steady_clock::now();
    for (;;) {
      const Result result = api.query_event(event);
      if (result != kNotReady) return check(result, "cuEventQuery");
      const auto waited = std::chrono::steady_clock::now() - begin;
      if (waited > kLongestWait) {
        lost = true;
        throw DeviceLost(running + ": still running after 20 s");
      }
      if (waited > std::chrono::milliseconds(2)) std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  }
  int attribute(int which) const {
    int value = 0;
    return api.device_attribute(&value, which, device) == 0 ? value : 0;
  }
  Handle function(const std::string& kernel) {
    if (const auto found = functions.find(kernel); found != functions.end()) return found->second;
    for (const Handle module : modules) {
      Handle handle = nullptr;
      if (api.get_function(&handle, module, kernel.c_str()) == 0) return functions[kernel] = handle;
    }
    return functions[kernel] = nullptr;
  }
};

Gpu::Gpu(int index, const std::string& library) : state_(std::make_unique<State>(library)) {
  State& s = *state_;
  if (const Result result = s.api.init(0); result != 0) throw GpuError("cuInit: " + cuda_problem(result));
  int count = 0;
  s.check(s.api.device_count(&count), "cuDeviceGetCount");
  if (index < 0 || index >= count)
    throw GpuError("no GPU " + std::to_string(index) + ": the driver has " + std::to_string(count));
  s.check(s.api.device(&s.device, index), "cuDeviceGet");
  char name[256] = {};
  s.check(s.api.device_name(name, sizeof name - 1, s.device), "cuDeviceGetName");
  lab::GpuAttributes& a = s.attributes;
  a.name = name;
  a.major = s.attribute(kMajor);
  a.minor = s.attribute(kMinor);
  a.sms = s.attribute(kMultiprocessors);
  a.sm_clock_hz = 1e3 * s.attribute(kClockRate);  // kHz
  a.memory_clock_hz = 1e3 * s.attribute(kMemoryClockRate);
  a.memory_bus_bits = s.attribute(kBusWidth);
  a.l2_bytes = s.attribute(kL2Bytes);
  s.check(s.api.retain_context(&s.context, s.device), "cuDevicePrimaryCtxRetain");
  s.check(s.api.set_context(s.context), "cuCtxSetCurrent");
  for (Handle& stream : s.streams) s.check(s.api.create_stream(&stream, 1), "cuStreamCreate");  // 1: non-blocking
  for (Handle& event : s.events) s.check(s.api.create_event(&event, 0), "cuEventCreate");
}

// Streams, events and modules are destroyed with the primary context.
Gpu::~Gpu() {
  if (state_ && state_->context && !state_->lost) state_->api.release_context(state_->device);
}

bool Gpu::lost() const { return state_->lost; }
int Gpu::device() const { return state_->device; }
void* Gpu::context() const { return state_->context; }

const lab::GpuAttributes& Gpu::attributes() const { return state_->attributes; }

std::string Gpu::pci_bus_id() const {
  char text[64] = {};
  state_->check(state_->api.bus_id(text, sizeof text - 1, state_->device), "cuDeviceGetPCIBusId");
  return text;
}

int Gpu::driver_version() const {
  int version = 0;
  state_->check(state_->api.version(&version), "cuDriverGetVersion");
  return version;
}

std::size_t Gpu::free_bytes() const {
  std::size_t available = 0, total = 0;
  state_->check(state_->api.memory_info(&available, &total), "cuMemGetInfo");
  return available;
}

std::size_t Gpu::memory_bytes() const {
  std::size_t available = 0, total = 0;
  state_->check(state_->api.memory_info(&available, &total), "cuMemGetInfo");
  return total;
}

int Gpu::shared_bytes_per_block() const { return state_->attribute(kSharedPerBlockOptin); }
bool Gpu::ecc() const { return state_->attribute(kEccEnabled) != 0; }

void Gpu::load(std::span<const unsigned char> cubin) {
  Handle module = nullptr;
  const Result result = state_->api.load_module(&module, cubin.data());
  // Invalid image, no binary for this device, unsupported PTX version: the compiler is newer than the driver.
  if (result == 200 || result == 209 || result == 222)
    throw GpuError("the driver (CUDA " + std::to_string(driver_version() / 1000) + "." +
                       std::to_string(driver_version() % 1000 / 10) + ") does not take the kernels (" +
                       std::to_string(result) + "); build with a CUDA toolkit that is not newer, or update the driver",
                   kOldDriver);
  state_->check(result, "cuModuleLoadData");
  state_->modules.push_back(module);
}

bool Gpu::has(const std::string& kernel) const { return state_->function(kernel) != nullptr; }

void Gpu::launch(const std::string& kernel, const Launch& launch, std::vector<void*> arguments) {
  State& s = *state_;
  const Handle function = s.function(kernel);
  if (!function) throw GpuError("no kernel " + kernel + " for this architecture");
  s.running = kernel;
  if (const auto set = s.shared_set.find(function); set == s.shared_set.end() || set->second != launch.shared_bytes) {
    if (launch.shared_bytes > 48 * 1024)
      s.check(s.api.set_function_attribute(function, kMaxDynamicShared, static_cast<int>(launch.shared_bytes)),
              "cuFuncSetAttribute");
    // If no shared memory is requested, use all of L1 as cache.
    s.check(s.api.set_function_attribute(function, kSharedCarveout, launch.shared_bytes > 0 ? 100 : 0),
            "cuFuncSetAttribute");
    s.shared_set[function] = launch.shared_bytes;
  }
  for (unsigned i = 0; i < launch.repeats; ++i)
    s.check(s.api.launch(function, launch.blocks, 1, 1, launch.threads, 1, 1, launch.shared_bytes, s.streams[0],
                         arguments.data(), nullptr),
            "cuLaunchKernel");
}

double Gpu::time_work(const std::function<void(void*)>& enqueue, const std::string& what) {
  State& s = *state_;
  s.check(s.api.record_event(s.events[0], s.streams[0]), "cuEventRecord");
  s.running = what;
  enqueue(s.streams[0]);
  s.check(s.api.record_event(s.events[1], s.streams[0]), "cuEventRecord");
  s.wait(s.events[1]);
  s.running.clear();
  float milliseconds = 0;
  s.check(s.api.elapsed(&milliseconds, s.events[0], s.events[1]), "cuEventElapsedTime");
  return 1e-3 * static_cast<double>(milliseconds);
}

double Gpu::time(const std::string& kernel, const Launch& how, std::vector<void*> arguments) {
  return time_work([&](void*) { launch(kernel, how, std::move(arguments)); }, kernel);
}

// Also waits for an event first, so that a hang is detected.
void Gpu::synchronize() {
  State& s = *state_;
  s.check(s.api.record_event(s.events[1], s.streams[0]), "cuEventRecord");
  s.wait(s.events[1]);
  s.check(s.api.synchronize(), "cuCtxSynchronize");
  s.running.clear();
}

DevicePointer Gpu::allocate(std::size_t bytes) {
  DevicePointer pointer = 0;
  state_->check(state_->api.allocate(&pointer, bytes), "cuMemAlloc");
  return pointer;
}
void Gpu::release(DevicePointer pointer) {
  if (pointer && !state_->lost) state_->api.release(pointer);
}
void Gpu::fill(DevicePointer pointer, std::uint32_t word, std::size_t words) {
  state_->check(state_->api.fill(pointer, word, words), "cuMemsetD32");
  synchronize();
}
void Gpu::write(DevicePointer to, const void* from, std::size_t bytes) {
  state_->check(state_->api.to_device(to, from, bytes), "cuMemcpyHtoD");
  synchronize();  // the call returns when host memory can be reused, possibly before the device's is written
}
void Gpu::read(void* to, DevicePointer from, std::size_t bytes) {
  state_->check(state_->api.to_host(to, from, bytes), "cuMemcpyDtoH");
}
void* Gpu::allocate_host(std::size_t bytes) {
  void* pointer = nullptr;
  state_->check(state_->api.allocate_host(&pointer, bytes, 0), "cuMemHostAlloc");
  return pointer;
}
void Gpu::release_host(void* pointer) {
  if (pointer && !state_->lost) state_->api.release_host(pointer);
}

double Gpu::time_copies(DevicePointer to_device, const void* from_host, void* to_host, DevicePointer from_device,
                        std::size_t bytes) {
  State& s = *state_;
  s.check(s.api.record_event(s.events[0], s.streams[0]), "cuEventRecord");
  s.check(s.api.wait_event(s.streams[1], s.events[0], 0), "cuStreamWaitEvent");
  if (from_host) s.check(s.api.to_device_async(to_device, from_host, bytes, s.streams[0]), "cuMemcpyHtoDAsync");
  if (to_host) {
    s.check(s.api.to_host_async(to_host, from_device, bytes, s.streams[1]), "cuMemcpyDtoHAsync");
    s.check(s.api.record_event(s.events[2], s.streams[1]), "cuEventRecord");
    s.check(s.api.wait_event(s.streams[0], s.events[2], 0), "cuStreamWaitEvent");
  }
  s.check(s.api.record_event(s.events[1], s.streams[0]), "cuEventRecord");
  s.wait(s.events[1]);
  float milliseconds = 0;
  s.check(s.api.elapsed(&milliseconds, s.events[0], s.events[1]), "cuEventElapsedTime");
  return 1e-3 * static_cast<double>(milliseconds);
}

double Gpu::time_copies_on_device(DevicePointer to, DevicePointer from, std::size_t bytes, unsigned repeats) {
  State& s = *state_;
  return time_work(
      [&](void* stream) {
        for (unsigned i = 0; i < repeats; ++i)
          s.check(s.api.on_device_async(to, from, bytes, stream), "cuMemcpyDtoDAsync");
      },
      "cuMemcpyDtoDAsync");
}

}  // namespace pagoda::tools::ceilings
