// If, Loop, Scan, SequenceMap and local functions: types, trip counts, which branch is counted.
#include <doctest/doctest.h>

#include <algorithm>

#include "pagoda/core/call_names.h"
#include "support/op_case.h"

using namespace pagoda;

namespace {

bool has_note(const Analysis& analysis, std::string_view text) {
  return std::any_of(analysis.diagnostics.begin(), analysis.diagnostics.end(),
                     [&](const Diagnostic& diagnostic) { return diagnostic.message.find(text) != std::string::npos; });
}

Analysis at_sizes(const Model& model, const Bindings& sizes) {
  AnalyzeOptions options;
  options.dims = sizes;
  return analyze(model, options);
}

}  // namespace

TEST_CASE("If takes the branch of a known condition and the costlier one of an unknown condition") {
  const test::OpCase cases[] = {
      {"x:f32[N,4], c:bool=true -> y = If(c) {then_branch=( -> a = Relu(x)), else_branch=( -> b = Exp(x))}",
       "y:f32[N,4]", "arith=4*N special=0", "the condition is an initializer"},
      {"x:f32[N,4], c:bool=false -> y = If(c) {then_branch=( -> a = Relu(x)), else_branch=( -> b = Exp(x))}",
       "y:f32[N,4]", "arith=0 special=4*N", "the other branch"},
      {"x:f32[N,4], c:bool[] -> y = If(c) {then_branch=( -> a = Relu(x)), else_branch=( -> t = Exp(x); b = Relu(t))}",
       "y:f32[N,4]", "arith=4*N special=4*N", "the costlier branch"},
      {"x:f32[N,4], c:bool[] -> y = If(c) {then_branch=( -> a = Concat(x, x) {axis=0}), else_branch=( -> b = Relu(x))}",
       "y:f32[?,4]", "", "sizes that differ are a symbol"},
  };
  test::check_cases(cases);
  const Analysis differ =
      analyze(test::graph("x:f32[N,4], c:bool[] -> y = If(c) {then_branch=( -> a = Concat(x, x) {axis=0}), "
                          "else_branch=( -> b = Relu(x))}"));
  REQUIRE(differ.symbols.size() == 1);
  CHECK(differ.symbols[0].upper == 2 * Dim::symbol("N"));
}

TEST_CASE("If on a shape known to be equal chooses as the exporter meant") {
  const test::OpCase row = {
      "x:f32[N,1,4], k:i64=1, one:i64=1 -> s = Shape(x); d = Gather(s, k); c = Equal(d, one); "
      "y = If(c) {then_branch=( ax:i64=[1] -> a = Squeeze(x, ax)), else_branch=( -> b = Identity(x))}",
      "y:f32[N,4]", "macs=0", "the pattern torch writes for squeeze of a dynamic dim"};
  CHECK(test::differences(row) == "");
}

TEST_CASE("If on free sizes counts the branch that each size takes, bound before or afterwards") {
  struct Row {
    const char* condition;  // of the sizes n of x, and a constant k
    const char* branches;
  };
  const Row rows[] = {
      {"c = Greater(n, k)", "then_branch=( -> a = MatMul(x, w)), else_branch=( -> b = Relu(x))"},
      {"c = Less(n, k)", "then_branch=( -> a = Concat(x, x) {axis=0}), else_branch=( -> b = Relu(x))"},
      {"e = Equal(n, k); c = Not(e)", "then_branch=( -> t = Exp(x); a = Exp(t)), else_branch=( -> b = Identity(x))"},
      {"g = GreaterOrEqual(n, k); l = LessOrEqual(n, k); c = And(g, l)",
       "then_branch=( -> a = Relu(x)), else_branch=( -> b = Exp(x))"},
      {"g = Greater(n, k); l = Less(n, k); c = Or(g, l)",
       "then_branch=( -> a = Relu(x)), else_branch=( -> b = Exp(x))"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.condition);
    const Model model =
        test::graph("x:f32[N,C,3], w:f32[3,3]=const, i:i64=0, k:i64=10 -> s = Shape(x); n = Gather(s, i); " +
                    std::string(row.condition) + "; v = If(c) {" + row.branches + "}; y = Sigmoid(v)");
    const Analysis open = analyze(model);
    CHECK(!open.partial);
    for (const std::int64_t size : {1, 4, 9, 10, 11, 40}) {
      CAPTURE(size);
      const Bindings sizes = {{"N", size}, {"C", 7}};
      AnalyzeOptions options;
      options.dims = sizes;
      const Analysis bound = analyze(model, options), afterwards = bind_dims(open, sizes);
      CHECK(flops(afterwards.totals.cost) == flops(bound.totals.cost));
      CHECK(afterwards.totals.cost.bytes() == bound.totals.cost.bytes());
      CHECK(afterwards.outputs[0].type == bound.outputs[0].type);
    }
  }
}

