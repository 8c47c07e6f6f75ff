// Small graphs and the kernels that eager PyTorch launches for them: class and bytes of each, derived by hand.
#include <doctest/doctest.h>

#include <optional>
#include <string>

#include "pagoda/core/eager.h"
#include "pagoda/core/engine.h"
#include "pagoda/core/merged_branches.h"
#include "pagoda/core/model.h"
#include "pagoda/documents/calibration.h"
#include "pagoda/documents/device.h"
#include "support/files.h"
#include "support/text_graph.h"

using namespace pagoda;

namespace {

EagerKernels lowered(const char* text, std::int64_t batch = 0) {
  const Model model = test::graph(text);
  return eager_kernels(model, analyze(model, {.batch = batch}));
}

std::string text_of(const EagerKernels& eager) {
  std::string text;
  for (const KernelLaunch& kernel : eager.kernels) {
    if (!text.empty()) text += "; ";
    text.append(to_string(kernel.kind)).append(" ").append(std::to_string(static_cast<long long>(kernel.bytes)));
  }
  return text;
}

}  // namespace

TEST_CASE("parallel convolutions of one tensor are one after they are merged") {
  struct Case {
    const char* why;
    const char* graph;
    const char* kernels;  // of the merged form
    std::int64_t blocks;
  };
  const Case cases[] = {
      {"branches and a norm",
       "x:f16[2,64,8,8], w:f16[64,64,3,3]=const, v:f16[64,64,1,1]=const, s:f16[64]=const -> a = Conv(x, w) "
       "{pads=[1,1,1,1]}; b = Conv(x, v); c = BatchNormalization(x, s, s, s, s); d = Add(a, b); y = Add(d, c)",
       "conv 106496; pointwise_broadcast 32768", 1},
      {"a block behind a block",
       "x:f16[2,64,8,8], v:f16[64,64,1,1]=const, u:f16[64,64,1,1]=const -> a = Conv(x, v); b = Conv(x, u); "
       "c = Add(a, b); d = Relu(c); e = Conv(d, v); f = Conv(d, u); y = Add(e, f)",
       "conv_pointwise 40960; pointwise_broadcast 32768; pointwise 32768; conv_pointwise 40960; "
       "pointwise_broadcast 32768",
       2},
      {"depthwise branches, each with a norm",
       "x:f16[2,64,8,8], w:f16[64,1,3,3]=const, v:f16[64,1,1,1]=const, s:f16[64]=const -> a = Conv(x, w) "
       "{group=64, pads=[1,1,1,1]}; b = Conv(x, v) {group=64}; c = BatchNormalization(a, s, s, s, s); "
       "d = BatchNormalization(b, s, s, s, s); y = Add(c, d)",
       "depthwise_library 33920; pointwise_broadcast 32768", 1},
      {"convolutions of different tensors",
       "x:f16[2,64,8,8], z:f16[2,64,8,8], v:f16[64,64,1,1]=const -> a = Conv(x, v); b = Conv(z, v); y = Add(a, b)",
       "conv_pointwise 40960; conv_pointwise 40960; pointwise 49152", 0},
      {"a convolution added to its operand, as of positions, stays apart",
       "x:f16[2,64,8,8], w:f16[64,64,3,3]=const -> a = Conv(x, w) {pads=[1,1,1,1]}; y = Add(x, a)",
       "conv 106496; pointwise 49152", 0},
      {"something else reads a branch",
       "x:f16[2,64,8,8], v:f16[64,64,1,1]=const -> a = Conv(x, v); b = Conv(x, v); c = Add(a, b); y = Mul(c, a)",
       "conv_pointwise 40960; conv_pointwise 40960; pointwise 49152; pointwise 49152", 0},
      {"an activation in a branch is not linear",
       "x:f16[2,64,8,8], v:f16[64,64,1,1]=const -> a = Conv(x, v); r = Relu(a); b = Conv(x, v); y = Add(r, b)",
       "conv_pointwise 40960; pointwise 32768; conv_pointwise 40960; pointwise 49152", 0},
      {"windows that do not cover each other: their sum needs a larger one",
       "x:f16[2,64,8,8], w:f16[64,64,1,3]=const, v:f16[64,64,3,1]=const -> a = Conv(x, w) {pads=[0,1,0,1]}; "
       "b = Conv(x, v) {pads=[1,0,1,0]}; y = Add(a, b)",
       "conv 57344; conv 57344; pointwise 49152", 0},
      {"a depthwise and a dense branch: their sum is dense",
       "x:f16[2,64,8,8], w:f16[64,1,3,3]=const, v:f16[64,64,1,1]=const -> a = Conv(x, w) {group=64, pads=[1,1,1,1]}; "
       "b = Conv(x, v); y = Add(a, b)",
       "depthwise_library 33920; conv_pointwise 40960; pointwise 49152", 0},
  };
  for (const Case& c : cases) {
    CAPTURE(std::string(c.why));
    const Model model = test::graph(c.graph);
    const std::optional<MergedForm> merged = merged_form(model, analyze(model));
    const Model& run = merged ? merged->model : model;
    CHECK(text_of(eager_kernels(run, analyze(run))) == std::string(c.kernels));
    CHECK((merged ? merged->blocks : 0) == c.blocks);
  }
}

