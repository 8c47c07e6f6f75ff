// Random weights: deterministic, sensible for their use; the rest of the model is unchanged.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <set>

#include "skeleton/fill.h"
#include "onnx/sample_models.h"
#include "pagoda/base/files.h"
#include "pagoda/core/model.h"
#include "support/sometimes.h"

namespace pagoda::test {
namespace {

using wire::Filling;
using wire::Use;

// The model with its weights replaced, through files as the tool does.
onnx::ModelProto filled(const onnx::ModelProto& proto, std::uint64_t seed = 0) {
  const base::TemporaryFolder folder("pagoda-fill-test");
  base::write_file(folder.path("m.onnx"), skeleton(as_bytes(proto.SerializeAsString())));
  write_filled(folder.path("m.onnx"), folder.path("f.onnx"), seed);
  onnx::ModelProto result;
  REQUIRE(result.ParseFromString(read_file(folder.path("f.onnx"))));
  return result;
}

std::vector<float> floats(const onnx::TensorProto& tensor) {
  std::vector<float> values(tensor.raw_data().size() / 4);
  std::memcpy(values.data(), tensor.raw_data().data(), values.size() * 4);
  return values;
}

struct Statistics {
  double mean = 0, deviation = 0, least = 0, most = 0;
};

Statistics statistics(const std::vector<float>& values) {
  Statistics result{.least = values.front(), .most = values.front()};
  for (const float value : values) {
    result.mean += value;
    result.least = std::min<double>(result.least, value);
    result.most = std::max<double>(result.most, value);
  }
  result.mean /= static_cast<double>(values.size());
  for (const float value : values) result.deviation += (value - result.mean) * (value - result.mean);
  result.deviation = std::sqrt(result.deviation / static_cast<double>(values.size()));
  return result;
}

TEST_CASE("a filled model is the model with other numbers") {
  for (const onnx::ModelProto& proto : {convolution(), branches(), call()}) {
    const onnx::ModelProto result = filled(proto);
    // Offsets differ: the typed bias has become raw data.
    const Model before = parse(proto);
    const Model after = parse(result);
    REQUIRE(after.graphs.size() == before.graphs.size());
    for (std::size_t i = 0; i < before.main().initializers.size(); ++i) {
      CHECK(to_string(after.main().initializers[i].type) == to_string(before.main().initializers[i].type));
      CHECK(after.main().initializers[i].value == before.main().initializers[i].value);
    }
    CHECK(result.graph().node_size() == proto.graph().node_size());
  }
}

TEST_CASE("the same seed gives the same file, another seed another") {
  CHECK(filled(convolution(), 7).SerializeAsString() == filled(convolution(), 7).SerializeAsString());
  CHECK(filled(convolution(), 7).SerializeAsString() != filled(convolution(), 8).SerializeAsString());
}

TEST_CASE("tensors of one model differ from each other") {
  onnx::ModelProto proto = new_model();
  for (int i = 0; i < 4; ++i)
    add_weight(*proto.mutable_graph(), "w" + std::to_string(i), onnx::TensorProto::FLOAT, {100}, 400);
  const onnx::ModelProto result = filled(proto);
  std::set<std::string> contents;
  for (const onnx::TensorProto& tensor : result.graph().initializer()) contents.insert(tensor.raw_data());
  CHECK(contents.size() == 4);
}

TEST_CASE("convolution weights have the deviation that keeps the variance") {
  const Statistics weight = statistics(floats(filled(convolution()).graph().initializer(0)));
  CHECK(std::abs(weight.mean) < 0.02);
  CHECK(weight.deviation == doctest::Approx(std::sqrt(1.0 / 27)).epsilon(0.05));
}

TEST_CASE("norms get scales about one and positive variances") {
  onnx::ModelProto proto = new_model();
  onnx::GraphProto& graph = *proto.mutable_graph();
  add_input(graph, "x", {"1", "64", "8", "8"});
  for (const char* name : {"scale", "bias", "mean", "variance"})
    add_weight(graph, name, onnx::TensorProto::FLOAT, {64}, 256);
  add_node(graph, "BatchNormalization", {"x", "scale", "bias", "mean", "variance"}, {"y"});
  const onnx::ModelProto result = filled(proto);
  CHECK(statistics(floats(result.graph().initializer(0))).mean == doctest::Approx(1).epsilon(0.05));
  CHECK(std::abs(statistics(floats(result.graph().initializer(1))).most) < 0.2);
  CHECK(statistics(floats(result.graph().initializer(3))).least >= 0.5);
}

TEST_CASE("uses are found through casts, transpositions, dequantisation and from within bodies") {
  onnx::ModelProto proto = new_model();
  onnx::GraphProto& graph = *proto.mutable_graph();
  add_input(graph, "x", {"8", "400"});
  add_weight(graph, "w", onnx::TensorProto::FLOAT, {100, 400}, 160000);
  add_node(graph, "Cast", {"w"}, {"wc"});
  add_node(graph, "Transpose", {"wc"}, {"wt"});
  onnx::NodeProto& branch = add_node(graph, "If", {"x"}, {"y"});
  onnx::GraphProto& body = *add_attribute(branch, "then_branch", onnx::AttributeProto::GRAPH).mutable_g();
  add_node(body, "MatMul", {"x", "wt"}, {"product"});
  add_node(body, "Sqrt", {"v"}, {"root"});
  add_output(body, "product");
  add_weight(graph, "v", onnx::TensorProto::FLOAT, {100}, 400);
  const onnx::ModelProto result = filled(proto);
  CHECK(statistics(floats(result.graph().initializer(0))).deviation ==
        doctest::Approx(std::sqrt(1.0 / 400)).epsilon(0.05));
  CHECK(statistics(floats(result.graph().initializer(1))).least >= 0.5);
}

TEST_CASE("every element type fills its bytes, and numbers are finite") {
  test::Sometimes is_real("a real number");
  for (int type = 1; type <= static_cast<int>(ElementType::Int2); ++type) {
    const auto element = static_cast<ElementType>(type);
    CAPTURE(to_string(element));
    const Filling filling{
        .element = element, .elements = 1001, .use = {.use = Use::Weight, .deviation = 0.1}, .seed = 5};
    const std::string bytes = filling.piece(0, 1001);
    CHECK(bytes.size() == filling.bytes());
    if (element == ElementType::String) continue;
    onnx::ModelProto proto = new_model();
    onnx::TensorProto& tensor = add_weight(*proto.mutable_graph(), "t", type, {16}, 0);
    const bool is_complex = element == ElementType::Complex64 || element == ElementType::Complex128;
    if (is_complex) continue;
    tensor.set_raw_data(filling.piece(0, 16));
    const Model model = parse(proto);
    REQUIRE(model.main().initializers[0].value);
    for (const Scalar& scalar : *model.main().initializers[0].value)
      if (is_real(std::holds_alternative<double>(scalar))) CHECK(std::isfinite(std::get<double>(scalar)));
  }
}

TEST_CASE(
    "indices are zero, masks hold both values, quantised weights use their range, zero points are in the middle") {
  const auto bytes = [](ElementType element, Use use) {
    return Filling{.element = element, .elements = 4096, .use = {.use = use, .deviation = 1}, .seed = 1}.piece(0, 4096);
  };
  CHECK(bytes(ElementType::Int64, Use::Embedding) == std::string(4096 * 8, '\0'));
  CHECK(bytes(ElementType::Int32, Use::Additive) == std::string(4096 * 4, '\0'));
  CHECK(bytes(ElementType::Bool, Use::Unknown).substr(0, 4) == std::string("\0\1\0\1", 4));
  const std::string codes = bytes(ElementType::Int8, Use::Weight);
  CHECK(std::set<char>(codes.begin(), codes.end()).size() == 256);
  CHECK(bytes(ElementType::Uint8, Use::ZeroPoint) == std::string(4096, '\x80'));
  CHECK(bytes(ElementType::Int8, Use::ZeroPoint) == std::string(4096, '\0'));
  CHECK(bytes(ElementType::Uint4, Use::ZeroPoint) == std::string(2048, '\x88'));
  CHECK(bytes(ElementType::Int4, Use::Weight).size() == 2048);
}

TEST_CASE("pieces join to the whole") {
  for (const ElementType element : {ElementType::Float32, ElementType::Int4, ElementType::Complex64}) {
    const Filling filling{.element = element, .elements = 3 * Filling::kPiece, .use = {}, .seed = 3};
    const std::string whole = filling.piece(0, 3 * Filling::kPiece);
    CHECK(filling.piece(0, Filling::kPiece) + filling.piece(Filling::kPiece, 3 * Filling::kPiece) == whole);
  }
}

TEST_CASE("a placeholder of absurd size is an error before anything is written") {
  onnx::ModelProto proto = new_model();
  onnx::TensorProto& tensor =
      add_weight(*proto.mutable_graph(), "vast", onnx::TensorProto::FLOAT, {std::int64_t{1} << 60}, 0);
  tensor.clear_raw_data();
  tensor.set_data_location(onnx::TensorProto::EXTERNAL);
  onnx::StringStringEntryProto& entry = *tensor.add_external_data();
  entry.set_key("location");
  entry.set_value("w");
  CHECK_THROWS_WITH_AS(filled(proto), doctest::Contains("brings its weights to more than"), Error);
}

}  // namespace
}  // namespace pagoda::test
