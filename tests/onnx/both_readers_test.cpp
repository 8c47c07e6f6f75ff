// The walk over the file against ONNX's own classes: both read the same model, or both refuse.
#include <doctest/doctest.h>

#include <filesystem>
#include <map>
#include <optional>
#include <random>
#include <regex>

#include "onnx/oracle.h"
#include "onnx/sample_models.h"
#include "onnx/wire.h"
#include "pagoda/core/model.h"
#include "pagoda/onnx/to_model.h"
#include "support/files.h"
#include "support/sometimes.h"

namespace pagoda::test {
namespace {

struct Reading {
  std::optional<Model> model;
  std::string refusal;
};

template <typename Read>
Reading reading(Read read) {
  try {
    return {.model = read(), .refusal = {}};
  } catch (const Error& error) {
    return {.model = std::nullopt, .refusal = error.what()};
  }
}

Reading by_walk(const std::string& bytes) {
  return reading([&] { return parse_model(as_bytes(bytes)); });
}

Reading by_classes(const std::string& bytes) {
  return reading([&] {
    onnx::ModelProto proto;
    if (!proto.ParseFromString(bytes)) throw Error("protobuf");
    return to_model(proto);
  });
}

// The description without file offsets: protobuf moves unknown fields behind the others.
std::string without_places(const Model& model) {
  static const std::regex kPlace("at '' [0-9]+");
  return std::regex_replace(describe(model), kPlace, "at ''");
}

TEST_CASE("both readers read the same model from every sample and every model of the repository") {
  std::vector<Sample> files = sample_models();
  for (const char* folder : {"models/skeletons", "tests/train", "tests/import/data"})
    for (const auto& entry : std::filesystem::directory_iterator(source_path(folder)))
      if (entry.path().extension() == ".onnx") files.push_back({entry.path().filename(), read_file(entry.path())});
  CHECK(files.size() > 70);
  for (const Sample& file : files) {
    CAPTURE(file.name);
    const Model model = parse_model(as_bytes(file.bytes));
    onnx::ModelProto proto;
    REQUIRE(proto.ParseFromString(file.bytes));
    CHECK(disagreement(model, proto) == "");
    CHECK(describe(to_model(proto)) == describe(model));
  }
}

TEST_CASE("the oracle sees what differs") {
  const std::pair<const char*, void (*)(onnx::ModelProto&)> rows[] = {
      {"IR version", [](onnx::ModelProto& m) { m.set_ir_version(3); }},
      {"opsets", [](onnx::ModelProto& m) { m.mutable_opset_import(0)->set_version(3); }},
      {"operator", [](onnx::ModelProto& m) { m.mutable_graph()->mutable_node(0)->set_op_type("Other"); }},
      {"inputs", [](onnx::ModelProto& m) { m.mutable_graph()->mutable_node(1)->set_input(0, "w"); }},
      {"attribute pads",
       [](onnx::ModelProto& m) { m.mutable_graph()->mutable_node(0)->mutable_attribute(0)->add_ints(0); }},
      {"attribute s", [](onnx::ModelProto& m) { m.mutable_graph()->mutable_node(2)->mutable_attribute(2)->set_s(""); }},
      {"tensor w", [](onnx::ModelProto& m) { m.mutable_graph()->mutable_initializer(0)->set_dims(0, 1); }},
      {"an element", [](onnx::ModelProto& m) { m.mutable_graph()->mutable_initializer(2)->set_int64_data(1, 1); }},
      {"type of x",
       [](onnx::ModelProto& m) {
         m.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(7);
       }},
  };
  const Model model = parse_model(as_bytes(sample("everything")));
  for (const auto& row : rows) {
    onnx::ModelProto proto;
    REQUIRE(proto.ParseFromString(sample("everything")));
    row.second(proto);
    CAPTURE(row.first);
    CHECK(disagreement(model, proto).find(row.first) != std::string::npos);
  }
}

// --- Damaged files ---

std::string field(std::uint32_t number, const std::string& content) {
  std::string out;
  wire::append_bytes_field(out, number, content);
  return out;
}

std::string nested_graphs(int depth) {
  std::string graph;
  for (int i = 0; i < depth; ++i) graph = field(1, field(4, "If") + field(5, field(1, "g") + field(6, graph)));
  return field(7, graph);
}

// A float tensor of 100 elements in raw data, with the additional fields `more`.
std::string with_tensor(const std::string& more) {
  return field(7, field(5, "\x08\x64\x10\x01" + field(8, "t") + field(9, std::string(400, '\1')) + more));
}

// Why one reader accepts a file that the other refuses.
struct Cause {
  const char* cause;
  bool walk_reads, classes_read;
  std::string example;
};

const std::vector<Cause>& causes() {
  static const std::vector<Cause> kCauses = {
      // cause, who reads it, the smallest such file
      {"the data of large tensors are stepped over, so nothing inside them is found broken", true, false,
       with_tensor(field(10, "short"))},
      {"protobuf stops at 100 messages within messages, the walk at 500", true, false, nested_graphs(40)},
      {"a message that its parent holds once stands there twice: protobuf merges, the walk refuses", false, true,
       sample("convolution") + field(7, "")},
  };
  return kCauses;
}

TEST_CASE("a file that only one reader takes has a listed cause") {
  for (const Cause& row : causes()) {
    CAPTURE(row.cause);
    CHECK(by_walk(row.example).model.has_value() == row.walk_reads);
    CHECK(by_classes(row.example).model.has_value() == row.classes_read);
  }
}

// The listed cause of a difference; empty when there is none.
std::string cause_of(const std::string& bytes, const Reading& walk) {
  if (!walk.model && walk.refusal.find("a second time in its message") != std::string::npos) return causes()[2].cause;
  if (!walk.model) return "";
  // Without the data of large tensors, both readers agree.
  const Reading again = by_classes(skeleton(as_bytes(bytes)));
  return again.model && structure_of(*again.model) == structure_of(*walk.model) ? causes()[0].cause : "";
}

void compare_damaged(const std::string& bytes, std::map<std::string, int>& differences, Sometimes& is_read) {
  const Reading walk = by_walk(bytes), classes = by_classes(bytes);
  if (is_read(walk.model && classes.model))
    CHECK(without_places(*walk.model) == without_places(*classes.model));
  else if (walk.model || classes.model)
    ++differences[cause_of(bytes, walk)];
}

TEST_CASE("of damaged models both readers make the same, or one has a listed cause to refuse") {
  std::map<std::string, int> differences;
  Sometimes is_read("a damaged model that both read");
  int files = 0;
  for (const Sample& sample : sample_models()) {
    CAPTURE(sample.name);
    std::string bytes = sample.bytes;
    for (std::size_t length = 0; length < bytes.size(); length += length < 1000 ? 1 : 7, ++files)
      compare_damaged(bytes.substr(0, length), differences, is_read);
    for (std::size_t byte = 0; byte<bytes.size(); byte += byte> 200 && bytes[byte] == bytes[byte - 1] ? 17 : 1)
      for (int bit = 0; bit < 8; ++bit, ++files) {
        CAPTURE(byte);
        CAPTURE(bit);
        bytes[byte] = static_cast<char>(bytes[byte] ^ 1 << bit);
        compare_damaged(bytes, differences, is_read);
        bytes[byte] = static_cast<char>(bytes[byte] ^ 1 << bit);
      }
  }
  // Pieces of models, copied to other places.
  std::mt19937 random(2);
  const std::vector<Sample> samples = sample_models();
  for (int round = 0; round < 3000; ++round, ++files) {
    CAPTURE(round);
    std::string bytes = samples[random() % samples.size()].bytes;
    const std::string& other = samples[random() % samples.size()].bytes;
    const std::size_t at = random() % bytes.size(), cut = random() % 40;
    bytes.replace(at, cut, other, random() % other.size(), cut);
    compare_damaged(bytes, differences, is_read);
  }
  CHECK(differences[""] == 0);
  for (const auto& difference : differences) MESSAGE(difference.second << " of " << files << ": " << difference.first);
}

}  // namespace
}  // namespace pagoda::test
