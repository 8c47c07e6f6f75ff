// The calls that the backend makes to the CUDA driver and cuDNN, executed in CPU memory, so that their order, sizes and
// arguments are tested without a device. Supports two-dimensional convolutions in float32: winograd takes only 3x3
// filters at stride 1; fft accepts every shape and fails when it runs.
#include <cudnn.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace {

struct Tensor {
  std::vector<int> sizes;
};
struct Convolution {
  std::vector<int> pads, strides, dilations;
  int groups = 1;
};

Tensor& of(cudnnTensorDescriptor_t t) { return *reinterpret_cast<Tensor*>(t); }
Tensor& of(cudnnFilterDescriptor_t t) { return *reinterpret_cast<Tensor*>(t); }
Convolution& of(cudnnConvolutionDescriptor_t c) { return *reinterpret_cast<Convolution*>(c); }

bool takes(cudnnFilterDescriptor_t filter, cudnnConvolutionDescriptor_t convolution,
           cudnnConvolutionFwdAlgo_t algorithm) {
  const Tensor& w = of(filter);
  const Convolution& c = of(convolution);
  if (algorithm == CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD)
    return w.sizes[2] == 3 && w.sizes[3] == 3 && c.strides[0] == 1 && c.strides[1] == 1;
  return algorithm != CUDNN_CONVOLUTION_FWD_ALGO_DIRECT;
}

std::vector<std::chrono::steady_clock::time_point>& events() {
  static std::vector<std::chrono::steady_clock::time_point> list;
  return list;
}

}  // namespace

