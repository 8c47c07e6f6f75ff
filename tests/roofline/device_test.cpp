// Devices: their numbers against the theory of their chips, lookup, file reading.
#include "pagoda/core/device.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "pagoda/documents/device.h"
#include "support/files.h"
#include "support/json_schema.h"

using namespace pagoda;

namespace {

const std::string kDevices = test::source_path("data/devices");

std::string error_of(const std::string& json) {
  return test::error_of([&] { documents::parse_device(json, "test.json"); });
}

using enum Precision;

// Operations per clock of one SM, compute unit or core: 2 × multiply-adds. From NVIDIA's architecture whitepapers and
// the throughput table of the CUDA Programming Guide, AMD's CDNA 3 white paper, and Zen 5's two 512-bit pipes.
struct Theory {
  Precision precision;
  Unit unit;
  double per_clock;  // 0: mixed units, or a printed figure that units and clock do not explain
  std::optional<Precision> accumulate = std::nullopt;
};
constexpr Unit V = Unit::Vector, T = Unit::Tensor;

// clang-format off
const std::vector<Theory> kVolta = {{Float64, V, 64}, {Float32, V, 128}, {Float16, V, 256}, {Int32, V, 128}, {Float16, T, 1024}};
const std::vector<Theory> kTuring = {{Float64, V, 4}, {Float32, V, 128}, {Float16, V, 256}, {Int32, V, 128}, {Float16, T, 1024},
                                     {Int8, T, 2048}, {Int4, T, 4096}};
const std::vector<Theory> kA100 = {{Float64, V, 64}, {Float64, T, 128}, {Float32, V, 128}, {Tf32, T, 1024}, {Float16, V, 512},
                                   {Float16, T, 2048}, {Bfloat16, V, 256}, {Bfloat16, T, 2048}, {Int32, V, 128},
                                   {Int8, T, 4096}, {Int4, T, 8192}};
const std::vector<Theory> kOrin = {{Float32, V, 256}, {Tf32, T, 1024}, {Float16, T, 2048}, {Bfloat16, T, 2048}, {Int8, T, 4096},
                                   {Int4, T, 8192}};
const std::vector<Theory> kGa102 = {{Float64, V, 4}, {Float32, V, 256}, {Tf32, T, 256}, {Float16, V, 256},
                                    {Float16, T, 1024, Float16}, {Float16, T, 512, Float32}, {Bfloat16, V, 256},
                                    {Bfloat16, T, 512}, {Int32, V, 128}, {Int8, T, 2048}, {Int4, T, 4096}};
const std::vector<Theory> kAdaGeforce = {{Float64, V, 4}, {Float32, V, 256}, {Tf32, T, 256}, {Float16, V, 256},
                                         {Float16, T, 1024, Float16}, {Float16, T, 512, Float32}, {Bfloat16, V, 256},
                                         {Bfloat16, T, 512}, {Float8, T, 2048, Float16}, {Float8, T, 1024, Float32},
                                         {Int32, V, 128}, {Int8, T, 2048}, {Int4, T, 4096}};
const std::vector<Theory> kAdaPro = {{Float64, V, 4}, {Float32, V, 256}, {Tf32, T, 512}, {Float16, V, 256}, {Float16, T, 1024},
                                     {Bfloat16, V, 256}, {Bfloat16, T, 1024}, {Float8, T, 2048}, {Int32, V, 128},
                                     {Int8, T, 2048}, {Int4, T, 4096}};
const std::vector<Theory> kHopper = {{Float64, V, 128}, {Float64, T, 256}, {Float32, V, 256}, {Tf32, T, 2048}, {Float16, V, 512},
                                     {Float16, T, 4096}, {Bfloat16, V, 512}, {Bfloat16, T, 4096}, {Float8, T, 8192},
                                     {Int32, V, 128}, {Int8, T, 8192}};
const std::vector<Theory> kB200 = {{Float64, V, 128}, {Float64, T, 128}, {Float32, V, 256}, {Tf32, T, 4096}, {Float16, T, 8192},
                                   {Bfloat16, T, 8192}, {Float8, T, 16384}, {Float4, T, 32768}, {Int8, T, 16384}};
const std::vector<Theory> kGb202Geforce = {{Float64, V, 4}, {Float32, V, 256}, {Tf32, T, 256}, {Float16, V, 256},
                                           {Float16, T, 1024, Float16}, {Float16, T, 512, Float32}, {Bfloat16, V, 256},
                                           {Bfloat16, T, 512}, {Float8, T, 2048, Float16}, {Float8, T, 1024, Float32},
                                           {Float4, T, 4096}, {Int32, V, 256}, {Int8, T, 2048}};
const std::vector<Theory> kGb202Pro = {{Float64, V, 4}, {Float32, V, 256}, {Tf32, T, 512}, {Float16, V, 256}, {Float16, T, 1024},
                                       {Bfloat16, V, 256}, {Bfloat16, T, 1024}, {Float8, T, 2048}, {Float4, T, 4096},
                                       {Int32, V, 256}, {Int8, T, 2048}};
const std::vector<Theory> kCdna3 = {{Float64, V, 128}, {Float64, T, 256}, {Float32, V, 256}, {Float32, T, 256}, {Tf32, T, 1024},
                                    {Float16, T, 2048}, {Bfloat16, T, 2048}, {Float8, T, 4096}, {Int8, T, 4096}};
const std::vector<Theory> kGa102Pro = {{Float64, V, 4}, {Float32, V, 256}, {Tf32, T, 512}, {Float16, V, 256},
                                       {Float16, T, 1024, Float16}, {Float16, T, 1024, Float32}, {Bfloat16, V, 256},
                                       {Bfloat16, T, 1024}, {Int32, V, 128}, {Int8, T, 2048}, {Int4, T, 4096}};
const std::vector<Theory> kRtxAda = {{Float64, V, 4}, {Float32, V, 256}, {Tf32, T, 512}, {Float16, V, 256},
                                     {Float16, T, 1024, Float16}, {Float16, T, 1024, Float32}, {Bfloat16, V, 256},
                                     {Bfloat16, T, 1024}, {Float8, T, 2048}, {Int32, V, 128}, {Int8, T, 2048}, {Int4, T, 4096}};
const std::vector<Theory> kL40 = {{Float64, V, 4}, {Float32, V, 256}, {Tf32, T, 256}, {Float16, V, 256}, {Float16, T, 512},
                                  {Bfloat16, V, 256}, {Bfloat16, T, 512}, {Float8, T, 1024}, {Int32, V, 128},
                                  {Int8, T, 1024}, {Int4, T, 2048}};
const std::vector<Theory> kL20 = {{Float64, V, 4}, {Float32, V, 256}, {Tf32, T, 256}, {Float16, V, 256}, {Float16, T, 512},
                                  {Bfloat16, V, 256}, {Bfloat16, T, 512}, {Float8, T, 1024}, {Int32, V, 128}, {Int8, T, 1024}};
const std::vector<Theory> kH800 = {{Float64, V, 4}, {Float64, T, 4}, {Float32, V, 256}, {Tf32, T, 2048}, {Float16, V, 512},
                                   {Float16, T, 4096}, {Bfloat16, V, 512}, {Bfloat16, T, 4096}, {Float8, T, 8192},
                                   {Int32, V, 128}, {Int8, T, 8192}};
const std::vector<Theory> kH20 = {{Float64, V, 0}, {Float64, T, 0}, {Float32, V, 0}, {Tf32, T, 512}, {Float16, V, 512},
                                  {Float16, T, 1024}, {Bfloat16, V, 512}, {Bfloat16, T, 1024}, {Float8, T, 2048},
                                  {Int32, V, 128}, {Int8, T, 2048}};
const std::vector<Theory> kThor = {{Float32, V, 256}, {Tf32, T, 4096}, {Float16, T, 8192}, {Bfloat16, T, 8192}, {Float8, T, 16384},
                                   {Float4, T, 32768}, {Int8, T, 16384}};
const std::vector<Theory> kAlderLake = {{Float64, V, 0}, {Float32, V, 0}, {Int8, V, 0}};
const std::vector<Theory> kCascadeLake = {{Float64, V, 32}, {Float32, V, 64}, {Int8, V, 256}};
const std::vector<Theory> kZen5 = {{Float64, V, 32}, {Float32, V, 64}, {Bfloat16, V, 128}, {Int8, V, 256}};

// Memory bandwidth as bus × rate: bits × Gbit/s / 8.
struct Chip {
  const char* device;
  const std::vector<Theory>& theory;
  double units, bus_bits, gigabits_per_second;
  double digits = 0.005;  // tolerance for the vendor's rounding
};
const Chip kChips[] = {
    // device          theory         units   bus    Gbit/s    rounding
    {"a10",            kGa102Pro,       72,    384,  12.500},
    {"a100-40gb",      kA100,          108,   5120,   2.430},
    {"a100-80gb",      kA100,          108,   5120,   3.186},
    {"a100-pcie-40gb", kA100,          108,   5120,   2.430},
    {"a100-pcie-80gb", kA100,          108,   5120,   3.024},
    {"a30",            kA100,           56,   3072,   2.430},
    {"a40",            kGa102Pro,       84,    384,  14.500},
    {"a800",           kA100,          108,   5120,   3.186},
    {"b200",           kB200,          148,   7680,   7.992,   0.008},  // printed as 75 and 37 TFLOP/s
    {"epyc-9755",      kZen5,          128,    768,   6.400},
    {"gb200",          kB200,          152,   8192,   7.8125},
    {"gh200-144gb",    kHopper,        132,   6144,   6.380},
    {"gh200-96gb",     kHopper,        132,   6144,   5.208},
    {"h100-nvl",       kHopper,        132,   6016,   5.238},
    {"h100-pcie",      kHopper,        114,   5120,   3.186},
    {"h100-sxm",       kHopper,        132,   5120,   5.238},
    {"h20",            kH20,            78,   6144,   5.208},
    {"h200",           kHopper,        132,   6144,   6.250},
    {"h200-nvl",       kHopper,        132,   6144,   6.250},
    {"h800",           kH800,          132,   5120,   5.238},
    {"i7-12700h",      kAlderLake,      14,    128,   4.800},
    {"l20",            kL20,            92,    384,  18.000,   0.009},  // printed as 59.8, 119.5 and 239 TFLOP/s
    {"l4",             kAdaPro,         58,    192,  12.500},
    {"l40",            kL40,           142,    384,  18.000},
    {"l40s",           kAdaPro,        142,    384,  18.000},
    {"mi300x",         kCdna3,         304,   8192,   5.200},
    {"mi325x",         kCdna3,         304,   8192,   5.859},
    {"orin-agx",       kOrin,           16,    256,   6.400},
    {"orin-nano",      kOrin,            8,    128,   6.400},
    {"orin-nx",        kOrin,            8,    128,   6.400},
    {"rtx-3090",       kGa102,          82,    384,  19.500},
    {"rtx-4070-super", kAdaGeforce,     56,    192,  21.000},
    {"rtx-4070-ti-super", kAdaGeforce,  66,    256,  21.000},
    {"rtx-4080-super", kAdaGeforce,     80,    256,  23.000},
    {"rtx-4090",       kAdaGeforce,    128,    384,  21.000},
    {"rtx-4090-laptop", kAdaGeforce,    76,    256,  18.000},
    {"rtx-5090",       kGb202Geforce,  170,    512,  28.000},
    {"rtx-6000-ada",   kRtxAda,        142,    384,  20.000},
    {"rtx-a6000",      kGa102Pro,       84,    384,  16.000},
    {"rtx-pro-6000",   kGb202Pro,      188,    512,  28.000},
    {"rtx-pro-6000-max-q", kGb202Pro,  188,    512,  28.000},
    {"rtx-pro-6000-server", kGb202Pro, 188,    512,  24.950},
    {"ryzen-9-9950x",  kZen5,           16,    128,   5.600},
    {"t4",             kTuring,         40,    256,  10.000},
    {"thor",           kThor,           20,    256,   8.533},
    {"v100",           kVolta,          80,   4096,   1.755},
    {"xeon-8275cl",    kCascadeLake,    24,    384,   2.933},
};
// clang-format on

const Theory* theory_of(const std::vector<Theory>& theory, const Peak& peak) {
  for (const Theory& row : theory)
    if (row.precision == peak.precision && row.unit == peak.unit && row.accumulate == peak.accumulate) return &row;
  return nullptr;
}

}  // namespace