TEST_CASE("power limits the products of a board whose peak outruns it") {
  struct Case {
    const char* device;
    double tensor;  // FLOP/s
  };
  const Case cases[] = {
      {"rtx-3090", 71.2e12},   // the calibration's own board keeps its peak
      {"rtx-4090", 165.2e12},  // GeForce: float32 accumulation at half the rate
      {"rtx-5090", 209.5e12},
      {"rtx-pro-6000-max-q", 0.8 * 503.8e12 / 600 * 300},  // below its 438.9
      {"t4", 0.8 * 125e12 / 300 * 70},                     // below its 65: a V100's FLOP per joule
      {"b200", 2.25e15},                                   // no board of its generation to compare with
  };
  for (const Case& c : cases) {
    CAPTURE(std::string(c.device));
    const std::optional<KernelRates> rates = kernel_rates(documents::device(c.device));
    REQUIRE(rates);
    CHECK(rates->tensor == doctest::Approx(c.tensor).epsilon(0.002));
    CHECK(rates->convolution == rates->tensor);
  }
  // What was measured on the machine itself is not limited a second time.
  CHECK(kernel_rates(documents::device("t4"), eager_engine("pytorch-cuda"))->tensor ==
        *documents::device("t4").peak(Precision::Float32, Unit::Vector)->flops_per_second.value);
}

TEST_CASE("MobileOne becomes the network that its authors count") {
  // Made by models/timm_export.py with timm 1.0.31. Its table of the RTX 5090's time states 0.28 GMAC, of the merged
  // network: a stem and 21 blocks of a depthwise and a pointwise convolution.
  const Model model = load_model(test::source_path("tests/predict/data/mobileone_s0.onnx"));
  const std::optional<MergedForm> merged = merged_form(model, analyze(model));
  REQUIRE(merged);
  CHECK(merged->blocks == 43);
  const auto macs = [](const Analysis& analysis) {
    return static_cast<double>(analysis.totals.cost.macs.evaluate({{"batch", 1}}));
  };
  CHECK(macs(analyze(model)) == doctest::Approx(1.052e9).epsilon(0.001));
  CHECK(macs(analyze(merged->model)) == doctest::Approx(0.275e9).epsilon(0.001));
}