TEST_CASE("of branches with different ranks, formulas take the one that nearly all sizes choose") {
  const Model model = test::graph(
      "x:f32[N,C,4], k:i64=1, one:i64=1 -> s = Shape(x); d = Gather(s, k); c = Equal(d, one); "
      "v = If(c) {then_branch=( ax:i64=[1] -> a = Squeeze(x, ax)), else_branch=( -> b = Identity(x))}; y = Relu(v)");
  const Analysis open = analyze(model);
  CHECK(!open.partial);
  CHECK(to_string(open.outputs[0].type) == "float32[N,C,4]");
  CHECK(open.free_dims == std::vector<std::string>{"C", "N"});
  CHECK(has_note(open, "formulas take the else branch"));
  CHECK(!has_note(open, "takes dim C"));
  for (const std::int64_t size : {1, 5}) {
    AnalyzeOptions options;
    options.dims = {{"C", size}, {"N", 2}};
    CHECK(flops(bind_dims(open, options.dims).totals.cost) == flops(analyze(model, options).totals.cost));
  }
}

TEST_CASE("Loop multiplies its body by a known trip count and names an unknown one") {
  const test::OpCase cases[] = {
      {"x:f32[N,4], m:i64=5, c:bool=true -> y = Loop(m, c, x) {body=( i:i64[], k:bool[], v:f32[N,4] -> "
       "k2 = Identity(k); w = Exp(v) => k2, w)}",
       "y:f32[N,4]", "", "five trips"},
      {"x:f32[N,4], m:i64=5, c:bool=true -> y, z = Loop(m, c, x) {body=( i:i64[], k:bool[], v:f32[N,4] -> "
       "w = Exp(v); u = Relu(v) => k, w, u)}",
       "y:f32[N,4], z:f32[5,N,4]", "special=20*N arith=20*N", "scan outputs gain the trips as first dim"},
  };
  test::check_cases(cases);

  const Analysis unknown =
      analyze(test::graph("x:f32[N,4], m:i64[], c:bool[] -> y = Loop(m, c, x) {body=( i:i64[], k:bool[], v:f32[N,4] -> "
                          "w = Exp(v) => k, w)} @ decode"));
  CHECK(unknown.totals.cost.special.to_string() == "4*N*trips_decode");
  REQUIRE(unknown.symbols.size() == 1);
  CHECK(unknown.symbols[0].cause == "trip count");
}

TEST_CASE("Loop finds the sizes that grow from trip to trip") {
  const Analysis grown = analyze(
      test::graph("x:f32[1,4], m:i64=3, c:bool=true -> y = Loop(m, c, x) {body=( i:i64[], k:bool[], v:f32[1,4] -> "
                  "w = Concat(v, v) {axis=0} => k, w)}"));
  CHECK(grown.outputs[0].type == test::type("f32[8,4]"));
  CHECK(grown.symbols.empty());
  CHECK(grown.totals.cost.bytes_written == Dim((2 + 4 + 8) * 4 * 4));
  // Too many trips to follow one by one: growth by a step has a formula, others have none.
  const Analysis many = analyze(
      test::graph("x:f32[1,4], m:i64=1000, c:bool=true -> y = Loop(m, c, x) {body=( i:i64[], k:bool[], v:f32[1,4] -> "
                  "w = Concat(v, x) {axis=0} => k, w)}"));
  CHECK(many.outputs[0].type == test::type("f32[1001,4]"));
  CHECK(many.symbols.empty());
  const Analysis doubled = analyze(
      test::graph("x:f32[1,4], m:i64=1000, c:bool=true -> y = Loop(m, c, x) {body=( i:i64[], k:bool[], v:f32[1,4] -> "
                  "w = Concat(v, v) {axis=0} => k, w)}"));
  REQUIRE(doubled.outputs[0].type.shape.has_value());
  CHECK_FALSE((*doubled.outputs[0].type.shape)[0].is_constant());
  CHECK((*doubled.outputs[0].type.shape)[1] == Dim(4));
}

