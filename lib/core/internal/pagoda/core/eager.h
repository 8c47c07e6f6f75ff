// Engines that run operators one by one: eager PyTorch, and ONNX Runtime's CUDA provider.
//
//   EagerKernels lowered = eager_kernels(model, analysis, {.engine = eager_engine("pytorch-amp")});
//   kernel_seconds(lowered.kernels[0], *kernel_rates(device), eager_coefficients(calibration));
//
// The model is lowered to the kernels of eager PyTorch, in float32 or under automatic mixed precision (float16):
// convolution, bias, normalisation and activation are separate kernels; casts appear where autocast inserts them,
// copies where a view is not enough, and attention is one kernel where it was exported from one. Or it is lowered to
// those of ONNX Runtime's CUDA provider, which optimises the graph first. A kernel takes
//   launch + ((work · c_w / (rate · curve))^p + (bytes · c_b / bandwidth)^p)^(1/p),
//   curve = M/(M + m0) · N/(N + n0) · K/(K + k0)
// where c_w, c_b, m0, n0 and k0 belong to its class, p is common to all, and M, N, K are the sizes of a product (see
// KernelClass); m0 is 0 where batches are large. The coefficients have no unit, so they carry over to other devices;
// rates and bandwidth are the device's. Where a calibration states what launches cost the host (HostCosts), the host
// launches while the device works, and a run ends when both have; else the time of a run is the sum of its kernels.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pagoda/core/analyze.h"
#include "pagoda/core/calibration.h"
#include "pagoda/core/device.h"
#include "pagoda/core/graph.h"

#pragma GCC visibility push(default)
namespace pagoda::inline core {

enum class KernelClass : std::uint8_t {
  // Tensor units; N = output channels of a group, K = multiply-accumulates per output element.
  Conv,           // row-major (NCHW): the library changes layouts around it
  ConvPointwise,  // 1×1, NCHW
  ConvStem,       // at most 4 input channels
  ConvPatch,      // the same with adjacent, non-overlapping windows: patch embedding
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
  Activation,          // evaluates exp, erf, tanh or similar
  BatchNorm,
  BatchNormChannelsLast,
  LayerNorm,
  GroupNorm,
  Softmax,
  Reduce,
  Cast,             // between float32 and float16
  Copy,             // to a different layout with the same fastest axis
  CopyTransposing,  // … with a different fastest axis
  Concat,
  Pad,
  Gather,
  Resize,
  Other,  // any operator without a class: bytes as counted
};

// The rate that limits a class of kernels.
enum class Place : std::uint8_t { Tensor, Vector, Memory };
Place place_of(KernelClass kind);
bool is_convolution(KernelClass kind);  // on tensor units
inline constexpr std::size_t kKernelClasses = static_cast<std::size_t>(KernelClass::Other) + 1;
std::string_view to_string(KernelClass kind);  // "conv_pointwise"

// A kernel launch. Sizes are numbers: a prediction is for one set of sizes.
struct KernelLaunch {
  KernelClass kind = KernelClass::Other;
  std::int32_t row = 0;    // in Analysis::nodes
  double times = 1;        // launches, one a trip of a loop; the other members describe one of them
  double macs = 0;         // multiply-accumulates; taps for pooling
  double bytes = 0;        // read and written, in the widths of mixed precision
  double width = 0;        // N; 0 outside products
  double depth = 0;        // K
  double tiles = 0;        // 128 × 128 blocks of output; 0 outside products
  double written = 0;      // written part of `bytes`; 0 if unknown
  double fresh = 0;        // part of `bytes` that reads an earlier kernel's output
  double distance = 0;     // bytes that all kernels move between that write and this read
  double rows = 0;         // M, output positions or rows of a product; 0: unknown
  bool is_inside = false;  // launched by the same call as the kernel before
  bool on_host = false;    // no kernel: the CPU computes sizes
};

struct EagerKernels {
  std::vector<KernelLaunch> kernels;  // in order
  std::int64_t unknown_rows = 0;      // unmodelled rows: their kernels are not counted
};

// A way to run operators one by one.
struct EagerEngine {
  std::string_view id = "pytorch-amp";
  // Float16 by autocast; or without casts Float32, or Tf32 on tensor units where the device has them.
  Precision products = Precision::Float16, convolutions = products;
  bool on_cpu = false;     // oneDNN adds the bias within a convolution
  bool optimizes = false;  // rewrites the graph before it runs: ONNX Runtime's CUDA provider
  // Predicts only the machine whose runs its calibration was fitted to. Kernels of few rows have a coefficient of their
  // own (`rows`), and a byte costs the same cached or not. Modelling idle units and cache hits as well raised the error
  // from 18 % to 22 %, with families left out on data/measured/nvidia-h200-runs.csv.
  bool is_of_one_machine = false;
};
const EagerEngine& eager_engine(std::string_view id);  // an Error names the known ones

struct EagerOptions {
  Bindings bindings = {};      // sizes of free dims; missing ones are 1
  bool channels_last = false;  // images and convolution weights are stored as N, H, W, C (NHWC)
  EagerEngine engine = {};
};

// The kernels of `options.engine`. One that optimizes takes the sizes and layout of the file: all dims must be bound.
EagerKernels eager_kernels(const Model& model, const Analysis& analysis, const EagerOptions& options = {});

// Coefficients of one class: `work` and `bytes` multiply the time at the device's rate; 1 is the roofline.
struct ClassCoefficients {
  double work = 1, bytes = 1;
  double width = 0, depth = 0;  // n0, k0
  double rows = 0;              // m0
};

// The host's costs of launches, in seconds. It launches while the device works: a run takes the longer of both.
struct HostCosts {
  double run = 0;          // of a run, once
  double shape = 0;        // of each call that computes sizes
  double node = 0;         // of each other call, also without a kernel: a view
  double kernel = 0;       // more, for each of the engine's own kernels
  double product = 0;      // for each of cuBLAS
  double convolution = 0;  // for each of cuDNN, which also pools

