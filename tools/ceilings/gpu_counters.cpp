// CUPTI's range profiler: one user range around the work, repeated until all passes are collected. Calls follow the
// documented order; target-side calls come only after the driver is initialised, since they crash without it.
#include "gpu_counters.h"

#ifdef PAGODA_CUPTI
#include <cuda.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>

#include <cstdlib>
#include <filesystem>

#include "../profile/cupti_call.h"
#include "nvidia_library.h"
#endif

namespace pagoda::tools::ceilings {

std::vector<CounterSet> counter_sets(const std::string& kernel, const std::string& precision, const std::string& level,
                                     const std::string& op) {
  const auto sum = [](const std::string& name) { return name + ".sum"; };
  const auto tensor = [&](const std::string& what) { return CounterSet{{sum("sm__ops_path_tensor_" + what)}, {1}}; };
  // DRAM: dirty L2 lines may be written back later; they are a fraction of the traffic of a pass over the arrays.
  if (level == "dram")
    return {{{sum("dram__bytes_read"), sum("dram__bytes_write")}, {1, 1}},
            {{sum("dram__bytes_op_read"), sum("dram__bytes_op_write")}, {1, 1}}};
  // Traffic between L1 and L2, minus the traffic between SMs of a cluster. The L2 slices' own counter also includes the
  // traffic between the two halves of Hopper's L2.
  if (level == "l2") {
    const std::string in = "l1tex__m_xbar2l1tex_read_bytes", out = "l1tex__m_l1tex2xbar_write_bytes";
    return {{{sum(in), sum(out), sum(in + "_mem_dshared"), sum(out + "_mem_dshared")}, {1, 1, -1, -1}},
            {{sum(in), sum(out)}, {1, 1}},
            {{sum("lts__t_sectors_srcunit_tex")}, {32}}};
  }
  if (level == "l1") return {{{sum("l1tex__t_bytes")}, {1}}};
  // Counts the loop's direction only: a counter of all accesses would include filling shared memory, 2 % of 50 trips.
  if (level == "shared")
    return {{{sum("sm__sass_data_bytes_mem_shared_op_" + std::string(op == "write" ? "st" : "ld"))}, {1}}};
  if (!level.empty()) return {};
  // tcgen05 has separate paths for 16-bit floats and tf32, for 8-bit floats, for integers and for 4-bit floats.
  if (kernel.starts_with("tcgen05_")) {
    if (precision == "bfloat16") return {tensor("op_utchmma_src_bf16_dst_fp32"), tensor("src_bf16_dst_fp32")};
    if (precision == "float16") return {tensor("op_utchmma_src_fp16_dst_fp32"), tensor("src_fp16_dst_fp32")};
    if (precision == "tf32") return {tensor("op_utchmma_src_tf32_dst_fp32"), tensor("src_tf32_dst_fp32")};
    if (precision == "float8")
      return {tensor("op_utcqmma_src_fp4_fp6_fp8_dst_fp32"), tensor("src_fp4_fp6_fp8_dst_fp32")};
    if (precision == "float4") return {tensor("op_utcomma_src_fp4_dst_fp32"), tensor("src_fp4_dst_fp32")};
    if (precision == "int8") return {tensor("op_utcimma_src_int8"), tensor("src_int8")};
    return {};
  }
  const bool gmma = kernel.starts_with("wgmma"), is_own = gmma || kernel.starts_with("mma_");
  // A library chooses its instruction, so only the counters of all paths tell; its float32 runs on the vector unit.
  if (is_own || (op == "gemm" && precision != "float32")) {
    const std::string path = gmma ? "op_hgmma_" : "op_hmma_";
    std::vector<CounterSet> sets;
    if (is_own && (precision == "bfloat16" || precision == "tf32"))
      sets.push_back(tensor(path + "src_" + (precision == "tf32" ? "tf32" : "bf16") + "_dst_fp32"));
    if (is_own && precision == "float16") sets.push_back(tensor(path + (gmma ? "src_fp16" : "src_fp16_dst_fp32")));
    if (is_own && precision == "int8") sets.push_back(tensor(gmma ? "op_igmma_src_int8" : "op_imma_src_int8"));
    struct Row {
      const char *precision, *source;
    };
    constexpr Row kAllPaths[] = {
        {"bfloat16", "src_bf16_dst_fp32"},      {"float16", "src_fp16"}, {"float16", "src_fp16_dst_fp32"},
        {"tf32", "src_tf32_dst_fp32"},          {"float8", "src_fp8"},   {"float8", "src_fp8_dst_fp32"},
        {"float8", "src_fp4_fp6_fp8_dst_fp32"}, {"int8", "src_int8"},    {"float64", "src_fp64"}};
    for (const Row& row : kAllPaths)
      if (precision == row.precision) sets.push_back(tensor(row.source));
    return sets;
  }
  // Thread instructions; one on a packed pair of half floats does twice the work (ncu's derived__ metrics).
  const std::string letter = precision == "float32"                              ? "f"
                             : precision == "float64"                            ? "d"
                             : precision == "float16" || precision == "bfloat16" ? "h"
                                                                                 : "";
  if (letter.empty() || op == "special") return {};
  // ptxas turns half of the packed additions into HFMA2, which counts as twice the work.
  if (letter == "h" && op == "add") return {};
  const double lanes = letter == "h" ? 2 : 1;
  const std::string prefix = "sm__sass_thread_inst_executed_op_" + letter;
  return {{{sum(prefix + "add_pred_on"), sum(prefix + "mul_pred_on"), sum(prefix + "fma_pred_on")},
           {lanes, lanes, 2 * lanes}}};
}

#ifdef PAGODA_CUPTI

using profile::params_to;

struct GpuCounters::State {
  std::string chip;
  std::vector<std::uint8_t> availability;
#define CUPTI_FUNCTION(name) decltype(&::name) name = nullptr;
#define CUPTI_FUNCTIONS(apply)                                                                                       \
  apply(cuptiProfilerInitialize) apply(cuptiProfilerDeInitialize) apply(cuptiDeviceGetChipName)                      \
      apply(cuptiProfilerGetCounterAvailability) apply(cuptiProfilerHostInitialize)                                  \
          apply(cuptiProfilerHostDeinitialize) apply(cuptiProfilerHostConfigAddMetrics)                              \
              apply(cuptiProfilerHostGetConfigImageSize) apply(cuptiProfilerHostGetConfigImage)                      \
                  apply(cuptiProfilerHostEvaluateToGpuValues) apply(cuptiProfilerHostGetNumOfPasses)                 \
                      apply(cuptiRangeProfilerEnable) apply(cuptiRangeProfilerDisable)                               \
                          apply(cuptiRangeProfilerGetCounterDataSize)                                                \
                              apply(cuptiRangeProfilerCounterDataImageInitialize) apply(cuptiRangeProfilerSetConfig) \
                                  apply(cuptiRangeProfilerStart) apply(cuptiRangeProfilerStop)                       \
                                      apply(cuptiRangeProfilerPushRange) apply(cuptiRangeProfilerPopRange)           \
                                          apply(cuptiRangeProfilerDecodeData) apply(cuptiGetResultString)
  CUPTI_FUNCTIONS(CUPTI_FUNCTION)

