// A training step as a whole: where gradients flow, what is accumulated, saved, recomputed and
// alive at the peak, and what optimizers do.
#include <doctest/doctest.h>

#include <set>

#include "pagoda/base/error.h"
#include "pagoda/core/conventions.h"
#include "pagoda/core/train.h"
#include "support/text_graph.h"

using namespace pagoda;

namespace {

Training step(const std::string& text, const TrainingOptions& options = {}) {
  const Model model = test::graph(text);
  return train(model, analyze(model), options);
}

std::vector<std::string> names(const Training& training) {
  std::vector<std::string> result;
  for (const TrainedParameter& parameter : training.parameters) result.push_back(parameter.name);
  return result;
}

// Three layers; a vector of 4 has 16 bytes, a matrix 64.
const std::string kChain =
    "x:f32[1,4], a:f32[4,4]=const, b:f32[4,4]=const, c:f32[4,4]=const -> "
    "p = MatMul(x, a) @ pa; q = Relu(p) @ qa; r = MatMul(q, b) @ ra; s = Relu(r) @ sa; t = MatMul(s, c) @ ta";

}  // namespace

// --- where gradients flow ---

TEST_CASE("the first layer computes no gradient of its input; views and what leads nowhere cost nothing") {
  const Training training = step(kChain);
  CHECK(training.totals.forward.macs == Dim(48));
  CHECK(training.totals.dx.macs == Dim(32));
  CHECK(training.totals.dw.macs == Dim(48));
  CHECK(training.rows[0].dx.bytes() == Dim(0));
  CHECK(training.totals.step.macs == Dim(48 + 32 + 48));
  CHECK(names(training) == std::vector<std::string>{"a", "b", "c"});
}

TEST_CASE("frozen parameters take no gradient, and what leads only to them none either") {
  const Training training = step(kChain, {.frozen = {"a", "b"}});
  CHECK(names(training) == std::vector<std::string>{"c"});
  CHECK(training.totals.dx.macs == Dim(0));
  CHECK(training.totals.dw.macs == Dim(16));
  CHECK(training.memory.saved_activation_bytes == Dim(16));  // s
  CHECK_THROWS_AS(step(kChain, {.frozen = {"nothing"}}), Error);
}

TEST_CASE("integers, truth values, scalars and running statistics are no parameters") {
  const Training training = step(
      "x:f32[2,3,4,4], w:f32[3,3,1,1]=const, q:i8[3]=const, l:f32[]=2.0, g:f32[3]=const, b:f32[3]=const, "
      "m:f32[3]=const, "
      "v:f32[3]=const -> y = Conv(x, w); z = BatchNormalization(y, g, b, m, v); u = Mul(z, l)");
  CHECK(names(training) == std::vector<std::string>{"w", "g", "b"});
  CHECK(training.trained_elements == Dim(9 + 3 + 3));
}

TEST_CASE("operators whose result is constant almost everywhere stop the gradient") {
  const Training training = step("x:f32[4], w:f32[4]=const -> y = Mul(x, w); z = Round(y)");
  CHECK(!training.partial);
  CHECK(training.parameters.empty());
  CHECK(training.totals.backward.bytes() == Dim(0));
}

TEST_CASE("only named outputs receive a gradient") {
  const std::string text = "x:f32[4], w:f32[4]=const, v:f32[4]=const -> y = Mul(x, w); z = Mul(x, v) => y, z";
  CHECK(names(step(text)) == std::vector<std::string>{"w", "v"});
  CHECK(names(step(text, {.outputs_with_gradient = {"z"}})) == std::vector<std::string>{"v"});
  CHECK_THROWS_AS(step(text, {.outputs_with_gradient = {"x"}}), Error);
  CHECK_THROWS_AS(step(text, {.inputs_with_gradient = {"y"}}), Error);
}

