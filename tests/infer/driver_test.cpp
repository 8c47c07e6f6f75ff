// What the driver does around the rules: constants, host arithmetic, parameters, size
// equalities, unknown operators, bindings.
#include <doctest/doctest.h>

#include <algorithm>

#include "pagoda/base/error.h"
#include "support/files.h"
#include "support/op_case.h"

using namespace pagoda;

namespace {

bool has_note(const Analysis& analysis, std::string_view text) {
  return std::any_of(analysis.diagnostics.begin(), analysis.diagnostics.end(),
                     [&](const Diagnostic& diagnostic) { return diagnostic.message.find(text) != std::string::npos; });
}

std::string message_of(const Model& model, const AnalyzeOptions& options) {
  return test::error_of([&] { analyze(model, options); });
}

}  // namespace

TEST_CASE("constants, host arithmetic and views cost nothing, and say so") {
  const test::OpCase cases[] = {
      {"w:f32[4,8]=const -> y = Transpose(w)", "y:f32[8,4]", "arith=0 read=0 written=0 mark=folded",
       "constant in, constant out"},
      {"x:f32[N,3], i:i64=0 -> s = Shape(x); y = Gather(s, i)", "y:i64[]=N", "read=0 written=0 mark=host",
       "shape arithmetic"},
      {"x:f32[N,3], i:i64=0, l:i64=0, d:i64=1 -> s = Shape(x); n = Gather(s, i); y = Range(l, n, d)", "y:i64[N]",
       "mark=compute written=8*N", "a tensor made from a shape is no shape arithmetic"},
      {"x:f32[N,3], t:i64[2]=[-1,1] -> y = Reshape(x, t)", "y:f32[3*N,1]", "read=0 written=0 mark=view", "a view"},
  };
  test::check_cases(cases);
}

TEST_CASE("parameters are stored weights, each counted once however often it is used") {
  const Analysis analysis = analyze(test::graph(
      "x:f32[N,8], w:f32[8,8]=const, i:i64[2]=[0,1], s:f32=0.5, q:i8[8,8]=const, z:f32=1.0, o:i8=0 -> "
      "a = MatMul(x, w); b = MatMul(a, w); c = Mul(b, s); v = DequantizeLinear(q, z, o); y = MatMul(c, v)"));
  // Two matrices, the scalars s, z and o; i is an index table.
  CHECK(analysis.totals.params == Dim(64 + 64 + 3));
  CHECK(analysis.totals.param_bytes == Dim(64 * 4 + 64 + 4 + 4 + 1));
}

TEST_CASE("several weights to a byte count as weights, and as the bytes they take") {
  struct Row {
    const char* graph;
    const char* params;
    const char* bytes;
  };
  const Row rows[] = {
      // The 80 weights of each of 6 rows take 3 blocks of 32; 3 zero points take 2 bytes; there are 18 scales.
      {"x:f32[1,80], b:u8[6,3,16]=const, s:f32[18]=const, z:u8[12]=const -> "
       "y = com.microsoft.MatMulNBits(x, b, s, z) {K=80, N=6, bits=4, block_size=32}",
       "480+18+18", "288+72+12"},
      {"x:f32[1,64], b:u8[6,2,8]=const, s:f32[12]=const -> "
       "y = com.microsoft.MatMulNBits(x, b, s) {K=64, N=6, bits=2, block_size=32}",
       "384+12", "96+48"},
      // A table shared by the embedding (through a Reshape) and the last projection is counted once.
      {"i:i64[1,3], t:i64[2]=[6,32], b:u8[6,2,16]=const, s:f32[6,2]=const -> r = Reshape(b, t); "
       "x = com.microsoft.GatherBlockQuantized(r, i, s) {bits=4, block_size=32}; "
       "y = com.microsoft.MatMulNBits(x, b, s) {K=64, N=6, bits=4, block_size=32}",
       "384+12", "192+48"},
      // int4 is a separate element type.
      {"x:f32[1,6], b:i4[6,8]=const, s:f32=0.5 -> w = DequantizeLinear(b, s); y = MatMul(x, w)", "48+1", "24+4"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.graph);
    const Totals totals = analyze(test::graph(row.graph)).totals;
    CHECK(totals.unmodelled_nodes == 0);
    CHECK(totals.params == *Dim::parse(row.params));
    CHECK(totals.param_bytes == *Dim::parse(row.bytes));
  }
}

