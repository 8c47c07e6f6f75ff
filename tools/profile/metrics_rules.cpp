// Names are those that CUPTI's host library lists from Volta to Blackwell; weights follow from the instructions.
#include "metrics.h"
#include "pagoda/base/cat.h"

namespace pagoda::tools::profile {
namespace {

using Terms = std::vector<documents::MetricTerm>;

constexpr double kNanosecond = 1e-9, kSectorBytes = 32;

// adds + multiplies + 2 · fused multiply-adds, each on `lanes` numbers: packed half precision works on two.
Terms scalar_terms(const std::string& letter, double lanes) {
  const auto metric = [&](const std::string& op) { return "sm__sass_thread_inst_executed_op_" + op + "_pred_on.sum"; };
  Terms terms = {{metric(letter + "add"), lanes}, {metric(letter + "mul"), lanes}, {metric(letter + "fma"), 2 * lanes}};
  if (letter == "f")  // Blackwell's packed pairs
    for (const auto& [op, weight] : {std::pair{"fadd2", 2.0}, {"fmul2", 2.0}, {"ffma2", 4.0}})
      terms.push_back({metric(op) + "?", weight});
  return terms;
}

// The highest count per cycle of the metric's unit: a constant of the chip, which needs no counter.
Terms peak_terms(const std::string& metric, double weight) { return {{metric + ".peak_sustained", weight}}; }

// The metrics of all `sources` (parts of names) and suffixes add up.
Terms tensor_terms(const std::vector<std::string>& sources, const std::vector<std::string>& suffixes) {
  Terms terms;
  for (const std::string& source : sources)
    for (const std::string& suffix : suffixes) terms.push_back({"sm__ops_path_tensor_" + source + suffix + ".sum", 1});
  return terms;
}

// Real-time counters first: they count the same and more of them fit into a pass. Then plain ones, then by sparsity.
void add_tensor(QuantityRule& rule, const std::vector<std::string>& sources) {
  rule.formulas.push_back(tensor_terms(sources, {"_realtime"}));
  rule.formulas.push_back(tensor_terms(sources, {""}));
  rule.formulas.push_back(tensor_terms(sources, {"_sparsity_off", "_sparsity_on"}));
}

struct TensorRule {
  const char* precision;
  std::vector<std::vector<std::string>> sources;  // alternatives; the parts of one add up
  std::vector<std::string> peaks;                 // fastest instruction first
};

// A counter by source type includes all instructions. On Hopper, the counters of wgmma (hgmma, igmma) and mma.sync
// (hmma, imma) are disjoint and add up to it, so they can be counted in different passes. tcgen05 is utc*.
std::vector<TensorRule> tensor_rules() {
  // clang-format off
  return {
      {"bfloat16",
       {{"src_bf16_dst_fp32"}, {"op_hgmma_src_bf16_dst_fp32", "op_hmma_src_bf16_dst_fp32"}},
       {"op_hgmma_src_bf16_dst_fp32", "op_utchmma_src_bf16_dst_fp32", "src_bf16_dst_fp32", "op_hmma_src_bf16_dst_fp32"}},
      {"float16",
       {{"src_fp16"},
        {"src_fp16_dst_fp16", "src_fp16_dst_fp32"},
        // Turing's tensor cores do not support bf16 or tf32, whatever the name says.
        {"src_fp16_dst_fp16", "src_fp16_bf16_tf32_dst_fp32"},
        {"op_hgmma_src_fp16", "op_hmma_src_fp16"},
        {"op_hgmma_src_fp16", "op_hmma_src_fp16_dst_fp16", "op_hmma_src_fp16_dst_fp32"}},
       {"op_hgmma_src_fp16", "op_utchmma_src_fp16_dst_fp32", "src_fp16_dst_fp32", "op_hmma_src_fp16_dst_fp32",
        "src_fp16_bf16_tf32_dst_fp32"}},
      {"tf32",
       {{"src_tf32_dst_fp32"}, {"op_hgmma_src_tf32_dst_fp32", "op_hmma_src_tf32_dst_fp32"}},
       {"op_hgmma_src_tf32_dst_fp32", "op_utchmma_src_tf32_dst_fp32", "src_tf32_dst_fp32", "op_hmma_src_tf32_dst_fp32"}},
      {"float8",
       {{"src_fp8"}, {"src_fp8_dst_fp16", "src_fp8_dst_fp32"}, {"src_fp4_fp6_fp8_dst_fp16", "src_fp4_fp6_fp8_dst_fp32"}},
       {"src_fp8", "op_utcqmma_src_fp8_dst_fp32", "op_utcqmma_src_fp4_fp6_fp8_dst_fp32", "src_fp8_dst_fp32"}},
      {"int8",
       {{"src_int8"}, {"op_igmma_src_int8", "op_imma_src_int8"}},
       {"op_igmma_src_int8", "op_utcimma_src_int8", "src_int8", "op_imma_src_int8"}},
      {"float64", {{"src_fp64"}}, {"src_fp64"}},
      {"float4", {{"src_fp4_dst_fp32"}}, {"op_utcomma_src_fp4_dst_fp32", "src_fp4_dst_fp32"}},
      {"float6",
       {{"src_fp4_fp6_dst_fp16", "src_fp4_fp6_dst_fp32"}},
       {"op_utcqmma_src_fp4_fp6_dst_fp32", "src_fp4_fp6_dst_fp32"}},
      {"int4", {{"src_int4"}}, {"src_int4"}},
      {"int1", {{"src_int1"}}, {"src_int1"}},
  };
  // clang-format on
}

}  // namespace

std::vector<QuantityRule> quantity_rules() {
  std::vector<QuantityRule> rules = {
      {"seconds", {{{"gpu__time_duration.sum", kNanosecond}}}},
      {"cycles", {{{"sm__cycles_elapsed.max", 1}}}},
      {"bytes.dram_read", {{{"dram__bytes_read.sum", 1}}, {{"dram__bytes_op_read.sum", 1}}}},
      {"bytes.dram_write", {{{"dram__bytes_write.sum", 1}}, {{"dram__bytes_op_write.sum", 1}}}},
      {"bytes.dram", {{{"dram__bytes.sum", 1}}}},
      // Requests of the L1s only: the total also includes the traffic between the two halves of a split L2. The L1s'
      // own counters of this traffic (l1tex__m_xbar2l1tex_read_bytes, l1tex__m_l1tex2xbar_write_bytes) need two passes
      // or more; `ert-ceilings --counters` compares its kernels with these.
      {"bytes.l2",
       {{{"lts__t_sectors_srcunit_tex.sum", kSectorBytes}},
        {{"lts__t_bytes.sum", 1}},
        {{"lts__t_sectors.sum", kSectorBytes}}}},
      {"bytes.l1", {{{"l1tex__t_bytes.sum", 1}}, {{"l1tex__t_sectors.sum", kSectorBytes}}}},
      {"bytes.shared", {{{"sm__sass_data_bytes_mem_shared.sum", 1}}}},
      {"bytes.l2_miss",
       {{{"lts__t_sectors_aperture_device_lookup_miss.sum", kSectorBytes},
         {"lts__t_sectors_aperture_sysmem_lookup_miss.sum", kSectorBytes}},
        {{"lts__t_sectors_lookup_miss.sum", kSectorBytes}}}},
      {"cycles.l1", {{{"l1tex__cycles_elapsed.avg", 1}}}},
      {"cycles.l2", {{{"lts__cycles_elapsed.avg", 1}}}},
      {"cycles.dram", {{{"dram__cycles_elapsed.avg", 1}}}},
      {"flops.float32", {scalar_terms("f", 1)}},
      {"flops.float64", {scalar_terms("d", 1)}},
      {"flops.float16", {scalar_terms("h", 2)}},
      // Peaks of fused multiply-adds, as in Nsight Compute's rooflines; on Blackwell, of the unpacked instructions.
      {"peak.float32", {peak_terms("sm__sass_thread_inst_executed_op_ffma_pred_on.sum", 2)}},
      {"peak.float64", {peak_terms("sm__sass_thread_inst_executed_op_dfma_pred_on.sum", 2)}},
      {"peak.float16", {peak_terms("sm__sass_thread_inst_executed_op_hfma_pred_on.sum", 4)}},
      {"peak.bytes.dram", {peak_terms("dram__bytes.sum", 1)}},
      {"peak.bytes.l2", {peak_terms("lts__t_bytes.sum", 1)}},
      {"peak.bytes.l1", {peak_terms("l1tex__t_bytes.sum", 1)}},
  };
  for (const TensorRule& tensor : tensor_rules()) {
    QuantityRule flops{cat("flops.", tensor.precision, ".tensor"), {}};
    QuantityRule peak{cat("peak.", tensor.precision, ".tensor"), {}};
    for (const auto& sources : tensor.sources) add_tensor(flops, sources);
    // The dense peak. A counter for both dense and sparse operands has the sparse peak, twice as high; use it only if
    // the operands are never sparse, in this precision or on this chip.
    const bool is_dense = flops.id == "flops.float64.tensor" || flops.id == "flops.int1.tensor";
    for (const std::string& source : tensor.peaks)
      peak.formulas.push_back(peak_terms("sm__ops_path_tensor_" + source + "_sparsity_off.sum", 1));
    for (const std::string& source : tensor.peaks)
      peak.formulas.push_back(peak_terms((is_dense ? "" : "!") + ("sm__ops_path_tensor_" + source) + ".sum", 1));
    rules.push_back(flops);
    rules.push_back(peak);
  }
  return rules;
}

}  // namespace pagoda::tools::profile
