// Engines on a CPU: kernel times, the lowering of real models, and fits.
#include "pagoda/core/onnxruntime.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <map>
#include <string>

#include "pagoda/lab/fit.h"
#include "pagoda/base/files.h"
#include "pagoda/core/eager.h"
#include "pagoda/core/engine.h"
#include "pagoda/core/model.h"
#include "pagoda/documents/calibration.h"
#include "pagoda/estimate/engines.h"
#include "pagoda/measured/ort_kernels.h"
#include "predict/here_file.h"
#include "support/files.h"
#include "support/json_schema.h"
#include "support/text_graph.h"
#include "support/workshop.h"

using namespace pagoda;
using doctest::Approx;

namespace {

using Kind = OrtKernelClass;

documents::CalibrationFile sample() {
  return documents::load_calibration(test::source_path("tests/predict/data/here.json"));
}

std::map<Kind, int> kinds_in(const Model& model, const AnalyzeOptions& sizes) {
  std::map<Kind, int> counts;
  for (const OrtKernel& kernel : ort_cpu_kernels(model, analyze(model, sizes), 16).kernels) ++counts[kernel.kind];
  return counts;
}

std::map<Kind, int> kernels_of(const std::string& name, const AnalyzeOptions& sizes = {}) {
  return kinds_in(load_model(test::source_path("models/skeletons/" + name + ".onnx")), sizes);
}

std::map<Kind, int> kinds(const std::string& graph, const AnalyzeOptions& sizes = {}) {
  return kinds_in(test::graph(graph), sizes);
}

}  // namespace

TEST_CASE("classes of kernels have names of their own") {
  std::set<std::string_view> names = {""};
  for (std::size_t i = 0; i < kOrtKernelClasses; ++i) names.insert(to_string(static_cast<Kind>(i)));
  CHECK(names.size() == kOrtKernelClasses + 1);
}

TEST_CASE("convolutions fill up blocks of channels") {
  // 24 → 72 channels of 1×1 over 56×56: padded to 32 and 80 in blocks of 16.
  const OrtKernel pointwise = conv_kernel({1, 24, 56, 56}, {72, 24, 1, 1}, {1, 72, 56, 56}, 16, ConvForm::Blocks);
  CHECK(pointwise.kind == Kind::ConvPointwise);
  CHECK(pointwise.flops == Approx(2.0 * 56 * 56 * 80 * 32));
  CHECK(pointwise.weight_bytes == Approx(4.0 * 80 * 32));
  CHECK(pointwise.rows == 56 * 56);
  // An image of three channels is read unpadded.
  const OrtKernel stem = conv_kernel({1, 3, 224, 224}, {64, 3, 7, 7}, {1, 64, 112, 112}, 16, ConvForm::Blocks);
  CHECK(stem.kind == Kind::ConvStem);
  CHECK(stem.flops == Approx(2.0 * 112 * 112 * 64 * 147));
  CHECK(conv_kernel({1, 72, 28, 28}, {72, 1, 3, 3}, {1, 72, 28, 28}, 16, ConvForm::Blocks).kind == Kind::ConvDepthwise);
  CHECK(conv_kernel({1, 3, 8, 56, 56}, {64, 3, 3, 3, 3}, {1, 64, 8, 56, 56}, 0, ConvForm::Plain).kind ==
        Kind::ConvColumns);
  CHECK(conv_kernel({1, 64, 56, 56}, {64, 64, 1, 1}, {1, 64, 56, 56}, 16, ConvForm::Integers).kind ==
        Kind::ConvQuantized);
}