TEST_CASE("sizes bound after the analysis must be those that the formulas assume") {
  const auto bound = [](const char* graph, const Bindings& sizes) -> std::string {
    try {
      return bind_dims(analyze(test::graph(graph)), sizes).totals.cost.arith.to_string();
    } catch (const Error& error) {
      return error.what();
    }
  };
  const char* equal = "a:f32[N,4], b:f32[M,4] -> y = Add(a, b)";  // two names for one size
  CHECK(bound(equal, {{"N", 3}, {"M", 3}}) == "12");
  CHECK(bound(equal, {{"N", 3}}) == "12");
  CHECK(bound(equal, {{"M", 3}}) == "12");
  CHECK(bound(equal, {{"N", 3}, {"M", 5}}).find("give sizes that agree, or bind them before") != std::string::npos);
  // If bound before the analysis, a size of one is broadcast, and two different sizes are a contradiction at the node.
  CHECK(analyze(test::graph(equal), {.dims = {{"N", 3}, {"M", 1}}}).totals.cost.arith == Dim(12));
  CHECK(has_note(analyze(test::graph(equal), {.dims = {{"N", 3}, {"M", 5}}}), "do not broadcast"));

  const char* constant = "a:f32[N,4], b:f32[5,4] -> y = Add(a, b)";
  CHECK(bound(constant, {{"N", 5}}) == "20");
  CHECK(bound(constant, {{"N", 1}}) == "20");
  CHECK(bound(constant, {{"N", 3}}).find("broadcast against 5") != std::string::npos);

  const char* sum = "a:f32[P,4], b:f32[S,4], m:f32[T,4] -> c = Concat(a, b) {axis=0}; y = Add(c, m)";
  CHECK(bound(sum, {{"P", 2}, {"S", 3}, {"T", 5}}) == "20");
  CHECK(bound(sum, {{"P", 2}, {"T", 5}}) == "20");
  CHECK(bound(sum, {{"P", 2}, {"S", 3}, {"T", 6}}).find("here 5") != std::string::npos);
}

TEST_CASE("a total sequence length is the past and what is new, unless it is given") {
  const Model model = test::graph(
      "x:f32[batch_size,sequence_length], p:f32[batch_size,past_sequence_length], "
      "m:f32[batch_size,total_sequence_length] -> a = Relu(x); b = Relu(p); y = Relu(m)");
  CHECK(analyze(model).types.back() == test::type("f32[batch_size,past_sequence_length+sequence_length]"));
  CHECK(has_note(analyze(model), "total_sequence_length taken to be past_sequence_length + sequence_length"));
  // A buffer of 100 rows, of which 7 are in use.
  const Bindings buffer = {{"sequence_length", 1}, {"past_sequence_length", 100}, {"total_sequence_length", 7}};
  CHECK(analyze(model, {.dims = buffer}).types.back() == test::type("f32[batch_size,7]"));
  CHECK_THROWS_AS(bind_dims(analyze(model), buffer), Error);
}

TEST_CASE("an operator without a rule is reported, and never counted as free") {
  const Analysis analysis = analyze(test::graph("x:f32[N,4] -> t = custom.Strange(x); y = Relu(t)"));
  CHECK(analysis.partial);
  CHECK(analysis.totals.unmodelled_nodes == 2);  // Relu's input has no known type
  CHECK(analysis.totals.unmodelled_ops == std::vector<std::string>{"Relu", "custom.Strange"});
  CHECK(has_note(analysis, "no rule for custom.Strange"));
}

TEST_CASE("a declared type lets the analysis go on after an unknown operator") {
  const Analysis analysis = analyze(test::graph("x:f32[N,4] -> t:f32[N,4] = custom.Strange(x); y = Relu(t)"));
  CHECK(analysis.totals.unmodelled_nodes == 1);
  CHECK(analysis.totals.cost.arith.to_string() == "4*N");
}

