// Loops that count: exact trips for any number of them, and what grows from trip to trip.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "infer/trips.h"
#include "support/op_case.h"

using namespace pagoda;

namespace {

Analysis bound_at(const Model& model, const Bindings& sizes) {
  AnalyzeOptions options;
  options.dims = sizes;
  return analyze(model, options);
}

// A loop of one product of 64 multiply-accumulates per trip, beside a counter. `before` names the first condition c,
// and M if it differs from none; `inside` makes the next counter i2 and condition k2 from i, the trip, and v.
std::string counting(const std::string& counter, const std::string& before, const std::string& inside,
                     const std::string& most = "") {
  const bool is_real = counter.starts_with("f32");
  return "x:f32[t,8], w:f32[8,8]=const, h:f32[1,8], z:i64=0, one:i64=1, five:i64=5, ten:i64=10, yes:bool=true, start:" +
         counter + " -> s = Shape(x); n = Gather(s, z); nf = Cast(n) {to=1}; " + before + "; hn, vn = Loop(" + most +
         ", c, h, start) {body=( i:i64[], k:bool[], hc:f32[1,8], v:" + (is_real ? "f32" : "i64") +
         "[] -> q = MatMul(hc, w); " + inside + " => k2, q, i2)} @ loop";
}

}  // namespace

TEST_CASE("a loop that counts has exact trips, symbolic and for any number of them") {
  struct Row {
    const char* why;
    std::string graph;
    std::int64_t (*trips)(std::int64_t t);
  };
  const std::string next = "i2 = Add(v, one); ";
  const Row rows[] = {
      {"i + 1 < n, begun on i < n", counting("i64=0", "c = Less(z, n)", next + "k2 = Less(i2, n)"),
       [](std::int64_t t) { return t; }},
      {"begun in any case", counting("i64=0", "c = Identity(yes)", next + "k2 = Less(i2, n)"),
       [](std::int64_t t) { return std::max<std::int64_t>(t, 1); }},
      {"i <= n", counting("i64=0", "c = Identity(yes)", next + "k2 = LessOrEqual(i2, n)"),
       [](std::int64_t t) { return t + 1; }},
      {"n > i", counting("i64=0", "c = Greater(n, z)", next + "k2 = Greater(n, i2)"), [](std::int64_t t) { return t; }},
      {"not i >= n", counting("i64=0", "c = Identity(yes)", next + "g = GreaterOrEqual(i2, n); k2 = Not(g)"),
       [](std::int64_t t) { return std::max<std::int64_t>(t, 1); }},
      {"i != n", counting("i64=0", "e = Equal(z, n); c = Not(e)", next + "f = Equal(i2, n); k2 = Not(f)"),
       [](std::int64_t t) { return t; }},
      {"both as float",
       counting("i64=0", "zf = Cast(z) {to=1}; c = Less(zf, nf)", next + "g = Cast(i2) {to=1}; k2 = Less(g, nf)"),
       [](std::int64_t t) { return t; }},
      {"a float counter from 0.5 by 1.5",
       counting("f32=0.5", "c = Identity(yes)", "d = Constant() {value=f32[]=1.5}; i2 = Add(v, d); k2 = Less(i2, nf)"),
       [](std::int64_t t) {
         std::int64_t trips = 1;
         for (double i = 2; i < static_cast<double>(t); i += 1.5) ++trips;
         return trips;
       }},
      {"from 2 by 3",
       counting("i64=2", "c = Identity(yes)", "d = Constant() {value=i64[]=3}; i2 = Add(v, d); k2 = Less(i2, n)"),
       [](std::int64_t t) {
         std::int64_t trips = 1;
         for (std::int64_t i = 5; i < t; i += 3) ++trips;
         return trips;
       }},
      {"from 7 down by 2, above -n",
       counting("i64=7", "m = Neg(n); c = Identity(yes)",
                "d = Constant() {value=i64[]=2}; i2 = Sub(v, d); k2 = Greater(i2, m)"),
       [](std::int64_t t) {
         std::int64_t trips = 1;
         for (std::int64_t i = 5; i > -t; i -= 2) ++trips;
         return trips;
       }},
      {"the lesser of two limits",
       counting("i64=0", "c = Identity(yes)", next + "a = Less(i2, n); b = LessOrEqual(i2, ten); k2 = And(a, b)"),
       [](std::int64_t t) { return std::max<std::int64_t>(std::min<std::int64_t>(t, 11), 1); }},
      {"at most M", counting("i64=0", "c = Less(z, n)", next + "k2 = Less(i2, n)", "ten"),
       [](std::int64_t t) { return std::min<std::int64_t>(t, 10); }},
      {"M alone", counting("i64=0", "m = Sub(n, five); c = Identity(yes)", next + "k2 = Identity(k)", "m"),
       [](std::int64_t t) { return std::max<std::int64_t>(t - 5, 0); }},
      {"the number of the trip",
       counting("i64=0", "c = Less(z, n)", "i2 = Identity(v); j = Add(i, one); k2 = Less(j, n)"),
       [](std::int64_t t) { return t; }},
  };
  for (const Row& row : rows) {
    CAPTURE(row.why);
    const Model model = test::graph(row.graph);
    const Analysis open = analyze(model);
    CHECK(open.symbols.empty());
    CHECK(!open.partial);
    for (const std::int64_t t : {1, 2, 3, 5, 10, 11, 12, 63, 64, 65, 66, 1000}) {
      CAPTURE(t);
      // Up to 64 trips are walked one by one, more only counted: both agree with the formula.
      const Analysis bound = bound_at(model, {{"t", t}}), afterwards = bind_dims(open, {{"t", t}});
      CHECK(bound.totals.cost.macs == Dim(64 * row.trips(t)));
      CHECK(afterwards.totals.cost.macs == bound.totals.cost.macs);
      CHECK(flops(afterwards.totals.cost) == flops(bound.totals.cost));
      CHECK(afterwards.totals.cost.bytes() == bound.totals.cost.bytes());
      CHECK(bound.symbols.empty());
    }
  }
}

