// The model set: every skeleton of models/ against the expectations in manifest.json, which come from other tools
// (PyTorch's FlopCounterMode, torchvision's tables, ONNX Runtime runs). See models/README.md.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "pagoda/core/analyze.h"
#include "pagoda/core/conventions.h"
#include "pagoda/core/model.h"
#include "pagoda/core/sweep.h"
#include "support/files.h"
#include "support/json_schema.h"
#include "support/sometimes.h"

using namespace pagoda;
using nlohmann::json;

namespace {

const std::string kModels = test::source_path("models/");

const json& manifest() {
  static const json loaded = test::read_json("models/manifest.json");
  return loaded;
}

// Every number of an analysis that a report shows, as text.
std::vector<std::string> numbers(const Analysis& analysis) {
  std::vector<std::string> result;
  for (const NodeReport& row : analysis.nodes) {
    std::string line(to_string(row.cost.mark));
    for (const Dim* count : {&row.cost.macs, &row.cost.arith, &row.cost.special, &row.cost.comparisons,
                             &row.cost.bytes_read, &row.cost.bytes_written, &row.params, &row.param_bytes})
      line += " " + count->to_string();
    for (const OutputInfo& output : row.outputs) line += " " + to_string(output.type);
    result.push_back(std::move(line));
  }
  return result;
}

}  // namespace

TEST_CASE("contraction MACs of every model equal the reference to the integer, at every point") {
  for (const json& model : manifest()["models"]) {
    const std::string name = model["name"];
    const Model loaded = load_model(kModels + model["file"].get<std::string>());
    for (const json& point : model["expected"]) {
      CAPTURE(name);
      CAPTURE(point["bindings"].dump());
      AnalyzeOptions options;
      options.dims = point["bindings"].get<Bindings>();
      const Analysis analysis = analyze(loaded, options);
      CHECK(analysis.totals.unmodelled_nodes == 0);
      const Dim base = point["contraction_macs"].get<std::int64_t>();
      if (!point.contains("per_box_macs")) {
        CHECK(analysis.totals.cost.macs == base);
        continue;
      }
      // A detector: the data decide the number of boxes; each box costs the same work.
      Bindings none, all;
      for (const Symbol& symbol : analysis.symbols) {
        none[symbol.name] = 0;
        all[symbol.name] = 1'000'000;
      }
      const Dim most = base + Dim(point["per_box_macs"].get<std::int64_t>()) * point["max_boxes"].get<std::int64_t>();
      CHECK(analysis.totals.cost.macs.bind(none) == base);
      CHECK(analysis.totals.cost.macs.bind(all) == most);
    }
  }
}

TEST_CASE("parameters of every model equal what its file holds") {
  // The manifest counts initializers; these two exports also have 32 rotary frequencies in a Constant node.
  const std::map<std::string, std::int64_t> in_constants = {{"llama", 32}, {"llama_past", 32}};
  for (const json& model : manifest()["models"]) {
    const std::string name = model["name"];
    CAPTURE(name);
    const Analysis analysis = analyze(load_model(kModels + model["file"].get<std::string>()));
    const std::int64_t extra = in_constants.contains(name) ? in_constants.at(name) : 0;
    CHECK(analysis.totals.params == Dim(model["parameters_in_file"].get<std::int64_t>() + extra));
  }
}

TEST_CASE("binding the formulas equals counting with the sizes bound first, node by node") {
  for (const json& model : manifest()["models"]) {
    const Model loaded = load_model(kModels + model["file"].get<std::string>());
    const Analysis formulas = analyze(loaded);
    for (const json& point : model["expected"]) {
      CAPTURE(model["name"].get<std::string>());
      CAPTURE(point["bindings"].dump());
      AnalyzeOptions options;
      options.dims = point["bindings"].get<Bindings>();
      if (options.dims.empty()) continue;
      const Analysis first = analyze(loaded, options);
      const Analysis after = bind_dims(formulas, options.dims);
      CHECK(first.totals.cost.bytes() == after.totals.cost.bytes());
      CHECK(flops(first.totals.cost) == flops(after.totals.cost));
      const auto a = numbers(first);
      const auto b = numbers(after);
      REQUIRE(a.size() == b.size());
      const auto differs = std::mismatch(a.begin(), a.end(), b.begin());
      if (differs.first != a.end())
        FAIL_CHECK("bound first: " << *differs.first << "\nbound after: " << *differs.second);
    }
  }
}

