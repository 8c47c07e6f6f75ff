#include "range_profiler.h"

#include <cuda.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>

#include "cupti_call.h"

namespace pagoda::tools::profile {

void initialize_profiler(const CuptiLibrary& library) {
  auto params = params_to(&CUpti_Profiler_Initialize_Params::pPriv);
  require_cupti(library, "starting CUPTI's profiler", "cuptiProfilerInitialize", &params);
}

std::vector<std::uint8_t> counter_availability(const CuptiLibrary& library, CUctx_st* context) {
  auto params = params_to(&CUpti_Profiler_GetCounterAvailability_Params::pCounterAvailabilityImage);
  params.ctx = context;
  require_cupti(library, "asking for counters", "cuptiProfilerGetCounterAvailability", &params);
  std::vector<std::uint8_t> image(params.counterAvailabilityImageSize);
  params.pCounterAvailabilityImage = image.data();
  require_cupti(library, "asking for counters", "cuptiProfilerGetCounterAvailability", &params);
  return image;
}

std::string chip_name(const CuptiLibrary& library, std::size_t device) {
  auto params = params_to(&CUpti_Device_GetChipName_Params::pChipName);
  params.deviceIndex = device;
  require_cupti(library, "the name of the chip", "cuptiDeviceGetChipName", &params);
  return params.pChipName != nullptr ? params.pChipName : "";
}

template <typename Params>
void RangeProfiler::call(const char* name, Params& params, const char* what) {
  params.pRangeProfilerObject = object_;
  require_cupti(library_, what, name, &params);
}

RangeProfiler::RangeProfiler(const CuptiLibrary& library, CUctx_st* context, std::vector<std::uint8_t> config,
                             const std::vector<std::string>& metrics, std::size_t most_ranges)
    : RangeProfiler(library, std::move(config), most_ranges) {
  auto enable = params_to(&CUpti_RangeProfiler_Enable_Params::pRangeProfilerObject);
  enable.ctx = context;
  call("cuptiRangeProfilerEnable", enable, "enabling counters");
  object_ = enable.pRangeProfilerObject;
  std::vector<const char*> names;
  for (const std::string& metric : metrics) names.push_back(metric.c_str());
  auto size = params_to(&CUpti_RangeProfiler_GetCounterDataSize_Params::counterDataSize);
  size.pMetricNames = names.data();
  size.numMetrics = names.size();
  size.maxNumOfRanges = most_ranges;
  size.maxNumRangeTreeNodes = static_cast<std::uint32_t>(most_ranges);
  call("cuptiRangeProfilerGetCounterDataSize", size, "the size of the image");
  image_.resize(size.counterDataSize);
}

RangeProfiler::~RangeProfiler() {
  auto params = params_to(&CUpti_RangeProfiler_Disable_Params::pRangeProfilerObject);
  params.pRangeProfilerObject = object_;
  if (object_ != nullptr) call_cupti(library_, "cuptiRangeProfilerDisable", &params);
}

void RangeProfiler::prepare(bool of_ranges) {
  auto clear = params_to(&CUpti_RangeProfiler_CounterDataImage_Initialize_Params::pCounterData);
  clear.counterDataSize = image_.size();
  clear.pCounterData = image_.data();
  call("cuptiRangeProfilerCounterDataImageInitialize", clear, "a new image");
  auto set = params_to(&CUpti_RangeProfiler_SetConfig_Params::targetNestingLevel);
  set.configSize = config_.size();
  set.pConfig = config_.data();
  set.counterDataImageSize = image_.size();
  set.pCounterDataImage = image_.data();
  // Kernel replay exists only for automatic ranges; with a single pass, nothing is replayed.
  set.range = of_ranges ? CUPTI_UserRange : CUPTI_AutoRange;
  set.replayMode = of_ranges ? CUPTI_UserReplay : CUPTI_KernelReplay;
  set.maxRangesPerPass = most_ranges_;
  set.numNestingLevels = 1;
  set.minNestingLevel = 1;
  set.passIndex = 0;
  set.targetNestingLevel = 1;
  call("cuptiRangeProfilerSetConfig", set, "the choice of counters");
}

void RangeProfiler::start() {
  auto params = params_to(&CUpti_RangeProfiler_Start_Params::pRangeProfilerObject);
  call("cuptiRangeProfilerStart", params, "starting counters");
}

void RangeProfiler::push(const std::string& name) {
  auto params = params_to(&CUpti_RangeProfiler_PushRange_Params::pRangeName);
  params.pRangeName = name.c_str();
  call("cuptiRangeProfilerPushRange", params, "opening a range");
}

void RangeProfiler::pop() {
  auto params = params_to(&CUpti_RangeProfiler_PopRange_Params::pRangeProfilerObject);
  call("cuptiRangeProfilerPopRange", params, "closing a range");
}

bool RangeProfiler::stop() {
  auto params = params_to(&CUpti_RangeProfiler_Stop_Params::isAllPassSubmitted);
  call("cuptiRangeProfilerStop", params, "stopping counters");
  return params.isAllPassSubmitted != 0;
}

std::size_t RangeProfiler::decode() {
  auto params = params_to(&CUpti_RangeProfiler_DecodeData_Params::numOfRangeDropped);
  call("cuptiRangeProfilerDecodeData", params, "reading counters");
  return params.numOfRangeDropped;
}

std::size_t RangeProfiler::ranges() {
  auto params = params_to(&CUpti_RangeProfiler_GetCounterDataInfo_Params::numTotalRanges);
  params.pCounterDataImage = image_.data();
  params.counterDataImageSize = image_.size();
  require_cupti(library_, "counting ranges", "cuptiRangeProfilerGetCounterDataInfo", &params);
  return params.numTotalRanges;
}

}  // namespace pagoda::tools::profile