TEST_CASE("graphs become the kernels that eager execution launches") {
  struct Case {
    const char* why;
    const char* graph;
    const char* kernels;
  };
  // Float16 takes 2 bytes, float32 4 bytes; a cast between them moves 6 bytes per element.
  const Case cases[] = {
      // input 8192 and output 8192 elements, weight 36864
      {"autocast casts input and weight; the bias is a kernel of its own",
       "x:f32[2,64,8,8], w:f32[64,64,3,3]=const, b:f32[64]=const -> y = Conv(x, w, b) {pads=[1,1,1,1]}",
       "cast 49152; cast 221184; conv 106496; pointwise_broadcast 32768"},
      {"a convolution of a permuted tensor runs channels last",
       "x:f32[2,8,8,64], w:f32[64,64,1,1]=const -> t = Transpose(x) {perm=[0,3,1,2]}; y = Conv(t, w)",
       "cast 49152; cast 24576; conv_channels_last 40960"},
      {"a large depthwise window is the framework's own kernel and adds its bias itself",
       "x:f32[2,64,8,8], w:f32[64,1,7,7]=const, b:f32[64]=const -> y = Conv(x, w, b) {group=64, pads=[3,3,3,3]}",
       "cast 49152; cast 18816; depthwise 39040"},
      {"a small one is cuDNN's", "x:f16[2,64,8,8], w:f16[64,1,3,3]=const -> y = Conv(x, w) {group=64, pads=[1,1,1,1]}",
       "depthwise_library 33920"},
      {"half of the channels have gaps between images: a copy first",
       "x:f16[2,64,8,8], w:f16[32,32,1,1]=const -> a, b = Split(x) {axis=1, num_outputs=2}; y = Conv(a, w)",
       "copy 16384; conv_pointwise 18432"},
      {"patches side by side are a class of their own",
       "x:f16[2,3,32,32], w:f16[64,3,16,16]=const -> y = Conv(x, w) {strides=[16,16]}", "conv_patch 111616"},
      {"a linear layer adds its bias in the product",
       "x:f16[2,16,64], w:f16[64,32]=const, b:f16[32]=const -> p = MatMul(x, w); y = Add(p, b)", "linear 10240"},
      {"layer norm runs in float32, on rows that lie together",
       "x:f16[2,8,16], w:f32[8]=const -> t = Transpose(x) {perm=[0,2,1]}; y = LayerNormalization(t, w)",
       "cast 1536; copy_transposing 2048; layer_norm 2048"},
      {"softmax gives float32 from either", "x:f16[2,8,8] -> y = Softmax(x)", "softmax 768"},
      {"a float32 parameter widens a float16 tensor",
       "x:f32[2,8], w:f32[8,8]=const, g:f32[8]=const -> p = MatMul(x, w); y = Mul(p, g)",
       "cast 96; cast 384; linear 192; pointwise_mixed 128"},
      {"a scalar does not", "x:f32[2,8], w:f32[8,8]=const, c:f32[]=2 -> p = MatMul(x, w); y = Mul(p, c)",
       "cast 96; cast 384; linear 192; pointwise 64"},
      {"a gate of one value a channel is repeated", "x:f16[2,8,4,4], g:f16[2,8,1,1] -> y = Mul(x, g)",
       "pointwise_broadcast 1056"},
      {"operands in two layouts", "x:f16[2,4,8], z:f16[2,8,4] -> t = Transpose(z) {perm=[0,2,1]}; y = Add(x, t)",
       "pointwise_strided 384"},
      {"five nodes are one GELU",
       "x:f16[2,8], r:f16[]=1.414, o:f16[]=1, h:f16[]=0.5 -> d = Div(x, r); e = Erf(d); a = Add(e, o); m = Mul(x, a); "
       "y = Mul(m, h)",
       "activation 64"},
      {"two are one SiLU", "x:f16[2,8] -> s = Sigmoid(x); y = Mul(x, s)", "activation 64"},
      {"a gate by another tensor is no SiLU", "x:f16[2,8], z:f16[2,8] -> s = Sigmoid(z); y = Mul(x, s)",
       "activation 64; pointwise 96"},
      {"a variance is one reduction",
       "x:f16[2,8], a:i64=[1] -> m = ReduceMean(x, a); d = Sub(x, m); q = Mul(d, d); y = ReduceMean(q, a)",
       "reduce 36"},
      {"attention exported from one call scales queries and keys",
       "q:f16[2,4,64,32], k:f16[2,4,32,64], v:f16[2,4,64,32], c:f16[]=0.42 -> a = Mul(q, c); b = Mul(k, c); "
       "s = MatMul(a, b); p = Softmax(s); y = MatMul(p, v)",
       "attention 131072"},
      {"attention written by hand scales once and runs step by step",
       "q:f16[8,64,32], k:f16[8,32,64], v:f16[8,64,32], c:f16[]=0.18 -> s = MatMul(q, k); t = Mul(s, c); "
       "p = Softmax(t); y = MatMul(p, v)",
       "batched_matmul 131072; pointwise 131072; softmax 196608; cast 196608; batched_matmul 131072"},
      {"transposes, splits and reshapes are views until a reshape needs another layout",
       "x:f16[2,6,8], s:i64=[2,48] -> t = Transpose(x) {perm=[0,2,1]}; y = Reshape(t, s)", "copy_transposing 384"},
      {"whole windows move at full lines",
       "x:f16[4,4,8], s:i64=[2,2,2,2,8], o:i64=[4,4,8] -> a = Reshape(x, s); t = Transpose(a) {perm=[0,2,1,3,4]}; "
       "y = Reshape(t, o)",
       "copy 512"},
      {"batch norm keeps type and layout",
       "x:f16[2,8,4,4], s:f32[8]=const, b:f32[8]=const, m:f32[8]=const, v:f32[8]=const -> "
       "y = BatchNormalization(x, s, b, m, v)",
       "batch_norm 1024"},
      {"concatenation reads and writes everything", "x:f16[2,8], z:f16[2,4] -> y = Concat(x, z) {axis=1}", "concat 96"},
  };
  for (const Case& c : cases) {
    CAPTURE(std::string(c.why));
    CHECK(text_of(lowered(c.graph)) == std::string(c.kernels));
  }
}

