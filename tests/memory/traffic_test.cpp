// Which rows run as one kernel and why, what that saves, and what stays in a cache.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "memory/oracle.h"
#include "pagoda/core/traffic.h"
#include "support/sometimes.h"
#include "support/text_graph.h"

using namespace pagoda;

namespace {

// The groups with more than one row: "activation(Conv Relu) residual(MatMul Add)".
std::string groups_of(const Model& model, const Analysis& analysis, const Traffic& traffic) {
  std::string text;
  for (const TrafficGroup& group : traffic.groups) {
    if (group.rows.size() < 2) continue;
    text += (text.empty() ? "" : " ") + std::string(to_string(group.rule)) + "(";
    for (const std::int32_t row : group.rows) {
      const NodeReport& report = analysis.nodes[static_cast<std::size_t>(row)];
      if (text.back() != '(') text += ' ';
      text += model.graphs[static_cast<std::size_t>(report.graph)].nodes[static_cast<std::size_t>(report.node)].op_type;
    }
    text += ')';
  }
  return text;
}

Dim saved(const Traffic& traffic) {
  Dim sum = 0;
  for (const TrafficGroup& group : traffic.groups) sum += group.saved;
  return sum;
}

// Checks that every row that runs is in exactly one group, and that the groups sum to the totals.
void check_sums(const Analysis& analysis, const Traffic& traffic) {
  std::vector<int> seen(analysis.nodes.size(), 0);
  Dim read = 0, written = 0, macs = 0;
  for (std::size_t g = 0; g < traffic.groups.size(); ++g) {
    const TrafficGroup& group = traffic.groups[g];
    REQUIRE(group.rows.size() == group.joined_by.size());
    CHECK(std::is_sorted(group.rows.begin(), group.rows.end()));
    for (const std::int32_t row : group.rows) {
      ++seen[static_cast<std::size_t>(row)];
      CHECK(traffic.group_of[static_cast<std::size_t>(row)] == static_cast<std::int32_t>(g));
    }
    read += group.cost.bytes_read;
    written += group.cost.bytes_written;
    macs += group.cost.macs;
  }
  for (std::size_t i = 0; i < seen.size(); ++i) {
    const Mark mark = analysis.nodes[i].cost.mark;
    CHECK(seen[i] == (mark == Mark::Compute || mark == Mark::Unmodelled ? 1 : 0));
  }
  CHECK(read == traffic.bytes_read);
  CHECK(written == traffic.bytes_written);
  CHECK(macs == analysis.totals.cost.macs);
}

struct Row {
  const char* graph;
  const char* groups;
  const char* saved;
  const char* why;
};

void check_rows(std::span<const Row> rows) {
  test::Sometimes is_fused("a group of several rows");
  for (const Row& row : rows) {
    CAPTURE(std::string(row.graph));
    CAPTURE(std::string(row.why));
    const Model model = test::graph(row.graph);
    const Analysis analysis = analyze(model);
    REQUIRE(analysis.totals.unmodelled_nodes == 0);
    const Traffic fused = traffic(model, analysis, {.model = TrafficModel::Fused});
    CHECK(groups_of(model, analysis, fused) == std::string(row.groups));
    CHECK(saved(fused).to_string() == std::string(row.saved));
    CHECK(fused.bytes() + saved(fused) == analysis.totals.cost.bytes());
    check_sums(analysis, fused);
    const test::Oracle oracle(model, analysis, {{"N", 3}});
    for (const TrafficGroup& group : fused.groups)
      if (is_fused(group.rows.size() > 1)) CHECK(group.cost.bytes().evaluate({{"N", 3}}) == oracle.group_bytes(group));
  }
}

}  // namespace

