// The hardware counters of a ceiling's work, and their values: one range around the work, repeated until all passes
// are collected.
#include "gpu_counters.h"

#ifdef PAGODA_CUPTI
#include <cupti_profiler_target.h>

#include <optional>

#include "../profile/cupti_call.h"
#include "../profile/range_profiler.h"
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
  // A library chooses its instruction, so only the counters of all paths measure it; its float32 runs on the vector
  // unit.
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

namespace {

std::string remedy(int result) {
  if (result == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES)
    return "run as root, or let everybody count: NVreg_RestrictProfilingToAdminUsers=0 for the nvidia module";
  if (result == CUPTI_ERROR_HARDWARE_BUSY) return "another profiler or monitor counts: dcgmi profile --pause";
  if (result == CUPTI_ERROR_NOT_INITIALIZED) return "CUPTI may be newer than the driver: PAGODA_CUPTI names another";
  return "";
}

}  // namespace

struct GpuCounters::State {
  const profile::CuptiLibrary library{"", remedy};
  CUctx_st* context = nullptr;
  std::string name = {};
  std::optional<profile::HostChip> chip = {};
};

GpuCounters::GpuCounters(Gpu& gpu, int index) : gpu_(gpu), state_(std::make_unique<State>()) {
  State& s = *state_;
  why_ = s.library.why();
  if (!s.library.available()) return;
  try {
    profile::initialize_profiler(s.library);
    s.context = static_cast<CUctx_st*>(gpu.context());
    s.name = profile::chip_name(s.library, static_cast<std::size_t>(index));
    s.chip.emplace(s.library, s.name, profile::counter_availability(s.library, s.context));
  } catch (const Error& error) {
    why_ = error.what();
  }
}

GpuCounters::~GpuCounters() {
  constexpr const char* kEnd = "cuptiProfilerDeInitialize";
  if (gpu_.lost() || state_->name.empty() || state_->library.symbol(kEnd) == nullptr) return;
  state_->chip.reset();
  auto end = profile::params_to(&CUpti_Profiler_DeInitialize_Params::pPriv);
  profile::call_cupti(state_->library, kEnd, &end);
}

std::pair<const CounterSet*, std::vector<double>> GpuCounters::count(const std::vector<CounterSet>& alternatives,
                                                                     const std::function<void()>& work) {
  const State& s = *state_;
  std::vector<std::uint8_t> config;
  const CounterSet* chosen = nullptr;
  std::string refused;
  for (const CounterSet& set : alternatives) {
    try {
      config = s.chip->config(set.metrics);
      chosen = &set;
      break;
    } catch (const Error&) {  // the chip lacks one of the metrics
      refused += (refused.empty() ? "" : ", ") + set.metrics.front();
    }
  }
  if (chosen == nullptr) throw GpuError(s.name + " has no counter " + refused);
  auto profiler = std::make_unique<profile::RangeProfiler>(s.library, s.context, std::move(config), chosen->metrics, 1);
  try {
    profiler->prepare(true);
    bool is_complete = false;
    for (int pass = 0; !is_complete; ++pass) {
      if (pass == 20) throw GpuError("counters: not complete after 20 passes");
      profiler->start();
      profiler->push("work");
      work();
      profiler->pop();
      is_complete = profiler->stop();
    }
    profiler->decode();
    return {chosen, s.chip->evaluate(profiler->image(), 1, chosen->metrics).front()};
  } catch (...) {
    if (gpu_.lost()) (void)profiler.release();  // closing it would wait for the device
    throw;
  }
}

#else  // built without CUPTI's headers

struct GpuCounters::State {};
GpuCounters::GpuCounters(Gpu& gpu, int)
    : gpu_(gpu), why_("this build has no CUPTI; build it where the CUDA toolkit is") {}
GpuCounters::~GpuCounters() = default;
std::pair<const CounterSet*, std::vector<double>> GpuCounters::count(const std::vector<CounterSet>&,
                                                                     const std::function<void()>&) {
  (void)gpu_;
  throw GpuError(why_);
}

#endif

}  // namespace pagoda::tools::ceilings