TEST_CASE("every peak is units x operations per clock x clock, and every kind of the chip is there") {
  CHECK(std::size(kChips) == documents::device_ids().size());
  for (const Chip& chip : kChips) {
    CAPTURE(chip.device);
    const DeviceSpec spec = documents::device(chip.device);
    CHECK(spec.units.value == chip.units);
    CHECK(spec.peaks.size() == chip.theory.size());
    for (const Peak& peak : spec.peaks) {
      CAPTURE(to_string(peak.precision));
      CAPTURE(to_string(peak.unit));
      const Theory* theory = theory_of(chip.theory, peak);
      REQUIRE(theory != nullptr);
      if (theory->per_clock == 0) continue;
      const bool tensor_clock = peak.unit == T && peak.precision != Float64 && spec.tensor_clock_hz.known();
      const double clock = tensor_clock ? *spec.tensor_clock_hz.value : *spec.boost_clock_hz.value;
      CHECK(*peak.flops_per_second.value / (chip.units * theory->per_clock * clock) ==
            doctest::Approx(1).epsilon(chip.digits));
    }
  }
}

TEST_CASE("memory bandwidth is bus width x rate") {
  for (const Chip& chip : kChips) {
    CAPTURE(chip.device);
    const Quantity bandwidth = documents::device(chip.device).level("dram")->bytes_per_second;
    CHECK(*bandwidth.value / (chip.bus_bits * chip.gigabits_per_second * 1e9 / 8) == doctest::Approx(1).epsilon(0.005));
  }
}