TEST_CASE("sizes that must be equal become one, the dim named first") {
  const Analysis analysis = analyze(test::graph("x:f32[batch,past+seq], m:f32[rows,total] -> y = Add(x, m)"));
  CHECK(to_string(analysis.outputs.at(0).type) == "float32[batch,past + seq]");
  CHECK(analysis.totals.cost.arith == Dim::symbol("batch") * (Dim::symbol("past") + Dim::symbol("seq")));
  CHECK(has_note(analysis, "takes dim rows to be batch"));
}

TEST_CASE("--dim, --input and --batch bind, and contradictions are clear") {
  const Model model = test::graph("x:f32[batch,seq,8], m:i64[batch,past+seq] -> y = Relu(x)");
  CHECK(analyze(model, {.batch = 2, .dims = {{"seq", 5}}}).totals.cost.arith == Dim(80));
  AnalyzeOptions shapes;
  shapes.input_shapes = {{"x", {2, 5, 8}}, {"m", {2, 9}}};
  const Analysis bound = analyze(model, shapes);
  CHECK(bound.bindings == Bindings{{"batch", 2}, {"past", 4}, {"seq", 5}});

  struct Row {
    AnalyzeOptions options;
    const char* message;
  };
  Row rows[] = {{{}, "the model has no such dim; its free dims are: batch, past, seq"},
                {{}, "is given as"},
                {{}, "the model has no such input; its inputs are: x, m"},
                {{}, "has 2 dims, the model's input is float32[batch,seq,8]"},
                {{}, "dim 2 is fixed at 8 in the file, found 0"},
                {{}, "a size is at least 0"},
                {{}, "dim 1 is 9 by the other bindings, found 10"}};
  rows[0].options.dims = {{"sequence", 3}};
  rows[1].options.dims = {{"batch", 3}};
  rows[1].options.batch = 4;
  rows[2].options.input_shapes = {{"z", {1}}};
  rows[3].options.input_shapes = {{"x", {1, 2}}};
  rows[4].options.input_shapes = {{"x", {1, 2, 0}}};
  rows[5].options.dims = {{"seq", -1}};
  rows[6].options.dims = {{"past", 4}, {"seq", 5}};
  rows[6].options.input_shapes = {{"m", {1, 10}}};
  for (const Row& row : rows) {
    const std::string message = message_of(model, row.options);
    CHECK_MESSAGE(message.find(row.message) != std::string::npos, "got: " << message << "\nexpected: " << row.message);
  }
}

TEST_CASE("a model exported with a fixed batch is re-batched, constants baked into Reshape included") {
  const Model model = test::graph(
      "x:f32[1,197,768], w:f32[768,768]=const, t:i64[4]=[1,197,12,64], u:i64[3]=[1,197,768], cls:f32[1,1,768]=const -> "
      "q = MatMul(x, w); h = Reshape(q, t); p = Transpose(h) {perm=[0,2,1,3]}; r = Transpose(p) {perm=[0,2,1,3]}; "
      "y = Reshape(r, u); z = Concat(cls, y) {axis=1}");
  const Analysis eight = analyze(model, {.batch = 8});
  CHECK(eight.totals.cost.macs == Dim(8LL * 197 * 768 * 768));
  CHECK(to_string(eight.types.at(9)) == "float32[8,197,768]");
  CHECK(eight.totals.unmodelled_nodes == 0);
  CHECK(has_note(eight, "fixed at export"));
  // Requesting the model's own batch is a binding like any other, so that estimates at
  // several batches can be distinguished.
  CHECK(analyze(model, {.batch = 1}).bindings == Bindings{{"batch", 1}});
  CHECK(analyze(model, {}).bindings.empty());
  const Analysis symbolic = analyze(model, {.batch = 0, .symbolic_batch = true});
  CHECK(symbolic.totals.cost.macs == Dim(197 * 768 * 768) * Dim::symbol("batch"));
  CHECK(bind_dims(symbolic, {{"batch", 8}}).totals.cost.macs == eight.totals.cost.macs);
}

