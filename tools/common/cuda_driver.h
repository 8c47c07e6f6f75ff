// CUDA's driver, opened at run time: the functions that the tools call, and what its refusals to start mean. Types and
// numbers are those of cuda.h; functions that have changed since CUDA 4 are named with their version.
//
//   const CudaDriver driver{DynamicLibrary(cuda_places())};
//   if (const char* name = first_missing(driver.init, driver.device_count)) …   // not a driver, or too old
//   if (const int code = driver.init(0); code != 0) throw Error(cuda_problem(code));
#pragma once

#include <cstddef>
#include <string>

#include "nvidia_library.h"

namespace pagoda::tools {

using CudaHandle = void*;                // a context, module, function, stream or event
using CudaAddress = unsigned long long;  // CUdeviceptr

// A function of the driver, by its name; false if the driver lacks it.
template <typename... Arguments>
struct CudaFunction {
  CudaFunction(const DynamicLibrary& library, const char* symbol)
      : name(symbol), address(library.symbol<int (*)(Arguments...)>(symbol)) {}
  explicit operator bool() const { return address != nullptr; }
  int operator()(Arguments... arguments) const { return address(arguments...); }

  const char* name;
  int (*address)(Arguments...);
};

// The name of the first of these functions that the driver lacks; null if it has them all.
template <typename... Functions>
const char* first_missing(const Functions&... functions) {
  const char* missing = nullptr;
  ((missing = missing == nullptr && !functions ? functions.name : missing), ...);
  return missing;
}

struct CudaDriver {
  explicit CudaDriver(const DynamicLibrary& opened) : library(opened) {}

  // What the driver calls a result; "unknown error" if it does not say.
  std::string text(int code) const;

  DynamicLibrary library;  // first: the functions are found in it
  CudaFunction<unsigned> init{library, "cuInit"};
  CudaFunction<int*> version{library, "cuDriverGetVersion"};
  CudaFunction<int, const char**> error_string{library, "cuGetErrorString"};
  CudaFunction<int*> device_count{library, "cuDeviceGetCount"};
  CudaFunction<int*, int> device{library, "cuDeviceGet"};
  CudaFunction<char*, int, int> device_name{library, "cuDeviceGetName"};
  CudaFunction<int*, int, int> device_attribute{library, "cuDeviceGetAttribute"};
  CudaFunction<char*, int, int> bus_id{library, "cuDeviceGetPCIBusId"};

  CudaFunction<CudaHandle*, int> retain_context{library, "cuDevicePrimaryCtxRetain"};
  CudaFunction<int> release_context{library, "cuDevicePrimaryCtxRelease_v2"};
  CudaFunction<CudaHandle> set_context{library, "cuCtxSetCurrent"};
  CudaFunction<> synchronize{library, "cuCtxSynchronize"};

  CudaFunction<CudaHandle*, const void*> load_module{library, "cuModuleLoadData"};
  CudaFunction<CudaHandle*, CudaHandle, const char*> get_function{library, "cuModuleGetFunction"};
  CudaFunction<CudaHandle, int, int> set_function_attribute{library, "cuFuncSetAttribute"};
  CudaFunction<CudaHandle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CudaHandle, void**,
               void**>
      launch{library, "cuLaunchKernel"};

  CudaFunction<std::size_t*, std::size_t*> memory_info{library, "cuMemGetInfo_v2"};
  CudaFunction<CudaAddress*, std::size_t> allocate{library, "cuMemAlloc_v2"};
  CudaFunction<CudaAddress> release{library, "cuMemFree_v2"};
  CudaFunction<void**, std::size_t, unsigned> allocate_host{library, "cuMemHostAlloc"};
  CudaFunction<void*> release_host{library, "cuMemFreeHost"};
  CudaFunction<CudaAddress, unsigned, std::size_t> fill{library, "cuMemsetD32_v2"};
  CudaFunction<void*, CudaAddress, std::size_t> to_host{library, "cuMemcpyDtoH_v2"};
  CudaFunction<CudaAddress, const void*, std::size_t> to_device{library, "cuMemcpyHtoD_v2"};
  CudaFunction<void*, CudaAddress, std::size_t, CudaHandle> to_host_async{library, "cuMemcpyDtoHAsync_v2"};
  CudaFunction<CudaAddress, const void*, std::size_t, CudaHandle> to_device_async{library, "cuMemcpyHtoDAsync_v2"};
  CudaFunction<CudaAddress, CudaAddress, std::size_t, CudaHandle> on_device_async{library, "cuMemcpyDtoDAsync_v2"};

  CudaFunction<CudaHandle*, unsigned> create_stream{library, "cuStreamCreate"};
  CudaFunction<CudaHandle, CudaHandle, unsigned> wait_event{library, "cuStreamWaitEvent"};
  CudaFunction<CudaHandle*, unsigned> create_event{library, "cuEventCreate"};
  CudaFunction<CudaHandle> destroy_event{library, "cuEventDestroy_v2"};
  CudaFunction<CudaHandle, CudaHandle> record_event{library, "cuEventRecord"};
  CudaFunction<CudaHandle> query_event{library, "cuEventQuery"};
  CudaFunction<CudaHandle> wait_for_event{library, "cuEventSynchronize"};
  CudaFunction<float*, CudaHandle, CudaHandle> elapsed{library, "cuEventElapsedTime"};
};

// What a result of cuInit other than 0 means.
struct CudaError {
  int code;
  const char* found;
  const char* remedy;
};
const CudaError& cuda_error(int code);
// "the driver sees no GPU (CUDA error 100); look at nvidia-smi …".
std::string cuda_problem(int code);

// The meaning of --device auto on this machine: "cuda" if the CUDA driver has a device, else "cpu".
std::string automatic_device();

}  // namespace pagoda::tools
