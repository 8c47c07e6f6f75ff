// Kernels of models under TensorRT, and their times against published runs.
#include "pagoda/core/tensorrt.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "pagoda/core/analyze.h"
#include "pagoda/core/model.h"
#include "pagoda/lab/fit.h"
#include "pagoda/documents/calibration.h"
#include "pagoda/documents/device.h"
#include "pagoda/estimate/make_estimate.h"
#include "support/files.h"
#include "support/json_schema.h"
#include "support/text_graph.h"

using namespace pagoda;
using doctest::Approx;
using Kind = TensorRtKernel::Kind;

namespace {

const std::string kFolder = test::source_path("data/calibration/tensorrt/");

TensorRtKernels kernels_of(const Model& model, Precision precision, Bindings dims) {
  return tensorrt_kernels(model, analyze(model, {.dims = std::move(dims), .precision = precision}));
}

int count(const TensorRtKernels& kernels, Kind kind) {
  return static_cast<int>(std::count_if(kernels.kernels.begin(), kernels.kernels.end(),
                                        [&](const TensorRtKernel& kernel) { return kernel.kind == kind; }));
}

double seconds(const Model& model, const char* device, Precision precision, Bindings dims) {
  return tensorrt_seconds(kernels_of(model, precision, std::move(dims)),
                          *tensorrt_rates(documents::find_device(device)), tensorrt_coefficients(documents::calibration("tensorrt")));
}

}  // namespace

TEST_CASE("a layer of BERT is four products, an attention and two norms, whichever way it was exported") {
  for (const char* file : {"data/calibration/tensorrt/bert_base_squad.onnx", "models/skeletons/bert_base.onnx",
                           "models/skeletons/bert_base_sdpa.onnx", "models/skeletons/bert_base_fused.onnx"}) {
    CAPTURE(std::string(file));
    const Model model = load_model(test::source_path(file));
    const TensorRtKernels kernels = kernels_of(model, Precision::Float16, {{"batch", 2}, {"sequence", 128}});
    const bool has_head = std::string(file).find("squad") != std::string::npos;
    CHECK(count(kernels, Kind::Product) == 48 + (has_head ? 1 : 0));
    CHECK(count(kernels, Kind::Attention) == 12);
    CHECK(kernels.unknown_rows == 0);
    const auto first = std::find_if(kernels.kernels.begin(), kernels.kernels.end(),
                                    [](const TensorRtKernel& kernel) { return kernel.kind == Kind::Product; });
    CHECK(first->m == 256);
    CHECK(first->n == 3 * 768);  // queries, keys and values
    CHECK(first->k == 768);
    CHECK(first->weight_bytes == 2.0 * 3 * 768 * 768);
  }
}

TEST_CASE("kernels say what they multiply, and in which type") {
  const Model model = test::graph(
      "x:f32[2,16,8,8], w:f32[32,16,3,3]=const, d:f32[32,1,3,3]=const -> "
      "c = Conv(x, w) {pads=[1,1,1,1]}; r = Relu(c); y = Conv(r, d) {group=32}");
  const TensorRtKernels narrow = kernels_of(model, Precision::Int8, {});
  REQUIRE(narrow.kernels.size() == 2);
  CHECK(narrow.kernels[0].kind == Kind::Product);
  CHECK(narrow.kernels[0].is_int8);
  CHECK(narrow.kernels[0].m == 2 * 8 * 8);
  CHECK(narrow.kernels[0].n == 32);
  CHECK(narrow.kernels[0].k == 16 * 9);
  CHECK(narrow.kernels[0].weight_bytes == 32 * 16 * 9);
  CHECK(narrow.kernels[1].kind == Kind::Other);  // depthwise: memory-bound
  CHECK_FALSE(kernels_of(model, Precision::Float16, {}).kernels[0].is_int8);
}

