// ONNX Runtime's CUDA provider: the kernels that it launches for small graphs and real models, and its time.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "pagoda/base/csv_reader.h"
#include "pagoda/lab/fit.h"
#include "pagoda/core/model.h"
#include "pagoda/core/eager.h"
#include "pagoda/documents/calibration.h"
#include "pagoda/documents/device.h"
#include "pagoda/estimate/engines.h"
#include "predict/here_file.h"
#include "support/files.h"
#include "support/json_schema.h"
#include "support/sometimes.h"
#include "support/text_graph.h"
#include "support/workshop.h"

using namespace pagoda;
using doctest::Approx;

namespace {

EagerKernels lowered(const Model& model, const AnalyzeOptions& sizes = {}) {
  return eager_kernels(model, analyze(model, sizes), {.engine = eager_engine("onnxruntime-cuda")});
}

// Kernels inside a call of another stand after a plus.
std::string text_of(const EagerKernels& list) {
  std::string text;
  for (const KernelLaunch& kernel : list.kernels) {
    if (!text.empty()) text += kernel.is_inside ? " + " : "; ";
    if (kernel.on_host) {
      text += "host";
      continue;
    }
    text.append(to_string(kernel.kind)).append(" ").append(std::to_string(static_cast<long long>(kernel.bytes)));
  }
  return text;
}

std::int64_t count(const EagerKernels& list, KernelClass kind) {
  return std::count_if(list.kernels.begin(), list.kernels.end(), [&](const KernelLaunch& k) { return k.kind == kind; });
}

}  // namespace

TEST_CASE("the CUDA provider launches the kernels of the optimised graph") {
  struct Case {
    const char* why;
    const char* graph;
    const char* kernels;
  };
  // 8192 elements in and out, a weight of 36864, 4 bytes each.
  const Case cases[] = {
      {"a bias is added after a convolution, inside its call; a Relu that joins it is a kernel there, too",
       "x:f32[2,64,8,8], w:f32[64,64,3,3]=const, b:f32[64]=const -> c = Conv(x, w, b) {pads=[1,1,1,1]}; y = Relu(c)",
       "conv 212992 + pointwise_broadcast 65536 + pointwise 65536"},
      {"other activations have a call of their own",
       "x:f32[2,64,8,8], w:f32[64,64,3,3]=const -> c = Conv(x, w) {pads=[1,1,1,1]}; y = Sigmoid(c)",
       "conv 212992; activation 65536"},
      {"a norm goes into the weights and leaves a bias",
       "x:f32[2,64,8,8], w:f32[64,64,3,3]=const, s:f32[64]=const -> c = Conv(x, w) {pads=[1,1,1,1]}; "
       "y = BatchNormalization(c, s, s, s, s)",
       "conv 212992 + pointwise_broadcast 65536"},
      {"a sum with its Relu joins the convolution",
       "x:f32[2,64,8,8], w:f32[64,64,3,3]=const, z:f32[2,64,8,8] -> c = Conv(x, w) {pads=[1,1,1,1]}; a = Add(c, z); "
       "y = Relu(a)",
       "conv 212992 + pointwise 98304 + pointwise 65536"},
      {"of two convolutions one takes the sum",
       "x:f32[2,64,8,8], w:f32[64,64,3,3]=const -> c = Conv(x, w) {pads=[1,1,1,1]}; d = Conv(x, w) {pads=[1,1,1,1]}; "
       "a = Add(c, d); y = Relu(a)",
       "conv 212992 + pointwise 98304 + pointwise 65536; conv 212992"},
      {"a sum without a Relu has a call of its own",
       "x:f32[2,64,8,8], w:f32[64,64,3,3]=const, z:f32[2,64,8,8] -> c = Conv(x, w) {pads=[1,1,1,1]}; y = Add(c, z)",
       "conv 212992; pointwise 98304"},
      {"a Gemm copies its bias first and takes no activation",
       "x:f32[2,64], w:f32[64,32]=const, b:f32[32]=const -> p = Gemm(x, w, b); y = Relu(p)",
       "pointwise_broadcast 256 + linear 8960; pointwise 512"},
      {"sizes are the host's, a view has no kernel, and what is computed twice runs once",
       "x:f32[N,64,8,8], o:i64[1]=[-1] -> s = Shape(x) {start=0, end=1}; t = Shape(x) {start=0, end=1}; "
       "c = Concat(s, o) {axis=0}; d = Concat(t, o) {axis=0}; a = Reshape(x, c); b = Reshape(x, d); y = Add(a, b)",
       "host; host; other 0; pointwise 98304"},
      {"attention of short sequences runs step by step",
       "q:f32[2,128,768], k:f32[2,128,768], v:f32[2,128,768] -> "
       "y = com.microsoft.MultiHeadAttention(q, k, v) {num_heads=12}",
       "copy 4718592 + batched_matmul 3145728 + softmax 3145728 + batched_matmul 3145728 + copy 1572864"},
      {"depthwise convolutions are cuDNN's",
       "x:f32[2,64,8,8], w:f32[64,1,3,3]=const -> y = Conv(x, w) {group=64, pads=[1,1,1,1]}", "depthwise_library 67840"},
      {"a pool evaluates its window", "x:f32[2,64,8,8] -> y = MaxPool(x) {kernel_shape=[2,2], strides=[2,2]}",
       "max_pool 40960"},
  };
  for (const Case& c : cases) {
    CAPTURE(std::string(c.why));
    CHECK(text_of(lowered(test::graph(c.graph), {.batch = 2})) == std::string(c.kernels));
  }
  // Four taps for each of 2 × 64 × 4 × 4.
  CHECK(lowered(test::graph(std::end(cases)[-1].graph)).kernels[0].macs == 4 * 2048);
}