TEST_CASE("figures that other tables get wrong") {
  // Elsewhere, sparse figures of the H100 PCIe and RTX 5090 are listed as dense, and the
  // 80 GB A100's bandwidth as the A100's.
  CHECK(documents::device("h100-pcie").peak(Float16, T)->flops_per_second.value == 756e12);
  CHECK(documents::device("h100-sxm").peak(Bfloat16, T)->flops_per_second.value == 989.4e12);
  CHECK(documents::device("a100-40gb").level("dram")->bytes_per_second.value == 1.555e12);
  CHECK(documents::device("a100-80gb").level("dram")->bytes_per_second.value == 2.039e12);
  CHECK(documents::device("rtx-5090").peak(Float4, T)->flops_per_second.value == 1676e12);
  CHECK(documents::device("rtx-5090").peak(Int8, T)->flops_per_second.value == 838e12);
}

TEST_CASE("every data-center GPU has its links, in one direction") {
  struct Case {
    const char* device;
    const char* link;
    double gigabytes_per_second;
  };
  const Case cases[] = {
      {"v100", "nvlink", 150},
      {"a30", "nvlink", 100},
      {"a40", "nvlink", 56.25},
      {"a100-40gb", "nvlink", 300},
      {"a100-80gb", "nvlink", 300},
      {"a100-pcie-40gb", "nvlink", 300},
      {"a100-pcie-80gb", "nvlink", 300},
      {"a800", "nvlink", 200},
      {"h100-sxm", "nvlink", 450},
      {"h100-pcie", "nvlink", 300},
      {"h100-nvl", "nvlink", 300},
      {"h200", "nvlink", 450},
      {"h200-nvl", "nvlink", 450},
      {"gh200-96gb", "nvlink", 450},
      {"gh200-144gb", "nvlink", 450},
      {"h20", "nvlink", 450},
      {"h800", "nvlink", 200},
      {"b200", "nvlink", 900},
      {"gb200", "nvlink", 900},
      {"gb200", "nvlink-c2c", 225},
      {"mi300x", "infinity-fabric", 448},
      {"mi325x", "infinity-fabric", 448},
      {"t4", "pcie", 15.75},
      {"a10", "pcie", 31.5},
      {"l4", "pcie", 31.5},
      {"l20", "pcie", 31.5},
      {"l40", "pcie", 31.5},
      {"l40s", "pcie", 31.5},
      {"a100-80gb", "pcie", 31.5},
      {"h200", "pcie", 63.0},
      {"b200", "pcie", 63.0},
      {"rtx-pro-6000-server", "pcie", 63.0},
  };
  for (const Case& row : cases) {
    CAPTURE(row.device);
    CAPTURE(row.link);
    const DeviceSpec spec = documents::device(row.device);
    const auto link =
        std::find_if(spec.links.begin(), spec.links.end(), [&](const Link& l) { return l.name == row.link; });
    REQUIRE(link != spec.links.end());
    CHECK(*link->bytes_per_second.value == doctest::Approx(row.gigabytes_per_second * 1e9).epsilon(0.001));
  }
}