TEST_CASE("a kernel takes its launch and the longer of work and traffic, joined smoothly") {
  CpuCoefficients here;
  here.launch_seconds = 1e-6;
  here.memory_bytes_per_second = 50e9;
  here.cache_bytes = 32e6;
  for (const Kind kind : {Kind::Product, Kind::ProductVector})
    here.classes[static_cast<std::size_t>(kind)] = {
        .flops_per_second = 400e9, .bytes_per_second = 100e9, .rows = 10, .width = 0, .depth = 0};
  const OrtKernel vector = product_kernel(Kind::Product, 1, 1, 4096, 4096, 4, true);
  // One row runs at 1/11 of the rate; 67 MB of weights come at DRAM rate.
  const double work = 2.0 * 4096 * 4096 / 400e9 * 11, traffic = 2 * 4.0 * 4096 / 100e9 + 4.0 * 4096 * 4096 / 50e9;
  CHECK(cpu_kernel_seconds(vector, here, 1) ==
        Approx(1e-6 + std::pow(std::pow(work, 4) + std::pow(traffic, 4), 0.25)));
  // Cached weights come at the class's rate, which is higher.
  CHECK(cpu_kernel_seconds(vector, here, 0) < cpu_kernel_seconds(vector, here, 1));
  CHECK(cpu_kernel_seconds({}, here, 1) == Approx(1e-6));
  // What a class takes to start adds up; rows as short as `width` halve the rate of kernels that are bound by bytes.
  here.classes[static_cast<std::size_t>(Kind::Norm)] = {.start_seconds = 2e-6, .bytes_per_second = 10e9, .width = 64};
  CHECK(cpu_kernel_seconds(moving_kernel(Kind::Norm, 1e6, 0, 64), here, 0) == Approx(3e-6 + 2 * 1e6 / 10e9));
  CHECK(cpu_kernel_seconds(moving_kernel(Kind::Norm, 1e6), here, 0) == Approx(3e-6 + 1e6 / 10e9));
  CHECK(cpu_kernel_seconds(moving_kernel(Kind::Norm, 2000), here, 0) == Approx(1e-6 + 2000 / 10e9));  // one thread
  // Without overlap, arithmetic and traffic follow each other.
  here.classes[static_cast<std::size_t>(Kind::Product)].overlap = 0;
  const OrtKernel rows = product_kernel(Kind::Product, 1, 10, 4096, 4096, 4, true);
  const double twice = 2 * rows.flops / 400e9, moved = rows.bytes / 100e9 + rows.weight_bytes / 50e9;
  CHECK(cpu_kernel_seconds(rows, here, 1) == Approx(1e-6 + twice + moved));
  // A model that exceeds the cache together with its activations misses a share of its weights.
  CHECK(cold_share({.kernels = {}, .weight_bytes = 20e6, .activation_bytes = 10e6}, here.cache_bytes) == 0);
  CHECK(cold_share({.kernels = {}, .weight_bytes = 20e6, .activation_bytes = 10e6}, 0) == 1);
  for (const double weights : {20.1e6, 25e6, 40e6, 400e6}) {
    const double missed = cold_share({.kernels = {}, .weight_bytes = weights, .activation_bytes = 10e6}, 30e6);
    CHECK(missed > 0);
    CHECK(std::exp(-missed * (weights + 10e6) / 30e6) == Approx(1 - missed));
  }
  // Twice the cache: 1 - m = exp(-2 m) has the root 0.7968.
  CHECK(cold_share({.kernels = {}, .weight_bytes = 60e6, .activation_bytes = 0}, 30e6) == Approx(0.7968).epsilon(1e-4));
}

TEST_CASE("convolutions in blocks work on one line of the output at a time, 1×1 on the whole image") {
  CHECK(conv_kernel({1, 64, 14, 14}, {64, 64, 3, 3}, {1, 64, 14, 14}, 16, ConvForm::Blocks).line == 14);
  CHECK(conv_kernel({1, 64, 14, 14}, {64, 64, 1, 1}, {1, 64, 14, 14}, 16, ConvForm::Blocks).line == 0);
  CHECK(conv_kernel({1, 64, 14, 14}, {64, 64, 1, 1}, {1, 64, 7, 7}, 16, ConvForm::Blocks).line == 7);
  CHECK(conv_kernel({1, 64, 14, 14}, {64, 64, 3, 3}, {1, 64, 14, 14}, 0, ConvForm::Plain).line == 0);
  CpuCoefficients here;
  here.classes[static_cast<std::size_t>(Kind::Conv)] = {.flops_per_second = 400e9, .line = 7};
  const OrtKernel kernel = conv_kernel({4, 64, 7, 7}, {64, 64, 3, 3}, {4, 64, 7, 7}, 16, ConvForm::Blocks);
  CHECK(cpu_kernel_seconds(kernel, here, 0) == Approx(2 * kernel.flops / 400e9));
}

TEST_CASE("what is computed once or when the file is loaded is no kernel of a run") {
  // Two equal Shapes run once; the Reshapes remain.
  CHECK(kinds("x:f32[N,64] -> a = Shape(x); b = Shape(x); t = Reshape(x, a); y = Reshape(t, b)", {.dims = {{"N", 4}}})
            .at(Kind::Small) == 3);
  CHECK(!kinds("x:f32[4,6400] -> a = Cast(x) {to=1}; y = Relu(a)").contains(Kind::Copy));
  CHECK(kinds("x:f32[4,6400] -> a = Cast(x) {to=10}; y = Relu(a)").at(Kind::Copy) == 1);
  // Masks of windows, computed from shapes alone; counts from ONNX Runtime's profile.
  CHECK(!kernels_of("swin_t").contains(Kind::Other));
  const std::map<Kind, int> llama = kernels_of("llama", {.dims = {{"batch", 1}, {"sequence", 96}}});
  CHECK(llama.at(Kind::Norm) == 13);
  CHECK(!llama.contains(Kind::Reduce));
}

TEST_CASE("models are lowered to the kernels that ONNX Runtime 1.31 runs") {
  // Counts from its profiles at the highest optimisation level, with AVX-512.
  const std::map<Kind, int> resnet = kernels_of("resnet50");
  CHECK(resnet.at(Kind::ConvStem) == 1);
  CHECK(resnet.at(Kind::ConvPointwise) == 36);
  CHECK(resnet.at(Kind::Conv) == 16);
  CHECK(resnet.at(Kind::Pool) == 1);
  CHECK(resnet.at(Kind::Reduce) == 1);
  CHECK(resnet.at(Kind::Reorder) == 1);  // in front of Flatten
  CHECK(resnet.at(Kind::ProductVector) == 1);
  CHECK(!resnet.contains(Kind::Pointwise));  // sums and activations are fused

  const std::map<Kind, int> bert = kernels_of("bert_base", {.dims = {{"batch", 1}, {"sequence", 128}}});
  CHECK(bert.at(Kind::Product) == 72);
  CHECK(bert.at(Kind::ProductBatched) == 24);
  CHECK(bert.at(Kind::Softmax) == 12);
  CHECK(bert.at(Kind::Activation) == 12);
  CHECK(bert.at(Kind::Norm) == 25);

  const std::map<Kind, int> dense = kernels_of("densenet121_dynamic", {.batch = 1});
  CHECK(dense.at(Kind::ConvDepthwise) == 62);  // norms before convolutions
  CHECK(dense.at(Kind::Conv) == 58);
  CHECK(dense.at(Kind::Copy) == 62);

  const std::map<Kind, int> integers = kernels_of("resnet50_qoperator_int8");
  CHECK(integers.at(Kind::ConvQuantized) == 53);
  CHECK(integers.at(Kind::ProductQuantized) == 1);

  // Transposes around ConvNeXt's norms cancel with their inverse.
  const std::map<Kind, int> convnext = kernels_of("convnext_tiny");
  CHECK(convnext.at(Kind::ProductBiased) == 36);
  CHECK(convnext.at(Kind::Reorder) == 40);
}

