// Annotated copies: notes where they belong, everything else byte for byte, external data next to them.
#include <doctest/doctest.h>

#include <unistd.h>

#include <filesystem>
#include <functional>

#include "onnx/sample_models.h"
#include "onnx/wire.h"
#include "pagoda/base/files.h"
#include "pagoda/core/annotate.h"
#include "pagoda/core/model.h"
#include "pagoda/onnx/to_model.h"
#include "support/workshop.h"

namespace pagoda::test {
namespace {

namespace fs = std::filesystem;

onnx::ModelProto proto_of(const std::string& path) {
  onnx::ModelProto proto;
  REQUIRE(proto.ParseFromString(read_file(path)));
  return proto;
}

// Fields that the installed ONNX may not support: metadata_props, as "key=value" in order.
std::vector<std::string> metadata(const google::protobuf::Message& message, int number) {
  std::vector<std::string> entries;
  const std::string bytes = message.SerializeAsString();
  wire::File file(as_bytes(bytes));
  wire::Reader reader(file, {0, bytes.size()}, 0);
  while (const auto field = reader.next()) {
    if (field->number != static_cast<std::uint32_t>(number) || field->type != wire::Type::Bytes) continue;
    onnx::StringStringEntryProto entry;
    REQUIRE(entry.ParseFromString(std::string(file.text(field->payload))));
    entries.push_back(entry.key() + "=" + entry.value());
  }
  return entries;
}

// Notes that give every node of the model its graph and index.
Annotations numbered(const Model& model) {
  Annotations notes;
  notes.model = {{"pagoda.tool", "test"}};
  for (std::size_t g = 0; g < model.graphs.size(); ++g)
    for (std::size_t n = 0; n < model.graphs[g].nodes.size(); ++n)
      notes.nodes[{static_cast<GraphId>(g), static_cast<std::int32_t>(n)}] = {
          {"pagoda.at", std::to_string(g) + ":" + std::to_string(n)}, {"pagoda.op", model.graphs[g].nodes[n].op_type}};
  return notes;
}

// The model's description without the offsets of weights, which move.
std::string shape_of(Model model) {
  for (Graph& graph : model.graphs) {
    for (Tensor& tensor : graph.initializers) tensor.extent.offset = 0;
    for (Node& node : graph.nodes)
      for (Attribute& attribute : node.attributes)
        if (auto* tensor = std::get_if<Tensor>(&attribute.value)) tensor->extent.offset = 0;
  }
  return describe(model);
}

TEST_CASE("an annotated model differs from the model by its notes alone") {
  const Workshop shop;
  for (const Sample& sample : sample_models()) {
    CAPTURE(sample.name);
    const std::string from = shop.path("model.onnx"), to = shop.path("annotated.onnx"), back = shop.path("back.onnx");
    base::write_file(from, sample.bytes);
    const Model model = load_model(from);
    const Annotated done = write_annotated(model, to, numbered(model));
    CHECK(done.nodes + done.nameless == numbered(model).nodes.size());
    CHECK(read_file(to).size() > sample.bytes.size());
    CHECK(shape_of(to_model(proto_of(to))) == shape_of(to_model(proto_of(from))));
    // Removing the notes restores the file exactly.
    const Model annotated = load_model(to);
    write_annotated(annotated, back, {});
    CHECK(read_file(back) == sample.bytes);
  }
}

TEST_CASE("each note stands at its node, in bodies and functions too, whatever order the file has the nodes in") {
  const Workshop shop;
  onnx::ModelProto proto = branches();
  onnx::GraphProto& graph = *proto.mutable_graph();
  onnx::NodeProto& last = add_node(graph, "Relu", {"early"}, {"late"}, "late");
  add_node(graph, "Neg", {graph.input(0).name()}, {"early"});  // after its reader, and without a name
  add_output(graph, "late");
  add_metadata(last, "pagoda.flops", "7");
  add_metadata(last, "exporter.module", "head");
  proto.MergeFrom([] {
    onnx::ModelProto function = call();
    function.clear_graph();
    return function;
  }());
  const std::string from = shop.path("model.onnx"), to = shop.path("annotated.onnx");
  base::write_file(from, proto.SerializeAsString());
  const Model model = load_model(from);
  REQUIRE(model.graphs.size() > 4);
  const Annotated done = write_annotated(model, to, numbered(model));
  CHECK(done.nameless == 0);

  const onnx::ModelProto annotated = proto_of(to);
  CHECK(metadata(annotated, 14).back() == "pagoda.tool=test");
  std::size_t seen = 0;
  // A node's notes name the graph and index at which the loaded model has the same outputs and operator.
  const std::function<void(const onnx::NodeProto&)> check = [&](const onnx::NodeProto& node) {
    CAPTURE(node.ShortDebugString());
    std::vector<std::string> notes = metadata(node, 9);
    if (node.name() == "late") {
      REQUIRE(notes.size() == 3);
      CHECK(notes.front() == "exporter.module=head");  // kept; the old pagoda.flops is gone
      notes.erase(notes.begin());
    }
    REQUIRE(notes.size() == 2);
    CHECK(notes[1] == "pagoda.op=" + node.op_type());
    const std::string at = notes[0].substr(notes[0].find('=') + 1);
    const Graph& found = model.graph(std::stoi(at));
    const Node& there = found.nodes.at(std::stoul(at.substr(at.find(':') + 1)));
    CHECK(found.value(there.output(0)).name == node.output(0));
    ++seen;
    for (const onnx::AttributeProto& attribute : node.attribute())
      for (const onnx::NodeProto& inner : attribute.g().node()) check(inner);
  };
  for (const onnx::NodeProto& node : annotated.graph().node()) check(node);
  for (const onnx::FunctionProto& function : annotated.functions())
    for (const onnx::NodeProto& node : function.node()) check(node);
  CHECK(seen == done.nodes);
  // Annotating again replaces the notes.
  const Model again = load_model(to);
  write_annotated(again, shop.path("again.onnx"), numbered(again));
  CHECK(read_file(shop.path("again.onnx")) == read_file(to));
}

TEST_CASE("nodes that a file cannot tell apart get no notes and are counted") {
  const Workshop shop;
  onnx::ModelProto proto = new_model();
  add_input(*proto.mutable_graph(), "x", {"n"});
  add_node(*proto.mutable_graph(), "Print", {"x"}, {});
  add_node(*proto.mutable_graph(), "Print", {"x"}, {}, "named");
  base::write_file(shop.path("model.onnx"), proto.SerializeAsString());
  const Model model = load_model(shop.path("model.onnx"));
  const Annotated done = write_annotated(model, shop.path("out.onnx"), numbered(model));
  CHECK(done.nodes == 1);
  CHECK(done.nameless == 1);
}

// Writes a model whose only weight is in the external file `location`.
void save_external(const Workshop& shop, const std::string& name, const std::string& location) {
  onnx::ModelProto proto = new_model();
  onnx::GraphProto& graph = *proto.mutable_graph();
  add_input(graph, "x", {"1", "1024"});
  onnx::TensorProto& weight = add_weight(graph, "w", onnx::TensorProto::FLOAT, {1024, 8}, 0);
  weight.clear_raw_data();
  weight.set_data_location(onnx::TensorProto::EXTERNAL);
  onnx::StringStringEntryProto& entry = *weight.add_external_data();
  entry.set_key("location");
  entry.set_value(location);
  add_node(graph, "MatMul", {"x", "w"}, {"y"}, "product");
  add_output(graph, "y");
  base::write_file(shop.path(name), proto.SerializeAsString());
}

TEST_CASE("external data follow the model into another folder and stay in its own") {
  const Workshop shop;
  fs::create_directories(shop.path("in/weights"));
  fs::create_directories(shop.path("out"));
  const std::string weights(32768, 'w');
  base::write_file(shop.path("in/weights/w.bin"), weights);
  save_external(shop, "in/model.onnx", "weights/w.bin");
  const Model model = load_model(shop.path("in/model.onnx"));
  const Annotations notes = numbered(model);

  Annotated done = write_annotated(model, shop.path("in/annotated.onnx"), notes);
  CHECK(done.copied.empty());
  CHECK(done.missing.empty());
  done = write_annotated(model, shop.path("out/annotated.onnx"), notes);
  CHECK(done.copied == std::vector<std::string>{"weights/w.bin"});
  CHECK(read_file(shop.path("out/weights/w.bin")) == weights);
  CHECK(proto_of(shop.path("out/annotated.onnx")).graph().initializer(0).external_data(0).value() == "weights/w.bin");
  // An identical copy that exists is used; a different file is not replaced.
  CHECK(write_annotated(model, shop.path("out/annotated.onnx"), notes).copied.empty());
  base::write_file(shop.path("out/weights/w.bin"), std::string(32768, 'v'));
  CHECK(contains(error_of([&] { write_annotated(model, shop.path("out/annotated.onnx"), notes); }),
                 "is there and differs from the model's external data"));
  CHECK(read_file(shop.path("out/weights/w.bin")) == std::string(32768, 'v'));
  // A missing file cannot be copied.
  fs::remove(shop.path("in/weights/w.bin"));
  CHECK(write_annotated(model, shop.path("out/alone.onnx"), notes).missing ==
        std::vector<std::string>{"weights/w.bin"});
}

TEST_CASE("an output that cannot be is refused, and nothing is left behind") {
  const Workshop shop;
  fs::create_directories(shop.path("in/model"));
  fs::create_directories(shop.path("out"));
  base::write_file(shop.path("in/w.bin"), std::string(32768, 'w'));
  save_external(shop, "in/model/model.onnx", "../w.bin");
  const std::string path = shop.path("in/model/model.onnx"), before = read_file(path);
  const Model model = load_model(path);
  const Annotations notes = numbered(model);
  CHECK(contains(error_of([&] { write_annotated(model, path, notes); }), "is the input itself"));
  fs::create_symlink(path, shop.path("link.onnx"));
  CHECK(contains(error_of([&] { write_annotated(model, shop.path("link.onnx"), notes); }), "is the input itself"));
  CHECK(read_file(path) == before);
  CHECK(contains(error_of([&] { write_annotated(model, shop.path("out/a.onnx"), notes); }), "lie outside its folder"));
  CHECK(fs::is_empty(shop.path("out")));
  CHECK(write_annotated(model, shop.path("in/model/a.onnx"), notes).nodes == 1);  // "../w.bin" is also valid from here
  // A different model has replaced the file since it was read.
  onnx::ModelProto other = new_model();
  add_input(*other.mutable_graph(), "x", {"n"});
  add_node(*other.mutable_graph(), "Relu", {"x"}, {"z"});
  other.set_doc_string(std::string(before.size() - other.ByteSizeLong() - 2, ' '));  // of the same size
  base::write_file(path, other.SerializeAsString());
  REQUIRE(read_file(path).size() == before.size());
  CHECK(contains(error_of([&] { write_annotated(model, shop.path("out/a.onnx"), notes); }), "has changed since"));
  CHECK(fs::is_empty(shop.path("out")));
}

// A model file with one weight of `bytes` bytes, stored as a hole; returns "" where the disk lacks space for a copy.
std::string save_large(const Workshop& shop, std::uint64_t bytes) {
  if (fs::space(shop.folder).available < 3 * bytes) return {};
  onnx::ModelProto proto = new_model();
  onnx::GraphProto& graph = *proto.mutable_graph();
  add_input(graph, "x", {"1", std::to_string(bytes / 4)});
  add_node(graph, "MatMul", {"x", "w"}, {"y"}, "product");
  add_output(graph, "y");
  onnx::TensorProto weight;
  weight.set_name("w");
  weight.set_data_type(onnx::TensorProto::FLOAT);
  weight.add_dims(static_cast<std::int64_t>(bytes / 4));
  weight.add_dims(1);
  // Written by hand: protobuf cannot serialise a message of 2 GB.
  const auto opened = [](std::uint32_t number, std::uint64_t size) {
    std::string head;
    wire::append_varint(head, wire::bytes_tag(number));
    wire::append_varint(head, size);
    return head;
  };
  const std::string tensor = weight.SerializeAsString() + opened(9, bytes);
  const std::string tensor_head = opened(5, tensor.size() + bytes) + tensor;
  const std::string rest = graph.SerializeAsString();
  proto.clear_graph();
  const std::string head =
      proto.SerializeAsString() + opened(7, rest.size() + tensor_head.size() + bytes) + rest + tensor_head;
  const std::string path = shop.path("large.onnx");
  base::write_file(path, head);
  REQUIRE(::truncate(path.c_str(), static_cast<off_t>(head.size() + bytes)) == 0);
  return path;
}

TEST_CASE("a file of 2.2 GB is annotated without holding it") {
  const Workshop shop;
  const std::string path = save_large(shop, 2'200'000'000);
  if (path.empty()) {
    MESSAGE("skipped: the disk has no room for a copy of 2.2 GB");
    return;
  }
  const Model model = load_model(path);
  const std::string to = shop.path("annotated.onnx");
  CHECK(write_annotated(model, to, numbered(model)).nodes == 1);
  CHECK(fs::file_size(to) > fs::file_size(path));
  CHECK(fs::file_size(to) < fs::file_size(path) + 200);
  const Model annotated = load_model(to);
  CHECK(annotated.main().nodes.at(0).name == "product");
  CHECK(annotated.main().initializers.at(0).extent.bytes == model.main().initializers.at(0).extent.bytes);
}

TEST_CASE("notes do not push a model beyond what protobuf reads") {
  const Workshop shop;
  const std::string path = save_large(shop, (std::uint64_t{1} << 31) - 400);
  if (path.empty()) {
    MESSAGE("skipped: the disk has no room for a copy of 2 GB");
    return;
  }
  const Model model = load_model(path);
  Annotations notes = numbered(model);
  notes.model.emplace_back("pagoda.note", std::string(1000, 'n'));
  CHECK(contains(error_of([&] { write_annotated(model, shop.path("a.onnx"), notes); }), "2 GB that protobuf reads"));
  CHECK_FALSE(fs::exists(shop.path("a.onnx")));
}

}  // namespace
}  // namespace pagoda::test
