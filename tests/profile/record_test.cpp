// Records to measurements: sums, unknowns, merging of runs with different metrics, and the CSV, which reads back.
#include "pagoda/measured/record.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "pagoda/measured/import.h"
#include "support/json_schema.h"

namespace pagoda::measured::profile {
namespace {

const std::string kHead = "pagoda.record\t1\nprocess\t12\tpython3 model.py\ndevice\t1\tGH100\tNVIDIA H200\n";
const std::string kGroup0 =
    "group\t1\t0\tgpu__time_duration.sum\tdram__bytes_read.sum\tdram__bytes_write.sum\t"
    "sm__ops_path_tensor_src_bf16_dst_fp32.sum\n";
const std::string kGroup1 =
    "group\t1\t1\tsm__sass_thread_inst_executed_op_fadd_pred_on.sum\tsm__sass_thread_inst_executed_op_fmul_pred_on."
    "sum\t"
    "sm__sass_thread_inst_executed_op_ffma_pred_on.sum\n";

std::string launch(int group, int iteration, const std::string& kernel, const std::string& node,
                   const std::string& values) {
  return "launch\t1\t" + std::to_string(group) + "\t" + std::to_string(iteration) + "\t1\t" + kernel + "\t" + node +
         "\t" + node + "\tgrid 8x1x1, block 128x1x1" + values + "\n";
}

bool names(const documents::Measured& measured, const std::string& what) {
  return std::any_of(measured.missing.begin(), measured.missing.end(),
                     [&](const documents::Missing& m) { return m.what == what; });
}

TEST_CASE("launches of one kernel in one node add up; what was not collected is null and never 0") {
  const ProcessRecord record = parse_record(kHead + kGroup0 + launch(0, 0, "gemm", "conv1", "\t1000\t64\t32\t2048") +
                                                launch(0, 0, "gemm", "conv1", "\t3000\t64\t32\t2048") +
                                                launch(0, 0, "gemm", "conv2", "\t500\t0\t0\t0") + "end\t3\n",
                                            "record");
  const documents::Measured measured = measured_of({{record}}, &documents::chip_metrics("GH100"),
                                                   {.mode = "quick", .missing = {{"flops.float32", "not in quick"}}});
  REQUIRE(measured.kernels.size() == 2);
  const documents::MeasuredKernel& conv1 = measured.kernels[0];
  CHECK(conv1.node == "conv1");
  CHECK(conv1.launches == 2);
  CHECK(*conv1.seconds == doctest::Approx(4e-6));
  CHECK(conv1.flops.at("bfloat16.tensor") == 4096);
  CHECK_FALSE(conv1.flops.at("float32").has_value());
  CHECK(conv1.bytes.dram == 192);
  CHECK_FALSE(conv1.bytes.l2.has_value());
  CHECK(measured.kernels[1].flops.at("bfloat16.tensor") == 0);
  CHECK(names(measured, "flops.float32"));
  CHECK(measured.device == "NVIDIA H200");
  test::check_schema(documents::write_measured(measured), "measured");
}

TEST_CASE("each device's launches are evaluated by the formulas of its own chip, in rows of its own") {
  const auto line = [](const char* context, const char* value) {
    return std::string("launch\t") + context + "\t0\t0\t1\tgemm\tconv\tconv\tgrid\t" + value + "\n";
  };
  const ProcessRecord record = parse_record(
      kHead + "device\t2\tGB202\tGeForce RTX 5090\ngroup\t1\t0\tdram__bytes_read.sum\n" +
          "group\t2\t0\tdram__bytes_op_read.sum\n" + line("1", "64") + line("2", "256") + line("1", "32") + "end\t3\n",
      "record");
  const documents::Measured measured = measured_of({{record}}, &documents::chip_metrics("GH100"), {.mode = "quick"});
  REQUIRE(measured.kernels.size() == 2);
  CHECK(measured.kernels[0].bytes.dram_read == 96);
  CHECK(measured.kernels[0].launches == 2);
  CHECK(measured.kernels[1].bytes.dram_read == 256);
  CHECK(measured.device == "GeForce RTX 5090, NVIDIA H200");
}

// 1 µs, then 3 µs, with SMs at 1.25 GHz and memory at 3 GHz.
const std::string kPeaks =
    "group\t1\t0\tgpu__time_duration.sum\tsm__cycles_elapsed.max\tdram__cycles_elapsed.avg\tdram__bytes.sum\t"
    "sm__ops_path_tensor_src_bf16_dst_fp32.sum\n"
    "peak\t1\tdram__bytes.sum.peak_sustained\t1000\n"
    "peak\t1\tsm__ops_path_tensor_op_hgmma_src_bf16_dst_fp32_sparsity_off.sum.peak_sustained\t500\n"
    "peak\t1\tlts__t_bytes.sum.peak_sustained\tnan\n" +
    launch(0, 0, "gemm", "a", "\t1000\t1250\t3000\t750000\t562500") +
    launch(0, 0, "copy", "b", "\t3000\t3750\t9000\t8100000\t0") + "end\t2\n";

TEST_CASE(
    "a device's peaks are told by cycle and, at the clocks of the run, by second; kernels reach a share of them") {
  const ProcessRecord record = parse_record(kHead + kPeaks, "record");
  const documents::Measured measured = measured_of({{record}}, &documents::chip_metrics("GH100"), {.mode = "quick"});
  REQUIRE(measured.devices.size() == 1);
  const documents::MeasuredDevice& device = measured.devices[0];
  CHECK(device.name == "NVIDIA H200");
  CHECK(device.chip == "GH100");
  CHECK(device.clocks.at("sm") == doctest::Approx(1.25e9));
  CHECK(device.clocks.at("dram") == doctest::Approx(3e9));
  CHECK_FALSE(device.clocks.contains("l2"));
  CHECK(device.peaks.at("bytes.dram").per_cycle == 1000);
  CHECK(*device.peaks.at("bytes.dram").per_second == doctest::Approx(3e12));
  CHECK(*device.peaks.at("bfloat16.tensor").per_second == doctest::Approx(500 * 1.25e9));
  CHECK_FALSE(device.peaks.contains("bytes.l2"));  // not a number, so no peak
  CHECK_FALSE(device.peaks.contains("float32"));
  REQUIRE(measured.kernels.size() == 2);
  CHECK(measured.kernels[1].device == 0);
  // 8.1 MB in 3 µs is 2.7 of 3 TB/s.
  const auto shares = shares_of_peak(measured.kernels[1], device);
  CHECK(shares.at("bytes.dram") == doctest::Approx(0.9));
  CHECK(shares.at("bfloat16.tensor") == 0);
  CHECK_FALSE(shares.contains("bytes.l2"));
  const std::string table = profile_table(measured, 9);
  CHECK_MESSAGE(table.find("90.0 % dram") != std::string::npos, table);
  CHECK_MESSAGE(table.find("2.70 TB/s") != std::string::npos, table);
  // The file reads back and fits the schema.
  const std::string text = documents::write_measured(measured);
  test::check_schema(text, "measured");
  CHECK(documents::write_measured(documents::parse_measured(text, "text")) == text);
  // Per launch, the share uses the launch's own cycles: 562500 of 500 · 1250.
  const std::string csv = record_csv({{record}});
  CHECK_MESSAGE(csv.find("\"share_of_peak.bfloat16.tensor\"") != std::string::npos, csv);
  CHECK_MESSAGE(csv.find("\"90\",\"25\"\n") != std::string::npos, csv);
  CHECK_MESSAGE(csv.find("\"0\",\"90\"\n") != std::string::npos, csv);
}

TEST_CASE("equal devices are told once, others each; a device that CUPTI tells nothing of is named") {
  const std::string second = "device\t2\tGH100\tNVIDIA H200\ndevice\t3\tGH100\tNVIDIA H100\n";
  const std::string launches = "launch\t2\t0\t0\t1\tgemm\t\t\tgrid\nlaunch\t3\t0\t0\t1\tgemm\t\t\tgrid\n";
  const documents::Measured measured = measured_of({{parse_record(kHead + second + kPeaks + launches, "record")}},
                                                   &documents::chip_metrics("GH100"), {.mode = "quick"});
  REQUIRE(measured.devices.size() == 2);
  CHECK(measured.devices[1].name == "NVIDIA H100");
  REQUIRE(measured.kernels.size() == 4);
  CHECK(measured.kernels[2].device == 0);
  CHECK(measured.kernels[3].device == 1);
  CHECK(std::any_of(measured.missing.begin(), measured.missing.end(), [](const documents::Missing& missing) {
    return missing.what == "devices.peaks" && missing.why.find("NVIDIA H100") != std::string::npos;
  }));
  CHECK_THROWS_WITH_AS(documents::parse_measured(R"({"schema": "pagoda.measured/1", "source": "torch", "kernels":
                                          [{"name": "k", "device": 3}]})",
                                                 "text"),
                       doctest::Contains("not one of the devices"), Error);
}