TEST_CASE("a batch that the graph cannot take is refused with the reason") {
  const std::pair<const char*, const char*> graphs[] = {
      {"x:f32[1,3,8,8], w:f32[4,3,3,3]=const -> p = Split(x) {axis=0, split=[1]}; y = Conv(p, w)",
       "split into parts of fixed sizes"},
      {"x:f32[1,6] -> s = Squeeze(x) {axes=[0]}; y = Relu(s)", "squeezed away"},
      {"x:f32[3,8,8], w:f32[4,3,3,3]=const -> u = Unsqueeze(x) {axes=[0]}; y = Conv(u, w)", "no batch axis"},
      {"x:f32[1,3,8,8], w:f32[1,3,3,3] -> y = Conv(x, w)", "its weights are an input"},
      {"x:u8[1,3,8,8], s:f32[]=const, z:u8[]=const, w:u8[1,3,3,3] -> y = QLinearConv(x, s, z, w, s, z, s, z)",
       "its weights are an input"},
  };
  for (const auto& [graph, reason] : graphs) {
    const std::string text = std::string("opset=11: ") + graph;
    CAPTURE(text);
    const Model model = test::graph(text);
    CHECK(analyze(model).totals.unmodelled_nodes == 0);
    std::string message;
    try {
      analyze(model, {.batch = 4});
    } catch (const Error& error) {
      message = error.what();
    }
    CHECK_MESSAGE(message.find(reason) != std::string::npos, message);
    CHECK(message.find("dynamic batch dim") != std::string::npos);
  }
}

TEST_CASE("a product without outputs is analysed at another batch") {
  Model model = test::graph("x:f32[1,3,8,8], w:f32[1,3,3,3] -> y = Conv(x, w)");
  model.graphs.front().nodes.front().outputs.clear();
  model.graphs.front().outputs.clear();
  CHECK(analyze(model, {.batch = 4}).nodes.size() == 1);
}

TEST_CASE("formulas keep the limits of tables: beyond them they do not hold") {
  // A table of 512 positions, cut to the sequence length.
  const Model model = test::graph(
      "x:f32[N,S,4], t:f32[1,512,4]=const, z:i64[1]=[0], o:i64[1]=[1] -> s = Shape(x); n = Gather(s, o); "
      "p = Slice(t, z, n, o); y = Add(x, p)");
  const Analysis analysis = analyze(model);
  CHECK(analysis.totals.unmodelled_nodes == 0);
  REQUIRE(analysis.requirements.size() == 1);
  CHECK(broken_requirement(analysis, {{"N", 2}, {"S", 512}}) == "");
  CHECK(broken_requirement(analysis, {{"N", 2}}) == "");
  CHECK(broken_requirement(analysis, {{"N", 2}, {"S", 515}}).find("here 515 and 512") != std::string::npos);
  CHECK(bind_dims(analysis, {{"N", 2}, {"S", 512}}).totals.cost.arith == Dim(2 * 512 * 4));
  CHECK_THROWS_AS(bind_dims(analysis, {{"S", 515}}), Error);
  CHECK(analyze(model, {.dims = {{"S", 515}}}).totals.unmodelled_nodes == 1);
}

TEST_CASE("work on stored tensors alone is done once, at load, and counted apart") {
  const Analysis analysis = analyze(test::graph(
      "x:f32[N,10], t:f32[10,30]=const, w:f32[30,20]=const -> p = MatMul(t, w); q = Exp(p); y = MatMul(x, q)"));
  CHECK(analysis.totals.at_load.macs == Dim(10 * 30 * 20));
  CHECK(analysis.totals.at_load.special == Dim(200));
  CHECK(analysis.totals.cost.macs == 200 * Dim::symbol("N"));
}

