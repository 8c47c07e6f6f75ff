// The published Pagoda estimator's rules, including its mistakes, by hand-worked cases.
#include "pagoda/core/conventions.h"

#include <doctest/doctest.h>

#include "support/text_graph.h"

namespace pagoda {
namespace {

struct Row {
  const char* graph;
  std::int64_t batch;
  std::int64_t flops, param_bytes, memory_bytes;
  const char* why;
};

// clang-format off
constexpr Row kRows[] = {
    // graph                                                                            batch  FLOPs  param bytes  memory bytes
    {"x:f32[1,160,7,7], w:f32[960,160,1,1]=const -> y = Conv(x, w)",
     1, 15'099'840, 614'400, 833'920, "the project's 1x1 convolution fixture: a bias add though there is no bias"},
    {"x:f32[1,160,7,7], w:f32[960,160,1,1]=const -> y = Conv(x, w)",
     32, 32 * 15'099'840, 614'400, 614'400 + 32 * 219'520, "FLOPs = b·F, bytes = params + b·A"},
    {"x:f32[1,24,56,56], w:f32[72,24,1,1]=const -> y = Conv(x, w)",
     1, 11'063'808, 6'912, 1'211'136, "the bottleneck fixture"},
    {"x:f32[1,160,56,56], w:f32[960,160,1,1]=const -> y = Conv(x, w)",
     1, 966'389'760, 614'400, 14'663'680, "the second bottleneck fixture"},
    {"x:f32[1,8,10,10], w:f32[8,1,3,3]=const -> y = Conv(x, w) {group=8, pads=[1,1,1,1]}",
     1, 2*800*9 + 800, 288, 288 + 4*800 + 4*800, "depthwise: Cin/g is the weight's"},
    {"x:f16[1,160,7,7], w:f16[960,160,1,1]=const -> y = Conv(x, w)",
     1, 15'099'840, 614'400, 833'920, "half precision is 4 bytes too"},
    {"x:f32[1,8,10,10], w:f32[8,8,3,3] -> y = Conv(x, w)",
     1, 0, 0, 0, "a weight that is no initializer: 0"},
    {"x:f32[4,8,10,10], w:f32[8,8,1,1]=const -> y = Conv(x, w); z = Relu(y)",
     1, 2*800*8 + 800 + 4*800, 256, 256 + 2*3200 + 2*4*3200, "a batch in the file counts in Relu, not in Conv"},
    {"x:f32[1,64], w:f32[64,128]=const, b:f32[128]=const -> h = MatMul(x, w); y = Add(h, b)",
     1, 16'384 + 128, 32'768, 33'536 + 1'536, "the linear fixture: K·N parameters"},
    {"x:f32[1,64], w:f32[64,128]=const, b:f32[128]=const -> h = MatMul(x, w); y = Add(b, h)",
     1, 16'384, 32'768, 33'536, "an initializer first: the addition is 0"},
    {"a:f32[1,16,128,64], b:f32[1,16,64,128] -> y = MatMul(a, b)",
     1, 2*16*128*128*64, 32'768, 32'768 + 4*16*128*64 + 4*16*128*128, "an activation operand counted as [K,N] parameters"},
    {"a:f32[8], b:f32[8,4] -> y = MatMul(a, b)",
     1, 0, 0, 0, "a 1-D operand: 0"},
    {"x:f32[16,64], w:f32[64,128]=const -> y = Gemm(x, w)",
     1, 16'384, 32'768, 32'768 + 4*(64+128), "the number of rows is ignored"},
    {"x:f32[1,64], w:f32[64,128]=const, t:f32[1,64]=const -> i = Identity(w); y = Gemm(x, i)",
     1, 0, 0, 0, "a weight behind Identity: 0, and an initializer first"},
    {"x:f32[2,3,4], s:f32[]=2.0 -> y = Mul(x, s)",
     2, 48, 0, 3*48*4, "a scalar operand reads as much as the other"},
    {"x:f32[N,10] -> y = Sigmoid(x)",
     1, 40, 0, 80, "a symbolic size is 1; 4 FLOPs an element"},
    {"x:f32[N,10] -> y = Sigmoid(x)",
     3, 120, 0, 240, "times the batch"},
    {"x:f32[0,10] -> y = Tanh(x)",
     1, 50, 0, 80, "a size of 0 is 1"},
    {"x:f32[1,10] -> a = Relu(x); b = HardSigmoid(a); c = HardSwish(b); d = Softmax(c); e = Erf(d)",
     1, 10 * (1 + 4 + 5 + 7 + 8), 0, 5 * 80, "weights of activations"},
    {"x:f32[1,4,8,8], s:f32[4]=const, b:f32[4]=const, m:f32[4]=const, v:f32[4]=const -> "
     "y = BatchNormalization(x, s, b, m, v)",
     1, 512, 32, 32 + 2048, "two parameters a channel"},
    {"x:f32[1,4,8,8] -> y = MaxPool(x) {kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]}",
     1, 64 * 8, 0, 4 * (256 + 64), "one comparison less than the window"},
    {"x:f32[1,4,8,8] -> y = AveragePool(x) {kernel_shape=[2,2], strides=[2,2]}",
     1, 64 * 4, 0, 4 * (256 + 64), "no division"},
    {"x:f32[1,4,8,8] -> y = GlobalAveragePool(x)",
     2, 2 * 256, 0, 2 * 4 * (256 + 4), "no division"},
    {"x:f32[2,3] -> a = Transpose(x); b = Flatten(a); c = Identity(b)",
     1, 0, 0, 3 * 48, "copies, also where nothing moves"},
    {"x:f32[2,3], y:f32[2,1], w:f32[2,5]=const -> z = Concat(x, y, w) {axis=1}",
     1, 0, 0, 4 * (6 + 2 + 18), "initializers are not counted as inputs"},
    {"x:f32[2,3], w:f32[2,5]=const -> z = Concat(x, w) {axis=1}",
     1, 0, 0, 0, "one input with a shape is too few"},
    {"x:f32[8,1,256], w:f32[1,1024,256]=const, r:f32[1,1024,256]=const -> y = LSTM(x, w, r) {hidden_size=256}",
     32, 8 * 4'243'456, 0, 2'097'152 + 8 * (16'384 + 2'048), "8 steps, no batch, the sequence read as batch"},
    {"x:f32[1,4] -> a = LeakyRelu(x); b = Exp(a); c = Clip(b)",
     1, 0, 0, 0, "operators that it does not know: 0"},
    {"x:f32[1,4] -> a = Relu(x) @ same; b = Sigmoid(a) @ same",
     1, 16, 0, 32, "nodes of one name: the last counts"},
    {"c:bool[], x:f32[1,4] -> y = If(c) {then_branch=(-> a = Relu(x)), else_branch=(-> b = Sigmoid(x))}",
     1, 0, 0, 0, "branches are not entered"},
};
// clang-format on

TEST_CASE("the published rules, faults included") {
  for (const Row& row : kRows) {
    const Model model = test::graph(row.graph);
    const PagodaCounts counts = pagoda_counts(model, analyze(model), row.batch);
    const std::string text = std::string(row.graph) + "\n  " + row.why;
    CHECK_MESSAGE(counts.failure.empty(), text);
    CHECK_MESSAGE(counts.total.flops == row.flops, text, "\n  FLOPs got ", to_string(counts.total.flops));
    CHECK_MESSAGE(counts.total.param_bytes == row.param_bytes, text, "\n  got ", to_string(counts.total.param_bytes));
    CHECK_MESSAGE(counts.total.memory_bytes == row.memory_bytes, text, "\n  got ",
                  to_string(counts.total.memory_bytes));
  }
}

TEST_CASE("where the published program ends with an exception there is no count, and it is said why") {
  struct Failing {
    const char* graph;
    const char* why;
  };
  constexpr Failing kFailing[] = {
      {"x:f32[1,4,8], w:f32[4,4,3]=const -> y = Conv(x, w) @ conv1d",
       "node conv1d: it expects a Conv weight of rank 4"},
      {"x:f32[1,4,8] -> y = MaxPool(x) {kernel_shape=[2]} @ pool1d", "node pool1d: it expects a tensor of rank 4"},
      {"x:f32[1,4,8] -> y = GlobalAveragePool(x) @ gap", "node gap: it expects a tensor of rank 4"},
      {"a:f32[3,8], b:f32[8] -> y = MatMul(a, b) @ mv", "node mv: it expects a MatMul output of rank 2"},
  };
  for (const Failing& row : kFailing) {
    const Model model = test::graph(row.graph);
    const PagodaCounts counts = pagoda_counts(model, analyze(model));
    CHECK_MESSAGE(counts.failure.find(row.why) != std::string::npos, row.graph, "\n  ", counts.failure);
    CHECK(counts.total.flops == 0);
  }
}

TEST_CASE("counts of nodes are by their index and add up") {
  const Model model = test::graph("x:f32[1,4,8,8], w:f32[4,4,1,1]=const -> y = Conv(x, w); z = Relu(y)");
  const PagodaCounts counts = pagoda_counts(model, analyze(model), 2);
  REQUIRE(counts.nodes.size() == 2);
  CHECK(counts.nodes[1].flops == 512);
  CHECK(counts.nodes[0].flops + counts.nodes[1].flops == counts.total.flops);
}

}  // namespace
}  // namespace pagoda
