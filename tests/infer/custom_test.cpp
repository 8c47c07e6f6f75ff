// Operators that a user defines by formulas.
#include <doctest/doctest.h>

#include <map>
#include <sstream>

#include "pagoda/core/analyze.h"
#include "pagoda/core/custom_operator.h"
#include "pagoda/core/model.h"
#include "pagoda/core/traffic.h"
#include "support/files.h"
#include "support/text_graph.h"

namespace pagoda::test {
namespace {

CustomOperator linear() {
  CustomOperator linear{.domain = "my", .op_type = "Linear"};
  linear.inputs = {{.name = "x", .shape = {{"*rows", "k"}}},
                   {.name = "w", .shape = {{"k", "n"}}},
                   {.name = "bias", .shape = {{"n"}}, .is_optional = true}};
  linear.outputs = {{.type = "x", .shape = {"*rows", "n"}}};
  linear.work = CustomWork{.macs = "rows*k*n", .arith = "rows*n"};
  return linear;
}

CustomOperator upsample() {
  CustomOperator upsample{.domain = "my", .op_type = "Upsample"};
  upsample.inputs = {{.name = "x", .shape = {{"n", "c", "_", "_"}}}, {.name = "size", .values = {"h", "w"}}};
  upsample.attributes = {{.name = "taps", .otherwise = 4}, {.name = "pads", .members = {{"top", "left"}}}};
  upsample.outputs = {{.type = "x", .shape = {"n", "c", "h", "w"}}};
  upsample.work = CustomWork{.arith = "taps*n*c*h*w + top*left"};
  return upsample;
}

CustomOperator pick() {
  CustomOperator pick{.domain = "my", .op_type = "Pick"};
  pick.inputs = {{.name = "boxes", .shape = {{"b", "4"}}, .elements_read = "4*min(b, 8)"}};
  pick.data_sizes = {{.name = "kept", .upper = "b"}};
  pick.outputs = {{.type = "int64", .shape = {"kept"}}, {.type = "boxes", .shape = {"kept", "4"}}};
  pick.work = CustomWork{.arith = "b*kept", .comparisons = "b"};
  return pick;
}

CustomOperator swish(OpKind kind) {
  CustomOperator swish{.domain = "my", .op_type = "Swish"};
  swish.inputs = {{.name = "x", .shape = {{"*n"}}}};
  swish.outputs = {{.type = "x", .shape = {"*n"}}};
  swish.work = CustomWork{.arith = "n", .special = "n"};
  swish.kind = kind;
  return swish;
}

struct Case {
  const char* graph;  // grammar of text_graph.h
  const char* types;  // of the outputs, or "error: " and a part of the node's message
  const char* cost;   // of the node; formulas have no spaces
  const char* why;
};

constexpr Case kCases[] = {
    {"x:f32[N,S,64], w:f32[64,10] -> y = my.Linear(x, w)", "float32[N,S,10]", "macs=640*N*S arith=10*N*S",
     "rows are all axes but the last"},
    {"x:f16[64], w:f16[64,10], b:f16[10] -> y = my.Linear(x, w, b)", "float16[10]", "macs=640 read=1428 written=20",
     "no rows: one product; an optional input is read where it is there"},
    {"x:f32[N,63], w:f32[64,10] -> y = my.Linear(x, w)", "error: k of w", "", "63 is not 64"},
    {"x:f32[N,64] -> y = my.Linear(x)", "error: input w is missing", "", "an input that is not optional"},
    {"x:f32[], w:f32[64,10] -> y = my.Linear(x, w)", "error: x is float32[]; the statement says [*rows, k]", "",
     "rank"},
    {"x:f32[2,64], w:f32[64,10], b:f32[10], c:f32[1] -> y = my.Linear(x, w, b, c)", "error: it has 4 inputs", "",
     "one more"},
    {"x:f32[N,3,8,8], s:i64=[16,20] -> y = my.Upsample(x, s) {pads=[2,3]}", "float32[N,3,16,20]", "arith=3840*N+6",
     "values of an input and members of a list are names; taps are 4"},
    {"x:f32[N,3,8,8], s:i64=[16,20] -> y = my.Upsample(x, s) {pads=[2,3], taps=1}", "float32[N,3,16,20]",
     "arith=960*N+6", "the attribute of the node"},
    {"x:f32[N,3,8,8], s:i64=[16,20] -> y = my.Upsample(x, s)", "error: attribute pads is missing", "", "no default"},
    {"x:f32[N,3,8,8], s:i64[2] -> y = my.Upsample(x, s) {pads=[0,0]}", "float32[N,3,h,w]", "arith=12*N*h*w",
     "the data decide h and w"},
    {"x:f32[100,4] -> i, y = my.Pick(x)", "int64[kept] float32[kept,4]", "arith=100*kept read=128 written=24*kept",
     "a size that the data decide, and fewer elements than the input has"},
    {"x:f32[100,5] -> i, y = my.Pick(x)", "error: 4 of boxes", "", "a size that must be a number"},
    {"x:f32[2,N] -> y = my.Swish(x)", "float32[2,N]", "arith=2*N special=2*N read=8*N written=8*N", "any rank"},
};

const std::vector<CustomOperator>& stated() {
  static const std::vector<CustomOperator> kStated = {linear(), upsample(), pick(), swish(OpKind::Other)};
  return kStated;
}

TEST_CASE("formulas over the sizes of inputs give types and work of operators without a rule") {
  for (const Case& row : kCases) {
    CAPTURE(std::string(row.graph) + ": " + row.why);
    const Analysis analysis = analyze(graph(row.graph), {}, stated());
    const NodeReport& node = analysis.nodes[0];
    const std::string types = row.types;
    if (types.starts_with("error: ")) {
      CHECK(node.cost.mark == Mark::Unmodelled);
      CHECK_MESSAGE(node.problem.find(types.substr(7)) != std::string::npos, node.problem);
      continue;
    }
    CHECK_MESSAGE(node.problem.empty(), node.problem);
    std::string found;
    for (const InputInfo& output : analysis.outputs) found += (found.empty() ? "" : " ") + to_string(output.type);
    CHECK(found == types);
    const std::map<std::string, Dim> costs = {{"macs", node.cost.macs},
                                              {"arith", node.cost.arith},
                                              {"special", node.cost.special},
                                              {"read", node.cost.bytes_read},
                                              {"written", node.cost.bytes_written}};
    std::istringstream words(row.cost);
    for (std::string word; words >> word;) {
      const std::size_t equals = word.find('=');
      CHECK(costs.at(word.substr(0, equals)).to_string() == Dim::parse(word.substr(equals + 1)).value().to_string());
    }
  }
}

TEST_CASE("precision holds for stated operators, too") {
  const Model model = graph("x:f32[2,64], w:f32[64,10] -> y = my.Linear(x, w)");
  const Analysis analysis = analyze(model, {.precision = Precision::Float16}, stated());
  CHECK(analysis.totals.cost.bytes_read == Dim(2 * (2 * 64 + 64 * 10)));
  CHECK(analysis.nodes[0].cost.precision == ElementType::Float16);
}

TEST_CASE("a statement without work gives types, and its nodes count as not modelled") {
  CustomOperator unknown = linear();
  unknown.work.reset();
  const Model model = graph("x:f32[2,64], w:f32[64,10] -> y = my.Linear(x, w); z = Relu(y)");
  const Analysis analysis = analyze(model, {}, {unknown});
  CHECK(analysis.totals.unmodelled_nodes == 1);
  CHECK(analysis.totals.cost.arith == Dim(20));
  CHECK(to_string(analysis.types[2]) == "float32[2,10]");
}

TEST_CASE("a stated pointwise operator is fused and runs in place, another kind is a kernel of its own") {
  const Model model = graph("x:f32[N,64], w:f32[64,64] -> a = MatMul(x, w); y = my.Swish(a)");
  const auto groups = [&](OpKind kind) {
    const Analysis analysis = analyze(model, {}, {swish(kind)});
    return traffic(model, analysis, {.model = TrafficModel::Fused}).groups.size();
  };
  CHECK(groups(OpKind::Other) == 2);
  CHECK(groups(OpKind::Pointwise) == 1);
}

// Gemm, Relu and Add, restated as custom operators: all counts of a network stay the same.
TEST_CASE("restated, the operators of a network cost what their rows say") {
  CustomOperator gemm{.domain = "ai.onnx", .op_type = "Gemm"};
  gemm.inputs = {{.name = "a", .shape = {{"m", "k"}}},
                 {.name = "b", .shape = {{"n", "k"}}},  // as exporters write it, with transB
                 {.name = "c", .shape = {{"n"}}}};
  gemm.outputs = {{.type = "a", .shape = {"m", "n"}}};
  gemm.work = CustomWork{.macs = "m*k*n", .arith = "m*n"};
  CustomOperator relu = swish(OpKind::Pointwise), add = swish(OpKind::Pointwise);
  relu.domain = add.domain = "";
  relu.op_type = "Relu";
  relu.work = CustomWork{.arith = "n", .comparisons = "n"};
  add.op_type = "Add";
  add.inputs.push_back({.name = "y", .shape = {{"*n"}}});
  add.work = CustomWork{.arith = "n"};
  const Model model = load_model(source_path("models/skeletons/resnet50.onnx"));
  const Analysis as_built_in = analyze(model, {.batch = 4});
  const Analysis as_stated = analyze(model, {.batch = 4}, {gemm, relu, add});
  CHECK_FALSE(as_stated.partial);
  for (const auto count : {&OpCost::macs, &OpCost::arith, &OpCost::special, &OpCost::comparisons, &OpCost::bytes_read,
                           &OpCost::bytes_written})
    CHECK(as_stated.totals.cost.*count == as_built_in.totals.cost.*count);
  CHECK(as_stated.totals.params == as_built_in.totals.params);
  CHECK(as_stated.totals.activation_peak_bytes == as_built_in.totals.activation_peak_bytes);
}

TEST_CASE("a statement that contradicts itself says where") {
  const auto with = [](const auto& change) {
    CustomOperator changed = linear();
    change(changed);
    return problem_of(changed);
  };
  CHECK(problem_of(linear()).empty());
  struct Problem {
    std::string got, expected;
  };
  const Problem problems[] = {
      {with([](auto& op) { op.op_type = ""; }), "op_type: '' is not an operator's name"},
      {with([](auto& op) { op.outputs.clear(); }), "outputs: there are none; expected the type and shape of each"},
      {with([](auto& op) { op.outputs[0].type = "float31"; }),
       "outputs[0].type: 'float31' is neither a type, such as float32, nor the name of an input"},
      {with([](auto& op) { op.outputs[0].type = "bias"; }),
       "outputs[0].type: input 'bias' is optional; name another, or a type such as float32"},
      {with([](auto& op) { op.outputs[0].shape[1] = "2*"; }),
       "outputs[0].shape[1]: '2*' is not a formula; expected + - * // % min max over names"},
      {with([](auto& op) { op.work->macs = "rows*k*m"; }), "work.macs: 'm' is not known; its names are: k, n, rows"},
      {with([](auto& op) { op.outputs[0].shape[0] = "*k"; }),
       "outputs[0].shape[0]: no input that is always there names '*k'"},
      {with([](auto& op) {
         op.inputs[1].shape = {{"k", "rows"}};
       }),
       "inputs[1].shape[1]: 'rows' stands for several axes elsewhere"},
      {with([](auto& op) {
         op.inputs[0].shape = {{"*rows", "*k"}};
       }),
       "inputs[0].shape[1]: a second '*' leaves open which axes are whose; give one"},
      {with([](auto& op) {
         op.inputs[2].shape = {{"m"}};
         op.work->arith = "m";
       }),
       "work.arith: 'm' is a size of an optional input alone; name it in another, too"},
      {with([](auto& op) {
         op.attributes = {{.name = "k2", .otherwise = 1}, {.name = "k2", .otherwise = 2}};
       }),
       "attributes.k2: 'k2' has a meaning already; give it another name"},
      {with([](auto& op) { op.inputs[0].name = "float16"; }),
       "inputs[0].name: 'float16' is a type's name; give it another"},
      {with([](auto& op) { op.data_sizes = {{.name = "kept"}}; }),
       "data_sizes.kept: no output has it as an axis; expected one that is 'kept' alone"},
      {with([](auto& op) { op.kind = OpKind::View; }), "work: a view is another name for the same bytes: it has none"},
      {with([](auto& op) { op.kind = OpKind::Product; }), "kind: expected other, pointwise, layout or view"},
  };
  for (const Problem& row : problems) CHECK(row.got == row.expected);
  CustomOperator wrong = linear();
  wrong.op_type = "";
  CHECK_THROWS_AS(analyze(graph("x:f32[1] -> y = Relu(x)"), {}, {wrong}), Error);
}

TEST_CASE("a formula that no node can follow makes the node unmodelled, not the model unusable") {
  CustomOperator divides = swish(OpKind::Other);
  divides.attributes = {{.name = "groups", .otherwise = 0}};
  divides.work = CustomWork{.arith = "n//groups"};
  const Analysis zero = analyze(graph("x:f32[4] -> y = my.Swish(x)"), {}, {divides});
  CHECK(zero.totals.unmodelled_nodes == 1);
  CustomOperator shrinks = swish(OpKind::Other);
  shrinks.outputs[0].shape = {"n - 8"};
  const Analysis negative = analyze(graph("x:f32[4] -> y = my.Swish(x)"), {}, {shrinks});
  REQUIRE(negative.totals.unmodelled_nodes == 1);
  CHECK(negative.nodes[0].problem == "outputs[0]: 'n - 8' is -4, which is not a size");
}

}  // namespace
}  // namespace pagoda::test
