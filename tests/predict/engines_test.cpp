// What an engine predicts of a file, and what it refuses: rules that hold for any calibration.
#include <doctest/doctest.h>

#include <set>
#include <string>

#include "pagoda/base/files.h"
#include "pagoda/core/engine.h"
#include "pagoda/core/model.h"
#include "pagoda/core/serving.h"
#include "pagoda/documents/calibration.h"
#include "pagoda/documents/device.h"
#include "pagoda/estimate/engines.h"
#include "pagoda/estimate/make_estimate.h"
#include "predict/here_file.h"
#include "support/files.h"
#include "support/text_graph.h"
#include "support/workshop.h"

using namespace pagoda;
using doctest::Approx;

namespace {

estimate::EstimateRequest of_cpu() {
  estimate::EstimateRequest request;
  estimate::set_prediction("onnxruntime-cpu", test::source_path("tests/predict/data/here.json"), request);
  return request;
}

estimate::EstimateRequest on(const char* engine, const char* device) {
  estimate::EstimateRequest request{.device = documents::find_device(device)};
  estimate::set_prediction(engine, "", request);
  return request;
}

std::string warnings(const documents::EstimateDocument& estimate) {
  std::string text;
  for (const Diagnostic& each : estimate.diagnostics) text += each.message + '\n';
  return text;
}

const char* const kHalf = "x:f16[64,512], w:f16[512,512]=const -> y = MatMul(x, w)";
const char* const kSingle = "x:f32[64,512], w:f32[512,512]=const -> y = MatMul(x, w)";
const char* const kDouble = "x:f64[64,512], w:f64[512,512]=const -> y = MatMul(x, w)";
const char* const kBfloat = "x:bf16[64,512], w:bf16[512,512]=const -> y = MatMul(x, w)";

}  // namespace

TEST_CASE("ONNX Runtime on a CPU multiplies float16 in float32, float64 at half the rate, and no bfloat16") {
  const auto single = estimate::make_estimate(test::graph(kSingle), of_cpu());
  const auto half = estimate::make_estimate(test::graph(kHalf), of_cpu());
  REQUIRE(single.roofline->predicted);
  REQUIRE(half.roofline->predicted);
  CHECK(half.roofline->predicted->seconds == single.roofline->predicted->seconds);
  CHECK(half.roofline->predicted->memory->bytes == single.roofline->predicted->memory->bytes);
  CHECK(single.roofline->predicted->low);
  CHECK(!half.roofline->predicted->low);  // no float16 run judged it
  CHECK(test::contains(warnings(half), "multiplies float16 in float32"));

  const auto wide = estimate::make_estimate(test::graph(kDouble), of_cpu());
  CHECK(wide.roofline->predicted->seconds > 1.8 * *single.roofline->predicted->seconds);
  CHECK(!test::contains(warnings(wide), "shorter than the bound"));

  const auto none = estimate::make_estimate(test::graph(kBfloat), of_cpu());
  CHECK(!none.roofline->predicted);
  CHECK(test::contains(warnings(none), "multiplies no bfloat16; convert the file to float32"));
}

TEST_CASE("a convolution that ONNX Runtime has saved in its own form is the kernel that it was") {
  const auto time = [](const std::string& graph) {
    return *estimate::make_estimate(test::graph(graph), of_cpu()).roofline->predicted->seconds;
  };
  const std::string sizes = "x:f32[1,64,28,28], w:f32[64,64,3,3]=const -> ";
  const std::string window = "{pads=[1,1,1,1], kernel_shape=[3,3]}";
  const std::string joined = "{pads=[1,1,1,1], kernel_shape=[3,3], activation='Relu'}";
  const double filed = time(sizes + "a = Conv(x, w) " + window + "; y = Relu(a)");
  CHECK(time(sizes + "y = com.microsoft.FusedConv(x, w) " + joined) == Approx(filed));
  // The saved graph has its reorders as nodes.
  CHECK(time(sizes + "a = com.microsoft.nchwc.ReorderInput(x); b = com.microsoft.nchwc.Conv(a, w) " + joined +
             "; y = com.microsoft.nchwc.ReorderOutput(b) {channels=64}") == Approx(filed));
}

