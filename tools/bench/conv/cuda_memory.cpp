#include "cuda_memory.h"

namespace pagoda::tools::conv {
namespace {

DynamicLibrary open_library() {
  DynamicLibrary library(cuda_places(), true);
  if (!library) throw Error("there is no NVIDIA driver: libcuda.so.1 cannot be opened; install the driver");
  return library;
}

}  // namespace

void CudaDevice::check(int code, const char* call) const {
  // 2 is CUDA_ERROR_OUT_OF_MEMORY.
  if (code == 2) throw Error(cat(call, ": the device has no memory left; take a smaller batch or size"));
  if (code != 0) throw Error(cat(call, ": ", driver_.text(code), " (CUDA error ", code, ")"));
}

CudaDevice::CudaDevice(int index) : driver_(open_library()) {
  if (const char* missing =
          first_missing(driver_.init, driver_.device_count, driver_.device, driver_.device_name, driver_.retain_context,
                        driver_.release_context, driver_.set_context, driver_.synchronize, driver_.allocate,
                        driver_.release, driver_.to_device, driver_.to_host, driver_.create_event,
                        driver_.destroy_event, driver_.record_event, driver_.wait_for_event, driver_.elapsed))
    throw Error(cat("the NVIDIA driver has no ", missing, "; it is too old"));
  if (const int code = driver_.init(0); code != 0) throw Error("cuInit: " + cuda_problem(code));
  int count = 0;
  check(driver_.device_count(&count), "cuDeviceGetCount");
  if (index < 0 || index >= count) throw Error(cat("there is no GPU ", index, ": the driver has ", count));
  check(driver_.device(&device_, index), "cuDeviceGet");
  check(driver_.retain_context(&context_, device_), "cuDevicePrimaryCtxRetain");
  check(driver_.set_context(context_), "cuCtxSetCurrent");
  check(driver_.create_event(&begin_, 0), "cuEventCreate");
  check(driver_.create_event(&end_, 0), "cuEventCreate");
  char text[256] = "";
  check(driver_.device_name(text, sizeof text - 1, device_), "cuDeviceGetName");
  name_ = text;
}

CudaDevice::~CudaDevice() {
  for (const CudaHandle event : {begin_, end_}) driver_.destroy_event(event);
  driver_.release_context(device_);
}

void CudaDevice::wait() const { check(driver_.synchronize(), "cuCtxSynchronize"); }
void CudaDevice::start() const { check(driver_.record_event(begin_, nullptr), "cuEventRecord"); }

double CudaDevice::stop() const {
  check(driver_.record_event(end_, nullptr), "cuEventRecord");
  check(driver_.wait_for_event(end_), "cuEventSynchronize");
  float milliseconds = 0;
  check(driver_.elapsed(&milliseconds, begin_, end_), "cuEventElapsedTime");
  return static_cast<double>(milliseconds) * 1e-3;
}

CudaBuffer::CudaBuffer(const CudaDevice& device, std::size_t bytes) : device_(device), bytes_(bytes) {
  if (bytes_ > 0) device_.check(device_.driver_.allocate(&address_, bytes_), "cuMemAlloc");
}
CudaBuffer::~CudaBuffer() {
  if (address_ != 0) device_.driver_.release(address_);
}
void CudaBuffer::from_host(const void* data) {
  if (bytes_ > 0) device_.check(device_.driver_.to_device(address_, data, bytes_), "cuMemcpyHtoD");
}
std::vector<float> CudaBuffer::floats() const {
  std::vector<float> values(bytes_ / sizeof(float));
  if (bytes_ > 0) device_.check(device_.driver_.to_host(values.data(), address_, bytes_), "cuMemcpyDtoH");
  return values;
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