TEST_CASE("a number that is none is unknown") {
  const ProcessRecord record =
      parse_record(kHead + kGroup0 + launch(0, 0, "gemm", "a", "\t1000\tnan\t32\tinf") + "end\t1\n", "record");
  const documents::Measured measured = measured_of({{record}}, &documents::chip_metrics("GH100"), {.mode = "quick"});
  CHECK(measured.kernels[0].seconds.has_value());
  CHECK_FALSE(measured.kernels[0].bytes.dram_read.has_value());
  CHECK_FALSE(measured.kernels[0].flops.at("bfloat16.tensor").has_value());
}

TEST_CASE("a launch without values makes its kernel's numbers unknown, not smaller") {
  const ProcessRecord record =
      parse_record(kHead + kGroup0 + launch(0, 0, "gemm", "a", "\t1000\t64\t32\t2048") + launch(0, 0, "gemm", "a", "") +
                       "lost\t1\t2 ranges were counted\nend\t2\n",
                   "record");
  const documents::Measured measured = measured_of({{record}}, &documents::chip_metrics("GH100"), {.mode = "quick"});
  REQUIRE(measured.kernels.size() == 1);
  CHECK(measured.kernels[0].launches == 2);
  CHECK_FALSE(measured.kernels[0].seconds.has_value());
  CHECK_FALSE(measured.kernels[0].flops.at("bfloat16.tensor").has_value());
  CHECK_FALSE(measured.kernels[0].bytes.dram_read.has_value());
  CHECK(std::get<std::int64_t>(measured.env.at("launches_without_counters")) == 1);
}

