// Theory from device attributes × work per clock, against the figures that vendors print.
#include "pagoda/lab/theory.h"

#include <doctest/doctest.h>

#include <cmath>
#include "pagoda/documents/device.h"

namespace {

using namespace pagoda;
using namespace pagoda::lab;
using namespace pagoda::lab;
using namespace pagoda::lab;

lab::GpuAttributes attributes(const DeviceSpec& spec, bool tensor_clock) {
  lab::GpuAttributes gpu;
  gpu.name = spec.id.starts_with("rtx-3") || spec.id.starts_with("rtx-4") || spec.id.starts_with("rtx-5")
                 ? "NVIDIA GeForce"
                 : spec.name;
  const std::size_t dot = spec.compute_capability.find('.');
  gpu.major = std::stoi(spec.compute_capability.substr(0, dot));
  gpu.minor = std::stoi(spec.compute_capability.substr(dot + 1));
  gpu.sms = static_cast<int>(spec.units.value.value());
  gpu.sm_clock_hz =
      tensor_clock && spec.tensor_clock_hz.known() ? *spec.tensor_clock_hz.value : spec.boost_clock_hz.value.value();
  return gpu;
}

}  // namespace

TEST_CASE(
    "every peak of every NVIDIA device file is SMs × clock × work per clock, within 0.5 % or its printed digits") {
  int compared = 0;
  for (const std::string& id : documents::device_ids()) {
    const DeviceSpec spec = documents::device(id);
    const bool is_slowed = id == "h20" || id == "h800" || id == "l20" || id == "l40";  // below their chips' rates
    if (spec.compute_capability.empty() || is_slowed) continue;
    for (const Peak& peak : spec.peaks) {
      // Data sheets give the float64 tensor rate at the clock of the vector rates.
      const bool at_tensor_clock = peak.unit == Unit::Tensor && peak.precision != Precision::Float64;
      const lab::GpuAttributes gpu = attributes(spec, at_tensor_clock);
      const auto per_clock = lab::work_per_clock(gpu, peak.precision, peak.unit, "fma", peak.accumulate);
      if (!per_clock) continue;
      const double theory = *per_clock * gpu.sms * gpu.sm_clock_hz;
      const double printed = *peak.flops_per_second.value;
      // Figures printed with two digits, such as B200's 37 and 75 TFLOP/s (37.2 and 74.5), are
      // only accurate to the last digit.
      const double digits = std::fmod(printed, 1e12) == 0 && printed < 1e14 ? 1e12 / printed : 0;
      CAPTURE(id);
      CAPTURE(to_string(peak.precision));
      CAPTURE(to_string(peak.unit));
      CAPTURE(theory / printed);
      CHECK(std::abs(theory / printed - 1) < std::max(0.005, digits));
      ++compared;
    }
  }
  CHECK(compared > 100);
}

TEST_CASE("known rates by compute capability") {
  struct Case {
    int major, minor;
    Precision precision;
    Unit unit;
    const char* op;
    double per_clock;  // NaN: not known
  };
  const double unknown = std::nan("");
  const Case cases[] = {
      {9, 0, Precision::Float32, Unit::Vector, "fma", 256},
      {9, 0, Precision::Float32, Unit::Vector, "add", 128},
      {9, 0, Precision::Float32, Unit::Vector, "gemm", 256},  // a library's matrix product uses fused instructions
      {9, 0, Precision::Bfloat16, Unit::Tensor, "gemm", 4096},
      {9, 0, Precision::Float64, Unit::Vector, "fma", 128},
      {9, 0, Precision::Float64, Unit::Tensor, "fma", 256},
      {9, 0, Precision::Float16, Unit::Vector, "fma", 512},
      {9, 0, Precision::Bfloat16, Unit::Tensor, "fma", 4096},
      {9, 0, Precision::Int8, Unit::Vector, "dp4a", 512},
      {9, 0, Precision::Float32, Unit::Vector, "special", 16},
      {9, 0, Precision::Float4, Unit::Tensor, "fma", unknown},
      {7, 0, Precision::Bfloat16, Unit::Vector, "fma", unknown},
      {12, 0, Precision::Float8, Unit::Tensor, "fma", 2048},
      {3, 5, Precision::Float32, Unit::Vector, "fma", unknown},
  };
  for (const Case& c : cases) {
    CAPTURE(c.major);
    CAPTURE(to_string(c.precision));
    CAPTURE(c.op);
    lab::GpuAttributes gpu;
    gpu.major = c.major;
    gpu.minor = c.minor;
    const auto got = lab::work_per_clock(gpu, c.precision, c.unit, c.op);
    if (std::isnan(c.per_clock))
      CHECK(!got);
    else
      CHECK(got == c.per_clock);
  }
}