TEST_CASE("in float32 nothing is cast, and on a CPU a convolution adds its bias itself") {
  const auto kernels = [](const char* text, const char* engine) {
    const Model model = test::graph(text);
    return text_of(eager_kernels(model, analyze(model), {.engine = eager_engine(engine)}));
  };
  // input 8192 and output 8192 elements, weight 36864, of 4 bytes
  const char* conv = "x:f32[2,64,8,8], w:f32[64,64,3,3]=const, b:f32[64]=const -> y = Conv(x, w, b) {pads=[1,1,1,1]}";
  CHECK(kernels(conv, "pytorch-cuda") == "conv 212992; pointwise_broadcast 65536");
  CHECK(kernels(conv, "pytorch-cpu") == "conv 212992");
  // 1024 × 64, 64 × 32
  CHECK(kernels("x:f32[1024,64], w:f32[64,32]=const -> p = MatMul(x, w); y = Relu(p)", "pytorch-cpu") ==
        "linear 401408; pointwise 262144");
  CHECK(kernels("x:f32[2,8,8] -> y = Softmax(x)", "pytorch-cpu") == "softmax 1024");
  // 16 rows × 8 × 4; with autocast, 8 products of 2 rows
  const char* exchanged = "x:f32[2,8,8], w:f32[8,4]=const -> t = Transpose(x) {perm=[1,0,2]}; y = MatMul(t, w)";
  CHECK(kernels(exchanged, "pytorch-cpu") == "linear 896");
  CHECK(kernels(exchanged, "pytorch-amp") == "cast 768; cast 192; batched_matmul 448");
}

