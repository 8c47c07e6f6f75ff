// Files that are not models, or no longer are: always an Error with the place, never a crash, never a wrong model.
#include <doctest/doctest.h>

#include <cstdint>
#include <map>
#include <random>

#include "onnx/sample_models.h"
#include "onnx/wire.h"
#include "pagoda/core/model.h"
#include "support/sometimes.h"

namespace pagoda::test {
namespace {

// A length-delimited field.
std::string field(std::uint32_t number, const std::string& content) {
  std::string out;
  wire::append_bytes_field(out, number, content);
  return out;
}

// ModelProto.graph.
std::string model_with_graph(const std::string& graph) { return field(7, graph); }

// `depth` levels of `level(inner)`, built from the inside.
template <typename Level>
std::string nested(int depth, Level level) {
  std::string inner;
  for (int i = 0; i < depth; ++i) inner = level(inner);
  return inner;
}

TEST_CASE("a model cut off anywhere is an error or the model of what is left") {
  for (const Sample& sample : sample_models()) {
    CAPTURE(sample.name);
    int errors = 0;
    for (std::size_t length = 0; length < sample.bytes.size(); ++length) {
      const std::string message = parse_error(sample.bytes.substr(0, length));
      errors += message.empty() ? 0 : 1;
      CHECK_FALSE(contains(message, "\n"));
    }
    // A cut goes unnoticed only between fields of the outermost message.
    CHECK(errors > static_cast<int>(sample.bytes.size()) - 20);
  }
}

TEST_CASE("a truncated file says where it ends") {
  const std::string bytes = sample("convolution");
  const std::string message = parse_error(bytes.substr(0, bytes.size() / 2));
  CAPTURE(message);
  CHECK(contains(message, "malformed protobuf at byte"));
  CHECK(contains(message, "runs past the end of its message at byte " + std::to_string(bytes.size() / 2)));
  CHECK(contains(message, "truncated"));
}

TEST_CASE("every flipped bit gives an error or a model that equals its skeleton") {
  for (const Sample& sample : sample_models()) {
    CAPTURE(sample.name);
    std::string bytes = sample.bytes;
    // Weight bits change nothing, so all other bytes are tested, but only some weight bytes.
    for (std::size_t byte = 0; byte<bytes.size(); byte += byte> 200 && bytes[byte] == bytes[byte - 1] ? 17 : 1) {
      for (int bit = 0; bit < 8; ++bit) {
        bytes[byte] = static_cast<char>(bytes[byte] ^ 1 << bit);
        if (parse_error(bytes).empty()) {
          const Model model = parse_model(as_bytes(bytes));
          const std::string small = skeleton(as_bytes(bytes));
          CHECK(structure_of(parse_model(as_bytes(small))) == structure_of(model));
        }
        bytes[byte] = static_cast<char>(bytes[byte] ^ 1 << bit);
      }
    }
  }
}

TEST_CASE("random bytes, overwritten and spliced models do not crash") {
  test::Sometimes is_read("a damaged file that is read");
  std::mt19937 random(1);
  const std::vector<Sample> samples = sample_models();
  for (int round = 0; round < 3000; ++round) {
    std::string bytes = samples[random() % samples.size()].bytes;
    const std::string& other = samples[random() % samples.size()].bytes;
    for (std::uint32_t i = random() % 4; i < 5; ++i) {
      const std::size_t at = random() % bytes.size();
      const std::size_t from = random() % other.size();
      switch (random() % 3) {
        case 0:
          bytes[at] = static_cast<char>(random());
          break;
        case 1:
          bytes.insert(at, other, from, random() % 100);
          break;
        default:
          bytes.replace(at, random() % 100, other, from, random() % 100);
          break;
      }
      if (bytes.empty()) bytes = "x";
    }
    if (is_read(parse_error(bytes).empty())) CHECK_NOTHROW(parse_model(as_bytes(skeleton(as_bytes(bytes)))));
  }
}

TEST_CASE("files of other kinds are recognised") {
  const std::pair<std::string, const char*> rows[] = {
      {"", "is empty"},
      {std::string("\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 16), "is a PNG image"},
      {std::string("PK\x03\x04\x14\0\0\0", 8), "ZIP archive"},
      {"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "git lfs pull"},
      {"{\"model\": 1}\n", "is JSON"},
      {"hello", "is text"},
      {std::string("\x34\0\0\0\0\0\0\0{\"a\":{\"dtype\":\"F32\"", 24), "safetensors"},
      {"<!DOCTYPE html>", "is a web page"},
      {std::string(4096, '\0'), "is zeros at its beginning"},
      {"\x7f"
       "ELF\x02\x01\x01",
       "a program"},
      {std::string("\x08\x07", 2), "there is no graph in it"},
  };
  for (const auto& [bytes, expected] : rows) {
    const std::string message = parse_error(bytes);
    CAPTURE(message);
    CHECK(contains(message, expected));
  }
}

TEST_CASE("malformed protobuf is named with its offset") {
  const std::pair<std::string, const char*> rows[] = {
      {std::string("\x08\x07\x00", 3), "at byte 2: field number 0"},
      {std::string("\x08\x07\x0f", 3), "at byte 2: wire type 7"},
      {std::string("\x08\x07\x0e", 3), "at byte 2: wire type 6"},
      {std::string("\x08\x07\x0c", 3), "at byte 2: the end of a group that was not begun"},
      {std::string("\x08\x07\x0b", 3), "at byte 2: a group without an end"},
      {std::string("\x08\x07\x0b\x14", 4), "at byte 3: the end of another group"},
      {std::string("\x08"), "at byte 1: a number is cut off"},
      {std::string("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12),
       "at byte 1: a number is longer than 10 bytes"},
      {std::string("\x3a\x05"
                   "ab",
                   4),
       "at byte 0: field 7 of 5 bytes runs past the end"},
      {std::string("\x0d\x01", 2), "at byte 0: field 1 of 4 bytes runs past the end"},
      {std::string("\x3a\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 10), "a length of more than 5 bytes"},
      {model_with_graph(field(5, field(4, "abc"))), "packed numbers of 4 bytes in a field of 3 bytes"},
      {model_with_graph(field(1, field(5, field(7, "abc")))), "packed numbers of 4 bytes in a field of 3 bytes"},
      {model_with_graph(field(1, field(5, field(8, "\xff")))), "a packed number is cut off"},
  };
  for (const auto& [bytes, expected] : rows) {
    const std::string message = parse_error(bytes);
    CAPTURE(message);
    CHECK(contains(message, expected));
  }
}

TEST_CASE("fields of an unexpected wire type and groups are unknown fields, as for protobuf") {
  const std::string group("\xfb\x06\x08\x01\xfb\x06\x10\x02\xfc\x06\xfc\x06", 12);  // field 111, with one inside
  const std::string model = sample("convolution");
  const std::string odd_types(
      "\x3d\x01\x02\x03\x04"
      "\x40\x05"
      "\x11\x01\x02\x03\x04\x05\x06\x07\x08",
      16);
  const std::string plain = describe(parse_model(as_bytes(model)));
  for (const std::string& extra : {group, odd_types}) {
    const std::string bytes = model + extra;
    CHECK(parse_error(bytes) == "");
    CHECK(skeleton(as_bytes(bytes)) == skeleton(as_bytes(model)));
    const std::string text = describe(parse_model(as_bytes(bytes)));
    CHECK(text == plain);
  }
}

TEST_CASE("a million levels of anything are a clear error") {
  const auto in_attribute = [](std::uint32_t number) {
    return [number](const std::string& inner) { return field(1, field(5, field(number, inner))); };
  };
  // Lengths cost bytes at each level, so a million levels are written as unclosed fields that claim all that follows.
  std::string open;
  for (int i = 0; i < 1'000'000; ++i) open += "\x3a\xff\xff\xff\x7f";
  CHECK(contains(parse_error(open), "malformed protobuf"));
  CHECK(contains(parse_error(std::string(1'000'000, '\x0b')), "groups are nested more than 500 deep"));

  CHECK(contains(parse_error(model_with_graph(nested(2000, in_attribute(6)))), "nested more than 500 deep"));
  const std::string sequence = nested(2000, [](const std::string& inner) { return field(4, field(1, inner)); });
  CHECK(contains(parse_error(model_with_graph(field(11, field(1, "x") + field(2, sequence)))),
                 "nested more than 500 deep"));
}

TEST_CASE("lists that no node can use are refused before they take memory") {
  struct Row {
    std::uint32_t number;
    const char* what;
  };
  const auto listed = [](std::uint32_t number, int count) {
    std::string graph;
    for (int i = 0; i < count; ++i) {
      const std::string name = std::to_string(i);
      graph += field(number, number == 5 ? field(8, name) : field(1, name));
    }
    return graph;
  };
  for (const Row& row : {Row{5, "65536 initializers"}, Row{11, "131072 inputs"}, Row{12, "65536 outputs"},
                         Row{13, "65536 value types"}}) {
    const std::string message = parse_error(model_with_graph(listed(row.number, 140'000)));
    CAPTURE(message);
    CHECK(contains(message, std::string("has more than ") + row.what));
  }
  // Up to IR version 3 every initializer is an input, too.
  std::string nodes;
  for (int i = 0; i < 2000; ++i) nodes += field(1, field(4, "Relu") + field(2, "y" + std::to_string(i)));
  CHECK(parse_error(model_with_graph(nodes + listed(5, 70'000) + listed(11, 70'000))) == "");
}

TEST_CASE("a node of very many inputs or outputs is refused") {
  for (const std::uint32_t number : {1U, 2U}) {
    std::string node = field(4, "Sum");
    for (int i = 0; i < 70'000; ++i) node += field(number, number == 1 ? "x" : "y" + std::to_string(i));
    const std::string message = parse_error(model_with_graph(field(1, node) + field(11, field(1, "x"))));
    CAPTURE(message);
    CHECK(contains(message, std::string("has more than 65552 ") + (number == 1 ? "inputs" : "outputs") + " of nodes"));
  }
}

TEST_CASE("lists whose entries take many times their size are refused, or read once") {
  struct Row {
    std::string bytes, message;
  };
  const auto repeated = [](const std::string& entry, int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += entry;
    return text;
  };
  const std::string empty_attributes = repeated(field(5, ""), 40'000);
  const std::string texts = field(5, repeated(field(9, ""), 50'000));
  const auto node = [](int place, const std::string& rest) {
    return field(1, field(4, "A") + field(2, "y" + std::to_string(place)) + rest);
  };
  std::string nodes_of_texts, functions_of_opsets;
  for (int i = 0; i < 50; ++i) nodes_of_texts += node(i, texts);
  for (int i = 0; i < 70; ++i)
    functions_of_opsets += field(25, field(1, "F" + std::to_string(i)) + repeated(field(9, ""), 1000));
  const Row rows[] = {
      {model_with_graph(repeated(field(1, ""), 2)), "a node without operator type"},
      {model_with_graph(repeated(field(1, field(4, "A")), 70'000)), "has more than 65536 nodes without outputs"},
      {model_with_graph(node(0, empty_attributes)), ""},
      {model_with_graph(node(0, empty_attributes) + node(1, empty_attributes)), "has more than 65568 attributes"},
      {model_with_graph(nodes_of_texts), "has more than 2097152 texts of less than four bytes in attributes"},
      {model_with_graph("") + field(25, field(1, "F") + repeated(field(4, ""), 140'000)),
       "has more than 131072 inputs"},
      {model_with_graph("") + field(25, field(1, "F") + repeated(field(5, ""), 70'000)), "has more than 65536 outputs"},
      {model_with_graph("") + field(25, field(1, "F") + repeated(field(11, ""), 70'000)),
       "has more than 65536 attributes"},
      {model_with_graph("") + field(25, field(1, "F") + repeated(field(12, ""), 70'000)),
       "has more than 65536 value types"},
      {model_with_graph("") + functions_of_opsets, "has more than 65536 opset imports of functions"},
      {model_with_graph("") + field(25, field(1, "F") + field(7, "")), "a node without operator type"},
      {model_with_graph("") + repeated(field(25, ""), 70'000), "more than 65536 graphs of bodies and functions"},
  };
  for (const Row& row : rows) {
    const std::string message = parse_error(row.bytes);
    CAPTURE(message);
    CHECK(contains(message, row.message));
  }
}

TEST_CASE("what is nested within the bound loads") {
  const auto level = [](const std::string& inner) {
    // A node of type "If" whose attribute "g" is the graph.
    return field(1, field(4, "If") + field(5, field(1, "g") + field(6, inner)));
  };
  const Model model = parse_model(as_bytes(model_with_graph(nested(150, level))));
  CHECK(model.graphs.size() == 151);
}

TEST_CASE("dims that no tensor has are errors that name the tensor") {
  struct Row {
    std::vector<std::int64_t> dims;
    const char* message;
  };
  const Row rows[] = {
      {{-1}, "tensor \"t\" has a dim of -1"},
      {{0, -5}, "tensor \"t\" has a dim of -5"},
      {{std::int64_t{1} << 62, 4}, "tensor \"t\" has dims of more than 2^63 elements"},
      {{std::int64_t{1} << 40, std::int64_t{1} << 30, std::int64_t{1} << 40}, "more than 2^63 elements"},
      {{INT64_MAX, INT64_MAX}, "more than 2^63 elements"},
      {{INT64_MAX}, "raw_data holds 4 bytes, expected 9223372036854775807 elements of float32"},
      {{2}, "raw_data holds 4 bytes, expected 2 elements of float32 in 8 bytes"},
      {{1000}, "raw_data holds 4 bytes, expected 1000 elements"},
      {{0}, "raw_data holds 4 bytes, expected 0 elements"},
  };
  for (const Row& row : rows) {
    onnx::ModelProto proto = new_model();
    add_weight(*proto.mutable_graph(), "t", onnx::TensorProto::FLOAT, row.dims, 4);
    const std::string message = parse_error(proto.SerializeAsString());
    CAPTURE(message);
    CHECK(contains(message, row.message));
  }
}

TEST_CASE("a million tiny fields load in time linear in their number") {
  // 200,000 nodes in reverse order, so that sorting has work to do.
  onnx::ModelProto proto = new_model();
  onnx::GraphProto& graph = *proto.mutable_graph();
  constexpr int kNodes = 200'000;
  add_input(graph, "v0", {"n"});
  for (int i = kNodes; i > 0; --i) add_node(graph, "Relu", {"v" + std::to_string(i - 1)}, {"v" + std::to_string(i)});
  const Model model = parse(proto);
  REQUIRE(model.main().nodes.size() == kNodes);
  CHECK(model.main().values[static_cast<std::size_t>(model.main().nodes.front().outputs[0])].name == "v1");
}

TEST_CASE("sizes without names get different symbols even when their values' names differ in punctuation only") {
  onnx::ModelProto proto = new_model();
  const std::string marks = "!#$%&()*+,-./:;<=>?@[]^{|}~";
  for (const char a : marks)
    for (const char b : marks)
      for (const char c : marks) add_input(*proto.mutable_graph(), std::string{a, b, c}, {""});
  const Model model = parse(proto);
  std::map<std::string, int> seen;
  for (const Value& value : model.main().values) ++seen[value.declared.shape->front().to_string()];
  CHECK(seen.size() == model.main().values.size());
}

}  // namespace
}  // namespace pagoda::test