TEST_CASE("one clock explains every dense tensor rate of Blackwell's data-centre products, within 0.5 %") {
  // SMs × tensor clock follows from the printed float16 rate; all other formats must agree with it, and where the
  // number of SMs is known, the clock must be possible for the product. Rates are half of those printed with sparsity.
  // Sources: B200 and GB200: NVIDIA Blackwell data sheet, individual GPU specifications (GB200 NVL72, HGX B200). GB300:
  // dense rates of a rack of 72, verda.com/blog/gb300-nvl72-architecture. B300: HGX B300 of 8,
  // glennklockwood.com/garden/processors/B300. SMs of GB200: github.com/ByteDance-Seed/VeOmni/pull/986. Left out:
  // B300's 4-bit rate, which is printed as 13.1 to 14 PFLOP/s, and rates of one digit.
  struct Product {
    const char* name;
    int minor, sms;  // 0: not known
    double highest_clock, float16, tf32, float8, float4, int8;
  };
  const Product products[] = {{"B200", 0, 148, 1.965e9, 2.25e15, 1.125e15, 4.5e15, 9e15, 4.5e15},
                              {"GB200", 0, 152, 2.062e9, 2.5e15, 1.25e15, 5e15, 10e15, 5e15},
                              {"B300", 3, 0, 0, 2.25e15, 1.125e15, 4.5e15, 0, 0},
                              {"GB300", 3, 0, 0, 2.5e15, 1.25e15, 5e15, 15e15, 0}};
  for (const Product& p : products) {
    CAPTURE(p.name);
    lab::GpuAttributes gpu;
    gpu.major = 10;
    gpu.minor = p.minor;
    const auto rate = [&](Precision precision) {
      return lab::work_per_clock(gpu, precision, Unit::Tensor, "fma");
    };
    const double sm_clocks = p.float16 / rate(Precision::Float16).value();
    const std::pair<Precision, double> others[] = {{Precision::Bfloat16, p.float16},
                                                   {Precision::Tf32, p.tf32},
                                                   {Precision::Float8, p.float8},
                                                   {Precision::Float4, p.float4},
                                                   {Precision::Int8, p.int8}};
    for (const auto& [name, printed] : others) {
      const Precision precision = name;
      if (printed == 0) continue;
      CAPTURE(to_string(precision));
      CHECK(rate(precision).value() * sm_clocks == doctest::Approx(printed).epsilon(0.005));
    }
    if (p.sms == 0) continue;
    CHECK(sm_clocks / p.sms <= p.highest_clock);
    CHECK(sm_clocks / p.sms >= 0.9 * p.highest_clock);
  }
  // GB200's vector rates are printed at its highest clock: 80 and 40 TFLOP/s.
  const lab::GpuAttributes gb200{"NVIDIA GB200", 10, 0, 152, 2.062e9, 0, 0, 0};
  CHECK(lab::work_per_clock(gb200, Precision::Float32, Unit::Vector, "fma").value() * 152 * 2.062e9 ==
        doctest::Approx(80e12).epsilon(0.005));
  CHECK(lab::work_per_clock(gb200, Precision::Float64, Unit::Vector, "fma").value() * 152 * 2.062e9 ==
        doctest::Approx(40e12).epsilon(0.005));
}

TEST_CASE("an H200's three denominators") {
  lab::GpuAttributes h200{"NVIDIA H200", 9, 0, 132, 1.98e9, 3.201e9, 6144, 60 << 20};
  documents::Ceiling bf16;
  bf16.kind = documents::CeilingKind::Compute;
  bf16.precision = "bfloat16";
  bf16.unit_type = "tensor";
  bf16.op = "fma";
  bf16.units = 132;
  bf16.clock_hz = 1.755e9;
  const documents::CeilingTheory theory = gpu_theory(h200, bf16);
  CHECK(theory.datasheet.value() == doctest::Approx(989.4e12).epsilon(0.005));
  CHECK(theory.max_clock.value() == doctest::Approx(1070.5e12).epsilon(0.005));
  CHECK(theory.observed_clock.value() == doctest::Approx(948.9e12).epsilon(0.005));
  // Library products have the same three denominators, also on the vector units.
  documents::Ceiling product = bf16;
  product.op = "gemm";
  CHECK(gpu_theory(h200, product).datasheet == theory.datasheet);
  CHECK(gpu_theory(h200, product).observed_clock == theory.observed_clock);
  product.precision = "float32";
  product.unit_type = "vector";
  CHECK(gpu_theory(h200, product).max_clock.value() == doctest::Approx(66.9e12).epsilon(0.005));
  CHECK(gpu_theory(h200, product).datasheet.value() == doctest::Approx(67e12).epsilon(0.005));

  documents::Ceiling hbm;
  hbm.kind = documents::CeilingKind::Bandwidth;
  hbm.level = "dram";
  CHECK(gpu_theory(h200, hbm).max_clock.value() == doctest::Approx(4917e9).epsilon(0.005));
  CHECK(gpu_theory(h200, hbm).datasheet.value() == doctest::Approx(4800e9).epsilon(0.02));

  documents::Ceiling l2 = hbm;
  l2.level = "l2";
  CHECK(!gpu_theory(h200, l2).max_clock);  // documented nowhere

  documents::Ceiling shared = hbm;
  shared.level = "shared";
  shared.units = 132;
  shared.clock_hz = 1.98e9;
  CHECK(gpu_theory(h200, shared).observed_clock.value() == doctest::Approx(33.45e12).epsilon(0.005));
}

