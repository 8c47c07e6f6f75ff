// The order of calls follows CUPTI's documentation of the range profiler: chip description, configuration, enable,
// counter data image, then start, stop, decode and evaluate for each batch.
#include "cupti_session.h"

#include <cuda.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "../cupti_call.h"

namespace pagoda::tools::profile {
namespace {

class CuptiSession : public CounterSession {
 public:
  CuptiSession(const CuptiLibrary& library, CUcontext context, const SessionOptions& options)
      : library_(library), options_(options), chip_(library, options.chip, counter_availability(library, context)) {
    for (const std::string& metric : options.metrics)
      if (chip_.has(metric) && can_count(metric)) (is_constant(metric) ? constants_ : metrics_).push_back(metric);
    if (metrics_.empty()) throw Error("the device can count none of the metrics chosen for " + options.chip);
    configure();
    if (passes_ > 1 && !options.replay) leave_out_clocks();
    if (passes_ > 1 && !options.replay)
      throw Error("on this device the metrics need " + std::to_string(passes_) +
                  " passes, which takes replay of kernels; use --mode exact");
    auto enable = params_to(&CUpti_RangeProfiler_Enable_Params::pRangeProfilerObject);
    enable.ctx = context;
    check_cupti(library_, call_cupti(library_, "cuptiRangeProfilerEnable", &enable), "enabling counters");
    object_ = enable.pRangeProfilerObject;
    allocate();
  }

  ~CuptiSession() override {
    auto params = params_to(&CUpti_RangeProfiler_Disable_Params::pRangeProfilerObject);
    params.pRangeProfilerObject = object_;
    if (object_ != nullptr) call_cupti(library_, "cuptiRangeProfilerDisable", &params);
  }

  const std::vector<std::string>& metrics() const override { return metrics_; }

  void start() override {
    initialize_image();
    auto set = params_to(&CUpti_RangeProfiler_SetConfig_Params::targetNestingLevel);
    set.pRangeProfilerObject = object_;
    set.configSize = config_.size();
    set.pConfig = config_.data();
    set.counterDataImageSize = image_.size();
    set.pCounterDataImage = image_.data();
    // Kernel replay exists only for automatic ranges; with a single pass, nothing is replayed.
    set.range = options_.of_ranges ? CUPTI_UserRange : CUPTI_AutoRange;
    set.replayMode = options_.of_ranges ? CUPTI_UserReplay : CUPTI_KernelReplay;
    set.maxRangesPerPass = options_.ranges;
    set.numNestingLevels = 1;
    set.minNestingLevel = 1;
    set.passIndex = 0;
    set.targetNestingLevel = 1;
    check_cupti(library_, call_cupti(library_, "cuptiRangeProfilerSetConfig", &set), "the choice of counters");
    auto start = params_to(&CUpti_RangeProfiler_Start_Params::pRangeProfilerObject);
    start.pRangeProfilerObject = object_;
    check_cupti(library_, call_cupti(library_, "cuptiRangeProfilerStart", &start), "starting counters");
  }

  Counted stop() override {
    auto stop = params_to(&CUpti_RangeProfiler_Stop_Params::isAllPassSubmitted);
    stop.pRangeProfilerObject = object_;
    check_cupti(library_, call_cupti(library_, "cuptiRangeProfilerStop", &stop), "stopping counters");
    auto decode = params_to(&CUpti_RangeProfiler_DecodeData_Params::numOfRangeDropped);
    decode.pRangeProfilerObject = object_;
    check_cupti(library_, call_cupti(library_, "cuptiRangeProfilerDecodeData", &decode), "reading counters");
    auto info = params_to(&CUpti_RangeProfiler_GetCounterDataInfo_Params::numTotalRanges);
    info.pCounterDataImage = image_.data();
    info.counterDataImageSize = image_.size();
    check_cupti(library_, call_cupti(library_, "cuptiRangeProfilerGetCounterDataInfo", &info), "counting ranges");
    Counted counted{chip_.evaluate(image_, info.numTotalRanges, metrics_), decode.numOfRangeDropped, {}};
    if (!counted.ranges.empty()) tell_constants(counted);
    keep_image(counted);
    return counted;
  }

  void push(const std::string& name) override {
    auto params = params_to(&CUpti_RangeProfiler_PushRange_Params::pRangeName);
    params.pRangeProfilerObject = object_;
    params.pRangeName = name.c_str();
    check_cupti(library_, call_cupti(library_, "cuptiRangeProfilerPushRange", &params), "opening a range");
  }

  void pop() override {
    auto params = params_to(&CUpti_RangeProfiler_PopRange_Params::pRangeProfilerObject);
    params.pRangeProfilerObject = object_;
    check_cupti(library_, call_cupti(library_, "cuptiRangeProfilerPopRange", &params), "closing a range");
  }

 private:
  static bool is_constant(const std::string& metric) { return metric.ends_with(".peak_sustained"); }

  // Read with the first range; a failure does not affect the counters.
  void tell_constants(Counted& counted) {
    if (are_told_ || constants_.empty()) return;
    are_told_ = true;
    try {
      const std::vector<double> values = chip_.evaluate(image_, 1, constants_).front();
      for (std::size_t i = 0; i < values.size(); ++i) counted.constants.emplace_back(constants_[i], values[i]);
    } catch (const Error&) {
    }
  }