TEST_CASE("quantised products run on integers where the engine has a kernel for their operands") {
  // Counts from the profile: convolutions whose int8 operand has several readers stay in float32, and the engine
  // dequantises their weights in each run.
  const std::map<Kind, int> narrow = kernels_of("resnet50_qdq_int8");
  CHECK(narrow.at(Kind::ConvQuantized) == 33);
  CHECK(narrow.at(Kind::ConvColumns) == 20);
  CHECK(narrow.at(Kind::ProductQuantized) == 1);
  CHECK(narrow.at(Kind::TransposeInner) == 34);
  CHECK(narrow.at(Kind::Quantize) == 132);
}

TEST_CASE("convolutions run in blocks if their channels fill them") {
  const auto kind = [](const char* text) {
    const Model model = test::graph(text);
    for (const OrtKernel& kernel : ort_cpu_kernels(model, analyze(model), 16).kernels)
      if (is_product(kernel.kind)) return kernel.kind;
    return Kind::Other;
  };
  CHECK(kind("x:f32[1,48,8,8], w:f32[48,1,3,3]=const -> y = Conv(x, w) {group=48, pads=[1,1,1,1]}") ==
        Kind::ConvDepthwise);
  // In plain layout an engine that has blocks has no kernel for them.
  CHECK(kind("x:f32[1,58,8,8], w:f32[58,1,3,3]=const -> y = Conv(x, w) {group=58, pads=[1,1,1,1]}") ==
        Kind::ConvDepthwiseColumns);
  CHECK(kind("x:f32[1,20,8,8], w:f32[32,20,1,1]=const -> y = Conv(x, w)") == Kind::ConvPointwise);  // 4 divides 20
  CHECK(kind("x:f32[1,58,8,8], w:f32[64,58,1,1]=const -> y = Conv(x, w)") == Kind::ConvColumns);
  CHECK(kind("x:f32[1,32,8,8], w:f32[32,8,3,3]=const -> y = Conv(x, w) {group=4}") == Kind::ConvColumns);
}

TEST_CASE("integers run in the class of their operands, and zeros that pad join what reads them") {
  // x86 multiplies uint8 by int8 in one instruction, uint8 by uint8 in several.
  CHECK(kinds("x:u8[4,64], w:i8[64,32]=const -> y = MatMulInteger(x, w)").at(Kind::ProductQuantized) == 1);
  CHECK(kinds("x:u8[4,64], w:u8[64,32]=const -> y = MatMulInteger(x, w)").at(Kind::ProductUnsigned) == 1);
  CHECK(conv_kernel({1, 64, 56, 56}, {64, 1, 3, 3}, {1, 64, 56, 56}, 16, ConvForm::Integers).kind ==
        Kind::ConvQuantizedDepthwise);
  const auto bits = kinds(
      "x:f32[1,64], w:u8[32,2,16]=const, s:f32[64]=const -> y = com.microsoft.MatMulNBits(x, w, s) {K=64, N=32, "
      "bits=4, block_size=32}");
  CHECK(bits.at(Kind::ProductBits) == 1);
  CHECK(kinds("x:u8[1,8,8,8], s:f32[1]=const, z:u8[1]=const -> a = DequantizeLinear(x, s, z); "
              "b = AveragePool(a) {kernel_shape=[2,2]}; y = QuantizeLinear(b, s, z)")
            .at(Kind::IntegerPool) == 1);
  // pad_fusion.cc: neither the Pad nor a reorder around it is left.
  const auto padded = kinds(
      "x:f32[1,16,8,8], w:f32[16,16,1,1]=const, v:f32[16,16,3,3]=const, p:i64[8]=[0,0,1,1,0,0,1,1] -> "
      "t = Conv(x, w); q = Pad(t, p); y = Conv(q, v)");
  CHECK(!padded.contains(Kind::Copy));
  CHECK(padded.at(Kind::Reorder) == 2);  // of the input and the output
  const auto bordered = kinds(
      "x:f32[1,16,8,8], w:f32[16,16,1,1]=const, v:f32[16,16,3,3]=const, p:i64[8]=[0,0,1,1,0,0,1,1], b:f32[]=const -> "
      "t = Conv(x, w); q = Pad(t, p, b); y = Conv(q, v)");
  CHECK(bordered.at(Kind::Copy) == 1);  // by a number that may not be 0
  CHECK(kinds("x:f32[1,16,8,8], s:f32[16]=const -> y = BatchNormalization(x, s, s, s, s)").at(Kind::PointwiseBroadcast) ==
        1);
}