TEST_CASE("a launch overhead is unknown or says that it is assumed") {
  for (const std::string& id : documents::device_ids()) {
    CAPTURE(id);
    const Quantity launch = documents::device(id).launch_overhead_seconds;
    CHECK((!launch.known() || launch.is_assumed()));
  }
  CHECK_FALSE(Quantity{1e-6, "measured, burst: launch in c.json"}.is_assumed());
}

TEST_CASE("GeForce halves the rate of float16 with a float32 accumulator, professional boards do not") {
  const DeviceSpec geforce = documents::device("rtx-4090"), professional = documents::device("l40s");
  CHECK(geforce.peak(Float16, T)->flops_per_second.value == 330.3e12);
  CHECK(geforce.peak(Float16, T, Float32)->flops_per_second.value == 165.2e12);
  CHECK(professional.peak(Float16, T)->flops_per_second.value ==
        professional.peak(Float16, T, Float32)->flops_per_second.value);
}

TEST_CASE("device files satisfy their schema, name themselves and give a source for every number") {
  std::set<std::string> on_disk;
  for (const auto& entry : std::filesystem::directory_iterator(kDevices)) {
    CAPTURE(entry.path().string());
    const std::string text = test::read_file(entry.path().string());
    test::check_schema(text, "device");
    const DeviceSpec spec = documents::parse_device(text, entry.path().string());
    CHECK(spec.id == entry.path().stem().string());
    on_disk.insert(spec.id);
    for (const Peak& peak : spec.peaks) CHECK_FALSE(peak.flops_per_second.source.empty());
    for (const MemoryLevel& level : spec.levels) CHECK_FALSE(level.bytes_per_second.source.empty());
  }
  const std::vector<std::string> ids = documents::device_ids();
  CHECK(std::set<std::string>(ids.begin(), ids.end()) == on_disk);
  CHECK(std::is_sorted(ids.begin(), ids.end()));
}

TEST_CASE("levels run from memory inwards and get faster") {
  for (const std::string& id : documents::device_ids()) {
    CAPTURE(id);
    const DeviceSpec spec = documents::device(id);
    CHECK(spec.levels.front().level == "dram");
    double slowest = 0;
    for (const MemoryLevel& level : spec.levels) {
      if (!level.bytes_per_second.known()) continue;
      CHECK(*level.bytes_per_second.value > slowest);
      slowest = *level.bytes_per_second.value;
    }
  }
}

TEST_CASE("an unknown device is an error that lists the known ones") {
  CHECK_THROWS_WITH_AS(documents::device("abacus"), doctest::Contains("known; known: a10, a100-40gb, a100-80gb"),
                       UnknownDevice);
  CHECK_THROWS_WITH_AS(documents::device("orin-agx:40w"), doctest::Contains("known: maxn, 50w, 30w, 15w"),
                       UnknownDevice);
  CHECK_THROWS_WITH_AS(documents::device("t4:30w"), doctest::Contains("it has none"), UnknownDevice);
  CHECK_THROWS_WITH_AS(documents::find_device("none/such.json"), doctest::Contains("cannot be opened"), Error);
  CHECK(documents::find_device("t4").id == "t4");
  CHECK(documents::find_device(kDevices + "/t4.json").id == "t4");
}

TEST_CASE("names may differ from ids in case, spaces, hyphens and underscores") {
  struct Case {
    const char* name;
    const char* id;
    const char* note = "";
  };
  const Case cases[] = {
      {"RTX 4090", "rtx-4090"},  // as people type it
      {"rtx4090", "rtx-4090"},
      {"RTX_pro 6000", "rtx-pro-6000"},
      {"H100 SXM", "h100-sxm"},
      {"H100", "h100-sxm", "h100 is taken for h100-sxm"},
      {"a100", "a100-80gb", "a100 is taken for a100-80gb"},
      {"A100 PCIe", "a100-pcie-80gb", "a100pcie is taken for a100-pcie-80gb"},
      {"gh200", "gh200-96gb", "gh200 is taken for gh200-96gb"},
  };
  for (const Case& row : cases) {
    CAPTURE(row.name);
    CHECK(documents::find_device(row.name).id == row.id);
    CHECK(documents::alias_note(row.name) == row.note);
  }
  CHECK(documents::find_device("Orin AGX:30W").power_mode == "30w");
  std::set<std::string> written;  // ids differ even without the ignored characters
  for (std::string id : documents::device_ids()) {
    std::erase(id, '-');
    CHECK(written.insert(id).second);
  }
}

TEST_CASE("a driver's name and an alias are those of one device") {
  std::set<std::string> names, aliases;
  for (const std::string& id : documents::device_ids()) {
    const DeviceSpec spec = documents::device(id);
    for (const std::string& name : spec.driver_names) {
      CAPTURE(name);
      CHECK(names.insert(name).second);
      const std::optional<DeviceSpec> found = documents::device_of_driver(name);
      REQUIRE(found);
      CHECK(found->id == id);
    }
    for (const std::string& alias : spec.aliases) {
      CAPTURE(alias);
      CHECK(aliases.insert(alias).second);
      CHECK(documents::find_device(alias).id == id);
    }
  }
  CHECK(names.size() > 30);
  CHECK(aliases.size() == 4);
}