  bool is_known() const { return kernel > 0; }
};
struct HostCost {
  const char* name;  // in files
  double HostCosts::*member;
  double centre;  // of its prior, in seconds
};
// The centres are guesses around the 3.2 µs that an empty kernel takes to launch on an H200
// (data/measured/nvidia-h200.json), give or take a factor of e.
inline constexpr HostCost kHostCosts[] = {
    {"run", &HostCosts::run, 20e-6},        {"shape", &HostCosts::shape, 1e-6},
    {"node", &HostCosts::node, 1.5e-6},     {"kernel", &HostCosts::kernel, 4e-6},
    {"product", &HostCosts::product, 7e-6}, {"convolution", &HostCosts::convolution, 10e-6},
};

struct EagerCoefficients {
  std::array<ClassCoefficients, kKernelClasses> classes = {};
  double launch = 1;                   // time of a launch, in units of the device's launch overhead
  HostCosts host = {};                 // without them, the host is never the limit
  double norm = 4;                     // p: 1 adds work and traffic, a large p takes the longer one
  double shortest_kernel_seconds = 0;  // smallest mean kernel time of a model in the fit
};
CoefficientRows coefficient_rows(EagerCoefficients& coefficients);
EagerCoefficients eager_coefficients(const Calibration& calibration);
Coefficients written_coefficients(EagerCoefficients coefficients);  // without those that are not known

// The interval for a device and layout: `interval` if both were measured, else `elsewhere`.
std::optional<Factors> interval(const Calibration& calibration, std::string_view device, bool channels_last);

// The rates that kernels run at; kernel_rates() is empty where the device lacks one, such as a CPU without float16
// products. `lacks` then receives the reason, "states no memory bandwidth".
struct KernelRates {
  double tensor = 0;       // FLOP/s of products: float16 with float32 accumulation, tf32, or float32
  double convolution = 0;  // the same of convolutions
  double vector = 0;       // FLOP/s, float32
  double bandwidth = 0;    // B/s of the outermost memory
  double launch = 0;       // s; a microsecond, as a unit, for float32 on a device that states no overhead
  double units = 1;        // SMs
  double cache = 0;        // B in the level inside the outermost memory; 0 if not stated
};
std::optional<KernelRates> kernel_rates(const DeviceSpec& device, const EagerEngine& engine = {},
                                        std::string* lacks = nullptr);

double kernel_seconds(const KernelLaunch& kernel, const KernelRates& rates, const EagerCoefficients& coefficients);

// A kernel's time and how it changes with each coefficient: derivatives with respect to the logarithm of a coefficient.
struct KernelTerms {
  double seconds = 0, launch = 0;
  double by_work = 0, by_bytes = 0, by_rows = 0, by_width = 0, by_depth = 0, by_norm = 0;
};
KernelTerms kernel_terms(const KernelLaunch& kernel, const KernelRates& rates, const EagerCoefficients& coefficients);

// --- a host that launches kernels one after another, while the device works through those it was given ---
//
// The device waits for the host where launches take longer than kernels, and the host runs ahead where they do not.
// After its last wait, at kernel k, the device is never idle, so that a run takes
//   run + Σ_{i ≤ k} host_i + Σ_{i ≥ k} device_i ,
// where host_i is the cost of a call, unless the kernel is inside one, and that of its launch.

// The kind of call that launches a kernel: the place of its cost in kHostCosts. A view costs as much as any call.
enum class HostPart : std::uint8_t { OnHost = 1, View, Kernel, Product, Convolution };
bool has_kernel(HostPart part);
HostPart host_part(const KernelLaunch& kernel);
struct HostTerms {
  double call = 0, own = 0;  // of a call, and of the launch in it
};
HostTerms host_terms(const KernelLaunch& kernel, const HostCosts& host);
double host_seconds(const KernelLaunch& kernel, const HostCosts& host);

struct LaunchQueue {
  std::size_t last_wait = 0;  // k; the number of kernels if the host ends last
  double seconds = 0;
};
// `device`: seconds of each kernel on the device. Nodes without a kernel have none there.
LaunchQueue launch_queue(std::span<const KernelLaunch> kernels, std::span<const double> device, const HostCosts& host);

// The time that each kernel adds to the run: its kernel_seconds() without costs of the host.
std::vector<double> added_seconds(std::span<const KernelLaunch> kernels, const KernelRates& rates,
                                  const EagerCoefficients& coefficients);

}  // namespace pagoda::inline core
#pragma GCC visibility pop
