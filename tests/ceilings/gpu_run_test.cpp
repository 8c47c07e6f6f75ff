// The whole GPU path on a driver without a device: all that would run on a GPU, except the machine code.
#include <doctest/doctest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "cuda/tcgen05_layout.h"
#include "gpu_blobs.h"
#include "gpu_counters.h"
#include "gpu_run.h"
#include "pagoda/documents/ceilings.h"
#include "support/files.h"
#include "support/json_schema.h"
#include "support/workshop.h"

namespace {

namespace fs = std::filesystem;
namespace ceilings = pagoda::tools::ceilings;

using pagoda::test::Outcome;
using pagoda::test::Workshop;

Outcome run(const std::string& arguments, const std::string& fault = "", const std::string& chip = "") {
  return Workshop().shell("FAKE_CUDA_CHIP=" + chip + " FAKE_CUDA_FAULT=" + fault +
                          " LD_LIBRARY_PATH=" PAGODA_FAKE_DRIVER " " PAGODA_ERT_CEILINGS " --gpu 0 --quick " +
                          arguments);
}

const pagoda::documents::Ceiling& of(const pagoda::documents::CeilingsDocument& document, const std::string& id,
                                     pagoda::documents::CeilingMode mode) {
  for (const pagoda::documents::Ceiling& c : document.ceilings)
    if (c.id == id && c.mode == mode) return c;
  FAIL("no ceiling " << id);
  std::abort();
}

// Ends the program as skipped where no kernels for a capability are embedded. Tests that need the same kernels form a
// suite, and ctest runs each suite alone, so no test has failed before.
void need_kernels(int capability) {
  const auto blobs = ceilings::gpu_blobs();
  if (std::any_of(blobs.begin(), blobs.end(),
                  [&](const ceilings::GpuBlob& blob) { return blob.capability == capability && blob.exact; }))
    return;
  std::printf("skipped: no kernels for compute capability %d.%d are embedded\n", capability / 10, capability % 10);
  std::exit(77);
}

void measure_by_tcgen05(const std::string& chip) {
  std::vector<std::pair<std::string, double>> both;  // with their share of the rate on 10.3
  for (const std::string way : {".tcgen05", ".tcgen05.pair"})
    for (const char* precision : {"float16", "bfloat16", "tf32", "float8", "int8"})
      both.push_back({precision + way, 1});
  for (const std::string way : {".tcgen05", ".tcgen05.pair"}) {
    both.push_back({"float8" + way + ".mx", 1});
    for (const char* variant : {".mx", ".nv"}) both.push_back({"float4" + way + variant, 2.0 / 3});
  }
  both.push_back({"float4.tcgen05.pair.mx.long", 1});
  both.push_back({"float4.tcgen05.pair.nv.long", 1});
  CAPTURE(chip);
  const bool ultra = chip == "ultra";
  const Workshop shop;
  const std::string json = shop.path("a.json");
  const Outcome r = run("--only mma,tcgen05,shared.read --budget 6 --json " + json, "", chip);
  CAPTURE(r.err);
  CHECK(r.code == 0);
  const pagoda::documents::CeilingsDocument document = pagoda::documents::load_ceilings(json);
  for (const pagoda::documents::Ceiling& c : document.ceilings) {
    CAPTURE(c.id);
    CAPTURE(c.note);
    CHECK(c.value.has_value());
    CHECK(c.id.find("wgmma") == std::string::npos);
    CHECK((c.status != pagoda::documents::CeilingStatus::WrongResult &&
           c.status != pagoda::documents::CeilingStatus::Impossible));
  }
  for (const auto& [name, share] : both) {
    const std::string id = name;
    CAPTURE(id);
    if (ultra ? id.starts_with("int8") : id.ends_with(".long")) {
      CHECK(pagoda::documents::find_ceiling(document, id) == nullptr);
      continue;
    }
    const pagoda::documents::Ceiling& c = of(document, id, pagoda::documents::CeilingMode::Issue);
    CHECK(c.percent(c.theory.observed_clock).value_or(-1) == doctest::Approx(98 * (ultra ? share : 1)).epsilon(0.01));
    CHECK(std::get<std::int64_t>(c.code.at("total")) < 120);
    of(document, id, pagoda::documents::CeilingMode::Sustained);
  }
  // What a chip has no kernel for is reported, but only for its own tensor instructions.
  const auto said = [&](const char* text) {
    return std::any_of(document.not_run.begin(), document.not_run.end(),
                       [&](const std::string& line) { return line.find(text) != std::string::npos; });
  };
  CHECK(said("float8.mma"));
  CHECK(said("int8.tcgen05") == ultra);
  CHECK(said(".long") == !ultra);
  CHECK(!said("wgmma"));
}

}  // namespace