TEST_CASE("what follows a product element by element runs with it") {
  // clang-format off
  constexpr Row kRows[] = {
      {"x:f32[N,3,8,8], w:f32[4,3,1,1]=const -> c = Conv(x, w); y = Relu(c)", "activation(Conv Relu)", "2048*N",
       "c is neither written nor read"},
      {"x:f32[N,3,8,8], w:f32[4,3,1,1]=const -> c = Conv(x, w); y = Relu(c) => y, c", "activation(Conv Relu)", "1024*N",
       "an output of the model is written all the same"},
      {"x:f32[N,3,8,8], w:f32[4,3,1,1]=const -> c = Conv(x, w); y = Relu(c); z = MaxPool(c) {kernel_shape=[2,2]}",
       "activation(Conv Relu)", "1024*N", "so is what another kernel reads"},
      {"x:f32[N,3,8,8], w:f32[4,3,1,1]=const, a:f32[4]=const, b:f32[4]=const, m:f32[4]=const, v:f32[4]=const, r:f32[N,4,8,8] -> "
       "c = Conv(x, w); n = BatchNormalization(c, a, b, m, v); s = Add(n, r); y = Relu(s)",
       "batch-norm(Conv BatchNormalization Add Relu)", "6144*N", "normalise, add, activate"},
      {"x:f32[N,8], w:f32[8,4]=const, b:f32[4]=const -> m = MatMul(x, w); y = Add(m, b)", "bias(MatMul Add)", "32*N", "a bias"},
      {"x:f32[N,8], w:f32[8,4]=const, s:f32=2.0 -> m = MatMul(x, w); y = Div(m, s)", "scale(MatMul Div)", "32*N", "a scale"},
      {"x:f32[N,8], w:f32[8,4]=const -> m = MatMul(x, w); s = Sigmoid(m); y = Mul(m, s)", "activation(MatMul Sigmoid Mul)", "80*N",
       "SiLU: m is read twice"},
      {"x:f32[N,8], w:f32[8,4]=const, r:f32=1.4, o:f32=1.0, h:f32=0.5 -> m = MatMul(x, w); d = Div(m, r); e = Erf(d); a = Add(e, o); "
       "g = Mul(m, a); y = Mul(g, h)",
       "activation(MatMul Div Erf Add Mul Mul)", "176*N", "GELU by erf: 5 tensors written, 6 read"},
      {"x:f32[N,4], u:f32[4,4]=const, w:f32[4,4]=const -> a = MatMul(x, u); b = MatMul(x, w); y = Add(a, b)", "residual(MatMul MatMul Add)", "80*N",
       "two products of x are one: neither is written, x is read once"},
      {"x:f32[N,4,8,8], w:f32[4,4,1,1]=const -> c = Conv(x, w); g = GlobalAveragePool(c); s = Sigmoid(g); y = Mul(c, s)", "", "0",
       "a gate that depends on all of c cannot run with c; a broadcast operand is not element by element"},
      {"x:f32[N,4], w:f32[4,1]=const, b:f32[1,8]=const -> m = MatMul(x, w); y = Add(m, b)", "", "0", "the result has more elements than the product"},
      {"x:f32[N,3,8,8], w:f32[4,3,1,1]=const, t:i64=[0,-1] -> c = Conv(x, w); f = Reshape(c, t); y = Relu(f)", "activation(Conv Relu)", "2048*N",
       "a view between is nothing"},
  };
  // clang-format on
  check_rows(kRows);
}

TEST_CASE("element-wise chains run as one, also where they join") {
  // clang-format off
  constexpr Row kRows[] = {
      {"x:f32[N,4] -> a = Relu(x); b = Exp(a); y = Neg(b)", "elementwise(Relu Exp Neg)", "64*N", "a chain"},
      {"x:f32[N,4], z:f32[N,4] -> a = Relu(x); b = Exp(z); y = Add(a, b)", "elementwise(Relu Exp Add)", "64*N", "a tree"},
      {"x:f32[N,4] -> a = Relu(x); b = Exp(x); y = Add(a, b)", "elementwise(Relu Exp Add)", "80*N", "x is read once"},
      {"x:f32[N,1,4,4] -> a = Relu(x); p = MaxPool(a) {kernel_shape=[1,1]}; y = Add(a, p)", "", "0",
       "joining Relu and Add would enclose the pool"},
      {"x:f32[N,1], z:f32[N,4] -> a = Relu(x); y = Add(a, z)", "", "0", "a is stretched: each of its elements is used four times"},
      {"x:f32[N,4] -> a = Cast(x) {to=f16}; y = Relu(a)", "elementwise(Cast Relu)", "16*N", "a cast is element by element"},
  };
  // clang-format on
  check_rows(kRows);
}

