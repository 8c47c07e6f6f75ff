// TensorRT: the kernels of a model (the groups of fused traffic, with the sizes that decide their times), how long they
// take by the formulas of tensorrt.h, its coefficients, prediction and record.
#include "pagoda/core/tensorrt.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "pagoda/base/cat.h"
#include "pagoda/base/plural.h"
#include "pagoda/core/traffic.h"
#include "predict/engines.h"
#include "predict/gpu_products.h"
#include "predict/graph_facts.h"

namespace pagoda::inline core {
namespace {

using Kind = TensorRtKernel::Kind;

// Activations that a pointwise kernel computes after a float16 convolution. ReLU, Clip, GELU and sums are part of the
// convolution (TensorRT's documentation, types of fusions; layer profiles in NVIDIA/TensorRT issues 983 and 3542 and in
// linghu8812/tensorrt_inference issue 141).
constexpr std::string_view kApart[] = {"HardSigmoid", "HardSwish", "Mish", "Sigmoid", "Softplus", "Swish", "Tanh"};

class TensorRtLowering : Tensors {
 public:
  TensorRtLowering(const Model& model, const Analysis& analysis)
      : Tensors(model.main(), analysis), constant_(constants_by_mark(graph(), analysis, {Mark::Folded})) {}

  TensorRtKernels lower(const Traffic& fused) {
    for (const TrafficGroup& group : fused.groups) {
      if (group.cost.mark == Mark::Unmodelled) ++result_.unknown_rows;
      lower(group);
    }
    bool has_narrow = false;
    for (const TensorRtKernel& kernel : result_.kernels) {
      result_.weight_bytes += kernel.weight_bytes;
      has_narrow = has_narrow || (kernel.is_int8 && kernel.flops > 0);
    }
    if (!has_narrow && result_.unfused_conversions.empty()) result_.float_products.clear();
    return std::move(result_);
  }

 private:
  const NodeReport& row(std::int32_t id) const { return analysis().nodes[index(id)]; }
  const Node& node(std::int32_t id) const { return graph().nodes[index(row(id).node)]; }

  // Sizes of a value; empty if they are not known.
  std::vector<double> sizes(ValueId value) const {
    std::vector<double> result;
    if (const Shape* known = shape(value))
      for (const Dim& dim : *known) result.push_back(number(dim));
    return result;
  }

  void lower(const TrafficGroup& group) {
    TensorRtKernel kernel;
    kernel.rows = group.rows;
    kernel.is_int8 = precision_of(group.cost.precision) == Precision::Int8;
    kernel.other_bytes = number(group.cost.bytes());
    kernel.flops = 2 * number(group.cost.macs);
    std::vector<std::int32_t> products;
    for (const std::int32_t id : group.rows)
      if (row(id).cost.macs != Dim(0)) products.push_back(id);
    if (!kernel.is_int8) result_.float_products.insert(result_.float_products.end(), products.begin(), products.end());
    double convolved_bytes = 0;  // results of convolutions
    for (const std::int32_t id : products) {
      const bool convolves = is_convolution(id);
      (convolves ? result_.convolved_flops : result_.other_flops) += 2 * number(row(id).cost.macs);
      if (convolves && row(id).graph == 0) convolved_bytes += bytes(node(id).output(0));
    }
    const auto converts = [&](std::int32_t id) {
      return row(id).facts.kind == OpKind::Quantize || row(id).facts.kind == OpKind::Dequantize;
    };
    if (std::all_of(group.rows.begin(), group.rows.end(), converts))
      result_.unfused_conversions.insert(result_.unfused_conversions.end(), group.rows.begin(), group.rows.end());
    const bool is_attention =
        group.rule == Fusion::Attention ||
        std::any_of(products.begin(), products.end(), [&](auto id) { return row(id).facts.kind == OpKind::Attention; });
    if (!products.empty() && row(products.front()).graph == 0)
      is_attention ? as_attention(kernel, products) : as_product(kernel, products);
    kernel.shares_launch = kernel.kind == Kind::Other && !result_.kernels.empty() &&
                           result_.kernels.back().kind == Kind::Other && group.rule != Fusion::Normalisation &&
                           row(group.rows.front()).facts.kind != OpKind::Norm;
    const bool may_split = convolved_bytes > 0 && !kernel.is_int8;
    result_.kernels.push_back(std::move(kernel));
    const auto apart = std::find_if(group.rows.begin(), group.rows.end(),
                                    [&](std::int32_t id) { return is_one_of(node(id).op_type, kApart); });
    if (may_split && apart != group.rows.end())
      result_.kernels.push_back({.rows = {*apart}, .other_bytes = 2 * convolved_bytes});
  }

