// The entry point that the CUDA driver calls in cuInit if CUDA_INJECTION64_PATH names this file: it subscribes to
// launches, and to kernel times if requested. Also the probe, with which a child of pagoda-profile makes the same calls
// before any program is started.
#include <cuda.h>
#include <cupti.h>
#include <cupti_profiler_target.h>
#include <cxxabi.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <mutex>
#include <optional>
#include <set>
#include <unordered_map>

#include "../cupti_call.h"
#include "../probe.h"
#include "cuda_driver.h"
#include "cupti_session.h"
#include "injection.h"
#include "nvml_library.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/text.h"

namespace {

using namespace pagoda::tools::profile;

const CuptiLibrary& library() {
  static const CuptiLibrary* const kLibrary = new CuptiLibrary(settings().cupti);
  return *kLibrary;
}

const pagoda::tools::CudaDriver& driver() {
  using pagoda::tools::DynamicLibrary;
  static const auto* const kDriver = new pagoda::tools::CudaDriver(DynamicLibrary(pagoda::tools::cuda_places()));
  return *kDriver;
}

std::string demangled(const char* symbol) {
  if (symbol == nullptr) return "unnamed kernel";
  int status = 0;
  char* const text = abi::__cxa_demangle(symbol, nullptr, nullptr, &status);
  const std::string result = status == 0 && text != nullptr ? text : symbol;
  std::free(text);
  return result;
}

// Demangles once per kernel, not once per launch. The cache is never destroyed: launches can come until the very end.
std::string kernel_name(const char* symbol) {
  static std::mutex* const kMutex = new std::mutex;
  static auto* const kNames = new std::unordered_map<std::string, std::string>;
  const std::lock_guard lock(*kMutex);
  const auto [found, is_new] = kNames->try_emplace(symbol != nullptr ? symbol : "");
  if (is_new) found->second = demangled(symbol);
  return found->second;
}

// Energy of the device in joules since its driver was loaded, read through NVML; updated every 20 to 100 ms.
class Energy {
 public:
  void begin(const std::string& bus) {
    if (library_) return;
    library_.emplace(settings().nvml);
    handle_ = library_->device(bus);
    joules_ = read();
    begun_ = std::chrono::steady_clock::now();
  }
  void end() {
    const std::optional<double> now = read();
    if (!joules_ || !now || recorder() == nullptr) return;
    recorder()->energy(*now - *joules_,
                       std::chrono::duration<double>(std::chrono::steady_clock::now() - begun_).count());
    joules_.reset();  // reported once
  }

