// pagoda-profile from the command line to its files, with the real injection and the real NVTX in a real C program; the
// driver and CUPTI are fakes. Also every way in which a driver can be missing: exit 4 with a remedy, never a crash.
#include <doctest/doctest.h>
#include <sys/wait.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "pagoda/documents/estimate.h"
#include "pagoda/documents/measured.h"
#include "pagoda/documents/metrics.h"
#include "pagoda/measured/import.h"
#include "pagoda/present/report.h"
#include "support/files.h"
#include "support/json_schema.h"
#include "support/workshop.h"

namespace pagoda::measured {
namespace {

namespace fs = std::filesystem;

using test::Outcome;

struct Workshop : test::Workshop {
  Workshop() {
    fs::create_directories(path("driver"));
    fs::copy_file(PAGODA_FAKE_CUDA, path("driver/libcuda.so.1"));
  }

  // Environment variables that select the fake driver.
  std::string driver() const {
    return "PAGODA_CUPTI='" + path("driver/libcuda.so.1") + "' LD_LIBRARY_PATH='" + path("driver") + "' ";
  }

  // `trouble` is FAKE_CUDA, or "none" for no driver at all. `arguments` is shell text; $P is the program.
  Outcome run(const std::string& trouble, const std::string& arguments) const {
    const std::string before = "P='" PAGODA_NVTX_PROGRAM "' ";
    return shell((trouble == "none" ? before : before + "FAKE_CUDA='" + trouble + "' " + driver()) +
                 "sh -c '\"" PAGODA_PROFILE "\" " + arguments + "'");
  }
};

TEST_CASE("every way of having no driver ends with 4 and a remedy, one older than CUPTI with 6") {
  const Workshop shop;
  struct Case {
    const char *trouble, *mode, *remedy;
  };
  // clang-format off
  const Case cases[] = {
      {"stub",           "quick",  "LD_LIBRARY_PATH"},
      {"no device",      "quick",  "CUDA_VISIBLE_DEVICES"},
      {"no devices",     "time",   "CUDA_VISIBLE_DEVICES"},
      {"mismatch",       "exact",  "restart"},
      {"unknown",        "quick",  "nvidia-modprobe"},
      {"crash at start", "quick",  "pagoda-doctor"},
      {"crash in CUPTI", "quick",  "pagoda-doctor"},
      {"new CUPTI",      "time",   "not newer"},
      {"old driver",     "quick",  "not newer than the driver"},
      {"virtual",        "exact",  "enable_profiling"},
      {"unknown CUPTI",  "quick",  "FAKE_ERROR"},
      {"no memory",      "quick",  "memory is full"},
      {"privilege",      "quick",  "NVreg_RestrictProfilingToAdminUsers"},
      {"privilege",      "rotate", "SYS_ADMIN"},
      {"busy",           "range",  "dcgmi profile --pause"},
      {"none",           "quick",  "there is no NVIDIA driver"},
      {"none",           "ncu",    "there is no NVIDIA driver"},
      {"none",           "time",   "--gpus all"},
  };
  // clang-format on
  for (const Case& c : cases) {
    CAPTURE(c.trouble);
    CAPTURE(c.mode);
    const Outcome result = shop.run(c.trouble, std::string("--mode ") + c.mode + " --nvtx . -o m.json -- $P 1");
    const std::string trouble = c.trouble;
    CHECK(result.code == (trouble == "new CUPTI" || trouble == "old driver" ? 6 : 4));
    CHECK_MESSAGE(test::contains(result.err, c.remedy), result.err);
    CHECK_FALSE(test::contains(result.out, "ready"));  // the program never started
    CHECK_FALSE(fs::exists(shop.path("m.json")));
  }
}

TEST_CASE("an empty session that cannot be decoded is no reason to refuse") {
  const Workshop shop;
  const Outcome result = shop.run("nothing to decode", "--mode exact -o m.json -- $P 3");
  CHECK_MESSAGE(result.code == 0, result.err);
  CHECK(documents::load_measured(shop.path("m.json")).kernels.size() == 2);
}

TEST_CASE("kernels that carry the number of the runtime's call are timed, too") {
  const Workshop shop;
  const Outcome result = shop.run("runtime", "--mode time -o m.json -- $P 3");
  CHECK_MESSAGE(result.code == 0, result.err);
  const documents::Measured measured = documents::load_measured(shop.path("m.json"));
  REQUIRE(measured.kernels.size() == 2);
  CHECK(measured.kernels[0].launches == 3);
  CHECK(*measured.kernels[0].seconds == doctest::Approx(3 * 2e-6));
}

TEST_CASE("neither privilege nor the profiler's own part of CUPTI matter where no counters are read") {
  const Workshop shop;
  const std::string trouble = "privilege";
  for (const char* other : {"crash in CUPTI", "unknown CUPTI", "old driver", "virtual"})
    CHECK(shop.run(other, "--mode time -o other.json -- $P 3").code == 0);
  const Outcome result = shop.run("privilege", "--mode time -o m.json -- $P 3");
  CHECK_MESSAGE(result.code == 0, result.err);
  const documents::Measured measured = documents::load_measured(shop.path("m.json"));
  REQUIRE(measured.kernels.size() == 2);
  CHECK(measured.kernels[0].name == "void gemm<128>(float*, int)");
  CHECK(measured.kernels[0].launches == 3);
  CHECK(*measured.kernels[0].seconds == doctest::Approx(3 * 2e-6));
  CHECK(measured.kernels[0].flops.empty());
  CHECK(std::any_of(measured.missing.begin(), measured.missing.end(), [](const documents::Missing& m) {
    return m.what == "flops" && test::contains(m.why, "--mode time");
  }));
}

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
  CHECK(test::contains(result.out, "GH100\n1 of 1 kernels agree"));
  CHECK(test::contains(result.out, "GA100\n1 of 1 kernels agree"));
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
      if (!is_graph) CHECK(kernel.detail == "grid 8x1x1, block 128x1x1");
      CHECK(kernel.seconds.has_value());
      // The two kernels of a graph are at places 1 and 2.
      if (!is_time) CHECK(kernel.bytes.dram_read == 3 * (is_graph ? 1020 + 2020 : 1020));
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
  for (const documents::MeasuredKernel& kernel : measured.kernels) {
    launches[kernel.nvtx + ": " + kernel.name] = kernel.launches.value_or(-1);
    CHECK(kernel.bytes.dram_read.has_value() == (kernel.name != "other(float*)"));  // on the other stream meanwhile
    if (kernel.name == "graph") CHECK(kernel.detail == "6 kernels");
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

TEST_CASE("range counts the ranges that are asked for") {
  const Workshop shop;
  const Outcome result = shop.run("", "--mode range --nvtx ^pagoda@conv -o m.json -- $P 5");
  CHECK_MESSAGE(result.code == 0, result.err);
  const documents::Measured measured = documents::load_measured(shop.path("m.json"));
  REQUIRE(measured.kernels.size() == 1);
  CHECK(measured.kernels[0].name == "conv1");
  CHECK(measured.kernels[0].bytes.dram_read == 1020);
  CHECK(shop.run("", "--mode range -- $P 5").code == 2);
}

TEST_CASE("the program's exit code and signals are passed on, with what was recorded") {
  const Workshop shop;
  CHECK(shop.run("", "-o a.json -- $P 2 exit 7").code == 7);
  CHECK(documents::load_measured(shop.path("a.json")).kernels.size() == 2);
  // A signal that would end the program does so only after its record is complete; after a signal that cannot be
  // caught, what was already read remains.
  CHECK(shop.run("", "-o b.json -- $P 2 signal 15").code == 128 + 15);
  CHECK(documents::load_measured(shop.path("b.json")).kernels.size() == 2);
  CHECK(shop.run("", "--batch 1 -o c.json -- $P 2 signal 9").code == 128 + 9);
  const documents::Measured killed = documents::load_measured(shop.path("c.json"));
  CHECK(killed.kernels.size() == 2);
  CHECK(std::any_of(killed.notes.begin(), killed.notes.end(),
                    [](const std::string& note) { return test::contains(note, "did not end in order"); }));
  CHECK(shop.run("", "-- ./no-such-program").code == 127);
}

TEST_CASE("a signal to pagoda-profile goes to the program; a kill leaves no half a file") {
  const Workshop shop;
  for (const int number : {SIGTERM, SIGKILL}) {
    CAPTURE(number);
    base::write_file(shop.path("log.txt"), "");
    const pid_t child = fork();
    if (child == 0) {
      setenv("FAKE_CUDA", "", 1);
      setenv("PAGODA_CUPTI", shop.path("driver/libcuda.so.1").c_str(), 1);
      setenv("LD_LIBRARY_PATH", shop.path("driver").c_str(), 1);
      setenv("TMPDIR", shop.path("driver").c_str(), 1);
      const std::string output = shop.path("s" + std::to_string(number) + ".json"), log = shop.path("log.txt");
      if (std::freopen(log.c_str(), "w", stdout) == nullptr) _exit(1);
      execl(PAGODA_PROFILE, PAGODA_PROFILE, "-o", output.c_str(), "--", PAGODA_NVTX_PROGRAM, "2", "wait", nullptr);
      _exit(1);
    }
    for (int i = 0; i < 300 && !test::contains(test::read_file(shop.path("log.txt")), "ready"); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    kill(child, number);
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status));
    CHECK(WTERMSIG(status) == number);
    const std::string output = shop.path("s" + std::to_string(number) + ".json");
    if (number == SIGTERM)
      CHECK(documents::load_measured(output).kernels.size() == 2);
    else
      CHECK_FALSE(fs::exists(output));
  }
}

TEST_CASE("NVTX ranges of a C program are listed without a driver: domains, registered strings, wide texts, threads") {
  const Workshop shop;
  const Outcome result = shop.run("none", "--list-ranges -- $P 0 exit 3");
  CHECK(result.code == 3);
  CHECK(
      result.out ==
      "ready\n       1  model\n       1  epoch\n       1  pagoda@conv1\n       1  pagoda@relu2\n       1  \u00fcber\n");
}

TEST_CASE("a forked child has a file of its own, and its parent's launches only once") {
  const Workshop shop;
  const Outcome result = shop.run("", "-o m.json -- $P 2 fork");
  CHECK_MESSAGE(result.code == 0, result.err);
  const documents::Measured measured = documents::load_measured(shop.path("m.json"));
  REQUIRE(measured.kernels.size() >= 2);
  CHECK(measured.kernels[0].launches == 2);
  CHECK(measured.kernels[1].launches == 2);
}

TEST_CASE("another profiler in the program is named, and the program runs on") {
  const Workshop shop;
  const Outcome result = shop.run("subscriber", "-o m.json -- $P 2 exit 0");
  CHECK(result.code == 1);
  CHECK(test::contains(result.out, "ready"));
  CHECK(test::contains(result.err, "no kernel was recorded"));
}

TEST_CASE("a chip that the catalogue does not know is an error that says what to do") {
  const Workshop shop;
  const Outcome result = shop.run("new chip", "-- $P 2");
  CHECK(result.code == 1);
  CHECK(test::contains(result.err, "XX100"));
  CHECK(test::contains(result.err, "pagoda-metrics"));
}

TEST_CASE("records are kept where that is asked for") {
  const Workshop shop;
  CHECK(shop.run("", "--keep-raw -o m.json -- $P 2").code == 0);
  std::size_t images = 0, records = 0;
  for (const auto& entry : fs::recursive_directory_iterator(shop.path("m.json.raw"))) {
    if (entry.path().extension() == ".txt")
      CHECK(test::contains(test::read_file(entry.path().string()), "\npasses\t1\n"));
    images += entry.path().extension() == ".counters" ? 1 : 0;
    records += entry.path().extension() == ".record" ? 1 : 0;
  }
  CHECK(images == 1);
  CHECK(records == 1);
}

TEST_CASE("a program measures itself, and goes on where it cannot") {
  const Workshop shop;
  const std::string program = "'" PAGODA_MEASURE_PROGRAM "'";
  const Outcome measured = shop.shell(shop.driver() + program);
  CHECK(measured.code == 0);
  CHECK(measured.out == "model/gemm gemm 3\n");
  CHECK(documents::load_measured(shop.path("session.json")).kernels.size() == 1);
  const Outcome alone = shop.shell(program);
  CHECK(alone.code == 0);
  CHECK(test::contains(alone.out, "problem: there is no NVIDIA driver"));
  // Under pagoda-profile, the session leaves the work to it.
  CHECK(shop.run("", "-o m.json -- " PAGODA_MEASURE_PROGRAM).code == 0);
  CHECK(documents::load_measured(shop.path("m.json")).kernels.at(0).nvtx == "model/gemm");
}

TEST_CASE("wrong options end with 2") {
  const Workshop shop;
  CHECK(shop.run("", "").code == 2);
  CHECK(shop.run("", "--mode fast -- $P").code == 2);
  CHECK(shop.run("", "--no-such-option -- $P").code == 2);
  CHECK(shop.run("none", "--version").code == 0);
  struct Case {
    const char *options, *said;
  };
  // clang-format off
  const Case cases[] = {
      {"-o a.json -o b.json",             "--output"},
      {"--count -3",                      "--count"},
      {"--skip -1",                       "--skip"},
      {"--batch 0",                       "--batch"},
      {"--by colour",                     "--by"},
      {"--kernel [",                      "--kernel [ is not an extended regular expression"},
      {"--mode range --nvtx [",           "--nvtx [ is no"},
      {"--iteration [",                   "--iteration"},
      {"--mode range",                    "needs --nvtx"},
      {"--mode time --verify ncu",        "--verify: found --mode time, expected quick, exact or rotate"},
      {"--mode exact --precision tf32",   "--precision: found --mode exact, expected quick or range"},
      {"--mode ncu --csv a.csv",          "--csv: found --mode ncu"},
      {"--mode ncu --iteration i",        "--iteration: found --mode ncu"},
      {"--mode ncu --warmup 1",           "--warmup: found --mode ncu"},
      {"--mode ncu --keep-raw",           "--keep-raw: found --mode ncu"},
      {"--mode ncu --batch 4",            "--batch: found --mode ncu"},
      {"--mode time --safe",              "--safe: found --mode time"},
      {"--mode time --batch 4",           "--batch: found --mode time"},
      {"--mode time --strict",            "--strict: found --mode time"},
      {"-o - --csv -",                    "both be standard output"},
      {"--chip GH100",                    "--chip: found --mode quick, expected ncu"},
      {"--mode ncu --chip GH100 --cupti c", "--chip"},
      {"--mode ncu --models a --top 3",   "--top does not go with --models"},
      {"--mode ncu --batches 1 --estimate e", "--estimate does not go with --models"},
      {"--batches 1",                     "--batches: found --mode quick"},
      {"--ncu ./ncu",                     "--ncu needs --mode ncu or --verify ncu"},
      {"--verify ncu --nvtx a",           "--verify does not go with --nvtx"},
      {"--verify-bytes 5",                "--verify"},
      {"--safe --batch 4",                "--batch"},
      {"--list-ranges --mode time",       "--list-ranges answers by itself; it does not go with --mode"},
      {"--list-ranges -o m.json",         "--list-ranges answers by itself; it does not go with --output"},
      {"--list-ranges --kernel a",        "--list-ranges answers by itself; it does not go with --kernel"},
  };
  // clang-format on
  for (const Case& c : cases) {
    CAPTURE(c.options);
    const Outcome result = shop.run("", std::string(c.options) + " -- $P 1");
    CHECK(result.code == 2);
    CHECK_MESSAGE(test::contains(result.err, c.said), result.err);
    CHECK_FALSE(test::contains(result.out, "ready"));
  }
}

TEST_CASE("what cannot work is said before the program runs") {
  const Workshop shop;
  fs::create_directories(shop.path("folder"));
  base::write_file(shop.path("plain"), "no program");
  struct Case {
    const char* arguments;
    int code;
    const char* said;
  };
  // clang-format off
  const Case cases[] = {
      {"-o no/such/folder/m.json -- $P 1",    1, "cannot write no/such/folder/m.json"},
      {"--csv no/such/m.csv -- $P 1",         1, "cannot write no/such/m.csv"},
      {"-o folder -- $P 1",                   1, "Is a directory"},
      {"--estimate none.json -- $P 1",        1, "none.json"},
      {"--precision none -- $P 1",            1, "GH100 counts"},
      {"-- ./plain",                        126, "permission"},
      {"-- ./folder",                       126, "permission"},
      {"-- no-such-program",                127, "in PATH"},
      {"-- ./no-such-program",              127, "no such program"},
  };
  // clang-format on
  for (const Case& c : cases) {
    CAPTURE(c.arguments);
    const Outcome result = shop.run("", c.arguments);
    CHECK(result.code == c.code);
    CHECK_MESSAGE(test::contains(result.err, c.said), result.err);
    CHECK_FALSE(test::contains(result.out, "ready"));
  }
}

TEST_CASE("programs without CUDA keep their input, output and exit code, and the reason is told") {
  const Workshop shop;
  const Outcome none = shop.run("", "-o m.json -- /bin/true");
  CHECK(none.code == 1);  // nothing to report
  CHECK(test::contains(none.err, "no kernel was recorded"));
  CHECK_FALSE(test::contains(none.out, "launches"));
  CHECK(shop.run("", "-- /bin/sh -c \"exit 3\"").code == 3);
  CHECK(shop.run("", "-- /bin/sh -c \"kill -SEGV \\$\\$\"").code == 128 + SIGSEGV);
  base::write_file(shop.path("input"), "from standard input\n");
  CHECK(test::contains(shop.run("", "-- cat < input").out, "from standard input"));
  CHECK(shop.run("", "-- seq 200000").out.size() > 1000000);
  // The record notes how the program ended.
  CHECK(shop.run("", "-o m.json -- $P 1 exit 3").code == 3);
  const auto notes = documents::load_measured(shop.path("m.json")).notes;
  CHECK(std::find(notes.begin(), notes.end(), "the program exited with 3") != notes.end());
  // It replaces another profiler's injection, and reports that.
  setenv("CUDA_INJECTION64_PATH", "/opt/other.so", 1);
  const Outcome taken = shop.run("", "-o m.json -- $P 1");
  unsetenv("CUDA_INJECTION64_PATH");
  CHECK(taken.code == 0);
  CHECK_MESSAGE(test::contains(taken.err, "CUDA_INJECTION64_PATH was /opt/other.so"), taken.err);
  CHECK(documents::load_measured(shop.path("m.json")).kernels.size() == 2);
  if (geteuid() == 0) {  // only root can change a program's owner
    const std::string other = shop.path("other");
    fs::copy_file(PAGODA_NVTX_PROGRAM, other);
    REQUIRE(chown(other.c_str(), 65534, 65534) == 0);
    fs::permissions(other, fs::perms::set_uid | fs::perms::owner_all | fs::perms::others_exec | fs::perms::others_read);
    CHECK(test::contains(shop.run("", "-- ./other 0").err, "set-user-ID"));
  }
  // Without a dynamic loader the profiler cannot be injected.
  if (fs::exists("/sbin/ldconfig"))
    CHECK(test::contains(shop.run("", "-- /sbin/ldconfig --version").err, "linked statically"));
}

}  // namespace
}  // namespace pagoda::measured
