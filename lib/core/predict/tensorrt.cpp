// TensorRT: its coefficients, prediction and record.
#include "pagoda/core/tensorrt.h"

#include "pagoda/base/cat.h"
#include "predict/engines.h"
#include "predict/graph_facts.h"

namespace pagoda::inline core {

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
    result.notes.push_back(
        cat(lowered.unknown_rows, " kernels hold operators that are not modelled: the prediction covers the rest"));
  // The interval holds for generations between or near those that were measured.
  const bool is_near = rates->flagship_flops_per_joule > 0;
  set_interval(result, is_near ? fitted.interval : std::nullopt, fitted.coverage,
               fitted.interval ? kNoSuchDevice : kTooFewFamilies);
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
