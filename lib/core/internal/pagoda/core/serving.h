// Predicted time of a step under a serving engine (vLLM, SGLang, TensorRT-LLM), on one device or several.
//
//   Calibration fitted = documents::calibration("llm-serving");
//   ServingTime time = predict_serving(model, share, documents::find_device("l40s"), {}, fitted);
//   time.seconds;  time.kernels;  // the sum, and its parts
//
// Assumptions about engines: the whole step is one CUDA graph; products that share an operand are merged (queries, keys
// and values; gate and up); the head runs on the last position of each sequence; attention writes the new rows and
// reads a paged cache, after a small rotation kernel; a norm with its residual is one kernel, and so are the operators
// between up and down; biases, casts and layouts cost nothing extra; floats are bfloat16, or 8 bits where the analysis
// has 8-bit products and the device supports them; all-reduces are one-shot or two-shot, or rings between more than two
// devices without NVLink. A kernel takes launch_cycles / clock + (work^p + bytes^p)^(1/p), with work at a fraction of
// the device's peak and bytes at a fraction of its bandwidth plus cycles of its units, fitted to published kernel
// measurements (data/calibration/serving). The fraction of a peak falls as a unit multiplies more per cycle, because
// its operand supply does not get faster: 1 / (1 + feed · FLOP per cycle and unit). A product's work comes in whole
// waves of tiles over the device's units, with the best of several tile shapes and contraction splits.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pagoda/core/device.h"
#include "pagoda/core/engine.h"
#include "pagoda/core/graph.h"
#include "pagoda/core/parallel.h"

#pragma GCC visibility push(default)
namespace pagoda::inline core {

// Coefficients independent of a device: cycles of its clock, fractions of its rates.
struct ServingKernels {
  // The coefficients of one kind of kernels, which uses some of them.
  struct Kernel {
    double launch_cycles = 0, feed = 0, hop_cycles = 0, bandwidth = 1, small = 1, norm = 2;
    double tile_cycles = 0, ramp_cycles = 0, unit_cycles_per_byte = 0, per_block_cycles = 0;
    double block_cycles_per_byte = 0, split_cycles = 0;  // where blocks run in waves; 0: keys spread over the units
  };
  struct AllReduce {
    double one_shot_cycles = 0, one_shot = 1, two_shot_cycles = 0, two_shot = 1;
    double in_switch_cycles = 0, in_switch = 0;  // 0: not measured
  };
  double small_seconds = 0;  // fixed time of a "small" kernel, bytes come on top
  Kernel products, products_float8, prefill_attention, mixtures, decode_attention, ring_all_reduces, collectives;
  AllReduce all_reduces;
};

CoefficientRows coefficient_rows(ServingKernels& kernels);
// Of the calibration's set for the device's compute capability, else those fitted to all devices.
ServingKernels serving_kernels(const Calibration& calibration, const DeviceSpec& device);

// The rate of long products within the power of a measured device, for devices whose chips are made in the same process
// or in an older one: a set of Calibration::powers.
struct ServingPower {
  double watts = 0, flops_per_second = 0;
  double flops_per_cycle = 0;  // of all units
};
CoefficientRows coefficient_rows(ServingPower& power);

// The rates of a device that kernels run at.
struct ServingRates {
  Precision products = Precision::Bfloat16;  // of 16 bits: float16 where a device lacks bfloat16
  double bfloat16 = 0;                       // FLOP/s of tensor units in `products`, with float32 accumulation
  double float8 = 0;                         // 0: unsupported
  double bandwidth = 0, units = 1, clock = 0;
  double powered_part = std::numeric_limits<double>::infinity();  // of the peak, that long products may use
};
// Empty where the device lacks one; `lacks` then receives the reason, "states no clock".
std::optional<ServingRates> serving_rates(const DeviceSpec& device, std::string* lacks = nullptr);

// The part of its peak that a device's power allows in long products; infinite where its power is not known or no
// device of its kind was measured. Busy units draw in proportion to their number, clock and squared voltage; voltage is
// taken to be in proportion to the clock, and the measured device to draw all of its power W0 at its rate R0. With F
// and F0 FLOP per cycle and W watts that gives a rate of R0 · (W/W0 · (F/F0)^2)^(1/3).
double powered_part(const Calibration& calibration, const DeviceSpec& device);

// Times of single kernels. Sizes are those of one device.
struct ProductSize {
  double m = 0, n = 0, k = 0;
  double weight_bytes = 0, other_bytes = 0;  // operand and result
  bool is_float8 = false;
};
double product_seconds(const ProductSize& size, const ServingRates& rates, const ServingKernels& kernels);
// Causal attention of `tokens` new tokens per sequence, for `batch` sequences, after `past` tokens; window 0: none.
struct AttentionSize {
  double batch = 0, tokens = 0, past = 0, heads = 0, kv_heads = 0, size = 0, window = 0;
  double cache_width = 2;  // bytes
  bool decodes = false;    // with the kernel for few tokens, which splits keys
};
double attention_seconds(const AttentionSize& size, const ServingRates& rates, const ServingKernels& kernels);
// Tokens of all expert groups together; experts and inner channels of one device.
struct MixtureSize {
  double tokens = 0, hidden = 0, inner = 0, experts = 0, k = 0, groups = 1, weight_width = 2;
};
double mixture_seconds(const MixtureSize& size, const ServingRates& rates, const ServingKernels& kernels);
double collective_seconds(CollectiveKind kind, double bytes, std::int64_t devices, const LinkRate& link,
                          const ServingRates& rates, const ServingKernels& kernels);

struct ServingKernel {
  std::string_view kind;  // "product", "attention", "mixture", "small", "all_reduce" …
  std::int32_t row = 0;   // in Analysis::nodes; the first of merged products
  double seconds = 0;
};

struct ServingTime {
  double seconds = 0;
  bool has_cache = false;  // of keys and values: the model is a decoder, as all that were measured
  std::vector<ServingKernel> kernels;
};

// `share` is one device's work, from share_of_device, even for a single device. Throws Error where the device lacks a
// rate, and where the model has no product with a weight.
ServingTime predict_serving(const Model& model, const Share& share, const DeviceSpec& device, const LinkRate& link,
                            const Calibration& calibration);

}  // namespace pagoda::inline core
#pragma GCC visibility pop
