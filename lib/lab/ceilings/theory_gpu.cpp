// FLOP per clock and SM of NVIDIA's compute capabilities.
// Sources of the vector columns: results per clock and SM, "CUDA C++ Programming Guide", section "Arithmetic
// Instructions", times the FLOP of a result; of the tensor columns (t_…): dense rates of the architecture whitepapers
// and data sheets over SMs × clock, as the device files of data/devices source them one by one.
#include <algorithm>
#include <array>

#include "pagoda/base/cat.h"
#include "pagoda/documents/device.h"
#include "pagoda/lab/theory.h"

namespace pagoda::lab {
namespace {

constexpr int kNone = 0;  // no such unit, or no figure

constexpr std::array kVector = {Precision::Float64, Precision::Float32, Precision::Float16, Precision::Bfloat16,
                                Precision::Int32};
constexpr std::array kTensor = {Precision::Float64, Precision::Tf32, Precision::Float16, Precision::Bfloat16,
                                Precision::Float8,  Precision::Int8, Precision::Int4,    Precision::Float4};

struct GpuRow {
  int capability;  // 10 × major + minor
  // Vector units, by kVector: multiply-adds per clock and SM, half2 counted as two. dp4a: instructions.
  std::array<int, kVector.size()> vector;
  int dp4a;
  // Tensor cores, by kTensor: FLOP or OP per clock and SM, at the faster accumulator. Block scales are free; 10.3
  // reaches its 4-bit rate only with products of depth 96.
  std::array<int, kTensor.size()> tensor;
  // Loads, B per clock and SM.
  int l1, shared;
};

// clang-format off
constexpr std::array<GpuRow, 10> kGpuRows = {{
    // cc    64   32  f16 bf16  i32  dp4a    f64  tf32   f16  bf16     f8     i8     i4     f4    l1 shared
    {  70, { 32,  64, 128,   0,  64},  64, {   0,    0, 1024,    0,     0,     0,     0,     0}, 128, 128},
    {  75, {  2,  64, 128,   0,  64},  64, {   0,    0, 1024,    0,     0,  2048,  4096,     0},  64, 128},
    {  80, { 32,  64, 256, 128,  64},  64, { 128, 1024, 2048, 2048,     0,  4096,  8192,     0}, 128, 128},
    {  86, {  2, 128, 128, 128,  64},  64, {   0,  512, 1024, 1024,     0,  2048,  4096,     0}, 128, 128},
    {  87, {  2, 128, 128, 128,  64},  64, {   0, 1024, 2048, 2048,     0,  4096,  8192,     0}, 128, 128},
    {  89, {  2, 128, 128, 128,  64},  64, {   0,  512, 1024, 1024,  2048,  2048,  4096,     0}, 128, 128},
    {  90, { 64, 128, 256, 256,  64},  64, { 256, 2048, 4096, 4096,  8192,  8192,     0,     0}, 128, 128},
    { 100, { 64, 128, 256, 256,   0},   0, { 128, 4096, 8192, 8192, 16384, 16384,     0, 32768}, 128, 128},
    { 103, {  0, 128, 256, 256,   0},   0, {   0, 4096, 8192, 8192, 16384,     0,     0, 49152}, 128, 128},
    { 120, {  2, 128, 128, 128, 128},   0, {   0,  512, 1024, 1024,  2048,  2048,     0,  4096}, 128, 128},
}};
// clang-format on
static_assert(std::ranges::is_sorted(kGpuRows, {}, &GpuRow::capability));

const GpuRow* row_of(const GpuAttributes& gpu) {
  const auto row = std::ranges::find(kGpuRows, 10 * gpu.major + gpu.minor, &GpuRow::capability);
  return row == kGpuRows.end() ? nullptr : &*row;
}

std::optional<double> known(int value) { return value == kNone ? std::nullopt : std::optional<double>(value); }

template <std::size_t N>
std::optional<double> rate_of(const std::array<int, N>& rates, const std::array<Precision, N>& precisions,
                              Precision precision) {
  const auto at = static_cast<std::size_t>(std::ranges::find(precisions, precision) - precisions.begin());
  return at == N ? std::nullopt : known(rates[at]);
}

// GeForce cards of Ampere, Ada and Blackwell run products of floats with a float32 accumulator, and tf32, at half the
// rate (device files rtx-3090, rtx-4090, rtx-5090).
bool halves_float32_accumulate(const GpuAttributes& gpu, Precision precision, std::optional<Precision> accumulate) {
  if (gpu.name.find("GeForce") == std::string::npos || gpu.major < 8) return false;
  if (precision == Precision::Tf32) return true;
  const bool is_float =
      precision == Precision::Float16 || precision == Precision::Bfloat16 || precision == Precision::Float8;
  return is_float && accumulate.value_or(Precision::Float32) == Precision::Float32;
}

// Plausible clocks and bus widths. Drivers have reported values outside these ranges, which no product has.
bool credible_sm_clock(double hz) { return hz >= 2e8 && hz <= 5e9; }
bool credible_memory_clock(double hz) { return hz >= 1e8 && hz <= 4e10; }
bool credible_bus(int bits) { return bits >= 32 && bits <= 16384 && bits % 32 == 0; }

// Operations that count as 2 per multiply-add: FMA instructions and library matrix products.
bool is_fused(std::string_view op) { return op == "fma" || op == "gemm"; }

std::optional<Unit> unit_of(const documents::Ceiling& ceiling) {
  if (ceiling.unit_type == "vector" || ceiling.unit_type == "special") return Unit::Vector;
  if (ceiling.unit_type == "tensor") return Unit::Tensor;
  return std::nullopt;
}

}  // namespace

std::optional<double> work_per_clock(const GpuAttributes& gpu, Precision type, Unit unit, std::string_view op,
                                     std::optional<Precision> accumulate) {
  const GpuRow* row = row_of(gpu);
  if (row == nullptr) return std::nullopt;
  if (op == "special") return 16;  // for every capability since 3.0 (programming guide)
  if (op == "dp4a") return row->dp4a == kNone ? std::nullopt : std::optional(row->dp4a * 8.0);  // 4 products and 4 sums
  std::optional<double> rate =
      unit == Unit::Tensor ? rate_of(row->tensor, kTensor, type) : rate_of(row->vector, kVector, type);
  if (rate && unit == Unit::Tensor && halves_float32_accumulate(gpu, type, accumulate)) *rate /= 2;
  if (rate && unit != Unit::Tensor && is_fused(op)) *rate *= 2;
  return rate;
}

std::optional<double> bytes_per_clock(const GpuAttributes& gpu, std::string_view level) {
  const GpuRow* row = row_of(gpu);
  if (row == nullptr || (level != "l1" && level != "shared")) return std::nullopt;
  return known(level == "l1" ? row->l1 : row->shared);
}

std::optional<double> dram_bytes_per_second(const GpuAttributes& gpu) {
  if (!credible_bus(gpu.memory_bus_bits) || !credible_memory_clock(gpu.memory_clock_hz)) return std::nullopt;
  return gpu.memory_bus_bits * gpu.memory_clock_hz * 2 / 8;
}

std::optional<DeviceSpec> datasheet_of(const GpuAttributes& gpu) {
  std::optional<DeviceSpec> spec = documents::device_of_driver(gpu.name);
  return spec && spec->compute_capability == cat(gpu.major, ".", gpu.minor) ? spec : std::nullopt;
}

documents::CeilingTheory gpu_theory(const GpuAttributes& gpu, const documents::Ceiling& ceiling) {
  documents::CeilingTheory theory;
  const double units = ceiling.units.value_or(gpu.sms);
  const std::optional<DeviceSpec> sheet = datasheet_of(gpu);
  std::optional<double> per_clock;
  if (ceiling.kind == documents::CeilingKind::Compute) {
    const std::optional<Precision> type = precision(ceiling.precision);
    const std::optional<Unit> unit = unit_of(ceiling);
    if (!type || !unit) return theory;
    const std::optional<Precision> accumulate = precision(ceiling.accumulate);
    per_clock = work_per_clock(gpu, *type, *unit, ceiling.op, accumulate);
    if (sheet && is_fused(ceiling.op))
      if (const Peak* peak = sheet->peak(*type, *unit, accumulate)) theory.datasheet = peak->flops_per_second.value;
  } else if (ceiling.kind == documents::CeilingKind::Bandwidth) {
    per_clock = bytes_per_clock(gpu, ceiling.level);
    if (ceiling.level == "dram") {
      theory.max_clock = theory.observed_clock = dram_bytes_per_second(gpu);
      if (theory.max_clock) theory.source = "bus width x memory clock x 2";
      if (sheet)
        if (const MemoryLevel* level = sheet->level("dram")) theory.datasheet = level->bytes_per_second.value;
    }
  }
  if (per_clock && units > 0) {
    if (credible_sm_clock(gpu.sm_clock_hz)) theory.max_clock = *per_clock * units * gpu.sm_clock_hz;
    if (ceiling.clock_hz) theory.observed_clock = *per_clock * units * *ceiling.clock_hz;
    theory.source = cat(static_cast<int>(*per_clock), " a clock and SM x SMs x clock");
  }
  return theory;
}

bool impossible(const documents::Ceiling& ceiling) {
  return ceiling.value && ceiling.theory.observed_clock &&
         *ceiling.value > kImpossibleAbove * *ceiling.theory.observed_clock;
}

}  // namespace pagoda::lab