TEST_CASE("an engine predicts no file that it does not run, and says why") {
  const auto said = [](const char* graph, const estimate::EstimateRequest& request) {
    const auto estimate = estimate::make_estimate(test::graph(graph), request);
    CHECK(!estimate.roofline->predicted);
    return warnings(estimate);
  };
  const char* const integers = "x:i8[64,512], w:i8[512,512]=const -> y = MatMulInteger(x, w)";
  CHECK(test::contains(said(integers, on("tensorrt", "l4")), "TensorRT has no MatMulInteger"));
  const char* const narrow =
      "x:f32[64,512], w:f32[512,512]=const, s:f32[]=const, z:f8e4m3[]=const -> "
      "q = QuantizeLinear(x, s, z); d = DequantizeLinear(q, s, z); y = MatMul(d, w)";
  CHECK(test::contains(said(narrow, on("tensorrt", "t4")), "t4 has no float8 tensor units"));
  CHECK(estimate::make_estimate(test::graph(narrow), on("tensorrt", "l4")).roofline->predicted);
  CHECK(test::contains(said(kSingle, on("tensorrt", "mi300x")), "mi300x states no CUDA compute capability, which"));
  CHECK(test::contains(said(kSingle, on("pytorch-amp", "mi300x")), "mi300x states no launch overhead, which"));
  CHECK(test::contains(said(kSingle, on("llm-serving", "epyc-9755")), "epyc-9755 states no rate of 16-bit products"));

  test::Workshop shop;
  const std::string path = shop.path("ort.json");
  test::written_here("onnxruntime-cuda", path);
  estimate::EstimateRequest cuda;
  estimate::set_prediction("onnxruntime-cuda", path, cuda);
  CHECK(test::contains(said(kHalf, cuda), "was measured with float32 files"));
}

TEST_CASE("llm-serving claims an interval for decoders only") {
  const auto other = estimate::make_estimate(test::graph(kSingle), on("llm-serving", "h100-sxm"));
  REQUIRE(other.roofline->predicted);
  CHECK(!other.roofline->predicted->low);
  CHECK(test::contains(warnings(other), "has no cache of keys and values"));
  const Model decoder = load_model(test::source_path("models/skeletons/llama_past_dynamo.onnx"));
  estimate::EstimateRequest step = on("llm-serving", "h100-sxm");
  step.phase = PhaseOptions{.phase = Phase::Decode, .tokens = 1, .past = 64};
  CHECK(estimate::make_estimate(decoder, step).roofline->predicted->low);
}

TEST_CASE("no engine predicts training") {
  for (const char* engine : {"pytorch-amp", "llm-serving", "tensorrt"}) {
    estimate::EstimateRequest request = on(engine, "h100-sxm");
    request.training.emplace();
    CHECK(test::contains(estimate::refusal(request), std::string(engine) + "` does not go with `training`"));
  }
}

TEST_CASE("a calibration of another engine names that engine, whatever its schema") {
  estimate::EstimateRequest request;
  const auto refused = [&](const char* engine, const std::string& calibration) {
    return test::error_of([&] { estimate::set_prediction(engine, calibration, request); });
  };
  const std::string here = test::source_path("tests/predict/data/here.json");
  for (const char* engine : {"pytorch-amp", "tensorrt", "llm-serving", "onnxruntime-cuda", "pytorch-cpu"})
    CHECK(test::contains(refused(engine, here), "is a calibration of onnxruntime-cpu, expected one for " +
                                                    std::string(engine) + "; give `engine=onnxruntime-cpu`"));
  CHECK(test::contains(refused("pytorch-amp", "tensorrt"), "is a calibration of tensorrt"));
}