TEST_CASE("every kernel of a GPU is launched, checked against closed forms and reported" *
          doctest::test_suite("kernels_hopper")) {
  need_kernels(90);
  const Workshop shop;
  const std::string json = shop.path("a.json");
  const Outcome r = run("--only cuda,mma,dram,l1,l2,shared,atomics,pcie,launch,sync --budget 8 --json " + json +
                        " --csv " + shop.path("a.csv"));
  CAPTURE(r.err);
  CHECK(r.code == 0);
  pagoda::test::check_schema(pagoda::test::read_file(json), "ceilings");
  const pagoda::documents::CeilingsDocument document = pagoda::documents::load_ceilings(json);
  CHECK(document.ceilings.size() > 50);
  for (const pagoda::documents::Ceiling& c : document.ceilings) {
    CAPTURE(c.id);
    CAPTURE(c.note);
    CHECK(c.value.has_value());
    CHECK((c.status != pagoda::documents::CeilingStatus::WrongResult &&
           c.status != pagoda::documents::CeilingStatus::Impossible));
    CHECK(c.n >= 3);
  }
  // The rates of the fake device must come back, so work is credited and divided correctly.
  using pagoda::documents::CeilingMode;
  const auto percent = [&](const char* id, pagoda::documents::CeilingMode mode) {
    const pagoda::documents::Ceiling& c = of(document, id, mode);
    return c.percent(c.theory.observed_clock).value_or(-1);
  };
  CHECK(percent("float32.cuda.fma", pagoda::documents::CeilingMode::Issue) ==
        doctest::Approx(100 * 127 / 128.0).epsilon(0.01));
  CHECK(percent("float64.cuda.fma", pagoda::documents::CeilingMode::Issue) ==
        doctest::Approx(100 * 63.5 / 64).epsilon(0.01));
  for (const char* id :
       {"bfloat16.wgmma", "float16.wgmma", "tf32.wgmma", "float8.wgmma", "int8.wgmma", "float64.mma"}) {
    CAPTURE(id);
    CHECK(percent(id, pagoda::documents::CeilingMode::Issue) == doctest::Approx(98).epsilon(0.01));
  }
  CHECK(percent("bfloat16.mma", pagoda::documents::CeilingMode::Issue) == doctest::Approx(0.6 * 98).epsilon(0.01));
  for (const char* op : {"read", "write", "copy", "scale", "add", "triad"})
    CHECK(percent((std::string("dram.") + op).c_str(), pagoda::documents::CeilingMode::Sustained) ==
          doctest::Approx(90).epsilon(0.01));
  CHECK(percent("l1.read", pagoda::documents::CeilingMode::Sustained) ==
        doctest::Approx(100 * 126 / 128.0).epsilon(0.01));
  CHECK(percent("shared.write", pagoda::documents::CeilingMode::Sustained) ==
        doctest::Approx(100 * 126 / 128.0).epsilon(0.01));
  CHECK(of(document, "pcie.to_host", pagoda::documents::CeilingMode::Sustained).value.value() ==
        doctest::Approx(20e9).epsilon(0.02));
  CHECK(pagoda::test::read_file(shop.path("a.trace.csv")).starts_with("seconds,watts,sm_hz,celsius,reasons\n"));
}

TEST_CASE("data-centre Blackwell is measured by tcgen05, checked against closed forms and divided by its own rates" *
          doctest::test_suite("kernels_blackwell")) {
  need_kernels(100);
  measure_by_tcgen05("blackwell");
}

TEST_CASE("Blackwell Ultra is measured by tcgen05, checked against closed forms and divided by its own rates" *
          doctest::test_suite("kernels_blackwell_ultra")) {
  need_kernels(103);
  measure_by_tcgen05("ultra");
}

