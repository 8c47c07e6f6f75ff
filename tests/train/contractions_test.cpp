// Backward of contractions against loops over every product y[o] += a[i]·b[j] of forward: each takes one
// multiply-accumulate da[i] += dy[o]·b[j] and one db[j] += dy[o]·a[i].
#include <doctest/doctest.h>

#include <functional>

#include "pagoda/core/train.h"
#include "support/text_graph.h"
#include "train/cases.h"

using namespace pagoda;

namespace {

// Runs `visit` for every index below the sizes.
void loop(const std::vector<int>& sizes, const std::function<void(const std::vector<int>&)>& visit) {
  std::vector<int> at(sizes.size(), 0);
  while (true) {
    visit(at);
    std::size_t axis = sizes.size();
    while (axis > 0 && ++at[axis - 1] == sizes[axis - 1]) at[--axis] = 0;
    if (axis == 0) return;
  }
}

long count(const std::vector<int>& sizes) {
  long products = 0;
  loop(sizes, [&](const std::vector<int>&) { ++products; });
  return products;
}

struct Case {
  const char* inputs;  // besides x, an activation of shape `x`
  const char* x;
  const char* node;
  std::vector<int> products;  // the loops of forward; taps on padding count, too
  int y, w, bias;             // elements; −1: no bias
};

const Case kCases[] = {
    // n, M, oy, ox, C/group, ky, kx
    {"w:f32[4,3,3,3]=const, b:f32[4]=const",
     "[2,3,5,5]",
     "Conv(x, w, b) {pads=[1,1,1,1]}",
     {2, 4, 5, 5, 3, 3, 3},
     200,
     108,
     4},
    {"w:f32[6,1,3,3]=const, b:f32[6]=const",
     "[2,6,5,5]",
     "Conv(x, w, b) {group=6, strides=[2,2]}",
     {2, 6, 2, 2, 1, 3, 3},
     48,
     54,
     6},
    {"w:f32[4,2,3]=const, b:f32[4]=const",
     "[2,4,9]",
     "Conv(x, w, b) {group=2, dilations=[2]}",
     {2, 4, 5, 2, 3},
     40,
     24,
     4},
    // n, C, iy, ix, M/group, ky, kx
    {"w:f32[3,4,2,2]=const, b:f32[4]=const",
     "[2,3,5,5]",
     "ConvTranspose(x, w, b) {strides=[2,2]}",
     {2, 3, 5, 5, 4, 2, 2},
     800,
     48,
     4},
    {"w:f32[6,5]=const, b:f32[5]=const", "[4,6]", "Gemm(x, w, b)", {4, 5, 6}, 20, 30, 5},
    {"w:f32[5,6]=const, b:f32[4,5]=const", "[4,6]", "Gemm(x, w, b) {transB=1}", {4, 5, 6}, 20, 30, 20},
    {"w:f32[6,5]=const, b:f32[5]=const", "[6,4]", "Gemm(x, w, b) {transA=1}", {4, 5, 6}, 20, 30, 5},
    {"w:f32[6,5]=const", "[2,3,4,6]", "MatMul(x, w)", {2, 3, 4, 5, 6}, 120, 30, -1},
    {"w:f32[3,6,5]=const", "[2,1,4,6]", "MatMul(x, w)", {2, 3, 4, 5, 6}, 120, 90, -1},
    {"w:f32[6]=const", "[4,6]", "MatMul(x, w)", {4, 6}, 4, 6, -1},
    {"w:f32[6,5]=const", "[2,4,6]", "Einsum(x, w) {equation='bij,jk->bik'}", {2, 4, 5, 6}, 40, 30, -1},
    {"w:f32[6,5]=const", "[3,4,6]", "com.microsoft.FusedMatMul(x, w)", {3, 4, 5, 6}, 60, 30, -1},
    {"w:f32[6,1,3]=const, b:f32[6]=const", "[2,6,7]", "CausalConvWithState(x, w, b)", {2, 6, 7, 3}, 84, 18, 6},
};

Model model_of(const Case& row) {
  return test::graph(std::string("opset=27 com.microsoft=1 : x0:f32") + row.x + ", s:f32[1]=const, " + row.inputs +
                     " -> x = Add(x0, s); y = " + row.node +
                     (std::string(row.node).starts_with("Causal") ? " => y" : ""));
}

}  // namespace

std::vector<std::string> test::contraction_nodes() {
  std::vector<std::string> nodes = {"Attention(", "LSTM(", "GRU(", "RNN("};
  for (const Case& row : kCases) nodes.emplace_back(row.node);
  return nodes;
}

TEST_CASE("each operand's gradient takes the products of forward; a bias sums") {
  for (const Case& row : kCases) {
    CAPTURE(std::string(row.node));
    const Model model = model_of(row);
    const Analysis analysis = analyze(model);
    const Training training = train(model, analysis);
    REQUIRE_MESSAGE(!training.partial, training.rows.back().problem);
    const TrainingRow& got = training.rows.back();
    const long products = count(row.products);
    const Dim x_bytes = 4 * element_count(*analysis.types[0].shape);
    CHECK(got.forward.macs == Dim(products));
    CHECK(got.dx.macs == Dim(products));
    CHECK(got.dw.macs == Dim(products));
    CHECK(got.dx.arith == Dim(0));
    CHECK(got.dw.arith == Dim(row.bias < 0 ? 0 : row.y - row.bias));
    CHECK(got.dx.bytes_read == Dim(4 * (row.y + row.w)));
    CHECK(got.dx.bytes_written == x_bytes);
    CHECK(got.dw.bytes_read == 4 * row.y + x_bytes);
    CHECK(got.dw.bytes_written == Dim(4 * (row.w + std::max(row.bias, 0))));
    CHECK(got.saved_bytes() == x_bytes);
    // With frozen weights only the gradient of x is computed, and nothing is saved for the weights.
    const Training frozen = train(model, analysis, {.frozen = {"w"}});
    CHECK(frozen.rows.back().dw.macs == Dim(0));
    CHECK(frozen.rows.back().dx.macs == Dim(products));
    CHECK(frozen.rows.back().saved_bytes() == Dim(0));
    // Without trained parameters before it, it is the first layer.
    const Training first = train(model, analysis, {.frozen = {"s"}});
    CHECK(first.rows.back().dx.macs == Dim(0));
    CHECK(first.rows.back().dw.macs == Dim(products));
    const Training wanted = train(model, analysis, {.frozen = {"s"}, .inputs_with_gradient = {"x0"}});
    CHECK(wanted.rows.back().dx.macs == Dim(products));
  }
}