TEST_CASE("attributes that cannot be true give no theory") {
  struct Case {
    double memory_clock_hz;
    int bus_bits;
  };
  for (const Case& c : {Case{0, 6144}, Case{3.2e9, 0}, Case{3.2e9, 100}, Case{3.2e15, 6144}}) {
    lab::GpuAttributes gpu{"NVIDIA H200", 9, 0, 132, 0, c.memory_clock_hz, c.bus_bits, 0};
    CAPTURE(c.memory_clock_hz);
    CAPTURE(c.bus_bits);
    CHECK(!dram_bytes_per_second(gpu));
  }
}

TEST_CASE("a product is matched only when it is surely meant") {
  const auto id = [](const char* name, int major, int minor) {
    lab::GpuAttributes gpu;
    gpu.name = name;
    gpu.major = major;
    gpu.minor = minor;
    const auto spec = lab::datasheet_of(gpu);
    return spec ? spec->id : std::string();
  };
  CHECK(id("NVIDIA H200", 9, 0) == "h200");
  CHECK(id("NVIDIA H200 NVL", 9, 0) == "h200-nvl");
  CHECK(id("NVIDIA H100 NVL", 9, 0) == "h100-nvl");
  CHECK(id("NVIDIA GH200 480GB", 9, 0) == "gh200-96gb");
  CHECK(id("NVIDIA GH200 144G HBM3e", 9, 0) == "gh200-144gb");
  CHECK(id("NVIDIA H100 80GB HBM3", 9, 0) == "h100-sxm");
  CHECK(id("NVIDIA H100 80GB HBM3 MIG 1g.10gb", 9, 0) == "");
  CHECK(id("Tesla T4", 7, 5) == "t4");
  CHECK(id("NVIDIA B200", 10, 0) == "b200");
  CHECK(id("NVIDIA RTX PRO 6000 Blackwell Server Edition", 12, 0) == "rtx-pro-6000-server");
  CHECK(id("NVIDIA H200", 8, 0) == "");
  CHECK(id("NVIDIA GB200", 10, 0) == "");
  CHECK(id("Some GPU", 9, 0) == "");
}

TEST_CASE("cores issue what their pipes allow") {
  const lab::CpuCore zen5 = lab::cpu_core({"AuthenticAMD", 0x1a, 2, ""}).value();
  CHECK(zen5.microarchitecture == "Zen 5");
  CHECK(lab::work_per_clock(zen5, Precision::Float64, 512, "fma") == 32);
  CHECK(lab::work_per_clock(zen5, Precision::Float32, 512, "fma") == 64);
  CHECK(lab::work_per_clock(zen5, Precision::Float64, 256, "fma") == 16);
  CHECK(lab::work_per_clock(zen5, Precision::Float64, 64, "fma") == 4);
  CHECK(lab::work_per_clock(zen5, Precision::Float64, 512, "add") == 16);
  CHECK(lab::work_per_clock(zen5, Precision::Float64, 512, "fma_add") == 48);
  CHECK(lab::work_per_clock(zen5, Precision::Int8, 512, "dot") == 256);
  CHECK(lab::work_per_clock(zen5, Precision::Bfloat16, 512, "dot") == 128);
  CHECK(!lab::work_per_clock(zen5, Precision::Int8, 8192, "amx"));
  CHECK(lab::l1_bytes_per_clock(zen5, 512, "load") == 128);
  CHECK(lab::l1_bytes_per_clock(zen5, 512, "store") == 64);
  CHECK(lab::l1_bytes_per_clock(zen5, 512, "copy") == 128);
  CHECK(lab::l1_bytes_per_clock(zen5, 512, "triad") == 192);

  const lab::CpuCore zen4 = lab::cpu_core({"AuthenticAMD", 0x19, 0x11, ""}).value();
  CHECK(lab::work_per_clock(zen4, Precision::Float64, 512, "fma") == 16);  // 512-bit instructions take two clocks
  const lab::CpuCore spr = lab::cpu_core({"GenuineIntel", 6, 0x8f, ""}).value();
  CHECK(lab::work_per_clock(spr, Precision::Int8, 8192, "amx") == 2048);
  CHECK(lab::work_per_clock(spr, Precision::Bfloat16, 8192, "amx") == 1024);
  CHECK(lab::work_per_clock(spr, Precision::Float64, 512, "mul_add") == 16);
  CHECK(!lab::cpu_core({"GenuineIntel", 6, 0x01, ""}));
}

TEST_CASE("a value above what its clock allows is impossible") {
  documents::Ceiling c;
  c.value = 100.4;
  CHECK(!impossible(c));
  c.theory.observed_clock = 100;
  CHECK(!impossible(c));
  c.value = 100.6;
  CHECK(impossible(c));
}