TEST_CASE("one wrong bit of a product by tcgen05 takes the value away" * doctest::test_suite("kernels_blackwell")) {
  need_kernels(100);
  const std::pair<const char*, const char*> rows[] = {{"tcgen05_bf16", "bfloat16.tcgen05"},
                                                      {"tcgen05_nvfp4", "float4.tcgen05.nv"},
                                                      {"tcgen05_pair_i8", "int8.tcgen05.pair"}};
  for (const auto& [name, id] : rows) {
    const std::string kernel = name;
    CAPTURE(kernel);
    const Outcome r = run("--budget 1 --only " + std::string(id), kernel + ":wrong", "blackwell");
    CAPTURE(r.err);
    CHECK(r.code == 5);
    CHECK(r.says("must be"));
  }
}

TEST_CASE("a chip's ways to its tensor rate are those of its major version, mma.sync among them") {
  const auto ways = [](int major) {
    pagoda::lab::GpuAttributes gpu;
    gpu.major = major;
    std::string all;
    for (const ceilings::TensorPath path : ceilings::tensor_paths(gpu))
      all += std::string(ceilings::suffix_of(path)) + " ";
    return all;
  };
  CHECK(ways(7) == ".mma ");
  CHECK(ways(8) == ".mma ");
  CHECK(ways(9) == ".wgmma .mma ");
  CHECK(ways(10) == ".tcgen05 .tcgen05.pair .mma ");
  CHECK(ways(12) == ".mma ");
}

TEST_CASE("descriptors of tcgen05 say what the tables of the PTX ISA have at their bits") {
  using namespace tcgen05;
  const auto bits = [](std::uint64_t word, int from, int count) {
    return word >> from & ((std::uint64_t{1} << count) - 1);
  };
  struct Descriptor {
    std::uint64_t word, leading, absolute;
  };
  // Long descriptors hold the address of the next tile instead of a leading offset, which
  // swizzled K-major operands do not use.
  for (const Descriptor& d : {Descriptor{descriptor(0x2c400), 1, 0}, {long_descriptor(0x2c400, 0x30000), 0x3000, 1}}) {
    CHECK(bits(d.word, 0, 14) == 0x2c40);  // address / 16
    CHECK(bits(d.word, 16, 14) == d.leading);
    CHECK(bits(d.word, 32, 14) == 64);  // 8 rows of 128 bytes, / 16
    CHECK(bits(d.word, 46, 3) == 1);    // fixed
    CHECK(bits(d.word, 49, 3) == 0);    // the tiles begin at multiples of 1024
    CHECK(bits(d.word, 52, 1) == d.absolute);
    CHECK(bits(d.word, 53, 8) == 0);  // fixed
    CHECK(bits(d.word, 61, 3) == 2);  // 128-byte swizzle
  }
  struct Case {
    const char* kernel;
    std::uint32_t word;
    unsigned accumulator, format, scales, rows, longer;
  };
  for (const Case& c : {Case{"f16", instruction(1, 1, 0, 0), 1, 0, 0, 128, 0},
                        {"pair bf16", instruction(2, 1, 1, 0), 1, 1, 0, 256, 0},
                        {"tf32", instruction(1, 1, 2, 0), 1, 2, 0, 128, 0},
                        {"pair s8", instruction(2, 2, 1, 0), 2, 1, 0, 256, 0},
                        {"mx e4m3", instruction(1, 0, 0, 1), 0, 0, 1, 128, 0},
                        {"mx e2m1", instruction(1, 0, 1, 1), 0, 1, 1, 128, 0},
                        {"pair nv e2m1", instruction(2, 0, 1, 0), 0, 1, 0, 256, 0},
                        {"long nv e2m1", instruction(2, 0, 1, 0, kLongDepthBytes), 0, 1, 0, 256, 1}}) {
    CAPTURE(c.kernel);
    CHECK(bits(c.word, 0, 4) == 0);  // dense, no saturation
    CHECK(bits(c.word, 4, 2) == c.accumulator);
    CHECK(bits(c.word, 6, 1) == 0);
    CHECK(bits(c.word, 7, 3) == c.format);
    CHECK(bits(c.word, 10, 3) == c.format);
    CHECK(bits(c.word, 13, 4) == 0);  // not negated, not transposed
    CHECK(bits(c.word, 17, 6) * 8 == 256);
    CHECK(bits(c.word, 23, 1) == c.scales);
    CHECK(bits(c.word, 24, 5) * 16 == c.rows);
    CHECK(bits(c.word, 29, 2) == 0);
    CHECK(bits(c.word, 31, 1) == c.longer);
  }
  // Each product of two stages reads its own part of the depth, within 128 bytes of a row and within the tiles.
  for (const int depth : {kDepthBytes, kLongDepthBytes}) {
    std::set<std::uint32_t> a, b;
    for (int k = 0; k < kProducts; ++k) {
      a.insert(address_a(0, k, depth));
      b.insert(address_b(0, k, depth));
      CHECK(address_a(0, k, depth) % 16 == 0);
      CHECK(address_a(0, k, depth) % 128 + depth <= 128);
      CHECK(address_b(0, k, depth) % 128 == address_a(0, k, depth) % 128);
      CHECK(address_a(0, k, depth) + (kM - 1) * 128 + depth <= 2 * kStageA);
      CHECK(address_b(0, k, depth) >= 2 * kStageA);
      CHECK(address_b(0, k, depth) + (kN - 1) * 128 + depth <= kBytes);
    }
    CHECK(a.size() == (depth == kDepthBytes ? 8 : 4));
    CHECK(b.size() == a.size());
  }
}