TEST_CASE("runs that counted different metrics are merged launch by launch") {
  const auto first = parse_record(kHead + kGroup0 + launch(0, 0, "gemm", "a", "\t1000\t64\t32\t2048") +
                                      launch(0, 0, "gemm", "a", "\t1000\t1\t2\t3") + "end\t2\n",
                                  "run 0");
  const auto second = parse_record(
      kHead + kGroup1 + launch(1, 0, "gemm", "a", "\t1\t2\t10") + launch(1, 0, "gemm", "a", "\t0\t0\t5") + "end\t2\n",
      "run 1");
  const documents::Measured measured =
      measured_of({{first}, {second}}, &documents::chip_metrics("GH100"), {.mode = "rotate"});
  REQUIRE(measured.kernels.size() == 1);
  CHECK(measured.kernels[0].launches == 2);
  CHECK(measured.kernels[0].flops.at("bfloat16.tensor") == 2051);
  CHECK(measured.kernels[0].flops.at("float32") == 1 + 2 + 2 * 10 + 2 * 5);
  CHECK(measured.repeats == 1);
}

TEST_CASE("rows that the runs launched differently are refused, the others merged") {
  const auto first = parse_record(kHead + kGroup0 + launch(0, 0, "gemm", "a", "\t1000\t64\t32\t2048") +
                                      launch(0, 0, "same", "b", "\t1000\t1\t2\t3") + "end\t2\n",
                                  "run 0");
  const auto second =
      parse_record(kHead + kGroup1 + launch(1, 0, "gemm", "a", "\t1\t2\t10") + launch(1, 0, "gemm", "a", "\t1\t2\t10") +
                       launch(1, 0, "same", "b", "\t1\t0\t0") + "end\t3\n",
                   "run 1");
  const documents::Measured measured =
      measured_of({{first}, {second}}, &documents::chip_metrics("GH100"), {.mode = "rotate"});
  REQUIRE(measured.kernels.size() == 2);
  CHECK_FALSE(measured.kernels[0].seconds.has_value());
  CHECK(measured.kernels[1].flops.at("float32") == 1);
  CHECK(std::any_of(measured.notes.begin(), measured.notes.end(),
                    [](const std::string& note) { return note.find("not launched alike") != std::string::npos; }));
}