TEST_CASE("a transposed weight is transposed in every step, although inference folds it") {
  const Training training = step("x:f32[2,4], w:f32[3,4]=const -> t = Transpose(w); y = MatMul(x, t)");
  CHECK(training.rows[0].forward.bytes_read == Dim(48));
  CHECK(training.rows[0].dw.bytes_written == Dim(48));
  CHECK(training.rows[1].dw.macs == Dim(24));
  CHECK(training.rows[1].dw.bytes_read == Dim(4 * (6 + 8)));
  CHECK(training.rows[1].dx.macs == Dim(0));
  CHECK(training.memory.saved_activation_bytes == Dim(32));  // x
  CHECK(training.memory.gradient_bytes == Dim(48));
}

// --- what is accumulated ---

TEST_CASE("k readers of a value take k − 1 additions of its gradient; the first writes it") {
  const Training training =
      step("x0:f32[4,6], p:f32[6]=const -> x = Add(x0, p); a = Relu(x); b = Tanh(x); c = Sigmoid(x)");
  // Backward runs the last reader first: it writes the gradient, the others add to it (read both, write the sum).
  CHECK(training.rows[3].dx.arith == Dim(3 * 24));
  CHECK(training.rows[2].dx.arith == Dim(3 * 24 + 24));
  CHECK(training.rows[1].dx.arith == Dim(24 + 24));
  CHECK(training.rows[3].dx.bytes_written == Dim(96));
  CHECK(training.rows[1].dx.bytes_written == Dim(96 + 96));
  CHECK(training.rows[1].dx.bytes_read == Dim(192 + 192));
}

TEST_CASE("a residual sum hands its gradient on; only the join is added") {
  const Training training = step(
      "x0:f32[4,6], p:f32[6]=const, w:f32[6,6]=const "
      "-> x = Add(x0, p); y = MatMul(x, w); z = Add(x, y)");
  CHECK(training.rows[2].dx.bytes() == Dim(0));
  CHECK(training.rows[2].gradient_bytes == Dim(0));
  CHECK(training.rows[1].dx.arith == Dim(24));
}

TEST_CASE("both operands of x·x are one value: its two gradients are added before they are written") {
  const Training training = step("x0:f32[4,6], p:f32[6]=const -> x = Add(x0, p); y = Mul(x, x)");
  CHECK(training.rows[1].dx.arith == Dim(24 * 3));
  CHECK(training.rows[1].dx.bytes_read == Dim(96 * 2));
  CHECK(training.rows[1].dx.bytes_written == Dim(96));
}

TEST_CASE("a weight used twice has one gradient, added once") {
  const Training training = step("x:f32[2,4], w:f32[4,4]=const -> y = MatMul(x, w); z = MatMul(y, w)");
  CHECK(training.trained_elements == Dim(16));
  CHECK(training.rows[1].dw.arith == Dim(0));
  CHECK(training.rows[0].dw.arith == Dim(16));
  CHECK(training.rows[1].parameter_gradient_bytes == Dim(64));
  CHECK(training.rows[0].parameter_gradient_bytes == Dim(0));
}

TEST_CASE("embeddings: the gradient is dense, as many additions as picked elements") {
  const Training training = step("i:i64[B,S], t:f32[100,8]=const -> y = Gather(t, i)");
  CHECK(training.rows[0].dw.arith.to_string() == "8*B*S");
  CHECK(training.rows[0].dw.bytes_written == Dim(3200));
  CHECK(training.rows[0].dw.bytes_read.to_string() == "40*B*S");
  CHECK(training.memory.saved_activation_bytes.to_string() == "8*B*S");
}

// --- what is not known ---

TEST_CASE("an operator without a rule is reported, its inputs' gradients flow on, totals are lower bounds") {
  const Training training =
      step("x:f32[2,4], w:f32[4,4]=const -> y = MatMul(x, w); z:f32[2,4] = some.domain.Mystery(y); u = Tanh(z)");
  CHECK(training.partial);
  CHECK(training.totals.unmodelled_ops == std::vector<std::string>{"some.domain.Mystery"});
  CHECK(training.totals.unmodelled_nodes == 1);
}