TEST_CASE("attention in every form that exporters write is the same kernel") {
  const char* const kHead = "q:f16[2,4,64,32], k:f16[2,4,64,32], v:f16[2,4,64,32], c:f16[]=0.42 -> ";
  struct Case {
    const char* why;
    const char* nodes;
  };
  const Case cases[] = {
      {"TorchScript: queries and keys are scaled",
       "t = Transpose(k) {perm=[0,1,3,2]}; a = Mul(q, c); b = Mul(t, c); s = MatMul(a, b); p = Softmax(s); "
       "y = MatMul(p, v)"},
      {"dynamo, below opset 23: keys are transposed as one batch of matrices",
       "f = Reshape(k, f3); g = Transpose(f) {perm=[0,2,1]}; t = Reshape(g, f4); a = Mul(q, c); b = Mul(t, c); "
       "s = MatMul(a, b); p = Softmax(s); y = MatMul(p, v)"},
      {"dynamo, opset 23", "y = Attention(q, k, v)"},
      {"a library's own form for exports: queries alone are scaled",
       "t = Transpose(k) {perm=[0,1,3,2]}; a = Mul(q, c); s = MatMul(a, t); p = Softmax(s); y = MatMul(p, v)"},
      {"the scale is computed from the size of a head",
       "h = Shape(q) {start=3, end=4}; hf = Cast(h) {to=1}; hs = Sqrt(hf); ho = Reciprocal(hs); hc = Cast(ho) {to=10}; "
       "t = Transpose(k) {perm=[0,1,3,2]}; a = Mul(q, hc); s = MatMul(a, t); p = Softmax(s); y = MatMul(p, v)"},
      {"a guard for rows without keys",
       "t = Transpose(k) {perm=[0,1,3,2]}; a = Mul(q, c); b = Mul(t, c); s = MatMul(a, b); p = Softmax(s); "
       "n = IsNaN(p); z = Where(n, c, p); y = MatMul(z, v)"},
  };
  for (const Case& c : cases) {
    CAPTURE(std::string(c.why));
    std::string graph = kHead;
    if (std::string(c.nodes).find("f3") != std::string::npos)
      graph.insert(graph.find(" ->"), ", f3:i64=[-1,64,32], f4:i64=[2,4,32,64]");
    CHECK(text_of(lowered((graph + c.nodes).c_str())) == "attention 131072");
  }
}

TEST_CASE("attention that cannot be one call keeps the steps its author wrote") {
  const char* const windows =
      "q:f16[8,2,16,32], k:f16[8,2,32,16], v:f16[8,2,16,32], c:f16[]=0.42, m:f16[1,4,1,16,16]=const, "
      "r5:i64=[2,4,2,16,16], "
      "r4:i64=[8,2,16,16] -> a = Mul(q, c); s = MatMul(a, k); w = Reshape(s, r5); x = Add(w, m); z = Reshape(x, r4); "
      "p = Softmax(z); y = MatMul(p, v)";
  CHECK(text_of(lowered(windows)).find("attention") == std::string::npos);
  const char* const beside_a_call =
      "q:f16[2,4,64,32], k:f16[2,4,32,64], v:f16[2,4,64,32], c:f16[]=0.42 -> a = Mul(q, c); b = Mul(k, c); "
      "s = MatMul(a, b); p = Softmax(s); y = MatMul(p, v); d = Mul(y, c); e = MatMul(d, k); f = Softmax(e); "
      "g = MatMul(f, v)";
  const std::string kernels = text_of(lowered(beside_a_call));
  CHECK(kernels.starts_with("attention 131072; pointwise"));
  CHECK(kernels.find("softmax") != std::string::npos);
}