TEST_CASE("norms written out run as one, a row at a time") {
  // clang-format off
  constexpr Row kRows[] = {
      {"x:f32[N,8], k:i64=[-1], two:f32=2.0, e:f32=1e-5, w:f32[8]=const, b:f32[8]=const -> m = ReduceMean(x, k); d = Sub(x, m); "
       "p = Pow(d, two); v = ReduceMean(p, k); s = Add(v, e); r = Sqrt(s); q = Div(d, r); g = Mul(q, w); y = Add(g, b)",
       "normalisation(ReduceMean Sub Pow ReduceMean Add Sqrt Div Mul Add)", "352*N",
       "LayerNorm: x is read once, d not twice, p, q, g not at all, nor the four of one element a row"},
      {"h:f32[N,8], u:f32[8,8]=const, k:i64=[-1], two:f32=2.0, e:f32=1e-5, w:f32[8]=const, o:f32[8,8]=const -> a = MatMul(h, u); x = Add(a, h); "
       "p = Pow(x, two); v = ReduceMean(p, k); s = Add(v, e); r = Sqrt(s); q = Div(x, r); g = Mul(q, w); b = MatMul(g, o); y = Add(b, x)",
       "residual(MatMul Add) normalisation(Pow ReduceMean Add Sqrt Div Mul) residual(MatMul Add)", "344*N",
       "RMSNorm of a residual stream: its square is left to the norm"},
      {"x:f32[N,8], k:i64=[-1] -> m = ReduceMax(x, k); d = Sub(x, m); e = Exp(d); s = ReduceSum(e, k); y = Div(e, s)",
       "normalisation(ReduceMax Sub Exp ReduceSum Div)", "208*N", "softmax written out"},
      {"x:f32[N,8], s:f32=0.5 -> a = Mul(x, s); y = Softmax(a)", "softmax(Mul Softmax)", "64*N", "a scale before softmax"},
      {"x:f32[N,8], r:f32[N,8], w:f32[8]=const -> a = Add(x, r); y = LayerNormalization(a, w)", "normalisation(Add LayerNormalization)", "64*N",
       "a residual before a norm"},
      {"x:f32[N,8], k:i64=[0] -> a = Relu(x); y = ReduceMean(a, k)", "", "0", "a reduction along the first axis"},
      {"x:f32[N,8], k:i64=[-1], w:f32[8,8]=const -> a = MatMul(x, w); y = ReduceMax(a, k)", "", "0", "a product's tile holds no row"},
      {"x:f32[N,2,8], k:i64=[-1], j:i64=[-1,-2] -> a = Exp(x); b = ReduceSum(a, k) {keepdims=0}; c = ReduceSum(a, j)",
       "normalisation(Exp ReduceSum)", "64*N", "two reductions of different rows do not share a kernel"},
      {"x:f32[N,8], k:i64=[-1], o:i64=[-1] -> a = Exp(x); s = ReduceSum(a, k) {keepdims=0}; u = Unsqueeze(s, o); y = Div(a, u)",
       "normalisation(Exp ReduceSum Div)", "104*N", "a statistic whose axis comes back by a view"},
      {"x:f32[8,8], k:i64=[-1] -> s = ReduceSum(x, k) {keepdims=0}; y = Div(x, s)", "", "0",
       "a statistic that meets columns, not rows"},
  };
  // clang-format on
  check_rows(kRows);
}