TEST_CASE("a driver's name means a device only as a whole") {
  struct Case {
    const char* name;
    const char* id;  // empty: no device
  };
  const Case cases[] = {
      {"NVIDIA L4", "l4"},
      {"NVIDIA L40S", "l40s"},
      {"NVIDIA H200", "h200"},
      {"NVIDIA H200 NVL", "h200-nvl"},
      {"A100-SXM4-40GB", "a100-40gb"},  // by drivers before 470
      {"GeForce RTX 3090", "rtx-3090"},
      {"NVIDIA GeForce RTX 3090 Ti", ""},
      {"NVIDIA GeForce RTX 4090 Laptop GPU", "rtx-4090-laptop"},
      {"NVIDIA GeForce RTX 4080 Laptop GPU", ""},
      {"NVIDIA RTX PRO 6000 Blackwell Server Edition", "rtx-pro-6000-server"},
      {"NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "rtx-pro-6000"},
      {"NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition", "rtx-pro-6000-max-q"},
      {"NVIDIA A10G", ""},
      {"NVIDIA ", ""},
      {"", ""},
  };
  for (const Case& row : cases) {
    CAPTURE(row.name);
    const std::optional<DeviceSpec> found = documents::device_of_driver(row.name);
    CHECK((found ? found->id : "") == row.id);
  }
}

TEST_CASE("an unknown device suggests the nearest ids") {
  struct Case {
    const char* name;
    const char* expected;
  };
  const Case cases[] = {
      {"rtx 4091", "did you mean rtx-4090"},     // one letter is wrong
      {"v10", "did you mean v100, a10?"},        // one letter is missing, or wrong
      {"v100-sxm2", "did you mean v100, "},      // it has an extra part
      {"ryzen", "did you mean ryzen-9-9950x?"},  // only a part of the id
  };
  for (const Case& row : cases)
    CHECK_THROWS_WITH_AS(documents::find_device(row.name), doctest::Contains(row.expected), UnknownDevice);
}

TEST_CASE("a power mode scales peaks with units and clock, and takes its own bandwidth and power") {
  const DeviceSpec maxn = documents::device("orin-agx:maxn"), low = documents::device("orin-agx:15w");
  CHECK(maxn.peak(Float32, V)->flops_per_second.value ==
        documents::device("orin-agx").peak(Float32, V)->flops_per_second.value);
  CHECK(maxn.watts.value == 60);  // the mode sets no power limit of its own
  CHECK(low.watts.value == 15);
  CHECK(low.power_mode == "15w");
  CHECK(*low.peak(Float32, V)->flops_per_second.value == doctest::Approx(6 * 256 * 420.75e6));
  CHECK(*low.peak(Int8, T)->flops_per_second.value == doctest::Approx(6 * 4096 * 420.75e6));
  CHECK(*low.level("shared")->bytes_per_second.value == doctest::Approx(6 * 128 * 420.75e6));
  CHECK(*low.level("dram")->bytes_per_second.value == doctest::Approx(136.512e9));
  CHECK(*low.special_per_second.value == doctest::Approx(6 * 16 * 420.75e6));
}

TEST_CASE("boards of one chip differ by the clock that their power allows") {
  const DeviceSpec full = documents::device("rtx-pro-6000"), limited = documents::device("RTX PRO 6000 Max-Q");
  CHECK(limited.id == "rtx-pro-6000-max-q");
  CHECK(limited.units.value == full.units.value);
  CHECK(limited.watts.value == 300);
  // FP4 with sparsity is twice the dense rate: 3511 AI TOPS in the data sheet.
  CHECK(2 * *limited.peak(Float4, T)->flops_per_second.value == doctest::Approx(3511e12).epsilon(0.0002));
  CHECK(*limited.level("dram")->bytes_per_second.value == *full.level("dram")->bytes_per_second.value);
  // A laptop's 80 W clock takes the peaks with it, not the memory.
  const DeviceSpec laptop = documents::device("rtx-4090-laptop"), low = documents::device("rtx-4090-laptop:80w");
  CHECK(*low.peak(Float32, V)->flops_per_second.value == doctest::Approx(76 * 256 * 1.455e9));
  CHECK(*laptop.peak(Float32, V)->flops_per_second.value == doctest::Approx(76 * 256 * 2.04e9));
  CHECK(low.watts.value == 80);
  CHECK(*low.level("dram")->bytes_per_second.value == 576e9);
}

TEST_CASE("a device file with a mistake is an error that names the place") {
  const std::string good = test::read_file(kDevices + "/t4.json");
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    const std::size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    return text.replace(at, from.size(), to);
  };
  struct Case {
    std::string json;
    const char* message;
  };
  const Case cases[] = {
      {"{", "test.json: not JSON, byte 2"},
      {"[]", "is JSON of no known kind, without a schema; expected pagoda.device/1"},
      {"{\"a\": 1e999}", "test.json: a number is out of range, byte"},
      {std::string(100000, '['), "test.json: nests deeper than 100"},
      {with("pagoda.device/1", "pagoda.device/2"), "is a device (pagoda.device/2), as another version of Pagoda writes it; expected pagoda.device/1"},
      {with("\"vendor\"", "\"vender\""), "\"vender\" is not known here; did you mean \"vendor\"?"},
      {with("\"unit\": \"W\"", "\"unit\": \"kW\""), "test.json.power.unit: expected \"W\""},
      {with("\"value\": 70", "\"value\": -70"), "test.json.power.value: expected a number above 0"},
      {with("\"value\": 70", "\"value\": \"70\""), "expected a number above 0"},
      {with("\"float64\"", "\"float63\""),
       "test.json.peaks[0].precision: \"float63\" is not a precision; known: float64"},
      {with("\"vector\"", "\"scalar\""), "expected \"vector\" or \"tensor\""},
      {with("\"dram\"", "\"drum\""), "expected dram, l3, l2, l1 or shared"},
      {with("\"dram\"", "\"l3\""), "no bandwidth of level \"dram\""},
      {R"({"schema":"pagoda.device/1","id":"x","name":"x","kind":"gpu","peaks":{},"levels":[]})", "expected an array"},
      {R"({"schema":"pagoda.device/1","id":"x","name":"x","kind":"gpu","peaks":[]})", "\"levels\" is missing"},
  };
  for (const Case& row : cases) {
    CAPTURE(row.message);
    CHECK_MESSAGE(error_of(row.json).find(row.message) != std::string::npos, error_of(row.json));
  }
}

