// Predicted time: what a framework that runs a model operator by operator will really take, beside the roofline's
// bound on what anything could take.
//
//   Prediction time = predict(model, analysis, device("rtx-3090"), calibration("rtx-3090-amp-nchw"));
//   *time.seconds;          // the prediction
//   time.low, time.high;    // holds the measured time in `coverage` of models of families never seen
//
// The model is lowered to the kernels of eager PyTorch under automatic mixed precision (float16): convolution, bias,
// normalisation and activation are kernels of their own; casts appear where autocast puts them, copies where a view
// does not do, attention as one kernel where it was exported from one. A kernel takes
//   launch + ((work · c_w / (rate · curve))^p + (bytes · c_b / bandwidth)^p)^(1/p),   curve = N/(N + n0) · K/(K + k0)
// with c_w, c_b, n0 and k0 of its class, p common to all, and N, K the inner sizes of a product (see KernelClass). The
// coefficients have no unit, so that they carry over to another device; rates and bandwidth are the device's.
// A calibration is fitted to measured times (calibrate.h) and holds for what it was fitted to: see Calibration::regime.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pagoda/core/analyze.h"
#include "pagoda/core/device.h"
#include "pagoda/core/graph.h"

#pragma GCC visibility push(default)
namespace pagoda::inline core {

enum class KernelClass : std::uint8_t {
  // Tensor units; N = output channels of a group, K = multiply-accumulates per output element.
  Conv,           // row-major (NCHW): the library changes layouts around it
  ConvPointwise,  // 1×1, NCHW
  ConvStem,       // of at most 4 input channels
  ConvPatch,      // the same with windows side by side: patch embedding
  ConvGrouped,
  ConvChannelsLast,  // input already in NHWC
  Linear,            // product with a weight
  BatchedMatmul,     // product of activations; N = the smaller of its outer sizes
  Attention,         // one kernel; N = size of a head, K = keys
  MaskedAttention,   // with a mask or bias
  Recurrent,         // all steps of an LSTM or GRU
  // Vector units
  Depthwise,         // the framework's own kernel
  DepthwiseLibrary,  // cuDNN's, NCHW
  DepthwiseChannelsLast,
  MaxPool,
  AveragePool,
  // Memory
  Pointwise,           // same type and layout everywhere
  PointwiseBroadcast,  // a smaller operand is repeated: bias, scale, gate
  PointwiseMixed,      // float16 with float32
  PointwiseStrided,    // operands in different layouts
  Activation,          // with evaluations of exp, erf, tanh, or their like
  BatchNorm,
  BatchNormChannelsLast,
  LayerNorm,
  GroupNorm,
  Softmax,
  Reduce,
  Cast,             // float32 to float16 and back
  Copy,             // to another layout with the same fastest axis
  CopyTransposing,  // … with another fastest axis
  Concat,
  Pad,
  Gather,
  Resize,
  Other,  // whatever has no class: bytes as counted
};

// Which rate a class of kernels works at.
enum class Place : std::uint8_t { Tensor, Vector, Memory };
Place place_of(KernelClass kind);
inline constexpr std::size_t kKernelClasses = static_cast<std::size_t>(KernelClass::Other) + 1;
std::string_view to_string(KernelClass kind);  // "conv_pointwise"
std::optional<KernelClass> kernel_class(std::string_view name);

// A kernel launch. Sizes are numbers: prediction is for one point.
struct KernelLaunch {
  KernelClass kind = KernelClass::Other;
  std::int32_t row = 0;  // in Analysis::nodes
  double macs = 0;       // multiply-accumulates; taps for pooling
  double bytes = 0;      // read and written, in the widths of mixed precision
  double width = 0;      // N; 0 outside products
  double depth = 0;      // K
  double tiles = 0;      // 128 × 128 blocks of output; 0 outside products
  double written = 0;    // of `bytes`; 0 where it is not known
  double fresh = 0;      // of `bytes`: read of what an earlier kernel has written
  double distance = 0;   // bytes that all kernels moved in between
};

struct EagerKernels {
  std::vector<KernelLaunch> kernels;  // in order
  std::int64_t unknown_rows = 0;      // rows that are unmodelled: they launch kernels nobody counts
};

struct EagerOptions {
  Bindings bindings = {};      // sizes of free dims; those left out are 1
  bool channels_last = false;  // images and convolution weights are stored as N, H, W, C (NHWC)
};

// The kernels of eager PyTorch with autocast to float16.
EagerKernels eager_kernels(const Model& model, const Analysis& analysis, const EagerOptions& options = {});

// Coefficients of one class: `work` and `bytes` multiply the time at the device's rate, 1 being the roofline.
struct ClassCoefficients {
  double work = 1, bytes = 1;
  double width = 0, depth = 0;  // n0, k0
};

// Factors on a prediction.
struct Factors {
  double low = 0, high = 0;
};

// The precision of every prediction and calibration: autocast runs products in it.
inline constexpr Precision kPredictedPrecision = Precision::Float16;

struct Calibration {
  std::string id;
  std::string regime;  // what was measured: framework, precision, layout, batches
  std::string source;  // of the measured times
  std::array<ClassCoefficients, kKernelClasses> classes = {};
  double launch = 1;                 // kernel launches, in the device's launch overhead
  double norm = 4;                   // p: 1 adds work and traffic, large p takes the longer one
  std::vector<std::string> devices;  // that were measured, by id
  std::vector<std::string> layouts;  // of images in the measured runs: "nchw", "nhwc"
  // prediction · interval.low … prediction · interval.high holds `coverage` of the models of unseen families on a
  // measured device in a measured layout; `elsewhere` does so on other devices or in other layouts, from runs on the
  // devices of `judge`, which had no part in the fit. Empty: too few families were measured to claim one.
  double coverage = 0;
  std::optional<Factors> interval, elsewhere;
  std::string judge;
  double shortest_kernel_seconds = 0;  // least mean time of a kernel among the models it was fitted to
  // On families left out of the fit:
  double models = 0, families = 0;
  double mean_error = 0, median_error = 0, p90_error = 0;  // |predicted / measured - 1|
  double rank_correlation = 0;                             // Spearman's
};

// The interval's factors for a device and layout: those of measured ones, or those of elsewhere.
std::optional<Factors> interval(const Calibration& calibration, std::string_view device, bool channels_last);

struct Prediction {
  std::optional<double> seconds;  // empty when the device states no rate that the calibration needs: see `problem`
  std::optional<double> low, high, coverage;  // empty where the calibration claims nothing for this device
  std::string calibration;
  std::string problem;  // why there is no prediction, or why it reaches beyond what was measured; else empty
  std::vector<double> row_seconds;  // by Analysis::nodes: sums to `seconds`
  std::int64_t kernels = 0;
  std::int64_t unknown_rows = 0;  // > 0: the prediction is of the rest
};

Prediction predict(const Model& model, const Analysis& analysis, const DeviceSpec& device,
                   const Calibration& calibration, const EagerOptions& options = {});

// The rates that kernels run at. Empty where the device lacks one (a CPU without float16 products, say).
struct KernelRates {
  double tensor = 0;     // FLOP/s, float16 with float32 accumulation
  double vector = 0;     // FLOP/s, float32
  double bandwidth = 0;  // B/s of the outermost memory
  double launch = 0;     // s
  double units = 1;      // SMs
  double cache = 0;      // B of the level before the outermost memory; 0 where the device states none
};
std::optional<KernelRates> kernel_rates(const DeviceSpec& device);

double kernel_seconds(const KernelLaunch& kernel, const KernelRates& rates, const Calibration& calibration);

}  // namespace pagoda::inline core
#pragma GCC visibility pop
