// The int8 form of float models, against files that ONNX Runtime's quantisers wrote.
#include "pagoda/core/quantise.h"

#include <doctest/doctest.h>

#include <map>
#include <string>

#include "pagoda/core/onnxruntime.h"
#include "pagoda/core/model.h"
#include "pagoda/documents/calibration.h"
#include "pagoda/estimate/make_estimate.h"
#include "support/files.h"
#include "support/text_graph.h"

using namespace pagoda;

namespace {

using Kind = OrtKernelClass;

Model skeleton(const std::string& name) { return load_model(test::source_path("models/skeletons/" + name + ".onnx")); }

QuantisedForm quantised(const Model& model, const AnalyzeOptions& sizes = {.batch = 1}) {
  std::optional<QuantisedForm> form = quantised_form(model, analyze(model, sizes));
  REQUIRE(form);
  return std::move(*form);
}

std::map<std::string, int> operators(const Model& model) {
  std::map<std::string, int> counts;
  for (const Node& node : model.main().nodes) ++counts[node.op_type];
  return counts;
}

std::map<Kind, int> kernels(const Model& model) {
  std::map<Kind, int> counts;
  for (const OrtKernel& kernel : ort_cpu_kernels(model, analyze(model, {.batch = 1}), 16).kernels) ++counts[kernel.kind];
  return counts;
}

}  // namespace

TEST_CASE("convolutional networks become what quantize_static writes") {
  const QuantisedForm form = quantised(skeleton("resnet50_dynamic"));
  CHECK(form.is_static);
  CHECK(form.quantised.size() == 54);
  CHECK(form.left_in_floats.empty());
  CHECK(operators(form.model) == operators(skeleton("resnet50_qdq_int8")));

  // Counts of onnxruntime.quantization 1.32, QDQ, QUInt8 activations and QInt8 weights.
  std::map<std::string, int> mobile = operators(quantised(skeleton("mobilenet_v3_large")).model);
  CHECK(mobile["QuantizeLinear"] == 122);
  CHECK(mobile["DequantizeLinear"] == 250);
  CHECK(mobile["HardSwish"] == 21);
  CHECK(mobile.count("Relu") == 0);  // cut by the range of the result before them
  std::map<std::string, int> efficient = operators(quantised(skeleton("efficientnet_b0")).model);
  CHECK(efficient["QuantizeLinear"] == 240);
  CHECK(efficient["DequantizeLinear"] == 404);
}

TEST_CASE("other networks become what quantize_dynamic writes") {
  std::map<std::string, int> written = operators(skeleton("bert_base_fused_dynamic_int8"));
  const QuantisedForm form = quantised(skeleton("bert_base_fused"));
  CHECK_FALSE(form.is_static);
  std::map<std::string, int> found = operators(form.model);
  for (const char* op : {"DynamicQuantizeLinear", "MatMulInteger", "QAttention"}) CHECK(found[op] == written[op]);
  found = operators(quantised(skeleton("lstm")).model), written = operators(skeleton("lstm_dynamic_int8"));
  for (const char* op : {"DynamicQuantizeLinear", "MatMulInteger", "DynamicQuantizeLSTM"})
    CHECK(found[op] == written[op]);
}

TEST_CASE("the quantised form multiplies as much, with weights of one byte, and every node is modelled") {
  for (const char* name : {"resnet50", "densenet121", "googlenet", "mobilenet_v3_large", "bert_base", "gpt2", "lstm",
                           "swin_t", "vit_b_16", "t5_encoder", "yolov8n"}) {
    CAPTURE(name);
    const Model model = skeleton(name);
    const Analysis floats = analyze(model, {.batch = 1});
    const Analysis narrow = analyze(quantised(model).model, {.batch = 1});
    CHECK(narrow.totals.unmodelled_nodes == floats.totals.unmodelled_nodes);
    CHECK(narrow.totals.cost.macs == floats.totals.cost.macs);
    CHECK(narrow.totals.param_bytes.evaluate({}) < floats.totals.param_bytes.evaluate({}));
    for (const Diagnostic& each : narrow.diagnostics) CHECK_MESSAGE(each.severity != Severity::Warning, each.message);
  }
  CHECK(quantised(skeleton("vit_b_16")).left_in_floats.size() == 1);  // its convolution
  const Model nothing = test::graph("x:f32[1,4] -> y = Relu(x)");
  CHECK_FALSE(quantised_form(nothing, analyze(nothing)));
}