// Calls `visit` for each object in `json`, the outermost one included.
void each_object(nlohmann::json& json, const std::function<void(nlohmann::json&)>& visit) {
  for (nlohmann::json& child : json)
    if (child.is_structured()) each_object(child, visit);
  if (json.is_object()) visit(json);
}

TEST_CASE("schema and reader agree on kinds, and on what an object may hold") {
  const nlohmann::json schema = test::schema("device");
  const nlohmann::json good = nlohmann::json::parse(test::read_file(kDevices + "/orin-agx.json"));
  const auto both_take = [&](const nlohmann::json& file) {
    const bool reader = error_of(file.dump()).empty();
    CHECK_MESSAGE(test::violations(file, schema).empty() == reader, error_of(file.dump()));
    return reader;
  };
  for (const char* kind : {"gpu", "cpu", "npu", "tpu", "measured", "GPU", ""}) {
    CAPTURE(kind);
    nlohmann::json file = good;
    file["kind"] = kind;
    CHECK(both_take(file) == (std::string_view("gpu cpu npu").find(kind) != std::string_view::npos && *kind != 0));
  }
  nlohmann::json commented = good;
  commented["links"] = {
      {{"name", "pcie"}, {"bytes_per_second", {{"value", 1e9}, {"unit", "B/s"}, {"source", "test"}}}}};
  std::size_t objects = 0;
  each_object(commented, [&](nlohmann::json& object) { object["comment"] = "for people", ++objects; });
  CHECK(both_take(commented));
  for (std::size_t wrong = 0; wrong < objects; ++wrong) {  // adds an unknown key to one object at a time
    nlohmann::json file = commented;
    std::size_t i = 0;
    each_object(file, [&](nlohmann::json& object) {
      if (i++ == wrong) object["remark"] = "for people";
    });
    CHECK_FALSE(both_take(file));
  }
}

TEST_CASE("a device file with several mistakes is refused with all of them") {
  const std::string message = error_of(R"({"schema": "pagoda.device/1", "name": 5, "kind": "tpu", "colour": "red",
      "boost_clock": {"value": "fast", "unit": "MHz", "source": ""},
      "peaks": [{"precision": "float99", "unit": "vector"}], "levels": [{"level": "dram"}]})");
  for (const char* part :
       {"test.json: 10 mistakes:", "\"colour\" is not known here", "\"id\" is missing",
        "name: expected a string, found 5", "kind: expected one of \"gpu\", \"cpu\", \"npu\", found \"tpu\"",
        "boost_clock.unit: expected \"Hz\"", "boost_clock.source: a number needs its source",
        "boost_clock.value: expected a number above 0, found \"fast\"", "\"float99\" is not a precision",
        "peaks[0]: \"flops_per_second\" is missing", "levels[0]: \"bytes_per_second\" is missing"})
    CHECK_MESSAGE(message.find(part) != std::string::npos, message);
}

TEST_CASE("a misspelt member of a device file is refused with the member that is meant") {
  const std::string message = error_of(R"({"schema": "pagoda.device/1", "id": "a", "name": "A", "kind": "gpu",
      "boost_clok": {"value": 1e9, "unit": "Hz", "source": "test"}, "peaks": [], "levels": [
      {"level": "dram", "bytes_per_second": {"value": 1e9, "unit": "B/s", "sources": "test"}}]})");
  CHECK(message ==
        "test.json: 3 mistakes:\n"
        "  test.json: \"boost_clok\" is not known here; did you mean \"boost_clock\"?\n"
        "  test.json.levels[0].bytes_per_second: \"sources\" is not known here; did you mean \"source\"?\n"
        "  test.json.levels[0].bytes_per_second: \"source\" is missing");
}

TEST_CASE("the template of a device satisfies the schema, lacks only numbers, and reads once they are filled in") {
  const std::string text = documents::device_template("My NPU (v2)");
  nlohmann::json file = nlohmann::json::parse(text);
  CHECK(test::violations(file, test::schema("device")) == std::vector<std::string>{});
  CHECK(file["id"] == "my-npu-v2");
  CHECK(file["name"] == "My NPU (v2)");
  std::size_t numbers = 0;
  each_object(file, [&](nlohmann::json& object) {
    if (!object.contains("value")) return;
    ++numbers;
    CHECK(object["value"].is_null());
    CHECK(object["comment"].get<std::string>().size() > 8);
  });
  CHECK(numbers == 13);
  const std::string error = error_of(text);
  CHECK_MESSAGE(error.find("no bandwidth of level \"dram\"") != std::string::npos, error);
  CHECK_MESSAGE(error.find("no compute peak") != std::string::npos, error);
  file["peaks"][0]["flops_per_second"]["value"] = 2e12;
  file["levels"][0]["bytes_per_second"]["value"] = 1e11;
  const DeviceSpec spec = documents::parse_device(file.dump(), "mine.json");
  CHECK(spec.peak(Float32, V)->flops_per_second.value == 2e12);
  CHECK(spec.peaks.size() == 1);
  CHECK(spec.level("dram")->bytes_per_second.value == 1e11);
}