TEST_CASE("gradients of known operators that are not modelled are reported") {
  const Training training = step("x:f32[2,3,3], w:f32[3]=const -> y = Mul(x, w); z = Det(y)");
  CHECK(training.partial);
  CHECK(training.rows[1].problem == "no backward rule for Det");
  CHECK(training.rows[0].dw.arith == Dim(18 + 15));  // its inputs still pass the gradient on
}

TEST_CASE("branches and loops are reported where a gradient meets them, and only there") {
  const std::string branch = "{then_branch=( -> a = Relu(y)), else_branch=( -> b = Tanh(y))}";
  const Training training =
      step("x:f32[2,4], w:f32[4,4]=const, c:bool[] -> y = MatMul(x, w); z = If(c) " + branch + "; u = Relu(z)");
  CHECK(training.partial);
  CHECK(training.totals.unmodelled_ops == std::vector<std::string>{"If"});
  CHECK(training.rows[0].dw.macs == Dim(32));
  const Training after = step("y:f32[2,4], w:f32[4,4]=const, c:bool[] -> z = If(c) " + branch + "; u = MatMul(z, w)",
                              {.outputs_with_gradient = {"u"}});
  CHECK(after.partial);  // a branch may contain weights
}

TEST_CASE("a forward row that is not modelled keeps the totals lower bounds, with or without a gradient") {
  CHECK(step("x:f32[4] -> y = some.domain.Mystery(x)").partial);
}

// --- what is saved ---

TEST_CASE("what a backward needs is kept, with its reason; tensors that share bytes count once") {
  const Training training = step(
      "x:f32[2,4], w:f32[4,4]=const, v:f32[4,3]=const, s:i64=[2,4] "
      "-> p = MatMul(x, w); q = Relu(p); r = Reshape(q, s); y = MatMul(r, v)");
  REQUIRE(training.rows[0].saved.size() == 1);
  CHECK(training.rows[0].saved[0].kind == SavedKind::Input);
  CHECK(training.rows[0].saved[0].what == "x");
  REQUIRE(training.rows[1].saved.size() == 1);
  CHECK(training.rows[1].saved[0].kind == SavedKind::Output);
  CHECK(training.rows[1].saved[0].bytes == Dim(32));
  REQUIRE(training.rows[3].saved.size() == 1);
  CHECK(training.rows[3].saved[0].what == "r");
  CHECK(training.rows[3].saved[0].bytes == Dim(0));  // shares q's bytes
  CHECK(training.memory.saved_activation_bytes == Dim(32 + 32));
}

TEST_CASE("the peak of a chain: what forward kept, and the gradients of the moment") {
  // Saved: x, q, s (16 each). Positions 0 … 4 forward, 5 the loss, 6 … 10 backward.
  // MatMul c: x q s, t (until the loss).                                 64
  // loss: x q s, t, dt                                                  80   ← the peak
  // back c: x q s, dt, ds 80; back sa: x q s, ds, dr 80; back b: x q, dr, dq 64 …
  const Training training = step(kChain);
  CHECK(training.memory.saved_activation_bytes == Dim(48));
  REQUIRE(training.memory.activation_peak_bytes.has_value());
  CHECK(*training.memory.activation_peak_bytes == Dim(80));
  CHECK(training.memory.static_bytes() == Dim(192 + 192));
  CHECK(*training.memory.peak_bytes() == Dim(384 + 80));
}

TEST_CASE("a gradient that is only renamed takes no bytes of its own") {
  // z = x + y. Backward of Add: dx = dy = dz. Backward of MatMul reads dy; its dx is
  // added in place and lives one moment.
  const Training training = step(
      "x0:f32[4,6], p:f32[6]=const, w:f32[6,6]=const "
      "-> x = Add(x0, p); y = MatMul(x, w); z = Add(x, y)");
  // Forward: x0 x | x y (x0 not saved) | x y z; the loss: x (saved for dW), z, dz; back Add: x, dz;
  // back MatMul: x, dz, and its own dx.
  CHECK(*training.memory.activation_peak_bytes == Dim(3 * 96));
  CHECK(training.memory.saved_activation_bytes == Dim(96));
}

