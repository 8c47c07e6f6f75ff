// A driver and CUPTI in one library, as far as pagoda-profile uses them: launches of the test program are counted, with
// values that identify the launch and the metric. FAKE_CUDA says what is wrong with it. It refuses what the real one
// refuses: calls out of order, structures longer than in CUPTI 12.6, unbalanced ranges, a wrong subscriber handle,
// profiling while tracing, waiting for the device during a capture.
#include <cuda.h>
#include <cupti.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>
#include <dlfcn.h>

#include <algorithm>
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

// The real library accepts structures that end at or before its own last field. `last` is the last field in CUPTI 12.6;
// the caller must pass all fields up to it.
template <typename Params, typename Field>
bool is_well_formed(const Params* params, Field Params::*last) {
  const auto size = static_cast<std::size_t>(reinterpret_cast<const char*>(&(params->*last)) -
                                             reinterpret_cast<const char*>(params)) +
                    sizeof(Field);
  return params->structSize == size && params->pPriv == nullptr;
}
#define EXPECT_PARAMS(last) \
  if (!is_well_formed(params, last)) return CUPTI_ERROR_INVALID_PARAMETER

bool is_initialized = is("another driver"), is_profiler_initialized = false, is_tracing = false, listens_to_runtime = false;
bool is_torn_down = false;  // the libraries that CUPTI loads for counters end before handlers registered earlier run
// State of a context: enabled, configured, started, stopped; number of open ranges.
struct Session {
  bool is_enabled = false, has_image = false, is_configured = false, is_started = false, is_stopped = false;
  std::size_t image_bytes = 0, image_ranges = 0, metrics = 0;
  int open = 0;
  std::size_t counted = 0, room = 0;
  bool of_ranges = false;
  std::uint8_t* image = nullptr;  // written by decoding
};
Session sessions[2];  // by device
struct Host {
  std::vector<std::string> metrics;
};
CUpti_RangeProfiler_Object* object_of(Session& session) {
  return reinterpret_cast<CUpti_RangeProfiler_Object*>(&session);
}
Session& session_of(CUpti_RangeProfiler_Object* object) {
  return object == object_of(sessions[1]) ? sessions[1] : sessions[0];
}
CUpti_SubscriberHandle subscriber() { return reinterpret_cast<CUpti_SubscriberHandle>(0x30); }
std::vector<CUpti_CallbackId> listened;
constexpr std::size_t kMostRanges = 2500;  // where users got CUPTI_ERROR_INVALID_OPERATION

CUpti_CallbackFunc callback = nullptr;
CUpti_BuffersCallbackRequestFunc request = nullptr;
CUpti_BuffersCallbackCompleteFunc complete = nullptr;
std::size_t next_record = 0;
std::uint32_t correlation = 0;
#if CUPTI_API_VERSION >= 130000
using KernelRecord = CUpti_ActivityKernel10;
#else
using KernelRecord = CUpti_ActivityKernel9;
#endif
std::vector<KernelRecord> timed;

// With FAKE_CUDA "two chips" there is a second device with a different chip, and launches alternate between them.
std::uint32_t devices() { return is("two chips") ? 2 : 1; }
CUcontext context_of(std::uint32_t device) { return reinterpret_cast<CUcontext>(std::uintptr_t{0x10} + device); }
std::uint32_t device_of(CUcontext context) { return context == context_of(1) ? 1 : 0; }
// "another driver": the program calls one, so that its context is not of this library.
bool is_context(CUcontext context) {
  return is("another driver") || context == context_of(0) || (devices() > 1 && context == context_of(1));
}
std::uint32_t device_of_launch() { return correlation % devices(); }

const char* kMetrics[] = {"gpu__time_duration",
                          "sm__cycles_elapsed",
                          "dram__bytes_read",
                          "dram__bytes_write",
                          "lts__t_sectors_srcunit_tex",
                          "lts__t_bytes",
                          "l1tex__t_bytes",
                          "sm__ops_path_tensor_src_bf16_dst_fp32",
                          "sm__sass_thread_inst_executed_op_fadd_pred_on",
                          "sm__sass_thread_inst_executed_op_fmul_pred_on",
                          "sm__sass_thread_inst_executed_op_ffma_pred_on"};

