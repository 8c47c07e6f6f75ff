// A driver and CUPTI in one library, as far as pagoda-profile speaks to them: launches that the test program makes are
// counted, each with values that tell which launch and which metric they are of. FAKE_CUDA says what is wrong with it.
#include <cuda.h>
#include <cupti.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>
#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

namespace {

bool is(const char* trouble) {
  const char* const set = std::getenv("FAKE_CUDA");
  return set != nullptr && std::strcmp(set, trouble) == 0;
}

CUpti_CallbackFunc callback = nullptr;
CUpti_BuffersCallbackRequestFunc request = nullptr;
CUpti_BuffersCallbackCompleteFunc complete = nullptr;
std::size_t counted = 0, next_record = 0, room = 0;
bool is_counting = false, of_ranges = false;
std::uint32_t correlation = 0;
std::vector<CUpti_ActivityKernel10> timed;
CUcontext context() { return reinterpret_cast<CUcontext>(0x10); }

const char* kMetrics[] = {"gpu__time_duration",
                          "sm__cycles_elapsed",
                          "dram__bytes_read",
                          "dram__bytes_write",
                          "lts__t_bytes",
                          "l1tex__t_bytes",
                          "sm__ops_path_tensor_src_bf16_dst_fp32",
                          "sm__sass_thread_inst_executed_op_fadd_pred_on",
                          "sm__sass_thread_inst_executed_op_fmul_pred_on",
                          "sm__sass_thread_inst_executed_op_ffma_pred_on"};

// Those above; with FAKE_METRICS, a file, the names in its lines.
const std::vector<const char*>& known_metrics() {
  static const auto* const kNames = [] {
    auto* const names = new std::vector<const char*>;
    const char* const path = std::getenv("FAKE_METRICS");
    std::ifstream file(path != nullptr ? path : "");
    for (std::string line; std::getline(file, line);) names->push_back(strdup(line.c_str()));
    if (names->empty()) names->assign(std::begin(kMetrics), std::end(kMetrics));
    return names;
  }();
  return *kNames;
}

// The stream that a program captures, kernels captured so far, and whether it is at it.
CUstream captured_stream() { return reinterpret_cast<CUstream>(0x20); }
std::size_t captured = 0;
bool is_capturing = false;
std::size_t asked_metrics = 0;

}  // namespace