TEST_CASE("of measured ceilings the sustained value counts, then burst, then issue, and the best of its kind") {
  const DeviceSpec spec =
      documents::parse_device(R"({"schema": "pagoda.ceilings/1", "machine": {"name": "Card", "memory_bytes": 80000000000}, "ceilings": [
    {"id": "wgmma-bf16",  "kind": "compute", "precision": "bf16", "unit_type": "tensor", "mode": "issue", "value": 1.0e15},
    {"id": "wgmma-bf16b", "kind": "compute", "precision": "bf16", "unit_type": "tensor", "mode": "sustained", "value": 0.7e15},
    {"id": "lt-bf16",     "kind": "compute", "precision": "bfloat16", "unit_type": "tensor", "mode": "sustained", "value": 0.75e15},
    {"id": "ffma",        "kind": "compute", "precision": "fp32", "unit": "FLOP/s", "unit_type": "vector", "mode": "burst", "value": 60e12},
    {"id": "ffma-issue",  "kind": "compute", "precision": "fp32", "unit_type": "vector", "mode": "issue", "value": 66e12},
    {"id": "broken",      "kind": "compute", "precision": "fp32", "unit_type": "vector", "mode": "sustained", "value": 99e12, "status": "impossible"},
    {"id": "odd",         "kind": "compute", "precision": "fp13", "unit_type": "vector", "value": 1},
    {"id": "read",        "kind": "bandwidth", "level": "dram", "mode": "sustained", "value": 4.2e12},
    {"id": "copy",        "kind": "bandwidth", "level": "dram", "mode": "sustained", "value": 4.1e12},
    {"id": "h2d",         "kind": "bandwidth", "level": "pcie", "mode": "sustained", "value": 5e10},
    {"id": "l2-read",     "kind": "bandwidth", "level": "l2", "value": null},
    {"id": "launch",      "kind": "latency", "mode": "burst", "value": 2.1e-6},
    {"id": "launch-2",    "kind": "latency", "mode": "burst", "value": 1.9e-6},
    {"id": "pj",          "kind": "energy", "value": 1e-12}]})",
                              "c.json");
  CHECK(spec.measured);
  CHECK(spec.name == "Card");
  CHECK(spec.memory_bytes() == 80000000000);
  CHECK(spec.peaks.size() == 2);
  CHECK(spec.peak(Bfloat16, T)->flops_per_second.value == 0.75e15);
  CHECK(spec.peak(Bfloat16, T)->flops_per_second.source == "measured, sustained: lt-bf16 in c.json");
  CHECK(spec.peak(Float32, V)->flops_per_second.value == 60e12);
  CHECK(spec.peak(Float32, V)->flops_per_second.source == "measured, burst: ffma in c.json");
  CHECK(spec.level("dram")->bytes_per_second.value == 4.2e12);
  CHECK(spec.level("l2") == nullptr);
  CHECK(spec.launch_overhead_seconds.value == 1.9e-6);
  const DeviceSpec cpu =
      documents::parse_device(R"({"schema": "pagoda.ceilings/1", "kind": "cpu", "machine": {"memory_bytes": 8000000000, "l2_bytes": 1048576}, "ceilings": [
    {"id": "fma",  "kind": "compute", "precision": "fp32", "unit_type": "vector", "mode": "sustained", "value": 1e11},
    {"id": "read", "kind": "bandwidth", "level": "dram", "mode": "sustained", "value": 1e10},
    {"id": "l2",   "kind": "bandwidth", "level": "l2", "mode": "sustained", "value": 1e11}]})",
                              "cpu.json");
  CHECK(cpu.memory_bytes() == 8000000000);
  CHECK(!cpu.level("l2")->capacity_bytes.known());  // l2_bytes is that of a core
  CHECK(spec.notes == std::vector<std::string>{"broken: marked impossible", "odd: its precision is not known",
                                               "l2-read: has no value"});
  CHECK(error_of(R"({"schema": "pagoda.ceilings/1", "ceilings": []})").find("level \"dram\"") != std::string::npos);
  CHECK(error_of(R"({"schema": "pagoda.ceilings/1", "machine": {"memory_bytes": 1e300}, "ceilings": [
    {"id": "read", "kind": "bandwidth", "level": "dram", "value": 1e12}]})").find("machine.memory_bytes") !=
        std::string::npos);
}

