// The kernels of a model under TensorRT and their times: fused kernels in float16, or with products in int8.
//
//   TensorRtKernels lowered = tensorrt_kernels(model, analyze(model, {.batch = 8, .precision = Precision::Int8}));
//   tensorrt_seconds(lowered, *tensorrt_rates(documents::find_device("l40s")),
//                    tensorrt_coefficients(documents::calibration("tensorrt")));
//
// The kernels are the groups of fused traffic. A kernel takes launch_cycles / clock + (work² + bytes²)^(1/2). A
// product's work comes in whole waves of tiles over the units, with the best of several tile shapes, at a fraction of
// the peak; attention has one block of work per head and 512 queries; other kernels take only the time of their bytes,
// and adjacent ones without a product between them share a launch. Bytes come from memory at a fraction of its
// bandwidth, or from L2 as far as a kernel's tensors fit in it. Boards that cannot power their peak are limited by
// their watts: a fraction of the FLOP per joule that the largest board of their generation states.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pagoda/core/analysis.h"
#include "pagoda/core/calibration.h"
#include "pagoda/core/device.h"
#include "pagoda/core/graph.h"

#pragma GCC visibility push(default)
namespace pagoda::inline core {

// Cycles of the device's clock, fractions of its rates.
struct TensorRtCoefficients {
  double launch_cycles = 0;        // of a product or attention
  double light_launch_cycles = 0;  // of other kernels
  double compute = 1;              // fraction of the peak, for float16 products
  double narrow = 1;               // times that, in int8
  double attention = 1;            // fraction of the peak
  double bandwidth = 1;            // fraction of memory bandwidth
  double l2 = 1;                   // fraction of 32 B per cycle and unit
  double sustained = 1;            // fraction of the flagship's FLOP per joule, for any board of its generation
  double narrow_per_joule = 2;     // times that, in int8
};
CoefficientRows coefficient_rows(TensorRtCoefficients& coefficients);
TensorRtCoefficients tensorrt_coefficients(const Calibration& calibration);

struct TensorRtRates {
  double float16 = 0, int8 = 0;  // FLOP/s of tensor units; int8 0: unsupported
  double vector = 0;             // FLOP/s of float32
  double bandwidth = 0, l2_bytes = 0, units = 1, clock = 0, watts = 0;
  double flagship_flops_per_joule = 0;  // 0: not known
};
// Empty where the device lacks one; `lacks` then receives the reason, "states no clock or power".
std::optional<TensorRtRates> tensorrt_rates(const DeviceSpec& device, std::string* lacks = nullptr);

struct TensorRtKernel {
  enum class Kind : std::uint8_t { Product, Attention, Other };
  Kind kind = Kind::Other;
  bool is_int8 = false;
  std::vector<std::int32_t> rows;  // in Analysis::nodes; the first represents all
  double batch = 1;                // matrices of a product, heads of attention
  double m = 0, n = 0, k = 0;      // of each matrix or head; attention: queries, keys
  double flops = 0;                // 2 · multiply-accumulates
  double weight_bytes = 0, other_bytes = 0;
  bool shares_launch = false;  // with the previous kernel
};

struct TensorRtKernels {
  std::vector<TensorRtKernel> kernels;
  double weight_bytes = 0;  // of all kernels
  // Rows of a quantised model: products that still run in float16, and conversions that no computing kernel absorbs.
  std::vector<std::int32_t> float_products, unfused_conversions;
  std::int64_t unknown_rows = 0;                // not modelled: their kernels are not counted
  double convolved_flops = 0, other_flops = 0;  // of convolutions, and of all other products

  bool mostly_convolve() const { return convolved_flops > other_flops; }
};
// `analysis` must have all sizes bound, with AnalyzeOptions::precision Float16 or Int8.
TensorRtKernels tensorrt_kernels(const Model& model, const Analysis& analysis);
double tensorrt_seconds(const TensorRtKernel& kernel, double all_weight_bytes, const TensorRtRates& rates,
                        const TensorRtCoefficients& coefficients);
double tensorrt_seconds(const TensorRtKernels& kernels, const TensorRtRates& rates,
                        const TensorRtCoefficients& coefficients);

}  // namespace pagoda::inline core
#pragma GCC visibility pop