TEST_CASE("an activation that no convolution computes is a kernel behind it, in float16") {
  struct Case {
    const char* why;
    const char* graph;
    Precision precision;
    std::size_t kernels;
  };
  constexpr const char* kRelu = "x:f32[2,16,8,8], w:f32[32,16,3,3]=const -> c = Conv(x, w); y = Relu(c)";
  constexpr const char* kSilu =
      "x:f32[2,16,8,8], w:f32[32,16,3,3]=const -> c = Conv(x, w); s = Sigmoid(c); y = Mul(c, s)";
  const Case cases[] = {
      {"ReLU is part of the convolution", kRelu, Precision::Float16, 1},
      {"SiLU is not", kSilu, Precision::Float16, 2},
      {"in int8 it may be", kSilu, Precision::Int8, 1},
      {"a matrix product computes it", "x:f32[8,16], w:f32[16,32]=const -> c = MatMul(x, w); s = Sigmoid(c); y = Mul(c, s)",
       Precision::Float16, 1},
  };
  for (const Case& c : cases) {
    CAPTURE(std::string(c.why));
    const TensorRtKernels lowered = kernels_of(test::graph(c.graph), c.precision, {});
    REQUIRE(lowered.kernels.size() == c.kernels);
    if (c.kernels == 1) continue;
    CHECK(lowered.kernels[1].kind == Kind::Other);
    CHECK(lowered.kernels[1].other_bytes == 2.0 * 2 * 2 * 32 * 6 * 6);  // float16, read and written
    CHECK_FALSE(lowered.kernels[1].shares_launch);
  }
}

TEST_CASE("a detector on a T4, which nothing was fitted to") {
  // Ultralytics, docs of YOLO11, comparison with YOLOv8n: 1.47 ms with TensorRT 10 in float16.
  const Model model = load_model(test::source_path("models/skeletons/yolov8n.onnx"));
  CHECK(seconds(model, "t4", Precision::Float16, {}) / 1.47e-3 > 0.7);
  CHECK(seconds(model, "t4", Precision::Float16, {}) / 1.47e-3 < 1.3);
}

TEST_CASE("the calibration states its errors, and predicts published times") {
  const std::string text = test::read_file(kFolder + "tensorrt.json");
  test::check_schema(text, "tensorrt-calibration");
  const auto json = test::read_json("data/calibration/tensorrt/tensorrt.json");
  const Calibration built_in = documents::calibration("tensorrt");
  CHECK(built_in.id == "tensorrt");
  CHECK(built_in.devices == std::vector<std::string>{"a100-40gb", "t4"});
  for (const auto& errors : json["fitted"]) CHECK(errors["mean_error"].get<double>() < 0.05);
  for (const auto& errors : json["left_out"]) CHECK(errors["mean_error"].get<double>() < 0.12);
  CHECK(json["pairs"]["right"].get<int>() >= 0.95 * json["pairs"]["compared"].get<int>());
  // Published results of the newest release: TensorRT 10.8 on A100, 8.5 on T4.
  const Model large = load_model(kFolder + "bert_large_squad.onnx");
  const auto is_near = [](double predicted, double published) {  // Approx adds 1 to what it compares with
    return std::abs(predicted / published - 1) < 0.1;
  };
  CHECK(is_near(seconds(large, "a100-40gb", Precision::Float16, {{"batch", 32}, {"sequence", 384}}), 40.6e-3));
  CHECK(is_near(seconds(large, "a100-40gb", Precision::Int8, {{"batch", 1}, {"sequence", 128}}), 1.23e-3));
  CHECK(is_near(seconds(large, "t4", Precision::Int8, {{"batch", 32}, {"sequence", 384}}), 187e-3));
}

TEST_CASE("a device names the largest board of its generation, whose file states FLOP and watts") {
  for (const auto& pair : {std::pair{"t4", "v100"}, {"rtx-3090", "a100-80gb"}, {"l4", "l40s"}, {"h200", "h100-sxm"},
                           {"rtx-5090", "rtx-pro-6000"}}) {
    const std::string id = pair.first;
    CAPTURE(id);
    const DeviceSpec board = documents::device(pair.second);
    const double stated = *board.peak(Precision::Float16, Unit::Tensor)->flops_per_second.value / *board.watts.value;
    CHECK(documents::device(id).flagship_flops_per_joule.value == stated);
    CHECK(board.flagship_flops_per_joule.value == stated);
  }
  // The same chip at half the watts sustains half.
  CHECK(*documents::device("rtx-pro-6000-max-q").watts.value * 2 == *documents::device("rtx-pro-6000").watts.value);
  CHECK(!documents::device("b200").flagship_flops_per_joule.known());
  // A chip of a known compute capability whose file names no board has none.
  std::string text = documents::device_text("l4");
  const std::string named = "  \"flagship\": \"l40s\",\n";
  REQUIRE(test::contains(text, named));
  std::string unknown = text;
  text.erase(text.find(named), named.size());
  CHECK(!documents::parse_device(text, "mine.json").flagship_flops_per_joule.known());
  unknown.replace(unknown.find("l40s"), 4, "l40x");
  CHECK(test::contains(test::error_of([&] { documents::parse_device(unknown, "mine.json"); }), "l40x"));
}

