// The structure profile against manual counts.
#include "pagoda/core/structure.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "support/text_graph.h"

using namespace pagoda;
using doctest::Approx;

TEST_CASE("a diamond: depth, width, shares") {
  // c → (r, s) → y: three kernels deep, two wide.
  const Model model = test::graph(
      "x:f32[1,3,8,8], w:f32[4,3,3,3]=const -> c = Conv(x, w) {pads=[1,1,1,1]}; r = Relu(c); s = Sigmoid(c); "
      "y = Add(r, s)");
  const StructureProfile profile = structure_profile(model, analyze(model));
  CHECK(profile.nodes == 4);
  CHECK(profile.launches == 4);
  CHECK(profile.op_types == 4);
  CHECK(profile.depth == 3);
  CHECK(profile.width == 2);
  CHECK(profile.parallelism == Approx(4.0 / 3));
  CHECK(profile.fan_out_max == 2);
  const double conv = 2.0 * 4 * 64 * 27, element = 4 * 64;
  CHECK(profile.flops == conv + 3 * element);
  CHECK(profile.critical_flops_share == Approx((conv + 2 * element) / (conv + 3 * element)));
  CHECK(profile.flops_share[static_cast<std::size_t>(WorkClass::Convolution)] == Approx(conv / profile.flops));
  CHECK(profile.flops_share[static_cast<std::size_t>(WorkClass::Elementwise)] == Approx(3 * element / profile.flops));
  CHECK(profile.launch_share[static_cast<std::size_t>(WorkClass::Elementwise)] == Approx(0.75));
  CHECK(profile.dynamic_shape_ratio == 0);
  CHECK(profile.precision_bytes_share.at("float32") == Approx(1));
  CHECK(profile.op_counts.at("Conv") == 1);
}

TEST_CASE("views and host arithmetic are no kernels") {
  const Model model = test::graph(
      "x:f32[n,4], k:i64=[2] -> s = Shape(x); z = Slice(s, k, k); r = Relu(x); y = Identity(r); u = my.domain.Odd(r)");
  const StructureProfile profile = structure_profile(model, analyze(model));
  CHECK(profile.nodes == 5);
  CHECK(profile.launches == 2);    // Relu, and the unknown operator
  CHECK(profile.unmodelled == 1);  // Odd
  CHECK(profile.views == 1);       // Identity
  CHECK(profile.host == 2);        // Shape, Slice
  CHECK(profile.folded == 0);
  CHECK(profile.depth == 2);
  CHECK(profile.dynamic_shape_ratio == 1);  // share of sizes that are free or unknown
  CHECK_FALSE(profile.intensity);
}

TEST_CASE("shares sum to one, and names are unique") {
  const Model model = test::graph(
      "x:f32[2,16,32], w:f32[32,32]=const, g:f32[32]=const, b:f32[32]=const -> h = MatMul(x, w); "
      "n = LayerNormalization(h, g, b); s = Softmax(n); r = ReduceMean(s); t = Transpose(n); y = Gelu(t)");
  const StructureProfile profile = structure_profile(model, analyze(model));
  for (const auto& shares : {profile.flops_share, profile.bytes_share, profile.launch_share}) {
    double sum = 0;
    for (const double share : shares) sum += share;
    CHECK(sum == Approx(1));
  }
  double bins = 0;
  for (const double share : profile.intensity_bytes_share) bins += share;
  CHECK(bins == Approx(1));
  CHECK(profile.bytes_share[static_cast<std::size_t>(WorkClass::Movement)] > 0);
  std::vector<std::string> names;
  for (const Feature& feature : features(profile)) names.push_back(feature.name);
  std::sort(names.begin(), names.end());
  CHECK(std::adjacent_find(names.begin(), names.end()) == names.end());
}

TEST_CASE("the class of a row follows from its operator's facts, not from parts of its name") {
  struct Case {
    const char* graph;
    WorkClass work;
  };
  const Case cases[] = {
      {"x:f32[1,3,8,8], w:f32[4,3,3,3]=const -> y = Conv(x, w)", WorkClass::Convolution},
      {"x:f32[1,3,8,8], w:f32[3,4,3,3]=const -> y = ConvTranspose(x, w)", WorkClass::Convolution},
      {"x:u8[1,3,8,8], w:u8[4,3,3,3]=const -> y = ConvInteger(x, w)", WorkClass::Convolution},
      {"x:f32[2,8], w:f32[8,4] -> y = MatMul(x, w)", WorkClass::MatMul},
      // "Quantize" is a part of this product's name.
      {"x:f32[2,8], w:u8[8,4]=const, s:f32[1]=const -> y = com.microsoft.DynamicQuantizeMatMul(x, w, s)",
       WorkClass::MatMul},
      {"x:f32[2,8], s:f32[]=const, z:u8[]=const -> y = QuantizeLinear(x, s, z)", WorkClass::Quantisation},
      {"x:u8[2,8], s:f32[]=const, z:u8[]=const -> y = DequantizeLinear(x, s, z)", WorkClass::Quantisation},
      {"x:f32[2,8] -> y, s, z = DynamicQuantizeLinear(x)", WorkClass::Quantisation},
      {"x:f32[2,8], g:f32[8]=const -> y = LayerNormalization(x, g)", WorkClass::Normalisation},
      {"x:f32[2,8], g:f32[8]=const, b:f32[8]=const, m:f32[8]=const, v:f32[8]=const -> "
       "y = BatchNormalization(x, g, b, m, v)",
       WorkClass::Normalisation},
      {"x:f32[2,8] -> y = Softmax(x)", WorkClass::Normalisation},
      {"x:f32[2,8] -> y = ReduceMean(x)", WorkClass::Reduction},
      {"x:f32[1,3,8,8] -> y = MaxPool(x) {kernel_shape=[2,2]}", WorkClass::Pooling},
      {"x:f32[2,8] -> y = Gelu(x)", WorkClass::Elementwise},
      {"x:f32[2,8] -> y = Transpose(x)", WorkClass::Movement},
      {"x:f32[5,2,8], w:f32[1,24,8]=const, r:f32[1,24,8]=const -> y = GRU(x, w, r) {hidden_size=8}",
       WorkClass::Recurrent},
      {"q:f32[1,2,4,8], k:f32[1,2,4,8], v:f32[1,2,4,8] -> y = Attention(q, k, v)", WorkClass::Attention},
      {"x:f32[2,8], l:i64[2] -> y = SoftmaxCrossEntropyLoss(x, l)", WorkClass::Other},
  };
  for (const Case& row : cases) {
    CAPTURE(row.graph);
    const Analysis analysis = analyze(test::graph(row.graph));
    REQUIRE(analysis.nodes.size() == 1);
    CHECK(analysis.nodes[0].cost.mark == Mark::Compute);
    CHECK(to_string(work_class(analysis.nodes[0])) == to_string(row.work));
  }
}