  bool is_convolution(std::int32_t id) const {
    const ProductForm form = row(id).facts.form;
    return form == ProductForm::Convolution || form == ProductForm::Deconvolution;
  }

  // Products that share an operand are joined side by side: their n adds up. Convolutions multiply patches by filters;
  // grouped ones with fewer than 8 output channels per group run on vector units, as Kind::Other.
  void as_product(TensorRtKernel& kernel, const std::vector<std::int32_t>& products) const {
    for (const std::int32_t id : products) {
      const std::vector<double> output = sizes(node(id).outputs[0]);
      double elements = 1;
      for (const double size : output) elements *= size;
      if (output.size() < 2 || elements <= 0) return;
      const bool is_conv = is_convolution(id);
      const double groups = is_conv ? static_cast<double>(node(id).integer("group", 1)) : 1;
      const bool is_weighted = node(id).input(1) != kAbsent && constant_[index(node(id).input(1))];
      const double n = is_conv ? output[1] / groups : output.back();
      const double k = number(row(id).cost.macs) / elements;
      double batch = groups;
      if (!is_conv && !is_weighted)
        for (std::size_t axis = 0; axis + 2 < output.size(); ++axis) batch *= output[axis];
      if (is_conv && groups > 1 && n < 8) return;
      kernel.kind = Kind::Product;
      kernel.batch = batch;
      kernel.m = elements / (is_conv ? output[1] : n * batch);
      kernel.k = k;
      kernel.n += n;
      if (is_weighted || is_conv) kernel.weight_bytes += groups * n * k * (kernel.is_int8 ? 1 : 2);
    }
    kernel.weight_bytes = std::min(kernel.weight_bytes, kernel.other_bytes);
    kernel.other_bytes -= kernel.weight_bytes;
  }

  // If the operator also projects its operands, as ONNX Runtime's optimizer writes it, a product kernel comes first.
  void as_attention(TensorRtKernel& kernel, const std::vector<std::int32_t>& products) {
    kernel.kind = Kind::Attention;
    const Node& first = node(products.front());
    if (row(products.front()).facts.kind != OpKind::Attention) {
      const std::vector<double> scores = sizes(first.outputs[0]);
      if (scores.size() < 2) return;
      kernel.m = scores[scores.size() - 2];
      kernel.n = scores.back();
      for (std::size_t axis = 0; axis + 2 < scores.size(); ++axis) kernel.batch *= scores[axis];
      return;
    }
    const std::vector<double> queries = sizes(first.inputs[0]);
    if (queries.size() < 3) return;
    const bool has_heads = queries.size() == 4;
    const double heads =
        has_heads ? queries[1]
                  : static_cast<double>(std::max(first.integer("num_heads", 1), first.integer("q_num_heads", 1)));
    kernel.batch = queries[0] * heads;
    kernel.m = kernel.n = has_heads ? queries[2] : queries[1];
    const std::vector<double> weight = sizes(first.input(1));
    if (first.op_type != "Attention" || first.domain != "com.microsoft" || weight.size() != 2) return;
    TensorRtKernel projection{.kind = Kind::Product, .is_int8 = kernel.is_int8, .rows = kernel.rows};
    const double width = kernel.is_int8 ? 1 : 2;
    projection.m = queries[0] * queries[1];
    projection.n = weight[1];
    projection.k = weight[0];
    projection.flops = 2 * projection.m * projection.n * projection.k;
    projection.weight_bytes = width * weight[0] * weight[1];
    projection.other_bytes = width * projection.m * (projection.n + projection.k);
    kernel.flops -= projection.flops;
    kernel.other_bytes = width * projection.m * 4 / 3 * projection.n;
    result_.kernels.push_back(std::move(projection));
  }