TEST_CASE("products of the CUDA provider have the sizes that decide their rate") {
  const EagerKernels batched = lowered(test::graph("q:f32[2,4,100,64], k:f32[2,4,64,300] -> y = MatMul(q, k)"));
  REQUIRE(batched.kernels.size() == 1);
  CHECK(batched.kernels[0].kind == KernelClass::BatchedMatmul);
  CHECK(batched.kernels[0].macs == 8.0 * 100 * 64 * 300);
  CHECK(batched.kernels[0].rows == 8 * 100);
  CHECK(batched.kernels[0].width == 100);
  CHECK(batched.kernels[0].depth == 64);
  CHECK(batched.kernels[0].tiles == 8 * 3);  // 100 × 300 in blocks of 128

  const EagerKernels grouped =
      lowered(test::graph("x:f32[1,64,8,8], w:f32[256,16,3,3]=const -> y = Conv(x, w) {group=4, pads=[1,1,1,1]}"));
  REQUIRE(grouped.kernels.size() == 1);
  CHECK(grouped.kernels[0].kind == KernelClass::ConvGrouped);
  CHECK(grouped.kernels[0].width == 64);
  CHECK(grouped.kernels[0].depth == 16 * 9);
  CHECK(grouped.kernels[0].tiles == 4);

  // Three tensors of 2 × 384 × 768: twelve heads of 64.
  const EagerKernels attention = lowered(test::graph(
      "q:f32[2,384,768], k:f32[2,384,768], v:f32[2,384,768] -> y = com.microsoft.MultiHeadAttention(q, k, v) {num_heads=12}"));
  REQUIRE(attention.kernels.size() == 1);
  CHECK(attention.kernels[0].kind == KernelClass::MaskedAttention);
  CHECK(attention.kernels[0].width == 64);
  CHECK(attention.kernels[0].depth == 384);
  CHECK(attention.kernels[0].tiles == 2 * 12 * 6);
}

