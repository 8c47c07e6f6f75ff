// What pagoda-profile counts in each mode, from the command line to its files; the driver and CUPTI are fakes.
#include <doctest/doctest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "pagoda/documents/ceilings.h"
#include "pagoda/documents/estimate.h"
#include "pagoda/documents/measured.h"
#include "pagoda/documents/metrics.h"
#include "pagoda/measured/import.h"
#include "profile/profiled_program.h"
#include "support/files.h"
#include "support/json_schema.h"
#include "support/sometimes.h"

namespace pagoda::measured {
namespace {

namespace fs = std::filesystem;

using test::Outcome;
using Workshop = test::ProfiledProgram;

TEST_CASE("quick gives each kernel and node its counters, in JSON of the schema and in CSV that reads back") {
  const Workshop shop;
  const Outcome result = shop.run("", "--batch 3 -o m.json --csv m.csv -- $P 4");
  CHECK_MESSAGE(result.code == 0, result.err);
  CHECK(test::contains(result.out, "ready"));
  CHECK(test::contains(result.out, "gemm<128>"));
  const std::string json = test::read_file(shop.path("m.json"));
  test::check_schema(json, "measured");
  const documents::Measured measured = documents::load_measured(shop.path("m.json"));
  CHECK(measured.source == "pagoda-profile");
  CHECK(measured.device == "Fake H200");
  REQUIRE(measured.kernels.size() == 2);
  const documents::MeasuredKernel &conv = measured.kernels[0], &relu = measured.kernels[1];
  CHECK(conv.nvtx == "model/epoch/conv1");
  CHECK(conv.node == "conv1");
  CHECK(relu.node == "relu2");
  CHECK(conv.detail == "grid 8x1x1, block 128x1x1");
  CHECK(conv.launches == 4);
  // Batches of three: places 1, 2, 3, 1; and the 20 letters of dram__bytes_read.sum in each value.
  CHECK(conv.bytes.dram_read == 1000 * (1 + 2 + 3 + 1) + 4 * 20);
  CHECK(relu.bytes.dram_read == 1000 * (2 + 3 + 1 + 2) + 4 * 20);
  CHECK(conv.flops.at("bfloat16.tensor").has_value());
  CHECK_FALSE(conv.flops.at("float32").has_value());
  CHECK_FALSE(conv.flops.at("float8.tensor").has_value());  // the fake has no such counter
  for (const auto& [precision, flops] : conv.flops) {
    const std::string what = "flops." + precision;
    CHECK_MESSAGE(
        flops.has_value() != std::any_of(measured.missing.begin(), measured.missing.end(),
                                         [&](const documents::Missing& missing) { return missing.what == what; }),
        what);
  }
  // The chip's own peaks, reported by the first range; the fake has no DRAM peak and only the SMs' clock.
  REQUIRE(measured.devices.size() == 1);
  CHECK(measured.devices[0].chip == "GH100");
  const auto constant = [](const char* metric) { return 1000.0 + static_cast<double>(std::strlen(metric)); };
  const documents::DevicePeak peak = measured.devices[0].peaks.at("float32");
  CHECK(peak.per_cycle == 2 * constant("sm__sass_thread_inst_executed_op_ffma_pred_on.sum.peak_sustained"));
  CHECK(peak.per_second == peak.per_cycle * measured.devices[0].clocks.at("sm"));
  CHECK_FALSE(measured.devices[0].peaks.at("bytes.l2").per_second.has_value());
  CHECK_FALSE(measured.devices[0].peaks.contains("bytes.dram"));
  const documents::Measured csv = measured::load_profile(shop.path("m.csv"));
  CHECK(csv.kernels.size() == 2);
  CHECK(csv.kernels[0].bytes.dram_read == conv.bytes.dram_read);
}

TEST_CASE("devices of two chips: rows of their own, and ncu asked for each chip's own metrics on its own devices") {
  const Workshop shop;
  base::write_file(shop.path("ncu"), R"(#!/bin/sh
printf '%s\n' "$@" ---- >> ncu_arguments
while [ "$1" != --log-file ]; do shift; done
cat table > "$2"
)");
  fs::permissions(shop.path("ncu"), fs::perms::owner_all);
  const std::string head =
      R"x("ID","Process ID","Kernel Name","Grid Size","Block Size","Stream","dram__bytes_read.sum",)x"
      R"x("sm__ops_path_tensor_src_bf16_dst_fp32.sum")x"
      "\n\"\",\"\",\"\",\"\",\"\",\"\",\"byte\",\"\"\n";
  const std::string row = R"x("0","7","void gemm<128>(float *, int)","(8, 1, 1)","(128, 1, 1)","7","1020",")x";
  const std::string operations = std::to_string(1000 + std::strlen("sm__ops_path_tensor_src_bf16_dst_fp32.sum"));
  const auto table = [&](const std::string& count) {
    base::write_file(shop.path("table"), head + row + count + "\"\n");
  };
  table(operations);
  const Outcome result = shop.run("two chips", "--verify ncu --ncu ./ncu -o m.json -- $P 1");
  CHECK_MESSAGE(result.code == 0, result.err);
  const documents::Measured measured = documents::load_measured(shop.path("m.json"));
  REQUIRE(measured.devices.size() == 2);
  REQUIRE(measured.kernels.size() == 2);
  CHECK(measured.kernels[0].device != measured.kernels[1].device);
  CHECK(test::contains(result.out, "GH100\n1 of 1 kernel agrees"));
  CHECK(test::contains(result.out, "GA100\n1 of 1 kernel agrees"));
  const std::string arguments = test::read_file(shop.path("ncu_arguments"));
  const std::string ampere = arguments.substr(0, arguments.find("----"));  // chips are in the order of their names
  CHECK(test::contains(ampere, "--devices\n1\n"));
  CHECK_FALSE(test::contains(ampere, "src_fp8"));
  CHECK(test::contains(arguments, "--devices\n0\n"));
  CHECK(test::contains(arguments, "sm__ops_path_tensor_src_fp8.sum"));
  table("5");
  CHECK(shop.run("two chips", "--verify ncu --ncu ./ncu -- $P 1").code == 3);
  const Outcome study = shop.run("two chips", "--mode ncu --ncu ./ncu -- $P 1");
  CHECK(study.code == 1);
  CHECK(test::contains(study.err, "--chip"));
}

TEST_CASE("rotate runs the program once a group and merges what they counted") {
  const Workshop shop;
  const Outcome result = shop.run("", "--mode rotate -o m.json -- $P 2");
  const documents::Measured measured = documents::load_measured(shop.path("m.json"));
  REQUIRE(measured.kernels.size() == 2);
  // The fake counts only two of the groups: the other runs have no values, which is unknown, and reported.
  CHECK(measured.kernels[0].launches == 2);
  CHECK_FALSE(measured.notes.empty());
  CHECK(test::contains(result.err, "can count none of the metrics"));
}

TEST_CASE("with an estimate, what was counted stands beside it, node by node, with the causes") {
  const Workshop shop;
  documents::EstimateDocument estimate;
  estimate.model.path = "m.onnx";
  for (const char* name : {"conv1", "relu2"}) {
    documents::EstimateNode& node = estimate.nodes.emplace_back();
    node.index = estimate.nodes.size() - 1;
    node.name = name;
    node.op_type = node.index == 0 ? "Conv" : "Relu";
    node.precision = ElementType::Float32;
    node.counts.macs = node.index == 0 ? 1 : 0;  // so that the fake's products differ in format and exceed it
    node.counts.arith = node.counts.special = node.counts.comparisons = 0;
    node.counts.bytes = node.counts.bytes_read = 1;
  }
  base::write_file(shop.path("e.json"), documents::write_estimate(estimate));
  const Outcome result = shop.run("", "--estimate e.json -o m.json -- $P 2");
  CHECK_MESSAGE(result.code == 0, result.err);
  for (const char* text : {"products/static", "conv1", "other precision", "extra traffic"})
    CHECK_MESSAGE(test::contains(result.out, text), result.out);
}

// Gives the fake every counter of the catalogue's chip; returns what one launch at place 1 amounts to.
std::map<std::string, double> give_every_counter(const Workshop& shop) {
  std::string names;
  std::map<std::string, double> values;
  for (const documents::MetricGroup& group :
       documents::plan_metrics(documents::chip_metrics("GH100"), documents::MetricMode::Exact).groups)
    for (const std::string& metric : group.metrics) {
      names += metric.substr(0, metric.find('.')) + "\n";
      values[metric] = 1000 + static_cast<double>(metric.size());
    }
  base::write_file(shop.path("metrics.txt"), names);
  return documents::evaluate_metrics(documents::chip_metrics("GH100"), values);
}

void check_everything_is_counted(const documents::MeasuredKernel& kernel,
                                 const std::map<std::string, double>& amounts) {
  std::size_t precisions = 0;
  for (const auto& [name, count] : kernel.flops) {
    const std::string& precision = name;
    CAPTURE(precision);
    const auto found = amounts.find("flops." + precision);
    REQUIRE(count.has_value() == (found != amounts.end()));
    if (!count) continue;
    CHECK(*count == doctest::Approx(found->second));
    ++precisions;
  }
  CHECK(precisions >= 8);
  CHECK(kernel.bytes.dram_read == amounts.at("bytes.dram_read"));
  CHECK(kernel.bytes.l2 == amounts.at("bytes.l2"));
  CHECK(*kernel.seconds == doctest::Approx(amounts.at("seconds")));
}

TEST_CASE("exact replays kernels for counters that no one pass holds") {
  const Workshop shop;
  const auto amounts = give_every_counter(shop);
  setenv("FAKE_METRICS", shop.path("metrics.txt").c_str(), 1);
  const Outcome result = shop.run("few a pass", "--mode exact --batch 1 -o m.json -- $P 2");
  CHECK_MESSAGE(result.code == 0, result.err);
  const documents::Measured measured = documents::load_measured(shop.path("m.json"));
  REQUIRE(measured.kernels.size() == 2);
  CHECK(measured.notes.empty());
  CHECK(measured.kernels[0].launches == 2);
  auto twice = amounts;
  for (auto& [id, amount] : twice) amount *= 2;
  check_everything_is_counted(measured.kernels[0], twice);
  CHECK(std::get<std::string>(measured.env.at("replay")) == "each kernel");
  CHECK(std::get<std::string>(measured.env.at("bytes")) == "replayed");
  CHECK(result.out.find("DRAM, replayed") != std::string::npos);
  CHECK(measured.kernels[0].bytes.shared == twice.at("bytes.shared"));
  unsetenv("FAKE_METRICS");
}

TEST_CASE("rotate merges every group of counters, over runs of the program") {
  const Workshop shop;
  const auto amounts = give_every_counter(shop);
  setenv("FAKE_METRICS", shop.path("metrics.txt").c_str(), 1);
  const Outcome result = shop.run("", "--mode rotate --batch 1 -o m.json -- $P 1");
  CHECK_MESSAGE(result.code == 0, result.err);
  CHECK(test::contains(result.out, "ready\nready\nready\n"));  // one run per group; there are at least three
  const documents::Measured measured = documents::load_measured(shop.path("m.json"));
  REQUIRE(measured.kernels.size() == 2);
  CHECK(measured.notes.empty());
  check_everything_is_counted(measured.kernels[0], amounts);
  check_everything_is_counted(measured.kernels[1], amounts);
  unsetenv("FAKE_METRICS");
}

TEST_CASE("kernels are seen whichever of the driver's calls launches them") {
  const Workshop shop;
  test::Sometimes is_launch("a launch of one kernel"), has_counters("counters");
  for (const char* mode : {"quick --batch 1", "exact --batch 1", "time"}) {
    CAPTURE(mode);
    const Outcome result = shop.run("", std::string("--mode ") + mode + " -o m.json -- $P 0 calls");
    CHECK_MESSAGE(result.code == 0, result.err);
    const documents::Measured measured = documents::load_measured(shop.path("m.json"));
    const bool is_time = std::string(mode) == "time";
    REQUIRE(measured.kernels.size() == 8);
    for (const documents::MeasuredKernel& kernel : measured.kernels) {
      CAPTURE(kernel.nvtx);
      const bool is_graph = test::contains(kernel.nvtx, "cuGraphLaunch");
      CHECK(kernel.launches == (is_graph && is_time ? 6 : 3));
      CHECK(kernel.name == (is_graph && !is_time ? "graph" : "void gemm<128>(float*, int)"));
      if (is_launch(!is_graph)) CHECK(kernel.detail == "grid 8x1x1, block 128x1x1");
      CHECK(kernel.seconds.has_value());
      // The two kernels of a graph are at places 1 and 2.
      if (has_counters(!is_time)) CHECK(kernel.bytes.dram_read == 3 * (is_graph ? 1020 + 2020 : 1020));
    }
  }
}

TEST_CASE("what is captured into a graph is counted when the graph runs, and no capture is harmed") {
  const Workshop shop;
  const Outcome result = shop.run("", "-o m.json -- $P 0 capture");
  CHECK_MESSAGE(result.code == 0, result.err);
  CHECK_FALSE(test::contains(result.out, "broken"));
  CHECK(test::contains(result.err, "4 launches were captured into graphs"));
  const documents::Measured measured = documents::load_measured(shop.path("m.json"));
  CHECK(std::get<std::int64_t>(measured.env.at("launches_without_counters")) == 1);
  CHECK(std::any_of(measured.notes.begin(), measured.notes.end(),
                    [](const std::string& note) { return test::contains(note, "would break the capture"); }));
  std::map<std::string, std::int64_t> launches;
  test::Sometimes is_graph("a graph");
  for (const documents::MeasuredKernel& kernel : measured.kernels) {
    launches[kernel.nvtx + ": " + kernel.name] = kernel.launches.value_or(-1);
    CHECK(kernel.bytes.dram_read.has_value() == (kernel.name != "other(float*)"));  // on the other stream meanwhile
    if (is_graph(kernel.name == "graph")) CHECK(kernel.detail == "6 kernels");
  }
  CHECK(launches == std::map<std::string, std::int64_t>{{"before: void gemm<128>(float*, int)", 1},
                                                        {"capture: void gemm<128>(float*, int)", 1},
                                                        {"capture/turn 1: other(float*)", 1},
                                                        {"replay: graph", 2},
                                                        {": void gemm<128>(float*, int)", 1}});
}

TEST_CASE("runs of the model are its ranges in the default domain, too, as without Python's nvtx package") {
  const Workshop shop;
  const Outcome result = shop.run("", "--mode quick --warmup 0 -o m.json -- $P 0 runs");
  CHECK_MESSAGE(result.code == 0, result.err);
  const documents::Measured measured = documents::load_measured(shop.path("m.json"));
  CHECK(measured.repeats == 2);
  REQUIRE(measured.kernels.size() == 1);  // warm-up is not part of a run
  CHECK(measured.kernels[0].launches == 1);
  CHECK(std::get<std::string>(measured.env.at("bytes")) == "of the run itself");
}

TEST_CASE("a capture outlives every mode, and one that does not begin stops no counters") {
  const Workshop shop;
  for (const char* options :
       {"--mode time", "--mode exact", "--mode rotate", "--safe", "--mode rotate --iteration '\\''^turn'\\''",
        "--mode range --nvtx capture", "--mode range --nvtx turn", "--mode range --nvtx replay", "--kernel gemm"}) {
    CAPTURE(options);
    const Outcome result = shop.run("", std::string(options) + " -o m.json -- $P 0 capture");
    CHECK_MESSAGE(result.code == 0, result.err);
    CHECK_FALSE(test::contains(result.out, "broken"));
  }
  const Outcome refused = shop.run("no capture", "-o m.json -- $P 0 capture");
  CHECK(refused.code == 9);  // the program's own exit code
  for (const documents::MeasuredKernel& kernel : documents::load_measured(shop.path("m.json")).kernels)
    CHECK(kernel.bytes.dram_read.has_value());
  // A range interrupted by a capture has no counts; others do.
  const Outcome cut = shop.run("", "--mode range --nvtx . -o m.json -- $P 0 capture");
  CHECK_MESSAGE(cut.code == 0, cut.err);
  std::map<std::string, bool> counted;
  for (const documents::MeasuredKernel& kernel : documents::load_measured(shop.path("m.json")).kernels)
    counted[kernel.name] = kernel.bytes.dram_read.has_value();
  CHECK(counted.at("before"));
  CHECK_FALSE(counted.at("capture"));
  CHECK_FALSE(counted.at("turn 1"));
  CHECK(counted.at("replay"));
  CHECK(test::contains(cut.err, "within the range"));
}

#ifdef PAGODA_ERT_CEILINGS
TEST_CASE("ert-ceilings counts kernels by the same library, and names what the chip cannot count") {
  const test::Workshop shop;
  const Outcome result =
      shop.shell("LD_LIBRARY_PATH='" PAGODA_FAKE_DRIVER "' PAGODA_CUPTI='" PAGODA_FAKE_CUDA
                 "' FAKE_CUDA='another driver' '" PAGODA_ERT_CEILINGS
                 "' --gpu 0 --quick --budget 0.5 --counters --only float32.cuda.fma,shared.read --json m.json");
  CAPTURE(result.err);
  const documents::CeilingsDocument measured = documents::load_ceilings(shop.path("m.json"));
  const documents::Ceiling* const fma = documents::find_ceiling(measured, "float32.cuda.fma");
  const documents::Ceiling* const shared = documents::find_ceiling(measured, "shared.read");
  REQUIRE(fma != nullptr);
  REQUIRE(shared != nullptr);
  // One launch, and the 49 letters of the metric's name.
  CHECK(base::setting_text(fma->counters.at("sm__sass_thread_inst_executed_op_ffma_pred_on.sum")) == "1049");
  CHECK(base::setting_text(shared->counters.at("reason")) ==
        "GH100 has no counter sm__sass_data_bytes_mem_shared_op_ld.sum");
}
#endif

}  // namespace
}  // namespace pagoda::measured
