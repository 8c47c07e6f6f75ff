// The measured file: it reads back, fits its schema, and keeps unknown distinct from 0.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "pagoda/documents/measured.h"
#include "support/files.h"
#include "support/json_schema.h"

namespace {

using namespace pagoda;

documents::Measured sample() {
  documents::Measured m;
  m.source = "ncu";
  m.tool = "Nsight Compute 2025.3";
  m.device = "NVIDIA H200";
  m.clocks = {{"sm_hz", 1.98e9}, {"locked", false}};
  m.env = {{"driver", "580.65"}, {"mode", std::monostate{}}};
  m.repeats = 3;
  m.warmup = 1;
  m.seconds = 0.5;
  m.spread = documents::Spread{0.4, 0.7, 0.55, 3};
  documents::MeasuredKernel gemm;
  gemm.name = "gemm<\"a\", b>";
  gemm.op_type = "MatMul";
  gemm.node = "/fc/MatMul";
  gemm.nvtx = "forward/fc";
  gemm.provider = "stream 7";
  gemm.detail = "grid (1, 2, 3)";
  gemm.launches = 12;
  gemm.seconds = 0.25;
  gemm.spread = documents::Spread{0.2, 0.3, 0.26, 3};
  gemm.flops = {{"float16.tensor", 137438953472.0}, {"float32", 0.0}, {"float64", std::nullopt}};
  gemm.bytes = {.dram_read = 1.5, .dram_write = 0.0, .dram = 1.5, .l2 = 4096.0, .l1 = std::nullopt, .shared = 512.0};
  gemm.energy_joules = 0.75;
  gemm.joined = documents::Joined{"name", {3, 4}};
  documents::MeasuredKernel plain;
  plain.name = "copy";
  plain.nodes = {"a", "b"};
  m.kernels = {gemm, plain};
  m.runs = {{{{"batch", std::int64_t{4}}}, 0.5, 20.0, 10.0, "an outlier"}};
  m.missing = {{"energy", "not collected"}};
  m.notes = {"one event has no duration"};
  m.join = documents::JoinSummary{"m.onnx", 0.5, 0.25, {7}, {}};
  documents::NodeCounts counts;
  counts.nodes = {3, 4};
  counts.kernels = {0};
  counts.contraction.measured = 137438953472.0;
  counts.contraction.expected = 68719476736.0;
  counts.flags = {documents::CountFlag::Incomplete, documents::CountFlag::ExtraWork};
  m.join->counts = {counts};
  return m;
}

}  // namespace

TEST_CASE("a measurement reads back as written and fits its schema") {
  const std::string text = write_measured(sample());
  const documents::Measured back = documents::parse_measured(text, "sample");
  CHECK(write_measured(back) == text);
  CHECK(back.kernels[0].flops == sample().kernels[0].flops);
  CHECK(back.kernels[0].joined->nodes == std::vector<std::size_t>{3, 4});
  CHECK(back.runs[0].config == sample().runs[0].config);
  CHECK(back.join->share().value() == 0.5);
  REQUIRE(back.join->counts.size() == 1);
  CHECK(back.join->counts[0].contraction_ratio() == 2);
  CHECK(!back.join->counts[0].flops.ratio());
  CHECK(back.join->counts[0].flags == sample().join->counts[0].flags);
  test::check_schema(text, "measured");
}

TEST_CASE("unknown is null and is not 0") {
  const nlohmann::json json = nlohmann::json::parse(write_measured(sample()));
  const nlohmann::json& gemm = json["kernels"][0];
  const nlohmann::json& plain = json["kernels"][1];
  CHECK(gemm["flops"]["float32"] == 0);
  CHECK(gemm["flops"]["float64"].is_null());
  CHECK(gemm["bytes"]["dram_write"] == 0);
  CHECK(gemm["bytes"]["l1"].is_null());
  for (const char* key : {"node", "nvtx", "launches", "seconds", "seconds_spread", "flops", "bytes", "energy_joules"})
    CHECK_MESSAGE(plain.at(key).is_null(), key);
  CHECK(!plain.contains("joined"));
  CHECK(!documents::parse_measured(write_measured(sample()), "s").kernel_seconds());
}

TEST_CASE("whole counts are written as integers") {
  const std::string text = write_measured(sample());
  CHECK(text.find("\"float16.tensor\": 137438953472,") != std::string::npos);
  CHECK(text.find("\"dram_read\": 1.5,") != std::string::npos);
}

TEST_CASE("the schema names the sources that the reader knows") {
  const nlohmann::json known = test::schema("measured")["properties"]["source"]["enum"];
  CHECK(known == nlohmann::json(std::vector<std::string>(std::begin(documents::kMeasuredSources),
                                                         std::end(documents::kMeasuredSources))));
}

TEST_CASE("members that this version does not know are listed once and left out") {
  nlohmann::json json = nlohmann::json::parse(write_measured(sample()));
  json["colour"] = "red";
  for (auto& kernel : json["kernels"]) kernel["colour"] = "red";
  const documents::Measured measured = documents::parse_measured(json.dump(), "m.json");
  CHECK(measured.unknown == std::vector<std::string>{"colour", "kernels.colour"});
  CHECK(write_measured(measured) == write_measured(sample()));
}

TEST_CASE("a damaged measurement is an error that names the place") {
  struct Row {
    const char* edit;  // JSON pointer
    nlohmann::json value;
    const char* says;
  };
  const Row rows[] = {
      {"/schema", "pagoda.estimate/1", "expected a file of schema pagoda.measured/1"},
      {"/source", "perf", "m.json.source: is \"perf\""},
      {"/kernels", 3, "m.json.kernels: expected an array, found 3"},
      {"/kernels/0", 3, "m.json.kernels[0]: expected an object"},
      {"/kernels/0/seconds", -1, "m.json.kernels[0].seconds: is negative"},
      {"/kernels/1/seconds", "fast", "m.json.kernels[1].seconds: expected a number, found \"fast\""},
      {"/kernels/0/launches", 1.5, "m.json.kernels[0].launches: expected an integer"},
      {"/kernels/0/joined/nodes/0", -1, "m.json.kernels[0].joined.nodes[0]: expected an integer of at least 0"},
      {"/repeats", 0, "m.json.repeats: expected at least 1"},
  };
  for (const Row& row : rows) {
    nlohmann::json json = nlohmann::json::parse(write_measured(sample()));
    json[nlohmann::json::json_pointer(row.edit)] = row.value;
    const std::string said = test::error_of([&] { documents::parse_measured(json.dump(), "m.json"); });
    CHECK_MESSAGE(said.find(row.says) != std::string::npos, row.edit << ": " << said);
  }
  CHECK_THROWS_WITH_AS(documents::parse_measured("{\"schema\": ", "m.json"),
                       "m.json: not JSON, byte 12: it ends there, as a file that was cut off; expected a file of schema pagoda.measured/1; write one with "
                       "pagoda-import",
                       Error);
  CHECK_THROWS_AS(documents::load_measured("/nonexistent.json"), Error);
}
