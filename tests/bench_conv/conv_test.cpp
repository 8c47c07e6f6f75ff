// Convolution layers of models, algorithms checked against the definition, and the worker's protocol.
#include <doctest/doctest.h>

#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "conv_command.h"
#include "conv_study.h"
#include "pagoda/core/model.h"
#include "support/files.h"
#include "support/text_graph.h"

namespace pagoda::tools::conv {
namespace {

using Json = nlohmann::json;

std::string skeleton(const std::string& name) { return test::source_path("models/skeletons/" + name + ".onnx"); }

LayerList layers_of(const std::string& text, const LayerOptions& options = {}) {
  return conv_layers(test::graph(text), options);
}

ConvLayer only(const std::string& text) { return layers_of(text).layers.at(0); }

// One-dimensional, by hand: x = 1, 2, 3, 4; w = 1, 10; b = 0.5.
TEST_CASE("the reference is the definition") {
  ConvLayer layer = only("x:f32[1,1,4], w:f32[1,1,2]=const, b:f32[1]=const -> y = Conv(x, w, b) {pads=[1,0]}");
  const Operands operands{.input = {1, 2, 3, 4}, .weights = {1, 10}, .bias = {0.5F}};
  const double expected[] = {10.5, 21.5, 32.5, 43.5};
  REQUIRE(layer.out_elements() == 4);
  for (std::int64_t i = 0; i < 4; ++i) CHECK(convolve_at(layer, operands, i) == expected[i]);
  layer.strides = {2};
  layer.out = {2};
  CHECK(convolve_at(layer, operands, 1) == 32.5);
  layer.strides = {1};
  layer.dilations = {3};
  layer.pads_begin = {0};
  layer.out = {1};
  CHECK(convolve_at(layer, operands, 0) == 41.5);  // 1·1 + 4·10
}

TEST_CASE("groups read their own channels") {
  const ConvLayer layer = only("x:f32[1,4,1,1], w:f32[2,2,1,1]=const -> y = Conv(x, w) {group=2}");
  const Operands operands{.input = {1, 2, 3, 4}, .weights = {1, 10, 1, 10}, .bias = {}};
  CHECK(convolve_at(layer, operands, 0) == 21);
  CHECK(convolve_at(layer, operands, 1) == 43);
}

TEST_CASE("an error is seen for what it is") {
  const ConvLayer layer = only("x:f32[1,8,9,9], w:f32[8,8,3,3]=const -> y = Conv(x, w) {pads=[1,1,1,1]}");
  const Operands operands = random_operands(layer, 3);
  std::vector<float> got(static_cast<std::size_t>(layer.out_elements()));
  for (std::size_t i = 0; i < got.size(); ++i)
    got[i] = static_cast<float>(convolve_at(layer, operands, static_cast<std::int64_t>(i)));
  CHECK(*compare(layer, operands, got, 0).mean < 1e-7);
  CHECK(compare(layer, operands, got, 0).points == 648);
  for (float& value : got) value *= 1.01F;
  CHECK(*compare(layer, operands, got, 0).mean == doctest::Approx(0.01).epsilon(1e-3));
  CHECK(*compare(layer, operands, got, 100).mean == doctest::Approx(0.01).epsilon(1e-3));
  CHECK(compare(layer, operands, got, 100).points == 100);
  // The corners are always among the sampled points.
  got.back() += 100;
  CHECK(*compare(layer, operands, got, 40).worst > 1);
  got.front() = std::nanf("");
  CHECK_FALSE(compare(layer, operands, got, 40).finite);
  CHECK_FALSE(compare(layer, operands, got, 40).mean.has_value());
}

TEST_CASE("the classics have their convolutions, at the file's size and at others") {
  struct Row {
    const char* model;
    std::size_t convolutions;
    std::int64_t
        macs;  // at 224; torch's FlopCounterMode (models/manifest.json) less contractions outside of convolutions
  };
  const Row rows[] = {{"vgg16", 13, 0},     {"densenet121", 120, 0}, {"resnet152", 155, 0},
                      {"googlenet", 57, 0}, {"alexnet", 5, 0},       {"resnet50", 53, 4087136256}};
  for (const Row& row : rows) {
    CAPTURE(row.model);
    const LayerList list = conv_layers(skeleton(row.model), {});
    CHECK(list.layers.size() == row.convolutions);
    CHECK(list.left_out.empty());
    std::int64_t macs = 0;
    for (const ConvLayer& layer : list.layers) macs += layer.macs();
    CHECK((row.macs == 0 || macs == row.macs));
    for (const std::int64_t size : {32, 64, 512, 1024}) {
      const LayerList other = conv_layers(skeleton(row.model), {.batch = 2, .input_size = {size}});
      CHECK(other.layers.size() + other.left_out.size() == row.convolutions);
      CHECK(other.layers.front().in == Sizes{size, size});
      CHECK(other.layers.front().batch == 2);
    }
  }
}

TEST_CASE("what cannot be run alone is named with its reason") {
  const LayerList list = layers_of(
      "x:f32[1,3,4,4], n:f32[1,3,N,4], w:f32[2,3,3,3]=const, q:u8[1,3,4,4], p:u8[2,3,3,3]=const -> a = Conv(x, w); "
      "b = Conv(n, w); c = ConvInteger(q, p)");
  CHECK(list.layers.size() + list.left_out.size() == 3);
  REQUIRE(list.left_out.size() >= 1);
  CHECK(list.left_out.back().reason == "of type ConvInteger, not float32");
}

TEST_CASE("automatic padding puts the odd one at the end, or at the beginning") {
  ConvLayer upper =
      only("x:f32[1,1,6,6], w:f32[1,1,3,3]=const -> y = Conv(x, w) {auto_pad='SAME_UPPER', strides=[2,2]}");
  CHECK(upper.out == Sizes{3, 3});
  CHECK(upper.pads_begin == Sizes{0, 0});
  CHECK(upper.pads_end == Sizes{1, 1});
  ConvLayer lower =
      only("x:f32[1,1,6,6], w:f32[1,1,3,3]=const -> y = Conv(x, w) {auto_pad='SAME_LOWER', strides=[2,2]}");
  CHECK(lower.pads_begin == Sizes{1, 1});
}

// Shapes that differ in every property that libraries look at.
const char* kShapes[] = {
    "x:f32[1,3,32,32], w:f32[16,3,7,7]=const -> y = Conv(x, w) {strides=[2,2], pads=[3,3,3,3]}",
    "x:f32[2,16,14,14], w:f32[32,16,3,3]=const, b:f32[32]=const -> y = Conv(x, w, b) {pads=[1,1,1,1]}",
    "x:f32[1,64,7,7], w:f32[32,64,1,1]=const -> y = Conv(x, w)",
    "x:f32[1,16,9,9], w:f32[16,1,3,3]=const -> y = Conv(x, w) {group=16, pads=[1,1,1,1]}",
    "x:f32[1,8,12,12], w:f32[8,4,3,3]=const -> y = Conv(x, w) {group=2, dilations=[2,2], pads=[2,2,2,2]}",
    "x:f32[1,8,9,7], w:f32[8,8,3,3]=const -> y = Conv(x, w) {pads=[0,1,2,0]}",
    "x:f32[1,4,33], w:f32[8,4,5]=const -> y = Conv(x, w) {strides=[2]}",
    "x:f32[1,4,5,6,7], w:f32[8,4,3,3,3]=const -> y = Conv(x, w) {pads=[1,1,1,1,1,1]}",
};

TEST_CASE("every algorithm of oneDNN gives the definition's result, or says why it refuses") {
  const ConvLibrary library = onednn_library(1);
  if (!library.unavailable.empty()) {
    MESSAGE("not run: ", library.unavailable);
    return;
  }
  std::map<std::string, int> ran;
  for (const char* text : kShapes) {
    const ConvLayer layer = only(text);
    const Operands operands = random_operands(layer, 7);
    for (const std::string& algorithm : library.algorithms) {
      CAPTURE(text);
      CAPTURE(algorithm);
      const ConvRun run = library.prepare(layer, operands, algorithm);
      CHECK(library.objection(layer, algorithm).empty() == run.refused.empty());
      if (!run.refused.empty()) {
        CHECK(run.refused.find("oneDNN") == 0);
        CHECK(algorithm != "auto");
        continue;
      }
      CHECK(run.time(2).size() == 2);
      const ConvError error = compare(layer, operands, run.output(), 0);
      CHECK(*error.mean < (algorithm == "winograd" ? 1e-4 : 1e-5));
      const bool is_gemm = run.implementation.find("gemm") != std::string::npos;
      CHECK((is_gemm ? algorithm != "direct" : algorithm != "gemm"));
      CHECK(run.workspace_bytes.has_value());
      ++ran[algorithm];
    }
  }
  CHECK(ran["auto"] == 8);
  CHECK(ran["gemm"] >= 4);
}

TEST_CASE("layers of one shape are measured once, refused ones say why and run as auto in the whole") {
  const ConvLibrary library = onednn_library(1);
  if (!library.unavailable.empty()) return;
  const LayerList list = layers_of(
      "x:f32[1,8,8,8], v:f32[8,8,3,3]=const, w:f32[8,8,3,3]=const, u:f32[4,8,1,1]=const -> a = Conv(x, v) "
      "{pads=[1,1,1,1]} @ first; b = Conv(a, w) {pads=[1,1,1,1]} @ second; c = Conv(b, u) @ third");
  const PreparedModel model = prepare_model(list, library, {.algorithm = "winograd"});
  CHECK(model.layers[0].work == model.layers[1].work);
  CHECK_FALSE(model.layers[2].work->refused.empty());
  CHECK(model.layers[2].work->ran_as == "auto");
  CHECK(model.is_whole);
  CHECK(run_model(model, 3).size() == 3);
  const auto rows = time_layers(model, {.budget_seconds = 0.01, .warmup_seconds = 0.01});
  CHECK(rows[0].seconds == rows[1].seconds);
  CHECK_FALSE(rows[2].seconds.has_value());
  CHECK(rows[2].note == "oneDNN has no Winograd implementation for the layer");
  CHECK_FALSE(prepare_model(list, library, {.algorithm = "winograd", .fall_back = false}).is_whole);
  CHECK_THROWS_WITH_AS(prepare_model(list, library, {.algorithm = "fft"}), doctest::Contains("has no algorithm"),
                       Error);
}

TEST_CASE("a wrong result fails") {
  ConvLibrary liar = reference_library();
  const auto honest = liar.prepare;
  liar.prepare = [honest](const ConvLayer& layer, const Operands& operands, const std::string& algorithm) {
    ConvRun run = honest(layer, operands, algorithm);
    run.output = [output = run.output] {
      std::vector<float> values = output();
      for (float& value : values) value += 0.5F;
      return values;
    };
    return run;
  };
  const LayerList list = layers_of("x:f32[1,4,8,8], w:f32[4,4,3,3]=const -> y = Conv(x, w)");
  CHECK(prepare_model(list, liar, {.algorithm = "reference"}).verification.code == documents::VerificationCode::Fail);
  CHECK(prepare_model(list, reference_library(), {.algorithm = "reference"}).verification.code ==
        documents::VerificationCode::Pass);
}

TEST_CASE("cuDNN says without a device what shapes rule out, and that there is none") {
  const ConvLibrary library = cudnn_library(0, false);
  if (!library.objection) {
    CHECK(library.unavailable.find("install") != std::string::npos);
    return;
  }
  struct Row {
    const char* graph;
    const char* algorithm;
    std::string objection;  // how it begins; empty: no objection
  };
  const Row rows[] = {
      {"x:f32[1,8,14,14], w:f32[8,8,3,3]=const -> y = Conv(x, w) {pads=[1,1,1,1]}", "winograd", ""},
      {"x:f32[1,8,14,14], w:f32[8,8,3,3]=const -> y = Conv(x, w) {pads=[1,1,1,1]}", "implicit_gemm", ""},
      {"x:f32[1,8,14,14], w:f32[8,8,1,1]=const -> y = Conv(x, w)", "winograd", "winograd needs a 3x3 filter"},
      {"x:f32[1,8,14,14], w:f32[8,8,5,5]=const -> y = Conv(x, w)", "winograd_nonfused", ""},
      {"x:f32[1,8,14,14], w:f32[8,8,3,3]=const -> y = Conv(x, w) {strides=[2,2]}", "fft", "fft needs stride 1"},
      {"x:f32[1,8,300,300], w:f32[8,8,3,3]=const -> y = Conv(x, w)", "fft", "fft needs at most 256"},
      {"x:f32[1,8,14,14], w:f32[8,8,3,3]=const -> y = Conv(x, w) {pads=[0,1,1,1]}", "gemm", "padding differs"},
      {"x:f32[1,8,14,14], w:f32[8,8,3,3]=const -> y = Conv(x, w)", "direct", "cuDNN has no direct"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.graph);
    CAPTURE(row.algorithm);
    const std::string objection = library.objection(only(row.graph), row.algorithm);
    CHECK(objection.empty() == row.objection.empty());
    CHECK(objection.starts_with(row.objection));
  }
  CHECK(library.algorithms.size() == 9);
}

TEST_CASE("--list-algorithms names what the libraries take, each with its meaning") {
  for (const bool is_cuda : {false, true}) {
    CAPTURE(is_cuda);
    std::vector<std::string> words = {"conv", "--list-algorithms", "--device", is_cuda ? "cuda" : "cpu"};
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    std::ostringstream text;
    std::streambuf* const before = std::cout.rdbuf(text.rdbuf());
    const int code = conv_command(static_cast<int>(arguments.size()), arguments.data());
    std::cout.rdbuf(before);
    CHECK(code == 0);
    for (const std::string& name : (is_cuda ? cudnn_library(0, false) : onednn_library(1)).algorithms) {
      CAPTURE(name);
      CHECK(text.str().find("\n" + name + " ") != std::string::npos);
    }
  }
}

TEST_CASE("the worker answers what the protocol asks") {
  if (!onednn_library(1).unavailable.empty()) return;
  std::istringstream requests(
      Json({{"op", "prepare"},
            {"config",
             {{"model_file", skeleton("alexnet")}, {"input_size", 64}, {"algorithm", "gemm"}, {"threads", 1}}}})
          .dump() +
      "\n{\"op\":\"run\",\"iterations\":2}\n{\"op\":\"layers\"}\n{\"op\":\"memory\"}\n{\"op\":\"quit\"}\n");
  std::ostringstream answers;
  CHECK(conv_worker(requests, answers) == 0);
  std::istringstream lines(answers.str());
  std::vector<Json> events;
  for (std::string line; std::getline(lines, line);) events.push_back(Json::parse(line));
  REQUIRE(events.size() == 4);
  CHECK(events[0]["event"] == "ready");
  CHECK(events[0]["metadata"]["convolutions"] == 5);
  CHECK(events[1]["seconds"].size() == 2);
  CHECK(events[1]["clock"] == "steady");
  CHECK(events[2]["layers"].size() == 5);
  CHECK(events[2]["layers"][0]["facts"]["kernel"] == "11x11");
  CHECK(events[3]["event"] == "unsupported");
  std::istringstream bad("{\"op\":\"prepare\",\"config\":{\"model_file\":\"nowhere.onnx\"}}\n");
  std::ostringstream said;
  CHECK(conv_worker(bad, said) == 1);
  CHECK(Json::parse(said.str())["event"] == "error");
}

}  // namespace
}  // namespace pagoda::tools::conv
