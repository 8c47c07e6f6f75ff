// How long kernels of TensorRT take: the formulas of tensorrt.h.
#include <algorithm>
#include <cmath>
#include <limits>

#include "pagoda/core/tensorrt.h"
#include "predict/gpu_products.h"
#include "predict/needs.h"

namespace pagoda::inline core {
namespace {

using Kind = TensorRtKernel::Kind;

constexpr double kQueriesOfBlock = 512;  // fused attention keeps up to this many queries of a head on one unit
constexpr double kL2BytesPerCycle = 32;  // one sector per unit and cycle
constexpr double kPartOfL2 = 0.5;        // half of a kernel's bytes hit if they fill this part of L2

// Narrower tiles read their operands more often: efficiency is relative to the widest. 0 rows: all rows, at most 64,
// rounded up to a multiple of 8.
struct TileShape {
  double rows, columns, efficiency;
};
constexpr TileShape kTiles[] = {{256, 128, 1},   {128, 256, 1},  {128, 128, 0.9}, {128, 64, 0.75},
                                {64, 128, 0.75}, {64, 64, 0.65}, {0, 64, 0.65}};

double hit_rate(double bytes, double l2_bytes) { return 1 / (1 + std::pow(bytes / (kPartOfL2 * l2_bytes), 2)); }

double product_work(const TensorRtKernel& kernel, double peak, double units) {
  const double few = 8 * std::ceil(std::min(kernel.m, 64.0) / 8);
  double least = std::numeric_limits<double>::infinity();
  for (const TileShape& tile : kTiles) {
    const double rows = tile.rows > 0 ? tile.rows : few;
    const double seconds =
        waves_seconds(kernel.m, kernel.n, kernel.k, rows, tile.columns, peak, units, kernel.batch) / tile.efficiency;
    least = std::min(least, seconds);
  }
  return least;
}

}  // namespace

std::optional<TensorRtRates> tensorrt_rates(const DeviceSpec& device, std::string* lacks) {
  const Peak* narrow = device.peak(Precision::Int8, Unit::Tensor);
  const MemoryLevel* l2 = device.level("l2");
  Needs needs;
  needs.require(!device.compute_capability.empty(), "CUDA compute capability");
  const TensorRtRates rates = {.float16 = needs(device.peak(Precision::Float16, Unit::Tensor, Precision::Float32),
                                                "float16 rate of tensor units"),
                               .int8 = narrow == nullptr ? 0 : *narrow->flops_per_second.value,
                               .vector = needs(device.peak(Precision::Float32, Unit::Vector), "float32 rate"),
                               .bandwidth = needs(bandwidth_of(device.level("dram")), "memory bandwidth"),
                               .l2_bytes = needs(l2 == nullptr ? nullptr : &l2->capacity_bytes, "L2 capacity"),
                               .units = needs(&device.units, "number of units"),
                               .clock = needs(&device.boost_clock_hz, "clock"),
                               .watts = needs(&device.watts, "power"),
                               .flagship_flops_per_joule = device.flagship_flops_per_joule.value.value_or(0)};
  return needs.met_by(rates, lacks);
}

double tensorrt_seconds(const TensorRtKernel& kernel, double all_weight_bytes, const TensorRtRates& rates,
                        const TensorRtCoefficients& c) {
  const bool is_int8 = kernel.is_int8 && rates.int8 > 0;
  const double peak = is_int8 ? rates.int8 : rates.float16;
  const double stated = rates.flagship_flops_per_joule;
  const double powered =
      (stated > 0 ? rates.watts * stated : rates.float16) * c.sustained * (is_int8 ? c.narrow_per_joule : 1);
  const double l2 = c.l2 * kL2BytesPerCycle * rates.units * rates.clock, memory = c.bandwidth * rates.bandwidth;
  const auto moved = [&](double bytes, double hits) { return bytes * (hits / l2 + (1 - hits) / memory); };
  const double bytes = moved(kernel.weight_bytes, hit_rate(all_weight_bytes, rates.l2_bytes)) +
                       moved(kernel.other_bytes, hit_rate(kernel.other_bytes, rates.l2_bytes));
  if (kernel.kind == Kind::Other) {
    const double launch = kernel.shares_launch ? 0 : c.light_launch_cycles / rates.clock;
    return launch + std::max(bytes, kernel.flops / rates.vector);
  }
  const double narrow = is_int8 ? c.narrow : 1;
  double work = 0;
  if (kernel.kind == Kind::Product) {
    work = product_work(kernel, peak, rates.units) / std::min(1.0, c.compute * narrow);
  } else {
    const double blocks = std::max(kernel.batch * std::ceil(kernel.m / kQueriesOfBlock), 1.0);
    const double waves = std::ceil(blocks / rates.units) * rates.units / blocks;
    work = kernel.flops * waves / (peak * std::min(1.0, c.attention * narrow));
  }
  work = std::max(work, kernel.flops / powered);
  return c.launch_cycles / rates.clock + std::hypot(work, bytes);
}

double tensorrt_seconds(const TensorRtKernels& kernels, const TensorRtRates& rates,
                        const TensorRtCoefficients& coefficients) {
  double seconds = 0;
  for (const TensorRtKernel& kernel : kernels.kernels)
    seconds += tensorrt_seconds(kernel, kernels.weight_bytes, rates, coefficients);
  return seconds;
}

}  // namespace pagoda::inline core