TEST_CASE("real models keep the kernels of their optimised graph") {
  struct Case {
    const char* skeleton;
    std::int64_t convolutions, products, batched, norms;
  };
  const Case cases[] = {
      {"resnet50", 53, 1, 0, 0},
      {"mobilenet_v3_large", 62, 2, 0, 0},
      {"bert_base", 0, 72, 24, 25},
      {"vit_b_16_dynamo", 1, 49, 24, 25},
  };
  constexpr KernelClass kConvolutions[] = {KernelClass::Conv,        KernelClass::ConvPointwise,
                                           KernelClass::ConvStem,    KernelClass::ConvPatch,
                                           KernelClass::ConvGrouped, KernelClass::DepthwiseLibrary};
  for (const Case& c : cases) {
    CAPTURE(std::string(c.skeleton));
    const EagerKernels list = lowered(load_model(test::source_path(std::string("models/skeletons/") + c.skeleton + ".onnx")),
                                      {.batch = 1});
    std::int64_t convolutions = 0;
    for (const KernelClass kind : kConvolutions) convolutions += count(list, kind);
    CHECK(convolutions == c.convolutions);
    CHECK(count(list, KernelClass::Linear) == c.products);
    CHECK(count(list, KernelClass::BatchedMatmul) == c.batched);
    CHECK(count(list, KernelClass::LayerNorm) == c.norms);
    CHECK(list.unknown_rows == 0);
    test::Sometimes is_product("work of tensor units");
    for (const KernelLaunch& kernel : list.kernels) {
      CHECK(kernel.kind != KernelClass::Depthwise);
      if (is_product(place_of(kernel.kind) == Place::Tensor)) CHECK(kernel.width > 0);
    }
  }
}

TEST_CASE("a time under ONNX Runtime on a GPU needs its calibration and takes tf32 products where there are any") {
  const EagerEngine& engine = eager_engine("onnxruntime-cuda");
  CHECK(kernel_rates(documents::device("a100-40gb"), engine)->tensor == 156e12);
  CHECK(kernel_rates(documents::device("a100-40gb"), engine)->convolution == 156e12);
  CHECK(kernel_rates(documents::device("a100-40gb"), eager_engine("pytorch-cuda"))->tensor == 19.5e12);
  CHECK(kernel_rates(documents::device("a100-40gb"), eager_engine("pytorch-cuda"))->convolution == 156e12);
  const KernelRates old = *kernel_rates(documents::device("t4"), engine);
  CHECK(old.tensor == old.vector);

  test::Workshop shop;
  const std::string path = shop.path("ort.json");
  const documents::CalibrationFile back = test::written_here("onnxruntime-cuda", path);
  CHECK(back.fitted.engine == "onnxruntime-cuda");
  CHECK(engine.products == Precision::Tf32);
  CHECK(engine.optimizes);

  estimate::EstimateRequest request;
  estimate::set_prediction("onnxruntime-cuda", path, request);
  const Model model = test::graph("x:f32[2,64,8,8], w:f32[64,64,3,3]=const -> y = Conv(x, w) {pads=[1,1,1,1]}");
  const documents::EstimateDocument estimate = estimate::make_estimate(model, request);
  REQUIRE(estimate.roofline);
  REQUIRE(estimate.roofline->predicted);
  CHECK(estimate.roofline->predicted->engine == "onnxruntime-cuda");
  const EagerKernels list = lowered(model);
  REQUIRE(list.kernels.size() == 1);
  const KernelRates rates = *kernel_rates(*back.device, engine);
  CHECK(estimate.roofline->predicted->seconds == Approx(kernel_seconds(list.kernels[0], rates, eager_coefficients(back.fitted))));
  test::check_schema(documents::write_estimate(estimate), "estimate");

  const auto refused = [&](const estimate::EstimateRequest& asked) {
    return test::error_of([&] { estimate::make_estimate(model, asked); });
  };
  estimate::EstimateRequest other = request;
  other.precision = Precision::Int8;
  CHECK(test::contains(refused(other), "is for tf32, not `precision=int8`; give `precision=tf32` or none"));
  other = request;
  other.other_precisions = {Precision::Float32, Precision::Int8};
  CHECK(test::contains(refused(other), "is for tf32, not `what_if=fp32`"));
  other = request;
  other.training.emplace();
  CHECK(test::contains(refused(other), "onnxruntime-cuda` does not go with `training`"));
  CHECK(test::contains(test::error_of([&] { estimate::set_prediction("onnxruntime-cuda", "", other); }),
                       "--here onnxruntime-cuda"));
  estimate::EstimateRequest wrong;
  CHECK(test::contains(test::error_of([&] { estimate::set_prediction("pytorch-cuda", path, wrong); }),
                       "is a calibration of onnxruntime-cuda, expected one for pytorch-cuda"));

  // Integers are not in any run of the study: no time rather than a wrong one.
  const Model integers = load_model(test::source_path("models/skeletons/resnet50_qdq_int8.onnx"));
  const documents::EstimateDocument without = estimate::make_estimate(integers, request);
  REQUIRE(without.roofline);
  CHECK(!without.roofline->predicted);
  CHECK(test::contains(documents::write_estimate(without), "work on integers"));
}

