#include "range_profiler.h"

#include <cuda.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>

#include "cupti_call.h"

namespace pagoda::tools::profile {

void initialize_profiler(const CuptiLibrary& library) {
  requested(library, "starting CUPTI's profiler", "cuptiProfilerInitialize",
            params_to(&CUpti_Profiler_Initialize_Params::pPriv));
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
  const char* const name = requested(library, "the name of the chip", "cuptiDeviceGetChipName", params).pChipName;
  return name != nullptr ? name : "";
}

template <typename Params>
Params RangeProfiler::call(const char* what, const char* name, Params params) {
  params.pRangeProfilerObject = object_;
  return requested(library_, what, name, params);
}

RangeProfiler::RangeProfiler(const CuptiLibrary& library, CUctx_st* context, std::vector<std::uint8_t> config,
                             const std::vector<std::string>& metrics, std::size_t most_ranges)
    : RangeProfiler(library, std::move(config), most_ranges) {
  auto enable = params_to(&CUpti_RangeProfiler_Enable_Params::pRangeProfilerObject);
  enable.ctx = context;
  object_ = call("enabling counters", "cuptiRangeProfilerEnable", enable).pRangeProfilerObject;
  std::vector<const char*> names;
  for (const std::string& metric : metrics) names.push_back(metric.c_str());
  auto size = params_to(&CUpti_RangeProfiler_GetCounterDataSize_Params::counterDataSize);
  size.pMetricNames = names.data();
  size.numMetrics = names.size();
  size.maxNumOfRanges = most_ranges;
  size.maxNumRangeTreeNodes = static_cast<std::uint32_t>(most_ranges);
  image_.resize(call("the size of the image", "cuptiRangeProfilerGetCounterDataSize", size).counterDataSize);
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
  call("a new image", "cuptiRangeProfilerCounterDataImageInitialize", clear);
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
  call("the choice of counters", "cuptiRangeProfilerSetConfig", set);
}

void RangeProfiler::start() {
  call("starting counters", "cuptiRangeProfilerStart",
       params_to(&CUpti_RangeProfiler_Start_Params::pRangeProfilerObject));
}

void RangeProfiler::push(const std::string& name) {
  auto params = params_to(&CUpti_RangeProfiler_PushRange_Params::pRangeName);
  params.pRangeName = name.c_str();
  call("opening a range", "cuptiRangeProfilerPushRange", params);
}

void RangeProfiler::pop() {
  call("closing a range", "cuptiRangeProfilerPopRange",
       params_to(&CUpti_RangeProfiler_PopRange_Params::pRangeProfilerObject));
}

bool RangeProfiler::stop() {
  const auto params = params_to(&CUpti_RangeProfiler_Stop_Params::isAllPassSubmitted);
  return call("stopping counters", "cuptiRangeProfilerStop", params).isAllPassSubmitted != 0;
}

std::size_t RangeProfiler::decode() {
  const auto params = params_to(&CUpti_RangeProfiler_DecodeData_Params::numOfRangeDropped);
  return call("reading counters", "cuptiRangeProfilerDecodeData", params).numOfRangeDropped;
}

std::size_t RangeProfiler::ranges() {
  auto params = params_to(&CUpti_RangeProfiler_GetCounterDataInfo_Params::numTotalRanges);
  params.pCounterDataImage = image_.data();
  params.counterDataImageSize = image_.size();
  return requested(library_, "counting ranges", "cuptiRangeProfilerGetCounterDataInfo", params).numTotalRanges;
}

}  // namespace pagoda::tools::profile
