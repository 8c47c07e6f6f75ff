// How long kernels of serving engines take: the formulas that data/calibration/serving/fit.py fits.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "pagoda/core/serving.h"
#include "predict/engines.h"
#include "predict/gpu_products.h"

namespace pagoda::inline core {
namespace {

// (a^p + b^p)^(1/p), scaled by the longer one so that no power overflows.
double longer(double a, double b, double norm) {
  const double most = std::max(a, b);
  if (most <= 0) return 0;
  return most * std::pow(std::pow(a / most, norm) + std::pow(b / most, norm), 1 / norm);
}

// A unit that multiplies more per cycle reaches less of its peak, because feeding it takes just as long.
double fed_part(double feed, double peak, const ServingRates& rates) {
  return 1 / (1 + feed * peak / (rates.units * rates.clock));
}

// No more than power allows. It takes rate · clock²: units that are busy for a part u of the time run at a clock of
// u^(-1/3) within the same power, and multiply u · u^(-1/3).
double part_of_peak(double feed, double peak, const ServingRates& rates, const ServingKernels& kernels) {
  const double fed = fed_part(feed, peak, rates);
  const double busy = fed / fed_part(kernels.products.feed, rates.bfloat16, rates);
  return std::min(fed, rates.powered_part * std::pow(busy, 2.0 / 3));
}

// The time of a byte: that of memory plus that of the units.
double seconds_per_byte(double bandwidth, double unit_cycles, const ServingRates& rates) {
  return 1 / (bandwidth * rates.bandwidth) + unit_cycles / (rates.units * rates.clock);
}

// FlashAttention 2 (Dao-AILab/flash-attention, csrc/flash_attn): two blocks of its decoding kernel share a unit, and
// num_splits_heuristic() splits the keys of one sequence and key head into as few parts as make good use of whole
// waves.
constexpr double kBlocksPerUnit = 2, kFullWave = 0.8, kMostSplits = 128, kGoodUse = 0.85;

double key_splits(double blocks, double slots, double key_blocks) {
  if (blocks >= kFullWave * slots) return 1;
  std::vector<std::pair<double, double>> uses;
  double best = 0;
  for (double parts = 1; parts <= std::min({kMostSplits, slots, key_blocks}); ++parts) {
    if (parts > 1 && std::ceil(key_blocks / parts) == std::ceil(key_blocks / (parts - 1))) continue;
    const double waves = blocks * parts / slots;
    uses.emplace_back(parts, waves / std::ceil(waves));
    best = std::max(best, uses.back().second);
  }
  for (const auto& [parts, use] : uses)
    if (use >= kGoodUse * best) return parts;
  return 1;
}

// Blocks run in waves. A block takes its own cycles and those of its bytes, however few blocks run; a wave takes its
// bytes at the memory's rate, if that is longer.
double seconds_in_waves(const AttentionSize& size, double moved, const ServingRates& rates,
                        const ServingKernels::Kernel& c) {
  const double slots = kBlocksPerUnit * rates.units, heads = size.batch * size.kv_heads;
  // Keys of one block of the kernel, by head size; only groups of queries on one key head are split.
  const double rows = size.size <= 64 ? 256 : size.size <= 128 ? 128 : 64;
  const double splits = size.heads > size.kv_heads && size.window <= 0
                            ? key_splits(heads, slots, std::ceil((size.tokens + size.past) / rows))
                            : 1;
  const double blocks = heads * splits, each = moved / blocks;
  const double block = (c.per_block_cycles + c.block_cycles_per_byte * each) / rates.clock;
  const double per_byte = seconds_per_byte(c.bandwidth, c.unit_cycles_per_byte, rates);
  const auto wave = [&](double running) { return std::max(block, running * each * per_byte); };
  const double full = std::floor(blocks / slots), rest = blocks - full * slots;
  return (c.launch_cycles + (splits > 1 ? c.split_cycles : 0)) / rates.clock + full * wave(slots) +
         (rest > 0 ? wave(rest) : 0);
}

}  // namespace

double waves_seconds(double m, double n, double k, double rows, double columns, double peak, double units,
                     double matrices, double wave_seconds) {
  // Least depth of one part of a contraction that is split over units. Like the numbers of parts, it is an assumption:
  // fit.py fits the other coefficients under it, and is judged by its errors on a device left out of the fit.
  constexpr double kLeastDepth = 256;
  double best = std::numeric_limits<double>::infinity();
  for (const double parts : {1.0, 2.0, 4.0, 8.0}) {
    const double depth = k / parts;
    if (parts > 1 && depth < kLeastDepth) break;
    const double waves = std::ceil(std::ceil(m / rows) * std::ceil(n / columns) * parts * matrices / units);
    best = std::min(best, waves * (units * rows * columns * 2 * depth / peak + wave_seconds));
  }
  return best;
}

std::optional<ServingRates> serving_rates(const DeviceSpec& device, std::string* lacks) {
  Precision products = Precision::Bfloat16;
  const Peak* half = device.peak(products, Unit::Tensor, Precision::Float32);
  if (half == nullptr) half = device.peak(products = Precision::Float16, Unit::Tensor, Precision::Float32);
  const Peak* narrow = device.peak(Precision::Float8, Unit::Tensor);
  Needs needs;
  const ServingRates rates = {.products = products,
                              .bfloat16 = needs(half, "rate of 16-bit products with float32 accumulation"),
                              .float8 = narrow == nullptr ? 0 : *narrow->flops_per_second.value,
                              .bandwidth = needs(bandwidth_of(device.level("dram")), "memory bandwidth"),
                              .units = needs(&device.units, "number of units"),
                              .clock = needs(&device.boost_clock_hz, "clock")};
  return needs.met_by(rates, lacks);
}

double powered_part(const Calibration& calibration, const DeviceSpec& device) {
  const std::optional<ServingRates> rates = serving_rates(device);
  const Calibration::Set* set = set_for(calibration.powers, device.compute_capability);
  if (set == nullptr || !rates || !device.watts.known()) return std::numeric_limits<double>::infinity();
  ServingPower power;
  read_coefficients(set->coefficients, coefficient_rows(power));
  const Quantity& clock = device.tensor_clock_hz.known() ? device.tensor_clock_hz : device.boost_clock_hz;
  const double width = rates->bfloat16 / *clock.value / power.flops_per_cycle;
  return std::cbrt(*device.watts.value / power.watts * width * width) * power.flops_per_second / rates->bfloat16;
}

double product_seconds(const ProductSize& size, const ServingRates& rates, const ServingKernels& kernels) {
  const bool is_narrow = size.is_float8 && rates.float8 > 0;
  const ServingKernels::Kernel& c = is_narrow ? kernels.products_float8 : kernels.products;
  const double peak = is_narrow ? rates.float8 : rates.bfloat16;
  // Tiles that CUTLASS's profiler offers for these chips. Engines map few rows to the dimension of the instruction that
  // comes in multiples of 8: n of mma.m16n8k16 and wgmma.m64nNk16 (PTX ISA 8.5, 9.7.13 and 9.7.14).
  const double few = 8 * std::ceil(std::min(size.m, 64.0) / 8);
  const std::array<std::array<double, 3>, 3> tiles = {{{256, 128, 1}, {128, 256, 1}, {few, 64, c.small}}};
  double work = std::numeric_limits<double>::infinity();
  const double part = part_of_peak(c.feed, peak, rates, kernels);
  for (const auto& [rows, columns, efficiency] : tiles)
    work = std::min(work, waves_seconds(size.m, size.n, size.k, rows, columns, peak * part * efficiency, rates.units, 1,
                                        c.tile_cycles / rates.clock));
  const double bytes = size.weight_bytes + size.other_bytes;
  // Units drift apart while they stream, by an amount that grows with the square root of the time (a random walk).
  const double memory = bytes * seconds_per_byte(c.bandwidth, c.unit_cycles_per_byte, rates) +
                        std::sqrt(c.ramp_cycles / rates.clock * bytes / rates.bandwidth);
  return c.launch_cycles / rates.clock + longer(work, memory, c.norm);
}

double attention_seconds(const AttentionSize& size, const ServingRates& rates, const ServingKernels& kernels) {
  const double total = size.tokens + size.past;
  const double reach = size.window > 0 && size.window < total ? size.window : total;
  const double heads = size.batch * size.heads;
  const double keys = std::min(total, reach + size.tokens - 1);
  // Keys and values as the cache stores them; queries read and results written in 16 bits, 2 + 2 bytes.
  const double moved =
      size.batch * size.size * (size.cache_width * 2 * size.kv_heads * keys + 4 * size.heads * size.tokens);
  if (size.decodes) {
    const ServingKernels::Kernel& c = kernels.decode_attention;
    if (c.block_cycles_per_byte > 0) return seconds_in_waves(size, moved, rates, c);
    const double blocks = size.batch * size.kv_heads / rates.units;  // one block runs all queries of a key head
    return (c.launch_cycles + c.per_block_cycles * blocks) / rates.clock +
           moved * seconds_per_byte(c.bandwidth, c.unit_cycles_per_byte, rates);
  }
  const ServingKernels::Kernel& c = kernels.prefill_attention;
  const double first = std::clamp(reach - size.past, 0.0, size.tokens);  // queries that see all tokens before them
  const double pairs = first * size.past + first * (first + 1) / 2 + (size.tokens - first) * reach;
  // A block of FlashAttention takes 128 queries (Dao, arXiv 2307.08691, 3.3).
  const double blocks = heads * std::ceil(size.tokens / 128);
  const double waves = std::ceil(blocks / rates.units) * rates.units / blocks;
  const double work = 4 * heads * size.size * pairs / rates.bfloat16 * waves;  // two products, 2 FLOPs each
  return c.launch_cycles / rates.clock + longer(work / part_of_peak(c.feed, rates.bfloat16, rates, kernels),
                                                moved / rates.bandwidth / c.bandwidth, c.norm);
}

double mixture_seconds(const MixtureSize& size, const ServingRates& rates, const ServingKernels& kernels) {
  const ServingKernels::Kernel& c = kernels.mixtures;
  const double all = size.experts * size.groups;
  // Assumes that tokens choose experts uniformly and independently; experts that no token chose are not read.
  const double distinct = size.experts * (1 - std::pow(1 - std::min(size.k / all, 1.0), size.tokens));
  const double runs = size.tokens * size.k / size.groups;  // pairs of a token and an expert, on this device
  const double each = runs / std::max(distinct, 1e-9);
  // Rows of one expert are padded to blocks of 64 (block_m of grouped products): an assumption of fit.py.
  const double padded = std::ceil(each / 64) * 64 / each;
  const double weights = 3 * size.hidden * size.inner;  // gate, up, down
  const double work = 2 * runs * weights * padded / rates.bfloat16;
  const double moved = size.weight_width * distinct * weights + 4 * size.tokens * size.hidden;
  return c.launch_cycles / rates.clock + longer(work / part_of_peak(c.feed, rates.bfloat16, rates, kernels),
                                                moved / rates.bandwidth / c.bandwidth, c.norm);
}

double collective_seconds(CollectiveKind kind, double bytes, std::int64_t devices, const LinkRate& link,
                          const ServingRates& rates, const ServingKernels& kernels) {
  const double sent = sent_bytes(kind, bytes, devices) / link.bytes_per_second;
  if (kind != CollectiveKind::AllReduce) {
    const ServingKernels::Kernel& c = kernels.collectives;
    return c.launch_cycles / rates.clock + sent / c.bandwidth;
  }
  // Engines leave all-reduces over PCIe of more than two devices to NCCL's rings.
  if (link.is_bus() && devices > 2) {
    const ServingKernels::Kernel& c = kernels.ring_all_reduces;
    return (c.launch_cycles + c.hop_cycles * static_cast<double>(devices - 1)) / rates.clock + sent / c.bandwidth;
  }
  // The fastest of: one shot, in which each device reads all others' tensors; two, which send as much as a ring; and
  // switches that sum, to which each device sends its tensor once.
  const ServingKernels::AllReduce& c = kernels.all_reduces;
  const double read = static_cast<double>(devices - 1) * bytes / link.bytes_per_second;
  const double seconds = std::min(c.one_shot_cycles / rates.clock + read / c.one_shot,
                                  c.two_shot_cycles / rates.clock + sent / c.two_shot);
  if (!link.sums_in_switch || devices <= 2 || c.in_switch <= 0) return seconds;
  return std::min(seconds, c.in_switch_cycles / rates.clock + bytes / link.bytes_per_second / c.in_switch);
}

}  // namespace pagoda::inline core