TEST_CASE("a fixed batch given by the shapes of inputs is the same re-batching") {
  const Model model = test::graph(
      "x:f32[2,6,4], m:f32[2,6], t:i64[2]=[2,24], u:i64[3]=[2,6,1] -> f = Reshape(x, t); g = Reshape(m, u); y = Mul(x, "
      "g)");
  const Analysis asked = analyze(model, {.batch = 5});
  CHECK(to_string(asked.types.at(4)) == "float32[5,24]");
  for (const AnalyzeOptions& options : {AnalyzeOptions{.input_shapes = {{"x", {5, 6, 4}}}},
                                        AnalyzeOptions{.input_shapes = {{"x", {5, 6, 4}}, {"m", {5, 6}}}},
                                        AnalyzeOptions{.batch = 5, .input_shapes = {{"m", {5, 6}}}}}) {
    const Analysis shaped = analyze(model, options);
    CHECK(shaped.types == asked.types);
    CHECK(shaped.totals.unmodelled_nodes == 0);
    CHECK(shaped.totals.activation_peak_bytes == asked.totals.activation_peak_bytes);
  }
  CHECK(message_of(model, {.input_shapes = {{"x", {5, 6, 4}}, {"m", {7, 6}}}}).find("give sizes that agree") !=
        std::string::npos);
}

TEST_CASE("the batch of a recurrent model is where its operators read it") {
  struct Row {
    const char* graph;
    const char* input;  // its shape at batch 4
  };
  // An LSTM with 16 hidden units and 8 features: 10 steps · 4 sequences · 4 gates · 16 · (8 + 16).
  const Row rows[] = {
      {"x:f32[10,1,8], w:f32[1,64,8]=const, r:f32[1,64,16]=const -> y = LSTM(x, w, r) {hidden_size=16}", "[10,4,8]"},
      {"x:f32[S,N,8], w:f32[1,64,8]=const, r:f32[1,64,16]=const -> y = LSTM(x, w, r) {hidden_size=16}", "[S,4,8]"},
      {"x:f32[1,10,8], w:f32[1,64,8]=const, r:f32[1,64,16]=const -> "
       "t = Transpose(x) {perm=[1,0,2]}; y = LSTM(t, w, r) {hidden_size=16}",
       "[4,10,8]"},
      {"x:f32[1,10,8], w:f32[1,64,8]=const, r:f32[1,64,16]=const -> y = LSTM(x, w, r) {hidden_size=16, layout=1}",
       "[4,10,8]"},
      {"x:i64[10,1], e:f32[99,8]=const, w:f32[1,64,8]=const, r:f32[1,64,16]=const -> "
       "v = Gather(e, x); y = LSTM(v, w, r) {hidden_size=16}",
       "[10,4]"},
      {"x:f32[10,1,8], h:f32[1,1,16], w:f32[1,64,8]=const, r:f32[1,64,16]=const -> "
       "y = LSTM(x, w, r, , , h) {hidden_size=16}",
       "[10,4,8]"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.graph);
    const Analysis four = analyze(test::graph(row.graph), {.batch = 4});
    CHECK(to_string(four.inputs[0].type).ends_with(row.input));
    CHECK(four.totals.unmodelled_nodes == 0);
    CHECK(four.totals.cost.macs.bind({{"S", 10}}) == Dim(10 * 4 * 4 * 16 * (8 + 16)));
  }
  const Model model = test::graph(rows[0].graph);
  CHECK(analyze(model, {.input_shapes = {{"x", {10, 4, 8}}}}).totals.cost.macs == Dim(10 * 4 * 4 * 16 * (8 + 16)));
  CHECK(analyze(model, {.input_shapes = {{"x", {11, 1, 8}}}}).totals.cost.macs == Dim(11 * 4 * 16 * (8 + 16)));
}

TEST_CASE("sizes beyond 128 bits are an error, not a number") {
  const Model model = test::graph("x:f32[a,b,c] -> y = Relu(x)");
  const std::int64_t big = std::int64_t{1} << 62;
  CHECK(message_of(model, {.dims = {{"a", big}, {"b", big}, {"c", big}}}).find("exceeds 128 bits") !=
        std::string::npos);
}

