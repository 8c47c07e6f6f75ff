// The memory plan: lifetimes and peaks by hand and against an oracle, in-place reuse, arenas, orders, weights, caches.
#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "memory/arena.h"
#include "memory/oracle.h"
#include "pagoda/base/error.h"
#include "pagoda/core/memory.h"
#include "pagoda/core/traffic.h"
#include "support/sometimes.h"
#include "support/text_graph.h"

using namespace pagoda;

namespace {

std::string names(const Model& model, const MemoryPlan& plan) {
  std::vector<std::string> result;
  for (const std::size_t i : plan.peak_tensors) {
    const PlannedTensor& tensor = plan.tensors[i];
    result.push_back(tensor.value == kAbsent ? "body"
                                             : model.main().values[static_cast<std::size_t>(tensor.value)].name);
  }
  std::sort(result.begin(), result.end());
  std::string joined;
  for (const std::string& name : result) joined += (joined.empty() ? "" : " ") + name;
  return joined;
}

// Two tensors that are alive at the same step must not share bytes of the arena, and all must lie inside it.
void check_arena(const MemoryPlan& plan, std::int64_t alignment) {
  REQUIRE(plan.arena_bytes);
  CHECK(*plan.arena_bytes >= plan.peak_bytes);
  for (std::size_t i = 0; i < plan.tensors.size(); ++i) {
    const PlannedTensor& a = plan.tensors[i];
    REQUIRE(a.offset);
    CHECK(*a.offset % alignment == 0);
    CHECK(*a.offset + a.bytes <= *plan.arena_bytes);
    for (std::size_t j = 0; j < i; ++j) {
      const PlannedTensor& b = plan.tensors[j];
      const bool meet = a.first_step <= b.last_step && b.first_step <= a.last_step;
      const bool overlap = *a.offset < *b.offset + b.bytes && *b.offset < *a.offset + a.bytes;
      if (meet && overlap) FAIL_CHECK("tensors " << i << " and " << j << " overlap");
    }
  }
}

}  // namespace

TEST_CASE("the peak is what is alive while one node runs, by hand") {
  struct Row {
    const char* graph;
    const char* formula;
    int step;
    const char* tensors;  // at the peak, with free dims at 1
    const char* why;
  };
  // clang-format off
  constexpr Row kRows[] = {
      {"x:f32[N,4] -> a = Relu(x); y = Relu(a)", "32*N", 0, "a x", "a node's input and output are both alive"},
      {"x:f32[N,4] -> a = Relu(x); b = Relu(a); y = Add(b, x)", "48*N", 1, "a b x", "x waits for the sum"},
      {"x:f32[N,4] -> a = Identity(x); b = Relu(x); c = Relu(b); y = Add(c, a)", "48*N", 2, "b c x", "a view keeps its source"},
      {"x:f32[N,4], t:i64[1]=[-1] -> r = Reshape(x, t); s = Shape(x); y = Relu(r)", "32*N", 2, "x y", "a shape needs no bytes"},
      {"x:f32[N,4] -> a = Relu(x); s = Shape(x); b = Relu(a); c = Relu(b); y = Expand(c, s)", "32*N", 0, "a x",
       "asking for the shape of x does not keep it"},
      {"x:f32[N,4], w:f32[4,4]=const -> v = Transpose(w); y = MatMul(x, v)", "32*N", 1, "x y", "weights and constants are apart"},
      {"x:f32[N,4], z:f32[N,9] -> y = Relu(x)", "32*N", 0, "x y", "an input that nobody reads"},
      {"x:f32[N,4] -> a = Relu(x); y = Relu(a); u = Relu(a) => y", "48*N", 2, "a u y", "a result that nobody reads lives while it is made"},
      {"x:f32[N,4] -> y = Relu(x); a = Relu(x); b = Relu(a) => y, b", "48*N", 1, "a x y", "outputs live to the end"},
      {"x:f16[N,4], s:f32=1.0, z:u8=0 -> q = QuantizeLinear(x, s, z); y = Relu(q)", "12*N", 0, "q x", "bytes are those of the type"},
  };
  // clang-format on
  for (const Row& row : kRows) {
    CAPTURE(std::string(row.graph));
    CAPTURE(std::string(row.why));
    const Model model = test::graph(row.graph);
    const Analysis analysis = analyze(model);
    const MemoryPlan plan = plan_memory(model, analysis);
    REQUIRE(plan.peak_formula);
    CHECK(plan.peak_formula->to_string() == std::string(row.formula));
    CHECK(analysis.totals.activation_peak_bytes == plan.peak_formula);
    CHECK(plan.peak_bytes == plan.peak_formula->evaluate({}));
    CHECK(plan.peak_step == row.step);
    CHECK(names(model, plan) == std::string(row.tensors));
    CHECK(plan_memory(model, analysis, {.bindings = {{"N", 7}}}).peak_bytes == plan.peak_formula->evaluate({{"N", 7}}));
    check_arena(plan, 64);
  }
}

