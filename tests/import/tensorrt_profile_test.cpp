// TensorRT's profiles and layer information, written by hand after their documentation.
#include <doctest/doctest.h>

#include "import/formats.h"
#include "import/import_data.h"
#include "pagoda/base/cat.h"

namespace pagoda::measured {

using Names = std::vector<std::string>;

TEST_CASE("layers with medians, types and the ONNX nodes that the layer information names") {
  const documents::Measured measured = measured::load_profile(test::data_path("tensorrt_profile.json"),
                                                              {.layer_info = test::data_path("tensorrt_layers.json")});
  CHECK(measured.source == "tensorrt");
  CHECK(measured.repeats == 1000);
  REQUIRE(measured.kernels.size() == 9);
  const documents::MeasuredKernel& conv = measured.kernels[1];
  CHECK(conv.op_type == "CaskConvolution");
  CHECK(*conv.seconds == doctest::Approx(31e-6));
  CHECK(conv.nodes == Names{"/conv1/Conv", "/relu/Relu"});
  CHECK(conv.detail == "Half[1,3,224,224] -> Half[1,64,112,112], sm80_xmma_fprop_implicit_gemm_f16f16");
  CHECK(measured.kernels[2].node == "/maxpool/MaxPool");
  CHECK(measured.kernels[6].nodes ==
        Names{"/layer1/layer1.0/conv3/Conv", "/layer1/layer1.0/Add", "/layer1/layer1.0/relu_2/Relu"});
  CHECK(measured.kernels[0].nodes.empty());  // a layout change
  CHECK(test::is_missing(measured, "seconds_spread"));
}

TEST_CASE("nodes in a layer's metadata, however its entries are separated") {
  const std::pair<const char*, Names> cases[] = {
      {R"([ONNX Layer: a]\u001e[ONNX Layer: b])", {"a", "b"}},
      {R"([ONNX Layer: a]\u001f[ONNX Layer: b])", {"a", "b"}},
      {R"([ONNX Layer: a][ONNX Layer: b])", {"a", "b"}},
      {R"([ONNX Layer: a] [ONNX Function: f] [ONNX Layer: b])", {"a", "b"}},
      {R"([ONNX Layer: a][b][c])", {"a", "b", "c"}},
      {R"([ONNX Layer: x[0]]\u001f[ONNX Layer: b])", {"x[0]", "b"}},
      {R"([ONNX Layer: a]\u001e[ONNX Layer: a]\u001e[ONNX Layer: b])", {"a", "b"}},
  };
  for (const auto& each : cases) {
    const auto& metadata = each.first;
    const auto& names = each.second;
    CAPTURE(std::string(metadata));
    const std::string layers = cat(R"({"Layers":[{"Name":"k","Metadata":")", metadata, R"("}]})");
    const documents::Measured measured = import::import_tensorrt(
        R"([{"count":1},{"name":"k","timeMs":1,"averageMs":1,"medianMs":1}])", "p", layers, "l");
    CHECK(measured.kernels[0].nodes == names);
  }
}

TEST_CASE("without layer information names are split") {
  const documents::Measured measured = measured::load_profile(test::data_path("tensorrt_profile.json"));
  CHECK(measured.kernels[4].nodes == Names{"/layer1/layer1.0/conv2/Conv", "/layer1/layer1.0/relu_1/Relu"});
  CHECK(measured.kernels[6].node == "sm80_layer_17");
  CHECK(measured.kernels[8].nodes == Names{"fc.weight", "/fc/Gemm", "fc.bias", "unsqueeze_node_after_fc.bias"});
}

TEST_CASE("a profile of an older version gives means and says so") {
  const documents::Measured measured =
      measured::import_profile(R"([{"count":10},{"name":"a","timeMs":5,"averageMs":0.5,"percentage":100}])", "p");
  CHECK(*measured.kernels[0].seconds == 0.5e-3);
  REQUIRE(measured.notes.size() == 1);
  CHECK(measured.notes[0].find("means") != std::string::npos);
}

TEST_CASE("nan, as TensorRT writes it, is unknown and said") {
  const documents::Measured measured = measured::import_profile(
      R"([{"count":10},{"name":"a","timeMs":1,"averageMs":nan,"percentage":nan},{"name":"b","timeMs":1,"averageMs":2}])",
      "p");
  CHECK(!measured.kernels[0].seconds);
  CHECK(*measured.kernels[1].seconds == 2e-3);
  CHECK(measured.notes.back() == "2 numbers of the profile are nan or infinite, read as unknown");
  CHECK(!measured.kernel_seconds());
}

TEST_CASE("layer information in place of a profile, and damaged entries, are errors") {
  CHECK(test::import_error(test::data("tensorrt_layers.json")).find("give the file of --exportProfile") !=
        std::string::npos);
  CHECK(test::import_error(R"([{"count":1},{"name":"a","timeMs":1,"averageMs":"x"}])").find("profile[1]") == 0);
  CHECK(test::import_error(R"([{"count":0},{"name":"a","timeMs":1,"averageMs":1}])").find("counts 0 runs") !=
        std::string::npos);
}

}  // namespace pagoda::measured