TEST_CASE("attention written out runs as one: scores never leave the chip") {
  // clang-format off
  constexpr Row kRows[] = {
      {"q:f32[N,4,8], k:f32[N,6,8], v:f32[N,6,8], s:f32=0.3, m:f32[4,6]=const -> t = Transpose(k) {perm=[0,2,1]}; a = MatMul(q, t); "
       "b = Mul(a, s); c = Add(b, m); p = Softmax(c); y = MatMul(p, v)",
       "attention(Transpose MatMul Mul Add Softmax MatMul)", "1152*N", "4 tensors of scores and the transposed keys, each written and read"},
      {"q:f32[N,4,2,8], k:f32[N,6,2,8], v:f32[N,6,2,8] -> a = Transpose(q) {perm=[0,2,1,3]}; b = Transpose(k) {perm=[0,2,3,1]}; "
       "c = Transpose(v) {perm=[0,2,1,3]}; s = MatMul(a, b); p = Softmax(s); o = MatMul(p, c); y = Transpose(o) {perm=[0,2,1,3]}",
       "attention(Transpose Transpose Transpose MatMul Softmax MatMul Transpose)", "3328*N", "heads split and joined again"},
      {"q:f32[N,4,8], k:f32[N,8,6], v:f32[N,6,8] -> a = MatMul(q, k); p = Softmax(a); y = MatMul(p, v) => y, p", "", "0",
       "probabilities that are asked for must be written"},
      {"q:f32[N,4,8], k:f32[N,8,6], v:f32[N,6,8] -> a = MatMul(q, k); p = Softmax(a); y = MatMul(p, v) => y, a", "", "0",
       "so must the scores"},
      {"q:f32[N,4,8], k:f32[N,8,6], v:f32[N,6,8], o:f32=0.0 -> a = MatMul(q, k); p = Softmax(a); n = IsNaN(p); z = Where(n, o, p); y = MatMul(z, v)",
       "attention(MatMul Softmax IsNaN Where MatMul)", "720*N", "a guard against rows without keys"},
      {"q:f32[N,4,4,8], k:f32[N,2,1,8,6], v:f32[N,4,6,8], g:i64=[1,1,2,1,1], t:i64=[0,4,8,6] -> e = Expand(k, g); f = Reshape(e, t); "
       "a = MatMul(q, f); p = Softmax(a); y = MatMul(p, v)",
       "attention(Expand MatMul Softmax MatMul)", "3072*N", "heads that share keys: the copies are never made"},
      {"opset=23 : q:f32[N,4,4,8], k:f32[N,2,1,6,8], v:f32[N,2,1,6,8], g:i64=[1,1,2,1,1], t:i64=[0,4,6,8] -> e = Expand(k, g); f = Reshape(e, t); "
       "h = Expand(v, g); i = Reshape(h, t); y = Attention(q, f, i)",
       "attention(Expand Expand Attention)", "3072*N", "the same before an operator that is attention in itself"},
      {"q:f32[N,4,8], k:f32[N,6,8], v:f32[N,6,8] -> a = Einsum(q, k) {equation='bqd,bkd->bqk'}; p = Softmax(a); y = Einsum(p, v) {equation='bqk,bkd->bqd'}",
       "attention(Einsum Softmax Einsum)", "384*N", "as Einsum"},
      {"q:f32[N,6,8], k:f32[N,6,8], v:f32[N,6,8] -> a = Einsum(q, k) {equation='bqd,bkd->bqk'}; p = Softmax(a); y = Einsum(p, v) {equation='bqk,bqd->bkd'}",
       "", "0", "a product that does not sum over the keys"},
      {"q:f32[N,4,8], k:f32[N,8,6], v:f32[N,6,8] -> a = MatMul(q, k); p = Softmax(a) {axis=1}; y = MatMul(p, v)", "", "0", "a softmax along the queries"},
  };
  // clang-format on
  check_rows(kRows);
}

