// Files of custom operators: what is read, what is refused, and the template to fill in.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "pagoda/core/analyze.h"
#include "pagoda/documents/custom_operators.h"
#include "pagoda/estimate/make_estimate.h"
#include "support/files.h"
#include "support/json_schema.h"
#include "support/text_graph.h"

namespace pagoda {
namespace {

using nlohmann::json;

const char* const kFile = R"({
  "schema": "pagoda.custom-operators/1",
  "comment": "two operators",
  "operators": [
    {"domain": "my", "op_type": "Linear",
     "inputs": [{"name": "x", "shape": ["*rows", "k"]}, {"name": "w", "shape": ["k", "n"]},
                {"name": "bias", "shape": ["n"], "optional": true}],
     "outputs": [{"type": "x", "shape": ["*rows", "n"]}],
     "work": {"macs": "rows*k*n", "arith": "rows*n"}},
    {"domain": "my", "op_type": "Pad", "kind": "layout", "precision": "float16",
     "inputs": [{"name": "x", "shape": ["h", 4], "elements_read": "h"}, {"name": "size", "values": ["to"]}],
     "attributes": {"left": 2, "right": null, "box": ["top", "bottom"]},
     "data_sizes": {"kept": "h", "more": null},
     "outputs": [{"type": "x", "shape": ["to + left + right", 4], "elements_written": 12},
                 {"type": "int64", "shape": ["kept", "more"]}],
     "work": {}}
  ]
})";

TEST_CASE("a file states inputs, attributes, sizes, outputs and work") {
  CHECK(test::violations(json::parse(kFile), test::schema("custom-operators")).empty());
  const std::vector<CustomOperator> operators = documents::parse_custom_operators(kFile, "ops.json");
  REQUIRE(operators.size() == 2);
  const CustomOperator& linear = operators[0];
  CHECK(linear.inputs[2].is_optional);
  CHECK(linear.work->macs == "rows*k*n");
  CHECK(linear.kind == OpKind::Other);
  const CustomOperator& pad = operators[1];
  CHECK(pad.kind == OpKind::Layout);
  CHECK(pad.precision == "float16");
  CHECK(pad.inputs[0].shape.value()[1] == "4");
  CHECK(pad.inputs[0].elements_read == "h");
  CHECK(pad.inputs[1].values == std::vector<std::string>{"to"});
  REQUIRE(pad.attributes.size() == 3);  // by name: box, left, right
  CHECK(pad.attributes[0].members == std::vector<std::string>{"top", "bottom"});
  CHECK(pad.attributes[1].otherwise == 2);
  CHECK_FALSE(pad.attributes[2].otherwise.has_value());
  CHECK(pad.data_sizes[0].upper == "h");
  CHECK(pad.data_sizes[1].upper.empty());
  CHECK(pad.outputs[0].elements_written == "12");
  CHECK(pad.work.has_value());
}

TEST_CASE("what a file cannot mean is an error that names the place") {
  const auto error = [](const std::string& from, const std::string& to) {
    std::string text = kFile;
    const std::size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    text.replace(at, from.size(), to);
    try {
      (void)documents::parse_custom_operators(text, "ops.json");
    } catch (const Error& problem) {
      return std::string(problem.what());
    }
    return std::string("no error");
  };
  const std::pair<std::string, std::string> changes[] = {
      {error("custom-operators/1", "device/1"),
       "ops.json: is a device (pagoda.device/1); `device` reads it; expected pagoda.custom-operators/1"},
      {error("\"rows*k*n\"", "\"rows*kk*n\""),
       "ops.json.operators[0].work.macs: 'kk' is not known; its names are: k, n, rows"},
      {error("\"rows*k*n\"", "null"),
       "ops.json.operators[0].work.macs: expected a formula, such as \"n*k\", or an integer, found null"},
      {error("[\"*rows\", \"n\"]", "null"),
       "ops.json.operators[0].outputs[0].shape: expected a list with a formula for each axis, such as [\"n\", "
       "\"2*k\"], "
       "found null"},
      {error("\"layout\"", "\"slow\""),
       "ops.json.operators[1].kind: expected other, pointwise, layout or view, found \"slow\""},
      {error("\"left\": 2", "\"left\": 2.5"),
       "ops.json.operators[1].attributes.left: expected its value where a node leaves it out, null where none does, or "
       "a name for each of its members, found 2.5"},
      {error("\"Pad\"", "\"Linear\""), "ops.json.operators[1]: Linear is stated twice; keep one"},
      {error("\"kind\"", "\"colour\""), "ops.json.operators[1]: \"colour\" is not known here; known: domain, op_type"},
      {error("\"elements_read\"", "\"element_read\""),
       "ops.json.operators[1].inputs[0]: \"element_read\" is not known here; did you mean \"elements_read\"?"},
  };
  for (const auto& change : changes) CHECK_MESSAGE(change.first.find(change.second) != std::string::npos, change.first);
}