TEST_CASE("scales of Gemm: a product per element of dy for each operand, and of C's gradient") {
  const Model model = test::graph(
      "x0:f32[4,6], s:f32[6]=const, w:f32[6,5]=const, c:f32[5]=const "
      "-> x = Add(x0, s); y = Gemm(x, w, c) {alpha=0.5, beta=2.0}");
  const TrainingRow row = train(model, analyze(model)).rows.back();
  CHECK(row.dx.arith == Dim(20));
  CHECK(row.dw.arith == Dim(20 + 15 + 5));
}

TEST_CASE("attention: four products, the softmax's gradient, and the probabilities kept or computed again") {
  const Model model = test::graph(
      "opset=23 : q0:f32[2,3,5,8], k0:f32[2,3,7,8], v0:f32[2,3,7,8], a:f32[1]=const "
      "-> q = Add(q0, a); k = Add(k0, a); v = Add(v0, a); y = Attention(q, k, v)");
  const Analysis analysis = analyze(model);
  const TrainingRow row = train(model, analysis).rows.back();
  long pairs = 0, keys = 0, values = 0;  // dQ or dK, dP or dV
  loop({2, 3, 5, 7}, [&](const std::vector<int>&) { ++pairs; });
  loop({2, 3, 5, 7, 8}, [&](const std::vector<int>&) { ++keys, ++values; });
  CHECK(row.forward.macs == Dim(keys + values));
  CHECK(row.dx.macs == Dim(2 * keys + 2 * values));
  CHECK(row.dx.arith == Dim(5 * pairs));
  const Dim inputs = 4 * 2 * 3 * (5 + 7 + 7) * 8;
  CHECK(row.saved_bytes() == inputs + 4 * pairs);
  const TrainingRow again = train(model, analysis, {.recompute_attention = true}).rows.back();
  CHECK(again.dx.macs == Dim(3 * keys + 2 * values));
  CHECK(again.dx.special == Dim(pairs));
  CHECK(again.saved_bytes() == inputs + 4 * (2 * 3 * 5));
}

TEST_CASE("recurrent layers: the input's part and the recurrent part, each once for data, weights and time") {
  struct Recurrent {
    const char* op;
    const char* attributes;
    int gates, arith, kept;  // per hidden element and step; saved besides the hidden state
  };
  for (const Recurrent& of :
       {Recurrent{"LSTM", "", 4, 23, 6}, Recurrent{"GRU", "", 3, 19, 3},
        Recurrent{"GRU", ", linear_before_reset=1", 3, 18, 4}, Recurrent{"RNN", ", activations=['Tanh']", 1, 4, 0}}) {
    CAPTURE(std::string(of.op));
    const std::string gates = std::to_string(of.gates * 5), both = std::to_string(of.gates * 10);
    const Model model =
        test::graph("opset=14 : x0:f32[7,2,3], s:f32[1]=const, w:f32[1," + gates + ",3]=const, r:f32[1," + gates +
                    ",5]=const, b:f32[1," + both + "]=const -> x = Add(x0, s); y = " + of.op +
                    "(x, w, r, b) {hidden_size=5" + of.attributes + "}");
    const Training training = train(model, analyze(model));
    REQUIRE_MESSAGE(!training.partial, training.rows.back().problem);
    const TrainingRow& row = training.rows.back();
    long input = 0, recurrent = 0, cells = 0;
    loop({7, 2, 5}, [&](const std::vector<int>&) {
      ++cells;
      for (int gate = 0; gate < of.gates; ++gate) {
        for (int i = 0; i < 3; ++i) ++input;
        for (int h = 0; h < 5; ++h) ++recurrent;
      }
    });
    CHECK(row.forward.macs == Dim(input + recurrent));
    CHECK(row.dx.macs == Dim(input + recurrent));
    CHECK(row.dw.macs == Dim(input + recurrent));
    CHECK(row.dx.arith == Dim(of.arith * cells));
    CHECK(row.dw.arith == Dim(of.gates * (cells - 5)));
    CHECK(row.saved_bytes() == Dim(4 * (7 * 2 * 3 + (of.kept + 1) * cells)));
  }
}

TEST_CASE("gates with activations of their own are reported, never guessed") {
  const Model model = test::graph(
      "opset=14 : x:f32[7,2,3], w:f32[1,5,3]=const, r:f32[1,5,5]=const "
      "-> y = RNN(x, w, r) {hidden_size=5, activations=['Affine']}");
  const Training training = train(model, analyze(model));
  CHECK(training.partial);
  CHECK(training.totals.unmodelled_ops == std::vector<std::string>{"RNN"});
}