extern "C" {

CUresult cuInit(unsigned) {
  if (is("stub")) return CUDA_ERROR_STUB_LIBRARY;
  if (is("no device")) return CUDA_ERROR_NO_DEVICE;
  if (is("mismatch")) return CUDA_ERROR_SYSTEM_DRIVER_MISMATCH;
  if (is("unknown")) return CUDA_ERROR_UNKNOWN;
  if (is("crash at start")) std::abort();
  static bool is_injected = false;
  const char* const path = std::getenv("CUDA_INJECTION64_PATH");
  if (path != nullptr && !is_injected) {
    is_injected = true;
    void* const library = dlopen(path, RTLD_NOW);
    const auto initialize = library ? reinterpret_cast<int (*)()>(dlsym(library, "InitializeInjection")) : nullptr;
    if (initialize) initialize();
  }
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetCount(int* count) {
  *count = is("no devices") ? 0 : 1;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetName(char* name, int bytes, CUdevice) {
  std::strncpy(name, "Fake H200", static_cast<std::size_t>(bytes));
  return CUDA_SUCCESS;
}
CUresult cuDriverGetVersion(int* version) {
  *version = 13000;
  return CUDA_SUCCESS;
}
CUresult cuCtxGetCurrent(CUcontext* current) {
  *current = context();
  return CUDA_SUCCESS;
}
CUresult cuCtxSetCurrent(CUcontext) { return CUDA_SUCCESS; }
CUresult cuDevicePrimaryCtxRetain(CUcontext* made, CUdevice) {
  *made = context();
  return is("no memory") ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  // As the real one: the stream that waits for all is not asked while another is captured.
  if (is_capturing && stream == nullptr) return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  *status =
      is_capturing && stream == captured_stream() ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
  return CUDA_SUCCESS;
}
CUresult cuStreamIsCapturing_ptsz(CUstream stream, CUstreamCaptureStatus* status) {
  *status = is_capturing && (stream == captured_stream() || stream == nullptr) ? CU_STREAM_CAPTURE_STATUS_ACTIVE
                                                                               : CU_STREAM_CAPTURE_STATUS_NONE;
  return CUDA_SUCCESS;
}
void fake_capture(int begins) {
  if (begins) captured = 0;
  is_capturing = begins != 0;
}

// What the test program calls in place of a launch: any of the driver's calls by its name, on the stream that is
// captured or on the usual one. A graph has the kernels that were captured.
void fake_launch_by(const char* call, const char* symbol, int on_captured_stream) {
  const CUstream stream = on_captured_stream ? captured_stream() : nullptr;
  ++correlation;
  CUlaunchConfig shape = {};
  shape.gridDimX = 8;
  shape.gridDimY = shape.gridDimZ = shape.blockDimY = shape.blockDimZ = 1;
  shape.blockDimX = 128;
  shape.hStream = stream;
  cuLaunchKernelEx_params by_config = {};
  by_config.config = &shape;
  cuLaunchKernelEx_ptsz_params by_config_ptsz = {};
  by_config_ptsz.config = &shape;
  cuLaunchKernel_params plain = {};
  plain.gridDimX = 8;
  plain.gridDimY = plain.gridDimZ = plain.blockDimY = plain.blockDimZ = 1;
  plain.blockDimX = 128;
  plain.hStream = stream;
  const cuLaunchKernel_ptsz_params plain_ptsz = {nullptr, 8, 1, 1, 128, 1, 1, 0, stream, nullptr, nullptr};
  const cuLaunchCooperativeKernel_params together = {nullptr, 8, 1, 1, 128, 1, 1, 0, stream, nullptr};
  const cuLaunchCooperativeKernel_ptsz_params together_ptsz = {nullptr, 8, 1, 1, 128, 1, 1, 0, stream, nullptr};
  const cuGraphLaunch_params graph = {nullptr, stream};
  const cuGraphLaunch_ptsz_params graph_ptsz = {nullptr, stream};
  const struct {
    const char* name;
    CUpti_CallbackId id;
    const void* params;
  } calls[] = {
      {"cuLaunchKernelEx", CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx, &by_config},
      {"cuLaunchKernelEx_ptsz", CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz, &by_config_ptsz},
      {"cuLaunchKernel", CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, &plain},
      {"cuLaunchKernel_ptsz", CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz, &plain_ptsz},
      {"cuLaunchCooperativeKernel", CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel, &together},
      {"cuLaunchCooperativeKernel_ptsz", CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz, &together_ptsz},
      {"cuGraphLaunch", CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch, &graph},
      {"cuGraphLaunch_ptsz", CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz, &graph_ptsz},
  };
  for (const auto& known : calls) {
    if (std::strcmp(known.name, call) != 0) continue;
    const bool is_graph = std::strncmp(call, "cuGraph", 7) == 0;
    const bool is_of_thread = std::strstr(call, "_ptsz") != nullptr;
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    if (is_of_thread)
      cuStreamIsCapturing_ptsz(stream, &status);
    else
      cuStreamIsCapturing(stream, &status);
    CUpti_CallbackData data = {};
    data.context = context();
    data.symbolName = is_graph ? nullptr : symbol;
    data.correlationId = correlation;
    data.functionParams = known.params;
    data.callbackSite = CUPTI_API_ENTER;
    if (callback) callback(nullptr, CUPTI_CB_DOMAIN_DRIVER_API, known.id, &data);
    const std::size_t kernels = is_graph ? captured : 1;
    if (status == CU_STREAM_CAPTURE_STATUS_ACTIVE) {
      captured += kernels;
    } else {
      if (is_counting && !of_ranges) counted += kernels;
      CUpti_ActivityKernel10 record = {};
      record.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
      record.correlationId = correlation;
      record.name = symbol;
      record.start = 1000;
      record.end = 3000;
      if (request) timed.insert(timed.end(), kernels, record);
    }
    data.callbackSite = CUPTI_API_EXIT;
    if (callback) callback(nullptr, CUPTI_CB_DOMAIN_DRIVER_API, known.id, &data);
  }
}
void fake_launch(const char* symbol) { fake_launch_by("cuLaunchKernelEx", symbol, 0); }

CUptiResult cuptiGetVersion(uint32_t* version) {
  *version = 130001;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiGetResultString(CUptiResult, const char** text) {
  *text = "FAKE_ERROR";
  return CUPTI_SUCCESS;
}
CUptiResult cuptiSubscribe_v2(CUpti_SubscriberHandle*, CUpti_CallbackFunc function, void*,
                              CUpti_SubscriberParams* params) {
  if (is("subscriber")) {
    std::strncpy(params->oldSubscriberName, "CUPTI for torch.profiler", params->oldSubscriberSize);
    return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  }
  callback = function;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiEnableCallback(uint32_t, CUpti_SubscriberHandle, CUpti_CallbackDomain, CUpti_CallbackId) {
  return CUPTI_SUCCESS;
}
CUptiResult cuptiGetDeviceId(CUcontext, uint32_t* device) {
  *device = 0;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiDeviceGetChipName(CUpti_Device_GetChipName_Params* params) {
  if (is("crash in CUPTI")) *reinterpret_cast<volatile int*>(8) = 1;
  params->pChipName = is("new chip") ? "XX100" : "GH100";
  return CUPTI_SUCCESS;
}
CUptiResult cuptiProfilerInitialize(CUpti_Profiler_Initialize_Params*) {
  return is("unknown CUPTI") ? CUPTI_ERROR_UNKNOWN : CUPTI_SUCCESS;
}
CUptiResult cuptiProfilerGetCounterAvailability(CUpti_Profiler_GetCounterAvailability_Params* params) {
  params->counterAvailabilityImageSize = 4;
  return is("privilege") ? CUPTI_ERROR_INSUFFICIENT_PRIVILEGES : CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerHostInitialize(CUpti_Profiler_Host_Initialize_Params* params) {
  params->pHostObject = reinterpret_cast<CUpti_Profiler_Host_Object*>(new int);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiProfilerHostDeinitialize(CUpti_Profiler_Host_Deinitialize_Params* params) {
  delete reinterpret_cast<int*>(params->pHostObject);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiProfilerHostGetBaseMetrics(CUpti_Profiler_Host_GetBaseMetrics_Params* params) {
  params->ppMetricNames = const_cast<const char**>(known_metrics().data());
  params->numMetrics = params->metricType == CUPTI_METRIC_TYPE_COUNTER ? known_metrics().size() : 0;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiProfilerHostConfigAddMetrics(CUpti_Profiler_Host_ConfigAddMetrics_Params* params) {
  asked_metrics = params->numMetrics;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiProfilerHostGetConfigImageSize(CUpti_Profiler_Host_GetConfigImageSize_Params* params) {
  params->configImageSize = 8;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiProfilerHostGetConfigImage(CUpti_Profiler_Host_GetConfigImage_Params*) { return CUPTI_SUCCESS; }
CUptiResult cuptiProfilerHostGetNumOfPasses(CUpti_Profiler_Host_GetNumOfPasses_Params* params) {
  params->numOfPasses = 1 + (is("few a pass") ? (asked_metrics - 1) / 20 : 0);
  return CUPTI_SUCCESS;
}
// 1000 · place of the range + length of the metric's name.
CUptiResult cuptiProfilerHostEvaluateToGpuValues(CUpti_Profiler_Host_EvaluateToGpuValues_Params* params) {
  for (std::size_t i = 0; i < params->numMetrics; ++i)
    params->pMetricValues[i] = 1000.0 * static_cast<double>(params->rangeIndex + 1) +
                               static_cast<double>(std::strlen(params->ppMetricNames[i]));
  return CUPTI_SUCCESS;
}

CUptiResult cuptiRangeProfilerEnable(CUpti_RangeProfiler_Enable_Params* params) {
  if (is("busy")) return CUPTI_ERROR_HARDWARE_BUSY;
  params->pRangeProfilerObject = reinterpret_cast<CUpti_RangeProfiler_Object*>(&room);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiRangeProfilerDisable(CUpti_RangeProfiler_Disable_Params*) { return CUPTI_SUCCESS; }
CUptiResult cuptiRangeProfilerGetCounterDataSize(CUpti_RangeProfiler_GetCounterDataSize_Params* params) {
  params->counterDataSize = 64;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiRangeProfilerCounterDataImageInitialize(
    CUpti_RangeProfiler_CounterDataImage_Initialize_Params* params) {
  std::memset(params->pCounterData, 0, params->counterDataSize);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiRangeProfilerSetConfig(CUpti_RangeProfiler_SetConfig_Params* params) {
  room = params->maxRangesPerPass;
  of_ranges = params->range == CUPTI_UserRange;
  // As the real one: kernels are replayed for automatic ranges only.
  return of_ranges && params->replayMode == CUPTI_KernelReplay ? CUPTI_ERROR_INVALID_OPERATION : CUPTI_SUCCESS;
}
CUptiResult cuptiRangeProfilerStart(CUpti_RangeProfiler_Start_Params*) {
  is_counting = true;
  counted = 0;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiRangeProfilerStop(CUpti_RangeProfiler_Stop_Params*) {
  is_counting = false;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiRangeProfilerDecodeData(CUpti_RangeProfiler_DecodeData_Params* params) {
  params->numOfRangeDropped = counted > room ? counted - room : 0;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiRangeProfilerGetCounterDataInfo(CUpti_RangeProfiler_GetCounterDataInfo_Params* params) {
  params->numTotalRanges = counted < room ? counted : room;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiRangeProfilerPushRange(CUpti_RangeProfiler_PushRange_Params*) { return CUPTI_SUCCESS; }
CUptiResult cuptiRangeProfilerPopRange(CUpti_RangeProfiler_PopRange_Params*) {
  ++counted;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc on_request,
                                           CUpti_BuffersCallbackCompleteFunc on_complete) {
  request = on_request;
  complete = on_complete;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityEnable(CUpti_ActivityKind) { return CUPTI_SUCCESS; }
CUptiResult cuptiActivityFlushAll(uint32_t) {
  if (timed.empty() || complete == nullptr) return CUPTI_SUCCESS;
  uint8_t* buffer = nullptr;
  std::size_t bytes = 0, records = 0;
  request(&buffer, &bytes, &records);
  next_record = 0;
  complete(nullptr, 0, buffer, bytes, timed.size() * sizeof(CUpti_ActivityKernel10));
  timed.clear();
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityGetNextRecord(uint8_t*, std::size_t, CUpti_Activity** record) {
  if (next_record >= timed.size()) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = reinterpret_cast<CUpti_Activity*>(&timed[next_record++]);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext, uint32_t, std::size_t* dropped) {
  *dropped = 0;
  return CUPTI_SUCCESS;
}
}
