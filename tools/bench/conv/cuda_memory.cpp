// Types and numbers are those of cuda.h, which have not changed since CUDA 4.
#include "cuda_memory.h"

#include "nvidia_library.h"
#include "pagoda/base/error.h"

namespace pagoda::tools::conv {

using Code = int;
using Handle = void*;

struct CudaDevice::State {
  Code (*init)(unsigned) = nullptr;
  Code (*device_count)(int*) = nullptr;
  Code (*device_get)(int*, int) = nullptr;
  Code (*device_name)(char*, int, int) = nullptr;
  Code (*retain_context)(Handle*, int) = nullptr;
  Code (*release_context)(int) = nullptr;
  Code (*set_context)(Handle) = nullptr;
  Code (*synchronize)() = nullptr;
  Code (*allocate)(std::uintptr_t*, std::size_t) = nullptr;
  Code (*release)(std::uintptr_t) = nullptr;
  Code (*to_device)(std::uintptr_t, const void*, std::size_t) = nullptr;
  Code (*to_host)(void*, std::uintptr_t, std::size_t) = nullptr;
  Code (*create_event)(Handle*, unsigned) = nullptr;
  Code (*destroy_event)(Handle) = nullptr;
  Code (*record)(Handle, Handle) = nullptr;
  Code (*wait_for)(Handle) = nullptr;
  Code (*elapsed)(float*, Handle, Handle) = nullptr;
  int device = 0;
  Handle context = nullptr, begin = nullptr, end = nullptr;
};

namespace {

void check(Code code, const char* call) {
  // 2 is CUDA_ERROR_OUT_OF_MEMORY.
  if (code == 2) throw Error(std::string(call) + ": the device has no memory left; take a smaller batch or size");
  if (code != 0) throw Error(std::string(call) + ": CUDA error " + std::to_string(code));
}

}  // namespace

CudaDevice::CudaDevice(int index) : state_(std::make_unique<State>()) {
  State& s = *state_;
  const DynamicLibrary library(cuda_places(), true);
  if (!library) throw Error("there is no NVIDIA driver: libcuda.so.1 cannot be opened; install the driver");
  const auto find = [&](auto& function, const char* name) {
    if (!library.find(function, name)) throw Error(std::string("the NVIDIA driver has no ") + name + "; it is too old");
  };
  find(s.init, "cuInit");
  find(s.device_count, "cuDeviceGetCount");
  find(s.device_get, "cuDeviceGet");
  find(s.device_name, "cuDeviceGetName");
  find(s.retain_context, "cuDevicePrimaryCtxRetain");
  find(s.release_context, "cuDevicePrimaryCtxRelease_v2");
  find(s.set_context, "cuCtxSetCurrent");
  find(s.synchronize, "cuCtxSynchronize");
  find(s.allocate, "cuMemAlloc_v2");
  find(s.release, "cuMemFree_v2");
  find(s.to_device, "cuMemcpyHtoD_v2");
  find(s.to_host, "cuMemcpyDtoH_v2");
  find(s.create_event, "cuEventCreate");
  find(s.destroy_event, "cuEventDestroy_v2");
  find(s.record, "cuEventRecord");
  find(s.wait_for, "cuEventSynchronize");
  find(s.elapsed, "cuEventElapsedTime");
  if (const Code code = s.init(0); code != 0)
    throw Error("the NVIDIA driver finds no device to use: cuInit says " + std::to_string(code));
  int count = 0;
  check(s.device_count(&count), "cuDeviceGetCount");
  if (index < 0 || index >= count)
    throw Error("there is no GPU " + std::to_string(index) + ": the driver has " + std::to_string(count));
  check(s.device_get(&s.device, index), "cuDeviceGet");
  check(s.retain_context(&s.context, s.device), "cuDevicePrimaryCtxRetain");
  check(s.set_context(s.context), "cuCtxSetCurrent");
  check(s.create_event(&s.begin, 0), "cuEventCreate");
  check(s.create_event(&s.end, 0), "cuEventCreate");
}

CudaDevice::~CudaDevice() {
  if (!state_->context) return;
  for (const Handle event : {state_->begin, state_->end})
    if (event) state_->destroy_event(event);
  state_->release_context(state_->device);
}

std::string CudaDevice::name() const {
  char text[256] = "";
  check(state_->device_name(text, sizeof text - 1, state_->device), "cuDeviceGetName");
  return text;
}

void CudaDevice::wait() const { check(state_->synchronize(), "cuCtxSynchronize"); }
void CudaDevice::start() const { check(state_->record(state_->begin, nullptr), "cuEventRecord"); }

double CudaDevice::stop() const {
  check(state_->record(state_->end, nullptr), "cuEventRecord");
  check(state_->wait_for(state_->end), "cuEventSynchronize");
  float milliseconds = 0;
  check(state_->elapsed(&milliseconds, state_->begin, state_->end), "cuEventElapsedTime");
  return static_cast<double>(milliseconds) * 1e-3;
}

CudaBuffer::CudaBuffer(const CudaDevice& device, std::size_t bytes) : device_(device), bytes_(bytes) {
  if (bytes_ > 0) check(device_.state_->allocate(&address_, bytes_), "cuMemAlloc");
}
CudaBuffer::~CudaBuffer() {
  if (address_ != 0) device_.state_->release(address_);
}
void CudaBuffer::from_host(const void* data) {
  if (bytes_ > 0) check(device_.state_->to_device(address_, data, bytes_), "cuMemcpyHtoD");
}
void CudaBuffer::to_host(void* data) const {
  if (bytes_ > 0) check(device_.state_->to_host(data, address_, bytes_), "cuMemcpyDtoH");
}

}  // namespace pagoda::tools::conv
