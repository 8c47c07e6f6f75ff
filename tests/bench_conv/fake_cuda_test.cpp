// The cuDNN backend on a fake driver and library (fake_cuda.cpp), which come first in the search path.
#include <doctest/doctest.h>

#include "conv_study.h"
#include "support/text_graph.h"

namespace pagoda::tools::conv {

TEST_CASE("cuDNN's path gives right results, keeps refusals and counts workspaces") {
  const ConvLibrary library = cudnn_library(0, false);
  REQUIRE(library.unavailable == "");
  CHECK(library.device == "made-up device");
  CHECK(library.version == "9.1.0");
  const LayerList list =
      conv_layers(test::graph("x:f32[2,4,9,8], v:f32[6,2,3,3]=const, b:f32[6]=const, w:f32[4,6,1,1]=const, "
                              "u:f32[3,4,3,2]=const, l:f32[1,2,12], k:f32[2,2,3]=const -> "
                              "a = Conv(x, v, b) {group=2, pads=[1,1,1,1]} @ grouped; c = Conv(a, w) @ pointwise; "
                              "d = Conv(c, u) {strides=[2,1], dilations=[2,1], pads=[1,0,1,0]} @ strided; "
                              "e = Conv(l, k) @ line; f = Conv(x, v) {group=2, pads=[0,0,1,1]} @ lopsided"),
                  {});
  REQUIRE(list.layers.size() == 5);
  struct Row {
    const char* algorithm;
    std::int64_t refused;
  };
  for (const Row& row :
       {Row{"implicit_gemm", 1}, {"gemm", 1}, {"auto", 1}, {"winograd", 4}, {"direct", 5}, {"fft", 5}}) {
    CAPTURE(row.algorithm);
    const PreparedModel model =
        prepare_model(list, library, {.algorithm = row.algorithm, .check_points = 0, .fall_back = false});
    CHECK(model.refused == row.refused);
    CHECK(model.verification.error.has_value() == (row.refused < 5));
    CHECK(model.verification.error.value_or(0) < 1e-6);
    for (const PreparedLayer& layer : model.layers) {
      if (layer.work->refused.empty()) {
        CHECK(layer.work->error.points > 0);
        CHECK(layer.work->run.time(2).size() == 2);
      }
    }
    if (row.algorithm == std::string("auto")) {
      CHECK(model.layers[0].work->run.implementation == "gemm");  // not the one that would round to TF32
      CHECK(model.layers[0].work->run.workspace_bytes == 4096);
    }
    CHECK(model.layers[4].work->refused.starts_with("padding differs"));
    CHECK(model.layers[0].work->refused.starts_with("cuDNN accepts the layer and fails to run it") ==
          (row.algorithm == std::string("fft")));
  }
}

}  // namespace pagoda::tools::conv