TEST_CASE("the closed form of tcgen05 is the product of its patterns") {
  for (const int blocks : {0, 1, 2, 4, tcgen05::kAlike})
    for (int row = 0; row < 256; row += 7)
      for (int column = 0; column < 256; column += 5) {
        const bool longer = blocks == tcgen05::kAlike;
        const int depth = longer ? 96 : 64, stage = longer ? 2 : 4;
        double sum = 0;
        for (int k = 0; k < tcgen05::kProducts; ++k)
          for (int i = 0; i < depth; ++i) {
            const int block = blocks <= 0 ? 0 : i / (depth / blocks);
            const double scale = longer        ? 2
                                 : blocks == 0 ? 1
                                               : std::exp2(tcgen05::exponent_a(row, block)) *
                                                     std::exp2(tcgen05::exponent_b(column, block));
            const int times = k / stage % 2 == 0 && k % 2 == 0 ? ceilings::kEven : 1;
            sum += scale * (row % 3 - 1) * times * (column % 4);
          }
        REQUIRE(ceilings::tcgen05_element(row, column, depth, blocks) == sum);
      }
}

TEST_CASE("one wrong bit of a result takes the value away" * doctest::test_suite("kernels_hopper")) {
  need_kernels(90);
  for (const char* kernel : {"fma_f32", "wgmma_bf16", "hbm_copy"}) {
    CAPTURE(kernel);
    const std::string id = std::string(kernel) == "fma_f32"    ? "float32.cuda.fma"
                           : std::string(kernel) == "hbm_copy" ? "dram.copy"
                                                               : "bfloat16.wgmma";
    const Outcome r = run("--budget 1 --only " + id, std::string(kernel) + ":wrong");
    CAPTURE(r.err);
    CHECK(r.code == 5);
    CHECK(r.says("must be"));
  }
}

TEST_CASE("bulk copies that read wrong words are left out of dram.read, which keeps its plain loads" *
          doctest::test_suite("kernels_hopper")) {
  need_kernels(90);
  for (const bool is_wrong : {false, true}) {
    const Workshop shop;
    const std::string json = shop.path("a.json");
    const Outcome r = run("--budget 1 --only dram.read --json " + json, is_wrong ? "hbm_read_bulk:wrong" : "");
    CAPTURE(r.err);
    CHECK(r.code == 0);
    const pagoda::documents::CeilingsDocument document = pagoda::documents::load_ceilings(json);
    const pagoda::documents::Ceiling& c = of(document, "dram.read", pagoda::documents::CeilingMode::Sustained);
    CHECK(c.value.has_value());
    CHECK(c.config.contains("bulk copies") == is_wrong);
    CHECK((!is_wrong || c.kernel == "hbm_read"));
  }
}