TEST_CASE("Dropout and statistics are kept besides the values, and a Dropout's result is not a view in training") {
  const Training training = step(
      "x:f32[4,6], w:f32[6,6]=const, v:f32[6,2]=const "
      "-> y = MatMul(x, w); z = Dropout(y); u = MatMul(z, v)");
  CHECK(training.rows[1].forward.mark == Mark::Compute);
  CHECK(training.rows[1].forward.bytes_written == Dim(96 + 24));
  REQUIRE(training.rows[1].saved.size() == 1);
  CHECK(training.rows[1].saved[0].kind == SavedKind::Statistic);
  CHECK(training.rows[1].saved[0].what == "mask");
  CHECK(training.memory.saved_activation_bytes == Dim(96 + 24 + 96));  // x, the mask, z
}

// --- what is recomputed ---

TEST_CASE("pointwise results computed again: contractions' results are kept, each row runs forward once more") {
  const std::string text =
      "x:f32[2,4], w:f32[4,4]=const, v:f32[4,4]=const "
      "-> p = MatMul(x, w); q = Tanh(p); r = Sigmoid(q); y = MatMul(r, v)";
  const Training all = step(text);
  CHECK(all.memory.saved_activation_bytes == Dim(32 * 3));  // x, q, r
  CHECK(all.totals.recomputed.special == Dim(0));
  const Training some = step(text, {.recompute = Recompute::Pointwise});
  CHECK(some.memory.saved_activation_bytes == Dim(32 * 2));  // x, p
  CHECK(some.rows[1].recomputed);
  CHECK(some.rows[2].recomputed);
  CHECK(!some.rows[0].recomputed);
  CHECK(some.totals.recomputed.special == Dim(16));
  CHECK(some.totals.step.special == all.totals.step.special + 16);
  CHECK(some.totals.step.macs == all.totals.step.macs);
}

TEST_CASE("segments keep what crosses between them; inside everything that is needed runs again") {
  const Training training = step(kChain, {.recompute = Recompute::Segments, .segment_starts = {"ra"}});
  // Crosses segments: q. Saved: x and q. Recomputed: r and s of the second segment (for dW of c); of the first only
  // what q's backward needs, which is q itself.
  CHECK(training.memory.saved_activation_bytes == Dim(32));
  CHECK(training.rows[2].recomputed);
  CHECK(training.rows[3].recomputed);
  CHECK(!training.rows[0].recomputed);
  CHECK(!training.rows[4].recomputed);
  CHECK(training.totals.recomputed.macs == Dim(16));
  CHECK_THROWS_AS(step(kChain, {.recompute = Recompute::Segments, .segment_starts = {"none"}}), Error);
}

TEST_CASE("√n segments: a long chain needs less at its peak, for less than one more forward") {
  std::string text = "x:f32[64,64]";
  for (int i = 0; i < 36; ++i) text += ", w" + std::to_string(i) + ":f32[64,64]=const";
  text += " -> ";
  for (int i = 0; i < 36; ++i) {
    const std::string at = std::to_string(i), before = i == 0 ? "x" : "y" + std::to_string(i - 1);
    text += "h" + at + " = MatMul(" + before + ", w" + at + "); y" + at + " = Tanh(h" + at + "); ";
  }
  text.resize(text.size() - 2);
  const Training all = step(text);
  const Training some = step(text, {.recompute = Recompute::Sqrt});
  const Dim tensor = 64 * 64 * 4;
  CHECK(all.memory.saved_activation_bytes == 37 * tensor);
  // 72 nodes save something (an input of MatMul, an output of Tanh): 8 segments of 9 nodes. Saved: the input, 7 tensors
  // that cross segments, and the output, which exists anyway.
  CHECK(some.memory.saved_activation_bytes == 9 * tensor);
  CHECK(*some.memory.activation_peak_bytes->value() < *all.memory.activation_peak_bytes->value() / 2);
  CHECK(*some.totals.recomputed.macs.value() < *some.totals.forward.macs.value());
  CHECK(*some.totals.recomputed.macs.value() > *some.totals.forward.macs.value() / 2);
}

