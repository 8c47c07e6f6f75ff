// Engines of eager kernels: PyTorch, and ONNX Runtime's CUDA provider. Their coefficients, how they lower a graph to
// the kernels that they launch one by one, their predictions and records. For eager PyTorch, tracks each tensor's type
// and strides.
#include <algorithm>

#include "graph/index.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/error.h"
#include "pagoda/base/plural.h"
#include "pagoda/base/text.h"
#include "predict/eager_state.h"
#include "predict/engines.h"
#include "predict/ort_graph.h"

namespace pagoda::inline core {

// Priors: kernels reach three quarters of bandwidth and of a product's peak; products of 24 columns or a depth of 32
// reach half of that, as do 8 rows; vector kernels spend four issues on a multiply-accumulate, give or take a factor of
// e^1.5.
CoefficientRows coefficient_rows(EagerCoefficients& c) {
  CoefficientRows rows = {{"launch", &c.launch, kAmount, {2, 1}}};
  for (const HostCost& each : kHostCosts)
    rows.push_back({std::string("host_seconds.") + each.name,
                    &(c.host.*each.member),
                    each.member == &HostCosts::kernel ? kPositive : kAmount,
                    {each.centre, 1},
                    Presence::InGroup});
  rows.push_back({"norm", &c.norm, kAtLeastOne, {3, 0.5}});
  for (std::size_t i = 0; i < kKernelClasses; ++i) {
    const auto kind = static_cast<KernelClass>(i);
    const std::string object = cat("classes.", to_string(kind), ".");
    ClassCoefficients& of = c.classes[i];
    add_rows(rows, object, {{"bytes", &of.bytes, kAmount, {1.3, 0.5}}});
    if (place_of(kind) == Place::Vector) add_rows(rows, object, {{"work", &of.work, kAmount, {4, 1.5}}});
    if (place_of(kind) != Place::Tensor) continue;
    add_rows(rows, object,
             {{"work", &of.work, kAmount, {1.3, 0.5}},
              {"rows", &of.rows, kAmount, {8, 1.5}, Presence::Optional},
              {"width", &of.width, kAmount, {24, 1}},
              {"depth", &of.depth, kAmount, {32, 1}}});
  }
  rows.push_back({"shortest_kernel_seconds", &c.shortest_kernel_seconds, kAmount});
  return rows;
}

EagerCoefficients eager_coefficients(const Calibration& calibration) {
  EagerCoefficients coefficients;
  read_coefficients(calibration.coefficients, coefficient_rows(coefficients));
  return coefficients;
}

Coefficients written_coefficients(EagerCoefficients coefficients) {
  Coefficients written = written_coefficients(coefficient_rows(coefficients));
  std::erase_if(written, [&](const auto& each) {
    const std::string_view name = each.first;
    return (name.ends_with(".rows") && each.second == 0) ||
           (name.starts_with("host_seconds.") && !coefficients.host.is_known());
  });
  return written;
}

std::optional<Factors> interval(const Calibration& calibration, std::string_view device, bool channels_last) {
  const auto holds = [](const std::vector<std::string>& names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  if (holds(calibration.devices, device) && holds(calibration.layouts, channels_last ? "nhwc" : "nchw"))
    return calibration.interval;
  return calibration.elsewhere;
}

namespace {

constexpr EagerEngine kEagerEngines[] = {
    {},
    {"pytorch-cpu", Precision::Float32, Precision::Float32, true, false, true},
    // torch.backends.cudnn.allow_tf32 is on by default, that of cuda.matmul off.
    {"pytorch-cuda", Precision::Float32, Precision::Tf32, false, false, true},
    // use_tf32 is on by default, of products and of convolutions (microsoft/onnxruntime#19357, #19426).
    {"onnxruntime-cuda", Precision::Tf32, Precision::Tf32, false, true, true},
};

// Lowers a row without a rule to its counted work and bytes; autocast halves the bytes of float32.
void lower_counted(EagerState& state, const Graph* graph, const NodeReport& row) {
  const bool is_halved = row.cost.precision == ElementType::Float32 && state.product_type() == ElementType::Float16;
  KernelLaunch kernel{.kind = KernelClass::Other};
  kernel.times = state.number(row.runs);
  if (kernel.times > 0) {
    kernel.macs = state.number(row.cost.macs) / kernel.times;
    kernel.bytes = state.number(row.cost.bytes()) * (is_halved ? 0.5 : 1.0) / kernel.times;
  }
  if (row.cost.mark == Mark::Compute) state.launch(kernel);
  if (graph == nullptr) return;
  for (const ValueId output : graph->node(row.node).outputs) {
    Tile tile = state.declared(output);
    if (!tile.known) continue;
    if (tile.type == ElementType::Float32) tile.type = state.product_type();
    state.set(output, std::move(tile));
  }
}

}  // namespace

const EagerEngine& eager_engine(std::string_view id) {
  for (const EagerEngine& engine : kEagerEngines)
    if (engine.id == id) return engine;
  throw Error(cat("engine \"", id, "\" does not run kernels one by one; expected ",
                  base::joined(kEagerEngines, " or ", &EagerEngine::id)));
}

EagerKernels eager_kernels(const Model& model, const Analysis& analysis, const EagerOptions& options) {
  if (options.engine.optimizes) return ort_cuda_kernels(model, analysis);
  EagerKernels result;
  EagerState state(model, analysis, options);
  const Graph& graph = model.main();
  const std::vector<Idiom> idioms = find_idioms(model, analysis);
  for (std::size_t i = 0; i < analysis.nodes.size(); ++i) {
    const NodeReport& row = analysis.nodes[i];
    state.at_row(static_cast<std::int32_t>(i));
    result.unknown_rows += row.unmodelled_inside + (row.cost.mark == Mark::Unmodelled ? 1 : 0);
    if (row.graph != 0) {
      if (row.cost.mark == Mark::Compute) lower_counted(state, nullptr, row);
      continue;
    }
    const Node& node = graph.node(row.node);
    const Idiom& idiom = idioms[index(row.node)];
    switch (row.cost.mark) {
      case Mark::Unmodelled:
      case Mark::Host:
        break;
      case Mark::Folded:  // weights: a view, or work done once per step for all samples
        for (const ValueId output : node.outputs) {
          Tile tile = state.declared(output);
          tile.is_constant = true;
          if (tile.known) state.set(output, std::move(tile));
        }
        break;
      case Mark::View:
      case Mark::Compute:
        if (idiom.call == Call::Own ? !lower_node(state, node) : !lower_call(state, idiom))
          lower_counted(state, &graph, row);
        break;
    }
  }
  result.kernels = state.take();
  return result;
}

namespace {

Prediction predict_eager(const EngineRun& run) {
  const Calibration& fitted = run.calibration;
  const EagerEngine& engine = eager_engine(fitted.engine);
  // A calibration covers how a framework runs the unmodified file, including autocast.
  const Analysis in_types_of_file = run.precision ? analyzed_as(run, std::nullopt) : Analysis();
  const Analysis& analysis = run.precision ? in_types_of_file : run.analysis;
  if (engine.optimizes && multiplies(analysis, {ElementType::Float16, ElementType::Bfloat16}))
    return not_predicted(fitted.engine +
                         " was measured with float32 files, and this one multiplies 16-bit numbers; give the model as "
                         "it was before the conversion");
  std::string lacks;
  const auto rates = kernel_rates(run.device, engine, &lacks);
  if (!rates) return lacks_rates(run, lacks);
  const EagerOptions options = {.bindings = run.bindings, .channels_last = run.channels_last, .engine = engine};
  const EagerKernels lowered = eager_kernels(run.model, analysis, options);
  if (lowered.unknown_rows > 0 && engine.optimizes)
    return not_predicted(cat(base::counted(lowered.unknown_rows, "kernel works", "kernels work"),
                             " on integers or without a rule, of which no run of the calibration had any"));
  const EagerCoefficients coefficients = eager_coefficients(fitted);
  Prediction result = summed(lowered, added_seconds(lowered.kernels, *rates, coefficients), analysis);
  // Short kernels wait for the host, which was never the limit in the measured runs.
  if (result.kernels > 0 &&
      *result.seconds < static_cast<double>(result.kernels) * coefficients.shortest_kernel_seconds)
    result.notes.push_back(cat("kernels are shorter than any that calibration ", fitted.id,
                               " was fitted to: the host may be the limit; take a larger batch"));
  set_interval(result, interval(fitted, run.device.id, run.channels_last), fitted.coverage,
               fitted.interval ? kNoSuchDevice : kTooFewFamilies);
  return result;
}

constexpr std::string_view kSchema = "pagoda.calibration/1";
constexpr Precision kTf32[] = {Precision::Tf32};

constexpr Engine in_float32(std::string_view id, std::string_view what) {
  return {.id = id,
          .what = what,
          .schema = kSchema,
          .is_of_one_machine = true,
          .precisions = kFloat32,
          .covers = "`predict`: calibration {} is for float32",
          .remedy = "; give `precision=fp32` or none",
          .coefficients = rows_of<EagerCoefficients>,
          .predict = predict_eager};
}

}  // namespace

constinit const Engine kPytorchAmp = {.id = "pytorch-amp",
                                      .what = "eager PyTorch in mixed precision (default)",
                                      .schema = kSchema,
                                      .calibration = "rtx-3090-amp-nchw",
                                      .precisions = kFloat16,
                                      .covers = "`predict`: calibration {} is for float16 under autocast",
                                      .remedy = "; give `precision=fp16` or none",
                                      .interval_of = " of models",
                                      .products = kFloat16,
                                      .coefficients = rows_of<EagerCoefficients>,
                                      .predict = predict_eager};
constinit const Engine kOrtCuda = {
    .id = "onnxruntime-cuda",
    .what =
        "ONNX Runtime in float32, with products in tf32, on the GPU that pagoda-calibrate --here onnxruntime-cuda -o "
        "FILE measured",
    .schema = kSchema,
    .is_of_one_machine = true,
    .precisions = kTf32,
    .covers = "`predict`: calibration {} is for tf32",
    .remedy = "; give `precision=tf32` or none",
    .fuses = true,
    .products = kTf32,
    .coefficients = rows_of<EagerCoefficients>,
    .predict = predict_eager};
constinit const Engine kPytorchCpu = in_float32(
    "pytorch-cpu", "eager PyTorch in float32 on the CPU that pagoda-calibrate --here pytorch-cpu -o FILE measured");
constinit const Engine kPytorchCuda = in_float32(
    "pytorch-cuda", "eager PyTorch in float32 on the GPU that pagoda-calibrate --here pytorch-cuda -o FILE measured");

}  // namespace pagoda::inline core