TEST_CASE("a device that is lost before anything is measured is a message and exit 4") {
  const Outcome r = run("", "context");
  CAPTURE(r.err);
  CHECK(r.code == 4);
  CHECK(r.says("cuCtxSetCurrent"));
}

TEST_CASE("a chip that is newer than the build's machine code runs PTX, and the report says so" *
          doctest::test_suite("kernels_hopper")) {
  need_kernels(90);
  const Outcome r = run("--only launch", "", "next");
  CAPTURE(r.err);
  CHECK(r.code == 0);
  CHECK(r.says("not run: machine code: this build has none for compute capability 99.0"));
}

TEST_CASE("a driver older than the toolkit is exit 6: the device is there, and what would mend it is said" *
          doctest::test_suite("kernels_hopper")) {
  need_kernels(90);
  const Outcome r = run("", "old");
  CAPTURE(r.err);
  CHECK(r.code == 6);
  CHECK(r.says("update the driver"));
}

TEST_CASE("a kernel that kills the device leaves the other values, and a second run fills the gaps" *
          doctest::test_suite("kernels_hopper")) {
  need_kernels(90);
  const Workshop shop;
  const std::string first = shop.path("a.json"), second = shop.path("b.json");
  const std::string what = "--budget 2 --only cuda,dram.read";
  Outcome r = run(what + " --json " + first, "imad_i32:fail");
  CAPTURE(r.err);
  CHECK(r.code == 3);
  pagoda::documents::CeilingsDocument document = pagoda::documents::load_ceilings(first);
  std::size_t measured = 0, missing = 0;
  for (const pagoda::documents::Ceiling& c : document.ceilings) (c.value ? measured : missing)++;
  CHECK(missing > 0);
  r = run(what + " --json " + second + " --resume " + first);
  CAPTURE(r.err);
  document = pagoda::documents::load_ceilings(second);
  CHECK(document.ceilings.size() == measured + missing);
  for (const pagoda::documents::Ceiling& c : document.ceilings) {
    CAPTURE(c.id);
    // The kernel that failed is not retried; kernels that were not reached are measured.
    CHECK(c.value.has_value() == (c.note.find("imad_i32") == std::string::npos));
  }
}

TEST_CASE("the sweep, the controls and the checks of a whole run" * doctest::test_suite("kernels_hopper")) {
  need_kernels(90);
  const Workshop shop;
  const std::string json = shop.path("a.json");
  const Outcome r = run("--budget 6 --counters --energy --json " + json);
  CAPTURE(r.err);
  CHECK((r.code == 0 || r.code == 3));
  const pagoda::documents::CeilingsDocument document = pagoda::documents::load_ceilings(json);
  std::size_t seen = 0;
  for (const pagoda::documents::CeilingCheck& check : document.checks)
    for (const char* name : {"twice the work takes twice the time", "a stride of 2 halves shared memory",
                             "sustained below issue", "levels in order", "drift"})
      if (check.name == name) {
        ++seen;
        CAPTURE(check.name);
        CAPTURE(check.detail);
        CHECK(check.passed);
      }
  CHECK(seen == 5);
  // Without a device there are no counters, and the fake's energy counter does not move: both are reported.
  std::string not_run;
  for (const std::string& line : document.not_run) not_run += line + "\n";
  CHECK(not_run.find("counters: ") != std::string::npos);
  CHECK(not_run.find("energy: ") != std::string::npos);
  CHECK(pagoda::test::read_file(shop.path("a.points.csv")).starts_with("level,working_set_bytes"));
}