TEST_CASE("activation peak follows lifetimes: views share, dead values go, outputs stay") {
  // x and a are alive: 2·16; then a and b; c shares b's storage; then c and the output d: the peak is two tensors.
  const Analysis chain =
      analyze(test::graph("x:f32[4], t:i64[2]=[2,2] -> a = Relu(x); b = Exp(a); c = Reshape(b, t); d = Neg(c)"));
  CHECK(chain.totals.activation_peak_bytes == Dim(32));
  const Analysis skip = analyze(test::graph("x:f32[4] -> a = Relu(x); b = Exp(a); c = Neg(b); d = Add(c, a)"));
  CHECK(skip.totals.activation_peak_bytes == Dim(48));
  const Analysis symbolic = analyze(test::graph("x:f32[N,4] -> a = Relu(x); b = Exp(a); c = Neg(b); d = Add(c, a)"));
  CHECK(symbolic.totals.activation_peak_bytes->to_string() == "48*N");
}

TEST_CASE("a node whose work cannot be counted keeps its weights, in the type that the precision stores") {
  const Model model = test::graph("x:f32, w:f32[300,400]=const -> y = MatMul(x, w)");
  struct Row {
    std::optional<Precision> precision;
    int bytes;  // of a weight
  };
  for (const Row& row : {Row{std::nullopt, 4}, Row{Precision::Float16, 2}, Row{Precision::Int8, 1}}) {
    const Analysis analysis = analyze(model, {.precision = row.precision});
    CAPTURE(row.bytes);
    CHECK(analysis.totals.unmodelled_nodes == 1);
    CHECK(analysis.totals.params == Dim(120'000));
    CHECK(analysis.totals.param_bytes == Dim(120'000 * row.bytes));
    CHECK(analysis.nodes.at(0).params == Dim(120'000));
  }
}

TEST_CASE("a node that fails after its work was counted has one row, which keeps its weights") {
  const Analysis analysis = analyze(
      test::graph("q:f32[1,2,3,4], k:f32[1,2,5,4], v:f32[1,2,5,4]=const -> y = ai.onnx.preview.FlexAttention(q, k, v) "
                  "{softmax_precision=99, score_mod=(s:f32[1,2,3,5] -> t = Relu(s))}"));
  REQUIRE(analysis.nodes.size() == 1);
  CHECK(analysis.nodes[0].problem == "attribute softmax_precision is 99, which is not a known element type");
  CHECK(analysis.nodes[0].params == Dim(1 * 2 * 5 * 4));
  CHECK(analysis.totals.params == analysis.nodes[0].params);
}

TEST_CASE("a condition that fails within its branches leaves the assumptions of later nodes in place") {
  std::string deep = "a = Relu(x)";
  for (int depth = 0; depth <= kMaxBodyDepth; ++depth)
    deep = "v" + std::to_string(depth) + " = If(c) {then_branch=( -> " + deep + "), else_branch=( -> e" +
           std::to_string(depth) + " = Identity(x))}";
  const Analysis analysis = analyze(test::graph("x:f32[2*A], z:f32[3*B], c:bool[] -> " + deep + "; y = Add(x, z)"));
  CHECK(analysis.totals.unmodelled_nodes > 0);
  REQUIRE(analysis.requirements.size() == 1);
  CHECK(broken_requirement(analysis, {{"A", 3}, {"B", 2}}) == "");
  CHECK(broken_requirement(analysis, {{"A", 3}, {"B", 3}}) != "");
}

TEST_CASE("counts that exceed 128 bits end the analysis with the name of the node") {
  const char* const product =
      "x:f32[4611686018427387904,4611686018427387904], w:f32[4611686018427387904,4611686018427387904]=const -> ";
  struct Row {
    std::string graph;
    const char* node;
  };
  for (const Row& row :
       {Row{product + std::string("y = MatMul(x, w) @ head.out"), "head.out"},
        Row{"c:bool=true, " + std::string(product) +
                "y = If(c) {then_branch=( -> t = MatMul(x, w) @ inner), else_branch=( -> e = Relu(x))} @ outer",
            "inner"}}) {
    CAPTURE(row.graph);
    CHECK(message_of(test::graph(row.graph), {}).starts_with(std::string(row.node) + ": a count exceeds 128 bits"));
  }
}

TEST_CASE("formulas say below which sizes they do not hold") {
  struct Row {
    const char* graph;
    Bindings sizes;
    const char* why;
  };
  const Row rows[] = {
      {"x:f32[N,4,T] -> y = MaxPool(x) {kernel_shape=[2], strides=[2]}",
       {{"T", 1}},
       "the window spans 2 but the padded input has 1"},
      {"x:f32[N,4,T] -> y = MaxPool(x) {kernel_shape=[2], strides=[2]}", {{"T", 2}}, ""},
      {"x:f32[N,4,T], w:f32[4,4,3]=const -> y = Conv(x, w) {pads=[1,1]}", {{"T", 1}}, ""},
      {"x:f32[N,4,T], w:f32[4,4,5]=const -> y = Conv(x, w) {pads=[1,1]}",
       {{"T", 2}},
       "the window spans 5 but the padded input has 4"},
      {"x:f32[T,4] -> p = Unsqueeze(x) {axes=[0]}; q = MaxPool(p) {kernel_shape=[2]}; y = ReduceMax(x)",
       {{"T", 1}},
       ""},
      {"x:f32[2*T-2,4] -> y = ReduceMax(x) {axes=[0]}", {{"T", 1}}, "reduces an axis of 2*T - 2, here 0"},
      {"x:f32[N,1,4] -> y = Squeeze(x)", {{"N", 1}}, "removes an axis of size 1"},
      {"x:f32[N,1,4] -> y = Squeeze(x)", {{"N", 2}}, ""},
      // Twice the half of an odd size is another one; a size of 1 broadcasts.
      {"x:f32[2*A], z:f32[3*B] -> y = Add(x, z)", {{"A", 3}, {"B", 2}}, ""},
      {"x:f32[A], z:f32[2*A] -> y = Add(x, z)", {{"A", 1}}, "which broadcasts"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.graph);
    const Analysis analysis = analyze(test::graph(row.graph));
    const std::string broken = broken_requirement(analysis, row.sizes);
    CAPTURE(broken);
    if (row.why == std::string_view())
      CHECK(broken == "");
    else
      CHECK(broken.find(row.why) != std::string::npos);
    if (!broken.empty()) continue;
    const OpCost after = bind_dims(analysis, row.sizes).totals.cost;
    const OpCost first = analyze(test::graph(row.graph), {.dims = row.sizes}).totals.cost;
    CHECK(flops(after) == flops(first));
    CHECK(after.bytes() == first.bytes());
  }
}

TEST_CASE("a dim that is broadcast with another follows it, says so, and differs if both are given") {
  const Model model = test::graph("x:f32[a,b], s:f32[c] -> y = Add(x, s)");
  const Analysis open = analyze(model);
  CHECK(open.free_dims == std::vector<std::string>{"a", "b"});
  CHECK(has_note(open, "takes dim c to be b, which it broadcasts it with; set both to differ"));
  const Analysis some = analyze(model, {.dims = {{"a", 2}, {"b", 3}}});
  CHECK(some.totals.cost.bytes() == Dim(60));
  CHECK(some.totals.cost.bytes() == bind_dims(open, {{"a", 2}, {"b", 3}}).totals.cost.bytes());
  CHECK(some.bindings == Bindings{{"a", 2}, {"b", 3}, {"c", 3}});
  CHECK(has_note(some,
                 "dim c is taken to be 3 like the dim that it is broadcast with; set it with `dims=c=V` to differ"));
  CHECK(analyze(model, {.dims = {{"a", 2}, {"b", 3}, {"c", 1}}}).totals.cost.bytes() == Dim(52));
  // A stored tensor of that size decides nothing: 1 and 5 are as likely.
  CHECK(analyze(test::graph("x:f32[a,b], s:f32[5] -> y = Add(x, s)"), {.dims = {{"a", 2}}}).free_dims ==
        std::vector<std::string>{"b"});
}

TEST_CASE("a node that may not run fixes no dim of an input") {
  const Analysis analysis = analyze(test::graph(
      "x:f32[N,4], c:bool[] -> r = If(c) {then_branch=( -> t = Squeeze(x) {axes=[0]}), else_branch=( -> e = Relu(x))}; "
      "y = Relu(x)"));
  CHECK(analysis.free_dims == std::vector<std::string>{"N"});
  CHECK(to_string(analysis.outputs.back().type) == "float32[N,4]");
}

TEST_CASE("the batch is a dim whose name or place says so, and no count of nodes, tokens or bytes") {
  struct Row {
    const char* graph;
    Bindings bindings;  // after batch 3
  };
  const Row rows[] = {
      {"x:f32[batch_size,max_seq_len_in_batch] -> y = Relu(x)", {{"batch_size", 3}}},
      {"x:f32[unk__214,8] -> y = Relu(x)", {{"unk__214", 3}}},
      {"x:f32[dynamicBatch,seqLen] -> y = Relu(x)", {{"dynamicBatch", 3}}},
      {"x:f32[num_nodes,8], e:i64[2,num_edges], g:f32[num_graphs,4] -> y = Relu(x)", {}},
      {"x:u8[num_bytes] -> y = Relu(x)", {}},
      {"x:i64[total_tokens,8] -> y = Relu(x)", {}},
      {"q:f32[2*batch_size,8] -> y = Relu(q)", {{"batch_size", 3}}},
      {"x:f32[batch_size,8], k:f32[batch_x_heads,past,4] -> y = Relu(x)", {{"batch_size", 3}}},
      // The operator reads the batch, 1, elsewhere.
      {"x:f32[T,64], h:f32[1,1,16], w:f32[1,64,64]=const, r:f32[1,64,16]=const, a:i64[1]=[1], c:f32[1,1,16] -> "
       "u = Unsqueeze(x, a); v = Exp(u); y, n, m = LSTM(v, w, r, , , h, c) {hidden_size=16}",
       {}},
  };
  for (const Row& row : rows) {
    CAPTURE(row.graph);
    Bindings bindings = analyze(test::graph(row.graph), {.batch = 3}).bindings;
    CHECK(bindings == row.bindings);
  }
  CHECK(analyze(test::graph("q:f32[2*batch_size,8] -> y = Relu(q)"), {.batch = 3}).totals.cost.bytes_read ==
        Dim(6 * 8 * 4));
  CHECK(message_of(test::graph("k:f32[batch_x_heads,past,4] -> y = Relu(k)"), {.batch = 3}) ==
        "`batch`: no dim is the batch; batch_x_heads is its product with another size; set it with "
        "`dims=batch_x_heads=V`");
  CHECK(message_of(test::graph("w:f32[5,1]=const, x:f32[1] -> y = MatMul(w, x)"), {.batch = 3})
            .find("there is no batch axis") != std::string::npos);
}

TEST_CASE("a size of 0 in the file is said, and set by the batch or the shape of the input") {
  const Model model =
      test::graph("x:f32[0,3,8,8], w:f32[2,3,3,3]=const -> c = Conv(x, w) {pads=[1,1,1,1]}; y = Relu(c)");
  CHECK(has_note(analyze(model),
                 "input x is float32[0,3,8,8] in the file: it is empty, or 0 stands for an open size; "
                 "set its sizes with `inputs=x=AxBxC`"));
  const Dim macs = Dim(2 * 3 * 9 * 64);
  const Analysis batch = analyze(model, {.batch = 5}), shape = analyze(model, {.input_shapes = {{"x", {5, 3, 8, 8}}}});
  CHECK(batch.totals.cost.macs == 5 * macs);
  CHECK(shape.totals.cost.macs == 5 * macs);
  CHECK(batch.bindings == Bindings{{"batch", 5}});
  CHECK(!has_note(batch, "is empty"));
  CHECK(analyze(model, {.symbolic_batch = true}).totals.cost.macs == macs * Dim::symbol("batch"));
}

TEST_CASE("an input without a rank, on which nodes depend, is named with the remedy") {
  const Model model = test::graph("x:f32, w:f32[4,3,3,3]=const -> y = Conv(x, w)");
  CHECK(has_note(analyze(model), "the file states no rank of input x; give its shape with `inputs=x=AxBxC`"));
  CHECK(!has_note(analyze(model, {.input_shapes = {{"x", {1, 3, 8, 8}}}}), "states no rank"));
  CHECK(!has_note(analyze(test::graph("x:f32 -> y = Identity(x)")), "states no rank"));
}
