// The host half of CUPTI 12.6 and later (cupti_profiler_host.h): names, passes, values.
#include "cupti_library.h"

#include <cupti_profiler_host.h>
#include <cupti_result.h>

#include "cupti_call.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/error.h"

namespace pagoda::tools::profile {
CuptiLibrary::CuptiLibrary(const std::string& path, Remedy for_user) : library_(cupti_places(path)), remedy_(for_user) {
  if (library_)
    open_neighbours(library_);
  else
    why_ = "CUPTI cannot be opened (" + library_.why() +
           "); install it with the CUDA toolkit, or set PAGODA_CUPTI to its libcupti.so";
}

std::uint32_t CuptiLibrary::version() const {
  std::uint32_t version = 0;
  const auto function = reinterpret_cast<CUptiResult (*)(std::uint32_t*)>(symbol("cuptiGetVersion"));
  if (function) function(&version);
  return version;
}

std::vector<std::string> CuptiLibrary::chips() const {
  const auto params = requested(*this, "the list of chips by CUPTI", "cuptiProfilerHostGetSupportedChips",
                                params_to(&CUpti_Profiler_Host_GetSupportedChips_Params::ppChipNames));
  return {params.ppChipNames, params.ppChipNames + params.numChips};
}

std::string cupti_error(const CuptiLibrary& library, int result) {
  const char* text = nullptr;
  const auto function =
      reinterpret_cast<CUptiResult (*)(CUptiResult, const char**)>(library.symbol("cuptiGetResultString"));
  if (function) function(static_cast<CUptiResult>(result), &text);
  return (text ? std::string(text) : std::string("error")) + " (" + std::to_string(result) + ")";
}

std::string profile_remedy(int result) {
  switch (result) {
    case CUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
      return "the driver lets only administrators read counters: run as root (containers: --cap-add=SYS_ADMIN), or set "
             "NVreg_RestrictProfilingToAdminUsers=0 for the nvidia module and load it again; --mode time needs none";
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES:
      return "the host gives this virtual GPU no counters: its plug-in option enable_profiling grants them; --mode "
             "time needs none";
    case CUPTI_ERROR_NOT_INITIALIZED:
      return "the driver may be older than this CUPTI: give the CUPTI of a toolkit that is not newer than the driver "
             "with --cupti or PAGODA_CUPTI";
    case CUPTI_ERROR_HARDWARE_BUSY:
      return "something else holds the counters: stop the other profiler, or pause monitoring with dcgmi profile "
             "--pause";
    case CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED:
      return "another profiler is in the program (torch.profiler, nsys, ncu, a debugger): switch it off";
    case CUPTI_ERROR_NOT_SUPPORTED:
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED:
    case CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED:
    case CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED:
    case 43:  // MIG, SLI, WSL: have names since CUDA 13
    case 44:
    case 45:
      return "this device or its virtualisation does not support counters; --mode time needs none";
    default:
      return "";
  }
}

// A host object. Its settings accumulate, so each list of metrics has its own object.
struct HostChip::Object {
  explicit Object(const HostChip& chip) : library(chip.library_) {
    auto params = params_to(&CUpti_Profiler_Host_Initialize_Params::pHostObject);
    params.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
    params.pChipName = chip.chip_.c_str();
    params.pCounterAvailabilityImage = chip.availability_.empty() ? nullptr : chip.availability_.data();
    handle = call("the description of " + chip.chip_, "cuptiProfilerHostInitialize", params).pHostObject;
  }
  Object(const HostChip& chip, const std::vector<std::string>& full_names) : Object(chip) {
    metrics = full_names;
    for (const std::string& name : metrics) names.push_back(name.c_str());
    auto params = params_to(&CUpti_Profiler_Host_ConfigAddMetrics_Params::numMetrics);
    params.ppMetricNames = names.data();
    params.numMetrics = names.size();
    call("the choice of metrics", "cuptiProfilerHostConfigAddMetrics", params);
  }
  ~Object() {
    auto params = params_to(&CUpti_Profiler_Host_Deinitialize_Params::pHostObject);
    params.pHostObject = handle;
    call_cupti(library, "cuptiProfilerHostDeinitialize", &params);
  }
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;

  template <typename Params>
  Params call(const std::string& what, const char* name, Params params) const {
    params.pHostObject = handle;
    return requested(library, what + " by CUPTI", name, params);
  }