TEST_CASE("in place, an element-wise operator takes over an operand of its size that nobody reads later") {
  struct Row {
    const char* graph;
    const char* formula;
    const char* why;
  };
  // clang-format off
  constexpr Row kRows[] = {
      {"x:f32[N,4] -> a = Relu(x); b = Relu(a); y = Relu(b)", "32*N", "not the caller's input, but all that follow"},
      {"x:f32[N,4] -> a = Transpose(x); b = Relu(a); c = Relu(b); y = Add(c, a)", "32*N", "b may not overwrite a, c overwrites b"},
      {"x:f32[N,4], w:f32[4]=const -> a = Transpose(x) {perm=[0,1]}; b = Add(a, w); y = Transpose(b)", "32*N", "the smaller operand is a weight"},
      {"s:i64[N], o:i64[1]=[1], z:f32[4]=const -> n = Shape(s); q = Concat(n, o) {axis=0}; a = ConstantOfShape(q); c = Greater(a, z)", "8*N", "as many bytes, but stretched: N floats and 4·N bools"},
      {"x:f32[N,4] -> a = Transpose(x); c = Cast(a) {to=f16}; y = Transpose(c)", "32*N", "a result of another size"},
      {"x:f32[N,4] -> a = Transpose(x); b = Relu(a); y = Transpose(b) => y, a", "48*N", "an output of the model is not overwritten"},
  };
  // clang-format on
  for (const Row& row : kRows) {
    CAPTURE(std::string(row.graph));
    CAPTURE(std::string(row.why));
    const Model model = test::graph(row.graph);
    const MemoryPlan plan = plan_memory(model, analyze(model), {.in_place = true});
    REQUIRE(plan.peak_formula);
    CHECK(plan.peak_formula->to_string() == std::string(row.formula));
    CHECK(plan.peak_bytes == plan.peak_formula->evaluate({}));
    check_arena(plan, 64);
  }
}

TEST_CASE("a body's activations count while its node runs") {
  struct Row {
    const char* graph;
    const char* formula;
    const char* why;
  };
  // clang-format off
  constexpr Row kRows[] = {
      // x; of the branch a and b, then b and the branch's output (which is y)
      {"c:bool[], x:f32[N,4] -> y = If(c) {then_branch=(-> a = Relu(x); b = Relu(a); t = Relu(b)), else_branch=(-> e = Relu(x))}",
       "48*N + 1", "x, two of the branch's, the condition"},
      // x (before the loop, carried in), the stacked and carried outputs, and the body's a and b
      {"n:i64=3, c:bool=true, x:f32[N,4] -> y = Loop(n, c, x) {body=(i:i64[], k:bool[], v:f32[N,4] -> a = Relu(v); b = Relu(a); d = Identity(k) => d, b)}",
       "64*N", "x, the loop's result, and two of the body's"},
  };
  // clang-format on
  for (const Row& row : kRows) {
    CAPTURE(std::string(row.graph));
    CAPTURE(std::string(row.why));
    const Model model = test::graph(row.graph);
    const MemoryPlan plan = plan_memory(model, analyze(model));
    REQUIRE(plan.peak_formula);
    CHECK(plan.peak_formula->to_string() == std::string(row.formula));
    CHECK(plan.peak_bytes == plan.peak_formula->evaluate({}));
    CHECK(plan.unsized_bodies.empty());
    check_arena(plan, 64);
  }
}

TEST_CASE("a sequence keeps its members, and what is of no fixed size is named") {
  const Model model = test::graph(
      "x:f32[N,4] -> a = Relu(x); s = SequenceConstruct(a, a); b = Relu(x); c = Relu(b); y = ConcatFromSequence(s) "
      "{axis=0}; z = Add(b, c)");
  const MemoryPlan plan = plan_memory(model, analyze(model), {.reorder = false});
  CHECK(plan.unsized.empty());
  CHECK(plan.timeline == std::vector<Int>{32, 32, 48, 48, 80, 80});  // x a | x a | x a b | a b c | a b c y | b c y z
  const Model strange = test::graph("x:f32[N,4] -> t = custom.Strange(x); y = Relu(t)");
  const MemoryPlan unknown = plan_memory(strange, analyze(strange));
  CHECK(unknown.unsized.size() == 2);
  CHECK_FALSE(unknown.peak_formula);
  CHECK(unknown.peak_bytes == 16);  // a lower bound
}