TEST_CASE("a node that lacks another input in each walk of its loop's body is reported once") {
  const Analysis analysis = analyze(
      test::graph("x:f32[1,4], m:i64=1000, c:bool=true -> y = Loop(m, c, x) {body=( i:i64[], k:bool[], v:f32[1,4] -> "
                  "u = NoSuchOp(v); w = Add(v, u) => k, w)}"));
  const auto of_sum = [](const Diagnostic& diagnostic) { return diagnostic.cause == Cause::UnknownInput; };
  CHECK(std::ranges::count_if(analysis.diagnostics, of_sum) == 1);
}

TEST_CASE("a loop over lists of sizes is walked trip by trip until no symbol is left") {
  // torch.tensor_split with indices is exported like this: slices between consecutive entries, collected in a sequence.
  const test::OpCase split = {
      "x:f32[10,4], b:i64[4]=[0,3,5,10], m:i64=3, c:bool=true, e:i64=2 -> s0 = SequenceEmpty(); "
      "s = Loop(m, c, s0) {body=( i:i64[], k:bool[], q:seq(f32) -> o = Constant() {value=i64[]=1}; "
      "z = Constant() {value=i64[1]=[0]}; j = Add(i, o); f0 = Gather(b, i); t0 = Gather(b, j); "
      "f = Unsqueeze(f0, z); t = Unsqueeze(t0, z); p = Slice(x, f, t, z); r = SequenceInsert(q, p) => k, r)}; "
      "y = SequenceAt(s, e); w = ConcatFromSequence(s) {axis=0}; n = SequenceLength(s)",
      "y:f32[5,4], w:f32[10,4], n:i64[]=3", "", "parts of 3, 2 and 5 rows"};
  CHECK(test::differences(split) == "");
  const Analysis analysis = analyze(test::graph(split.graph));
  CHECK(analysis.totals.unmodelled_nodes == 0);
  // A condition that depends on the trip number ends a loop without a limit.
  const test::OpCase ended = {
      "x:f32[1,4], c:bool=true -> y = Loop(, c, x) {body=( i:i64[], k:bool[], v:f32[?,4] -> "
      "o = Constant() {value=i64[]=2}; k2 = Less(i, o); w = Concat(v, v) {axis=0} => k2, w)}",
      "y:f32[8,4]", "", "three trips"};
  CHECK(test::differences(ended) == "");
  CHECK(analyze(test::graph(ended.graph)).symbols.empty());
  // A size that only the data decide gets one symbol, not one per trip.
  const Analysis open = analyze(test::graph(
      "x:f32[8], m:i64=5, c:bool=true -> y = Loop(m, c, x) {body=( i:i64[], k:bool[], v:f32[?] -> "
      "n = NonZero(v); f = Cast(n) {to=1}; z = Constant() {value=i64[1]=[0]}; w = Squeeze(f, z) => k, w)}"));
  CHECK(open.symbols.size() < 5);
}

TEST_CASE("loops nested deep in loops end with a message, not in years") {
  // Each level walks the one below it several times.
  std::string body = "w = Concat(v, v) {axis=0} => k, w";
  for (int level = 0; level < 16; ++level)
    body = "w = Loop(m, c, v) {body=( i:i64[], k:bool[], v:f32[?,4] -> " + body + ")} => k, w";
  const Analysis analysis = analyze(test::graph(
      "v:f32[1,4], m:i64=2, c:bool=true -> y = Loop(m, c, v) {body=( i:i64[], k:bool[], v:f32[?,4] -> " + body + ")}"));
  CHECK(analysis.partial);
  CHECK(has_note(analysis, "visits of nodes"));
}

