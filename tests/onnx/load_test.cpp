// From files to graphs: names become indices, bodies become graphs, legal oddities are accepted.
#include <doctest/doctest.h>

#include "onnx/sample_models.h"
#include "pagoda/core/model.h"

namespace pagoda::test {
namespace {

const Value& value(const Graph& graph, ValueId id) { return graph.values[static_cast<std::size_t>(id)]; }

ValueId id_of(const Graph& graph, const std::string& name) {
  for (std::size_t i = 0; i < graph.values.size(); ++i)
    if (graph.values[i].name == name) return static_cast<ValueId>(i);
  return kAbsent;
}

std::string error_of(const onnx::ModelProto& proto) { return parse_error(proto.SerializeAsString()); }

TEST_CASE("a file that is read piece by piece gives the model that a mapped one gives") {
  for (const char* name : {"resnet50", "bert_base", "llama_past", "swin_t"}) {
    CAPTURE(name);
    const std::string path = source_path("models/skeletons/" + std::string(name) + ".onnx");
    const std::string bytes = read_file(path);
    std::uint64_t read_bytes = 0;
    const Model pieces = parse_model(
        [&](std::uint64_t offset, std::span<char> piece) {
          REQUIRE(offset + piece.size() <= bytes.size());
          bytes.copy(piece.data(), piece.size(), static_cast<std::size_t>(offset));
          read_bytes += piece.size();
        },
        bytes.size(), path);
    CHECK(describe(pieces) == describe(load_model(path)));
    CHECK(read_bytes < 3 * bytes.size());
  }
}

TEST_CASE("of a file that is read piece by piece the weights are not read") {
  constexpr std::size_t kWeights = std::size_t{64} << 20;
  onnx::ModelProto proto = convolution();
  auto& large = *proto.mutable_graph()->add_initializer();
  large.set_name("large");
  large.set_data_type(onnx::TensorProto::FLOAT);
  large.add_dims(kWeights / 4);
  large.set_raw_data(std::string(kWeights, '\0'));
  const std::string whole = proto.SerializeAsString();
  std::uint64_t read_bytes = 0;
  const Model model = parse_model(
      [&](std::uint64_t offset, std::span<char> piece) {
        whole.copy(piece.data(), piece.size(), static_cast<std::size_t>(offset));
        read_bytes += piece.size();
      },
      whole.size());
  CHECK(model.main().initializers.size() == 4);
  CHECK(read_bytes < 200'000);
}

TEST_CASE("what a reader of pieces throws ends loading") {
  CHECK_THROWS_WITH_AS(
      parse_model([](std::uint64_t, std::span<char>) { throw Error("the file is gone"); }, 100, "a.onnx"),
      doctest::Contains("the file is gone"), Error);
}

TEST_CASE("a convolution loads with its types, attributes, weights and their places") {
  const std::string bytes = convolution().SerializeAsString();
  const Model model = parse_model(as_bytes(bytes), "conv.onnx");
  const Graph& graph = model.main();
  CHECK(model.path == "conv.onnx");
  CHECK(model.file_bytes == bytes.size());
  CHECK(model.ir_version == 8);
  CHECK(model.opsets.at("") == 17);
  CHECK(model.graph_name == "g");
  REQUIRE(graph.nodes.size() == 2);
  const Node& conv = graph.nodes[0];
  CHECK(conv.op_type == "Conv");
  CHECK(conv.scope == "/layer1/layer1.0/conv");
  CHECK(graph.nodes[1].scope.empty());
  REQUIRE(conv.attribute("pads") != nullptr);
  CHECK(std::get<std::vector<std::int64_t>>(conv.attribute("pads")->value) == std::vector<std::int64_t>{1, 1, 1, 1});
  REQUIRE(graph.inputs.size() == 1);
  CHECK(to_string(value(graph, graph.inputs[0]).declared) == "float32[batch,3,32,32]");
  const Tensor& weight = graph.initializers.at(0);
  CHECK(to_string(weight.type) == "float32[64,3,3,3]");
  CHECK_FALSE(weight.value);
  CHECK(weight.extent.location.empty());
  CHECK(weight.extent.bytes == 4 * 64 * 27);
  CHECK(bytes.substr(weight.extent.offset, weight.extent.bytes) == std::string(4 * 64 * 27, '\0'));
  const Tensor& shape = graph.initializers.at(2);
  REQUIRE(shape.value);
  CHECK(*shape.value == TensorValue{Dim(0), Dim(-1)});
  CHECK(value(graph, conv.inputs[1]).initializer == 0);
  CHECK(graph.outputs == std::vector<ValueId>{id_of(graph, "y")});
}

TEST_CASE("a large tensor of typed values keeps its place too") {
  const std::string bytes = convolution().SerializeAsString();
  const Model model = parse_model(as_bytes(bytes));
  const Tensor& bias = model.main().initializers.at(1);
  REQUIRE(bias.extent.bytes == 4 * 64);
  for (std::size_t i = 0; i < 64; ++i)
    CHECK(bytes.substr(bias.extent.offset + 4 * i, 4) == std::string("\0\0\0\x3f", 4));
}

TEST_CASE("bodies become graphs whose captures lead outwards level by level") {
  const Model model = parse(branches());
  REQUIRE(model.graphs.size() == 4);
  const Graph& then_graph = model.graphs[1];
  const Graph& loop_body = model.graphs[2];
  CHECK(then_graph.parent == 0);
  CHECK(loop_body.parent == 1);
  CHECK(model.graphs[3].parent == 0);
  const Node& branch = model.main().nodes[1];
  CHECK(std::get<GraphId>(branch.attribute("then_branch")->value) == 1);
  CHECK(std::get<GraphId>(branch.attribute("else_branch")->value) == 3);
  const ValueId in_body = id_of(loop_body, "r");
  REQUIRE(in_body != kAbsent);
  const ValueId in_then = value(loop_body, in_body).outer;
  CHECK(in_then == id_of(then_graph, "r"));
  CHECK(value(then_graph, in_then).outer == id_of(model.main(), "r"));
  CHECK(then_graph.nodes[1].inputs[0] == kAbsent);
}

TEST_CASE("a large constant of a node is a tensor without its value") {
  const Model model = parse(branches());
  const auto& constant = std::get<Tensor>(model.graphs[3].nodes[0].attribute("value")->value);
  CHECK(to_string(constant.type) == "float32[500]");
  CHECK_FALSE(constant.value);
  CHECK(constant.extent.bytes == 2000);
}

TEST_CASE("local functions come with body, overload, defaults, opsets and declared types") {
  const Model model = parse(call());
  const Function* function = model.function("local", "Scaled", "wide");
  REQUIRE(function != nullptr);
  CHECK(model.function("local", "Scaled", "") == nullptr);
  CHECK(model.main().nodes[0].overload == "wide");
  CHECK(function->opsets.at("") == 17);
  REQUIRE(function->defaults.size() == 1);
  CHECK(function->defaults[0].name == "beta");
  CHECK(std::get<std::int64_t>(function->defaults[0].value) == 3);
  const Graph& body = model.graphs[static_cast<std::size_t>(function->body)];
  CHECK(body.parent == -1);
  CHECK(body.nodes[0].attribute("alpha")->reference == "alpha");
  CHECK(value(body, body.outputs[0]).declared.element == ElementType::Float16);
}

TEST_CASE("nodes are sorted by their inputs, also by what their bodies capture") {
  onnx::ModelProto proto = new_model();
  onnx::GraphProto& graph = *proto.mutable_graph();
  add_input(graph, "x", {"1"});
  add_node(graph, "Relu", {"b"}, {"c"}, "third");
  onnx::NodeProto& branch = add_node(graph, "If", {"x"}, {"d"}, "needs c inside");
  onnx::GraphProto& body = *add_attribute(branch, "then_branch", onnx::AttributeProto::GRAPH).mutable_g();
  add_node(body, "Relu", {"c"}, {"e"});
  add_output(body, "e");
  add_node(graph, "Relu", {"a"}, {"b"}, "second");
  add_node(graph, "Relu", {"x"}, {"a"}, "first");
  add_output(graph, "d");
  const Model model = parse(proto);
  std::vector<std::string> order;
  for (const Node& node : model.main().nodes) order.push_back(node.name);
  CHECK(order == std::vector<std::string>{"first", "second", "third", "needs c inside"});
}

TEST_CASE("legal files that look odd are accepted") {
  struct Row {
    const char* reason;
    void (*change)(onnx::ModelProto&);
  };
  const Row rows[] = {
      {"no name of the graph", [](onnx::ModelProto& m) { m.mutable_graph()->clear_name(); }},
      {"no nodes, the output is the input",
       [](onnx::ModelProto& m) {
         m.mutable_graph()->Clear();
         add_input(*m.mutable_graph(), "x", {});
         add_output(*m.mutable_graph(), "x");
       }},
      {"an empty graph", [](onnx::ModelProto& m) { m.mutable_graph()->Clear(); }},
      {"an initializer as output", [](onnx::ModelProto& m) { add_output(*m.mutable_graph(), "w"); }},
      {"one value as two outputs", [](onnx::ModelProto& m) { add_output(*m.mutable_graph(), "y"); }},
      {"initializers among the inputs",
       [](onnx::ModelProto& m) {
         add_input(*m.mutable_graph(), "w", {"64", "3", "3", "3"});
       }},
      {"no opsets", [](onnx::ModelProto& m) { m.clear_opset_import(); }},
      {"a domain that is not imported",
       [](onnx::ModelProto& m) { m.mutable_graph()->mutable_node(0)->set_domain("com.microsoft"); }},
      {"nodes of one name",
       [](onnx::ModelProto& m) {
         for (onnx::NodeProto& node : *m.mutable_graph()->mutable_node()) node.set_name("same");
       }},
      {"nodes without names",
       [](onnx::ModelProto& m) {
         for (onnx::NodeProto& node : *m.mutable_graph()->mutable_node()) node.clear_name();
       }},
      {"omitted inputs and outputs",
       [](onnx::ModelProto& m) {
         add_node(*m.mutable_graph(), "Op", {"", "y", ""}, {"", "z", ""});
       }},
      {"a scalar and tensors without elements",
       [](onnx::ModelProto& m) {
         add_weight(*m.mutable_graph(), "scalar", onnx::TensorProto::FLOAT, {}, 4);
         add_weight(*m.mutable_graph(), "empty", onnx::TensorProto::FLOAT, {0}, 0);
         add_weight(*m.mutable_graph(), "vast and empty", onnx::TensorProto::FLOAT, {std::int64_t{1} << 62, 8, 0}, 0);
       }},
      {"types of values that nothing has",
       [](onnx::ModelProto& m) { m.mutable_graph()->add_value_info()->set_name("gone"); }},
      {"attributes without a type",
       [](onnx::ModelProto& m) { m.mutable_graph()->mutable_node(0)->mutable_attribute(0)->clear_type(); }},
      {"a version of the future",
       [](onnx::ModelProto& m) {
         m.set_ir_version(1000);
         m.mutable_opset_import(0)->set_version(1000);
       }},
      {"two branches that use the same names",
       [](onnx::ModelProto& m) {
         onnx::NodeProto& branch = add_node(*m.mutable_graph(), "If", {"x"}, {"z"});
         for (const char* name : {"then_branch", "else_branch"}) {
           onnx::GraphProto& body = *add_attribute(branch, name, onnx::AttributeProto::GRAPH).mutable_g();
           add_node(body, "Relu", {"x"}, {"inside"}, "inside");
           add_output(body, "inside");
         }
       }},
      {"a branch that hands out a value from around it",
       [](onnx::ModelProto& m) {
         onnx::NodeProto& branch = add_node(*m.mutable_graph(), "If", {"x"}, {"z"});
         add_output(*add_attribute(branch, "then_branch", onnx::AttributeProto::GRAPH).mutable_g(), "y");
       }},
  };
  for (const Row& row : rows) {
    CAPTURE(row.reason);
    onnx::ModelProto proto = convolution();
    row.change(proto);
    CHECK(error_of(proto) == "");
  }
}

TEST_CASE("initializers that are listed as inputs are no inputs") {
  onnx::ModelProto proto = convolution();
  add_input(*proto.mutable_graph(), "w", {"64", "3", "3", "3"});
  const Model model = parse(proto);
  CHECK(model.main().inputs.size() == 1);
}

TEST_CASE("graphs that contradict themselves are errors that name the culprit") {
  struct Row {
    const char* message;
    void (*change)(onnx::GraphProto&);
  };
  const Row rows[] = {
      {"input \"nowhere\" of node \"lost\" (\"Relu\") in graph \"g\" is not an output",
       [](onnx::GraphProto& g) { add_node(g, "Relu", {"nowhere"}, {"z"}, "lost"); }},
      {"output \"nowhere\" of graph \"g\" is produced by no node",
       [](onnx::GraphProto& g) { add_output(g, "nowhere"); }},
      {"value \"y\" of graph \"g\" is produced twice, the second time by node \"again\" (\"Relu\")",
       [](onnx::GraphProto& g) { add_node(g, "Relu", {"x"}, {"y"}, "again"); }},
      {"value \"z\" of graph \"g\" is produced twice",
       [](onnx::GraphProto& g) {
         add_node(g, "Split", {"x"}, {"z", "z"});
       }},
      {"value \"x\" of graph \"g\" is produced twice", [](onnx::GraphProto& g) { add_input(g, "x", {}); }},
      {"value \"w\" of graph \"g\" is produced twice",
       [](onnx::GraphProto& g) { add_weight(g, "w", onnx::TensorProto::FLOAT, {}, 4); }},
      {"value \"x\" of graph \"g\" is produced twice", [](onnx::GraphProto& g) { add_node(g, "Relu", {"y"}, {"x"}); }},
      {"a cycle of 1 node: \"self\" needs \"self\"",
       [](onnx::GraphProto& g) {
         add_node(g, "Add", {"x", "z"}, {"z"}, "self");
       }},
      {"a cycle of 2 nodes: \"p\" needs \"q\" needs \"p\"",
       [](onnx::GraphProto& g) {
         add_node(g, "Relu", {"there"}, {"here"}, "p");
         add_node(g, "Relu", {"here"}, {"there"}, "q");
       }},
      {"a node without operator type at byte ", [](onnx::GraphProto& g) { add_node(g, "", {"x"}, {"z"}, "nameless"); }},
  };
  for (const Row& row : rows) {
    onnx::ModelProto proto = convolution();
    row.change(*proto.mutable_graph());
    const std::string message = error_of(proto);
    CAPTURE(message);
    CHECK(contains(message, row.message));
  }
}

TEST_CASE("a cycle through a body is a cycle") {
  onnx::ModelProto proto = new_model();
  onnx::GraphProto& graph = *proto.mutable_graph();
  add_input(graph, "x", {});
  onnx::NodeProto& branch = add_node(graph, "If", {"x"}, {"d"}, "branch");
  onnx::GraphProto& body = *add_attribute(branch, "then_branch", onnx::AttributeProto::GRAPH).mutable_g();
  add_node(body, "Relu", {"e"}, {"f"});
  add_output(body, "f");
  add_node(graph, "Relu", {"d"}, {"e"}, "after");
  CHECK(contains(error_of(proto), "\"branch\" needs \"after\" needs \"branch\""));
}

TEST_CASE("a function sees no values but its own") {
  onnx::ModelProto proto = call();
  proto.mutable_functions(0)->mutable_node(0)->add_input("x");
  CHECK(contains(error_of(proto), "input \"x\" of node"));
}

TEST_CASE("a function defined twice is an error, overloads are two functions") {
  onnx::ModelProto proto = call();
  *proto.add_functions() = proto.functions(0);
  CHECK(contains(error_of(proto), "function \"Scaled\" of domain \"local\" is defined twice"));
  proto.mutable_functions(1)->mutable_unknown_fields()->Clear();
  CHECK(error_of(proto) == "");
}

TEST_CASE("names in messages cannot drive a terminal") {
  onnx::ModelProto proto = new_model();
  add_output(*proto.mutable_graph(), "\x1b[2J\n<b>\xff");
  const std::string message = error_of(proto);
  CAPTURE(message);
  CHECK(contains(message, "\"\\x1b[2J\\x0a<b>\\xff\""));
}

TEST_CASE("dims become numbers, symbols and formulas, and never one symbol for two names") {
  onnx::ModelProto proto = new_model();
  add_input(*proto.mutable_graph(), "x", {"3", "batch", "past + seq", "2*(n//4)", "16"});
  add_input(*proto.mutable_graph(), "y", {"a.b", "a_b", "a-b!", "a.b", "?", "", "x_dim_0"});
  onnx::ValueInfoProto& negative = add_input(*proto.mutable_graph(), "z", {"1"});
  negative.mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(0)->set_dim_value(-1);
  const Model model = parse(proto);
  const auto shape = [&](std::size_t input) {
    return to_string(value(model.main(), model.main().inputs[input]).declared);
  };
  CHECK(shape(0) == "float32[3,batch,past + seq,2*floor_div(n, 4),16]");
  CHECK(shape(1) == "float32[a_b_2,a_b,a_b_,a_b_2,y_dim_4,y_dim_5,x_dim_0]");
  CHECK(shape(2) == "float32[z_dim_0]");
  CHECK(model.renamed_dims == std::map<std::string, std::string>{{"a.b", "a_b_2"}, {"a-b!", "a_b_"}});
}

TEST_CASE("a hyphen joins a name, unless both of its sides are sizes of the file") {
  onnx::ModelProto proto = new_model();
  add_input(*proto.mutable_graph(), "x", {"batch-size", "total-past", "n-1", "seq - 1", "a-b-c"});
  add_input(*proto.mutable_graph(), "y", {"total", "past", "a", "b"});
  const Model model = parse(proto);
  CHECK(to_string(value(model.main(), model.main().inputs[0]).declared) ==
        "float32[batch_size,-past + total,n - 1,seq - 1,a_b_c]");
  CHECK(model.renamed_dims == std::map<std::string, std::string>{{"a-b-c", "a_b_c"}, {"batch-size", "batch_size"}});
}

TEST_CASE("a dim param that is a number is that number") {
  onnx::ModelProto proto = new_model();
  onnx::ValueInfoProto& input = add_input(*proto.mutable_graph(), "x", {"n"});
  input.mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(0)->set_dim_param("64");
  CHECK(to_string(value(parse(proto).main(), 0).declared) == "float32[64]");
}

TEST_CASE("sequences, optionals, maps and sparse tensors have the type of their members") {
  struct Row {
    void (*make)(onnx::TypeProto&);
    const char* expected;
  };
  const Row rows[] = {
      {[](onnx::TypeProto& t) {
         t.mutable_sequence_type()->mutable_elem_type()->mutable_tensor_type()->set_elem_type(1);
       },
       "sequence(float32[?])"},
      {[](onnx::TypeProto& t) {
         t.mutable_optional_type()->mutable_elem_type()->mutable_tensor_type()->set_elem_type(7);
       },
       "optional(int64[?])"},
      {[](onnx::TypeProto& t) {
         t.mutable_optional_type()
             ->mutable_elem_type()
             ->mutable_sequence_type()
             ->mutable_elem_type()
             ->mutable_tensor_type()
             ->set_elem_type(7);
       },
       "optional(sequence(int64[?]))"},
      {[](onnx::TypeProto& t) { t.mutable_map_type()->mutable_value_type()->mutable_tensor_type()->set_elem_type(1); },
       "map(float32[?])"},
      {[](onnx::TypeProto& t) {
         onnx::TypeProto::Map& map = *t.mutable_sequence_type()->mutable_elem_type()->mutable_map_type();
         map.set_key_type(7);
         map.mutable_value_type()->mutable_tensor_type()->set_elem_type(1);
       },
       "sequence(map(int64,float32[?]))"},
      {[](onnx::TypeProto& t) { t.mutable_sparse_tensor_type()->set_elem_type(1); }, "sparse(float32[?])"},
      {[](onnx::TypeProto& t) { t.mutable_tensor_type()->set_elem_type(22); }, "int4[?]"},
      {[](onnx::TypeProto& t) { t.mutable_tensor_type()->set_elem_type(1000); }, "undefined[?]"},
      {[](onnx::TypeProto& t) { t.mutable_opaque_type()->set_name("handle"); }, "undefined[?]"},
  };
  for (const Row& row : rows) {
    onnx::ModelProto proto = new_model();
    onnx::ValueInfoProto& input = *proto.mutable_graph()->add_input();
    input.set_name("x");
    row.make(*input.mutable_type());
    CHECK(to_string(value(parse(proto).main(), 0).declared) == row.expected);
  }
}

TEST_CASE("every kind of attribute arrives as its own type") {
  const Model model = parse_model(as_bytes(sample("everything")));
  const Node& node = model.main().nodes.back();
  CHECK(node.outputs == ValueIds{id_of(model.main(), "z"), kAbsent, id_of(model.main(), "q")});
  CHECK(std::get<double>(node.attribute("f")->value) == 0.5);
  CHECK(std::get<std::int64_t>(node.attribute("i")->value) == -7);
  CHECK(std::get<std::string>(node.attribute("s")->value) == "text");
  CHECK(std::get<std::vector<double>>(node.attribute("floats")->value) == std::vector<double>{1, 2});
  CHECK(std::get<std::vector<std::string>>(node.attribute("strings")->value) == std::vector<std::string>{"a"});
  CHECK(to_string(std::get<TensorType>(node.attribute("type")->value)) == "optional(sequence(int32[?]))");
  CHECK(to_string(std::get<Tensor>(node.attribute("sparse")->value).type) == "float32[4,4]");
}

TEST_CASE("a node's scope is what the exporter recorded, else the folder of its name") {
  struct Row {
    const char* key;
    const char* value;
    const char* name;
    const char* scope;
  };
  const Row rows[] = {
      {"pkg.torch.onnx.name_scopes", "['', 'layer1', 'layer1.0', 'layer1.0.conv', 'conv2d_3']", "n", "layer1.0.conv"},
      {"pkg.torch.onnx.name_scopes", "['', \"it's\", 'op']", "n", "it's"},
      {"pkg.torch.onnx.name_scopes", "['', 'relu']", "node_relu", ""},
      {"pkg.torch.onnx.name_scopes", "['_empty_nn_module_stack_from_metadata_hook', 'sym_size']", "n", ""},
      {"pkg.torch.onnx.name_scopes", "[unclosed 'quote", "a/b", "a"},
      {"namespace", ": a.Net/layer1: a.Sequential/layer1.conv: a.Conv2d/conv2d_3: aten.conv2d", "n", "layer1.conv"},
      {"other", "x", "/layer1/layer1.0/conv/Conv", "/layer1/layer1.0/conv"},
      {"other", "x", "/Conv", ""},
      {"other", "x", "Conv_7", ""},
  };
  for (const Row& row : rows) {
    CAPTURE(row.value);
    onnx::ModelProto proto = convolution();
    proto.mutable_graph()->mutable_node(0)->set_name(row.name);
    add_metadata(*proto.mutable_graph()->mutable_node(0), row.key, row.value);
    CHECK(parse(proto).main().nodes[0].scope == row.scope);
  }
}

TEST_CASE("the long name of the default domain is the short one") {
  onnx::ModelProto proto = convolution();
  proto.mutable_opset_import(0)->set_domain("ai.onnx");
  proto.mutable_graph()->mutable_node(0)->set_domain("ai.onnx");
  const Model model = parse(proto);
  CHECK(model.opsets.at("") == 17);
  CHECK(model.main().nodes[0].domain.empty());
}

}  // namespace
}  // namespace pagoda::test
