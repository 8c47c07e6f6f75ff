// The host half of CUPTI 12.6 and later (cupti_profiler_host.h): names, passes, values.
#include "cupti_library.h"

#include <cupti_profiler_host.h>
#include <cupti_result.h>
#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>

#include "cupti_call.h"
#include "pagoda/error.h"

namespace profile {
namespace {

// Libraries that CUPTI itself opens by name: opened first from its own folder, they are found wherever it lies.
void open_neighbours(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  for (const char* name : {"libnvperf_host.so", "libnvperf_target.so"})
    if (std::filesystem::exists(folder / name)) dlopen((folder / name).c_str(), RTLD_NOW | RTLD_LOCAL);
}

std::vector<std::string> places() {
  if (const char* chosen = std::getenv("PAGODA_CUPTI"); chosen != nullptr && *chosen != '\0') return {chosen};
  // By path first: a program may bring a copy of the same name (PyTorch's wheels do), and two copies do not agree.
  return {PAGODA_CUPTI_FOLDER "/libcupti.so",
          "/usr/local/cuda/lib64/libcupti.so",
          "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so",
          "libcupti.so.13",
          "libcupti.so.12",
          "libcupti.so"};
}

template <typename Params>
int call(const CuptiLibrary& library, const char* name, Params& params) {
  return call_cupti(library, name, &params);
}

void check(const CuptiLibrary& library, int result, const std::string& what) {
  check_cupti(library, result, what + " by CUPTI");
}

}  // namespace

CuptiLibrary::CuptiLibrary(const std::string& path) {
  const std::vector<std::string> candidates = path.empty() ? places() : std::vector{path};
  for (const std::string& candidate : candidates) {
    // The directory of a library that the linker's cache finds is known only once it is open.
    handle_ = dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ != nullptr) break;
  }
  if (handle_ == nullptr) {
    why_ = "CUPTI cannot be opened (" + candidates.front() + (candidates.size() > 1 ? " and other places" : "") +
           "); install it with the CUDA toolkit, or set PAGODA_CUPTI to its libcupti.so";
    return;
  }
  open_neighbours(this->path());
}

void* CuptiLibrary::symbol(const char* name) const { return handle_ ? dlsym(handle_, name) : nullptr; }

std::string CuptiLibrary::path() const {
  Dl_info info = {};
  void* const any = symbol("cuptiGetVersion");
  return any != nullptr && dladdr(any, &info) != 0 && info.dli_fname ? info.dli_fname : "";
}

std::uint32_t CuptiLibrary::version() const {
  std::uint32_t version = 0;
  const auto function = reinterpret_cast<CUptiResult (*)(std::uint32_t*)>(symbol("cuptiGetVersion"));
  if (function) function(&version);
  return version;
}

std::vector<std::string> CuptiLibrary::chips() const {
  CUpti_Profiler_Host_GetSupportedChips_Params params = {};
  params.structSize = CUpti_Profiler_Host_GetSupportedChips_Params_STRUCT_SIZE;
  check(*this, call(*this, "cuptiProfilerHostGetSupportedChips", params), "the list of chips");
  return {params.ppChipNames, params.ppChipNames + params.numChips};
}

std::string cupti_error(const CuptiLibrary& library, int result) {
  const char* text = nullptr;
  const auto function =
      reinterpret_cast<CUptiResult (*)(CUptiResult, const char**)>(library.symbol("cuptiGetResultString"));
  if (function) function(static_cast<CUptiResult>(result), &text);
  return (text ? std::string(text) : std::string("error")) + " (" + std::to_string(result) + ")";
}

std::string cupti_remedy(int result) {
  switch (result) {
    case CUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
      return "the driver lets only administrators read counters: run as root (containers: --cap-add=SYS_ADMIN), or set "
             "NVreg_RestrictProfilingToAdminUsers=0 for the nvidia module and load it again; --mode time needs none";
    case CUPTI_ERROR_HARDWARE_BUSY:
      return "something else holds the counters: stop the other profiler, or pause monitoring with dcgmi profile "
             "--pause";
    case CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED:
      return "another profiler is in the program (torch.profiler, nsys, ncu, a debugger): switch it off";
    case CUPTI_ERROR_NOT_SUPPORTED:
      return "this device or its virtualisation does not support counters; --mode time needs none";
    default:
      return "";
  }
}

// A host object: settings accumulate in it, so each question has its own.
class HostChip::Object {
 public:
  explicit Object(const HostChip& chip) : library_(chip.library_) {
    CUpti_Profiler_Host_Initialize_Params params = {};
    params.structSize = CUpti_Profiler_Host_Initialize_Params_STRUCT_SIZE;
    params.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
    params.pChipName = chip.chip_.c_str();
    params.pCounterAvailabilityImage = chip.availability_.empty() ? nullptr : chip.availability_.data();
    check(library_, call(library_, "cuptiProfilerHostInitialize", params), "the description of " + chip.chip_);
    object_ = params.pHostObject;
  }
  ~Object() {
    CUpti_Profiler_Host_Deinitialize_Params params = {};
    params.structSize = CUpti_Profiler_Host_Deinitialize_Params_STRUCT_SIZE;
    params.pHostObject = object_;
    call(library_, "cuptiProfilerHostDeinitialize", params);
  }
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  CUpti_Profiler_Host_Object* get() const { return object_; }