TEST_CASE("SequenceMap follows members of different sizes") {
  const test::OpCase row = {
      "x:f32[10,4], p:i64[3]=[3,3,4], e:i64=-1 -> s = SplitToSequence(x, p); "
      "t = SequenceMap(s) {body=( a:f32[?,4] -> b = Exp(a))}; y = SequenceAt(t, e); w = ConcatFromSequence(t) {axis=0}",
      "y:f32[4,4], w:f32[10,4]", "special=40", "two members of 3 rows and one of 4"};
  CHECK(test::differences(row) == "");
  const test::OpCase equal = {
      "x:f32[N,3] -> s = SequenceConstruct(x, x); t = SequenceMap(s) {body=( a:f32[?,3] -> b = Exp(a))}; "
      "w = ConcatFromSequence(t) {axis=0}",
      "w:f32[2*N,3]", "special=6*N", "the body's work once a member"};
  CHECK(test::differences(equal) == "");
  const test::OpCase parts = {
      "x:f32[N,4], p:i64=3, e:i64=-1 -> s = SplitToSequence(x, p); "
      "t = SequenceMap(s) {body=( a:f32[?,4] -> b = Exp(a))}; y = SequenceAt(t, e); "
      "w = ConcatFromSequence(t) {axis=0}; n = SequenceLength(t)",
      "y:f32[N-3*(ceil_div(N,3)-1),4], w:f32[N,4], n:i64[]=ceil_div(N,3)", "special=4*N",
      "all parts of a free axis but the last have 3 rows"};
  CHECK(test::differences(parts) == "");
  const test::OpCase optional = {
      "x:f32[N,3], z:f32[1,3] -> s = SequenceConstruct(x, x); r = SequenceConstruct(z); o = Optional(r); "
      "t = SequenceMap(s, o) {body=( a:f32[?,3], b:f32[?,3] -> c = Exp(a))}; w = ConcatFromSequence(t) {axis=0}",
      "w:f32[2*N,3]", "", "an optional sequence is one value, whatever its members"};
  CHECK(test::differences(optional) == "");
}

TEST_CASE("the number of a trip is a symbol below the trip count, named only where a size depends on it") {
  // x[i : i + 1] has one row in every trip.
  const Analysis one = analyze(test::graph(
      "x:f32[5,4], m:i64=5, c:bool=true -> y = Loop(m, c) {body=( i:i64[], k:bool[] -> o = Constant() "
      "{value=i64[1]=[1]}; "
      "z = Constant() {value=i64[1]=[0]}; s = Unsqueeze(i, z); e = Add(s, o); w = Slice(x, s, e, z) => k, w)}"));
  CHECK(one.outputs[0].type == test::type("f32[5,1,4]"));
  CHECK(one.symbols.empty());
  CHECK(one.totals.cost.bytes_written == Dim(5 * (4 * 4 + 8)));  // a row and the end index, 5 times
  // Work that changes otherwise than by a step. With too many trips to follow, i does not decide a branch either.
  const Analysis many = analyze(test::graph(
      "x:f32[5000,4], m:i64=5000, c:bool=true -> y = Loop(m, c) {body=( i:i64[], k:bool[] -> "
      "z = Constant() {value=i64[1]=[0]}; b = Constant() {value=i64[1]=[9]}; u = Unsqueeze(i, z); e = Min(u, b); "
      "v = Slice(x, z, e, z); w = ReduceSum(v, z) {keepdims=0}; "
      "n = Constant() {value=i64[]=0}; f = Equal(i, n); q = If(f) {then_branch=( -> a = Exp(w)), "
      "else_branch=( -> b = Identity(w))} => k, q)} @ loop"));
  REQUIRE(many.symbols.size() == 1);
  CHECK(many.symbols[0].name == "trip_loop");
  CHECK(many.symbols[0].cause == "number of the trip");
  CHECK(*many.symbols[0].upper == Dim(5000));
  CHECK(has_note(many, "then 4 FLOP, else 0 FLOP"));
}

TEST_CASE("Scan runs its body once per element of the scanned axis") {
  const test::OpCase row = {
      "s:f32[4], x:f32[T,4] -> y, z = Scan(s, x) {num_scan_inputs=1, body=( a:f32[4], b:f32[4] -> "
      "c = Add(a, b); d = Exp(c) => c, d)}",
      "y:f32[4], z:f32[T,4]", "arith=4*T special=4*T", "T trips of 4 additions and 4 exponentials"};
  CHECK(test::differences(row) == "");
}