TEST_CASE("of a measured ceiling the fastest sample counts, and what disturbed it is named") {
  const DeviceSpec spec = documents::parse_device(R"({"schema": "pagoda.ceilings/1", "kind": "cpu", "ceilings": [
    {"id": "f32", "kind": "compute", "precision": "float32", "unit_type": "vector", "value": 60e9, "max": 66e9, "status": "contended"},
    {"id": "f64", "kind": "compute", "precision": "float64", "unit_type": "vector", "value": 30e9, "max": 31e9, "status": "ok"},
    {"id": "bad", "kind": "compute", "precision": "int8", "unit_type": "vector", "value": 99e9, "status": "wrong_result"},
    {"id": "read", "kind": "bandwidth", "level": "dram", "value": 20e9, "max": 22e9, "status": "not_converged"},
    {"id": "near", "kind": "bandwidth", "level": "l2", "value": 200e9, "max": 220e9, "status": "contended"},
    {"id": "launch", "kind": "latency", "value": 2e-6, "min": 1e-6, "max": 9e-6, "status": "ok"}],
    "not_run": ["float16.avx512.fma.core: the CPU has no avx512_fp16", "bfloat16.gemm: libmkl is not installed",
                "float32.amx.core: the CPU has no amx", "per NUMA node: the machine has no second one"]})",
                                                  "c.json");
  CHECK(spec.kind == "cpu");
  CHECK(spec.peak(Float32, V)->flops_per_second.value == 66e9);
  CHECK(spec.peak(Float32, V)->flops_per_second.source == "measured, burst: f32 in c.json; the fastest sample");
  CHECK(spec.peak(Float64, V)->flops_per_second.value == 31e9);
  CHECK(spec.peak(Int8, V) == nullptr);
  CHECK(spec.level("dram")->bytes_per_second.value == 22e9);
  CHECK(spec.launch_overhead_seconds.value == 1e-6);
  CHECK(spec.cautions ==
        std::vector<std::string>{"contended: float32 vector peak, l2 bandwidth", "not converged: dram bandwidth"});
  CHECK(spec.lacks == std::vector<Precision>{Float16});
  CHECK(spec.notes == std::vector<std::string>{"bad: marked wrong result"});
}

TEST_CASE("names of precisions are read back, and short ones are known") {
  for (int i = 0; i <= static_cast<int>(Int4); ++i) {
    const auto format = static_cast<Precision>(i);
    CHECK(precision(to_string(format)) == format);
  }
  CHECK(precision("fp16") == Float16);
  CHECK(precision("bf16") == Bfloat16);
  CHECK(precision("half") == Float16);
  CHECK(precision("FP16") == Float16);
  CHECK(precision("BFloat16") == Bfloat16);
  CHECK_FALSE(precision("fp13").has_value());
  CHECK(bits(Tf32) == 32);
}

TEST_CASE("a format holds another when it has all its values") {
  struct Case {
    Precision wide, narrow;
    bool expected;
  };
  // clang-format off
  const Case cases[] = {
      {Float32, Tf32, true},      {Tf32, Float32, false},   {Tf32, Float16, true},    {Tf32, Bfloat16, true},
      {Float16, Bfloat16, false}, {Bfloat16, Float16, false}, {Float16, Float8, true}, {Bfloat16, Float8, true},
      {Float8, Float4, true},     {Float16, Int8, true},    {Bfloat16, Int8, true},   {Float16, Int16, false},
      {Float32, Int16, true},     {Float32, Int32, false},  {Float64, Int32, true},   {Float8, Int4, true},
      {Float4, Int4, false},      {Int8, Int4, true},       {Int32, Float4, false},   {Int4, Int4, true},
  };
  // clang-format on
  for (const Case& row : cases) {
    CAPTURE(to_string(row.wide));
    CAPTURE(to_string(row.narrow));
    CHECK(holds(row.wide, row.narrow) == row.expected);
  }
}

TEST_CASE("clocks of one's own scale peaks by the GPU's clock and units, and memory by its own clock") {
  const DeviceSpec whole = documents::device("orin-agx"), slow = documents::device("orin-agx:gpu=650.25MHz,mem=1.6GHz");
  CHECK(*slow.peak(Float32, V)->flops_per_second.value ==
        doctest::Approx(*whole.peak(Float32, V)->flops_per_second.value / 2));
  CHECK(*slow.level("dram")->bytes_per_second.value == doctest::Approx(*whole.level("dram")->bytes_per_second.value / 2));
  CHECK(*slow.level("shared")->bytes_per_second.value ==
        doctest::Approx(*whole.level("shared")->bytes_per_second.value / 2));
  CHECK(slow.power_mode == "gpu=650.25mhz,mem=1.6ghz");
  CHECK(slow.level("dram")->bytes_per_second.source.find("memory clock") != std::string::npos);
  // Of a clock that is given twice, the last counts.
  CHECK(*documents::device("orin-agx:mem=3.2GHz,mem=1.6GHz").level("dram")->bytes_per_second.value ==
        doctest::Approx(*slow.level("dram")->bytes_per_second.value));
  // The published 30 W mode, by its clock and units.
  const DeviceSpec mode = documents::device("orin-agx:30w"), same = documents::device("orin-agx:gpu=624.75MHz,units=8");
  CHECK(*same.peak(Float32, V)->flops_per_second.value ==
        doctest::Approx(*mode.peak(Float32, V)->flops_per_second.value));
  for (const char* wrong : {"orin-agx:gpu=918", "orin-agx:dla=1GHz", "orin-agx:gpu=", "orin-agx:mem=-1GHz"})
    CHECK_THROWS_AS(documents::device(wrong), UnknownDevice);
  CHECK_THROWS_WITH_AS(documents::device("h200:mem=1GHz"), doctest::Contains("memory_clock"), Error);
}

TEST_CASE("constants of energy hold at the clocks that they were fitted at") {
  CHECK(documents::device("orin-agx").energy);
  CHECK(documents::device("orin-agx:maxn").energy);
  CHECK_FALSE(documents::device("orin-agx:30w").energy);
  CHECK_FALSE(documents::device("orin-agx:gpu=918MHz").energy);
  CHECK_FALSE(documents::device("h200").energy);
}
