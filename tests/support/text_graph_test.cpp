// The text form of graphs means what text_graph.h says: every test relies on it.
#include "support/text_graph.h"

#include <doctest/doctest.h>

#include <stdexcept>

namespace pagoda::test {
namespace {

TEST_CASE("a text graph has inputs, initializers, nodes and outputs") {
  const Model model = graph("x:f32[N,3,224,224], w:f32[64,3,7,7]=const -> y = Conv(x,w) {strides=[2,2]}");
  const Graph& main = model.main();
  CHECK(model.opsets.at("") == kDefaultOpset);
  REQUIRE(main.values.size() == 3);
  CHECK(text(main.values[0].declared) == "float32[N,3,224,224]");
  CHECK(main.values[0].is_input);
  CHECK(main.inputs == std::vector<ValueId>{0});
  CHECK(main.values[1].initializer == 0);
  REQUIRE(main.initializers.size() == 1);
  CHECK(main.initializers[0].name == "w");
  CHECK_FALSE(main.initializers[0].value.has_value());
  REQUIRE(main.nodes.size() == 1);
  CHECK(main.nodes[0].op_type == "Conv");
  CHECK(main.nodes[0].inputs == ValueIds{0, 1});
  CHECK(std::get<std::vector<std::int64_t>>(main.nodes[0].attribute("strides")->value) ==
        std::vector<std::int64_t>{2, 2});
  CHECK(main.outputs == std::vector<ValueId>{2});
}

TEST_CASE("initializers take lists, scalars, truth values and reals") {
  const Model model = graph(
      "a:i64[2,2]=[[1,2],[3,-4]], b:i64=[7,8], c:f32[]=-2.5, d:bool[2]=[true,false], e:f32[1]=[inf], f:i64=3, "
      "g:f16[2]=[1e-3, 2] -> y = Op(a,b,c,d,e,f,g)");
  const std::vector<Tensor>& tensors = model.main().initializers;
  CHECK(*tensors[0].value == TensorValue{Dim(1), Dim(2), Dim(3), Dim(-4)});
  CHECK(text(tensors[1].type) == "int64[2]");
  CHECK(text(tensors[2].type) == "float32[]");
  CHECK(*tensors[2].value == TensorValue{-2.5});
  CHECK(*tensors[3].value == TensorValue{Dim(1), Dim(0)});
  CHECK(std::get<double>(tensors[4].value->front()) > 1e300);
  CHECK(text(tensors[5].type) == "int64[]");
  CHECK(*tensors[6].value == TensorValue{1e-3, 2.0});
}

TEST_CASE("types have formulas, no rank, no name and containers") {
  CHECK(text(type("f32")) == "float32");
  CHECK(text(type("f32[]")) == "float32[]");
  CHECK(text(type("bfloat16[2*seq + 1, floor_div(n, 2)]")) == "bfloat16[2*seq + 1,floor_div(n, 2)]");
  CHECK(text(type("u4[?,3]", "x")) == "uint4[x_dim0,3]");
  CHECK(text(type("seq(f32[2])")) == "sequence(float32[2])");
  CHECK(text(type("optional(seq(i64))")) == "optional(sequence(int64))");
}

TEST_CASE("nodes may omit inputs and outputs, name themselves and come from other domains") {
  const Model model = graph(
      "opset=13 ai.onnx.ml=3 : x:f32[2], hi:f32[]=6.0 -> y = Clip(x, , hi) @ /features/0/relu6; "
      "a, , c:f32[2] = com.microsoft.Some(y) {mode='it\\'s'}; z = Last(a, ) {} => z, c");
  const Graph& main = model.main();
  CHECK(model.opsets.at("") == 13);
  CHECK(model.opsets.at("ai.onnx.ml") == 3);
  CHECK(model.opsets.at("com.microsoft") == 1);
  CHECK(main.nodes[0].inputs == ValueIds{0, kAbsent, 1});
  CHECK(main.nodes[0].name == "/features/0/relu6");
  CHECK(main.nodes[1].domain == "com.microsoft");
  CHECK(main.nodes[1].outputs[1] == kAbsent);
  CHECK(std::get<std::string>(main.nodes[1].attribute("mode")->value) == "it's");
  CHECK(main.nodes[2].inputs == ValueIds{main.nodes[1].outputs[0], kAbsent});
  CHECK(main.outputs == std::vector<ValueId>{main.nodes[2].outputs[0], main.nodes[1].outputs[2]});
  CHECK(text(main.values[static_cast<std::size_t>(main.outputs[1])].declared) == "float32[2]");
}

TEST_CASE("attributes are typed by how they are written") {
  const Model model = graph(
      "-> y = Op() {i=-3, r=1.0, s='x', t=true, to=f16, ints=[1,2], reals=[1,2.5], strings=['a','b'], none=[], "
      "tensor=i64[1]=[5], kind=seq(f32[2])}");
  const Node& node = model.main().nodes[0];
  CHECK(std::get<std::int64_t>(node.attribute("i")->value) == -3);
  CHECK(std::get<double>(node.attribute("r")->value) == 1.0);
  CHECK(std::get<std::string>(node.attribute("s")->value) == "x");
  CHECK(std::get<std::int64_t>(node.attribute("t")->value) == 1);
  CHECK(std::get<std::int64_t>(node.attribute("to")->value) == 10);
  CHECK(std::get<std::vector<std::int64_t>>(node.attribute("ints")->value).size() == 2);
  CHECK(std::get<std::vector<double>>(node.attribute("reals")->value) == std::vector<double>{1.0, 2.5});
  CHECK(std::get<std::vector<std::string>>(node.attribute("strings")->value)[1] == "b");
  CHECK(std::get<std::vector<std::int64_t>>(node.attribute("none")->value).empty());
  CHECK(*std::get<Tensor>(node.attribute("tensor")->value).value == TensorValue{Dim(5)});
  CHECK(std::get<TensorType>(node.attribute("kind")->value).container == Container::Sequence);
}

TEST_CASE("nested graphs capture names through every graph between") {
  const Model model = graph(
      "c:bool[], x:f32[2] -> y = If(c) {then_branch=(z = If(c) {then_branch=(-> w = Neg(x)), else_branch=(v = "
      "Abs(x))}), "
      "else_branch=(i:i64[] -> u = Relu(x); t = Relu(u) => t)}");
  REQUIRE(model.graphs.size() == 5);
  CHECK(model.main().outputs.size() == 1);
  const Graph& outer = model.graphs[1];
  const Graph& inner = model.graphs[2];
  CHECK(outer.parent == 0);
  CHECK(inner.parent == 1);
  const Value& captured = inner.values[0];
  CHECK(captured.name == "x");
  REQUIRE(captured.outer != kAbsent);
  CHECK(outer.values[static_cast<std::size_t>(captured.outer)].name == "x");
  CHECK(outer.values[static_cast<std::size_t>(captured.outer)].outer == 1);
  CHECK(std::get<GraphId>(outer.nodes[0].attribute("else_branch")->value) == 3);
  CHECK(model.graphs[4].inputs.size() == 1);
  CHECK(model.graphs[4].outputs.size() == 1);
}

TEST_CASE("quoted names hold any byte") {
  const Model model = graph("'a b':f32[2] -> '\\e[31m\\n\\xff' = Relu('a b')");
  CHECK(model.main().values[1].name == "\x1b[31m\n\xff");
}

TEST_CASE("mistakes in a text graph say what and where") {
  struct Row {
    const char* text;
    const char* message;
  };
  constexpr Row kRows[] = {
      {"x:f33[2] -> y = Relu(x)", "unknown type 'f33'"},
      {"x:f32[2] -> y = Relu(z)", "'z' is not defined before its use"},
      {"x:f32[2] -> x = Relu(x)", "'x' is defined a second time"},
      {"x:f32[2] -> y = Relu(x", "expected ')'"},
      {"x:f32[2 -> y = Relu(x)", "is not a size"},
      {"x:f32[a b] -> y = Relu(x)", "'a b' is not a size"},
      {"x:f32[2] -> y Relu(x)", "expected '='"},
      {"x:f32[2] -> y = Relu(x) z", "expected the end"},
      {"x:i64[2]=[1] -> y = Relu(x)", "cannot have 1 elements"},
      {"x:i64[1]=[1.5] -> y = Relu(x)", "cannot have a real element"},
      {"x:i64[1]=[one] -> y = Relu(x)", "expected a number"},
      {"x:f32 -> y = Op(x) {a=}", "expected a number"},
      {"x:f32 -> y = Op(x) {a=[1,]}", "expected a number"},
      {"x:f32 -> y = Op(x) {s='abc}", "closing quote"},
      {"x:f32 -> y = Op(x) => q", "'q' is not defined"},
  };
  for (const Row& row : kRows) {
    std::string got = "no mistake found";
    try {
      graph(row.text);
    } catch (const std::invalid_argument& mistake) {
      got = mistake.what();
    }
    CHECK_MESSAGE(got.find(row.message) != std::string::npos, row.text, "\n  got      ", got, "\n  expected ",
                  row.message);
  }
}

}  // namespace
}  // namespace pagoda::test
