// The CUDA driver functions that ert-ceilings calls (tools/ceilings/gpu_driver.cpp), on the interpreter.
#include "driver.h"

#include <algorithm>
#include <cstdlib>

namespace ptx {

Driver& driver() {
  static Driver one;
  return one;
}

void Driver::reset() {
  for (auto& [address, pointer] : allocated) std::free(pointer);
  *this = Driver();
}

namespace {

constexpr int kInvalidValue = 1, kOutOfMemory = 2, kInvalidPtx = 218, kNotFound = 500, kLaunchFailed = 719;
constexpr std::size_t kFreeBytes = 8 << 20;  // small, so that arrays are small

template <typename F>
int guarded(int failure, F f) {
  try {
    f();
    return 0;
  } catch (const Fault& fault) {
    driver().fault = fault.what();
    return failure;
  }
}

int allocate(unsigned long long* to, std::size_t bytes, bool defined) {
  // Leaves unused bytes behind each allocation, so that no two allocations are adjacent.
  void* const memory = std::aligned_alloc(4096, (bytes + 8191) / 4096 * 4096);
  if (!memory) return kOutOfMemory;
  *to = reinterpret_cast<std::uint64_t>(memory);
  driver().allocated[*to] = memory;
  driver().memory.add(*to, bytes, defined);
  return 0;
}

int release(std::uint64_t address) {
  return guarded(kInvalidValue, [&] {
    driver().memory.remove(address);
    std::free(driver().allocated.at(address));
    driver().allocated.erase(address);
  });
}

int to_host(void* to, std::uint64_t from, std::size_t bytes) {
  return guarded(kInvalidValue, [&] {
    driver().memory.check_defined(from, bytes, "a copy to the host");
    std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
  });
}

int to_device(std::uint64_t to, const void* from, std::size_t bytes) {
  return guarded(kInvalidValue, [&] {
    driver().memory.define(to, bytes);
    std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  });
}

int launch(const Kernel& kernel, unsigned blocks, unsigned threads, unsigned shared, void** arguments) {
  return guarded(kLaunchFailed, [&] {
    Launch l{blocks, threads, shared, {}};
    for (std::size_t i = 0; i < kernel.parameters.size(); ++i) {
      const auto* const bytes = static_cast<const std::byte*>(arguments[i]);
      l.arguments.emplace_back(bytes, bytes + kernel.parameters[i].bytes);
    }
    Work work = run(kernel, l, driver().memory, driver().order);
    if (driver().keeps) driver().launches.push_back(std::move(work));
  });
}

}  // namespace
}  // namespace ptx

extern "C" {
using Device = unsigned long long;
int cuInit(unsigned) { return 0; }
int cuDriverGetVersion(int* version) { return *version = 13000, 0; }
int cuDeviceGetCount(int* count) { return *count = 1, 0; }
int cuDeviceGet(int* device, int) { return *device = 0, 0; }
int cuDeviceGetName(char* name, int size, int) {
  return std::strncpy(name, "Interpreter", static_cast<std::size_t>(size)), 0;
}
int cuDeviceGetAttribute(int* value, int which, int) {
  // Clocks, two SMs, 2 MiB of L2, 227 KiB of shared memory.
  const std::map<int, int> values = {{13, 1500000},
                                     {16, 2},
                                     {32, 0},
                                     {36, 1000000},
                                     {37, 64},
                                     {38, 2 << 20},
                                     {75, ptx::driver().major},
                                     {76, ptx::driver().minor},
                                     {97, 227 << 10}};
  const auto found = values.find(which);
  return found == values.end() ? ptx::kInvalidValue : (*value = found->second, 0);
}
int cuDeviceGetPCIBusId(char* text, int size, int) {
  return std::strncpy(text, "0000:01:00.0", static_cast<std::size_t>(size)), 0;
}
int cuDevicePrimaryCtxRetain(void** context, int) { return *context = &ptx::driver(), 0; }
int cuDevicePrimaryCtxRelease_v2(int) { return 0; }
int cuCtxSetCurrent(void*) { return 0; }
int cuCtxSynchronize() { return 0; }
int cuModuleLoadData(void** module, const void* text) {
  *module = &ptx::driver();
  return ptx::guarded(ptx::kInvalidPtx,
                      [&] { ptx::driver().kernels.merge(ptx::parse(static_cast<const char*>(text))); });
}
int cuModuleGetFunction(void** function, void*, const char* name) {
  const auto found = ptx::driver().kernels.find(name);
  if (found == ptx::driver().kernels.end()) return ptx::kNotFound;
  return *function = &found->second, 0;
}
int cuFuncSetAttribute(void*, int, int) { return 0; }
int cuLaunchKernel(void* function, unsigned x, unsigned y, unsigned z, unsigned threads, unsigned threads_y,
                   unsigned threads_z, unsigned shared, void*, void** arguments, void**) {
  if (y * z * threads_y * threads_z != 1) return ptx::kInvalidValue;
  return ptx::launch(*static_cast<ptx::Kernel*>(function), x, threads, shared, arguments);
}
int cuMemGetInfo_v2(std::size_t* available, std::size_t* all) { return *available = *all = ptx::kFreeBytes, 0; }
int cuMemAlloc_v2(Device* to, std::size_t bytes) { return ptx::allocate(to, bytes, false); }
int cuMemFree_v2(Device memory) { return ptx::release(memory); }
int cuMemsetD32_v2(Device to, unsigned word, std::size_t words) {
  return ptx::guarded(ptx::kInvalidValue, [&] {
    ptx::driver().memory.define(to, 4 * words);
    std::fill_n(reinterpret_cast<unsigned*>(to), words, word);
  });
}
int cuMemcpyDtoH_v2(void* to, Device from, std::size_t bytes) { return ptx::to_host(to, from, bytes); }
int cuMemcpyHtoD_v2(Device to, const void* from, std::size_t bytes) { return ptx::to_device(to, from, bytes); }
int cuMemcpyDtoHAsync_v2(void* to, Device from, std::size_t bytes, void*) { return ptx::to_host(to, from, bytes); }
int cuMemcpyDtoDAsync_v2(Device to, Device from, std::size_t bytes, void*) {
  return ptx::to_device(to, reinterpret_cast<const void*>(from), bytes);
}
int cuMemcpyHtoDAsync_v2(Device to, const void* from, std::size_t bytes, void*) {
  return ptx::to_device(to, from, bytes);
}
// The host may write it at any time, so all of it counts as written.
int cuMemHostAlloc(void** memory, std::size_t bytes, unsigned) {
  Device address = 0;
  const int result = ptx::allocate(&address, bytes, true);
  return *memory = reinterpret_cast<void*>(address), result;
}
int cuMemFreeHost(void* memory) { return ptx::release(reinterpret_cast<std::uint64_t>(memory)); }
int cuStreamCreate(void** stream, unsigned) { return *stream = &ptx::driver(), 0; }
int cuStreamWaitEvent(void*, void*, unsigned) { return 0; }
int cuEventCreate(void** event, unsigned) { return *event = &ptx::driver(), 0; }
int cuEventRecord(void*, void*) { return 0; }
int cuEventQuery(void*) { return 0; }
// Time is scripted, too: every interval takes a millisecond.
int cuEventElapsedTime(float* milliseconds, void*, void*) { return *milliseconds = 1, 0; }
int cuGetErrorString(int, const char** text) { return *text = ptx::driver().fault.c_str(), 0; }
}