  // Clocks only turn peaks per cycle into peaks per second: a device with fewer counters does without them.
  void leave_out_clocks() {
    const auto first = std::remove_if(metrics_.begin(), metrics_.end(),
                                      [](const std::string& name) { return name.ends_with("__cycles_elapsed.avg"); });
    if (first == metrics_.end() || first == metrics_.begin()) return;
    metrics_.erase(first, metrics_.end());
    configure();
  }

  // Constants add nothing to a configuration, but CUPTI must be given every metric that is evaluated later.
  std::vector<std::string> all_metrics() const {
    std::vector<std::string> all = metrics_;
    all.insert(all.end(), constants_.begin(), constants_.end());
    return all;
  }
  void configure() {
    config_ = chip_.config(all_metrics());
    passes_ = chip_.passes(all_metrics());
  }

  // An availability image removes counters, but the metrics' names remain.
  bool can_count(const std::string& metric) const {
    try {
      return chip_.passes({metric}) > 0;
    } catch (const Error&) {
      return false;
    }
  }

  void allocate() {
    std::vector<const char*> names;
    const std::vector<std::string> all = all_metrics();
    for (const std::string& metric : all) names.push_back(metric.c_str());
    auto size = params_to(&CUpti_RangeProfiler_GetCounterDataSize_Params::counterDataSize);
    size.pRangeProfilerObject = object_;
    size.pMetricNames = names.data();
    size.numMetrics = names.size();
    size.maxNumOfRanges = options_.ranges;
    size.maxNumRangeTreeNodes = static_cast<std::uint32_t>(options_.ranges);
    check_cupti(library_, call_cupti(library_, "cuptiRangeProfilerGetCounterDataSize", &size), "the size of the image");
    image_.resize(size.counterDataSize);
  }

  void initialize_image() {
    auto params = params_to(&CUpti_RangeProfiler_CounterDataImage_Initialize_Params::pCounterData);
    params.pRangeProfilerObject = object_;
    params.counterDataSize = image_.size();
    params.pCounterData = image_.data();
    check_cupti(library_, call_cupti(library_, "cuptiRangeProfilerCounterDataImageInitialize", &params), "a new image");
  }

  // Evaluating an image needs only the host library: pagoda-metrics --decode can repeat it on any machine and compare
  // its values with those written here.
  void keep_image(const Counted& counted) {
    if (options_.raw_prefix.empty() || counted.ranges.empty()) return;
    const std::string path = options_.raw_prefix + "." + std::to_string(kept_++);
    std::ofstream(path + ".counters", std::ios::binary)
        .write(reinterpret_cast<const char*>(image_.data()), static_cast<std::streamsize>(image_.size()));
    std::ofstream text(path + ".txt");
    text.precision(17);
    text << "chip\t" << options_.chip << "\nranges\t" << counted.ranges.size() << "\npasses\t" << passes_ << "\n";
    for (std::size_t i = 0; i < metrics_.size(); ++i) {
      text << "metric\t" << metrics_[i];
      for (const std::vector<double>& range : counted.ranges) text << '\t' << range[i];
      text << '\n';
    }
    for (const auto& [metric, value] : counted.constants) text << "peak\t" << metric << '\t' << value << '\n';
  }

  const CuptiLibrary& library_;
  const SessionOptions options_;
  const HostChip chip_;
  std::vector<std::string> metrics_, constants_;
  bool are_told_ = false;  // constants, once per session
  std::vector<std::uint8_t> config_, image_;
  CUpti_RangeProfiler_Object* object_ = nullptr;
  std::size_t kept_ = 0, passes_ = 0;  // passes: for the counters of this device, which may differ from its chip's
};

}  // namespace

std::vector<std::uint8_t> counter_availability(const CuptiLibrary& library, CUctx_st* context) {
  auto params = params_to(&CUpti_Profiler_GetCounterAvailability_Params::pCounterAvailabilityImage);
  params.ctx = context;
  check_cupti(library, call_cupti(library, "cuptiProfilerGetCounterAvailability", &params), "asking for counters");
  std::vector<std::uint8_t> image(params.counterAvailabilityImageSize);
  params.pCounterAvailabilityImage = image.data();
  check_cupti(library, call_cupti(library, "cuptiProfilerGetCounterAvailability", &params), "asking for counters");
  return image;
}

std::string chip_name(const CuptiLibrary& library, std::size_t device) {
  auto params = params_to(&CUpti_Device_GetChipName_Params::pChipName);
  params.deviceIndex = device;
  check_cupti(library, call_cupti(library, "cuptiDeviceGetChipName", &params), "the name of the chip");
  return params.pChipName != nullptr ? params.pChipName : "";
}

std::unique_ptr<CounterSession> open_cupti_session(const CuptiLibrary& library, CUctx_st* context,
                                                   const SessionOptions& options) {
  return std::make_unique<CuptiSession>(library, context, options);
}

}  // namespace pagoda::tools::profile