TEST_CASE("the timeline of random graphs equals an oracle that recounts every step, in any order") {
  test::Sometimes has_formula("a formula of the peak");
  for (unsigned seed = 1; seed <= 40; ++seed) {
    const Model model = test::graph(test::random_graph(seed, 60));
    const Analysis analysis = analyze(model);
    const Bindings bindings = {{"N", 5}};
    const test::Oracle oracle(model, analysis, bindings);
    const MemoryPlan plan = plan_memory(model, analysis, {.bindings = bindings});
    CAPTURE(seed);
    CHECK(plan.timeline == oracle.alive(plan.order));
    CHECK(plan.peak_bytes == *std::max_element(plan.timeline.begin(), plan.timeline.end()));
    if (has_formula(plan.peak_formula)) CHECK(plan.peak_formula->evaluate(bindings) == plan.peak_bytes);
    check_arena(plan, 64);
    const MemoryPlan reuse = plan_memory(model, analysis, {.bindings = bindings, .in_place = true});
    CHECK(reuse.peak_bytes <= plan.peak_bytes);
    check_arena(reuse, 64);
    if (!plan.reordered) continue;
    CHECK(plan.reordered->peak_bytes < plan.peak_bytes);
    const std::vector<Int> again = oracle.alive(plan.reordered->order);
    CHECK(*std::max_element(again.begin(), again.end()) == plan.reordered->peak_bytes);
  }
}

TEST_CASE("an order that needs less is found, and can be planned for") {
  // Each branch is wide inside and narrow at its end.
  const Model model = test::graph(
      "x:f32[4], k:i64=[0] -> a = Concat(x, x, x, x) {axis=0}; b = Concat(x, x, x, x) {axis=0}; "
      "c = ReduceSum(a, k); d = ReduceSum(b, k); y = Add(c, d)");
  const Analysis analysis = analyze(model);
  const MemoryPlan plan = plan_memory(model, analysis);
  CHECK(plan.peak_bytes == 148 - 4 + 0);  // x, a, b; then a, b, c
  REQUIRE(plan.reordered);
  CHECK(plan.reordered->peak_bytes == 84);  // x, a, c; x, c, b
  const MemoryPlan again = plan_memory(model, analysis, {.order = plan.reordered->order});
  CHECK(again.peak_bytes == 84);
  CHECK(again.arena_bytes == plan.reordered->arena_bytes);
  CHECK_THROWS_AS(plan_memory(model, analysis, {.order = {0, 1, 2, 3}}), Error);
  CHECK_THROWS_AS(plan_memory(model, analysis, {.order = {2, 0, 1, 3, 4}}), Error);
  CHECK_THROWS_AS(plan_memory(model, analysis, {.order = {0, 0, 1, 2, 3}}), Error);
}

TEST_CASE("weights are counted by type, each once") {
  const Model model = test::graph(
      "x:f32[N,8], w:f32[8,8]=const, h:f16[3]=const, q:i8[8,8]=const, i:i64[2]=[0,1], s:f32=0.5, z:f32=1.0, o:i8=0 -> "
      "a = MatMul(x, w); b = MatMul(a, w); c = Mul(b, s); v = DequantizeLinear(q, z, o); y = MatMul(c, v); u = "
      "Relu(h)");
  const Analysis analysis = analyze(model);
  const MemoryPlan plan = plan_memory(model, analysis);
  REQUIRE(plan.weights.size() == 3);
  CHECK(plan.weights[0].element == ElementType::Float32);
  CHECK(plan.weights[0].bytes == 64 * 4 + 2 * 4);  // s and z are scalars
  CHECK(plan.weights[1].element == ElementType::Int8);
  CHECK(plan.weights[1].bytes == 64 + 1);
  CHECK(plan.weights[2].element == ElementType::Float16);
  CHECK(plan.weights[2].elements == 3);
  CHECK(analysis.totals.param_bytes == Dim(264 + 65 + 6));
}