TEST_CASE("a fit finds the coefficients that times were made with") {
  const Model model = load_model(kFolder + "bert_base_squad.onnx");
  TensorRtCoefficients truth = tensorrt_coefficients(documents::calibration("tensorrt"));
  truth.bandwidth *= 1.1;
  truth.launch_cycles *= 1.15;
  std::vector<lab::TensorRtRun> runs;
  for (const char* device : {"a100-40gb", "t4"})
    for (const std::int64_t sequence : {128, 384})
      for (const std::int64_t batch : {1, 4, 32})
        for (const bool is_int8 : {false, true}) {
          lab::TensorRtRun run{.device = device,
                          .group = "sequence " + std::to_string(sequence),
                          .pair = std::string(device) + std::to_string(sequence) + " " + std::to_string(batch),
                          .is_int8 = is_int8,
                          .kernels = kernels_of(model, is_int8 ? Precision::Int8 : Precision::Float16,
                                                {{"batch", batch}, {"sequence", sequence}}),
                          .rates = *tensorrt_rates(documents::find_device(device))};
          run.seconds = tensorrt_seconds(run.kernels, run.rates, truth);
          runs.push_back(std::move(run));
        }
  const documents::CalibrationFile file = lab::fit_tensorrt(runs, 0.9).file;
  for (const documents::GroupErrors& errors : file.groups) CHECK(errors.mean_error < 0.02);
  CHECK(file.left_out.size() == 4);
  CHECK(file.pairs == 12);
  CHECK(file.pairs_right == 12);
  CHECK(file.fitted.interval->low < 1.02);
  CHECK(file.fitted.interval->high > 0.98);
  const std::string text = documents::to_json(file);
  test::check_schema(text, "tensorrt-calibration");
  CHECK(documents::to_json(documents::parse_calibration(text, "again")) == text);
}

TEST_CASE("an estimate under TensorRT says its times by node, and refuses precisions that nobody measured") {
  const Model model = load_model(kFolder + "bert_base_squad.onnx");
  estimate::EstimateRequest request{
      .sizes = {.batch = 8, .dims = {{"sequence", 128}}},
      .traffic = TrafficModel::Fused,
      .device = documents::find_device("a100-40gb"),
      .precision = Precision::Int8,
      .engine = documents::calibration("tensorrt"),
  };
  const documents::EstimateDocument estimate = estimate::make_estimate(model, request);
  REQUIRE(estimate.roofline);
  REQUIRE(estimate.roofline->predicted);
  const documents::EstimatePrediction& predicted = *estimate.roofline->predicted;
  CHECK(predicted.engine == "tensorrt");
  CHECK(std::abs(*predicted.seconds / 0.95e-3 - 1) < 0.1);  // as published
  CHECK(predicted.seconds > estimate.roofline->totals.seconds);
  CHECK(*predicted.low < predicted.seconds);
  CHECK(*predicted.high > predicted.seconds);
  CHECK(std::accumulate(predicted.row_seconds.begin(), predicted.row_seconds.end(), 0.0) == Approx(*predicted.seconds));
  request.precision = Precision::Bfloat16;
  CHECK(estimate::refusal(request).find("`engine=tensorrt` covers fp16 and int8") != std::string::npos);
  request.precision = Precision::Float16;
  request.device = documents::find_device("rtx-5090");  // no measurement on a similar generation
  const auto unknown = estimate::make_estimate(model, request);
  CHECK_FALSE(unknown.roofline->predicted->low.has_value());
}