extern "C" {

int cuInit(unsigned) { return 0; }
int cuDeviceGetCount(int* count) { return *count = 1, 0; }
int cuDeviceGet(int* device, int index) { return *device = index, 0; }
int cuDeviceGetName(char* name, int size, int) {
  std::strncpy(name, "made-up device", static_cast<std::size_t>(size));
  return 0;
}
int cuDevicePrimaryCtxRetain(void** context, int) { return *context = &events(), 0; }
int cuDevicePrimaryCtxRelease_v2(int) { return 0; }
int cuCtxSetCurrent(void*) { return 0; }
int cuCtxSynchronize() { return 0; }
int cuMemAlloc_v2(std::uintptr_t* address, std::size_t bytes) {
  *address = reinterpret_cast<std::uintptr_t>(std::malloc(bytes));
  return *address ? 0 : 2;
}
int cuMemFree_v2(std::uintptr_t address) { return std::free(reinterpret_cast<void*>(address)), 0; }
int cuMemcpyHtoD_v2(std::uintptr_t to, const void* from, std::size_t bytes) {
  return std::memcpy(reinterpret_cast<void*>(to), from, bytes), 0;
}
int cuMemcpyDtoH_v2(void* to, std::uintptr_t from, std::size_t bytes) {
  return std::memcpy(to, reinterpret_cast<const void*>(from), bytes), 0;
}
int cuEventCreate(void** event, unsigned) {
  events().emplace_back();
  *event = reinterpret_cast<void*>(events().size());  // from 1
  return 0;
}
int cuEventDestroy_v2(void*) { return 0; }
int cuEventRecord(void* event, void*) {
  events()[reinterpret_cast<std::size_t>(event) - 1] = std::chrono::steady_clock::now();
  return 0;
}
int cuEventSynchronize(void*) { return 0; }
int cuEventElapsedTime(float* milliseconds, void* begin, void* end) {
  const auto at = [](void* event) { return events()[reinterpret_cast<std::size_t>(event) - 1]; };
  *milliseconds = std::chrono::duration<float, std::milli>(at(end) - at(begin)).count();
  return 0;
}

size_t cudnnGetVersion() { return 90100; }
const char* cudnnGetErrorString(cudnnStatus_t status) {
  return status == CUDNN_STATUS_NOT_SUPPORTED ? "not supported" : "other";
}
cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  *handle = reinterpret_cast<cudnnHandle_t>(&events());
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroy(cudnnHandle_t) { return CUDNN_STATUS_SUCCESS; }
cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t* t) {
  *t = reinterpret_cast<cudnnTensorDescriptor_t>(new Tensor);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t t) {
  delete &of(t);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t t, cudnnDataType_t, int rank, const int* sizes,
                                         const int* strides) {
  int packed = 1;
  for (int i = rank; i-- > 0; packed *= sizes[i])
    if (strides[i] != packed) return CUDNN_STATUS_BAD_PARAM;
  of(t).sizes.assign(sizes, sizes + rank);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnCreateFilterDescriptor(cudnnFilterDescriptor_t* t) {
  *t = reinterpret_cast<cudnnFilterDescriptor_t>(new Tensor);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroyFilterDescriptor(cudnnFilterDescriptor_t t) {
  delete &of(t);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetFilterNdDescriptor(cudnnFilterDescriptor_t t, cudnnDataType_t, cudnnTensorFormat_t, int rank,
                                         const int* sizes) {
  of(t).sizes.assign(sizes, sizes + rank);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnCreateConvolutionDescriptor(cudnnConvolutionDescriptor_t* c) {
  *c = reinterpret_cast<cudnnConvolutionDescriptor_t>(new Convolution);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroyConvolutionDescriptor(cudnnConvolutionDescriptor_t c) {
  delete &of(c);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetConvolutionNdDescriptor(cudnnConvolutionDescriptor_t c, int axes, const int* pads,
                                              const int* strides, const int* dilations, cudnnConvolutionMode_t mode,
                                              cudnnDataType_t) {
  if (mode != CUDNN_CROSS_CORRELATION || axes != 2) return CUDNN_STATUS_BAD_PARAM;
  of(c).pads.assign(pads, pads + axes);
  of(c).strides.assign(strides, strides + axes);
  of(c).dilations.assign(dilations, dilations + axes);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetConvolutionGroupCount(cudnnConvolutionDescriptor_t c, int groups) {
  of(c).groups = groups;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t, cudnnMathType_t) {
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetConvolutionNdForwardOutputDim(cudnnConvolutionDescriptor_t descriptor, cudnnTensorDescriptor_t x,
                                                    cudnnFilterDescriptor_t w, int rank, int* sizes) {
  const Convolution& c = of(descriptor);
  sizes[0] = of(x).sizes[0];
  sizes[1] = of(w).sizes[0];
  for (int i = 2; i < rank; ++i) {
    const auto a = static_cast<std::size_t>(i), axis = a - 2;
    const int reach = (of(w).sizes[a] - 1) * c.dilations[axis] + 1;
    sizes[i] = (of(x).sizes[a] + 2 * c.pads[axis] - reach) / c.strides[axis] + 1;
  }
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetConvolutionForwardAlgorithm_v7(cudnnHandle_t, cudnnTensorDescriptor_t, cudnnFilterDescriptor_t,
                                                     cudnnConvolutionDescriptor_t, cudnnTensorDescriptor_t, int,
                                                     int* count, cudnnConvolutionFwdAlgoPerf_t* ranked) {
  // The fastest needs tensor cores, which were not requested; the next is not supported.
  ranked[0] = {
      CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD, CUDNN_STATUS_SUCCESS, 1, 0, CUDNN_DETERMINISTIC, CUDNN_TENSOR_OP_MATH, {}};
  ranked[1] = {
      CUDNN_CONVOLUTION_FWD_ALGO_DIRECT, CUDNN_STATUS_NOT_SUPPORTED, 2, 0, CUDNN_DETERMINISTIC, CUDNN_FMA_MATH, {}};
  ranked[2] = {CUDNN_CONVOLUTION_FWD_ALGO_GEMM, CUDNN_STATUS_SUCCESS, 3, 0, CUDNN_DETERMINISTIC, CUDNN_FMA_MATH, {}};
  *count = 3;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetConvolutionForwardWorkspaceSize(cudnnHandle_t, cudnnTensorDescriptor_t,
                                                      cudnnFilterDescriptor_t filter, cudnnConvolutionDescriptor_t c,
                                                      cudnnTensorDescriptor_t, cudnnConvolutionFwdAlgo_t algorithm,
                                                      size_t* bytes) {
  *bytes = algorithm == CUDNN_CONVOLUTION_FWD_ALGO_GEMM ? 4096 : 0;
  return takes(filter, c, algorithm) ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_NOT_SUPPORTED;
}
cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t, const void*, cudnnTensorDescriptor_t xd, const void* xp,
                                      cudnnFilterDescriptor_t wd, const void* wp, cudnnConvolutionDescriptor_t cd,
                                      cudnnConvolutionFwdAlgo_t algorithm, void* workspace, size_t bytes, const void*,
                                      cudnnTensorDescriptor_t yd, void* yp) {
  if (algorithm == CUDNN_CONVOLUTION_FWD_ALGO_FFT || !takes(wd, cd, algorithm)) return CUDNN_STATUS_NOT_SUPPORTED;
  if (bytes > 0) std::memset(workspace, 0xFF, bytes);  // reveals a workspace smaller than stated
  const std::vector<int>&x = of(xd).sizes, &w = of(wd).sizes, &y = of(yd).sizes;
  const Convolution& c = of(cd);
  const auto* in = static_cast<const float*>(xp);
  const auto* weights = static_cast<const float*>(wp);
  auto* out = static_cast<float*>(yp);
  for (int n = 0; n < y[0]; ++n)
    for (int o = 0; o < y[1]; ++o)
      for (int i = 0; i < y[2]; ++i)
        for (int j = 0; j < y[3]; ++j) {
          float sum = 0;
          const int first = o / (w[0] / c.groups) * w[1];
          for (int k = 0; k < w[1]; ++k)
            for (int p = 0; p < w[2]; ++p)
              for (int q = 0; q < w[3]; ++q) {
                const int row = i * c.strides[0] + p * c.dilations[0] - c.pads[0],
                          column = j * c.strides[1] + q * c.dilations[1] - c.pads[1];
                if (row < 0 || row >= x[2] || column < 0 || column >= x[3]) continue;
                sum += in[((n * x[1] + first + k) * x[2] + row) * x[3] + column] *
                       weights[((o * w[1] + k) * w[2] + p) * w[3] + q];
              }
          out[((n * y[1] + o) * y[2] + i) * y[3] + j] = sum;
        }
  return CUDNN_STATUS_SUCCESS;
}

}  // extern "C"