TEST_CASE("convolutions run in blocks of channels if their groups and channels fit") {
  // Kernels of the model that ONNX Runtime 1.32 saves after optimising it, with blocks of 16.
  const auto reorders = [](int channels, int groups, int in_group, int outputs) {
    const std::string c = std::to_string(channels), o = std::to_string(outputs);
    return kinds("x:f32[1,16,8,8], a:f32[" + c + ",16,1,1]=const, b:f32[" + o + "," + std::to_string(in_group) +
                 ",3,3]=const, e:f32[16," + o + ",1,1]=const -> p = Conv(x, a); q = Conv(p, b) {group=" +
                 std::to_string(groups) + ", pads=[1,1,1,1]}; y = Conv(q, e)")
        .at(Kind::Reorder);
  };
  CHECK(reorders(72, 72, 1, 72) == 2);  // depthwise: in fours
  CHECK(reorders(20, 20, 1, 20) == 2);
  CHECK(reorders(32, 2, 16, 32) == 2);  // each group fills a block
  CHECK(reorders(32, 4, 8, 32) == 4);
  CHECK(reorders(48, 2, 24, 48) == 4);
  CHECK(reorders(32, 2, 16, 24) == 4);
}

TEST_CASE("stored numbers by channel join a convolution, windows are pooled in blocks, copies in blocks are not summed") {
  // As ONNX Runtime 1.32 saves the optimised model.
  const auto after = [](const std::string& numbers, const std::string& next) {
    return kinds("x:f32[1,16,8,8], w:f32[16,16,3,3]=const, k:" + numbers + "=const -> c = Conv(x, w) {pads=[1,1,1,1]}; " +
                 next + "; y = Relu(t)");
  };
  for (const char* numbers : {"f32[16,1,1]", "f32[1,16,1,1]"})
    for (const char* next : {"t = Mul(c, k)", "t = Add(k, c)"}) {
      const auto found = after(numbers, next);
      CHECK_MESSAGE(!found.contains(Kind::Pointwise), numbers << next);
      CHECK_MESSAGE(!found.contains(Kind::PointwiseBroadcast), numbers << next);
    }
  CHECK(!after("f32[]", "t = Mul(c, k)").contains(Kind::Pointwise));
  CHECK(after("f32[]", "t = Add(c, k)").contains(Kind::Pointwise));
  CHECK(after("f32[8,8]", "t = Mul(c, k)").contains(Kind::PointwiseBroadcast));

  const auto pooled = [](int channels, const std::string& pool) {
    const std::string c = std::to_string(channels);
    return kinds("x:f32[1," + c + ",8,8] -> s = Sin(x); p = " + pool + "; y = Cos(p)");
  };
  CHECK(pooled(32, "MaxPool(s) {kernel_shape=[3,3]}").at(Kind::Reorder) == 2);
  CHECK(pooled(32, "AveragePool(s) {kernel_shape=[3,3]}").at(Kind::Reorder) == 2);
  CHECK(!pooled(24, "AveragePool(s) {kernel_shape=[3,3]}").contains(Kind::Reorder));
  CHECK(!pooled(32, "GlobalAveragePool(s)").contains(Kind::Reorder));

  // A convolution that absorbed a sum cannot absorb the norm after it. The norm becomes a depthwise convolution.
  const auto normed = kinds("x:f32[1,32,8,8], a:f32[32,32,1,1]=const, b:f32[32,32,1,1]=const, g:f32[32]=const -> "
                            "c = Conv(x, a); d = Conv(x, b); s = Add(c, d); n = BatchNormalization(s, g, g, g, g); "
                            "r = Relu(n); y = Conv(r, a)");
  CHECK(normed.at(Kind::ConvPointwise) == 3);
  CHECK(normed.at(Kind::ConvDepthwise) == 1);
  CHECK(normed.at(Kind::Reorder) == 2);

  // The sum of a convolution and a plain value: it is plain, though another convolution reads a copy in blocks of that value.
  const auto summed = kinds("x:f32[1,16,8,8], w:f32[16,16,3,3]=const -> a = Sin(x); c = Conv(a, w) {pads=[1,1,1,1]}; "
                            "s = Add(c, a); y = Cos(s)");
  CHECK(summed.at(Kind::Reorder) == 2);
  CHECK(summed.at(Kind::Pointwise) == 1);
}

TEST_CASE("nodes that change nothing do not keep a convolution from what follows") {
  // noop_elimination.cc, then nchwc_transformer.cc: both branches, their sum and the activation stay in blocks.
  const auto branches = [](const std::string& idle) {
    return kinds("x:f32[1,16,8,8], w:f32[16,16,3,3]=const, s:f32[16]=const, o:f32[]=[0.0], i:f32[1]=[1.0] -> "
                 "r = Identity(s); c = Conv(x, w) {pads=[1,1,1,1]}; a = " + idle + "; f = Relu(a); "
                 "n = BatchNormalization(f, r, s, s, s); d = Conv(f, w) {pads=[1,1,1,1]}; t = Add(n, d); y = Relu(t)");
  };
  for (const char* idle : {"Add(c, o)", "Add(o, c)", "Sub(c, o)", "Mul(c, i)", "Div(c, i)"}) {
    const auto found = branches(idle);
    CHECK_MESSAGE(!found.contains(Kind::Pointwise), idle);
    CHECK_MESSAGE(!found.contains(Kind::PointwiseBroadcast), idle);
    CHECK_MESSAGE(found.at(Kind::Reorder) == 2, idle);  // of the input and the output
  }
  CHECK(branches("Add(c, i)").at(Kind::Reorder) > 2);
  CHECK(branches("Sub(o, c)").at(Kind::Reorder) > 2);
}