TEST_CASE("every model can be re-batched: fixed batches give the same formula as dynamic ones") {
  // The graphs of these detectors are made for one image: the part after the heads does not extend to more.
  const std::set<std::string> one_image = {"fasterrcnn_resnet50_fpn", "ssd300_vgg16"};
  for (const json& model : manifest()["models"]) {
    CAPTURE(model["name"].get<std::string>());
    if (one_image.contains(model["name"])) continue;
    const Model loaded = load_model(kModels + model["file"].get<std::string>());
    const Analysis symbolic = analyze(loaded, {.batch = 0, .symbolic_batch = true});
    CHECK(symbolic.totals.unmodelled_nodes == 0);
    const Analysis one = analyze(loaded, {.batch = 1});
    const Analysis three = analyze(loaded, {.batch = 3});
    // Contractions of these models are linear in the batch.
    CHECK(three.totals.cost.macs == 3 * one.totals.cost.macs);
  }
}

TEST_CASE("--count pagoda reproduces the published constants bit for bit, at every tabulated batch") {
  std::size_t models = 0;
  test::Sometimes has_parameters("published parameters");
  for (const json& model : manifest()["models"]) {
    if (!model.contains("pagoda")) continue;
    CAPTURE(model["name"].get<std::string>());
    const Model loaded = load_model(kModels + model["file"].get<std::string>());
    const Analysis analysis = analyze(loaded);
    const json& published = model["pagoda"];
    for (const json& row : published["batch"]) {
      const PagodaCounts counts = pagoda_counts(loaded, analysis, row["batch"].get<std::int64_t>());
      CHECK(counts.failure.empty());
      CHECK(to_string(counts.total.flops) == row["flops"].dump());
      CHECK(to_string(counts.total.memory_bytes) == row["bytes"].dump());
      if (has_parameters(published.contains("param_bytes")))
        CHECK(to_string(counts.total.param_bytes) == published["param_bytes"].dump());
    }
    ++models;
    if (published["batch"].size() < 2) continue;
    // The notebook's other rows, 2 … 1024, lie on the line through its rows for 1 and 32.
    const auto at = [&](std::size_t row, const char* key) { return published["batch"][row][key].get<std::int64_t>(); };
    for (std::int64_t batch = 1; batch <= 1024; batch *= 2) {
      const PagodaCount total = pagoda_counts(loaded, analysis, batch).total;
      CHECK(total.flops == at(0, "flops") + (batch - 1) * ((at(1, "flops") - at(0, "flops")) / 31));
      CHECK(total.memory_bytes == at(0, "bytes") + (batch - 1) * ((at(1, "bytes") - at(0, "bytes")) / 31));
    }
  }
  CHECK(models == 9);
}

TEST_CASE("one sweep gives the published batch tables: FLOPs, bytes and intensity at all eleven batches") {
  for (const json& entry : manifest()["models"]) {
    if (!entry.contains("pagoda")) continue;
    CAPTURE(entry["name"].get<std::string>());
    const Model model = load_model(kModels + entry["file"].get<std::string>());
    const std::vector<SweepAxis> axes = {parse_axis("batch=1,2,4..1024")};
    const Sweep result = sweep(model, analyze(model, sweep_options({}, axes)), axes, {.count = Convention::Pagoda});
    REQUIRE(result.points.size() == 11);
    for (const SweepPoint& point : result.points) {
      const PagodaCount total = pagoda_counts(model, analyze(model), point.sizes[0]).total;
      CHECK(point.flops == total.flops);
      CHECK(point.bytes == total.memory_bytes);
      CHECK(*point.intensity == static_cast<double>(total.flops) / static_cast<double>(total.memory_bytes));
    }
    for (const json& row : entry["pagoda"]["batch"]) {
      const auto at = std::find_if(result.points.begin(), result.points.end(), [&](const SweepPoint& point) {
        return point.sizes[0] == row["batch"].get<std::int64_t>();
      });
      REQUIRE(at != result.points.end());
      CHECK(at->flops == Int{row["flops"].get<std::int64_t>()});
      CHECK(at->bytes == Int{row["bytes"].get<std::int64_t>()});
    }
  }
}