  std::vector<bool> constant_;  // by value
  TensorRtKernels result_;
};

constexpr double kQueriesOfBlock = 512;  // fused attention keeps up to this many queries of a head on one unit
constexpr double kL2BytesPerCycle = 32;  // one sector per unit and cycle
constexpr double kPartOfL2 = 0.5;        // half of a kernel's bytes hit if they fill this part of L2

// Narrower tiles read operands more often: efficiency is relative to the widest. 0 rows: all, up to 64, by eights.
struct TileShape {
  double rows, columns, efficiency;
};
constexpr TileShape kTiles[] = {{256, 128, 1},   {128, 256, 1},  {128, 128, 0.9}, {128, 64, 0.75},
                                {64, 128, 0.75}, {64, 64, 0.65}, {0, 64, 0.65}};

double hit_rate(double bytes, double l2_bytes) { return 1 / (1 + std::pow(bytes / (kPartOfL2 * l2_bytes), 2)); }

double product_work(const TensorRtKernel& kernel, double peak, double units) {
  const double few = 8 * std::ceil(std::min(kernel.m, 64.0) / 8);
  double least = std::numeric_limits<double>::infinity();
  for (const TileShape& tile : kTiles) {
    const double rows = tile.rows > 0 ? tile.rows : few;
    const double seconds =
        waves_seconds(kernel.m, kernel.n, kernel.k, rows, tile.columns, peak, units, kernel.batch) / tile.efficiency;
    least = std::min(least, seconds);
  }
  return least;
}

}  // namespace

TensorRtKernels tensorrt_kernels(const Model& model, const Analysis& analysis) {
  return TensorRtLowering(model, analysis).lower(traffic(model, analysis, {.model = TrafficModel::Fused}));
}

std::optional<TensorRtRates> tensorrt_rates(const DeviceSpec& device, std::string* lacks) {
  const Peak* narrow = device.peak(Precision::Int8, Unit::Tensor);
  const MemoryLevel* l2 = device.level("l2");
  Needs needs;
  needs.require(!device.compute_capability.empty(), "CUDA compute capability");
  const TensorRtRates rates = {.float16 = needs(device.peak(Precision::Float16, Unit::Tensor, Precision::Float32),
                                                "float16 rate of tensor units"),
                               .int8 = narrow == nullptr ? 0 : *narrow->flops_per_second.value,
                               .vector = needs(device.peak(Precision::Float32, Unit::Vector), "float32 rate"),
                               .bandwidth = needs(bandwidth_of(device.level("dram")), "memory bandwidth"),
                               .l2_bytes = needs(l2 == nullptr ? nullptr : &l2->capacity_bytes, "L2 capacity"),
                               .units = needs(&device.units, "number of units"),
                               .clock = needs(&device.boost_clock_hz, "clock"),
                               .watts = needs(&device.watts, "power"),
                               .flagship_flops_per_joule = device.flagship_flops_per_joule.value.value_or(0)};
  return needs.met_by(rates, lacks);
}

double tensorrt_seconds(const TensorRtKernel& kernel, double all_weight_bytes, const TensorRtRates& rates,
                        const TensorRtCoefficients& c) {
  const bool is_int8 = kernel.is_int8 && rates.int8 > 0;
  const double peak = is_int8 ? rates.int8 : rates.float16;
  const double stated = rates.flagship_flops_per_joule;
  const double powered =
      (stated > 0 ? rates.watts * stated : rates.float16) * c.sustained * (is_int8 ? c.narrow_per_joule : 1);
  const double l2 = c.l2 * kL2BytesPerCycle * rates.units * rates.clock, memory = c.bandwidth * rates.bandwidth;
  const auto moved = [&](double bytes, double hits) { return bytes * (hits / l2 + (1 - hits) / memory); };
  const double bytes = moved(kernel.weight_bytes, hit_rate(all_weight_bytes, rates.l2_bytes)) +
                       moved(kernel.other_bytes, hit_rate(kernel.other_bytes, rates.l2_bytes));
  if (kernel.kind == Kind::Other) {
    const double launch = kernel.shares_launch ? 0 : c.light_launch_cycles / rates.clock;
    return launch + std::max(bytes, kernel.flops / rates.vector);
  }
  const double narrow = is_int8 ? c.narrow : 1;
  double work = 0;
  if (kernel.kind == Kind::Product) {
    work = product_work(kernel, peak, rates.units) / std::min(1.0, c.compute * narrow);
  } else {
    const double blocks = std::max(kernel.batch * std::ceil(kernel.m / kQueriesOfBlock), 1.0);
    const double waves = std::ceil(blocks / rates.units) * rates.units / blocks;
    work = kernel.flops * waves / (peak * std::min(1.0, c.attention * narrow));
  }
  work = std::max(work, kernel.flops / powered);
  return c.launch_cycles / rates.clock + std::hypot(work, bytes);
}

double tensorrt_seconds(const TensorRtKernels& kernels, const TensorRtRates& rates,
                        const TensorRtCoefficients& coefficients) {
  double seconds = 0;
  for (const TensorRtKernel& kernel : kernels.kernels)
    seconds += tensorrt_seconds(kernel, kernels.weight_bytes, rates, coefficients);
  return seconds;
}

// Priors of products: llm-serving.json, fitted to kernels of A100 and H100, has launches of 5,200 cycles, 0.86 of the
// peak and 0.85 of the bandwidth. The fastest float16 products of its data/calibration/serving/products.csv sustain
// 0.92 and 0.88 of these two boards' stated peaks; a model's mix of sizes sustains somewhat less. Integers of half the
// width take half the energy. L2 delivers at most 32 B per cycle and unit.
CoefficientRows coefficient_rows(TensorRtCoefficients& c) {
  CoefficientRows rows;
  add_rows(rows, "coefficients.",
           {{"launch_cycles", &c.launch_cycles, kPositive, {6000, 0.3}},
            {"light_launch_cycles", &c.light_launch_cycles, kPositive, {4000, 0.3}},
            {"compute", &c.compute, kPositive, {0.86, 0.05}},
            {"narrow", &c.narrow, kPositive, {0.85, 0.15}},
            {"attention", &c.attention, kPositive, {0.3, 0.7}},
            {"bandwidth", &c.bandwidth, kPositive, {0.8, 0.15}},
            {"l2", &c.l2, kPositive, {0.7, 0.3}},
            {"sustained", &c.sustained, kPositive, {0.8, 0.1}},
            {"narrow_per_joule", &c.narrow_per_joule, kPositive, {2, 0.1}}});
  return rows;
}

TensorRtCoefficients tensorrt_coefficients(const Calibration& calibration) {
  TensorRtCoefficients coefficients;
  read_coefficients(calibration.coefficients, coefficient_rows(coefficients));
  return coefficients;
}

namespace {

// The reason why TensorRT builds no engine of the model for the device; empty if there is none. The operators are those
// that onnx-tensorrt's docs/operators.md lists as unsupported.
std::string not_built(const EngineRun& run) {
  constexpr std::string_view kUnsupported[] = {"ConvInteger", "DynamicQuantizeLinear", "MatMulInteger", "QLinearConv",
                                               "QLinearMatMul"};
  for (const Node& node : run.model.main().nodes)
    if (node.domain.empty() && is_one_of(node.op_type, kUnsupported))
      return cat("TensorRT has no ", node.op_type, " (", display_name(run.model.main(), node),
                 "); it takes int8 as pairs of QuantizeLinear and DequantizeLinear");
  if (holds(run.analysis, {ElementType::Float8e4m3fn, ElementType::Float8e5m2}) &&
      run.device.peak(Precision::Float8, Unit::Tensor) == nullptr)
    return run.device.id + " has no float8 tensor units, and the file has numbers in float8";
  return {};
}

std::vector<std::string> names(const EngineRun& run, const Analysis& analysis, const std::vector<std::int32_t>& rows) {
  std::vector<std::string> list;
  for (const std::int32_t id : rows) {
    const NodeReport& row = analysis.nodes[index(id)];
    const Node& node = run.model.graph(row.graph).node(row.node);
    list.push_back(node.name.empty() ? cat(node.op_type, " ", id) : std::string(node.name));
  }
  return list;
}

// Runs in float16 unless int8 is requested; integer products of the file stay integer.
Prediction predict_tensorrt(const EngineRun& run) {
  const Calibration& fitted = run.calibration;
  if (const std::string why = not_built(run); !why.empty()) return not_predicted(why);
  std::string lacks;
  const auto rates = tensorrt_rates(run.device, &lacks);
  if (!rates) return lacks_rates(run, lacks);
  const bool lacks_int8 = run.precision == Precision::Int8 && run.device.peak(Precision::Int8, Unit::Tensor) == nullptr;
  const bool is_as_run = run.precision && !lacks_int8;
  const Analysis half = is_as_run ? Analysis() : analyzed_as(run, Precision::Float16);
  const Analysis& analysis = is_as_run ? run.analysis : half;
  const TensorRtKernels lowered = tensorrt_kernels(run.model, analysis);
  const TensorRtCoefficients coefficients = tensorrt_coefficients(fitted);
  std::vector<double> seconds;
  std::vector<std::int32_t> wide = lowered.float_products;
  for (const TensorRtKernel& kernel : lowered.kernels) {
    seconds.push_back(tensorrt_seconds(kernel, lowered.weight_bytes, *rates, coefficients));
    if (lacks_int8 && kernel.kind != TensorRtKernel::Kind::Other) wide.push_back(kernel.rows.front());
  }
  Prediction result = summed(lowered, seconds, analysis);
  if (lacks_int8)
    result.notes.push_back(run.device.id +
                           " has no int8 tensor units: products stay in float16, in which an engine runs them");
  result.float_products = names(run, analysis, wide);
  result.unfused_conversions = names(run, analysis, lowered.unfused_conversions);
  if (lowered.unknown_rows > 0)
    result.notes.push_back(cat(base::counted(lowered.unknown_rows, "kernel holds", "kernels hold"),
                               " operators that are not modelled: the prediction covers the rest"));
  // The interval holds for generations between or near those that were measured, up to 9.0, and for networks like
  // those.
  const bool is_near = rates->flagship_flops_per_joule > 0 && run.device.compute_capability.find('.') == 1;
  const bool is_alike = fitted.judges_convolutions || !lowered.mostly_convolve();
  set_interval(result, is_near && is_alike ? fitted.interval : std::nullopt, fitted.coverage,
               !fitted.interval ? kTooFewFamilies
               : is_alike       ? kNoSuchDevice
                                : "networks of convolutions are outside what its calibration was judged on");
  return result;
}

constexpr Precision kTensorRtPrecisions[] = {Precision::Float16, Precision::Int8};

}  // namespace

constinit const Engine kTensorRt = {
    .id = "tensorrt",
    .what = "TensorRT in float16, or with `precision=int8` with products in int8",
    .schema = "pagoda.tensorrt-calibration/1",
    .calibration = "tensorrt",
    .precisions = kTensorRtPrecisions,
    .covers = "`predict` `engine=tensorrt` covers fp16 and int8, which its calibration was fitted to",
    .fuses = true,
    .products = kFloat16,
    .coefficients = rows_of<TensorRtCoefficients>,
    .predict = predict_tensorrt};

}  // namespace pagoda::inline core