// The metrics above, or with FAKE_METRICS, the names in the lines of that file.
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

// The captured stream, the number of kernels captured so far, and whether a capture is active.
CUstream captured_stream() { return reinterpret_cast<CUstream>(0x20); }
std::size_t captured = 0;
bool is_capturing = false, is_capture_broken = false;

// A full name is a base and a rollup: "dram__bytes_read.sum".
bool is_known(const std::string& full) {
  const std::size_t dot = full.find('.');
  if (dot == std::string::npos) return false;
  return std::any_of(known_metrics().begin(), known_metrics().end(),
                     [&](const char* name) { return full.compare(0, dot, name) == 0; });
}

void call_back(CUpti_CallbackId id, const CUpti_CallbackData& data) {
  if (callback && std::find(listened.begin(), listened.end(), id) != listened.end())
    callback(nullptr, CUPTI_CB_DOMAIN_DRIVER_API, id, &data);
}

// Calls that may wait for the device are refused during a capture, and invalidate it.
bool breaks_capture() {
  is_capture_broken = is_capture_broken || is_capturing;
  return is_capturing;
}

}  // namespace

extern "C" {

CUresult cuInit(unsigned) {
  if (is("stub")) return CUDA_ERROR_STUB_LIBRARY;
  if (is("no device")) return CUDA_ERROR_NO_DEVICE;
  if (is("mismatch")) return CUDA_ERROR_SYSTEM_DRIVER_MISMATCH;
  if (is("unknown")) return CUDA_ERROR_UNKNOWN;
  if (is("crash at start")) std::abort();
  is_initialized = true;
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
  if (!is_initialized) return CUDA_ERROR_NOT_INITIALIZED;
  *count = is("no devices") ? 0 : static_cast<int>(devices());
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetName(char* name, int bytes, CUdevice device) {
  std::strncpy(name, device == 0 ? "Fake H200" : "Fake A100", static_cast<std::size_t>(bytes));
  return CUDA_SUCCESS;
}
CUresult cuDriverGetVersion(int* version) {
  *version = 13000;
  return CUDA_SUCCESS;
}
CUresult cuCtxGetCurrent(CUcontext* current) {
  *current = context_of(0);
  return CUDA_SUCCESS;
}
CUresult cuCtxSetCurrent(CUcontext) { return CUDA_SUCCESS; }
CUresult cuDevicePrimaryCtxRetain(CUcontext* made, CUdevice device) {
  *made = context_of(static_cast<std::uint32_t>(device));
  return is("no memory") ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  // As in the real driver: the legacy default stream must not be queried while another stream is captured.
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
// Begins or ends a capture; returns 1 on failure. With FAKE_CUDA "no capture" it does not begin.
int fake_capture(int begins) {
  CUresult result = begins && is("no capture") ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
  const cuStreamBeginCapture_v2_params beginning = {captured_stream(), CU_STREAM_CAPTURE_MODE_GLOBAL};
  const cuStreamEndCapture_params end = {captured_stream(), nullptr};
  CUpti_CallbackData data = {};
  data.context = context_of(0);
  data.functionParams = begins ? static_cast<const void*>(&beginning) : &end;
  data.functionReturnValue = &result;
  const CUpti_CallbackId id =
      begins ? CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2 : CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture;
  data.callbackSite = CUPTI_API_ENTER;
  call_back(id, data);
  if (begins) {
    captured = 0;
    is_capture_broken = false;
    is_capturing = result == CUDA_SUCCESS;
  } else {
    if (is_capture_broken) result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    is_capturing = false;
  }
  data.callbackSite = CUPTI_API_EXIT;
  call_back(id, data);
  return result == CUDA_SUCCESS ? 0 : 1;
}

// The test program calls this instead of launching: any driver call by name, on the captured or the default stream. A
// graph consists of the kernels that were captured.
void fake_launch_by(const char* call, const char* symbol, int on_captured_stream) {
  const CUstream stream = on_captured_stream ? captured_stream() : nullptr;
  const bool is_by_runtime = is("runtime") && listens_to_runtime;
  CUpti_CallbackData outer = {};
  if (is_by_runtime) outer.correlationId = ++correlation;
  outer.callbackSite = CUPTI_API_ENTER;
  if (is_by_runtime) callback(nullptr, CUPTI_CB_DOMAIN_RUNTIME_API, 211, &outer);
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
    data.context = context_of(device_of_launch());
    data.symbolName = is_graph ? nullptr : symbol;
    data.correlationId = correlation;
    data.functionParams = known.params;
    data.callbackSite = CUPTI_API_ENTER;
    call_back(known.id, data);
    const std::size_t kernels = is_graph ? captured : 1;
    if (status == CU_STREAM_CAPTURE_STATUS_ACTIVE) {
      captured += kernels;
    } else {
      Session& session = sessions[device_of_launch()];
      if (session.is_started && !session.of_ranges) session.counted += kernels;
      KernelRecord record = {};
      record.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
      record.correlationId = is_by_runtime ? outer.correlationId : correlation;
      record.name = symbol;
      record.start = 1000;
      record.end = 3000;
      if (request) timed.insert(timed.end(), kernels, record);
    }
    data.callbackSite = CUPTI_API_EXIT;
    call_back(known.id, data);
  }
  outer.callbackSite = CUPTI_API_EXIT;
  if (is_by_runtime) callback(nullptr, CUPTI_CB_DOMAIN_RUNTIME_API, 211, &outer);
}
void fake_launch(const char* symbol) { fake_launch_by("cuLaunchKernelEx", symbol, 0); }

CUptiResult cuptiGetVersion(uint32_t* version) {
  if (is("new CUPTI")) return CUPTI_ERROR_UNKNOWN;
  *version = 130001;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiGetResultString(CUptiResult, const char** text) {
  *text = "FAKE_ERROR";
  return CUPTI_SUCCESS;
}
#ifdef CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN  // CUDA 13; older versions do not name subscribers
CUptiResult cuptiSubscribe_v2(CUpti_SubscriberHandle* made, CUpti_CallbackFunc function, void*,
                              CUpti_SubscriberParams* params) {
  const std::size_t size = offsetof(CUpti_SubscriberParams, oldSubscriberSize) + sizeof params->oldSubscriberSize;
  if (made == nullptr || function == nullptr || params->structSize != size ||
      params->oldSubscriberSize < CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN)
    return CUPTI_ERROR_INVALID_PARAMETER;
  if (is("subscriber")) {
    std::strncpy(params->oldSubscriberName, "CUPTI for torch.profiler", params->oldSubscriberSize);
    return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  }
  if (callback != nullptr) return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  callback = function;
  *made = subscriber();
  return CUPTI_SUCCESS;
}
#else
CUptiResult cuptiSubscribe(CUpti_SubscriberHandle* made, CUpti_CallbackFunc function, void*) {
  if (is("subscriber") || callback != nullptr) return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  callback = function;
  *made = subscriber();
  return CUPTI_SUCCESS;
}
#endif
CUptiResult cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle handle, CUpti_CallbackDomain domain,
                                CUpti_CallbackId id) {
  if (handle != subscriber()) return CUPTI_ERROR_INVALID_PARAMETER;
  if (enable && domain == CUPTI_CB_DOMAIN_DRIVER_API) listened.push_back(id);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiEnableDomain(uint32_t enable, CUpti_SubscriberHandle handle, CUpti_CallbackDomain domain) {
  if (handle != subscriber()) return CUPTI_ERROR_INVALID_PARAMETER;
  if (domain == CUPTI_CB_DOMAIN_RUNTIME_API) listens_to_runtime = enable != 0;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiGetDeviceId(CUcontext asked, uint32_t* device) {
  *device = device_of(asked);
  return is_context(asked) ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_CONTEXT;
}
CUptiResult cuptiDeviceGetChipName(CUpti_Device_GetChipName_Params* params) {
  EXPECT_PARAMS(&CUpti_Device_GetChipName_Params::pChipName);
  if (is("crash in CUPTI")) *reinterpret_cast<volatile int*>(8) = 1;
  if (!is_profiler_initialized) return CUPTI_ERROR_NOT_INITIALIZED;
  if (params->deviceIndex >= devices()) return CUPTI_ERROR_INVALID_DEVICE;
  params->pChipName = is("new chip") ? "XX100" : params->deviceIndex == 1 ? "GA100" : "GH100";
  return CUPTI_SUCCESS;
}
CUptiResult cuptiProfilerInitialize(CUpti_Profiler_Initialize_Params* params) {
  EXPECT_PARAMS(&CUpti_Profiler_Initialize_Params::pPriv);
  if (is("old driver")) return CUPTI_ERROR_NOT_INITIALIZED;
  if (is("unknown CUPTI") || !is_initialized) return CUPTI_ERROR_UNKNOWN;
  is_profiler_initialized = true;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiProfilerDeInitialize(CUpti_Profiler_DeInitialize_Params* params) {
  EXPECT_PARAMS(&CUpti_Profiler_DeInitialize_Params::pPriv);
  is_profiler_initialized = false;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiProfilerDeviceSupported(CUpti_Profiler_DeviceSupported_Params* params) {
  EXPECT_PARAMS(&CUpti_Profiler_DeviceSupported_Params::api);
  if (!is_profiler_initialized) return CUPTI_ERROR_NOT_INITIALIZED;
  if (params->api != CUPTI_PROFILER_RANGE_PROFILING) return CUPTI_ERROR_INVALID_PARAMETER;
  for (auto* level : {&params->isSupported, &params->architecture, &params->sli, &params->vGpu,
                      &params->confidentialCompute, &params->cmp, &params->wsl})
    *level = CUPTI_PROFILER_CONFIGURATION_SUPPORTED;
  if (is("virtual")) {
    params->isSupported = CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED;
    params->vGpu = CUPTI_PROFILER_CONFIGURATION_DISABLED;
  }
  return CUPTI_SUCCESS;
}
CUptiResult cuptiProfilerGetCounterAvailability(CUpti_Profiler_GetCounterAvailability_Params* params) {
  EXPECT_PARAMS(&CUpti_Profiler_GetCounterAvailability_Params::pCounterAvailabilityImage);
  if (is("privilege")) return CUPTI_ERROR_INSUFFICIENT_PRIVILEGES;
  if (!is_profiler_initialized || !is_context(params->ctx)) return CUPTI_ERROR_INVALID_PARAMETER;
  if (breaks_capture() || sessions[device_of(params->ctx)].is_started)
    return CUPTI_ERROR_INVALID_OPERATION;  // "may fail, if any profiling session is active"
  if (params->pCounterAvailabilityImage != nullptr && params->counterAvailabilityImageSize < 4)
    return CUPTI_ERROR_INVALID_PARAMETER;
  params->counterAvailabilityImageSize = 4;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerHostInitialize(CUpti_Profiler_Host_Initialize_Params* params) {
  EXPECT_PARAMS(&CUpti_Profiler_Host_Initialize_Params::pHostObject);
  if (params->profilerType != CUPTI_PROFILER_TYPE_RANGE_PROFILER || params->pChipName == nullptr)
    return CUPTI_ERROR_INVALID_PARAMETER;
  [[maybe_unused]] static const int kRegistered = std::atexit([] { is_torn_down = true; });
  params->pHostObject = reinterpret_cast<CUpti_Profiler_Host_Object*>(new Host);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiProfilerHostDeinitialize(CUpti_Profiler_Host_Deinitialize_Params* params) {
  EXPECT_PARAMS(&CUpti_Profiler_Host_Deinitialize_Params::pHostObject);
  delete reinterpret_cast<Host*>(params->pHostObject);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiProfilerHostGetBaseMetrics(CUpti_Profiler_Host_GetBaseMetrics_Params* params) {
  EXPECT_PARAMS(&CUpti_Profiler_Host_GetBaseMetrics_Params::numMetrics);
  params->ppMetricNames = const_cast<const char**>(known_metrics().data());
  params->numMetrics = params->metricType == CUPTI_METRIC_TYPE_COUNTER ? known_metrics().size() : 0;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiProfilerHostConfigAddMetrics(CUpti_Profiler_Host_ConfigAddMetrics_Params* params) {
  EXPECT_PARAMS(&CUpti_Profiler_Host_ConfigAddMetrics_Params::numMetrics);
  Host* const host = reinterpret_cast<Host*>(params->pHostObject);
  for (std::size_t i = 0; i < params->numMetrics; ++i) {
    if (!is_known(params->ppMetricNames[i])) return CUPTI_ERROR_INVALID_PARAMETER;
    host->metrics.push_back(params->ppMetricNames[i]);
  }
  return params->numMetrics > 0 ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}
CUptiResult cuptiProfilerHostGetConfigImageSize(CUpti_Profiler_Host_GetConfigImageSize_Params* params) {
  EXPECT_PARAMS(&CUpti_Profiler_Host_GetConfigImageSize_Params::configImageSize);
  params->configImageSize = sizeof(std::size_t);
  return CUPTI_SUCCESS;
}
// The config image is the number of its metrics.
CUptiResult cuptiProfilerHostGetConfigImage(CUpti_Profiler_Host_GetConfigImage_Params* params) {
  EXPECT_PARAMS(&CUpti_Profiler_Host_GetConfigImage_Params::pConfigImage);
  const std::size_t metrics = reinterpret_cast<Host*>(params->pHostObject)->metrics.size();
  if (params->configImageSize != sizeof metrics || metrics == 0) return CUPTI_ERROR_INVALID_PARAMETER;
  std::memcpy(params->pConfigImage, &metrics, sizeof metrics);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiProfilerHostGetNumOfPasses(CUpti_Profiler_Host_GetNumOfPasses_Params* params) {
  EXPECT_PARAMS(&CUpti_Profiler_Host_GetNumOfPasses_Params::numOfPasses);
  std::size_t metrics = 0;
  if (params->configImageSize != sizeof metrics) return CUPTI_ERROR_INVALID_PARAMETER;
  std::memcpy(&metrics, params->pConfigImage, sizeof metrics);
  params->numOfPasses = 1 + (is("few a pass") ? (metrics - 1) / 20 : 0);
  return CUPTI_SUCCESS;
}
// 1000 · place of the range + length of the metric's name.
CUptiResult cuptiProfilerHostEvaluateToGpuValues(CUpti_Profiler_Host_EvaluateToGpuValues_Params* params) {
  EXPECT_PARAMS(&CUpti_Profiler_Host_EvaluateToGpuValues_Params::pMetricValues);
  const std::vector<std::string>& chosen = reinterpret_cast<Host*>(params->pHostObject)->metrics;
  std::size_t ranges = 0;  // written by decoding
  if (params->counterDataImageSize < sizeof ranges) return CUPTI_ERROR_INVALID_PARAMETER;
  std::memcpy(&ranges, params->pCounterDataImage, sizeof ranges);
  if (params->rangeIndex >= ranges) return CUPTI_ERROR_INVALID_PARAMETER;
  for (std::size_t i = 0; i < params->numMetrics; ++i) {
    if (std::find(chosen.begin(), chosen.end(), params->ppMetricNames[i]) == chosen.end())
      return CUPTI_ERROR_INVALID_PARAMETER;
    params->pMetricValues[i] = 1000.0 * static_cast<double>(params->rangeIndex + 1) +
                               static_cast<double>(std::strlen(params->ppMetricNames[i]));
  }
  return CUPTI_SUCCESS;
}

CUptiResult cuptiRangeProfilerEnable(CUpti_RangeProfiler_Enable_Params* params) {
  EXPECT_PARAMS(&CUpti_RangeProfiler_Enable_Params::pRangeProfilerObject);
  if (is("busy")) return CUPTI_ERROR_HARDWARE_BUSY;
  if (!is_profiler_initialized || !is_context(params->ctx)) return CUPTI_ERROR_INVALID_PARAMETER;
  Session& session = sessions[device_of(params->ctx)];
  if (breaks_capture() || session.is_enabled || is_tracing) return CUPTI_ERROR_INVALID_OPERATION;
  session = {};
  session.is_enabled = true;
  params->pRangeProfilerObject = object_of(session);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiRangeProfilerDisable(CUpti_RangeProfiler_Disable_Params* params) {
  EXPECT_PARAMS(&CUpti_RangeProfiler_Disable_Params::pRangeProfilerObject);
  Session& session = session_of(params->pRangeProfilerObject);
  if (breaks_capture() || params->pRangeProfilerObject != object_of(session) || !session.is_enabled ||
      session.is_started)
    return CUPTI_ERROR_INVALID_OPERATION;
  session = {};
  return CUPTI_SUCCESS;
}
CUptiResult cuptiRangeProfilerGetCounterDataSize(CUpti_RangeProfiler_GetCounterDataSize_Params* params) {
  EXPECT_PARAMS(&CUpti_RangeProfiler_GetCounterDataSize_Params::counterDataSize);
  Session& session = session_of(params->pRangeProfilerObject);
  if (!session.is_enabled) return CUPTI_ERROR_INVALID_OPERATION;
  if (params->maxNumOfRanges == 0 || params->maxNumRangeTreeNodes < params->maxNumOfRanges || params->numMetrics == 0)
    return CUPTI_ERROR_INVALID_PARAMETER;
  session.image_ranges = params->maxNumOfRanges;
  session.metrics = params->numMetrics;
  session.image_bytes = params->counterDataSize = 64 + params->maxNumOfRanges;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiRangeProfilerCounterDataImageInitialize(
    CUpti_RangeProfiler_CounterDataImage_Initialize_Params* params) {
  EXPECT_PARAMS(&CUpti_RangeProfiler_CounterDataImage_Initialize_Params::pCounterData);
  Session& session = session_of(params->pRangeProfilerObject);
  if (!session.is_enabled) return CUPTI_ERROR_INVALID_OPERATION;
  if (params->counterDataSize != session.image_bytes) return CUPTI_ERROR_INVALID_PARAMETER;
  std::memset(params->pCounterData, 0, params->counterDataSize);
  session.has_image = true;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiRangeProfilerSetConfig(CUpti_RangeProfiler_SetConfig_Params* params) {
  EXPECT_PARAMS(&CUpti_RangeProfiler_SetConfig_Params::targetNestingLevel);
  Session& session = session_of(params->pRangeProfilerObject);
  if (breaks_capture() || !session.is_enabled || session.is_started || !session.has_image)
    return CUPTI_ERROR_INVALID_OPERATION;
  std::size_t metrics = 0;
  if (params->configSize != sizeof metrics || params->counterDataImageSize != session.image_bytes ||
      params->maxRangesPerPass == 0 || params->maxRangesPerPass > session.image_ranges ||
      params->numNestingLevels != 1 || params->minNestingLevel != 1 || params->passIndex != 0)
    return CUPTI_ERROR_INVALID_PARAMETER;
  std::memcpy(&metrics, params->pConfig, sizeof metrics);
  if (metrics != session.metrics) return CUPTI_ERROR_INVALID_PARAMETER;
  session.room = params->maxRangesPerPass;
  session.of_ranges = params->range == CUPTI_UserRange;
  // Only automatic ranges support kernel replay.
  if ((session.of_ranges && params->replayMode == CUPTI_KernelReplay) || session.room > kMostRanges)
    return CUPTI_ERROR_INVALID_OPERATION;
  session.is_configured = true;
  session.image = params->pCounterDataImage;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiRangeProfilerStart(CUpti_RangeProfiler_Start_Params* params) {
  EXPECT_PARAMS(&CUpti_RangeProfiler_Start_Params::pRangeProfilerObject);
  Session& session = session_of(params->pRangeProfilerObject);
  if (breaks_capture() || !session.is_configured || session.is_started) return CUPTI_ERROR_INVALID_OPERATION;
  session.is_started = true;
  session.is_stopped = false;
  session.counted = 0;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiRangeProfilerStop(CUpti_RangeProfiler_Stop_Params* params) {
  EXPECT_PARAMS(&CUpti_RangeProfiler_Stop_Params::isAllPassSubmitted);
  if (is_torn_down) std::abort();  // the real one crashes
  Session& session = session_of(params->pRangeProfilerObject);
  if (breaks_capture() || !session.is_started || session.open != 0) return CUPTI_ERROR_INVALID_OPERATION;
  session.is_started = false;
  session.is_stopped = true;
  params->isAllPassSubmitted = 1;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiRangeProfilerDecodeData(CUpti_RangeProfiler_DecodeData_Params* params) {
  EXPECT_PARAMS(&CUpti_RangeProfiler_DecodeData_Params::numOfRangeDropped);
  Session& session = session_of(params->pRangeProfilerObject);
  if (breaks_capture() || !session.is_stopped) return CUPTI_ERROR_INVALID_OPERATION;
  if (is("nothing to decode") && session.counted == 0) return CUPTI_ERROR_UNKNOWN;
  params->numOfRangeDropped = session.counted > session.room ? session.counted - session.room : 0;
  const std::size_t ranges = std::min(session.counted, session.room);
  std::memcpy(session.image, &ranges, sizeof ranges);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiRangeProfilerGetCounterDataInfo(CUpti_RangeProfiler_GetCounterDataInfo_Params* params) {
  EXPECT_PARAMS(&CUpti_RangeProfiler_GetCounterDataInfo_Params::numTotalRanges);
  std::memcpy(&params->numTotalRanges, params->pCounterDataImage, sizeof params->numTotalRanges);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiRangeProfilerPushRange(CUpti_RangeProfiler_PushRange_Params* params) {
  EXPECT_PARAMS(&CUpti_RangeProfiler_PushRange_Params::pRangeName);
  Session& session = session_of(params->pRangeProfilerObject);
  if (breaks_capture() || !session.is_started || !session.of_ranges || params->pRangeName == nullptr)
    return CUPTI_ERROR_INVALID_OPERATION;
  ++session.open;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiRangeProfilerPopRange(CUpti_RangeProfiler_PopRange_Params* params) {
  EXPECT_PARAMS(&CUpti_RangeProfiler_PopRange_Params::pRangeProfilerObject);
  Session& session = session_of(params->pRangeProfilerObject);
  if (breaks_capture() || session.open == 0) return CUPTI_ERROR_INVALID_OPERATION;
  --session.open;
  ++session.counted;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc on_request,
                                           CUpti_BuffersCallbackCompleteFunc on_complete) {
  if (on_request == nullptr || on_complete == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  request = on_request;
  complete = on_complete;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityEnable(CUpti_ActivityKind) {
  if (request == nullptr || sessions[0].is_enabled || sessions[1].is_enabled) return CUPTI_ERROR_INVALID_OPERATION;
  is_tracing = true;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityFlushAll(uint32_t) {
  if (timed.empty() || complete == nullptr) return CUPTI_SUCCESS;
  uint8_t* buffer = nullptr;
  std::size_t bytes = 0, records = 0;
  request(&buffer, &bytes, &records);
  if (buffer == nullptr || reinterpret_cast<std::uintptr_t>(buffer) % 8 != 0) return CUPTI_ERROR_INVALID_PARAMETER;
  next_record = 0;
  complete(nullptr, 0, buffer, bytes, timed.size() * sizeof(KernelRecord));
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
