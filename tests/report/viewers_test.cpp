// Data for viewers: targets that the viewers find, numbers from the estimate, nothing for unknown values.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "pagoda/core/model.h"
#include "pagoda/documents/device.h"
#include "pagoda/estimate/make_estimate.h"
#include "pagoda/measured/join.h"
#include "pagoda/present/viewers.h"
#include "support/files.h"
#include "support/text_graph.h"

namespace pagoda::test {
namespace {

using documents::EstimateDocument;
using nlohmann::json;
using present::Viewed;

EstimateDocument estimate_of(const Model& model, const estimate::EstimateRequest& request = {}) {
  return estimate::make_estimate(model, request);
}

estimate::EstimateRequest on_h200(TrafficModel traffic = TrafficModel::Unfused) {
  estimate::EstimateRequest request{.traffic = traffic};
  request.device = documents::find_device("h200");
  return request;
}

// The values of one target, by name.
std::map<std::string, std::string> shown(const json& list, const std::string& kind, const std::string& target) {
  std::map<std::string, std::string> values;
  for (const json& entry : list)
    if (entry.at("kind") == kind && entry.at("target") == target) values[entry.at("name")] = entry.at("value");
  return values;
}

const char* const kNet =
    "x:f32[1,3,8,8], w:f32[4,3,3,3]=const -> c = Conv(x, w) {pads=[1,1,1,1]} @ conv; a = Relu(c); "
    "b = Relu(a) @ twice; d = Neg(b) @ twice; y = Sigmoid(d) @ 'last\\nline'";

TEST_CASE("netron gets a node's numbers by its name, or by its output where it has none of its own") {
  const EstimateDocument estimate = estimate_of(graph(kNet), on_h200());
  const json document = json::parse(present::netron_attachment({estimate}));
  CHECK(document.at("signature") == "netron:attachment");
  const json& metrics = document.at("metrics");
  auto conv = shown(metrics, "node", "conv");
  CHECK(conv["MACs"] == "6.91 k");  // 1·4·8·8·3·3·3
  CHECK(conv["Parameters"] == "108");
  CHECK(conv["Parameter bytes"] == "432 B");
  CHECK(conv.count("Time at least") == 1);
  CHECK(conv.count("Time predicted") == 0);  // not requested
  CHECK(shown(document.at("metadata"), "node", "conv")["pagoda.bound"] != "");
  CHECK(shown(metrics, "value", "a")["FLOPs"] == "256");
  CHECK(shown(metrics, "node", "twice").empty());
  CHECK(shown(metrics, "value", "b")["FLOPs"] == "256");
  CHECK(shown(metrics, "value", "d")["FLOPs"] == "256");
  CHECK(shown(metrics, "node", "last")["Special functions"] == "256");  // its first line is comparisons
  CHECK(shown(metrics, "model", "")["Parameters"] == "108");
  // A single metric.
  const json flops = json::parse(present::netron_attachment({estimate}, present::metric("flops")));
  CHECK(shown(flops.at("metrics"), "node", "conv").size() == 1);
  CHECK(shown(flops.at("metrics"), "node", "conv").count("FLOPs") == 1);
}

TEST_CASE("what is not known is left out and said") {
  const EstimateDocument estimate =
      estimate_of(graph("x:f32[4,8] -> h = Relu(x) @ known; y = my.domain.Secret(h) @ mystery"), on_h200());
  const json document = json::parse(present::netron_attachment({estimate}));
  for (const char* unknown : {"FLOPs", "MACs", "Bytes", "Time at least"})
    CHECK(shown(document.at("metrics"), "node", "mystery").count(unknown) == 0);
  CHECK(shown(document.at("metadata"), "node", "mystery").count("pagoda.problem") == 1);
  CHECK(shown(document.at("metadata"), "model", "").count("pagoda.partial") == 1);
  const json data = json::parse(present::model_explorer_data({estimate}, *present::metric("flops")));
  CHECK(data.begin()->at("results") == json::parse(R"({"known": {"value": 32}})"));
}

TEST_CASE("model-explorer gets one metric under the graph's name, of nodes with a name of their own") {
  Model model = graph(kNet);
  model.graph_name = "net";
  const EstimateDocument estimate = estimate_of(model);
  const json data = json::parse(present::model_explorer_data({estimate}, *present::metric("macs")));
  REQUIRE(data.size() == 1);
  const json& net = data.at("net");
  CHECK(net.at("name") == "macs");
  CHECK(net.at("results").at("conv").at("value") == 6912);
  CHECK(net.at("results").contains("last\nline"));
  CHECK(net.at("results").size() == 2);
  CHECK(net.at("gradient").size() == 2);
  model.graph_name.clear();
  CHECK(json::parse(present::model_explorer_data({estimate_of(model)}, *present::metric("macs"))).contains("<main>"));
}

TEST_CASE("a name in a body does not hide the node of the main graph") {
  const EstimateDocument estimate = estimate_of(
      graph("x:f32[8], c:bool[]=true -> h = Neg(x) @ same; y = If(c) {then_branch=( -> a = Exp(h) @ same; t = Exp(a) @ "
            "inner), else_branch=( -> e = Abs(h))}"));
  const json data = json::parse(present::model_explorer_data({estimate}, *present::metric("special")));
  const json& results = data.begin()->at("results");
  CHECK(results.at("same").at("value") == 0);
  CHECK(results.at("inner").at("value") == 8);
}

TEST_CASE("a metric that no node has is refused with the remedy") {
  const EstimateDocument plain = estimate_of(graph(kNet));
  CHECK(present::metric("secnods") == nullptr);
  CHECK(contains(present::refusal(*present::metric("seconds"), {plain}), "needs `device`"));
  CHECK(contains(present::refusal(*present::metric("predicted_seconds"), {plain}), "needs `predict`"));
  CHECK(contains(present::refusal(*present::metric("measured_seconds"), {plain}), "needs `measured`"));
  CHECK(present::refusal(*present::metric("bytes"), {plain}).empty());
  CHECK(present::refusal(*present::metric("seconds"), {estimate_of(graph(kNet), on_h200())}).empty());
}

std::map<std::string, std::string> notes_of(const Annotations& notes, std::int32_t node) {
  const Annotations::Entries& entries = notes.nodes.at({0, node});
  return {entries.begin(), entries.end()};
}

TEST_CASE("notes hold exact numbers, the fused kernel and what was measured") {
  const Model model = graph(kNet);
  const estimate::EstimateRequest request = on_h200(TrafficModel::Fused);
  const EstimateDocument estimate = estimate_of(model, request);
  const Analysis analysis = estimate::analysis_of(model, request);
  documents::Measured run;
  run.kernels.resize(2);
  run.kernels[0].name = "conv";
  run.kernels[0].seconds = 3e-6;
  run.kernels[1].name = "both";
  run.kernels[1].nodes = {"a", "last\nline"};
  run.kernels[1].seconds = 5e-6;
  measured::join(run, estimate);
  const Annotations notes = present::annotations({estimate, &run}, analysis);
  auto conv = notes_of(notes, 0), relu = notes_of(notes, 1), last = notes_of(notes, 4);
  CHECK(conv["pagoda.macs"] == "6912");
  CHECK(conv["pagoda.flops"] == "13824");
  CHECK(std::stod(conv["pagoda.seconds"]) == estimate.roofline->rows.at(0).seconds);
  CHECK(conv["pagoda.measured_seconds"] == "3e-06");
  CHECK(conv["pagoda.kernel"] == relu["pagoda.kernel"]);
  CHECK(contains(conv["pagoda.kernel_nodes"], "conv; a"));
  CHECK(std::stod(conv["pagoda.kernel_seconds"]) == estimate.roofline->groups.at(0).seconds);
  CHECK(last.count("pagoda.measured_seconds") == 0);
  CHECK(last["pagoda.measured_together_seconds"] == "5e-06");
  CHECK(contains(last["pagoda.measured_together"], "a"));
  const std::map<std::string, std::string> whole(notes.model.begin(), notes.model.end());
  CHECK(whole.at("pagoda.macs") == "6912");
  CHECK(whole.at("pagoda.traffic") == "fused");
}

TEST_CASE("notes of several rows of one node are their sum") {
  Model model = graph("x:f32[8] -> h = my.F(x) @ one; y = my.F(h) @ two");
  // F(v) = Exp(v)
  Model body = graph("v:f32[8] -> w = Exp(v) @ exp");
  model.graphs.push_back(body.main());
  model.graphs.back().values.front().declared = {};
  model.functions.push_back(
      {.domain = "my", .name = "F", .overload = "", .body = 1, .defaults = {}, .opsets = {{"", 17}}});
  const estimate::EstimateRequest request;
  const EstimateDocument estimate = estimate_of(model, request);
  REQUIRE(estimate.nodes.size() == 2);
  const Annotations notes = present::annotations({estimate}, estimate::analysis_of(model, request));
  REQUIRE(notes.nodes.size() == 1);
  const Annotations::Entries& entries = notes.nodes.at({1, 0});
  const std::map<std::string, std::string> found(entries.begin(), entries.end());
  CHECK(found.at("pagoda.special") == "16");
  CHECK(found.at("pagoda.runs") == "2");
}

}  // namespace
}  // namespace pagoda::test