TEST_CASE("transposes differ by what they keep together") {
  struct Case {
    std::vector<std::int64_t> sizes, perm;
    Kind kind;
    double width;
    const char* why;
  };
  const Case cases[] = {
      {{1, 197, 3, 64}, {0, 2, 1, 3}, Kind::Transpose, 64, "rows of a head"},
      {{64, 32, 64, 4}, {0, 2, 1, 3}, Kind::Transpose, 4, "short rows"},
      {{1, 197, 3, 64}, {0, 2, 3, 1}, Kind::TransposeInner, 192, "a matrix: 197 × (3 · 64)"},
      {{1, 256, 1, 4, 25}, {0, 2, 3, 4, 1}, Kind::TransposeInner, 100, "sizes of 1 do not count"},
      {{4, 64, 32, 32}, {0, 2, 3, 1}, Kind::TransposeInner, 64, "channels last"},
      {{1, 144, 256, 4}, {0, 3, 2, 1}, Kind::TransposeScattered, 144, "three axes in reverse"},
      {{1, 8, 8, 7, 7, 64}, {0, 5, 1, 3, 2, 4}, Kind::TransposeScattered, 7, "windows and channels"},
      {{1, 64, 1, 1}, {0, 2, 3, 1}, Kind::Small, 0, "the bytes stay where they are"},
  };
  for (const Case& c : cases) {
    CAPTURE(std::string(c.why));
    const OrtKernel kernel = transpose_kernel(c.sizes, c.perm, 4);
    CHECK(std::string(to_string(kernel.kind)) == std::string(to_string(c.kind)));
    CHECK((c.kind == Kind::Small || kernel.width == c.width));
  }
  CHECK(transpose_kernel_between({1, 197, 3, 64}, {1, 3, 197, 64}, 4)->kind == Kind::Transpose);
  CHECK(!transpose_kernel_between({4, 4, 8}, {8, 4, 4}, 4));  // the axes of 4 may have changed places
}

TEST_CASE("an engine without blocks of channels does convolutions by columns") {
  const Model model = load_model(test::source_path("models/skeletons/mobilenet_v3_large.onnx"));
  std::map<Kind, int> counts;
  for (const OrtKernel& kernel : ort_cpu_kernels(model, analyze(model), 0).kernels) ++counts[kernel.kind];
  CHECK(counts.at(Kind::ConvColumns) + counts.at(Kind::ConvDepthwise) == 62);
  CHECK(!counts.contains(Kind::Reorder));
}

TEST_CASE("kernels of a profile are known by the sizes that it states") {
  documents::Measured profile;
  const auto add = [&](const char* name, const char* op, const char* detail, double seconds) {
    documents::MeasuredKernel& kernel = profile.kernels.emplace_back();
    kernel.name = name;
    kernel.op_type = op;
    kernel.detail = detail;
    kernel.seconds = seconds;
    kernel.launches = 1;
  };
  add("c", "Conv", "float[1,16,112,112],float[80,16,1,1],float[80] -> float[1,80,112,112]", 70e-6);
  add("m", "MatMul", "float[1,128,768] -> float[1,128,3072]", 1.5e-3);
  add("s", "MatMul", "float[1,12,128,128],float[1,12,128,64] -> float[1,12,128,64]", 70e-6);
  add("t", "Transpose", "float[64,49,3,32] -> float[64,3,49,32]", 60e-6);
  add("r", "Reshape", "float[64,3,49,32],int64[2] -> float[192,1568]", 6e-6);
  add("q_token_7", "QLinearConv", "uint8[1,56,56,64],float[] -> uint8[1,56,56,64]", 90e-6);
  add("u", "QLinearConv", "uint8[1,56,56,64],float[] -> uint8[1,56,56,64]", 90e-6);
  CHECK(measured::channel_block(profile) == 16);
  const OrtKernel named = conv_kernel({1, 64, 56, 56}, {64, 64, 1, 1}, {1, 64, 56, 56}, 16, ConvForm::Integers);
  const std::vector<measured::TimedOrtKernel> timed = measured::timed_kernels(profile, 16, {{"q", named}});
  REQUIRE(timed.size() == 6);  // the work of u is unknown
  CHECK(timed[0].kernel.kind == Kind::ConvPointwise);
  CHECK(timed[1].kernel.kind == Kind::Product);
  CHECK(timed[1].kernel.flops == Approx(2.0 * 128 * 768 * 3072));
  CHECK(timed[2].kernel.kind == Kind::ProductBatched);
  CHECK(timed[2].kernel.flops == Approx(2.0 * 12 * 128 * 128 * 64));
  CHECK(timed[3].kernel.kind == Kind::Transpose);
  CHECK(timed[4].kernel.kind == Kind::Small);
  CHECK(timed[5].kernel.kind == Kind::ConvQuantized);
}