TEST_CASE("operands of wgmma lie where its descriptors say") {
  // The layout of 128-byte swizzled tiles by the address bits (PTX ISA: bits 4-6 are exclusive-or'ed with bits 7-9),
  // where the descriptor's start advances by 32 bytes per product and groups of 8 rows are 1024 bytes apart, must be
  // where fill_tile of cuda/tensor.cu puts element (row, column): chunk c of row r at c ^ (r % 8).
  for (const int element : {1, 2, 4})
    for (int product = 0; product < 4; ++product)
      for (int row = 0; row < 256; ++row)
        for (int k = 0; k < 32 / element; ++k) {
          const int column = (product * 32) / element + k;
          const int per_chunk = 16 / element;
          const int filled = row * 128 + ((column / per_chunk) ^ (row & 7)) * 16 + column % per_chunk * element;
          int address = product * 32 + row / 8 * 1024 + row % 8 * 128 + k * element;
          address ^= (address >> 7 & 7) << 4;
          REQUIRE(address == filled);
        }
  // Every element of the product of the patterns must be an integer from -3 to 3.
  for (unsigned thread = 0; thread < 128; ++thread)
    for (unsigned i = 0; i < 128; ++i) {
      double worth = ceilings::wgmma_element(thread, i, 1);
      CHECK((worth == -3 || worth == -2 || worth == -1 || worth == 0 || worth == 1 || worth == 2 || worth == 3));
    }
}

TEST_CASE("operands of tcgen05 lie where its descriptors say, at both depths") {
  using namespace tcgen05;
  // The same, byte by byte: half-byte formats are filled by bytes.
  for (const int depth : {kDepthBytes, kLongDepthBytes})
    for (int k = 0; k < 2 * per_stage(depth); ++k)
      for (int row = 0; row < kM; ++row)
        for (int byte = 0; byte < depth; ++byte) {
          const int column = k % per_stage(depth) * depth + byte;
          const int filled =
              k / per_stage(depth) * kStageA + row * 128 + ((column / 16) ^ (row & 7)) * 16 + column % 16;
          const auto start = static_cast<int>(address_a(0, k, depth));
          int address = start + row / 8 * 1024 + row % 8 * 128 + byte;
          address ^= (address >> 7 & 7) << 4;
          REQUIRE(address == filled);
          REQUIRE(static_cast<int>(address_b(0, k, depth)) % 1024 == start % 1024);
        }
}

TEST_CASE("registers of a warpgroup hold every element of the product once") {
  // The patterns cannot distinguish all rows and columns by value, but the map itself must be a bijection.
  std::vector<int> seen(64 * 256, 0);
  for (unsigned thread = 0; thread < 128; ++thread)
    for (unsigned i = 0; i < 128; ++i) {
      const unsigned warp = thread / 32, lane = thread % 32;
      const unsigned m = 16 * warp + lane / 4 + 8 * (i / 2 % 2), n = 8 * (i / 4) + 2 * (lane % 4) + i % 2;
      ++seen[m * 256 + n];
      CHECK(ceilings::wgmma_element(thread, i, 2) == 2.0 * (static_cast<int>(m % 3) - 1) * static_cast<int>(n % 4));
    }
  CHECK(std::count(seen.begin(), seen.end(), 1) == 64 * 256);
  // Over one trip: products 0-3 of every eight belong to the first stage, where 0 and 2 weigh more.
  int depth = 0;
  for (int k = 0; k < 32; ++k) depth += 16 * (k % 8 == 0 || k % 8 == 2 ? ceilings::kEven : 1);
  CHECK(ceilings::weighed_depth(32, 16) == depth);
}