 private:
  std::optional<double> read() const { return handle_ ? library_->joules(handle_) : std::nullopt; }
  std::optional<pagoda::tools::NvmlLibrary> library_;
  pagoda::tools::NvmlLibrary::Device handle_ = nullptr;
  std::optional<double> joules_;
  std::chrono::steady_clock::time_point begun_;
};
Energy& energy() {
  static Energy* const kEnergy = new Energy;
  return *kEnergy;
}

Context handle_of(CUcontext context) { return reinterpret_cast<Context>(context); }
CUcontext context_of(Context handle) { return reinterpret_cast<CUcontext>(handle); }

std::string device_name(CUdevice device) {
  char text[256] = {};
  const auto& get = driver().device_name;
  return get && get(text, sizeof text - 1, device) == CUDA_SUCCESS ? text : "";
}

void initialize_profiler_once() {
  static bool is_done = false;
  if (!is_done) initialize_profiler(library());
  is_done = true;
}

// Paths of the loaded copies of CUPTI; with more than one, calls are known to fail.
std::set<std::string> loaded_copies() {
  std::set<std::string> paths;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (const std::size_t at = line.find('/');
        at != std::string::npos && line.find("/libcupti.so", at) != std::string::npos)
      paths.insert(line.substr(at));
  return paths;
}

std::uint32_t device_of(Context context) {
  std::uint32_t device = 0;
  require_cupti(library(), "finding the device", "cuptiGetDeviceId", context_of(context), &device);
  return device;
}

ContextFacts facts_of(Context context) {
  const std::uint32_t device = device_of(context);
  ContextFacts facts{.chip = "",
                     .device = device_name(static_cast<CUdevice>(device)),
                     .cupti = pagoda::cat(library().version(), " of ", library().path()),
                     .notes = {}};
  // Times need no profiler. It may be unavailable where times are not, and it changes how the device runs.
  if (settings().collect != Collect::Times) {
    initialize_profiler_once();
    facts.chip = chip_name(library(), device);
  }
  if (const std::set<std::string> copies = loaded_copies(); copies.size() > 1) {
    facts.notes.push_back("the program has several copies of CUPTI (" + pagoda::base::joined(copies) +
                          "); where counters fail, give the program's own with --cupti");
  }
  char bus[32] = {};
  const auto& get = driver().bus_id;
  if (get && get(bus, sizeof bus - 1, static_cast<CUdevice>(device)) == CUDA_SUCCESS) energy().begin(bus);
  return facts;
}

std::unique_ptr<CounterSession> session_of(Context context, const std::vector<std::string>& metrics) {
  initialize_profiler_once();
  static int sessions = 0;
  SessionOptions options;
  options.chip = chip_name(library(), device_of(context));
  options.metrics = metrics;
  options.ranges = settings().batch;
  options.of_ranges = settings().collect == Collect::Ranges;
  options.replay = settings().replay;
  // A graph launch has one range per kernel. An image takes about 100 KB per range on a large chip, which a file of
  // --keep-raw should not.
  if (!options.of_ranges && !settings().keep_raw) options.ranges = std::max<std::size_t>(options.ranges, 1024);
  if (settings().keep_raw) options.raw_prefix = pagoda::cat(settings().folder, "/", getpid(), ".", sessions++);
  auto session = open_cupti_session(library(), context_of(context), options);
  // Exit handlers run last in, first out, and the libraries that CUPTI has just loaded for counters have registered
  // theirs: counters that are still pending at exit must be read before those run.
  [[maybe_unused]] static const int kRegistered = std::atexit(finish_record);
  return session;
}

// The structure that holds the geometry and stream of a launch: the parameters, or the configuration they point to.
template <typename Params>
auto config_of(const void* params) {
  const auto* const p = static_cast<const Params*>(params);
  if constexpr (requires { p->config; })
    return p->config;
  else
    return p;
}

template <typename Params>
std::string geometry_of(const void* params) {
  const auto* const c = config_of<Params>(params);
  if (c == nullptr) return "";
  return pagoda::cat("grid ", c->gridDimX, "x", c->gridDimY, "x", c->gridDimZ, ", block ", c->blockDimX, "x",
                     c->blockDimY, "x", c->blockDimZ);
}

template <typename Params>
CUstream stream_of(const void* params) {
  const auto* const c = config_of<Params>(params);
  return c != nullptr ? c->hStream : nullptr;
}

enum class CallKind : std::uint8_t { Kernel, Graph, CaptureBegin, CaptureEnd };

// A driver call that is passed on to the recorder.
struct DriverCall {
  CUpti_CallbackId id;
  CallKind kind = CallKind::Kernel;
  bool is_per_thread = false;  // a null stream means the thread's own, not the legacy one
  CUstream (*stream)(const void* params) = nullptr;
  std::string (*geometry)(const void* params) = nullptr;  // of a kernel
};
template <typename Params>
constexpr DriverCall kernel(CUpti_CallbackId id, bool is_per_thread = false) {
  return {id, CallKind::Kernel, is_per_thread, stream_of<Params>, geometry_of<Params>};
}
template <typename Params>
constexpr DriverCall call(CallKind kind, CUpti_CallbackId id, bool is_per_thread = false) {
  return {id, kind, is_per_thread, stream_of<Params>};
}
using enum CallKind;
constexpr DriverCall kCalls[] = {
    kernel<cuLaunchKernel_params>(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel),
    kernel<cuLaunchKernel_ptsz_params>(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz, true),
    kernel<cuLaunchKernelEx_params>(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx),
    kernel<cuLaunchKernelEx_ptsz_params>(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz, true),
    kernel<cuLaunchCooperativeKernel_params>(CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel),
    kernel<cuLaunchCooperativeKernel_ptsz_params>(CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz, true),
    call<cuGraphLaunch_params>(Graph, CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch),
    call<cuGraphLaunch_ptsz_params>(Graph, CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz, true),
    // Launch functions from before CUDA 4 and for several devices at once: not counted, but recorded with their names.
    {CUPTI_DRIVER_TRACE_CBID_cuLaunch},
    {CUPTI_DRIVER_TRACE_CBID_cuLaunchGrid},
    {CUPTI_DRIVER_TRACE_CBID_cuLaunchGridAsync},
    {CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernelMultiDevice},
    call<cuStreamBeginCapture_params>(CaptureBegin, CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture),
    call<cuStreamBeginCapture_ptsz_params>(CaptureBegin, CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_ptsz, true),
    call<cuStreamBeginCapture_v2_params>(CaptureBegin, CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2),
    call<cuStreamBeginCapture_v2_ptsz_params>(CaptureBegin, CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2_ptsz, true),
    call<cuStreamBeginCaptureToGraph_params>(CaptureBegin, CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCaptureToGraph),
    call<cuStreamBeginCaptureToGraph_ptsz_params>(CaptureBegin,
                                                  CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCaptureToGraph_ptsz, true),
    call<cuStreamEndCapture_params>(CaptureEnd, CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture),
    call<cuStreamEndCapture_ptsz_params>(CaptureEnd, CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture_ptsz, true),
    // Destroying a stream ends its capture.
    call<cuStreamDestroy_params>(CaptureEnd, CUPTI_DRIVER_TRACE_CBID_cuStreamDestroy),
    call<cuStreamDestroy_v2_params>(CaptureEnd, CUPTI_DRIVER_TRACE_CBID_cuStreamDestroy_v2),
};

// A launch into a stream under capture becomes part of a graph and runs with the graph; nothing runs now that could be
// counted. The legacy stream cannot be captured, and must not be queried while another stream is under capture.
bool is_captured(const DriverCall& call, const void* params) {
  if (call.stream == nullptr || params == nullptr) return false;
  const CUstream stream = call.stream(params);
  if (stream == CU_STREAM_LEGACY || (stream == nullptr && !call.is_per_thread)) return false;
  using Ask = CUresult (*)(CUstream, CUstreamCaptureStatus*);
  static const Ask kAsk = driver().library.symbol<Ask>("cuStreamIsCapturing"),
                   kAskPerThread = driver().library.symbol<Ask>("cuStreamIsCapturing_ptsz");
  const Ask ask = call.is_per_thread ? kAskPerThread : kAsk;
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  return ask != nullptr && ask(stream, &status) == CUDA_SUCCESS && status != CU_STREAM_CAPTURE_STATUS_NONE;
}

// Correlation of the runtime call that this thread is in; 0: none.
thread_local std::uint32_t outer_correlation = 0;

void on_launch(const DriverCall& call, const CUpti_CallbackData& data) {
  LaunchSite site;
  site.context = handle_of(data.context);
  site.correlation = data.correlationId;
  site.outer_correlation = outer_correlation;
  site.is_graph = call.kind == Graph;
  site.is_captured = is_captured(call, data.functionParams);
  site.kernel = site.is_graph ? "graph" : kernel_name(data.symbolName);
  if (data.callbackSite == CUPTI_API_ENTER) {
    if (call.geometry && data.functionParams) site.detail = call.geometry(data.functionParams);
    recorder()->launch_begins(site);
  } else {
    recorder()->launch_ends(site);
  }
}

// Identifies a stream by its handle. Per-thread streams share one handle: uses the address of a thread-local variable.
std::uint64_t identity(CUstream stream, bool is_per_thread) {
  static thread_local const char kThread = 0;
  const bool is_own = stream == CU_STREAM_PER_THREAD || (stream == nullptr && is_per_thread);
  return is_own ? reinterpret_cast<std::uint64_t>(&kThread) : reinterpret_cast<std::uint64_t>(stream);
}

// A capture is open from before the call that begins it until after the call that ends it. If the begin fails, it is
// closed again; if the end fails because another thread must end the capture, it stays open.
void on_capture(const DriverCall& call, const CUpti_CallbackData& data) {
  if (data.functionParams == nullptr) return;
  const std::uint64_t stream = identity(call.stream(data.functionParams), call.is_per_thread);
  if (data.callbackSite == CUPTI_API_ENTER) {
    if (call.kind == CaptureBegin) recorder()->capture_begins(stream);
    return;
  }
  const auto* const result = static_cast<const CUresult*>(data.functionReturnValue);
  const CUresult returned = result != nullptr ? *result : CUDA_SUCCESS;
  if (call.kind == CaptureBegin ? returned != CUDA_SUCCESS : returned != CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD)
    recorder()->capture_ends(stream);
}

void CUPTIAPI on_callback(void*, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) {
  try {
    if (domain == CUPTI_CB_DOMAIN_DRIVER_API) {
      for (const DriverCall& call : kCalls)
        if (call.id == id)
          (call.kind == Kernel || call.kind == Graph ? on_launch : on_capture)(
              call, *static_cast<const CUpti_CallbackData*>(data));
    } else if (domain == CUPTI_CB_DOMAIN_RUNTIME_API) {
      const auto* const call = static_cast<const CUpti_CallbackData*>(data);
      outer_correlation = call->callbackSite == CUPTI_API_ENTER ? call->correlationId : 0;
    } else if (domain == CUPTI_CB_DOMAIN_RESOURCE && id == CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING) {
      recorder()->context_ends(handle_of(static_cast<const CUpti_ResourceData*>(data)->context));
    }
  } catch (...) {  // never throw into the driver
  }
}

// Kernel times -------------------------------------------------------------------------------------------------------

#if CUPTI_API_VERSION >= 130000
using KernelRecord = CUpti_ActivityKernel10;
#else
using KernelRecord = CUpti_ActivityKernel9;
#endif
constexpr std::size_t kActivityBytes = 4U << 20, kActivityAlignment = 8;

void CUPTIAPI activity_buffer(std::uint8_t** buffer, std::size_t* bytes, std::size_t* records) {
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(kActivityAlignment, kActivityBytes));
  *bytes = *buffer != nullptr ? kActivityBytes : 0;
  *records = 0;
}