TEST_CASE("a fit finds the rates that made its runs, and says how well it does without a family") {
  const CpuCoefficients truth = cpu_coefficients(sample().fitted);
  std::vector<lab::TimedCpuRun> runs;
  const std::pair<const char*, AnalyzeOptions> models[] = {
      {"resnet50", {}},
      {"mobilenet_v3_large", {}},
      {"densenet121", {}},
      {"vgg16", {}},
      {"vit_b_16", {}},
      {"swin_t", {}},
      {"bert_base", {.dims = {{"batch", 1}, {"sequence", 128}}}},
      {"gpt2", {.dims = {{"batch", 1}, {"sequence", 1}}}},
  };
  for (const auto& [name, sizes] : models) {
    const Model model = load_model(test::source_path(std::string("models/skeletons/") + name + ".onnx"));
    lab::TimedCpuRun& run = runs.emplace_back();
    run.name = run.family = name;
    run.lowered = ort_cpu_kernels(model, analyze(model, sizes), truth.channel_block);
    const double cold = cold_share(run.lowered, truth.cache_bytes);
    CpuCoefficients profiled = truth;
    profiled.launch_seconds += 3e-6;  // overhead of the profiler
    for (const OrtKernel& kernel : run.lowered.kernels) {
      run.seconds += cpu_kernel_seconds(kernel, truth, cold);
      run.timed.push_back({kernel, cpu_kernel_seconds(kernel, profiled, cold)});
      run.profiled_seconds += run.timed.back().seconds;
    }
    run.profiled_kernels = static_cast<double>(run.timed.size());
  }
  CpuCoefficients machine;
  machine.channel_block = truth.channel_block;
  machine.cache_bytes = truth.cache_bytes;
  const lab::CpuFit fit = lab::fit_cpu(runs, machine);
  CHECK(fit.fitted_mean_error < 0.03);
  CHECK(fit.file.fitted.errors.mean_error < 0.15);
  CHECK(fit.without.size() == 8);
  CHECK(fit.covered > 0);
  CHECK(fit.covered <= 1);
  CHECK(fit.coefficients.memory_bytes_per_second == Approx(truth.memory_bytes_per_second).epsilon(0.1));
  CHECK(fit.coefficients.launch_seconds == Approx(truth.launch_seconds).epsilon(0.5));
  CHECK(test::contains(test::error_of([&] { lab::fit_cpu({}, machine); }), "no runs"));
  // Of runs that were timed in both placements of their processors, it finds what they take apart.
  CHECK_FALSE(fit.coefficients.apart);
  CpuMachine apart = truth;
  apart.handoff_bytes_per_second = 15e9;
  apart.memory_bytes_per_second *= 1.2;
  apart.cache_bytes *= 2;
  for (lab::TimedCpuRun& run : runs) run.apart_seconds = cpu_run_seconds(run.lowered, truth, apart);
  const lab::CpuFit both = lab::fit_cpu(runs, machine);
  REQUIRE(both.coefficients.apart);
  CHECK(both.coefficients.apart->runs == 8);
  CHECK(both.coefficients.apart->mean_error < 0.03);
  CHECK(both.coefficients.apart->machine.handoff_bytes_per_second == Approx(15e9).epsilon(0.2));
  for (lab::TimedCpuRun& run : runs) run.apart_seconds.reset();
  // A virtual machine states the cache of its host; the runs tell how much of it there is.
  CpuCoefficients host = machine;
  host.cache_bytes = 1e10;
  const lab::CpuFit virtual_machine = lab::fit_cpu(runs, host);
  CHECK(virtual_machine.coefficients.cache_bytes < 400e6);
  CHECK(virtual_machine.fitted_mean_error < 0.05);
  // A run without a family is fitted and not judged.
  const double judged = fit.file.fitted.errors.models;
  runs.push_back(runs.front());
  runs.back().family.clear();
  CHECK(lab::fit_cpu(runs, machine).file.fitted.errors.models == judged);
  runs.pop_back();
  runs = {runs[1]};  // whose weights fit into the cache
  CHECK(test::contains(test::error_of([&] { lab::fit_cpu(runs, machine); }), "vector by vector"));
}

TEST_CASE("a calibration of a machine is read as it was written, and a broken one is refused") {
  const documents::CalibrationFile file = sample();
  CHECK(file.fitted.engine == "onnxruntime-cpu");
  const CpuCoefficients coefficients = cpu_coefficients(file.fitted);
  CHECK(coefficients.threads == 2);
  CHECK(coefficients.classes[static_cast<std::size_t>(Kind::Conv)].overlap == 3);  // as in files that do not state it
  const std::string text = documents::to_json(file);
  test::check_schema(text, "cpu-calibration");
  CHECK(documents::to_json(documents::parse_calibration(text, "again")) == text);
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string other = text;
    return other.replace(other.find(from), from.size(), to);
  };
  CHECK(test::contains(test::error_of([&] {
          documents::parse_calibration(changed("pagoda.cpu-calibration/1", "pagoda.calibration/1"), "mine.json");
        }),
                       "engine: expected pytorch-amp or"));
  // A class of a later version is named and ignored; its kernels then take the rates of a similar class.
  CHECK(documents::parse_calibration(changed("\"conv_stem\"", "\"conv_step\""), "mine.json").fitted.ignored ==
        std::vector<std::string>{"classes.conv_step"});
  // Errors without runs to determine them are null, never 0.
  documents::CalibrationFile unjudged = file;
  unjudged.fitted.errors = {};
  const std::string without = documents::to_json(unjudged);
  test::check_schema(without, "cpu-calibration");
  CHECK(test::contains(without, "\"mean_error\": null"));
  CHECK(documents::parse_calibration(without, "again").fitted.errors.models == 0);
}