TEST_CASE("an unknown condition is said, with what both branches cost and the input that decides") {
  const Analysis analysis = analyze(test::graph(
      "x:f32[4], r:i64[], c:bool[] -> y = If(c) {then_branch=( -> a = Relu(x)), else_branch=( -> b = Identity(x))}"));
  REQUIRE(analysis.diagnostics.size() == 1);
  CHECK(analysis.diagnostics[0].cause == Cause::OpenBranch);
  CHECK(has_note(analysis, "the data decide its branch: then 4 FLOP, else 0 FLOP; totals take the then branch; set "));
  CHECK(has_note(analysis, "c=VALUE"));
  const Analysis by_rate =
      analyze(test::graph("x:f32[4], r:i64[], q:i64[], k:i64=16000 -> u = Neg(q); c = Equal(r, k); "
                          "y = If(c) {then_branch=( -> a = Relu(x)), else_branch=( -> b = Identity(x))}"));
  CHECK(has_note(by_rate, "r=VALUE"));
  CHECK(!has_note(by_rate, "q=VALUE"));
}

TEST_CASE("unknown work in either branch that may run makes the totals lower bounds") {
  for (const bool swapped : {false, true}) {
    CAPTURE(swapped);
    const std::string known = "( -> m = MatMul(x, w); a = Relu(m))",
                      unknown = "( -> p = NoSuchOp(x); b = Relu(x) => b)";
    const Model model = test::graph("x:f32[8,64], w:f32[64,64]=const, c:bool[] -> y = If(c) {then_branch=" +
                                    (swapped ? unknown : known) + ", else_branch=" + (swapped ? known : unknown) + "}");
    const Analysis analysis = analyze(model);
    CHECK(analysis.partial);
    CHECK(analysis.totals.unmodelled_nodes == 1);
    CHECK(analysis.totals.unmodelled_ops == std::vector<std::string>{"NoSuchOp"});
    CHECK(analysis.totals.cost.macs == Dim(8 * 64 * 64));
    CHECK(has_note(analysis, "else ≥ ") != swapped);
  }
}

TEST_CASE("a branch that cannot run is not taken when the other can") {
  const Analysis analysis =
      analyze(test::graph("x:f32[N,4], c:bool[] -> v = If(c) {then_branch=( z:i64=[1] -> a = Squeeze(x, z)), "
                          "else_branch=( -> b = Exp(x))}; "
                          "y = Relu(v)"));
  CHECK(!analysis.partial);
  CHECK(analysis.outputs[0].type == test::type("f32[N,4]"));
  CHECK(analysis.totals.cost.special == 4 * Dim::symbol("N"));
  CHECK(has_note(analysis, "takes the else branch, since the other cannot run"));
}

TEST_CASE("equalities of a branch that may not run do not bind the model") {
  const Analysis analysis =
      analyze(test::graph("x:f32[N,4], c:bool[] -> v = If(c) {then_branch=( z:i64=[0] -> a = Squeeze(x, z)), "
                          "else_branch=( -> b = ReduceSum(x) "
                          "{keepdims=0})}; y = Relu(x)"));
  CHECK(analysis.free_dims == std::vector<std::string>{"N"});
  CHECK(analysis.equalities.empty());
}

TEST_CASE("a size that a branch determines stays open outside it") {
  const Analysis analysis = analyze(test::graph(
      "x:f32[8], k:i64[1,5]=const, c:bool[] -> n = NonZero(x); v = If(c) {then_branch=( -> a = Concat(n, k) {axis=0}), "
      "else_branch=( -> b = Concat(n, n) {axis=0})}; y = Abs(n)"));
  CHECK(std::ranges::count(analysis.symbols, std::string("nonzero"), &Symbol::name) == 1);
  CHECK(to_string(analysis.outputs[1].type) == "int64[1,nonzero]");
}