void CUPTIAPI activity_done(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid) {
  try {
    CUpti_Activity* record = nullptr;
    while (call_cupti(library(), "cuptiActivityGetNextRecord", buffer, valid, &record) == CUPTI_SUCCESS) {
      if (record->kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) continue;
      const auto* const kernel = reinterpret_cast<const KernelRecord*>(record);
      if (kernel->end < kernel->start || kernel->start == 0) continue;  // not timed: finish() reports it as lost
      recorder()->kernel_timed(kernel->correlationId, kernel_name(kernel->name),
                               1e-9 * static_cast<double>(kernel->end - kernel->start));
    }
    std::size_t dropped = 0;
    call_cupti(library(), "cuptiActivityGetNumDroppedRecords", static_cast<CUcontext>(nullptr), std::uint32_t{0},
               &dropped);
    if (dropped > 0) recorder()->lost(dropped, "CUPTI had no room for their times");
  } catch (...) {
  }
  std::free(buffer);
}

void listen_to_times() {
  require_cupti(library(), "asking for kernels' times", "cuptiActivityRegisterCallbacks", activity_buffer,
                activity_done);
  // Kernels have correlations only if the records of API calls are enabled.
  for (const CUpti_ActivityKind kind :
       {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_DRIVER, CUPTI_ACTIVITY_KIND_RUNTIME})
    require_cupti(library(), "asking for kernels' times", "cuptiActivityEnable", kind);
}

