// Dispatch tables of rocprofv3, rocprof-compute and Nsight Systems, written by hand after their documentation: expected
// numbers are derived next to the checks.
#include <doctest/doctest.h>

#include <algorithm>

#include "import/import_data.h"
#include "pagoda/base/csv_reader.h"
#include "pagoda/measured/join.h"

namespace pagoda::measured {
namespace {

bool misses(const documents::Measured& measured, const std::string& what) {
  return std::any_of(measured.missing.begin(), measured.missing.end(),
                     [&](const documents::Missing& missing) { return missing.what == what; });
}

}  // namespace

TEST_CASE("rocprofv3's counters: a row a counter, wavefronts of 64, matrix operations in units of 512") {
  const documents::Measured measured = load_profile(test::data_path("rocprofv3_counters.csv"));
  CHECK(measured.source == "rocprof");
  REQUIRE(measured.kernels.size() == 2);
  const documents::MeasuredKernel& gemm = measured.kernels[0];
  CHECK(gemm.name == "Cijk_Ailk_Bljk_HHS_BH_MT128x128");
  CHECK(gemm.detail == "grid 16384, group 256");
  CHECK(gemm.launches == 1);
  CHECK(*gemm.seconds == doctest::Approx(10e-6));
  CHECK(gemm.flops.at("float16.tensor") == 512 * 4096);
  CHECK(gemm.flops.at("float32") == 64 * (10 + 20 + 2 * 30));
  CHECK(*gemm.bytes.dram_read == 512 * 1024);
  CHECK(*gemm.bytes.dram_write == 128 * 1024);
  CHECK(*gemm.bytes.dram == 640 * 1024);
  // Only one of three instructions was collected: the count is unknown, not smaller.
  CHECK_FALSE(measured.kernels[1].flops.at("float32").has_value());
  CHECK_FALSE(gemm.bytes.l2.has_value());
  CHECK(misses(measured, "bytes.l2"));
  CHECK_FALSE(misses(measured, "bytes.dram"));
}

TEST_CASE("rocprofv3's trace: times of equal runs, joined by the names that ROCTx gave") {
  const documents::Measured measured = load_profile(test::data_path("rocprofv3_trace.csv"), {.runs = 2});
  REQUIRE(measured.kernels.size() == 2);
  CHECK(measured.repeats == 2);
  CHECK(*measured.kernels[0].seconds == doctest::Approx(11e-6));  // mean of 10 and 12
  CHECK(measured.kernels[0].launches == 1);
  CHECK(measured.kernels[0].provider == "queue 1");
  CHECK(measured.kernels[0].flops.empty());
  CHECK(misses(measured, "flops"));
  CHECK(misses(measured, "bytes.dram"));
  CHECK_THROWS_WITH_AS(load_profile(test::data_path("rocprofv3_trace.csv"), {.runs = 4}),
                       doctest::Contains("the runs differ"), Error);
  CHECK_THROWS_WITH_AS(load_profile(test::data_path("rocprofv3_trace.csv"), {.runs = 3}),
                       doctest::Contains("3 equal runs"), Error);
  documents::Measured joined = load_profile(test::data_path("rocprofv3_trace.csv"), {.runs = 2});
  documents::EstimateDocument estimate;
  for (const char* name : {"conv1", "relu1"}) {
    documents::EstimateNode& node = estimate.nodes.emplace_back();
    node.name = name;
    node.index = estimate.nodes.size() - 1;
  }
  join(joined, estimate);
  CHECK(*joined.join->share() == 1);
}

TEST_CASE("rocprof-compute: a column a counter; requests of memory have 32, 64 and, on MI300, 128 bytes") {
  const documents::Measured measured = load_profile(test::data_path("rocprof_compute.csv"));
  REQUIRE(measured.kernels.size() == 2);
  const documents::MeasuredKernel& copy = measured.kernels[0];
  CHECK(copy.name == "vcopy(double*, double*, int, int)");
  // Reads: 100 of 32 B, 200 of 128 B, the other 700 of 64 B; 900 writes: 800 of 64 B, 100 of 32 B.
  CHECK(*copy.bytes.dram_read == 3200 + 25600 + 44800);
  CHECK(*copy.bytes.dram_write == 51200 + 3200);
  const documents::MeasuredKernel& gemm = measured.kernels[1];
  CHECK(*gemm.seconds == doctest::Approx(4e-6));
  CHECK(gemm.flops.at("bfloat16.tensor") == 512 * 2048);
  CHECK(gemm.flops.at("float16") == 64 * (1 + 2 + 2 * 3));
}

TEST_CASE("rocprof-compute: requests of one size that exceed all of them give no bytes") {
  std::string table = test::data("rocprof_compute.csv");
  table.replace(table.find(",1000,100,200,900,800"), 21, ",250,100,200,900,1000");
  const documents::Measured measured = import_profile(table, "t.csv");
  CHECK(!measured.kernels[0].bytes.dram_read);
  CHECK(!measured.kernels[0].bytes.dram_write);
  CHECK(!measured.kernels[0].bytes.dram);
  CHECK(*measured.kernels[1].bytes.dram_read == 500 * 64);
}

TEST_CASE("Nsight Systems: kernels of a timeline with their time, copies left out") {
  const documents::Measured measured = load_profile(test::data_path("nsys_gpu_trace.csv"));
  CHECK(measured.source == "nsys");
  CHECK(measured.device == "NVIDIA H200 (0)");
  REQUIRE(measured.kernels.size() == 2);
  CHECK(measured.kernels[0].detail == "grid (128, 1, 1), block (256, 1, 1)");
  CHECK(*measured.kernels[0].seconds == doctest::Approx(12e-6));
  CHECK(measured.kernels[1].provider == "stream 7");
  CHECK(misses(measured, "flops"));
  CHECK(std::any_of(measured.notes.begin(), measured.notes.end(),
                    [](const std::string& note) { return note.starts_with("1 copy or fill"); }));
}

TEST_CASE("damaged tables of dispatches are errors with their place") {
  const std::string trace = test::data("rocprofv3_trace.csv"), counters = test::data("rocprofv3_counters.csv");
  CHECK(test::import_error(trace.substr(0, trace.size() - 40)).find("cut off") != std::string::npos);
  CHECK(test::import_error("Kernel_Name,Start_Timestamp,End_Timestamp\nk,1,x\n").find("line 2") != std::string::npos);
  CHECK(test::import_error("Kernel_Name,Start_Timestamp\nk,1\n").find("End_Timestamp") != std::string::npos);
  CHECK(test::import_error("Kernel_Name,Start_Timestamp,End_Timestamp\n").find("no dispatch") != std::string::npos);
  CHECK(test::import_error("CorrId,Duration (fs),Name\n1,2,k\n").find("Duration (ns)") != std::string::npos);
}

}  // namespace pagoda::measured