// --- optimizers ---

TEST_CASE("optimizers: operations, bytes and states per element") {
  struct Case {
    const char* name;
    ElementType weight;
    int arith, special, read, written, states, master;  // per element; bytes
  };
  const Case cases[] = {
      {"sgd", ElementType::Float32, 2, 0, 8, 4, 0, 0},        // w, g → w
      {"momentum", ElementType::Float32, 4, 0, 12, 8, 4, 0},  // w, g, v → w, v
      {"adam", ElementType::Float32, 11, 1, 16, 12, 8, 0},    // w, g, m, v → w, m, v
      {"adamw", ElementType::Float32, 12, 1, 16, 12, 8, 0},
      {"sgd", ElementType::Bfloat16, 2, 0, 6, 6, 0, 4},      // master, g → master, w
      {"adamw", ElementType::Float16, 12, 1, 14, 14, 8, 4},  // master, g, m, v → master, w, m, v
  };
  for (const Case& row : cases) {
    CAPTURE(std::string(row.name));
    const TrainingOptions options{.optimizer = *optimizer(row.name)};
    CHECK(to_string(options.optimizer) == row.name);
    const OpCost cost = optimizer_cost(options, row.weight, 10);
    CHECK(cost.arith == Dim(10 * row.arith));
    CHECK(cost.special == Dim(10 * row.special));
    CHECK(cost.bytes_read == Dim(10 * row.read));
    CHECK(cost.bytes_written == Dim(10 * row.written));
    const std::string type = row.weight == ElementType::Float32   ? "f32"
                             : row.weight == ElementType::Float16 ? "f16"
                                                                  : "bf16";
    const Training training = step("x:" + type + "[2,5], w:" + type + "[5,2]=const -> y = MatMul(x, w)", options);
    CHECK(training.memory.optimizer_state_bytes == Dim(10 * row.states));
    CHECK(training.memory.master_weight_bytes == Dim(10 * row.master));
    CHECK(training.totals.optimizer.bytes() == cost.bytes());
  }
  CHECK(!optimizer("rmsprop"));
  CHECK(recompute("sqrt") == Recompute::Sqrt);
  CHECK(!recompute("all"));
}

TEST_CASE("gradients and states of other types") {
  const Training training =
      step("x:bf16[2,5], w:bf16[5,2]=const -> y = MatMul(x, w)",
           {.optimizer = Optimizer::Adam, .state_type = ElementType::Bfloat16, .gradient_type = ElementType::Float32});
  CHECK(training.memory.gradient_bytes == Dim(40));
  CHECK(training.memory.optimizer_state_bytes == Dim(40));
  CHECK(training.memory.master_weight_bytes == Dim(0));
  CHECK(training.rows[0].dw.bytes_written == Dim(40));
  const Training master = step("x:f32[2,5], w:f32[5,2]=const -> y = MatMul(x, w)", {.master_weights = true});
  CHECK(master.memory.master_weight_bytes == Dim(40));
}

TEST_CASE("the published Pagoda's training step is three forwards, of FLOPs and of bytes") {
  const PagodaCount step =
      pagoda_training({.flops = 262'602'129'408, .param_bytes = 102'011'648, .memory_bytes = 7'611'123'456});
  CHECK(step.flops == Int{787'806'388'224});
  CHECK(step.memory_bytes == Int{22'833'370'368});
  CHECK(step.param_bytes == Int{102'011'648});
}
