// PyTorch exports of one network at two sizes: each, analysed at the other's size, gives the other's result. compare.py
// does this for whole networks; README.md says where the files come from.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "pagoda/base/error.h"
#include "pagoda/core/analyze.h"
#include "pagoda/core/conventions.h"
#include "pagoda/core/model.h"
#include "support/files.h"

namespace pagoda::test {
namespace {

struct Pair {
  const char* network;
  std::vector<std::int64_t> first, second;  // heights and widths
};

const Pair kPairs[] = {
    {"unet_interpolated.dynamo", {224, 224}, {256, 384}},
    {"small_vit.dynamo", {64, 64}, {96, 96}},
    {"small_vit.torchscript", {64, 64}, {96, 96}},
    {"small_swin.dynamo", {112, 112}, {112, 224}},
    {"small_swin.torchscript", {112, 112}, {112, 224}},
};

std::string path_of(const std::string& network, const std::vector<std::int64_t>& size) {
  return source_path("tests/resize/pairs/" + network + "." + std::to_string(size[0]) + "x" + std::to_string(size[1]) +
                     ".onnx");
}

// Names and types of the outputs of every node that does work.
std::vector<std::string> written(const Analysis& analysis) {
  std::vector<std::string> types;
  for (const NodeReport& row : analysis.nodes)
    if (row.cost.mark != Mark::Folded && row.cost.mark != Mark::Host)
      for (const OutputInfo& output : row.outputs) types.push_back(output.name + " " + to_string(output.type));
  return types;
}

TEST_CASE("an export asked at another size equals the export at that size") {
  for (const Pair& pair : kPairs)
    for (const auto& [from, to] : {std::pair(pair.first, pair.second), std::pair(pair.second, pair.first)}) {
      CAPTURE(std::string(pair.network));
      const auto height = to[0];  // clang 14 cannot capture structured bindings
      CAPTURE(height);
      const Analysis asked =
          analyze(load_model(path_of(pair.network, from)), {.input_shapes = {{"images", {1, 3, to[0], to[1]}}}});
      const Analysis exported = analyze(load_model(path_of(pair.network, to)));
      CHECK(asked.totals.cost.macs == exported.totals.cost.macs);
      CHECK(asked.totals.cost.arith == exported.totals.cost.arith);
      CHECK(asked.totals.cost.special == exported.totals.cost.special);
      CHECK(asked.totals.cost.bytes_read == exported.totals.cost.bytes_read);
      CHECK(asked.totals.cost.bytes_written == exported.totals.cost.bytes_written);
      CHECK(asked.totals.activation_peak_bytes == exported.totals.activation_peak_bytes);
      CHECK(written(asked) == written(exported));
    }
}

// Binding the symbols to the file's sizes gives the analysis of the unchanged file.
TEST_CASE("a fixed size that is left symbolic and then bound to itself changes nothing") {
  for (const char* file : {"resnet50", "vgg16", "densenet121", "yolov8n", "yolov8n_dynamo", "convnext_tiny", "vit_b_16",
                           "vit_b_16_dynamo", "efficientnet_b0", "mobilenet_v3_large_dynamo"}) {
    CAPTURE(std::string(file));
    const Model model = load_model(source_path("models/skeletons/" + std::string(file) + ".onnx"));
    const Analysis as_exported = analyze(model, {.batch = 1});
    const std::string input = as_exported.inputs.at(0).name;
    Analysis open;
    try {
      open = analyze(model, {.batch = 1, .symbolic_sizes = {input + ".2", input + ".3"}});
    } catch (const Error& error) {
      CHECK_MESSAGE(std::string(error.what()).find("fixes the size") != std::string::npos, error.what());
      CHECK(std::string(file) == "vgg16");  // its classifier accepts only one size
      continue;
    }
    const Shape& shape = *as_exported.inputs.at(0).type.shape;
    Bindings sizes;
    for (const int axis : {2, 3})
      sizes.emplace(Dim::identifier(input + "." + std::to_string(axis)),
                    *shape[static_cast<std::size_t>(axis)].value64());
    const Analysis bound = bind_dims(open, sizes);
    CHECK(flops(bound.totals.cost) == flops(as_exported.totals.cost));
    CHECK(bound.totals.cost.bytes() == as_exported.totals.cost.bytes());
    CHECK(bound.totals.params == as_exported.totals.params);
    CHECK(bound.totals.activation_peak_bytes == as_exported.totals.activation_peak_bytes);
    CHECK(bound.types == as_exported.types);
  }
}

}  // namespace
}  // namespace pagoda::test