TEST_CASE("caches are pairs of a past input and the output that lengthens or updates it") {
  struct Row {
    const char* graph;
    std::size_t pairs;
    const char* bytes_per_token;
    const char* why;
  };
  // clang-format off
  constexpr Row kRows[] = {
      {"past:f16[B,4,P,8], k:f16[B,4,S,8] -> present = Concat(past, k) {axis=2}", 1, "64*B", "a Concat"},
      {"past:f16[B,4,P,8], k:f16[B,4,S,8] -> c = Concat(past, k) {axis=2}; present = Identity(c)", 1, "64*B", "behind a view"},
      {"past:f32[B,4,P,8], k:f32[B,9,P,8] -> y = Concat(past, k) {axis=1}", 1, "32*B*P", "along the axis that grows"},
      {"x:f32[B,4,P,8], w:f32[4,4,1,1]=const -> y = Conv(x, w)", 0, "0", "no other operator"},
      {"x:f32[B,4] -> y = Relu(x)", 0, "0", "nor one of the same size"},
      {"cache:f16[B,4,64,8], k:f16[B,4,S,8], at:i64[B] -> y = TensorScatter(cache, k, at)", 1, "64*B", "an update in place"},
      {"c:bool[], past_key_values.0.key:f16[B,4,P,8], k:f16[B,4,1,8] -> present.0.key = If(c) {then_branch=(-> t = "
       "Concat(past_key_values.0.key, k) {axis=2}), else_branch=(-> e = Concat(past_key_values.0.key, k) {axis=2})}",
       1, "64*B", "by name"},
  };
  // clang-format on
  for (const Row& row : kRows) {
    CAPTURE(std::string(row.graph));
    CAPTURE(std::string(row.why));
    const Model model = test::graph(row.graph);
    const KvCache cache = plan_memory(model, analyze(model)).kv_cache;
    CHECK(cache.pairs.size() == row.pairs);
    CHECK(cache.bytes_per_token.to_string() == std::string(row.bytes_per_token));
  }
}

TEST_CASE("arenas of random lifetimes never overlap and stay near the peak") {
  std::mt19937 random(7);
  for (int round = 0; round < 30; ++round) {
    std::vector<ArenaBlock> blocks;
    std::vector<Int> alive(64, 0);
    for (int i = 0; i < 80; ++i) {
      ArenaBlock block;
      block.bytes = 1 + static_cast<Int>(random() % 4000);
      block.first_step = static_cast<std::int32_t>(random() % 60);
      block.last_step = std::min<std::int32_t>(63, block.first_step + static_cast<std::int32_t>(random() % 9));
      for (std::int32_t step = block.first_step; step <= block.last_step; ++step)
        alive[static_cast<std::size_t>(step)] += (block.bytes + 63) / 64 * 64;
      blocks.push_back(block);
    }
    const ArenaLayout layout = lay_out(blocks, 64);
    const Int peak = *std::max_element(alive.begin(), alive.end());
    CHECK(layout.bytes >= peak);
    CHECK(layout.bytes * 4 <= peak * 5);  // within a quarter
    for (std::size_t i = 0; i < blocks.size(); ++i)
      for (std::size_t j = 0; j < i; ++j) {
        const bool meet = blocks[i].first_step <= blocks[j].last_step && blocks[j].first_step <= blocks[i].last_step;
        const bool overlap = layout.offsets[i] < layout.offsets[j] + blocks[j].bytes &&
                             layout.offsets[j] < layout.offsets[i] + blocks[i].bytes;
        CHECK_FALSE((meet && overlap));
      }
  }
}

