// How long kernels of serving engines take: the formulas that data/calibration/serving/fit.py fits.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "pagoda/core/serving.h"
#include "predict/tiles.h"

namespace pagoda::inline core {
namespace {

// (a^p + b^p)^(1/p), scaled by the longer one so that no power overflows.
double longer(double a, double b, double norm) {
  const double most = std::max(a, b);
  if (most <= 0) return 0;
  return most * std::pow(std::pow(a / most, norm) + std::pow(b / most, norm), 1 / norm);
}

}  // namespace

double waves_seconds(double m, double n, double k, double rows, double columns, double peak, double units,
                     double matrices) {
  constexpr double kLeastDepth = 256;  // of one part of a contraction that is split
  double best = std::numeric_limits<double>::infinity();
  for (const double parts : {1.0, 2.0, 4.0, 8.0}) {
    const double depth = k / parts;
    if (parts > 1 && depth < kLeastDepth) break;
    const double waves = std::ceil(std::ceil(m / rows) * std::ceil(n / columns) * parts * matrices / units);
    best = std::min(best, waves * units * rows * columns * 2 * depth / peak);
  }
  return best;
}

std::optional<ServingRates> serving_rates(const DeviceSpec& device) {
  const Peak* half = device.peak(Precision::Bfloat16, Unit::Tensor, Precision::Float32);
  if (half == nullptr) half = device.peak(Precision::Float16, Unit::Tensor, Precision::Float32);
  const Peak* narrow = device.peak(Precision::Float8, Unit::Tensor);
  const MemoryLevel* memory = device.level("dram");
  if (half == nullptr || memory == nullptr || !memory->bytes_per_second.known() || !device.boost_clock_hz.known() ||
      !device.units.known())
    return std::nullopt;
  return ServingRates{.bfloat16 = *half->flops_per_second.value,
                      .float8 = narrow == nullptr ? 0 : *narrow->flops_per_second.value,
                      .bandwidth = *memory->bytes_per_second.value,
                      .units = *device.units.value,
                      .clock = *device.boost_clock_hz.value};
}

double product_seconds(const ProductSize& size, const ServingRates& rates, const ServingCalibration& calibration) {
  const bool is_narrow = size.is_float8 && rates.float8 > 0;
  const ServingCalibration::Product& c = is_narrow ? calibration.products_float8 : calibration.products;
  const double peak = is_narrow ? rates.float8 : rates.bfloat16;
  const double few = 8 * std::ceil(std::min(size.m, 64.0) / 8);  // units multiply 8 rows at least
  const std::array<std::array<double, 3>, 5> tiles = {
      {{256, 128, 1}, {128, 256, 1}, {128, 64, c.narrow}, {64, 128, c.narrow}, {few, 64, c.small}}};
  double work = std::numeric_limits<double>::infinity();
  for (const auto& [rows, columns, efficiency] : tiles)
    work = std::min(work,
                    waves_seconds(size.m, size.n, size.k, rows, columns, peak, rates.units) / (c.compute * efficiency));
  work *= 1 + c.depth / size.k;
  const double memory = (size.weight_bytes + size.other_bytes) / rates.bandwidth;
  return c.launch_cycles / rates.clock + longer(work, memory / c.bandwidth, c.norm);
}

double attention_seconds(const AttentionSize& size, const ServingRates& rates, const ServingCalibration& calibration) {
  const double total = size.tokens + size.past;
  const double reach = size.window > 0 && size.window < total ? size.window : total;
  const double heads = size.batch * size.heads;
  const double keys = std::min(total, reach + size.tokens - 1);
  const double moved =
      size.batch * size.size * (size.cache_width * 2 * size.kv_heads * keys + 4 * size.heads * size.tokens);
  if (size.decodes) {
    const ServingCalibration::Decode& c = calibration.decode_attention;
    return (c.launch_cycles + c.per_head_cycles * heads / rates.units) / rates.clock +
           moved / rates.bandwidth / c.bandwidth;
  }
  const ServingCalibration::Kernel& c = calibration.prefill_attention;
  const double first = std::clamp(reach - size.past, 0.0, size.tokens);  // queries that see all before them
  const double pairs = first * size.past + first * (first + 1) / 2 + (size.tokens - first) * reach;
  const double blocks = heads * std::ceil(size.tokens / 128);
  const double waves = std::ceil(blocks / rates.units) * rates.units / blocks;
  const double work = 4 * heads * size.size * pairs / rates.bfloat16 * waves;
  return c.launch_cycles / rates.clock + longer(work / c.compute, moved / rates.bandwidth / c.bandwidth, c.norm);
}

double mixture_seconds(const MixtureSize& size, const ServingRates& rates, const ServingCalibration& calibration) {
  const ServingCalibration::Kernel& c = calibration.mixtures;
  const double all = size.experts * size.groups;
  const double distinct = size.experts * (1 - std::pow(1 - std::min(size.k / all, 1.0), size.tokens));
  const double runs = size.tokens * size.k / size.groups;  // of one expert over one token, on this device
  const double each = runs / std::max(distinct, 1e-9);
  const double padded = std::ceil(each / 64) * 64 / each;
  const double weights = 3 * size.hidden * size.inner;
  const double work = 2 * runs * weights * padded / rates.bfloat16;
  const double moved = size.weight_width * distinct * weights + 4 * size.tokens * size.hidden;
  return c.launch_cycles / rates.clock + longer(work / c.compute, moved / rates.bandwidth / c.bandwidth, c.norm);
}

double collective_seconds(CollectiveKind kind, double bytes, std::int64_t devices, double link_bytes_per_second,
                          const ServingRates& rates, const ServingCalibration& calibration) {
  const double sent = sent_bytes(kind, bytes, devices) / link_bytes_per_second;
  if (kind != CollectiveKind::AllReduce) {
    const ServingCalibration::Collective& c = calibration.collectives;
    return c.launch_cycles / rates.clock + sent / c.bandwidth;
  }
  // Each device reads all others' tensors at once, or the two halves of a ring's work: the faster.
  const ServingCalibration::AllReduce& c = calibration.all_reduces;
  const double read = static_cast<double>(devices - 1) * bytes / link_bytes_per_second;
  return std::min(c.one_shot_cycles / rates.clock + read / c.one_shot,
                  c.two_shot_cycles / rates.clock + sent / c.two_shot);
}

}  // namespace pagoda::inline core