TEST_CASE("CUPTI's version and place are a fact of their own, and what notes say of CUPTI stays a note") {
  const std::string refused = "CUPTI cannot be opened (libcupti.so: no such file)";
  const ProcessRecord record =
      parse_record(kHead + "cupti\t26 of /cuda/libcupti.so\nnote\t" + refused + "\n" + kGroup0 +
                       launch(0, 0, "gemm", "a", "\t1000\t64\t32\t2048") + "end\t1\n",
                   "record");
  CHECK(record.cupti == "26 of /cuda/libcupti.so");
  const documents::Measured measured = measured_of({{record}}, &documents::chip_metrics("GH100"), {.mode = "quick"});
  CHECK(std::get<std::string>(measured.env.at("cupti")) == "26 of /cuda/libcupti.so");
  CHECK(std::count(measured.notes.begin(), measured.notes.end(), refused) == 1);
}

TEST_CASE("iterations are runs: the first of three is warm-up, what came before them is preparation") {
  std::string text = kHead + kGroup0 + launch(0, -1, "fill", "", "\t9\t9\t9\t9");
  for (int i = 0; i < 4; ++i)
    text += launch(0, i, "gemm", "a", "\t" + std::to_string(i == 0 ? 9000 : 1000 * i) + "\t64\t32\t2048");
  const documents::Measured measured =
      measured_of({{parse_record(text + "end\t5\n", "r")}}, &documents::chip_metrics("GH100"), {.mode = "quick"});
  REQUIRE(measured.kernels.size() == 1);
  CHECK(measured.warmup == 1);
  CHECK(measured.repeats == 3);
  CHECK(*measured.kernels[0].seconds == doctest::Approx(2e-6));
  CHECK(measured.kernels[0].flops.at("bfloat16.tensor") == 2048);
}

TEST_CASE("times alone need no chip; energy of a second or more is given, of less it is missing") {
  const std::string head = kHead + "group\t1\t0\tseconds\n" + launch(0, 0, "gemm", "a", "\t0.5");
  const documents::Measured longer =
      measured_of({{parse_record(head + "energy\t700\t2\nend\t1\n", "r")}}, nullptr, {.mode = "time"});
  CHECK(longer.kernels[0].seconds == 0.5);
  CHECK(longer.kernels[0].flops.empty());
  REQUIRE(longer.runs.size() == 1);
  CHECK(longer.runs[0].watts == 350);
  const documents::Measured shorter =
      measured_of({{parse_record(head + "energy\t7\t0.2\nend\t1\n", "r")}}, nullptr, {.mode = "time"});
  CHECK(shorter.runs.empty());
  CHECK(names(shorter, "energy"));
}