TEST_CASE("networks of convolutions have no interval unless a calibration was judged on some") {
  struct Case {
    const char* why;
    const char* device;
    const char* graph;
    bool judges, has_interval;
  };
  constexpr const char* kProduct = "x:f32[8,64], w:f32[64,64]=const -> y = MatMul(x, w)";
  constexpr const char* kConvolution = "x:f32[1,64,8,8], w:f32[64,64,3,3]=const -> y = Conv(x, w)";
  constexpr const char* kBoth =
      "x:f32[1,64,8,8], w:f32[64,64,1,1]=const, s:i64[2]=[64,64], v:f32[64,512]=const -> c = Conv(x, w); "
      "f = Reshape(c, s); y = MatMul(f, v)";
  const Case cases[] = {
      {"products, as of the published transformers", "t4", kProduct, false, true},
      {"convolutions, of which none was measured", "t4", kConvolution, false, false},
      {"convolutions and some that were measured", "t4", kConvolution, true, true},
      {"a patch embedding before the products", "t4", kBoth, false, true},
      {"a generation after those measured", "rtx-pro-6000", kProduct, true, false},
  };
  for (const Case& c : cases) {
    CAPTURE(std::string(c.why));
    Calibration calibration = documents::calibration("tensorrt");
    CHECK_FALSE(calibration.judges_convolutions);
    calibration.judges_convolutions = c.judges;
    const Model model = test::graph(c.graph);
    const Prediction time = predict(model, analyze(model), documents::device(c.device), calibration);
    REQUIRE(time.seconds);
    CHECK(time.low.has_value() == c.has_interval);
    CHECK(time.high.has_value() == c.has_interval);
    CHECK(time.no_interval.empty() == c.has_interval);
    if (c.graph == kConvolution && !c.has_interval)
      CHECK(time.no_interval == "networks of convolutions are outside what its calibration was judged on");
  }
}

TEST_CASE("what-if under TensorRT says times of both forms, what stays in float16 and which conversions stay kernels") {
  estimate::EstimateRequest request{
      .sizes = {.batch = 8, .dims = {{"sequence", 128}}},
      .engine = documents::calibration("tensorrt"),
      .other_devices = {documents::find_device("a100-40gb"), documents::find_device("v100")},
      .other_precisions = {Precision::Float16, Precision::Int8},
      .other_traffic = {TrafficModel::Fused},
  };
  const auto rows = estimate::make_estimate(load_model(kFolder + "bert_base_squad.onnx"), request).variants;
  REQUIRE(rows.size() == 4);  // both devices in float16, then in int8
  for (const documents::EstimateVariant& row : rows) REQUIRE(row.predicted);
  CHECK(*rows[2].predicted->seconds / *rows[0].predicted->seconds == Approx(0.95 / 1.31).epsilon(0.06));  // as published
  CHECK(rows[2].predicted->float_products.empty());
  CHECK(*rows[2].total_bytes < *rows[0].total_bytes);
  // A V100 has no int8 tensor units.
  CHECK(rows[3].predicted->seconds == rows[1].predicted->seconds);
  CHECK(rows[3].predicted->float_products.size() == 49 + 12);

  request.other_devices = {documents::find_device("t4")};
  request.sizes = {.batch = 1};
  const Model pairs = test::graph(
      "x:f32[1,16], v:i8[16,16]=const, w:f32[16,16]=const, s:f32=0.1, o:i8=0 -> q = QuantizeLinear(x, s, o); "
      "d = DequantizeLinear(q, s, o); e = DequantizeLinear(v, s, o); a = MatMul(d, e); b = MatMul(a, w); y = "
      "Softmax(b)");
  const auto mixed = estimate::make_estimate(pairs, {.device = documents::find_device("t4"),
                                                      .engine = request.engine,
                                                      .other_precisions = {Precision::Float16},
                                                      .other_traffic = {TrafficModel::Fused}});
  REQUIRE(mixed.variants.size() == 1);
  CHECK(mixed.variants[0].predicted->float_products.size() == 1);       // b: its operands are not quantised
  CHECK(mixed.variants[0].predicted->unfused_conversions.size() == 1);  // q: no preceding kernel can absorb it
  request.other_precisions = {Precision::Bfloat16};
  CHECK(estimate::refusal(request).find("covers fp16 and int8, which its calibration was fitted to, not `what_if=bf16`") != std::string::npos);
}

TEST_CASE("a compute capability that is not a version is refused, and gives no rates") {
  std::string text = documents::device_text("l4");
  const std::string stated = "\"8.9\"";
  REQUIRE(test::contains(text, stated));
  text.replace(text.find(stated), stated.size(), "\"ada\"");
  const std::string message = test::error_of([&] { documents::parse_device(text, "mine.json"); });
  CHECK(test::contains(message, "compute_capability"));
  CHECK(test::contains(message, "\"9.0\""));
  DeviceSpec device = documents::device("l4");
  CHECK(tensorrt_rates(device));
  device.compute_capability.clear();
  CHECK(!tensorrt_rates(device));
}