TEST_CASE("what only moves elements is part of reading or of writing them") {
  // clang-format off
  constexpr Row kRows[] = {
      {"x:f32[N,8,8], r:f32[N,8,8], w:f32[8,8]=const -> m = MatMul(x, w); t = Transpose(m) {perm=[0,2,1]}; y = Add(t, r)",
       "residual(MatMul Transpose Add)", "1024*N", "what follows sees the order in which the product is written"},
      {"x:f32[N,8], w:f32[8,16]=const -> m = MatMul(x, w); a, b = Split(m) {axis=1, num_outputs=2}; s = Sigmoid(a); y = Mul(s, b)",
       "activation(MatMul Split Sigmoid Mul)", "320*N", "a product that gates itself"},
      {"x:f32[N,4,8,8], b:i64=[0,0], c:i64=[0,1], d:i64=[1,0], f:i64=[1,1], e:i64=[8,8], a:i64=[2,3], s:i64=[2,2], w:f32[8,16,1,1]=const -> "
       "i = Slice(x, b, e, a, s); j = Slice(x, c, e, a, s); k = Slice(x, d, e, a, s); l = Slice(x, f, e, a, s); p = Concat(i, j, k, l) {axis=1}; y = Conv(p, w)",
       "layout(Slice Slice Slice Slice Concat Conv)", "4096*N", "space to depth by slices: the image is read once"},
      {"x:f32[N,8], u:f32[8,4]=const, v:f32[8,4]=const -> a = MatMul(x, u); b = MatMul(x, v); s = Sigmoid(a); g = Mul(a, s); y = Mul(g, b)",
       "activation(MatMul MatMul Sigmoid Mul Mul)", "176*N", "two products of x are one"},
      {"x:f32[N,8], w:f32[8,8]=const -> t = Transpose(x); m = MatMul(x, w); y = Transpose(x) {perm=[1,0]}", "", "0", "results that are wanted are written"},
      {"x:f32[N,1,2,8], w:f32[8,8]=const, c:f32[2,8], n:f32[2,8], z:i64=[0], h:i64=[4], o:i64=[8], l:i64=[-1] -> q = MatMul(x, w); k = Mul(q, c); "
       "a = Slice(q, z, h, l); b = Slice(q, h, o, l); m = Neg(b); r = Concat(m, a) {axis=-1}; s = Mul(r, n); y = Add(k, s)",
       "rotation(MatMul Mul Slice Slice Neg Concat Mul Add)", "768*N", "rotary positions after a product"},
  };
  // clang-format on
  check_rows(kRows);
}

