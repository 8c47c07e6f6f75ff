#include "cuda_memory.h"

#include "cuda_driver.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/error.h"

namespace pagoda::tools::conv {

struct CudaDevice::State {
  explicit State(const DynamicLibrary& library) : driver(library) {}

  void check(int code, const char* call) const {
    // 2 is CUDA_ERROR_OUT_OF_MEMORY.
    if (code == 2) throw Error(cat(call, ": the device has no memory left; take a smaller batch or size"));
    if (code != 0) throw Error(cat(call, ": ", driver.text(code), " (CUDA error ", code, ")"));
  }

  CudaDriver driver;
  int device = 0;
  CudaHandle context = nullptr, begin = nullptr, end = nullptr;
};

namespace {

DynamicLibrary open_library() {
  DynamicLibrary library(cuda_places(), true);
  if (!library) throw Error("there is no NVIDIA driver: libcuda.so.1 cannot be opened; install the driver");
  return library;
}

}  // namespace

CudaDevice::CudaDevice(int index) : state_(std::make_unique<State>(open_library())) {
  State& s = *state_;
  const CudaDriver& driver = s.driver;
  if (const char* missing =
          first_missing(driver.init, driver.device_count, driver.device, driver.device_name, driver.retain_context,
                        driver.release_context, driver.set_context, driver.synchronize, driver.allocate, driver.release,
                        driver.to_device, driver.to_host, driver.create_event, driver.destroy_event,
                        driver.record_event, driver.wait_for_event, driver.elapsed))
    throw Error(cat("the NVIDIA driver has no ", missing, "; it is too old"));
  if (const int code = driver.init(0); code != 0) throw Error("cuInit: " + cuda_problem(code));
  int count = 0;
  s.check(driver.device_count(&count), "cuDeviceGetCount");
  if (index < 0 || index >= count) throw Error(cat("there is no GPU ", index, ": the driver has ", count));
  s.check(driver.device(&s.device, index), "cuDeviceGet");
  s.check(driver.retain_context(&s.context, s.device), "cuDevicePrimaryCtxRetain");
  s.check(driver.set_context(s.context), "cuCtxSetCurrent");
  s.check(driver.create_event(&s.begin, 0), "cuEventCreate");
  s.check(driver.create_event(&s.end, 0), "cuEventCreate");
}

CudaDevice::~CudaDevice() {
  if (!state_->context) return;
  for (const CudaHandle event : {state_->begin, state_->end})
    if (event) state_->driver.destroy_event(event);
  state_->driver.release_context(state_->device);
}

std::string CudaDevice::name() const {
  char text[256] = "";
  state_->check(state_->driver.device_name(text, sizeof text - 1, state_->device), "cuDeviceGetName");
  return text;
}

void CudaDevice::wait() const { state_->check(state_->driver.synchronize(), "cuCtxSynchronize"); }
void CudaDevice::start() const { state_->check(state_->driver.record_event(state_->begin, nullptr), "cuEventRecord"); }

double CudaDevice::stop() const {
  state_->check(state_->driver.record_event(state_->end, nullptr), "cuEventRecord");
  state_->check(state_->driver.wait_for_event(state_->end), "cuEventSynchronize");
  float milliseconds = 0;
  state_->check(state_->driver.elapsed(&milliseconds, state_->begin, state_->end), "cuEventElapsedTime");
  return static_cast<double>(milliseconds) * 1e-3;
}

CudaBuffer::CudaBuffer(const CudaDevice& device, std::size_t bytes) : device_(device), bytes_(bytes) {
  if (bytes_ > 0) device_.state_->check(device_.state_->driver.allocate(&address_, bytes_), "cuMemAlloc");
}
CudaBuffer::~CudaBuffer() {
  if (address_ != 0) device_.state_->driver.release(address_);
}
void CudaBuffer::from_host(const void* data) {
  if (bytes_ > 0) device_.state_->check(device_.state_->driver.to_device(address_, data, bytes_), "cuMemcpyHtoD");
}
void CudaBuffer::to_host(void* data) const {
  if (bytes_ > 0) device_.state_->check(device_.state_->driver.to_host(data, address_, bytes_), "cuMemcpyDtoH");
}

GpuLibrary::GpuLibrary(const std::string& file, const std::string& package) : file_(file), library_({file}, true) {
  if (!library_) missing = cat(file, " cannot be opened; install ", package, " or add its folder to LD_LIBRARY_PATH");
}

GpuLibrary::Symbol GpuLibrary::find(const char* name) {
  void* const address = library_ ? library_.address(name) : nullptr;
  if (!address && missing.empty()) missing = cat(file_, " has no ", name, "; install one of the headers' version");
  return {name, address};
}

}  // namespace pagoda::tools::conv
