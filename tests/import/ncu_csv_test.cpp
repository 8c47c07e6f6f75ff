// Nsight Compute's CSV, written by hand after its documentation: units, and each launch's FLOPs and bytes.
#include <doctest/doctest.h>

#include "import/import_data.h"
#include "import/ncu_metrics.h"
#include "pagoda/base/printed_number.h"
#include "pagoda/measured/join.h"

namespace pagoda::measured {

TEST_CASE("the raw page: units by column, launches of one range and shape grouped, runs told apart") {
  const documents::Measured measured = measured::load_profile(test::data_path("ncu_raw.csv"), {.runs = 2});
  CHECK(measured.device == "NVIDIA H200");
  CHECK(measured.repeats == 2);
  REQUIRE(measured.kernels.size() == 2);
  const documents::MeasuredKernel& gemm = measured.kernels[0];
  CHECK(gemm.name == "void gemm<128, 64>(float *, \"x\")");
  CHECK(gemm.nvtx == "forward//conv1/Conv");
  CHECK(gemm.provider == "stream 7");
  CHECK(gemm.detail == "grid (64, 1, 1), block (128, 1, 1)");
  CHECK(gemm.launches == 2);
  CHECK(*gemm.seconds == doctest::Approx(24e-6));  // runs of 22 and 26 µs
  CHECK(gemm.spread->max == doctest::Approx(26e-6));
  CHECK(*gemm.bytes.dram_read == doctest::Approx(25e6));
  CHECK(*gemm.bytes.dram_write == doctest::Approx(2.049e6));
  CHECK(*gemm.bytes.dram == doctest::Approx(27.049e6));
  CHECK(*gemm.bytes.l2 == 4000);
  CHECK(*gemm.bytes.l1 == 2000);
  CHECK(gemm.flops.at("bfloat16.tensor") == 2 * 8192);  // not counted again for sparsity
  CHECK(gemm.flops.at("float32") == 2 * (100 + 50 + 2 * 1000));
  CHECK(gemm.flops.count("float64") == 0);
  CHECK(measured.kernels[1].nvtx == "forward/Relu.1(/relu/Relu)");
  CHECK(measured.kernels[1].flops.at("float32") == 7);
}

TEST_CASE("a precision of which one instruction was not collected is unknown, not smaller") {
  using import::sample_of;
  const std::string op = "sm__sass_thread_inst_executed_op_";
  const auto sample = sample_of({{op + "hadd_pred_on.sum", 10}, {op + "hmul_pred_on.sum", 1}});
  REQUIRE(sample.flops.count("float16") == 1);
  CHECK(!sample.flops.at("float16"));
  const auto whole =
      sample_of({{op + "hadd_pred_on.sum", 10}, {op + "hmul_pred_on.sum", 1}, {op + "hfma_pred_on.sum", 100}});
  CHECK(*whole.flops.at("float16") == 2 * 10 + 2 * 1 + 4 * 100);  // packed pairs
}

TEST_CASE("tensor operations: totals, or sparsity, or instructions, never two of them") {
  using import::sample_of;
  const std::string tensor = "sm__ops_path_tensor_";
  CHECK(*sample_of({{tensor + "src_fp16_dst_fp16.sum", 3}, {tensor + "src_fp16_dst_fp32.sum", 4}})
             .flops.at("float16.tensor") == 7);
  CHECK(*sample_of({{tensor + "src_int8_sparsity_on.sum", 3}, {tensor + "src_int8_sparsity_off.sum", 4}})
             .flops.at("int8.tensor") == 7);
  CHECK(*sample_of({{tensor + "op_hgmma_src_bf16_dst_fp32.sum", 5}, {tensor + "op_hmma_src_bf16_dst_fp32.sum", 6}})
             .flops.at("bfloat16.tensor") == 11);
  CHECK(*sample_of({{tensor + "src_bf16_dst_fp32.sum", 11}, {tensor + "op_hmma_src_bf16_dst_fp32.sum", 6}})
             .flops.at("bfloat16.tensor") == 11);
  CHECK(*sample_of({{tensor + "src_tf32.sum", 9}, {tensor + "src_tf32_realtime.sum", 9}}).flops.at("tf32.tensor") == 9);
  CHECK(sample_of({{tensor + "src_fp4_fp6_fp8_dst_fp32.sum", 9}}).flops.empty());
  // Instruction counts show that there were operations, but not how many: unknown, not zero.
  const auto worked = sample_of({{"sm__inst_executed_pipe_tensor_op_hmma.sum", 9}});
  REQUIRE(worked.flops.count("float16.tensor") == 1);
  CHECK_FALSE(worked.flops.at("float16.tensor"));
  CHECK(sample_of({{"sm__inst_executed_pipe_tensor_op_hmma.sum", 0}}).flops.empty());
  CHECK(sample_of({{"sm__inst_executed_pipe_tensor_op_imma.sum", 1}}).flops.count("int8.tensor") == 1);
}

TEST_CASE("rates of roofline sections are counts where time and clock are there, and never beside a sum") {
  using import::sample_of;
  const std::string tensor = "sm__ops_path_tensor_src_fp16_dst_fp32";
  const std::string clock = "sm__cycles_elapsed.avg.per_second", time = "gpu__time_duration.sum";
  // 4096 operations per cycle, 1.5 GHz, 2 ms.
  CHECK(*sample_of({{tensor + ".sum.per_cycle_elapsed", 4096}, {clock, 1.5e9}, {time, 2e-3}})
             .flops.at("float16.tensor") == doctest::Approx(4096 * 1.5e9 * 2e-3));
  CHECK(*sample_of({{tensor + ".sum.per_second", 6e12}, {time, 2e-3}}).flops.at("float16.tensor") ==
        doctest::Approx(1.2e10));
  CHECK(*sample_of({{tensor + ".sum", 7}, {tensor + ".sum.per_second", 6e12}, {time, 2e-3}})
             .flops.at("float16.tensor") == 7);
  CHECK(sample_of({{tensor + ".sum.per_cycle_elapsed", 4096}, {time, 2e-3}}).flops.empty());
}

TEST_CASE("ncu by itself: a table by kernel, totals of a run, how often each is launched, and CSV") {
  std::string csv = "\"ID\",\"Kernel Name\",\"gpu__time_duration.sum\",\"sm__sass_thread_inst_executed_op_fadd_pred_on.sum\","
                    "\"sm__sass_thread_inst_executed_op_fmul_pred_on.sum\",\"sm__sass_thread_inst_executed_op_ffma_pred_on.sum\","
                    "\"sm__ops_path_tensor_src_fp16_dst_fp32.sum\",\"dram__bytes.sum\"\n"
                    ",,\"ns\",\"inst\",\"inst\",\"inst\",\"\",\"byte\"\n"
                    "1,\"relu\",\"1000\",\"100\",\"0\",\"0\",\"0\",\"400\"\n"
                    "2,\"gemm\",\"8000\",\"0\",\"0\",\"50\",\"20000\",\"1000\"\n"
                    "3,\"relu\",\"1000\",\"100\",\"0\",\"0\",\"0\",\"400\"\n"
                    "4,\"sm80_xmma_gemm_f16\",\"10000\",\"0\",\"0\",\"0\",\"n/a\",\"2000\"\n";
  const documents::Measured measured = import_profile(csv, "ncu.csv");
  const std::string text = measured::kernel_report(measured);
  const std::size_t relu = text.find("\nrelu ");
  REQUIRE(relu != std::string::npos);
  const std::string row = text.substr(relu + 1, text.find('\n', relu + 1) - relu - 1);
  for (const char* cell : {" 2 ", "2.00 µs", "10.0 %", " 200", "800 B", "0.250"})
    CHECK_MESSAGE(row.find(cell) != std::string::npos, text);
  CHECK_MESSAGE(text.find("sum of one run             4  20.0 µs      100 %") != std::string::npos, text);
  CHECK(text.find("launched in a run  1×: 2 kernels, 2×: 1 kernel\n") != std::string::npos);
  const std::string table = measured::kernels_csv(measured);
  CHECK(table.starts_with("name,op_type,nodes,nvtx,provider,launches,seconds,share,flops.float16.tensor,flops.float32,"));
  CHECK(table.find(",20000,100,1000,,,,20.1,\r\n") != std::string::npos);
  // Its name indicates tensor cores, but nothing was counted: no intensity, rather than one of zero.
  CHECK_MESSAGE(table.find(",,0,2000,,,,,\r\n") != std::string::npos, table);
}

TEST_CASE("what a kernel without counters adds is unknown: sums are bounds, launches a question mark") {
  documents::Measured measured;
  measured.kernels.resize(2);
  measured.kernels[0].name = "counted";
  measured.kernels[0].launches = 2;
  measured.kernels[0].flops["float32"] = 3000;
  measured.kernels[1].name = "silent";
  for (documents::MeasuredKernel& kernel : measured.kernels) kernel.seconds = 1e-6;
  const std::string text = measured::kernel_report(measured);
  const auto line = [&](const std::string& name) {
    const std::size_t at = text.find("\n" + name) + 1;
    return text.substr(at, text.find('\n', at) - at);
  };
  CHECK_MESSAGE(line("counted").find(" 3.00 k ") != std::string::npos, text);
  CHECK_MESSAGE(line("counted").find("≥") == std::string::npos, text);
  const std::string silent = line("silent");
  CHECK_MESSAGE(std::count(silent.begin(), silent.end(), '?') == 4, text);
  CHECK_MESSAGE(line("sum of one run").find("≥ 3.00 k") != std::string::npos, text);
  CHECK_MESSAGE(line("sum of one run").find(" ? ") != std::string::npos, text);
  CHECK_MESSAGE(text.find("launched in a run  2×: 1 kernel\n") != std::string::npos, text);
}

TEST_CASE("a row a metric: rates become totals, and what a launch lacks is unknown") {
  const documents::Measured measured = measured::load_profile(test::data_path("ncu_long.csv"));
  REQUIRE(measured.kernels.size() == 2);
  // (2 + 1 + 8) operations per cycle · 1.5 GHz · 4 µs
  CHECK(*measured.kernels[0].flops.at("float64") == doctest::Approx(66000));
  CHECK(*measured.kernels[0].bytes.dram == doctest::Approx(1e6));
  CHECK(measured.kernels[1].flops.empty());
  CHECK(!measured.kernels[1].bytes.dram);
  CHECK(*measured.kernels[1].seconds == doctest::Approx(5e-6));
}

TEST_CASE("units and printed numbers") {
  const std::pair<const char*, double> units[] = {
      {"nsecond", 1e-9}, {"us", 1e-6},          {"msecond", 1e-3}, {"second", 1}, {"byte", 1},    {"Kbyte", 1e3},
      {"Mbyte", 1e6},    {"Gbyte/second", 1e9}, {"Ghz", 1e9},      {"inst", 1},   {"Kinst", 1e3}, {"", 1}};
  for (const auto& [name, scale] : units) {
    const char* const unit = name;
    CHECK_MESSAGE(import::unit_scale(unit) == scale, unit);
  }
  for (const char* unit : {"%", "parsec", "byte/block", "K"}) CHECK_MESSAGE(!import::unit_scale(unit), unit);
  CHECK(base::printed("1,234,567.5").with_point == 1234567.5);
  CHECK(base::printed("158 (0: 158)").with_point == 158);
  for (const char* text : {"n/a", "", "nan", "inf", "1.234,5", "12x"}) CHECK_MESSAGE(!base::printed(text).with_point, text);
}

TEST_CASE("damaged CSV is an error with its line") {
  const std::string text = test::data("ncu_raw.csv");
  CHECK(test::import_error(text.substr(0, text.size() - 3)).find("profile, line 9: a quote is opened") == 0);
  CHECK(test::import_error(text.substr(0, text.size() - 40)).find("profile, line 9: ") == 0);
  CHECK(test::import_error(text, {.runs = 4}).find("not 4 equal runs") != std::string::npos);
  CHECK(test::import_error(text, {.runs = 3}).find("the runs differ") != std::string::npos);
  std::string parsec = text;
  parsec.replace(parsec.find("\"us\""), 4, "\"pc\"");
  CHECK(test::import_error(parsec).find("\"gpu__time_duration.sum\" is in \"pc\"") != std::string::npos);
}

}  // namespace pagoda::measured