TEST_CASE("runs of an H200 are predicted by fits without their family") {
  const documents::CalibrationFile shipped =
      documents::load_calibration(test::source_path("data/measured/nvidia-h200-onnxruntime-cuda.json"));
  const KernelRates rates = *kernel_rates(*shipped.device, eager_engine(shipped.fitted.engine));
  const std::string text = test::read_file(test::source_path("data/measured/nvidia-h200-runs.csv"));
  base::CsvReader reader(text, "nvidia-h200-runs.csv");
  std::vector<std::string> cells;  // engine, model, batch, sequence, seconds, …
  std::vector<lab::TimedRun> runs;
  while (reader.next(cells)) {
    if (cells[0] != "onnxruntime") continue;
    const std::string& model = cells[1];
    AnalyzeOptions sizes{.batch = std::stoll(cells[2])};
    if (!cells[3].empty()) sizes.dims["sequence"] = std::stoll(cells[3]);
    EagerKernels list = lowered(load_model(test::source_path("models/skeletons/" + model + ".onnx")), sizes);
    CHECK(list.unknown_rows == 0);
    runs.push_back({.name = model,
                    // As in the study: both are convolutions and then three large products.
                    .family = model == "alexnet" ? "vgg16" : model.substr(0, model.find('_')),
                    .kernels = std::move(list.kernels),
                    .device = "h200",
                    .rates = rates,
                    .seconds = std::stod(cells[4])});
  }
  REQUIRE(runs.size() == 26);
  const lab::EagerFitOptions options{.coverage = 0.8, .fits_rows = true, .fits_host = true};
  const lab::Fit with_host = lab::fit_eager(runs, options);
  const CalibrationErrors& errors = with_host.file.fitted.errors;
  const HostCosts host = eager_coefficients(with_host.file.fitted).host;
  MESSAGE("mean error with families left out: ", errors.mean_error);
  CHECK(errors.mean_error < 0.2);
  CHECK(errors.rank_correlation > 0.95);
  CHECK(with_host.file.fitted.interval.has_value());
  CHECK(with_host.covered > 0.7);
  // An empty kernel took 3.3 µs to launch; the fit did not see that.
  CHECK(host.kernel > 2.5e-6);
  CHECK(host.kernel < 5e-6);
  // The shipped calibration is that of these runs, whose seconds the table rounds.
  CHECK(eager_coefficients(shipped.fitted).host.kernel == Approx(host.kernel).epsilon(0.02));
  // Sums of launches and kernels do not describe runs of both kinds.
  CHECK(lab::fit_eager(runs, {.coverage = 0.8, .fits_rows = true}).file.fitted.errors.mean_error >
        1.5 * errors.mean_error);
}