TEST_CASE("work is counted by the counters of its unit") {
  using ceilings::counter_sets;
  CHECK(counter_sets("wgmma_bf16", "bfloat16", "", "fma").front().metrics.front() ==
        "sm__ops_path_tensor_op_hgmma_src_bf16_dst_fp32.sum");
  CHECK(counter_sets("mma_i8", "int8", "", "fma").front().metrics.front() ==
        "sm__ops_path_tensor_op_imma_src_int8.sum");
  const auto half = counter_sets("fma_f16", "float16", "", "fma").front();
  CHECK(half.worth == std::vector<double>{2, 2, 4});
  CHECK(counter_sets("fma_f32", "float32", "", "fma").front().worth == std::vector<double>{1, 1, 2});
  CHECK(counter_sets("hbm_triad", "", "dram", "triad").front().metrics.size() == 2);
  CHECK(counter_sets("tcgen05_nvfp4", "float4", "", "fma").front().metrics.front() ==
        "sm__ops_path_tensor_op_utcomma_src_fp4_dst_fp32.sum");
  CHECK(counter_sets("imad_i32", "int32", "", "fma").empty());
  // A library's product in half floats or float64 runs on tensor units, by whichever instruction.
  CHECK(counter_sets("cublaslt", "bfloat16", "", "gemm").front().metrics.front() ==
        "sm__ops_path_tensor_src_bf16_dst_fp32.sum");
  CHECK(counter_sets("cublaslt", "float64", "", "gemm").front().metrics.front() == "sm__ops_path_tensor_src_fp64.sum");
  CHECK(counter_sets("cublaslt", "float32", "", "gemm").front().worth == std::vector<double>{1, 1, 2});
  // ptxas writes half of the packed additions as HFMA2, which counts twice.
  CHECK(counter_sets("add_f16", "float16", "", "add").empty());
  // A level's counter excludes other work of its kernel, such as filling shared memory once.
  CHECK(counter_sets("shared_read", "", "shared", "read").front().metrics ==
        std::vector<std::string>{"sm__sass_data_bytes_mem_shared_op_ld.sum"});
  CHECK(counter_sets("shared_write", "", "shared", "write").front().metrics ==
        std::vector<std::string>{"sm__sass_data_bytes_mem_shared_op_st.sum"});
  // Counted between L2 and L1, not at the L2 slices: those count transfers between the two L2 halves twice.
  const auto l2 = counter_sets("l2_read", "", "l2", "read").front();
  CHECK(l2.metrics.front() == "l1tex__m_xbar2l1tex_read_bytes.sum");
  CHECK(l2.worth == std::vector<double>{1, 1, -1, -1});
  CHECK(counter_sets("copy engine", "", "pcie", "write").empty());
}

TEST_CASE("the catalogues of Hopper's and Blackwell's counters have those of every kernel there") {
  struct Row {
    const char *chip, *kernel, *precision, *level, *op = "fma";
  };
  const Row rows[] = {{"GH100", "fma_f32", "float32", ""},
                      {"GH100", "fma_f64", "float64", ""},
                      {"GH100", "fma_f16", "float16", ""},
                      {"GH100", "wgmma_f16", "float16", ""},
                      {"GH100", "wgmma_bf16", "bfloat16", ""},
                      {"GH100", "wgmma_tf32", "tf32", ""},
                      {"GH100", "wgmma_fp8", "float8", ""},
                      {"GH100", "wgmma_i8", "int8", ""},
                      {"GH100", "mma_f64", "float64", ""},
                      {"GH100", "mma_bf16", "bfloat16", ""},
                      {"GH100", "mma_tf32", "tf32", ""},
                      {"GH100", "cublaslt", "float64", "", "gemm"},
                      {"GH100", "cublaslt", "float16", "", "gemm"},
                      {"GH100", "cublaslt", "int8", "", "gemm"},
                      {"GH100", "hbm_copy", "", "dram"},
                      {"GH100", "l2_read", "", "l2"},
                      {"GH100", "l1_read", "", "l1"},
                      {"GB100", "tcgen05_f16", "float16", ""},
                      {"GB100", "tcgen05_bf16", "bfloat16", ""},
                      {"GB100", "tcgen05_tf32", "tf32", ""},
                      {"GB100", "tcgen05_fp8", "float8", ""},
                      {"GB100", "tcgen05_i8", "int8", ""},
                      {"GB100", "tcgen05_mxfp8", "float8", ""},
                      {"GB100", "tcgen05_mxfp4", "float4", ""},
                      {"GB100", "tcgen05_nvfp4", "float4", ""},
                      {"GB110", "tcgen05_bf16", "bfloat16", ""},
                      {"GB110", "tcgen05_pair_nvfp4_long", "float4", ""}};
  for (const Row& row : rows) {
    const std::string catalogue =
        pagoda::test::read_file(pagoda::test::source_path("data/metrics/" + std::string(row.chip) + ".json"));
    bool known = false;
    for (const ceilings::CounterSet& set : ceilings::counter_sets(row.kernel, row.precision, row.level, row.op))
      known = known || std::all_of(set.metrics.begin(), set.metrics.end(), [&](const std::string& metric) {
                return catalogue.find("\"" + metric + "\"") != std::string::npos;
              });
    CAPTURE(row.chip);
    CAPTURE(row.kernel);
    CHECK(known);
  }
}