TEST_CASE("a cache in one buffer and in two: what both hold, and what a copy moves on top") {
  // 2 heads of 16 in float16: 64 bytes per token and sequence for keys, and the same for values.
  const char* grouped =
      "q:f16[B,1,64], k:f16[B,1,32], v:f16[B,1,32], pk:f16[B,2,P,16], pv:f16[B,2,P,16], n:i32[B], m:i64[B,P+1] -> "
      "s = Shape(m) {start=1}; t = Cast(s) {to=6}; y, ok, ov = com.microsoft.GroupQueryAttention(q, k, v, pk, pv, n, "
      "t) "
      "{num_heads=4, kv_num_heads=2} => y, ok, ov";
  const Model model = test::graph(grouped);
  const Analysis analysis = analyze(model);
  const MemoryPlan plan = plan_memory(model, analysis, {.bindings = {{"B", 4}, {"P", 1000}}});
  const KvCache& cache = plan.kv_cache;
  REQUIRE(cache.pairs.size() == 2);
  CHECK(cache.pairs[0].is_in_place);
  CHECK(cache.past_bytes.to_string() == "128*B*P");
  CHECK(cache.shared_bytes.to_string() == "128*B + 128*B*P");
  CHECK(cache.separate_bytes.to_string() == "128*B + 256*B*P");
  CHECK(cache.written_bytes.to_string() == "128*B");
  CHECK(cache.copied_bytes.to_string() == "128*B*P");
  CHECK(cache.bytes_after(1001, 4).bind({{"B", 4}}) == Dim(128 * 4 * 1001));
  // The cache once; besides it queries, new rows, lengths and the output. Only the mask's shape is read.
  CHECK(plan.peak_bytes == 128 * 4 * 1001 + 4 * (128 + 64 + 64 + 4) + 4 * 128);
  CHECK(analysis.totals.activation_peak_bytes->bind({{"B", 4}, {"P", 1000}}) == Dim(plan.peak_bytes));

  const Model copying =
      test::graph("pk:f16[B,2,P,16], k:f16[B,2,1,16] -> ok = Concat(pk, k) {axis=2}; y = Relu(ok) => ok, y");
  const Analysis copied = analyze(copying);
  const KvCache& concat = plan_memory(copying, copied).kv_cache;
  REQUIRE(concat.pairs.size() == 1);
  CHECK_FALSE(concat.pairs[0].is_in_place);
  CHECK(concat.shared_bytes.to_string() == "64*B + 64*B*P");
  CHECK(concat.written_bytes.to_string() == "64*B");
  CHECK(concat.copied_bytes.to_string() == "128*B*P");
  // The file says to copy; fused, the new row is written behind the past.
  CHECK(traffic(copying, copied).bytes_written.to_string() == "128*B + 128*B*P");
  const Traffic fused = traffic(copying, copied, {.model = TrafficModel::Fused});
  CHECK(fused.bytes_read.to_string() == "128*B + 64*B*P");
  CHECK(fused.bytes_written.to_string() == "128*B + 64*B*P");
}

TEST_CASE("a cache in pages grows by whole pages, a state not at all") {
  const Model paged = test::graph(
      "q:f16[T,64], k:f16[T,32], v:f16[T,32], a:f16[N,16,2,16], b:f16[N,16,2,16], c:i32[S+1], p:i32[S], t:i32[S,M] -> "
      "y, pk, pv = com.microsoft.PagedAttention(q, k, v, a, b, c, p, t) {num_heads=4, kv_num_heads=2} => y, pk, pv");
  const KvCache pages = plan_memory(paged, analyze(paged)).kv_cache;
  REQUIRE(pages.pairs.size() == 2);
  CHECK(pages.pairs[0].tokens_per_page == Dim(16));
  CHECK(pages.bytes_per_token == Dim(128));
  CHECK(pages.bytes_after(1, 5) == Dim(5 * 16 * 128));
  CHECK(pages.bytes_after(33, 5) == Dim(5 * 48 * 128));
  CHECK(pages.bytes_after(Dim::symbol("n"), 1).bind({{"n", 32}}) == Dim(32 * 128));

  const Model linear = test::graph(
      "opset=27: q:f32[B,1,32], k:f32[B,1,32], v:f32[B,1,32], s:f32[B,2,16,16] -> "
      "y, o = LinearAttention(q, k, v, s) {q_num_heads=2, kv_num_heads=2, update_rule='linear'} => y, o");
  const Analysis analysis = analyze(linear);
  const MemoryPlan plan = plan_memory(linear, analysis, {.bindings = {{"B", 3}}});
  REQUIRE(plan.kv_cache.pairs.size() == 1);
  CHECK(plan.kv_cache.pairs[0].axis == CachePair::kState);
  CHECK(plan.kv_cache.bytes_per_token == Dim(0));
  CHECK(plan.kv_cache.bytes_after(1000000, 3).to_string() == "2048*B");
  CHECK(plan.kv_cache.written_bytes.to_string() == "2048*B");
  CHECK(plan.kv_cache.copied_bytes == Dim(0));
  CHECK(plan.peak_bytes == 3 * (2048 + 4 * 128));  // the state once, three inputs and the output
}

TEST_CASE("a dequantised weight is no activation, whoever reads it") {
  const char* text =
      "x:f32[N,64], w:i8[64,32]=const, s:f32=0.1, e:i8[1000,64]=const, i:i64[N] -> d = DequantizeLinear(w, s); "
      "t = Transpose(d); u = Transpose(t); a = MatMul(x, u); f = DequantizeLinear(e, s); g = Gather(f, i); "
      "y = MatMul(g, u) => a, y";
  const Model model = test::graph(text);
  const MemoryPlan plan = plan_memory(model, analyze(model), {.bindings = {{"N", 2}}});
  CHECK(plan.peak_bytes == 2 * 4 * (32 + 64 + 32));  // a, g and y
  for (const PlannedTensor& tensor : plan.tensors)
    CHECK_FALSE(model.main().values[static_cast<std::size_t>(tensor.value)].name == "d");
}