TEST_CASE("a prediction is of the placement that most rounds had, and states the other") {
  documents::CalibrationFile file = sample();
  const Model model = load_model(test::source_path("models/skeletons/mobilenet_v3_large.onnx"));
  const Analysis analysis = analyze(model);
  const auto predicted = [&] { return predict(model, analysis, *file.device, file.fitted); };
  const double together = *predicted().seconds;
  CHECK_FALSE(predicted().other_placement);
  CpuCoefficients coefficients = cpu_coefficients(file.fitted);
  CpuApart& apart = coefficients.apart.emplace(CpuApart{.machine = coefficients, .share = 0.25, .runs = 20, .mean_error = 0.1});
  apart.machine.handoff_bytes_per_second = 15e9;
  file.fitted.coefficients = written_coefficients(coefficients);
  const Prediction seldom = predicted();
  CHECK(seldom.seconds == together);
  REQUIRE(seldom.other_placement);
  CHECK(seldom.other_placement->is_apart);
  CHECK(seldom.other_placement->seconds > 1.2 * together);
  file.fitted.coefficients["apart.share"] = 0.75;
  const Prediction often = predicted();
  CHECK(*often.seconds == Approx(seldom.other_placement->seconds));
  CHECK_FALSE(often.other_placement->is_apart);
  CHECK(often.other_placement->seconds == Approx(together));
  CHECK(std::accumulate(often.row_seconds.begin(), often.row_seconds.end(), 0.0) == Approx(*often.seconds));
  const std::string text = documents::to_json(file);
  test::check_schema(text, "cpu-calibration");
  CHECK(documents::to_json(documents::parse_calibration(text, "again")) == text);
}

TEST_CASE("a cubic Resize interpolates each line of the image once, then each output") {
  const auto bytes = [](const std::string& graph) {
    const Model model = test::graph(graph);
    const OrtKernels lowered = ort_cpu_kernels(model, analyze(model), 16);
    REQUIRE(lowered.kernels.size() == 1);
    CHECK(lowered.kernels.front().kind == Kind::ResizeCubic);
    return lowered.kernels.front().bytes;
  };
  // 16 B are four neighbours. Twice as many lines: half an interpolation of lines and one between them for each output.
  CHECK(bytes("x:f32[2,3,8,8], s:f32[4]=[1,1,2,2] -> y = Resize(x, , s) {mode='cubic'}") == 16 * (2 * 3 * 16 * 16) * 1.5);
  CHECK(bytes("x:f32[2,3,8,8], s:f32[4]=[1,1,0.5,0.5] -> y = Resize(x, , s) {mode='cubic'}") == 16 * (2 * 3 * 4 * 4) * 3.0);
  // An output reads four lines, however many there are.
  CHECK(bytes("x:f32[1,1,64,64], s:f32[4]=[1,1,0.125,1] -> y = Resize(x, , s) {mode='cubic'}") == 16 * (8 * 64) * 5.0);
}

TEST_CASE("kernels that are slow for a reason are named") {
  const documents::CalibrationFile file = sample();
  const Model model = load_model(test::source_path("models/skeletons/yolov8n.onnx"));
  const Prediction time = predict(model, analyze(model), *file.device, file.fitted);
  REQUIRE(!time.notes.empty());
  CHECK(time.notes.front().starts_with("softmax_outer takes "));
  CHECK(test::contains(time.notes.front(), " % of the time in 1 kernel, "));
  CHECK(test::contains(time.notes.front(), "Softmax: over another axis than the innermost"));
  const Model plain = load_model(test::source_path("models/skeletons/resnet50.onnx"));
  CHECK(predict(plain, analyze(plain), *file.device, file.fitted).notes.empty());
}

TEST_CASE("memory under ONNX Runtime holds the file's tensors, what is made of them, and an arena") {
  struct Case {
    const char* skeleton;
    std::int64_t batch;
    double measured;  // resident bytes added by two runs, ONNX Runtime 1.31.0
  };
  const Case cases[] = {
      {"resnet50_dynamic", 1, 278e6}, {"resnet50_dynamic", 8, 381e6},    {"vgg16", 1, 1041e6},
      {"vit_b_16_dynamic", 4, 588e6}, {"densenet121_dynamic", 1, 106e6},
  };
  for (const Case& c : cases) {
    CAPTURE(std::string(c.skeleton));
    const Model model = load_model(test::source_path(std::string("models/skeletons/") + c.skeleton + ".onnx"));
    const CpuMemoryTerms terms = cpu_memory_terms(model, analyze(model, {.batch = c.batch}));
    const EngineMemory memory = predict_cpu_memory(terms);
    CHECK(static_cast<double>(memory.bytes) == Approx(c.measured).epsilon(0.15));
    CHECK(static_cast<double>(memory.low) < c.measured);
    CHECK(static_cast<double>(memory.high) > c.measured);
    CHECK(memory.bytes >= memory.load_bytes);
    CHECK(memory.bytes >= memory.run_bytes);
  }
  const Model model =
      test::graph("x:f32[N,64,8,8], w:f32[64,64,1,1]=const, p:f32[8,32]=const -> t = Conv(x, w); y = MatMul(t, p)");
  const CpuMemoryTerms one = cpu_memory_terms(model, analyze(model, {.batch = 1}));
  CHECK(one.blocked == 4 * 64 * 64);
  CHECK(one.products == 4 * 8 * 32);
  CHECK(one.other == 0);
  CHECK(one.nodes == 2);
  CHECK(cpu_memory_terms(model, analyze(model, {.batch = 3})).activations == 3 * one.activations);
}