// ---------------------------------------------------------------------------------------------------------------------

void end_of_process() {
  energy().end();
  if (settings().collect != Collect::Times) return;
  try {
    call_cupti(library(), "cuptiActivityFlushAll", std::uint32_t{1});
  } catch (...) {
  }
}

void subscribe() {
  CUpti_SubscriberHandle subscriber = nullptr;
  int result = CUPTI_SUCCESS;
  std::string holder;
#ifdef CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN
  if (library().symbol("cuptiSubscribe_v2") != nullptr) {
    char old[256] = {};
    auto params = params_to(&CUpti_SubscriberParams::oldSubscriberSize);
    params.subscriberName = "pagoda-profile";
    params.oldSubscriberName = old;
    params.oldSubscriberSize = sizeof old;
    result = call_cupti(library(), "cuptiSubscribe_v2", &subscriber, on_callback, static_cast<void*>(nullptr), &params);
    if (old[0] != '\0') holder = std::string(" (held by ") + old + ")";
  } else
#endif
    result = call_cupti(library(), "cuptiSubscribe", &subscriber, on_callback, static_cast<void*>(nullptr));
  check_cupti(library(), result, "listening to launches" + holder);
  for (const DriverCall& call : kCalls)
    require_cupti(library(), "listening to launches", "cuptiEnableCallback", std::uint32_t{1}, subscriber,
                  CUPTI_CB_DOMAIN_DRIVER_API, call.id);
  require_cupti(library(), "listening to contexts", "cuptiEnableCallback", std::uint32_t{1}, subscriber,
                CUPTI_CB_DOMAIN_RESOURCE, CUpti_CallbackId{CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING});
  // A kernel has the correlation of the runtime call or of the driver call, undocumented which: keep both.
  if (settings().collect == Collect::Times)
    require_cupti(library(), "listening to the runtime's calls", "cuptiEnableDomain", std::uint32_t{1}, subscriber,
                  CUPTI_CB_DOMAIN_RUNTIME_API);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  if (recorder() == nullptr) return 1;
  try {
    if (!library().available()) throw pagoda::Error(library().why());
    set_device({facts_of, session_of, [] {
                  CUcontext context = nullptr;
                  const auto get = driver().library.symbol<CUresult (*)(CUcontext*)>("cuCtxGetCurrent");
                  return get && get(&context) == CUDA_SUCCESS ? handle_of(context) : Context{0};
                }});
    at_end(end_of_process);
    // Exit handlers run last in, first out. Registering here lets this one run before those that the driver has
    // registered, even if an NVTX range created the record before the driver was loaded.
    std::atexit(finish_record);
    subscribe();
    if (settings().collect == Collect::Times) listen_to_times();
  } catch (const std::exception& error) {
    recorder()->note(std::string("not profiled: ") + error.what());
  } catch (...) {
  }
  return 1;
}