  const CuptiLibrary& library;
  CUpti_Profiler_Host_Object* handle = nullptr;
  std::vector<std::string> metrics;
  std::vector<const char*> names;  // of the metrics
};

HostChip::~HostChip() = default;

HostChip::HostChip(const CuptiLibrary& library, const std::string& chip, std::vector<std::uint8_t> availability)
    : library_(library), chip_(chip), availability_(std::move(availability)) {
  const Object object(*this);
  for (const CUpti_MetricType type :
       {CUPTI_METRIC_TYPE_COUNTER, CUPTI_METRIC_TYPE_RATIO, CUPTI_METRIC_TYPE_THROUGHPUT}) {
    auto params = params_to(&CUpti_Profiler_Host_GetBaseMetrics_Params::numMetrics);
    params.metricType = type;
    const auto found = object.call("the list of metrics", "cuptiProfilerHostGetBaseMetrics", params);
    metrics_.insert(found.ppMetricNames, found.ppMetricNames + found.numMetrics);
  }
}

bool HostChip::has(const std::string& full_name) const {
  return metrics_.contains(full_name.substr(0, full_name.find('.')));
}

std::string HostChip::description(const std::string& name) const {
  const Object object(*this);
  auto params = params_to(&CUpti_Profiler_Host_GetMetricProperties_Params::metricType);
  params.pHostObject = object.handle;
  // Before CUDA 13, only full names have properties.
  int result = CUPTI_ERROR_INVALID_METRIC_NAME;
  for (const std::string& full : {name, name + ".sum", name + ".ratio", name + ".avg.pct_of_peak_sustained_elapsed"}) {
    params.pMetricName = full.c_str();
    result = call_cupti(library_, "cuptiProfilerHostGetMetricProperties", &params);
    if (result != CUPTI_ERROR_INVALID_METRIC_NAME) break;
  }
  check_cupti(library_, result, cat("the description of ", name, " by CUPTI"));
  return params.pDescription ? params.pDescription : "";
}

std::vector<std::uint8_t> HostChip::config(const std::vector<std::string>& full_names) const {
  for (const std::string& name : full_names)  // CUPTI rejects a list without naming the culprit
    if (!has(name)) throw Error(cat("metric ", name, ": ", chip_, " has no such metric"));
  const Object object(*this, full_names);
  const auto size = params_to(&CUpti_Profiler_Host_GetConfigImageSize_Params::configImageSize);
  std::vector<std::uint8_t> image(
      object.call("the size of the configuration", "cuptiProfilerHostGetConfigImageSize", size).configImageSize);
  auto get = params_to(&CUpti_Profiler_Host_GetConfigImage_Params::pConfigImage);
  get.configImageSize = image.size();
  get.pConfigImage = image.data();
  object.call("the configuration", "cuptiProfilerHostGetConfigImage", get);
  return image;
}

std::size_t HostChip::passes(const std::vector<std::string>& full_names) const {
  std::vector<std::uint8_t> image = config(full_names);
  auto params = params_to(&CUpti_Profiler_Host_GetNumOfPasses_Params::numOfPasses);
  params.configImageSize = image.size();
  params.pConfigImage = image.data();
  return requested(library_, "the number of passes by CUPTI", "cuptiProfilerHostGetNumOfPasses", params).numOfPasses;
}

std::vector<std::vector<double>> HostChip::evaluate(const std::vector<std::uint8_t>& image, std::size_t ranges,
                                                    const std::vector<std::string>& full_names) const {
  // Adds the metrics to the object before it evaluates them: the order of calls that is known to work.
  if (!evaluator_ || evaluator_->metrics != full_names) evaluator_ = std::make_unique<Object>(*this, full_names);
  std::vector<std::vector<double>> values(ranges, std::vector<double>(full_names.size()));
  for (std::size_t range = 0; range < ranges; ++range) {
    auto params = params_to(&CUpti_Profiler_Host_EvaluateToGpuValues_Params::pMetricValues);
    params.pCounterDataImage = image.data();
    params.counterDataImageSize = image.size();
    params.rangeIndex = range;
    params.ppMetricNames = evaluator_->names.data();
    params.numMetrics = evaluator_->names.size();
    params.pMetricValues = values[range].data();
    evaluator_->call("the values of a range", "cuptiProfilerHostEvaluateToGpuValues", params);
  }
  return values;
}

}  // namespace pagoda::tools::profile