  static const char* remedy(CUptiResult result) {
    if (result == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES)
      return "; run as root, or let everybody count: NVreg_RestrictProfilingToAdminUsers=0 for the nvidia module";
    if (result == CUPTI_ERROR_HARDWARE_BUSY) return "; another profiler or monitor counts: dcgmi profile --pause";
    if (result == CUPTI_ERROR_NOT_INITIALIZED)
      return "; CUPTI may be newer than the driver: PAGODA_CUPTI names another";
    return "";
  }
  void check(CUptiResult result, const char* call) const {
    if (result == CUPTI_SUCCESS) return;
    const char* text = nullptr;
    if (cuptiGetResultString(result, &text) != CUPTI_SUCCESS || text == nullptr) text = "unknown";
    throw GpuError(std::string(call) + ": " + text + " (" + std::to_string(result) + ")" + remedy(result));
  }
};

GpuCounters::GpuCounters(Gpu& gpu, int index) : gpu_(gpu), state_(std::make_unique<State>()) {
  State& s = *state_;
  const DynamicLibrary library(cupti_places());
  if (!library) {
    why_ = "libcupti cannot be opened; install it with the CUDA toolkit, or set PAGODA_CUPTI to its path";
    return;
  }
  const auto find = [&](auto& function, const char* symbol) {
    if (!library.find(function, symbol) && why_.empty())
      why_ = std::string("libcupti has no ") + symbol + "; it is older than CUDA 12.6";
  };
#define CUPTI_FIND(name) find(s.name, #name);
  CUPTI_FUNCTIONS(CUPTI_FIND)
  if (!why_.empty()) return;
  open_neighbours(library);
  try {
    auto initialize = params_to(&CUpti_Profiler_Initialize_Params::pPriv);
    s.check(s.cuptiProfilerInitialize(&initialize), "cuptiProfilerInitialize");
    auto chip = params_to(&CUpti_Device_GetChipName_Params::pChipName);
    chip.deviceIndex = static_cast<std::size_t>(index);
    s.check(s.cuptiDeviceGetChipName(&chip), "cuptiDeviceGetChipName");
    s.chip = chip.pChipName;
    auto availability = params_to(&CUpti_Profiler_GetCounterAvailability_Params::pCounterAvailabilityImage);
    availability.ctx = static_cast<CUcontext>(gpu.context());
    s.check(s.cuptiProfilerGetCounterAvailability(&availability), "cuptiProfilerGetCounterAvailability");
    s.availability.resize(availability.counterAvailabilityImageSize);
    availability.pCounterAvailabilityImage = s.availability.data();
    s.check(s.cuptiProfilerGetCounterAvailability(&availability), "cuptiProfilerGetCounterAvailability");
  } catch (const GpuError& error) {
    why_ = error.what();
  }
}

GpuCounters::~GpuCounters() {
  if (!state_->cuptiProfilerDeInitialize || gpu_.lost() || state_->chip.empty()) return;
  auto end = params_to(&CUpti_Profiler_DeInitialize_Params::pPriv);
  state_->cuptiProfilerDeInitialize(&end);
}

std::vector<double> GpuCounters::count(const std::vector<std::vector<std::string>>& alternatives,
                                       const std::function<void()>& work, std::size_t& chosen) {
  const State& s = *state_;
  CUpti_Profiler_Host_Object* host = nullptr;
  std::vector<const char*> names;
  std::vector<std::uint8_t> config;
  // Use the first set that this chip has; CUPTI reports an unknown name as an invalid parameter.
  std::string refused;
  for (chosen = 0; chosen < alternatives.size(); ++chosen) {
    auto begin = params_to(&CUpti_Profiler_Host_Initialize_Params::pHostObject);
    begin.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
    begin.pChipName = s.chip.c_str();
    begin.pCounterAvailabilityImage = s.availability.data();
    s.check(s.cuptiProfilerHostInitialize(&begin), "cuptiProfilerHostInitialize");
    host = begin.pHostObject;
    names.clear();
    for (const std::string& name : alternatives[chosen]) names.push_back(name.c_str());
    auto add = params_to(&CUpti_Profiler_Host_ConfigAddMetrics_Params::numMetrics);
    add.pHostObject = host;
    add.ppMetricNames = names.data();
    add.numMetrics = names.size();
    if (s.cuptiProfilerHostConfigAddMetrics(&add) == CUPTI_SUCCESS) break;
    refused += (refused.empty() ? "" : ", ") + alternatives[chosen].front();
    auto end = params_to(&CUpti_Profiler_Host_Deinitialize_Params::pHostObject);
    end.pHostObject = host;
    s.cuptiProfilerHostDeinitialize(&end);
    host = nullptr;
  }
  if (!host) throw GpuError(s.chip + " has no counter " + refused);
  CUpti_RangeProfiler_Object* profiler = nullptr;
  const auto close = [&] {
    if (profiler && !gpu_.lost()) {
      auto disable = params_to(&CUpti_RangeProfiler_Disable_Params::pRangeProfilerObject);
      disable.pRangeProfilerObject = profiler;
      s.cuptiRangeProfilerDisable(&disable);
    }
    auto end = params_to(&CUpti_Profiler_Host_Deinitialize_Params::pHostObject);
    end.pHostObject = host;
    s.cuptiProfilerHostDeinitialize(&end);
  };
  try {
    auto size = params_to(&CUpti_Profiler_Host_GetConfigImageSize_Params::configImageSize);
    size.pHostObject = host;
    s.check(s.cuptiProfilerHostGetConfigImageSize(&size), "cuptiProfilerHostGetConfigImageSize");
    config.resize(size.configImageSize);
    auto image = params_to(&CUpti_Profiler_Host_GetConfigImage_Params::pConfigImage);
    image.pHostObject = host;
    image.configImageSize = config.size();
    image.pConfigImage = config.data();
    s.check(s.cuptiProfilerHostGetConfigImage(&image), "cuptiProfilerHostGetConfigImage");

    auto enable = params_to(&CUpti_RangeProfiler_Enable_Params::pRangeProfilerObject);
    enable.ctx = static_cast<CUcontext>(gpu_.context());
    s.check(s.cuptiRangeProfilerEnable(&enable), "cuptiRangeProfilerEnable");
    profiler = enable.pRangeProfilerObject;
    auto room = params_to(&CUpti_RangeProfiler_GetCounterDataSize_Params::counterDataSize);
    room.pRangeProfilerObject = profiler;
    room.pMetricNames = names.data();
    room.numMetrics = names.size();
    room.maxNumOfRanges = 1;
    room.maxNumRangeTreeNodes = 1;
    s.check(s.cuptiRangeProfilerGetCounterDataSize(&room), "cuptiRangeProfilerGetCounterDataSize");
    std::vector<std::uint8_t> data(room.counterDataSize);
    auto clear = params_to(&CUpti_RangeProfiler_CounterDataImage_Initialize_Params::pCounterData);
    clear.pRangeProfilerObject = profiler;
    clear.counterDataSize = data.size();
    clear.pCounterData = data.data();
    s.check(s.cuptiRangeProfilerCounterDataImageInitialize(&clear), "cuptiRangeProfilerCounterDataImageInitialize");
    auto set = params_to(&CUpti_RangeProfiler_SetConfig_Params::targetNestingLevel);
    set.pRangeProfilerObject = profiler;
    set.configSize = config.size();
    set.pConfig = config.data();
    set.counterDataImageSize = data.size();
    set.pCounterDataImage = data.data();
    set.range = CUPTI_UserRange;
    set.replayMode = CUPTI_UserReplay;
    set.maxRangesPerPass = 1;
    set.numNestingLevels = 1;
    set.minNestingLevel = 1;
    set.passIndex = 0;
    set.targetNestingLevel = 1;
    s.check(s.cuptiRangeProfilerSetConfig(&set), "cuptiRangeProfilerSetConfig");
    bool all = false;
    for (int pass = 0; !all; ++pass) {
      if (pass == 20) throw GpuError("counters: not complete after 20 passes");
      auto start = params_to(&CUpti_RangeProfiler_Start_Params::pRangeProfilerObject);
      start.pRangeProfilerObject = profiler;
      s.check(s.cuptiRangeProfilerStart(&start), "cuptiRangeProfilerStart");
      auto push = params_to(&CUpti_RangeProfiler_PushRange_Params::pRangeName);
      push.pRangeProfilerObject = profiler;
      push.pRangeName = "work";
      s.check(s.cuptiRangeProfilerPushRange(&push), "cuptiRangeProfilerPushRange");
      work();
      auto pop = params_to(&CUpti_RangeProfiler_PopRange_Params::pRangeProfilerObject);
      pop.pRangeProfilerObject = profiler;
      s.check(s.cuptiRangeProfilerPopRange(&pop), "cuptiRangeProfilerPopRange");
      auto stop = params_to(&CUpti_RangeProfiler_Stop_Params::isAllPassSubmitted);
      stop.pRangeProfilerObject = profiler;
      s.check(s.cuptiRangeProfilerStop(&stop), "cuptiRangeProfilerStop");
      all = stop.isAllPassSubmitted != 0;
    }
    auto decode = params_to(&CUpti_RangeProfiler_DecodeData_Params::numOfRangeDropped);
    decode.pRangeProfilerObject = profiler;
    s.check(s.cuptiRangeProfilerDecodeData(&decode), "cuptiRangeProfilerDecodeData");
    std::vector<double> values(names.size());
    auto evaluate = params_to(&CUpti_Profiler_Host_EvaluateToGpuValues_Params::pMetricValues);
    evaluate.pHostObject = host;
    evaluate.pCounterDataImage = data.data();
    evaluate.counterDataImageSize = data.size();
    evaluate.rangeIndex = 0;
    evaluate.ppMetricNames = names.data();
    evaluate.numMetrics = names.size();
    evaluate.pMetricValues = values.data();
    s.check(s.cuptiProfilerHostEvaluateToGpuValues(&evaluate), "cuptiProfilerHostEvaluateToGpuValues");
    close();
    return values;
  } catch (...) {
    close();
    throw;
  }
}

#else  // built without CUPTI's headers

struct GpuCounters::State {};
GpuCounters::GpuCounters(Gpu& gpu, int)
    : gpu_(gpu), why_("this build has no CUPTI; build it where the CUDA toolkit is") {}
GpuCounters::~GpuCounters() = default;
std::vector<double> GpuCounters::count(const std::vector<std::vector<std::string>>&, const std::function<void()>&,
                                       std::size_t&) {
  (void)gpu_;
  throw GpuError(why_);
}

#endif

}  // namespace pagoda::tools::ceilings