namespace {

// Throws Error with CUPTI's reasons if CUPTI cannot profile the device; returns if the query itself fails.
void check_device(int index) {
  auto params = params_to(&CUpti_Profiler_DeviceSupported_Params::api);
  params.cuDevice = index;
  params.api = CUPTI_PROFILER_RANGE_PROFILING;
  if (call_cupti(library(), "cuptiProfilerDeviceSupported", &params) != CUPTI_SUCCESS ||
      params.isSupported == CUPTI_PROFILER_CONFIGURATION_SUPPORTED ||
      params.isSupported == CUPTI_PROFILER_CONFIGURATION_UNKNOWN)
    return;
  const std::pair<const char*, CUpti_Profiler_Support_Level> reasons[] = {
      {"its architecture (compute capability 7.5 is the first)", params.architecture},
      {"SLI", params.sli},
      {"a virtual GPU without enable_profiling", params.vGpu},
      {"confidential computing", params.confidentialCompute},
      {"a device for mining", params.cmp},
      {"WSL", params.wsl}};
  std::vector<std::string> why;
  for (const auto& [text, level] : reasons)
    if (level == CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED || level == CUPTI_PROFILER_CONFIGURATION_DISABLED)
      why.emplace_back(text);
  throw pagoda::Error(pagoda::cat("device ", index, " has no counters for profilers: ",
                                  why.empty() ? "CUPTI does not say why" : pagoda::base::joined(why),
                                  "; --mode time needs none"));
}

}  // namespace

// For programs that profile themselves: completes the record.
extern "C" __attribute__((visibility("default"))) void pagoda_finish() { finish_record(); }

// Checks what `level` (ProbeFor) needs on device `index`, whose driver is initialized: that CUPTI answers, its name of
// the chip, and that a session can be opened. Returns 0 on success. Call it only in a process that may crash.
extern "C" __attribute__((visibility("default"))) int pagoda_probe(int index, int level, char* chip,
                                                                   std::size_t chip_bytes, char* message,
                                                                   std::size_t message_bytes) {
  const auto say = [](char* to, std::size_t bytes, const std::string& text) {
    std::strncpy(to, text.c_str(), bytes - 1);
    to[bytes - 1] = '\0';
  };
  try {
    if (!library().available()) throw pagoda::Error(library().why());
    if (library().version() == 0)
      throw OldDriver("CUPTI (" + library().path() + ") does not answer; it may be newer than the driver: give the " +
                      "CUPTI of a toolkit that is not newer with --cupti or PAGODA_CUPTI");
    const auto asked = static_cast<ProbeFor>(level);
    if (asked == ProbeFor::Times) return 0;
    initialize_profiler_once();
    if (asked == ProbeFor::Counters) check_device(index);
    const std::string name = chip_name(library(), static_cast<std::size_t>(index));
    say(chip, chip_bytes, name);
    if (asked != ProbeFor::Counters) return 0;
    pagoda::tools::CudaHandle context = nullptr;
    const auto& retain = driver().retain_context;
    const auto& set = driver().set_context;
    if (!retain || !set || retain(&context, index) != CUDA_SUCCESS || set(context) != CUDA_SUCCESS)
      throw pagoda::Error(pagoda::cat("a context on device ", index, " cannot be made; see whether its memory is full ",
                                      "or its mode is exclusive"));
    SessionOptions options;
    options.chip = name;
    options.metrics = {"gpu__time_duration.sum"};
    options.ranges = 1;
    const auto session = open_cupti_session(library(), static_cast<CUcontext>(context), options);
    session->start();
    try {
      session->stop();
    } catch (const pagoda::Error&) {  // stopping an empty session is undocumented; ignore failure
    }
    return 0;
  } catch (const OldDriver& error) {
    say(message, message_bytes, error.what());
    return kProbeOldDriver;
  } catch (const std::exception& error) {
    say(message, message_bytes, error.what());
    return 1;
  }
}
