#include "cuda_driver.h"

namespace pagoda::tools {
namespace {

constexpr CudaError kCudaErrors[] = {
    {34, "the library is the toolkit's stub for linking, not the driver's",
     "take its stubs folder (lib64/stubs) out of LD_LIBRARY_PATH and install NVIDIA's driver"},
    {100, "the driver sees no GPU",
     "look at nvidia-smi and CUDA_VISIBLE_DEVICES, and in containers start with --gpus all"},
    {802, "the driver is not ready", "on machines with NVSwitch start nvidia-fabricmanager"},
    {803, "the driver's library and its kernel module differ in version",
     "restart the machine after an update of the driver"},
    {804, "this device takes no forward compatibility", "take cuda-compat out of LD_LIBRARY_PATH"},
    {999, "the driver is in a bad state",
     "load its modules with nvidia-modprobe -u or modprobe nvidia_uvm (as root); dmesg | grep -i nvrm says more"},
};
constexpr CudaError kOtherCudaError = {0, "the driver does not start", "dmesg | grep -i nvrm says why"};

}  // namespace

std::string CudaDriver::text(int code) const {
  const char* said = nullptr;
  return error_string && error_string(code, &said) == 0 && said != nullptr ? said : "unknown error";
}

const CudaError& cuda_error(int code) {
  for (const CudaError& known : kCudaErrors)
    if (known.code == code) return known;
  return kOtherCudaError;
}

std::string cuda_problem(int code) {
  const CudaError& error = cuda_error(code);
  return std::string(error.found) + " (CUDA error " + std::to_string(code) + "); " + error.remedy;
}

std::string automatic_device() {
  const CudaDriver driver{DynamicLibrary(cuda_places())};
  int devices = 0;
  const bool has_device = !first_missing(driver.init, driver.device_count) && driver.init(0) == 0 &&
                          driver.device_count(&devices) == 0 && devices > 0;
  return has_device ? "cuda" : "cpu";
}

}  // namespace pagoda::tools
