// Metric names from CUPTI's host library for Turing to Blackwell, and the units that ncu prints.
#include "import/ncu_metrics.h"

#include <algorithm>
#include <array>

#include "import/engine_names.h"
#include "import/formats.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/quantity.h"

namespace pagoda::measured::import {
namespace {

using documents::amount;
using Metrics = std::map<std::string, double>;

constexpr std::array<std::string_view, 4> kTimes = {"gpu__time_duration.sum", "gpu__time_duration.avg",
                                                    "gpu__time_duration_measured_user.sum", "Duration"};
constexpr std::string_view kClock = "smsp__cycles_elapsed.avg.per_second";

std::optional<double> seconds(const Metrics& metrics) {
  for (const std::string_view name : kTimes)
    if (const auto found = amount(metrics, std::string(name))) return found;
  return std::nullopt;
}

std::optional<double> times(const std::optional<double>& a, const std::optional<double>& b) {
  return a && b ? std::optional(*a * *b) : std::nullopt;
}

// X.sum, else its rate: X.sum.per_second · time.
std::optional<double> total(const Metrics& metrics, const std::string& base) {
  const auto sum = amount(metrics, base + ".sum");
  return sum ? sum : times(amount(metrics, base + ".sum.per_second"), seconds(metrics));
}

// Scalar operations --------------------------------------------------------------------------------------------------

struct Scalar {
  std::string_view precision, letter;
  double lanes;  // operations per thread of a non-fused instruction
};
constexpr std::array<Scalar, 3> kScalars = {{{"float16", "h", 2}, {"float32", "f", 1}, {"float64", "d", 1}}};
constexpr std::array<std::string_view, 2> kUnits = {"sm", "smsp"};

// Number of thread executions of an instruction: its sum, else rate per cycle · cycles per second · time, as collected
// by ncu's roofline sections; ncu's derived metric for FMAs is twice that rate.
std::optional<double> executions(const Metrics& metrics, const std::string& op) {
  const std::string of = cat("__sass_thread_inst_executed_op_", op, "_pred_on");
  for (const std::string_view unit : kUnits)
    if (const auto sum = amount(metrics, cat(unit, of, ".sum"))) return sum;
  const auto clock = amount(metrics, std::string(kClock)), time = seconds(metrics);
  if (const auto rate = amount(metrics, cat("smsp", of, ".sum.per_cycle_elapsed")))
    return times(times(rate, clock), time);
  if (const auto twice = amount(metrics, cat("derived__smsp", of, "_x2"))) return times(times(*twice / 2, clock), time);
  return std::nullopt;
}

// Blackwell's packed float32 pairs. Other chips lack these metrics, so their absence is not a gap.
double packed_float32(const Metrics& metrics) {
  return 2 * executions(metrics, "fadd2").value_or(0) + 2 * executions(metrics, "fmul2").value_or(0) +
         4 * executions(metrics, "ffma2").value_or(0);
}

void add_scalars(const Metrics& metrics, LaunchSample& sample) {
  for (const Scalar& scalar : kScalars) {
    const std::string letter(scalar.letter);
    const auto adds = executions(metrics, letter + "add"), multiplies = executions(metrics, letter + "mul"),
               fused = executions(metrics, letter + "fma");
    if (!adds && !multiplies && !fused) continue;
    std::optional<double>& flops = sample.flops[std::string(scalar.precision)];
    if (adds && multiplies && fused)
      flops = scalar.lanes * (*adds + *multiplies + 2 * *fused) + (letter == "f" ? packed_float32(metrics) : 0);
  }
}

// Tensor cores -------------------------------------------------------------------------------------------------------

constexpr std::string_view kTensor = "sm__ops_path_tensor_", kSum = ".sum";
// ncu's roofline sections collect operations as rates, which time and clock convert to counts.
constexpr std::string_view kPerSecond = ".sum.per_second", kPerCycle = ".sum.per_cycle_elapsed";
constexpr std::string_view kSmClock = "sm__cycles_elapsed.avg.per_second";
// Instruction counts, which alone do not give operations, since instruction shapes differ.
constexpr std::string_view kTensorPipe = "sm__inst_executed_pipe_tensor";

// clang-format off
constexpr std::array<std::pair<std::string_view, std::string_view>, 10> kSources = {{
    {"bf16",           "bfloat16.tensor"},
    {"fp16_bf16_tf32", "float16.tensor"},  // Turing's name; its tensor cores support only float16
    {"fp16",           "float16.tensor"},
    {"fp4",            "float4.tensor"},
    {"fp64",           "float64.tensor"},
    {"fp8",            "float8.tensor"},
    {"int4",           "int4.tensor"},
    {"int8",           "int8.tensor"},
    {"tf32",           "tf32.tensor"},
    {"int1",           "int1.tensor"},
}};
// clang-format on

// One metric: sm__ops_path_tensor_[op_<instruction>_]src_<type>[_dst_<type>][_sparsity_on|_off][_realtime].sum
struct TensorMetric {
  std::string source;  // including the destination type; distinct sources add up
  std::string precision;
  bool of_instruction = false, of_sparsity = false;
};

std::optional<TensorMetric> tensor_metric(std::string_view name) {
  if (!name.starts_with(kTensor) || !name.ends_with(kSum)) return std::nullopt;
  name = name.substr(kTensor.size(), name.size() - kTensor.size() - kSum.size());
  TensorMetric metric;
  if (name.ends_with("_realtime")) name.remove_suffix(9);
  for (const std::string_view suffix : {std::string_view("_sparsity_on"), std::string_view("_sparsity_off")})
    if (name.ends_with(suffix)) {
      name.remove_suffix(suffix.size());
      metric.of_sparsity = true;
    }
  if (name.starts_with("op_")) {
    const std::size_t source = name.find("_src_");
    if (source == std::string_view::npos) return std::nullopt;
    name.remove_prefix(source + 1);
    metric.of_instruction = true;
  }
  if (!name.starts_with("src_")) return std::nullopt;
  name.remove_prefix(4);
  metric.source = name;
  const std::string_view type = name.substr(0, name.find("_dst_"));
  for (const auto& [spelled, precision] : kSources)
    if (type == spelled) metric.precision = precision;
  if (metric.precision.empty()) return std::nullopt;  // "fp4_fp6_fp8": several types in one counter
  return metric;
}

// A "_realtime" counter duplicates the counter of the same name without it.
bool has_plain_twin(const Metrics& metrics, std::string name) {
  const std::size_t mark = name.find("_realtime");
  return mark != std::string::npos && metrics.contains(name.erase(mark, std::string_view("_realtime").size()));
}

// The count from a rate of tensor operations; empty if time or clock was not collected.
std::optional<double> from_rate(const Metrics& metrics, const std::string& name, double rate) {
  const auto time = seconds(metrics);
  if (name.ends_with(kPerSecond)) return times(rate, time);
  auto clock = amount(metrics, std::string(kSmClock));
  if (!clock) clock = amount(metrics, std::string(kClock));
  return times(times(rate, clock), time);
}

// The metrics of tensor operations as sums: collected ones, else converted from rates.
Metrics tensor_sums(const Metrics& metrics) {
  Metrics sums;
  for (const auto& [name, count] : metrics)
    if (name.starts_with(kTensor) && name.ends_with(kSum)) sums[name] = count;
  for (const std::string_view suffix : {kPerSecond, kPerCycle})
    for (const auto& [name, rate] : metrics) {
      if (!name.starts_with(kTensor) || !name.ends_with(suffix)) continue;
      const std::string sum = name.substr(0, name.size() - suffix.size()) + std::string(kSum);
      if (const auto count = from_rate(metrics, name, rate)) sums.try_emplace(sum, *count);
    }
  return sums;
}

// If tensor cores were used but no metric counts their operations, marks them unknown, not 0.
void mark_unknown_tensor(const Metrics& metrics, LaunchSample& sample) {
  for (const auto& [precision, count] : sample.flops)
    if (precision.ends_with(".tensor")) return;
  for (const auto& [name, count] : metrics) {
    if (!name.starts_with(kTensorPipe) || !(count > 0)) continue;
    const bool is_integer = name.find("imma") != std::string::npos, is_double = name.find("dmma") != std::string::npos;
    sample.flops[is_integer ? "int8.tensor" : is_double ? "float64.tensor" : "float16.tensor"] = std::nullopt;
  }
}

// The same operations are counted in total, by sparsity, by instruction, and by both: only the first of these that
// exists for a source type is summed.
void add_tensor_cores(const Metrics& collected, LaunchSample& sample) {
  const Metrics metrics = tensor_sums(collected);
  std::map<std::string, std::pair<std::string, std::array<std::optional<double>, 4>>> by_source;
  for (const auto& [name, count] : metrics) {
    const std::optional<TensorMetric> metric = tensor_metric(name);
    if (!metric || has_plain_twin(metrics, name)) continue;
    auto& [precision, kinds] = by_source[metric->source];
    precision = metric->precision;
    std::optional<double>& sum = kinds[(metric->of_instruction ? 2U : 0U) + (metric->of_sparsity ? 1U : 0U)];
    sum = sum.value_or(0) + count;
  }
  for (const auto& [source, entry] : by_source) {
    const auto& [precision, kinds] = entry;
    const auto first = std::ranges::find_if(kinds, [](const auto& sum) { return sum.has_value(); });
    std::optional<double>& flops = sample.flops[precision];
    flops = flops.value_or(0) + **first;
  }
}

// Bytes --------------------------------------------------------------------------------------------------------------

constexpr double kSectorBytes = 32;

struct ByteMetric {
  std::optional<double> documents::LevelBytes::*level;
  std::string_view base;
  double bytes;  // per count
};
// Of the metrics of a level, the first one that gives a number is used.
// clang-format off
constexpr ByteMetric kByteMetrics[] = {
    {&documents::LevelBytes::dram_read,  "dram__bytes_read",               1},
    {&documents::LevelBytes::dram_read,  "dram__bytes_op_read",            1},  // consumer Blackwell
    {&documents::LevelBytes::dram_write, "dram__bytes_write",              1},
    {&documents::LevelBytes::dram_write, "dram__bytes_op_write",           1},
    {&documents::LevelBytes::dram,       "dram__bytes",                    1},
    {&documents::LevelBytes::l2,         "lts__t_sectors_srcunit_tex",     kSectorBytes},  // from the L1s alone
    {&documents::LevelBytes::l2,         "lts__t_bytes",                   1},  // also between halves of a split L2
    {&documents::LevelBytes::l2,         "lts__t_sectors",                 kSectorBytes},
    {&documents::LevelBytes::l1,         "l1tex__t_bytes",                 1},
    {&documents::LevelBytes::shared,     "sm__sass_data_bytes_mem_shared", 1},
};
// clang-format on

void add_bytes(const Metrics& metrics, documents::LevelBytes& bytes) {
  for (const ByteMetric& row : kByteMetrics)
    if (std::optional<double>& known = bytes.*row.level; !known)
      known = times(total(metrics, std::string(row.base)), row.bytes);
  bytes.dram = bytes.all_dram();
}

bool is_common_metric(std::string_view metric) {
  if (metric == kClock || metric == kSmClock || std::ranges::find(kTimes, metric) != kTimes.end()) return true;
  if (metric.find("__sass_thread_inst_executed_op_") != std::string_view::npos)
    return metric.ends_with("_pred_on.sum") || metric.ends_with("_pred_on.sum.per_cycle_elapsed") ||
           (metric.starts_with("derived__smsp__") && metric.ends_with("_pred_on_x2"));
  if (metric.starts_with(kTensor) || metric.starts_with(kTensorPipe))
    return metric.ends_with(kSum) || metric.ends_with(kPerSecond) || metric.ends_with(kPerCycle);
  return std::ranges::any_of(kByteMetrics, [&](const ByteMetric& row) {
    if (!metric.starts_with(row.base)) return false;
    const std::string_view suffix = metric.substr(row.base.size());
    return suffix == kSum || suffix == kPerSecond;
  });
}

}  // namespace

bool is_tensor_kernel(std::string_view name) {
  // Names that CUTLASS, cuBLAS and cuDNN use for instruction shapes ("s16816gemm", "h884cudnn") and warp groups.
  return has_any(name, {"tensorop", "tensor_op", "hmma", "imma", "wgmma", "tcgen05", "16816", "1688", "884gemm",
                        "884cudnn", "64x64x16", "xmma_gemm", "xmma_fprop"});
}

std::optional<double> unit_scale(std::string_view unit) {
  // clang-format off
  constexpr std::array<std::pair<std::string_view, double>, 4> kWhole = {{
      {"cycle/nsecond", 1e9}, {"cycle/usecond", 1e6}, {"cycle/second", 1}, {"", 1}}};
  constexpr std::array<std::pair<char, double>, 5> kMultiples = {{{'K', 1e3}, {'k', 1e3}, {'M', 1e6}, {'G', 1e9}, {'T', 1e12}}};
  constexpr std::array<std::string_view, 22> kBases = {
      "byte", "byte/s", "byte/second", "hz", "Hz", "inst", "inst/cycle", "sector", "op", "ops", "cycle", "thread_inst",
      "math_op", "thread", "cycle/s", "inst/s", "op/cycle", "ops/cycle", "1/cycle", "/cycle", "op/s", "op/second"};
  // clang-format on
  if (const auto factor = base::unit_factor(base::Measure::Seconds, unit)) return factor;
  for (const auto& [name, scale] : kWhole)
    if (unit == name) return scale;
  const auto is_base = [&](std::string_view name) { return std::ranges::find(kBases, name) != kBases.end(); };
  if (is_base(unit)) return 1;
  for (const auto& [prefix, scale] : kMultiples)
    if (unit.front() == prefix && is_base(unit.substr(1))) return scale;
  return std::nullopt;
}

std::optional<double> base_scale(std::string_view metric) {
  if (std::ranges::find(kTimes, metric) != kTimes.end()) return kNanosecond;
  const bool is_of_bytes = std::ranges::any_of(kByteMetrics, [&](const ByteMetric& row) {
    return row.bytes == 1 && metric.starts_with(row.base) && metric.substr(row.base.size()) == kSum;
  });
  return is_of_bytes ? std::optional(1.0) : std::nullopt;
}

bool is_used_metric(std::string_view metric, const documents::ChipMetrics* chip) {
  if (is_common_metric(metric)) return true;
  if (chip == nullptr) return false;
  for (const documents::MetricQuantity& quantity : chip->quantities) {
    if (!quantity.is_amount()) continue;
    for (const documents::MetricFormula& formula : quantity.formulas)
      for (const documents::MetricTerm& term : formula.terms)
        if (term.metric == metric) return true;
  }
  return false;
}

LaunchSample sample_of_amounts(const std::map<std::string, double>& amounts, const documents::ChipMetrics& chip) {
  LaunchSample sample;
  sample.seconds = amount(amounts, "seconds");
  for (const documents::MetricQuantity& quantity : chip.quantities)
    if (const documents::QuantityName name = quantity.name(); name.kind == documents::QuantityKind::Flops)
      sample.flops[std::string(name.of)] = amount(amounts, quantity.id);
  for (const documents::LevelField& level : documents::kLevels)
    sample.bytes.*level.bytes = amount(amounts, cat("bytes.", level.name));
  return sample;
}

LaunchSample sample_of(const std::map<std::string, double>& metrics, const documents::ChipMetrics* chip) {
  // Weights convert CUPTI's units to SI; ncu's base units, converted on reading, differ only for time.
  LaunchSample common{seconds(metrics)};
  add_scalars(metrics, common);
  add_tensor_cores(metrics, common);
  mark_unknown_tensor(metrics, common);
  add_bytes(metrics, common.bytes);
  if (chip == nullptr) return common;
  LaunchSample sample = sample_of_amounts(documents::evaluate_metrics(*chip, metrics), *chip);
  sample.seconds = common.seconds;
  if (std::ranges::none_of(sample.flops, [](const auto& each) { return each.second.has_value(); }))
    sample.flops.clear();
  // The catalogue's formulas do not include the rates of ncu's sections.
  for (const auto& [precision, flops] : common.flops)
    if (auto& known = sample.flops[precision]; !known) known = flops;
  return sample;
}

}  // namespace pagoda::measured::import