 private:
  const CuptiLibrary& library_;
  CUpti_Profiler_Host_Object* object_ = nullptr;
};

namespace {
std::vector<const char*> pointers(const std::vector<std::string>& names) {
  std::vector<const char*> result;
  for (const std::string& name : names) result.push_back(name.c_str());
  return result;
}
}  // namespace

HostChip::HostChip(const CuptiLibrary& library, const std::string& chip, std::vector<std::uint8_t> availability)
    : library_(library), chip_(chip), availability_(std::move(availability)) {
  const Object object(*this);
  for (const CUpti_MetricType type :
       {CUPTI_METRIC_TYPE_COUNTER, CUPTI_METRIC_TYPE_RATIO, CUPTI_METRIC_TYPE_THROUGHPUT}) {
    CUpti_Profiler_Host_GetBaseMetrics_Params params = {};
    params.structSize = CUpti_Profiler_Host_GetBaseMetrics_Params_STRUCT_SIZE;
    params.pHostObject = object.get();
    params.metricType = type;
    check(library_, call(library_, "cuptiProfilerHostGetBaseMetrics", params), "the list of metrics");
    metrics_.insert(params.ppMetricNames, params.ppMetricNames + params.numMetrics);
  }
}

bool HostChip::has(const std::string& full_name) const {
  return metrics_.contains(full_name.substr(0, full_name.find('.')));
}

std::string HostChip::description(const std::string& name) const {
  const Object object(*this);
  CUpti_Profiler_Host_GetMetricProperties_Params params = {};
  params.structSize = CUpti_Profiler_Host_GetMetricProperties_Params_STRUCT_SIZE;
  params.pHostObject = object.get();
  params.pMetricName = name.c_str();
  check(library_, call(library_, "cuptiProfilerHostGetMetricProperties", params), "the description of " + name);
  return params.pDescription ? params.pDescription : "";
}

std::vector<std::uint8_t> HostChip::config(const std::vector<std::string>& full_names) const {
  for (const std::string& name : full_names)  // CUPTI refuses a list without saying which name it is
    if (!has(name)) throw pagoda::Error("metric " + name + ": " + chip_ + " has none of this name");
  const Object object(*this);
  std::vector<const char*> names = pointers(full_names);
  CUpti_Profiler_Host_ConfigAddMetrics_Params add = {};
  add.structSize = CUpti_Profiler_Host_ConfigAddMetrics_Params_STRUCT_SIZE;
  add.pHostObject = object.get();
  add.ppMetricNames = names.data();
  add.numMetrics = names.size();
  check(library_, call(library_, "cuptiProfilerHostConfigAddMetrics", add), "the choice of metrics");
  CUpti_Profiler_Host_GetConfigImageSize_Params size = {};
  size.structSize = CUpti_Profiler_Host_GetConfigImageSize_Params_STRUCT_SIZE;
  size.pHostObject = object.get();
  check(library_, call(library_, "cuptiProfilerHostGetConfigImageSize", size), "the size of the configuration");
  std::vector<std::uint8_t> image(size.configImageSize);
  CUpti_Profiler_Host_GetConfigImage_Params get = {};
  get.structSize = CUpti_Profiler_Host_GetConfigImage_Params_STRUCT_SIZE;
  get.pHostObject = object.get();
  get.configImageSize = image.size();
  get.pConfigImage = image.data();
  check(library_, call(library_, "cuptiProfilerHostGetConfigImage", get), "the configuration");
  return image;
}

std::size_t HostChip::passes(const std::vector<std::string>& full_names) const {
  std::vector<std::uint8_t> image = config(full_names);
  CUpti_Profiler_Host_GetNumOfPasses_Params params = {};
  params.structSize = CUpti_Profiler_Host_GetNumOfPasses_Params_STRUCT_SIZE;
  params.configImageSize = image.size();
  params.pConfigImage = image.data();
  check(library_, call(library_, "cuptiProfilerHostGetNumOfPasses", params), "the number of passes");
  return params.numOfPasses;
}

std::vector<std::vector<double>> HostChip::evaluate(const std::vector<std::uint8_t>& image, std::size_t ranges,
                                                    const std::vector<std::string>& full_names) const {
  const Object object(*this);
  std::vector<const char*> names = pointers(full_names);
  std::vector<std::vector<double>> values(ranges, std::vector<double>(names.size()));
  for (std::size_t range = 0; range < ranges; ++range) {
    CUpti_Profiler_Host_EvaluateToGpuValues_Params params = {};
    params.structSize = CUpti_Profiler_Host_EvaluateToGpuValues_Params_STRUCT_SIZE;
    params.pHostObject = object.get();
    params.pCounterDataImage = image.data();
    params.counterDataImageSize = image.size();
    params.rangeIndex = range;
    params.ppMetricNames = names.data();
    params.numMetrics = names.size();
    params.pMetricValues = values[range].data();
    check(library_, call(library_, "cuptiProfilerHostEvaluateToGpuValues", params), "the values of a range");
  }
  return values;
}

}  // namespace profile
