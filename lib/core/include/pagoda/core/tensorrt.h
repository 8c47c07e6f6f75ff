// Predicts the time of a model under TensorRT: fused kernels in float16, or with products in int8.
//
//   Analysis narrow = analyze(model, {.batch = 8, .precision = Precision::Int8});
//   Prediction time = predict_tensorrt(model, narrow, documents::find_device("l40s"),
//                                      documents::tensorrt_calibration("tensorrt"));
//   *time.seconds;
//
// The kernels are the groups of fused traffic. A kernel takes launch_cycles / clock + (work² + bytes²)^(1/2). A
// product's work comes in whole waves of tiles over the units, with the best of several tile shapes, at a fraction of
// the peak; attention has one block of work per head and 512 queries; other kernels take only the time of their bytes,
// and adjacent ones without a product between them share a launch. Bytes come from memory at a fraction of its
// bandwidth, or from L2 as far as a kernel's tensors fit in it. Boards that cannot power their peak are limited by
// their watts: a fraction of the FLOP per joule that the largest board of their generation states.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "pagoda/core/device.h"
#include "pagoda/core/predict.h"

#pragma GCC visibility push(default)
namespace pagoda::inline core {

// Coefficients: cycles of the device's clock, fractions of its rates.
struct TensorRtCalibration {
  std::string id, regime, source;
  std::vector<std::string> devices;  // measured devices
  double launch_cycles = 0;          // of a product or attention
  double light_launch_cycles = 0;    // of other kernels
  double compute = 1;                // fraction of the peak, for float16 products
  double narrow = 1;                 // times that, in int8
  double attention = 1;              // fraction of the peak
  double bandwidth = 1;              // fraction of memory bandwidth
  double l2 = 1;                     // fraction of 32 B per cycle and unit
  double sustained = 1;              // fraction of flagship_flops_per_joule(), for any board of the generation
  double narrow_per_joule = 2;       // times that, in int8
  // prediction · interval.low … prediction · interval.high contains `coverage` of the runs of a device left out of the
  // fit or, of one device only, of a group left out (interval_factors()). Empty where there are too few.
  double coverage = 0;
  std::optional<Factors> interval;
};

struct TensorRtRates {
  double float16 = 0, int8 = 0;  // FLOP/s of tensor units; int8 0: unsupported
  double vector = 0;             // FLOP/s of float32
  double bandwidth = 0, l2_bytes = 0, units = 1, clock = 0, watts = 0;
  int capability = 0;  // 75 for "7.5"
};
// float16 FLOP per joule on tensor units, from the data sheet of the largest data-centre board of a generation of CUDA
// devices; 0 for generations before tensor units and after Hopper.
double flagship_flops_per_joule(int capability);
// Empty where the device lacks one; `lacks` then receives what it does not state, "states no clock or power".
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
  double weight_bytes = 0;        // of all kernels
  // Rows of a model with quantised products: products that still multiply in float16, and conversions that are separate
  // kernels because no computing kernel absorbs them.
  std::vector<std::int32_t> float_products, unfused_conversions;
  std::int64_t unknown_rows = 0;  // not modelled: their kernels are not counted
};
// `analysis` must have all sizes bound, with AnalyzeOptions::precision Float16 or Int8.
TensorRtKernels tensorrt_kernels(const Model& model, const Analysis& analysis);
double tensorrt_seconds(const TensorRtKernel& kernel, double all_weight_bytes, const TensorRtRates& rates,
                        const TensorRtCalibration& calibration);
double tensorrt_seconds(const TensorRtKernels& kernels, const TensorRtRates& rates,
                        const TensorRtCalibration& calibration);

// Like predict() for eager PyTorch. `analysis` as above.
Prediction predict_tensorrt(const Model& model, const Analysis& analysis, const DeviceSpec& device,
                            const TensorRtCalibration& calibration);

// --- fitting ---

struct TensorRtRun {
  std::string device;  // id
  std::string group;   // also left out together: a sequence length, a family of models; "": never judged
  std::string pair = {};  // the same for the float16 and the int8 run of one configuration; "": of none
  bool is_int8 = false;
  TensorRtKernels kernels;
  TensorRtRates rates;
  double seconds = 0;  // measured
};
// Levenberg-Marquardt over logarithms with priors (tensorrt_fit.cpp). The runs of one device are similar and together
// weigh as 20 observations. Coefficients that no run determines keep their priors; `centre`: the priors' centre, a
// calibration of other devices.
TensorRtCalibration fit_tensorrt(std::span<const TensorRtRun> runs, const TensorRtCalibration* centre = nullptr);

// |predicted / measured − 1| over some runs, and the mean of predicted / measured − 1.
struct TensorRtErrors {
  std::string of;  // a device or group
  std::int64_t runs = 0;
  double mean = 0, median = 0, bias = 0;
};

struct TensorRtFit {
  TensorRtCalibration calibration;  // of all runs
  std::vector<TensorRtErrors> fitted = {}, left_out = {};  // by device; by device and group, each from a fit without it
  // Of each run, by a fit that leaves out its device. With one device, the fit leaves out the run's group instead. Empty
  // for a run without such a fit.
  std::vector<std::optional<double>> predicted = {};
  double covered = 0;  // share of `predicted` inside the interval or, of one device only, that of the other groups
  std::int64_t pairs = 0, pairs_right = 0;  // whether int8 is faster, by `predicted`
};
TensorRtFit calibrate_tensorrt(std::span<const TensorRtRun> runs, double coverage,
                               const TensorRtCalibration* centre = nullptr);

}  // namespace pagoda::inline core
#pragma GCC visibility pop