TEST_CASE("a Gemm keeps its bias, and a weight stored transposed is turned") {
  const Model model = test::graph("x:f32[8,16], w:f32[32,16]=const, b:f32[32]=const -> y = Gemm(x, w, b) {transB=1}");
  const QuantisedForm form = quantised(model, {});
  CHECK(operators(form.model) ==
        std::map<std::string, int>{
            {"Add", 1}, {"Cast", 1}, {"DynamicQuantizeLinear", 1}, {"MatMulInteger", 1}, {"Mul", 2}});
  const Analysis narrow = analyze(form.model);
  CHECK(narrow.totals.cost.macs == Dim(8 * 16 * 32));
  CHECK(to_string(narrow.types[static_cast<std::size_t>(form.model.main().outputs[0])]) == "float32[8,32]");
}

TEST_CASE("kernels are those of ONNX Runtime's optimised graphs of quantised files") {
  // QLinearConv 53, QGemm 1, QLinearAdd 16 and the conversions at both ends 2, NhwcMaxPool, QLinearGlobalAveragePool.
  std::map<Kind, int> resnet = kernels(quantised(skeleton("resnet50")).model);
  CHECK(resnet[Kind::ConvQuantized] == 53);
  CHECK(resnet[Kind::ProductQuantized] == 1);
  CHECK(resnet[Kind::Quantize] == 2);
  CHECK(resnet[Kind::Integer] == 16 + 1);
  CHECK(resnet[Kind::Pool] == 1);
  // QLinearConv 81, 16 of them depthwise, QLinearSigmoid 65, QLinearMul 65, QLinearAdd 9, QLinearGlobalAveragePool 17,
  // conversions 2.
  std::map<Kind, int> efficient = kernels(quantised(skeleton("efficientnet_b0")).model);
  CHECK(efficient[Kind::ConvQuantized] == 65);
  CHECK(efficient[Kind::ConvQuantizedDepthwise] == 16);
  CHECK(efficient[Kind::Integer] == 65 + 65 + 9 + 17);
  CHECK(efficient[Kind::Quantize] == 2);
  // QLinearConv 62, 15 of them depthwise; 30 of both conversions around HardSwish and HardSigmoid, QLinearAdd 10, QLinearMul 8.
  std::map<Kind, int> mobile = kernels(quantised(skeleton("mobilenet_v3_large")).model);
  CHECK(mobile[Kind::ConvQuantized] == 47);
  CHECK(mobile[Kind::ConvQuantizedDepthwise] == 15);
  CHECK(mobile[Kind::Quantize] == 60);
  CHECK(mobile[Kind::TransposeInner] == 1);
  // DynamicQuantizeMatMul 36, MatMulIntegerToFloat 36 behind 12 DynamicQuantizeLinear: casts and scales are joined.
  std::map<Kind, int> bert = kernels(quantised(skeleton("bert_base")).model);
  CHECK(bert[Kind::ProductQuantized] == 72);
  CHECK(bert[Kind::Quantize] == 12);
}

TEST_CASE("what-if under ONNX Runtime on a CPU predicts a float model and its quantised form") {
  documents::CalibrationFile here =
      documents::load_calibration(test::source_path("tests/predict/data/here.json"));
  estimate::EstimateRequest request{.sizes = {.batch = 1}};
  request.device = std::move(here.device);
  request.engine = std::move(here.fitted);
  request.other_precisions = {Precision::Float32, Precision::Int8};
  request.other_traffic = {TrafficModel::Fused};
  const auto rows = estimate::make_estimate(skeleton("vit_b_16"), request).variants;
  REQUIRE(rows.size() == 2);
  CHECK(rows[1].predicted->seconds < rows[0].predicted->seconds);
  CHECK(*rows[1].total_bytes < *rows[0].total_bytes);
  CHECK(rows[1].predicted->memory->bytes < rows[0].predicted->memory->bytes);
  CHECK(rows[1].predicted->float_products == std::vector<std::string>{"/conv_proj/Conv"});
  CHECK(rows[0].predicted->float_products.empty());
  CHECK(rows[1].precision == Precision::Int8);
  // The form is the file that the quantiser writes, so the time is that file's.
  const Model form = quantised(skeleton("vit_b_16")).model;
  estimate::EstimateRequest same = request;
  same.other_precisions.clear();
  same.other_traffic.clear();
  CHECK(estimate::make_estimate(form, same).roofline->predicted->seconds == rows[1].predicted->seconds);

  request.precision = Precision::Int8;
  CHECK(estimate::refusal(request).find("`what_if=fp32,int8`") != std::string::npos);
  request.precision = std::nullopt;
  request.other_precisions = {Precision::Float16};
  CHECK(estimate::refusal(request).find("not `what_if=fp16`") != std::string::npos);
}