TEST_CASE("of branches with different ranks, the one that the operators behind it accept is taken") {
  // x.squeeze(2) before an operator that needs a rank, as torch exports it.
  const std::string squeeze =
      "c = Equal(d, one); v = If(c) {then_branch=( ax:i64=[2] -> a = Squeeze(x, ax)), else_branch=( -> b = "
      "Identity(x))}; ";
  const std::string lstm = "y = LSTM(v, w, r) {hidden_size=3}";
  const std::string inputs = "x:f32[2,N,t,4], w:f32[1,12,4]=const, r:f32[1,12,3]=const, k:i64=2, one:i64=1";
  const Model by_size = test::graph(inputs + " -> s = Shape(x); d = Gather(s, k); " + squeeze + lstm);
  const Analysis analysis = analyze(by_size);
  CHECK(!analysis.partial);
  CHECK(has_note(analysis, "takes the then branch: operators behind it need its rank"));
  CHECK(analysis.equalities.at("t") == Dim(1));
  const Analysis bound = at_sizes(by_size, {{"t", 1}, {"N", 3}});
  CHECK(bind_dims(analysis, {{"N", 3}}).totals.cost.macs == bound.totals.cost.macs);
  CHECK(at_sizes(by_size, {{"t", 5}}).partial);
  // The same where data decide, and where two of them have to agree.
  const Analysis by_data = analyze(test::graph(inputs + ", d:i64[] -> " + squeeze + lstm));
  CHECK(!by_data.partial);
  const Analysis twice = analyze(
      test::graph(inputs + ", h:f32[1,N,t,3], g:f32[1,N,t,3] -> s = Shape(x); d = Gather(s, k); " + squeeze +
                  "p = If(c) {then_branch=( ay:i64=[2] -> e = Squeeze(h, ay)), else_branch=( -> f = Identity(h))}; "
                  "q = If(c) {then_branch=( az:i64=[2] -> o = Squeeze(g, az)), else_branch=( -> l = Identity(g))}; "
                  "y = LSTM(v, w, r, , , p, q) {hidden_size=3}"));
  CHECK(!twice.partial);
  // Where both branches do, neither is taken for granted.
  const Analysis both = analyze(test::graph(inputs + ", d:i64[] -> " + squeeze + "y = Relu(v)"));
  CHECK(!has_note(both, "operators behind it need its rank"));
}

namespace {

// Each function calls the previous one `calls` times, and the first one is `calls` Relus. With two calls, a file of a
// few hundred bytes has 2^(depth + 1) Relus.
Model doubling(int depth, int calls = 2) {
  Model model = test::graph("x:f32[8] -> y = Twice(x)");
  model.graphs[0].nodes[0].domain = "local";
  model.graphs[0].nodes[0].op_type = "f" + std::to_string(depth);
  model.opsets["local"] = 1;
  for (int k = 0; k <= depth; ++k) {
    Graph body;
    for (int value = 0; value <= calls; ++value) body.values.emplace_back().name = "v" + std::to_string(value);
    body.inputs = {0};
    body.outputs = {calls};
    for (int call = 0; call < calls; ++call) {
      Node& node = body.nodes.emplace_back();
      node.op_type = k == 0 ? "Relu" : "f" + std::to_string(k - 1);
      node.domain = k == 0 ? "" : "local";
      node.inputs = {call};
      node.outputs = {call + 1};
    }
    Function& function = model.functions.emplace_back();
    function.domain = "local";
    function.name = "f" + std::to_string(k);
    function.body = static_cast<GraphId>(model.graphs.size());
    function.opsets = {{"", 17}, {"local", 1}};
    model.graphs.push_back(std::move(body));
  }
  return model;
}

}  // namespace

TEST_CASE("local functions are inlined, with their name as scope") {
  const Analysis analysis = analyze(doubling(2));
  CHECK(analysis.nodes.size() == 8);
  CHECK(analysis.totals.cost.arith == Dim(8 * 8));
  CHECK(analysis.nodes[0].scope == "f2/f1/f0");
}