TEST_CASE("a batch norm that the exporter folded into a convolution is a kernel again") {
  const char* const kept =
      "x:f16[2,8,4,4], conv.weight:f16[8,8,1,1]=const, s:f32[8]=const, b:f32[8]=const, m:f32[8]=const, v:f32[8]=const "
      "-> "
      "t = Conv(x, conv.weight); y = BatchNormalization(t, s, b, m, v)";
  const std::string kernels = text_of(lowered(kept));
  CHECK(kernels == "conv_pointwise 1152; batch_norm 1024");
  Model anonymous = test::graph("x:f16[2,8,4,4], w:f16[8,8,1,1]=const, b:f16[8]=const -> y = Conv(x, w, b)");
  for (Value& value : anonymous.graphs[0].values)
    if (value.name == "w" || value.name == "b") value.name = "onnx::Conv_1" + value.name;
  CHECK(text_of(eager_kernels(anonymous, analyze(anonymous))) == kernels);
  CHECK(text_of(lowered("x:f16[2,8,4,4], conv.weight:f16[8,8,1,1]=const, conv.weight_bias:f16[8]=const -> "
                        "y = Conv(x, conv.weight, conv.weight_bias)")) == kernels);
  CHECK(text_of(lowered("x:f16[2,8,4,4], conv.weight:f16[8,8,1,1]=const, conv.bias:f16[8]=const -> "
                        "y = Conv(x, conv.weight, conv.bias)")) == "conv_pointwise 1152; pointwise_broadcast 1024");
}

TEST_CASE("a tensor that still lies in the cache takes less time to read") {
  const auto rates = kernel_rates(documents::device("rtx-4090"));
  REQUIRE(rates.has_value());
  REQUIRE(rates->cache > 0);
  const auto second = [&](std::int64_t batch) {
    const EagerKernels eager = lowered("x:f16[N,1048576] -> t = Relu(x); y = Relu(t)", batch);
    REQUIRE(eager.kernels.size() == 2);
    CHECK(eager.kernels[0].fresh == 0);
    CHECK(eager.kernels[1].fresh == 2.0 * 1048576 * static_cast<double>(batch));
    const double kernel = kernel_seconds(eager.kernels[1], *rates, EagerCoefficients{}) - rates->launch;
    return kernel / (kernel_seconds(eager.kernels[0], *rates, EagerCoefficients{}) - rates->launch);
  };
  CHECK(second(1) == doctest::Approx(0.65));  // half of the bytes at 0.3 of the time
  CHECK(second(4096) > 0.99);
}

TEST_CASE("a bilinear resize of a small image leaves units idle, a nearest one does not") {
  const char* const linear = "x:f16[64,256,7,7], s:f32[4]=[1,1,2,2] -> y = Resize(x, , s) {mode='linear'}";
  const char* const nearest = "x:f16[64,256,7,7], s:f32[4]=[1,1,2,2] -> y = Resize(x, , s) {mode='nearest'}";
  const auto rates = kernel_rates(documents::device("rtx-3090"));
  REQUIRE(rates.has_value());
  const auto seconds = [&](const char* graph) {
    const EagerKernels eager = lowered(graph);
    REQUIRE(eager.kernels.size() == 1);
    return kernel_seconds(eager.kernels[0], *rates, EagerCoefficients{});
  };
  CHECK(seconds(linear) > 20 * seconds(nearest));
}

TEST_CASE("sizes follow the batch") {
  const char* const graph = "x:f16[N,64], w:f16[64,32]=const -> y = MatMul(x, w)";
  const EagerKernels one = lowered(graph, 1), many = lowered(graph, 100);
  REQUIRE(one.kernels.size() == 1);
  REQUIRE(many.kernels.size() == 1);
  CHECK(one.kernels[0].macs == 64 * 32);
  CHECK(many.kernels[0].macs == 100 * 64 * 32);
  CHECK(many.kernels[0].bytes == 2 * (100 * 64 + 64 * 32 + 100 * 32));
  CHECK(many.kernels[0].width == 32);
  CHECK(many.kernels[0].depth == 64);
}

TEST_CASE("rows without a rule are counted, not taken for free") {
  const EagerKernels eager = lowered("x:f32[2,8] -> t = my.Mystery(x); y = Relu(x)");
  CHECK(eager.unknown_rows == 1);
  CHECK(eager.kernels.size() == 1);
}