TEST_CASE("a record cut off anywhere is read up to its last whole line, or refused with the place") {
  const std::string text = kHead + kGroup0 + launch(0, 0, "gemm", "a", "\t1000\t64\t32\t2048") + "end\t1\n";
  for (std::size_t n = 0; n < text.size(); ++n) {
    CAPTURE(n);
    try {
      const ProcessRecord record = parse_record(text.substr(0, n), "cut");
      CHECK_FALSE(record.has_ended);
    } catch (const Error& error) {
      CHECK(std::string(error.what()).find("cut") != std::string::npos);
    }
  }
  for (const char* bad : {"lost\t6100000000000000000\tfull\nlost\t6100000000000000000\tfull\n", "lost\t-1\tfull\n",
                          "launch\t1\t0\tx\t1\tk\t\t\t\n", "launch\t1\t0\t0\t1\tk\t\t\t\t5\n", "nonsense\t1\n"})
    CHECK_THROWS_AS(parse_record(kHead + bad, "bad"), Error);
}

TEST_CASE("the CSV is what Nsight Compute's importer reads, with the same numbers") {
  const ProcessRecord record =
      parse_record(kHead + kGroup0 + launch(0, 0, "void f<\"x\", 1>(float*)", "conv/1", "\t1000\t64\t32\t2048") +
                       launch(0, 0, "relu", "", "") + "end\t2\n",
                   "record");
  const documents::Measured ours = measured_of({{record}}, &documents::chip_metrics("GH100"), {.mode = "quick"});
  const documents::Measured theirs =
      measured::import_profile(record_csv({{record}}), "our table", {.format = measured::ProfileFormat::Ncu});
  REQUIRE(theirs.kernels.size() == 2);
  CHECK(theirs.kernels[0].name == "void f<\"x\", 1>(float*)");
  CHECK(theirs.kernels[0].nvtx == "conv/1");
  CHECK(*theirs.kernels[0].seconds == doctest::Approx(*ours.kernels[0].seconds));
  CHECK(theirs.kernels[0].bytes.dram == ours.kernels[0].bytes.dram);
  CHECK(theirs.kernels[0].flops.at("bfloat16.tensor") == ours.kernels[0].flops.at("bfloat16.tensor"));
  CHECK(theirs.kernels[0].detail == ours.kernels[0].detail);
  CHECK_FALSE(theirs.kernels[1].seconds.has_value());
}

TEST_CASE("the table prints kernels by time and dashes for what is unknown") {
  const ProcessRecord record = parse_record(kHead + kGroup0 + launch(0, 0, "small", "a", "\t1000\t64\t32\t2048") +
                                                launch(0, 0, "large", "b", "\t3000\t64\t32\t2048") + "end\t2\n",
                                            "record");
  const std::string table =
      profile_table(measured_of({{record}}, &documents::chip_metrics("GH100"), {.mode = "quick"}), 1);
  CHECK(table.find("large") < table.find("1 more kernels"));
  CHECK(table.find("small") == std::string::npos);
  CHECK(table.find("75") != std::string::npos);
  CHECK(table.find(" - ") != std::string::npos);  // no peak is known
  // Most precisions were not collected: the known sum is a lower bound.
  CHECK_MESSAGE(table.find("≥ 683 MFLOP/s") != std::string::npos, table);
  CHECK_MESSAGE(table.find("operations not collected: float16, float16.tensor, float32") != std::string::npos, table);
  CHECK(table.find("b\n") < table.find("all of one run"));
  const std::string by_node =
      profile_table(measured_of({{record}}, &documents::chip_metrics("GH100"), {.mode = "quick"}), 9, TableBy::Node);
  CHECK_MESSAGE(by_node.find("node") < by_node.find("kernel"), by_node);
  CHECK_MESSAGE(by_node.find(" b ") < by_node.find(" large"), by_node);
}

}  // namespace
}  // namespace pagoda::measured::profile