TEST_CASE("rows in the body of a function have the names of values that the call passes and returns") {
  // Inner adds a branch that reads its input; Outer calls it and a Relu on it.
  Model model = test::graph("x:f32[8], c:bool[] -> p = Neg(x); q, s = Outer(p, c); y = Exp(q); z = Exp(s)");
  const auto function = [&](const char* name, Model body) {
    const auto first = static_cast<GraphId>(model.graphs.size());
    Function& added = model.functions.emplace_back();
    added.name = name;
    added.body = first;
    added.opsets = {{"", 22}};
    for (Graph& graph : body.graphs) {
      if (graph.parent >= 0) graph.parent += first;
      for (Node& node : graph.nodes)
        for (Attribute& attribute : node.attributes)
          if (GraphId* inner = std::get_if<GraphId>(&attribute.value)) *inner += first;
      model.graphs.push_back(std::move(graph));
    }
  };
  function("Outer", test::graph("a:f32[8], b:bool[] -> t = Inner(a, b); u = Relu(t) => t, u"));
  function("Inner", test::graph("i:f32[8], j:bool[] -> w = Abs(i); v = If(j) "
                                "{then_branch=( -> k = Mul(w, i)), else_branch=( -> l = Neg(i))}"));
  const Analysis analysis = analyze(model);
  const CallNames names(model, analysis.nodes);
  std::string rows;
  for (std::size_t row = 0; row < analysis.nodes.size(); ++row) {
    const Graph& graph = model.graph(analysis.nodes[row].graph);
    const Node& node = graph.node(analysis.nodes[row].node);
    rows += node.op_type + "(";
    for (const ValueId input : node.inputs) rows += " " + names.of(row, input);
    rows += " ->";
    for (const ValueId output : node.outputs) rows += " " + names.of(row, output);
    rows += ") ";
  }
  CHECK(rows == "Neg( x -> p) Abs( p -> w) If( c -> q) Mul( w p -> k) Relu( q -> s) Exp( q -> y) Exp( s -> z) ");
}

TEST_CASE("an operator is that of the opset which its function imports, whatever opset its caller has") {
  // Before opset 7, Add broadcasts only where an attribute says so.
  Model model = test::graph("a:f32[2,3], b:f32[3] -> p = Add(a, b); q = Old(a, b); r = Add(q, b)");
  Model body = test::graph("a:f32[2,3], b:f32[3] -> c = Add(a, b)");
  body.graphs[0].nodes[0].op_type = model.graphs[0].nodes[0].op_type;  // one text, as the loader keeps it
  Function& old = model.functions.emplace_back();
  old.name = "Old";
  old.body = static_cast<GraphId>(model.graphs.size());
  old.opsets = {{"", 6}};
  model.graphs.push_back(std::move(body.graphs[0]));
  const Analysis analysis = analyze(model);
  REQUIRE(analysis.nodes.size() == 3);
  CHECK(analysis.nodes[0].problem.empty());
  CHECK(analysis.nodes[1].problem == "B has rank 1 and A 2");
  CHECK(analysis.nodes[2].cost.mark == Mark::Unmodelled);  // of an unknown input
  old.opsets = {{"", 7}};
  CHECK(analyze(model).totals.unmodelled_nodes == 0);
}

TEST_CASE("functions that double 40 times are counted exactly, in few rows") {
  const Analysis analysis = analyze(doubling(40));
  CHECK(analysis.totals.cost.arith == Dim((std::int64_t{1} << 41) * 8));
  CHECK(analysis.nodes.size() < 100'000);
}

TEST_CASE("a function that calls itself is unmodelled, not endless") {
  Model model = doubling(1);
  model.graphs[1].nodes[0].op_type = "f1";
  model.graphs[1].nodes[0].domain = "local";
  const Analysis analysis = analyze(model);
  CHECK(analysis.partial);
  CHECK(analysis.totals.unmodelled_nodes == 4);  // f1 calls f0 twice: its call of f1, and the Relu behind it
  REQUIRE(!analysis.diagnostics.empty());
  CHECK(analysis.diagnostics.front().message == "not modelled: local function f1 calls itself, which ONNX forbids");
}

TEST_CASE("unmodelled nodes of functions that multiply them beyond 64 bits are counted to a limit") {
  Model model = doubling(44, 3);  // 3^45 nodes; 2^63 is 3^39.7
  for (Node& node : model.graphs[1].nodes) node.op_type = "Unheard";
  const Analysis analysis = analyze(model);
  CHECK(analysis.totals.unmodelled_nodes >= std::int64_t{1} << 40);
}