TEST_CASE("a loop whose condition is data keeps its symbol") {
  for (const char* condition : {"e = ReduceSum(q) {keepdims=0}; k2 = Less(e, nf)", "k2 = Less(i2, m)"}) {
    CAPTURE(condition);
    const Model model = test::graph(
        "m:i64[], x:f32[t,8], w:f32[8,8]=const, h:f32[1,8], z:i64=0, one:i64=1, c:bool=true -> "
        "s = Shape(x); n = Gather(s, z); nf = Cast(n) {to=1}; hn, vn = Loop(, c, h, z) {body=( "
        "i:i64[], k:bool[], hc:f32[1,8], v:i64[] -> q = MatMul(hc, w); i2 = Add(v, one); " +
        std::string(condition) + " => k2, q, i2)} @ loop");
    const Analysis open = analyze(model);
    REQUIRE(open.symbols.size() == 1);
    CHECK(open.symbols[0].name == "trips_loop");
    CHECK(open.totals.cost.macs == 64 * Dim::symbol("trips_loop"));
  }
}

TEST_CASE("what grows by one step per trip is summed over the trips, walked one by one or not") {
  const char* rows[] = {
      // A cache that grows by a row; attention over it.
      "x:f32[t,4], r:f32[1,4], i0:i64=0, c:bool=true -> s = Shape(x); n = Gather(s, i0); y, u = Loop(n, c, r) {body=( "
      "i:i64[], k:bool[], v:f32[?,4] -> w = Concat(v, r) {axis=0}; d = Transpose(w); a = MatMul(r, d); e = Exp(a); "
      "o = MatMul(e, w) => k, w, o)}",
      // The sum over a triangle: rows up to the current one.
      "x:f32[t,4], i0:i64=0, c:bool=true -> s = Shape(x); n = Gather(s, i0); u = Loop(n, c) {body=( i:i64[], k:bool[] "
      "-> "
      "z = Constant() {value=i64[1]=[0]}; d = Constant() {value=i64[1]=[1]}; f = Unsqueeze(i, z); e = Add(f, d); v = "
      "Slice(x, z, e, z); p = Exp(v); w = ReduceSum(p, z) "
      "{keepdims=0} => k, w)}",
      // A loop in a loop, with as many trips as the outer one has made.
      "x:f32[t,4], m:f32[4,4]=const, h:f32[1,4], i0:i64=0, c:bool=true -> s = Shape(x); n = Gather(s, i0); "
      "y = Loop(n, c, h) {body=( i:i64[], k:bool[], v:f32[1,4] -> w = Loop(i, c, v) {body=( j:i64[], l:bool[], "
      "a:f32[1,4] -> "
      "b = MatMul(a, m) => l, b)} => k, w)}",
  };
  for (const char* row : rows) {
    CAPTURE(row);
    const Model model = test::graph(row);
    const Analysis open = analyze(model);
    CHECK(open.symbols.empty());
    for (const std::int64_t t : {1, 2, 7, 20, 64}) {
      CAPTURE(t);
      const Analysis bound = bound_at(model, {{"t", t}}), afterwards = bind_dims(open, {{"t", t}});
      CHECK(afterwards.totals.cost.macs == bound.totals.cost.macs);
      CHECK(flops(afterwards.totals.cost) == flops(bound.totals.cost));
      CHECK(afterwards.totals.cost.bytes() == bound.totals.cost.bytes());
      for (std::size_t i = 0; i < open.outputs.size(); ++i) CHECK(afterwards.outputs[i].type == bound.outputs[i].type);
    }
    CHECK(bind_dims(open, {{"t", 1000}}).totals.cost.macs == bound_at(model, {{"t", 1000}}).totals.cost.macs);
  }
}