TEST_CASE("a damaged calibration of a CPU is refused where it is damaged") {
  const std::string text = base::read_file(test::source_path("tests/predict/data/here.json"), "a calibration");
  const documents::CalibrationFile whole = documents::parse_calibration(text, "here.json");
  const auto refused = [&](auto&& damage) {
    documents::CalibrationFile file = whole;
    damage(file.fitted);
    return test::error_of([&] { documents::parse_calibration(documents::to_json(file), "here.json"); });
  };
  CHECK(test::contains(refused([](auto& fitted) { fitted.interval = Factors{2, 0.5}; }), "interval.high"));
  struct Case {
    const char* coefficient;
    double value;
    const char* says;
  };
  const Case cases[] = {
      {"channel_block", 7, "channel_block: expected 0 (none), 4, 8 or 16"},
      {"launch_seconds", 1e300, "launch_seconds: expected seconds, below 0.01"},
      {"threads", 5e9, "threads: expected a number of threads from 1 to 65536"},
      {"threads", 0, "threads: expected a number of threads"},
      {"classes.product.flops_per_second", 0, "product.flops_per_second: expected a number above 0"},
  };
  for (const Case& c : cases) {
    CAPTURE(std::string(c.coefficient));
    CHECK(test::contains(refused([&](auto& fitted) { fitted.coefficients[c.coefficient] = c.value; }), c.says));
  }
  CHECK(test::contains(refused([&](auto& fitted) { fitted.coefficients.erase("classes.copy.bytes_per_second"); }),
                       "\"copy\""));
  std::string other = text;
  other.replace(other.find("onnxruntime-cpu"), 15, "pytorch-cpu");
  CHECK(test::contains(test::error_of([&] { documents::parse_calibration(other, "here.json"); }),
                       "engine: expected onnxruntime-cpu"));
}

TEST_CASE("coefficients of an engine have names of their own, and calibrations that are built in state them all") {
  for (const Engine* each : engines()) {
    CAPTURE(std::string(each->id));
    std::set<std::string> names;
    for (const CoefficientRow& row : each->coefficients()) CHECK(names.insert(row.name).second);
    CHECK(each->calibration.empty() == each->is_of_one_machine);
    CHECK(find_engine(each->id) == each);
    if (each->calibration.empty()) continue;
    const Calibration built_in = documents::calibration(each->calibration);
    CHECK(built_in.engine == each->id);
    CHECK(built_in.ignored.empty());
    for (const CoefficientRow& row : each->coefficients())
      CHECK((row.presence != Presence::Required || built_in.coefficients.contains(row.name)));
  }
  CHECK(find_engine("tvm") == nullptr);
}

TEST_CASE("chips of the serving calibration are those of their device files") {
  const Calibration fitted = documents::calibration("llm-serving");
  REQUIRE(!fitted.powers.empty());
  for (const Calibration::Set& power : fitted.powers) {
    CAPTURE(power.device);
    const DeviceSpec device = documents::find_device(power.device);
    const Quantity& clock = device.tensor_clock_hz.known() ? device.tensor_clock_hz : device.boost_clock_hz;
    CHECK(power.coefficients.at("watts") == *device.watts.value);
    CHECK(power.coefficients.at("flops_per_cycle") == Approx(serving_rates(device)->bfloat16 / *clock.value));
  }
}

TEST_CASE("a larger batch is compared with the batch that the file fixes") {
  estimate::EstimateRequest request{.traffic = TrafficModel::Fused, .device = documents::find_device("h200")};
  request.advice = true;
  const auto gain = [&](const char* graph) {
    for (const documents::EstimateAdvice& each : estimate::make_estimate(test::graph(graph), request).advice)
      if (each.batch) return each.gain;
    return 1.0;
  };
  const char* const eight = "x:f32[8,256,56,56], w:f32[256,256,3,3]=const -> y = Conv(x, w) {pads=[1,1,1,1]}";
  const char* const one = "x:f32[1,256,56,56], w:f32[256,256,3,3]=const -> y = Conv(x, w) {pads=[1,1,1,1]}";
  CHECK(gain(eight) < 1.1);
  CHECK(gain(one) >= gain(eight));
}