TEST_CASE("quantised kernels take their conversions in") {
  // clang-format off
  constexpr Row kRows[] = {
      {"x:u8[N,4,8,8], w:i8[4,4,1,1]=const, s:f32=0.1, z:u8=0, o:i8=0 -> a = DequantizeLinear(x, s, z); b = DequantizeLinear(w, s, o); "
       "c = Conv(a, b); r = Relu(c); y = QuantizeLinear(r, s, z)",
       "activation(DequantizeLinear DequantizeLinear Conv Relu QuantizeLinear)", "6144*N + 137", "reads and writes integers only"},
      {"x:u8[N,4], s:f32=0.1, z:u8=0 -> a = DequantizeLinear(x, s, z); b = Relu(a); c = Exp(a); y = Add(b, c)",
       "dequantize(DequantizeLinear Relu Exp Add)", "112*N", "read twice in one kernel"},
      {"x:i8[N,8], w:i8[8,8]=const, v:i8[8,8]=const, s:f32=0.1 -> d = DequantizeLinear(x, s); e = DequantizeLinear(w, s); "
       "f = DequantizeLinear(v, s); a = MatMul(d, e); b = MatMul(d, f)",
       "dequantize(DequantizeLinear DequantizeLinear MatMul) dequantize(DequantizeLinear MatMul)", "88*N + 1028",
       "read by two kernels: each dequantises for itself"},
      {"x:i8[N,8], w:i8[8,8]=const, r:i8[N,8], s:f32=0.1, o:i8=0 -> a = DequantizeLinear(x, s); b = DequantizeLinear(w, s); c = MatMul(a, b); "
       "q = QuantizeLinear(c, s, o); d = DequantizeLinear(q, s); e = DequantizeLinear(r, s); f = Add(d, e); y = QuantizeLinear(f, s, o)",
       "residual(DequantizeLinear DequantizeLinear MatMul QuantizeLinear DequantizeLinear DequantizeLinear Add QuantizeLinear)", "336*N + 533",
       "a residual of requantised numbers"},
      {"x:u8[N,4], r:u8[N,4], s:f32=0.1, z:u8=0 -> a = DequantizeLinear(x, s, z); b = DequantizeLinear(r, s, z); c = Add(a, b); y = QuantizeLinear(c, s, z)",
       "quantize(DequantizeLinear DequantizeLinear Add QuantizeLinear)", "96*N + 10", "an addition of integers"},
      {"x:f32[N,8], w:i4[4,8]=const, s:f32=0.1 -> d = DequantizeLinear(w, s); t = Transpose(d); y = MatMul(x, t)",
       "dequantize(DequantizeLinear Transpose MatMul)", "512", "a weight of 4 bits"},
      {"x:f32[N,8], k:f32[N,4,8] -> t = Transpose(k) {perm=[0,2,1]}; y = MatMul(x, t)", "layout(Transpose MatMul)", "256*N", "operands either way round"},
      {"x:f32[N,8], k:f32[4,N,8] -> t = Transpose(k) {perm=[1,2,0]}; y = MatMul(x, t)", "layout(Transpose MatMul)", "256*N", "and in any other order of axes"},
  };
  // clang-format on
  check_rows(kRows);
}

TEST_CASE("groups of random graphs are closed and move what an oracle says") {
  test::Sometimes is_fused("a group of several rows");
  for (unsigned seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    const Model model = test::graph(test::random_graph(seed, 60));
    const Analysis analysis = analyze(model);
    REQUIRE(analysis.totals.unmodelled_nodes == 0);
    const Bindings bindings = {{"N", 5}};
    const test::Oracle oracle(model, analysis, bindings);
    const Traffic fused = traffic(model, analysis, {.model = TrafficModel::Fused});
    check_sums(analysis, fused);
    CHECK(oracle.can_run_in_order(fused));
    for (const TrafficGroup& group : fused.groups)
      if (is_fused(group.rows.size() > 1)) CHECK(group.cost.bytes().evaluate(bindings) == oracle.group_bytes(group));
    Int before = fused.bytes().evaluate(bindings);
    for (const std::int64_t l2 : {0, 256, 4096, 1 << 20}) {
      const Traffic resident =
          traffic(model, analysis, {.model = TrafficModel::Resident, .l2_bytes = l2, .bindings = bindings});
      CHECK(*resident.bytes().value() <= fused.bytes().evaluate(bindings));
      const bool is_between = l2 > 0 && l2 < 1 << 20;
      CHECK((is_between || *resident.bytes().value() <= before));
      before = std::min(before, *resident.bytes().value());
    }
  }
}

TEST_CASE("rows of bodies are groups of one") {
  const Model model = test::graph(
      "c:bool[], x:f32[N,4] -> a = Relu(x); y = If(c) {then_branch=(-> b = Relu(a); t = Exp(b)), else_branch=(-> e = "
      "Relu(a))}; z = Exp(y); u = Neg(z)");
  const Analysis analysis = analyze(model);
  const Traffic fused = traffic(model, analysis, {.model = TrafficModel::Fused});
  CHECK(groups_of(model, analysis, fused) == "elementwise(Exp Neg)");
  check_sums(analysis, fused);
  const Traffic unfused = traffic(model, analysis);
  check_sums(analysis, unfused);
  CHECK(unfused.bytes() == analysis.totals.cost.bytes());
  const Traffic resident = traffic(model, analysis, {.model = TrafficModel::Resident, .l2_bytes = 1 << 20});
  // The branch reads a, so a is written; the branch writes y, so y is read from memory.
  CHECK(resident.bytes() == Dim(16 * (1 + 1 + 2 + 2 + 1 + 1)));
}

