// ONNX Runtime on a CPU: its coefficients, the time of a kernel, the memory of a session, its prediction and record.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <set>
#include <utility>

#include "pagoda/base/cat.h"
#include "pagoda/base/plural.h"
#include "pagoda/base/text.h"
#include "pagoda/core/onnxruntime.h"
#include "predict/engines.h"

namespace pagoda::inline core {
namespace {

constexpr std::pair<OrtKernelClass, std::string_view> kSlow[] = {
    {OrtKernelClass::IntegerPool, "averages of integers, which the engine computes element by element"},
    {OrtKernelClass::ProductUnsigned,
     "integers with uint8 weights, for which the engine has no fast kernel on x86, as it has for int8"},
    {OrtKernelClass::ConvColumns,
     "by a matrix of windows and a product: blocks of channels take float32 images, stored weights and groups that "
     "fill them"},
    {OrtKernelClass::ConvDepthwiseColumns,
     "channels that are no multiple of four fill no block: by a matrix of windows and a product for each"},
    {OrtKernelClass::SkipNorm, "the sum and its norm in one kernel, which runs below the memory's rate"},
    {OrtKernelClass::SoftmaxOuter, "over another axis than the innermost, which is transposed for it and back"},
    {OrtKernelClass::TransposeScattered, "moves the innermost axis among others, element by element"},
    {OrtKernelClass::ResizeCubic, "interpolates from 16 neighbours, element by element"},
    {OrtKernelClass::Reorder, "from and to blocks of channels, around operators that do not work in them"},
};
constexpr double kSlowPart = 0.05;  // share of the time from which a class is listed

// Floats in a block of channels: MlasNchwcGetBlockSize() of ONNX Runtime is 16, 8 or 4; 0 without blocks.
constexpr Limits kBlock = {[](double v) { return v == 0 || v == 4 || v == 8 || v == 16; }, "0 (none), 4, 8 or 16"};
constexpr Limits kThreads = {[](double v) { return v >= 1 && v <= 65536; }, "a number of threads from 1 to 65536"};
// A kernel's launch takes microseconds.
constexpr Limits kLaunch = {[](double v) { return v >= 0 && v <= 0.01; }, "seconds, below 0.01"};
constexpr Limits kShare = {[](double v) { return v >= 0 && v <= 1; }, "a share, at most 1"};

}  // namespace

CoefficientRows coefficient_rows(CpuCoefficients& c) {
  CpuApart& apart = c.apart ? *c.apart : c.apart.emplace();
  CoefficientRows rows = {{"threads", &c.threads, kThreads, {}, Presence::Required, Digits::Integer},
                          {"channel_block", &c.channel_block, kBlock, {}, Presence::Required, Digits::Integer},
                          {"launch_seconds", &c.launch_seconds, kLaunch},
                          {"memory_bytes_per_second", &c.memory_bytes_per_second},
                          {"cache_bytes", &c.cache_bytes, kAmount, {}, Presence::Required, Digits::All}};
  for (std::size_t i = 0; i < kOrtKernelClasses; ++i) {
    const auto kind = static_cast<OrtKernelClass>(i);
    if (kind == OrtKernelClass::Small) continue;  // has only the launch cost
    CpuClassCoefficients& of = c.classes[i];
    const auto add = [&](std::string_view name, double& place, Presence presence) {
      // Every calibration has the rates of these two; other classes without a rate take that of a similar class.
      const bool is_needed = (kind == OrtKernelClass::Product && &place == &of.flops_per_second) ||
                             (kind == OrtKernelClass::Copy && &place == &of.bytes_per_second);
      rows.push_back({cat("classes.", to_string(kind), ".", name),
                      &place,
                      is_needed ? kPositive : kAmount,
                      {},
                      is_needed ? Presence::Required : presence});
    };
    add("start_seconds", of.start_seconds, Presence::Optional);
    if (is_product(kind)) add("flops_per_second", of.flops_per_second, Presence::InGroup);
    add("bytes_per_second", of.bytes_per_second, Presence::InGroup);
    if (is_product(kind)) add("rows", of.rows, Presence::InGroup);
    add("width", of.width, Presence::Optional);
    if (!is_product(kind)) continue;
    add("depth", of.depth, Presence::InGroup);
    add("line", of.line, Presence::Optional);
    add("overlap", of.overlap, Presence::Optional);
  }
  CpuMachine& machine = apart.machine;
  add_rows(rows, "apart.",
           {{"share", &apart.share, kShare, {}, Presence::InGroup},
            {"handoff_bytes_per_second", &machine.handoff_bytes_per_second, kPositive, {}, Presence::InGroup},
            {"memory_bytes_per_second", &machine.memory_bytes_per_second, kPositive, {}, Presence::InGroup},
            {"cache_bytes", &machine.cache_bytes, kAmount, {}, Presence::InGroup},
            {"cache_speed", &machine.cache_speed, kPositive, {}, Presence::InGroup},
            {"runs", &apart.runs, kAmount, {}, Presence::InGroup, Digits::All},
            {"mean_error", &apart.mean_error, kAmount, {}, Presence::InGroup}});
  return rows;
}

CpuCoefficients cpu_coefficients(const Calibration& calibration) {
  CpuCoefficients coefficients;
  read_coefficients(calibration.coefficients, coefficient_rows(coefficients));
  if (calibration.coefficients.contains("apart.share"))
    coefficients.apart->machine.launch_seconds = coefficients.launch_seconds;
  else
    coefficients.apart.reset();
  fill_unmeasured(coefficients);  // classes that the version that wrote the file did not have
  return coefficients;
}

Coefficients written_coefficients(CpuCoefficients coefficients) {
  const bool has_apart = coefficients.apart.has_value();
  Coefficients written = written_coefficients(coefficient_rows(coefficients));
  if (!has_apart) std::erase_if(written, [](const auto& each) { return each.first.starts_with("apart."); });
  return written;
}

void fill_unmeasured(CpuCoefficients& coefficients) {
  constexpr std::pair<OrtKernelClass, OrtKernelClass> kLike[] = {
      {OrtKernelClass::ProductBiased, OrtKernelClass::Product},
      {OrtKernelClass::Product, OrtKernelClass::ProductBiased},
      {OrtKernelClass::ConvPointwise, OrtKernelClass::Conv},
      {OrtKernelClass::ConvStem, OrtKernelClass::Conv},
      {OrtKernelClass::ConvColumns, OrtKernelClass::Product},
      {OrtKernelClass::ConvDepthwise, OrtKernelClass::Conv},
      {OrtKernelClass::ConvDepthwiseColumns, OrtKernelClass::ConvColumns},
      {OrtKernelClass::ConvQuantized, OrtKernelClass::Conv},
      {OrtKernelClass::ConvQuantizedDepthwise, OrtKernelClass::ConvDepthwise},
      {OrtKernelClass::ProductVector, OrtKernelClass::Product},
      {OrtKernelClass::ProductBatched, OrtKernelClass::Product},
      {OrtKernelClass::ProductQuantized, OrtKernelClass::Product},
      {OrtKernelClass::ProductUnsigned, OrtKernelClass::ProductQuantized},
      {OrtKernelClass::ProductBits, OrtKernelClass::Product},
      {OrtKernelClass::Attention, OrtKernelClass::Product},
      {OrtKernelClass::Recurrent, OrtKernelClass::Product},
      {OrtKernelClass::Logistic, OrtKernelClass::Activation},
      {OrtKernelClass::SkipNorm, OrtKernelClass::Norm},
      {OrtKernelClass::SoftmaxOuter, OrtKernelClass::Softmax},
      {OrtKernelClass::TransposeScattered, OrtKernelClass::TransposeInner},
      {OrtKernelClass::ResizeCubic, OrtKernelClass::Resize},
      {OrtKernelClass::Integer, OrtKernelClass::Quantize},
      {OrtKernelClass::IntegerPool, OrtKernelClass::Integer},
  };
  const auto at = [&](OrtKernelClass kind) -> CpuClassCoefficients& {
    return coefficients.classes[static_cast<std::size_t>(kind)];
  };
  for (const auto& [kind, like] : kLike)
    if (at(kind).flops_per_second == 0 && (at(kind).bytes_per_second == 0 || is_bound_by_work(kind)))
      at(kind) = at(like);
  const double copied = at(OrtKernelClass::Copy).bytes_per_second;
  for (CpuClassCoefficients& each : coefficients.classes)
    if (each.bytes_per_second == 0) each.bytes_per_second = copied > 0 ? copied : coefficients.memory_bytes_per_second;
  at(OrtKernelClass::Small) = {};
}

double cold_share(const OrtKernels& model, double cache_bytes) {
  if (!(cache_bytes > 0)) return 1;
  const double passes = (model.weight_bytes + model.activation_bytes) / cache_bytes;
  if (!(passes > 1)) return 0;
  // Newton's method from 1, where the residual is convex, comes down to the positive root and not below it.
  double missed = 1;
  for (int i = 0; i < 50; ++i) {
    const double kept = std::exp(-missed * passes);
    missed -= (missed - 1 + kept) / (1 - passes * kept);
  }
  return missed;
}

double cpu_kernel_seconds(const OrtKernel& kernel, const CpuClassCoefficients& c, const CpuMachine& machine,
                          double cold_share) {
  const auto half_at = [](double half, double size) { return size > 0 ? 1 + half / size : 1; };
  double work = 0, traffic = 0;
  if (c.flops_per_second > 0)
    work = kernel.flops / c.flops_per_second * half_at(c.rows, kernel.rows) * half_at(c.width, kernel.width) *
           half_at(c.depth, kernel.depth) * half_at(c.line, kernel.line);
  const double overflow = std::max(0.0, kernel.bytes - machine.cache_bytes);
  const double cold = cold_share * kernel.weight_bytes + overflow;
  const double moved = kernel.bytes + kernel.weight_bytes - cold;
  if (c.bytes_per_second > 0) traffic += moved / (c.bytes_per_second * machine.cache_speed);
  if (!is_product(kernel.kind)) traffic *= half_at(c.width, kernel.width);
  if (machine.memory_bytes_per_second > 0) traffic += cold / machine.memory_bytes_per_second;
  const bool is_alone = !is_product(kernel.kind) && kernel.bytes + kernel.weight_bytes < kFewBytes;
  const double longer = std::max(work, traffic);
  double launch = machine.launch_seconds + (is_alone ? 0 : c.start_seconds);
  if (machine.handoff_bytes_per_second > 0 && !is_alone) launch += kernel.bytes / machine.handoff_bytes_per_second;
  if (work <= 0 || traffic <= 0) return launch + longer;
  const double exponent = 1 + c.overlap;
  return launch + longer * std::pow(1 + std::pow(std::min(work, traffic) / longer, exponent), 1 / exponent);
}

double cpu_kernel_seconds(const OrtKernel& kernel, const CpuCoefficients& coefficients, double cold) {
  return cpu_kernel_seconds(kernel, coefficients.classes[static_cast<std::size_t>(kernel.kind)], coefficients, cold);
}

std::vector<double> cpu_seconds(const OrtKernels& lowered, const CpuCoefficients& coefficients,
                                const CpuMachine& machine) {
  const double cold = cold_share(lowered, machine.cache_bytes);
  std::vector<double> seconds;
  for (const OrtKernel& kernel : lowered.kernels)
    seconds.push_back(kernel.times * cpu_kernel_seconds(kernel,
                                                        coefficients.classes[static_cast<std::size_t>(kernel.kind)],
                                                        machine, cold));
  return seconds;
}

double cpu_run_seconds(const OrtKernels& lowered, const CpuCoefficients& coefficients, const CpuMachine& machine) {
  const std::vector<double> seconds = cpu_seconds(lowered, coefficients, machine);
  return std::accumulate(seconds.begin(), seconds.end(), 0.0);
}

namespace {

// Memory. The file's tensors stay in memory until the session has its own copies: convolution weights in blocks of
// channels, product weights packed. The arena grows by regions of powers of two, and the second run allocates by a plan
// made from the sizes that the first run measured.

// Least squares of relative errors over 66 runs of 43 families, measured as tests/bench/engine_memory.py does with ONNX
// Runtime 1.31.0, default options, Linux with glibc; with families left out the mean error is 10.9 %, the median 8.5 %.
struct MemoryCosts {
  double start;                     // bytes
  double blocked, products, other;  // bytes per byte
  double node;                      // bytes per node
};
constexpr MemoryCosts kLoading = {0.7e6, 2.96, 1.63, 1.26, 3340};
constexpr MemoryCosts kKept = {1.7e6, 2.88, 1.49, 1.09, 4120};
// Times the activations alive at once: a first run without a plan, and then the plan's own block.
constexpr double kArena = 2.21;
// Measured / predicted for families left out of the fit: 10th and 90th percentiles.
constexpr Factors kInterval = {0.87, 1.24};
constexpr double kCoverage = 0.8;

constexpr OrtKernelClass kBlocked[] = {OrtKernelClass::Conv, OrtKernelClass::ConvPointwise, OrtKernelClass::ConvStem,
                                       OrtKernelClass::ConvDepthwise};

double sum(const MemoryCosts& c, const CpuMemoryTerms& terms) {
  return c.start + c.blocked * terms.blocked + c.products * terms.products + c.other * terms.other +
         c.node * terms.nodes;
}

}  // namespace

CpuMemoryTerms cpu_memory_terms(const Model& model, const Analysis& analysis) {
  constexpr int kAnyBlock = 16;  // with any block size the session stores its own copy of the weights
  CpuMemoryTerms terms;
  const OrtKernels lowered = ort_cpu_kernels(model, analysis, kAnyBlock);
  terms.activations = lowered.activation_bytes;
  for (const OrtKernel& kernel : lowered.kernels) {
    const bool is_blocked = std::find(std::begin(kBlocked), std::end(kBlocked), kernel.kind) != std::end(kBlocked);
    if (is_blocked) terms.blocked += kernel.weight_bytes;
    const bool is_packed = kernel.kind == OrtKernelClass::Product || kernel.kind == OrtKernelClass::ProductBiased ||
                           kernel.kind == OrtKernelClass::ProductVector;
    if (is_packed) terms.products += kernel.weight_bytes;
  }
  const double stored = static_cast<double>(analysis.totals.param_bytes.evaluate({}));
  terms.other = std::max(0.0, stored - terms.blocked - terms.products);
  terms.nodes = static_cast<double>(analysis.nodes.size());
  return terms;
}

EngineMemory predict_cpu_memory(const CpuMemoryTerms& terms) {
  const double load = sum(kLoading, terms), run = sum(kKept, terms) + kArena * terms.activations;
  const double bytes = std::max(load, run);
  return {.bytes = std::llround(bytes),
          .load_bytes = std::llround(load),
          .run_bytes = std::llround(run),
          .low = std::llround(bytes * kInterval.low),
          .high = std::llround(bytes * kInterval.high),
          .coverage = kCoverage};
}

namespace {

// Lists the nodes of a quantised model that still multiply in floats, and the conversions that run by themselves.
void list_float_kernels(const EngineRun& run, const OrtKernels& lowered, Prediction& prediction) {
  std::set<std::int32_t> listed;
  for (const OrtKernel& kernel : lowered.kernels) {
    const NodeReport& row = run.analysis.nodes[index(kernel.row)];
    const Graph& graph = run.model.graph(row.graph);
    const Node& node = graph.node(row.node);
    const bool is_conversion = node.op_type == "QuantizeLinear" || node.op_type == "DequantizeLinear";
    const bool is_in_floats = is_product(kernel.kind) && kernel.weight_bytes > 0 && !is_quantized(kernel.kind) &&
                              !node.op_type.starts_with("DynamicQuantize");
    if ((is_conversion || is_in_floats) && listed.insert(kernel.row).second)
      (is_conversion ? prediction.unfused_conversions : prediction.float_products)
          .emplace_back(display_name(graph, node).view());
  }
}

// Adds notes on kernels of classes that are slow in this engine for a known reason, most time first.
void add_slow_notes(const EngineRun& run, const OrtKernels& lowered, const std::vector<double>& seconds,
                    Prediction& prediction) {
  const double total = *prediction.seconds;
  std::vector<std::pair<double, std::string>> slow;
  for (const auto& [kind, reason] : kSlow) {
    double sum = 0;
    std::vector<std::pair<double, std::int32_t>> rows;
    for (std::size_t i = 0; i < seconds.size(); ++i) {
      if (lowered.kernels[i].kind != kind) continue;
      sum += seconds[i];
      rows.emplace_back(-seconds[i], lowered.kernels[i].row);
    }
    if (rows.empty() || sum < kSlowPart * total) continue;
    const NodeReport& first = run.analysis.nodes[index(std::min_element(rows.begin(), rows.end())->second)];
    const Graph& graph = run.model.graph(first.graph);
    slow.emplace_back(sum, cat(to_string(kind), " takes ", base::rounded(100 * sum / total), " % of the time in ",
                               base::counted(rows.size(), "kernel"), rows.size() == 1 ? ", " : ", most in ",
                               display_name(graph, graph.node(first.node)), ": ", reason));
  }
  std::sort(slow.begin(), slow.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  for (auto& [sum, note] : slow) prediction.notes.push_back(std::move(note));
}

// The machine that the calibration was measured on, in the placement of processors that most of its rounds had.
Prediction predict_cpu(const EngineRun& run) {
  const Calibration& fitted = run.calibration;
  if (multiplies(run.analysis, {ElementType::Bfloat16}))
    return not_predicted("ONNX Runtime's CPU provider multiplies no bfloat16; convert the file to float32");
  // insert_cast_transformer.cc: operators without a kernel for float16 run in float32, their weights stored in it. On
  // x86 that is all products.
  const bool is_half = multiplies(run.analysis, {ElementType::Float16});
  const Analysis single = is_half ? analyzed_as(run, Precision::Float32) : Analysis();
  const Analysis& analysis = is_half ? single : run.analysis;
  const CpuCoefficients coefficients = cpu_coefficients(fitted);
  const OrtKernels lowered = ort_cpu_kernels(run.model, analysis, coefficients.channel_block);
  const auto& apart = coefficients.apart;
  const bool is_apart = apart && apart->share > 0.5;
  const CpuMachine& together = coefficients;
  const std::vector<double> seconds = cpu_seconds(lowered, coefficients, is_apart ? apart->machine : together);
  Prediction result = summed(lowered, seconds, analysis);
  if (apart)
    result.other_placement = {.is_apart = !is_apart,
                              .seconds = cpu_run_seconds(lowered, coefficients, is_apart ? together : apart->machine),
                              .share = is_apart ? 1 - apart->share : apart->share};
  if (is_half)
    result.notes.push_back(
        "the engine multiplies float16 in float32, which is predicted, without the casts around it: "
        "files of float16 took 0 to 38 % longer than in float32, so there is no interval");
  if (lowered.unknown_rows > 0)
    result.notes.push_back(cat(base::counted(lowered.unknown_rows, "operator is", "operators are"),
                               " not modelled: the prediction covers the rest"));
  add_slow_notes(run, lowered, seconds, result);
  set_interval(result, is_half ? std::nullopt : fitted.interval, fitted.coverage,
               is_half ? "files of float16 take longer than what is predicted" : kTooFewFamilies);
  result.memory = predict_cpu_memory(cpu_memory_terms(run.model, analysis));
  if (run.is_rewritten) list_float_kernels(run, lowered, result);
  return result;
}

}  // namespace

constinit const Engine kOrtCpu = {
    .id = "onnxruntime-cpu",
    .what = "ONNX Runtime on the CPU that pagoda-calibrate --here onnxruntime-cpu -o FILE measured",
    .schema = "pagoda.cpu-calibration/1",
    .is_of_one_machine = true,
    .precisions = kFloat32,
    .rewritten = Precision::Int8,
    .covers = "`predict` `engine=onnxruntime-cpu` runs the precisions of the file",
    .remedy = "; give a quantised model, or `what_if=fp32,int8`",
    .fuses = true,
    .coefficients = rows_of<CpuCoefficients>,
    .predict = predict_cpu};

}  // namespace pagoda::inline core