TEST_CASE("where the trip decides a branch, more trips of a small body are walked") {
  // Only even trips have the product.
  const Model model = test::graph(
      "x:f32[t,8], w:f32[8,8]=const, h:f32[1,8], z:i64=0, two:i64=2, c:bool=true -> s = Shape(x); n = Gather(s, z); y "
      "= "
      "Loop(n, c, h) {body=( i:i64[], k:bool[], v:f32[1,8] -> m = Mod(i, two); e = Equal(m, z); q = If(e) "
      "{then_branch=( -> a = MatMul(v, w) => a), else_branch=( -> b = Identity(v) => b)} => k, q)}");
  for (const std::int64_t t : {64, 65, 200})
    CHECK(bound_at(model, {{"t", t}}).totals.cost.macs == Dim((t + 1) / 2 * 64));
}

TEST_CASE("nested loops of many trips stay modelled") {
  const Model model = test::graph(
      "x:f32[t,4], m:f32[4,4]=const, h:f32[1,4], z:i64=0, one:i64=1, yes:bool=true -> s = Shape(x); n = Gather(s, z); "
      "u, y "
      "= Loop(, yes, z, h) {body=( i:i64[], k:bool[], p:i64[], v:f32[1,4] -> r, w = Loop(, yes, z, v) {body=( j:i64[], "
      "l:bool[], q:i64[], a:f32[1,4] -> b = MatMul(a, m); q2 = Add(q, one); l2 = Less(q2, n) => l2, q2, b)}; p2 = "
      "Add(p, "
      "one); k2 = Less(p2, n) => k2, p2, w)}");
  for (const std::int64_t t : {16, 64, 65, 300}) {
    const Analysis bound = bound_at(model, {{"t", t}});
    CHECK_FALSE(bound.partial);
    CHECK(bound.totals.cost.macs == Dim(16 * t * t));
  }
}

TEST_CASE("the last trip follows from comparisons with linear functions of the trip") {
  const Dim n = Dim::symbol("n"), m = Dim::symbol("m"), trip = Dim::symbol("trip");
  const auto above = [](const Dim& d) { return min(max(d, 0), 1); };  // d > 0
  struct Row {
    Dim truth;
    const char* last;  // the first trip without it; "never", or "unknown"
  };
  const Row rows[] = {
      {1, "never"},
      {above(n - trip), "n"},
      {above(n - 3 * trip), "floor_div(n + 2, 3)"},
      {1 - above(trip - n), "n + 1"},
      {above(n - trip) * above(m - trip), "min(m, n)"},
      {above(trip + 1), "never"},
      {above(trip - n), "0"},
      {above(n - trip * trip), "unknown"},
      {above(n - trip) + above(m - trip) - above(n - trip) * above(m - trip),
       "unknown"},  // either: holds in three cases
  };
  for (const Row& row : rows) {
    CAPTURE(row.truth.to_string());
    const auto last = last_trip(row.truth, trip);
    CHECK((!last ? "unknown" : last->never ? "never" : last->first_false.to_string()) == row.last);
  }
}

TEST_CASE("sums over trips agree with adding up") {
  const Dim n = Dim::symbol("n"), trip = Dim::symbol("trip"), trips = Dim::symbol("trips");
  const Dim counts[] = {7, n, trip, 3 * trip * n + 5, trip * trip, trip * trip * trip - 2 * n * trip * trip + trip};
  for (const Dim& count : counts) {
    CAPTURE(count.to_string());
    const auto sum = sum_over_trips(count, trip, trips);
    REQUIRE(sum.has_value());
    for (std::int64_t most = 0; most < 9; ++most) {
      Int expected = 0;
      for (std::int64_t k = 0; k < most; ++k) expected += count.evaluate({{"n", 4}, {"trip", k}});
      CHECK(sum->evaluate({{"n", 4}, {"trips", most}}) == expected);
    }
  }
  CHECK(!sum_over_trips(trip * trip * trip * trip, trip, trips));
  CHECK(!sum_over_trips(min(trip, n), trip, trips));
  CHECK(sum_over_trips(max(trip, 1), trip, 70) == Dim(1 + 69 * 70 / 2));  // any formula, for trips that are a number
  CHECK(!sum_over_trips(max(trip, n), trip, 70));
}

TEST_CASE("a body may declare the number of its trip and its condition with one element") {
  const test::OpCase row = {
      "opset=11 : x:f32[4], t:f32[9,4], m:i64=5, c:bool=true -> y = Loop(m, c, x) {body=( i:i64[1], k:bool[1], "
      "v:f32[4] -> "
      "s = Squeeze(i) {axes=[0]}; g = Gather(t, s); w = Add(v, g); k2 = Identity(k) => k2, w)}",
      "y:f32[4]", "arith=20", "old exporters write [1]; onnxruntime passes it so"};
  CHECK(test::differences(row) == "");
}