TEST_CASE("a cache keeps whole tensors, the least recently used go first") {
  struct Case {
    const char* graph;
    std::int64_t l2_bytes;
    int read, written;
    std::size_t stayed;
    const char* why;
  };
  // Each tensor has 64 bytes; pools do not fuse.
  // clang-format off
  constexpr Case kCases[] = {
      {"x:f32[1,1,4,4] -> a = MaxPool(x) {kernel_shape=[1,1]}; y = MaxPool(a) {kernel_shape=[1,1]}", 0, 128, 128, 0, "no cache: as fused"},
      {"x:f32[1,1,4,4] -> a = MaxPool(x) {kernel_shape=[1,1]}; y = MaxPool(a) {kernel_shape=[1,1]}", 127, 64, 128, 1, "a is hit, but must go for y before its reader has run"},
      {"x:f32[1,1,4,4] -> a = MaxPool(x) {kernel_shape=[1,1]}; y = MaxPool(a) {kernel_shape=[1,1]}", 128, 64, 64, 1, "a never leaves"},
      {"x:f32[1,1,4,4] -> a = MaxPool(x) {kernel_shape=[1,1]}; b = MaxPool(x) {kernel_shape=[1,1]}; y = Concat(a, b) {axis=0}", 256, 64, 128, 3, "x too is read once"},
      {"x:f32[1,1,4,4] -> a = MaxPool(x) {kernel_shape=[1,1]}; b = MaxPool(a) {kernel_shape=[1,1]}; c = MaxPool(b) {kernel_shape=[1,1]}; y = Concat(a, c) {axis=0}", 320, 64, 128, 3, "all stay: y takes 128"},
      {"x:f32[1,1,4,4] -> a = MaxPool(x) {kernel_shape=[1,1]}; b = MaxPool(a) {kernel_shape=[1,1]}; c = MaxPool(b) {kernel_shape=[1,1]}; y = Concat(a, c) {axis=0}", 128, 128, 256, 3,
       "a is written when c enters, and read again"},
      {"x:f32[1,1,4,4], b:i64[1]=[0], e:i64[1]=[2], d:i64[1]=[2] -> a = MaxPool(x) {kernel_shape=[1,1]}; y = Slice(a, b, e, d)", 128, 64, 32, 1,
       "the bounds of a slice are not read from memory: no part of what a row reads is guessed"},
  };
  // clang-format on
  for (const Case& row : kCases) {
    CAPTURE(std::string(row.graph));
    CAPTURE(row.l2_bytes);
    CAPTURE(std::string(row.why));
    const Model model = test::graph(row.graph);
    const Analysis analysis = analyze(model);
    const Traffic resident = traffic(model, analysis, {.model = TrafficModel::Resident, .l2_bytes = row.l2_bytes});
    CHECK(resident.bytes_read == Dim(row.read));
    CHECK(resident.bytes_written == Dim(row.written));
    CHECK(resident.stayed.size() == row.stayed);
    check_sums(analysis, resident);
  }
}

TEST_CASE("names of traffic models are read back, and every fusion has a name of its own") {
  std::set<std::string_view> names;
  for (int i = 0; i < static_cast<int>(Fusion::None); ++i) names.insert(to_string(static_cast<Fusion>(i)));
  CHECK(names.size() == static_cast<std::size_t>(Fusion::None));
  CHECK_FALSE(names.contains(""));
  for (const TrafficModel model : {TrafficModel::Unfused, TrafficModel::Fused, TrafficModel::Resident})
    CHECK(traffic_model(to_string(model)) == model);
  CHECK_FALSE(traffic_model("dram"));
}