TEST_CASE("a time under ONNX Runtime on a CPU needs its calibration and no device") {
  estimate::EstimateRequest request;
  const std::string here = test::source_path("tests/predict/data/here.json");
  estimate::set_prediction("onnxruntime-cpu", here, request);
  const Model model = load_model(test::source_path("models/skeletons/resnet152.onnx"));
  const documents::EstimateDocument estimate = estimate::make_estimate(model, request);
  REQUIRE(estimate.roofline);
  REQUIRE(estimate.roofline->predicted);
  const documents::EstimatePrediction& time = *estimate.roofline->predicted;
  CHECK(time.engine == "onnxruntime-cpu");
  // 54.4 ms were measured on that machine; the fit did not use this network.
  CHECK(time.seconds == Approx(54.4e-3).epsilon(0.1));
  CHECK(time.seconds > estimate.roofline->totals.floor_seconds);
  double sum = 0;
  for (const double seconds : time.row_seconds) sum += seconds;
  CHECK(sum == Approx(*time.seconds));
  // Measured: 692 MB.
  REQUIRE(time.memory);
  CHECK(*documents::real(time.memory->bytes) == Approx(692e6).epsilon(0.1));
  CHECK(test::contains(documents::write_estimate(estimate), "\"load_bytes\""));
  test::check_schema(documents::write_estimate(estimate), "estimate");
  request.precision = Precision::Int8;
  CHECK(test::contains(test::error_of([&] { estimate::make_estimate(model, request); }), "precisions of the file"));
  CHECK(test::contains(test::error_of([&] { estimate::set_prediction("onnxruntime-cpu", "", request); }), "--here"));
  CHECK(test::contains(test::error_of([&] { estimate::set_prediction("onnxruntime-cpu", here, request); }),
                       "another `device`"));
  CHECK(test::contains(test::error_of([&] { estimate::set_prediction("tvm", "", request); }), "onnxruntime-cpu"));
}

TEST_CASE("a time under eager PyTorch on a CPU needs its calibration and no device") {
  test::Workshop shop;
  const std::string path = shop.path("torch.json");
  const documents::CalibrationFile back = test::written_here("pytorch-cpu", path);
  CHECK(back.fitted.engine == "pytorch-cpu");
  REQUIRE(back.device);

  estimate::EstimateRequest request;
  estimate::set_prediction("pytorch-cpu", path, request);
  const Model model = test::graph("x:f32[1024,512], w:f32[512,256]=const -> y = MatMul(x, w)");
  const documents::EstimateDocument estimate = estimate::make_estimate(model, request);
  REQUIRE(estimate.roofline);
  REQUIRE(estimate.roofline->predicted);
  CHECK(estimate.roofline->predicted->engine == "pytorch-cpu");
  const KernelRates rates = *kernel_rates(*back.device, eager_engine("pytorch-cpu"));
  CHECK(rates.tensor == rates.vector);
  const KernelLaunch product{.kind = KernelClass::Linear,
                             .macs = 1024.0 * 512 * 256,
                             .bytes = 4.0 * (1024 * 512 + 512 * 256 + 1024 * 256),
                             .width = 256,
                             .depth = 512,
                             .tiles = 16};
  CHECK(estimate.roofline->predicted->seconds == Approx(kernel_seconds(product, rates, eager_coefficients(back.fitted))));
  test::check_schema(documents::write_estimate(estimate), "estimate");

  request.precision = Precision::Float16;
  CHECK(test::contains(test::error_of([&] { estimate::make_estimate(model, request); }), "is for float32, not"));
  estimate::EstimateRequest other;
  CHECK(test::contains(test::error_of([&] { estimate::set_prediction("pytorch-cuda", path, other); }),
                       "is a calibration of pytorch-cpu, expected one for pytorch-cuda"));
  CHECK(test::contains(test::error_of([&] { estimate::set_prediction("pytorch-amp", path, other); }),
                       "`engine=pytorch-cpu`"));
  CHECK(test::contains(test::error_of([&] { estimate::set_prediction("pytorch-cpu", "", other); }),
                       "--here pytorch-cpu"));
  const auto refused = [&](const char* what, const char* by) {
    std::string other_text = test::read_file(path);
    other_text.replace(other_text.find(what), std::string_view(what).size(), by);
    return test::error_of([&] { documents::parse_calibration(other_text, "torch.json"); });
  };
  CHECK(test::contains(refused("pytorch-cpu", "pytorch-tpu"),
                       "engine: expected pytorch-amp or onnxruntime-cuda or pytorch-cpu or pytorch-cuda"));
  CHECK(test::contains(refused("\"precision\": \"float32\"", "\"precision\": \"float16\""), "expected float32"));
}