TEST_CASE("several mistakes in a file are told at once") {
  const char* const kMistaken = R"({"schema": "pagoda.custom-operators/1", "operators": [
    {"op_type": "A", "kinds": "view", "outputs": [{"type": 5, "shape": ["n"]}]}, {"op_type": "B"}]})";
  CHECK_THROWS_WITH_AS((void)documents::parse_custom_operators(kMistaken, "ops.json"),
                       "ops.json: 3 mistakes:\n"
                       "  ops.json.operators[0]: \"kinds\" is not known here; did you mean \"kind\"?\n"
                       "  ops.json.operators[0].outputs[0].type: expected a string, found 5\n"
                       "  ops.json.operators[1]: \"outputs\" is missing",
                       Error);
}

TEST_CASE("the file to fill in states each operator without a rule once, and is refused until it is filled") {
  const Model model = test::graph(
      "x:f32[N,64], w:f32[64,10] -> a = my.Linear(x, w); b = my.Linear(a, w); c, d = other.Split(b); y = Relu(x)");
  const std::string file = documents::custom_operator_template(model, analyze(model));
  const json content = json::parse(file);
  REQUIRE(content["operators"].size() == 2);
  CHECK(content["operators"][0]["op_type"] == "Linear");
  CHECK(content["operators"][0]["comment"] == "2 nodes");
  CHECK(content["operators"][0]["inputs"][1]["shape"] == json({"in1_0", "in1_1"}));
  CHECK(content["operators"][0]["inputs"][0]["comment"] == "x: float32[N,64]");
  CHECK(content["operators"][1]["outputs"].size() == 2);
  CHECK_THROWS_WITH_AS((void)documents::parse_custom_operators(file, "new.json"),
                       doctest::Contains("new.json.operators[0].outputs[0]"), Error);
  std::string filled = file;
  const auto fill = [&](const std::string& from, const std::string& to) {
    for (std::size_t at = filled.find(from); at != std::string::npos; at = filled.find(from, at + to.size()))
      filled.replace(at, from.size(), to);
  };
  fill("\"type\": null", "\"type\": \"in0\"");
  fill("\"shape\": null", "\"shape\": [2]");
  fill(": null", ": 1");
  CHECK(documents::parse_custom_operators(filled, "new.json").size() == 2);
  CHECK(test::violations(json::parse(filled), test::schema("custom-operators")).empty());
  const Model known = test::graph("x:f32[N,64] -> y = Relu(x)");
  CHECK_THROWS_WITH_AS((void)documents::custom_operator_template(known, analyze(known)),
                       doctest::Contains("every operator of the model has a rule"), Error);
}

TEST_CASE("a statement that no node follows is named") {
  const Model model = test::graph("x:f32[N,64] -> y = Relu(x)");
  estimate::EstimateRequest request;
  request.custom_operators = documents::parse_custom_operators(kFile, "ops.json");
  const documents::EstimateDocument estimate = estimate::make_estimate(model, request);
  REQUIRE(estimate.diagnostics.size() == 2);
  CHECK(estimate.diagnostics[1].message == "custom operator my.Linear is defined but not used by the model");
}

}  // namespace
}  // namespace pagoda
