// Predicted time under ONNX Runtime on a CPU, calibrated on the machine that it is predicted for.
//
//   CpuCalibration here = documents::load_cpu_calibration("here.json").fitted;   // pagoda-calibrate --here wrote it
//   CpuPrediction time = predict_cpu(model, analysis, here);
//   time.seconds;  time.low, time.high;
//
// The model is lowered to the kernels that the engine runs after its own optimisations (cpu_kernels): constants folded,
// activations and sums joined to convolutions, convolutions in blocks of channels with a reordering at each border. A
// kernel takes
//   launch + ((flops / (R · curve))^4 + (cached / B + cold / M)^4)^(1/4),
//   curve = rows/(rows + m0) · width/(width + n0) · depth/(depth + k0)
// with R, B, m0, n0 and k0 of its class and M the memory's rate. Cold bytes are those that no cache can hold: weights of
// a model that has more of them than the last-level cache has room, and what one kernel moves beyond that room.
// R, B and the curve are fitted to single kernels that the engine's profiler timed; launch to whole runs without it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pagoda/core/analyze.h"
#include "pagoda/core/graph.h"
#include "pagoda/core/op_facts.h"
#include "pagoda/core/predict.h"

#pragma GCC visibility push(default)
namespace pagoda::inline core {

enum class CpuKernelClass : std::uint8_t {
  // Products: rows are places of the output, width its columns or channels, depth the multiply-accumulates of one.
  Conv,           // in blocks of channels
  ConvPointwise,  // 1×1, in blocks
  ConvStem,       // of an image as it is, into blocks
  ConvColumns,    // by a matrix of windows and a product: 1-D, 3-D, odd groups, transposed
  ConvDepthwise,
  ConvQuantized,
  Product,           // with a weight
  ProductBatched,    // of activations
  ProductQuantized,  // of integers
  Attention,         // in one operator
  Recurrent,
  // Bytes
  Pointwise,
  PointwiseBroadcast,  // a smaller operand is repeated
  Activation,          // with evaluations of exp, erf, or their like
  Logistic,            // sigmoid, tanh, SiLU
  Norm,
  SkipNorm,  // of a sum
  Softmax,
  SoftmaxOuter,  // over another axis than the innermost
  Reduce,
  Pool,
  Transpose,       // the innermost axis stays
  TransposeInner,  // it does not
  Copy,            // concatenated, cut, padded, repeated
  Gather,
  Resize,
  Quantize,
  Reorder,  // from or to blocks of channels
  Other,
  Small,  // shapes and views: no bytes, a launch
};
inline constexpr std::size_t kCpuKernelClasses = static_cast<std::size_t>(CpuKernelClass::Small) + 1;
std::string_view to_string(CpuKernelClass kind);  // "conv_pointwise"
std::optional<CpuKernelClass> cpu_kernel_class(std::string_view name);
bool is_product(CpuKernelClass kind);

struct CpuKernel {
  CpuKernelClass kind = CpuKernelClass::Small;
  std::int32_t row = 0;     // in Analysis::nodes
  double flops = 0;         // of products, with the channels that blocks are filled up by
  double bytes = 0;         // of activations, read and written
  double weight_bytes = 0;  // of stored tensors
  double rows = 0, width = 0, depth = 0;
};

// --- kernels by their sizes; shapes are as ONNX has them ---

// A convolution of x [N, C, spatial …] and w [M, C / groups, window …] to y. `block`: channels of a block, 0 for a
// convolution that the engine does by columns; integers are never in blocks.
CpuKernel conv_kernel(const std::vector<std::int64_t>& x, const std::vector<std::int64_t>& w,
                      const std::vector<std::int64_t>& y, std::int64_t block, bool is_float = true);
// Matrices [.., rows, depth] × [.., depth, width].
CpuKernel product_kernel(CpuKernelClass kind, double matrices, double rows, double depth, double width,
                         double element_bytes, bool has_weight);
// What moves `bytes`, of which `weight_bytes` are stored.
CpuKernel moving_kernel(CpuKernelClass kind, double bytes, double weight_bytes = 0);

// The class of any operator but convolutions and transposes: by its name in the engine, else by its facts.
CpuKernelClass cpu_class_of(std::string_view op_type, const OpFacts& facts, bool is_broadcast);
// Of a transpose of `from` to `to`, sizes without axes of 1; empty where sizes alone do not tell.
std::optional<CpuKernelClass> transpose_class(const std::vector<std::int64_t>& from,
                                              const std::vector<std::int64_t>& to);

// --- calibration ---

struct CpuCoefficients {
  double flops_per_second = 0, bytes_per_second = 0;  // 0: the class has none
  double rows = 0, width = 0, depth = 0;              // where a product reaches half of its rate
};

struct CpuCalibration {
  std::string id;
  std::string regime;  // engine, version, machine, threads
  int threads = 0;
  int channel_block = 16;  // floats of a vector register
  double launch_seconds = 0;
  double memory_bytes_per_second = 0, cache_bytes = 0;
  std::array<CpuCoefficients, kCpuKernelClasses> classes = {};
  double coverage = 0;
  std::optional<Factors> interval;  // empty: too few families to claim one
  // On families left out of the fit:
  double models = 0, families = 0, mean_error = 0, median_error = 0, p90_error = 0;
};

// `has_cold_weights`: the model's weights do not fit the cache.
double cpu_kernel_seconds(const CpuKernel& kernel, const CpuCalibration& calibration, bool has_cold_weights);

struct CpuKernels {
  std::vector<CpuKernel> kernels;  // in order
  double weight_bytes = 0;         // of all stored tensors that a kernel reads
  std::int64_t unknown_rows = 0;   // unmodelled: they run kernels nobody counts
};
// The kernels of ONNX Runtime's CPU provider at its highest level of optimisation. All dims must be bound.
CpuKernels cpu_kernels(const Model& model, const Analysis& analysis, int channel_block);

// Kernels of one class that the engine does slowly for a reason, and that take a twentieth of the time or more.
struct SlowCpuKernels {
  CpuKernelClass kind = CpuKernelClass::Other;
  std::vector<std::int32_t> rows;  // in Analysis::nodes, those with most time first
  double seconds = 0;
  std::string_view reason;
};

struct CpuPrediction {
  double seconds = 0;
  std::optional<double> low, high;
  std::vector<SlowCpuKernels> slow;  // most time first
  std::vector<double> row_seconds;  // by Analysis::nodes: sums to `seconds`
  std::int64_t kernels = 0, unknown_rows = 0;
};
CpuPrediction predict_cpu(const Model& model, const Analysis& analysis, const CpuCalibration& calibration);

// --- memory ---

// What decides the memory of a session, in bytes.
struct CpuMemoryTerms {
  double blocked = 0;      // convolution weights that are stored anew in blocks of channels
  double products = 0;     // weights of matrix products, packed for their kernels
  double other = 0;        // all other stored tensors
  double nodes = 0;        // a count
  double activations = 0;  // alive at once at their peak, sums and activations in place
};
CpuMemoryTerms cpu_memory_terms(const Model& model, const Analysis& analysis);  // all dims must be bound

// Resident bytes that loading a model and running it add to a process.
struct CpuMemory {
  double bytes = 0;       // the larger of both below
  double load_bytes = 0;  // the peak while the session is made: the file's tensors and what is made of them
  double run_bytes = 0;   // what the session keeps, and the arena of activations as the engine lets it grow
  double low = 0, high = 0, coverage = 0;
};
CpuMemory predict_cpu_memory(const CpuMemoryTerms& terms);

// --- fitting ---

// A kernel as the engine's profiler timed it.
struct TimedCpuKernel {
  CpuKernel kernel;
  double seconds = 0;  // of one execution
};
struct TimedCpuRun {
  std::string name, family;  // models that share code: they are left out together
  double seconds = 0;        // of a run without profiler
  CpuKernels lowered;
  std::vector<TimedCpuKernel> timed;  // of a run with it
};
struct CpuFit {
  CpuCalibration calibration;
  // s of each run, by a fit without its family; empty where no other family runs the kernels that take most of it.
  std::vector<std::optional<double>> predicted;
  double fitted_mean_error = 0;   // of the calibration on the runs it was fitted to
};
// `machine` states threads, block and cache; the rest is fitted. Throws Error without runs, and without a product of one
// row with a weight that no cache holds, which shows the memory's rate.
CpuFit fit_cpu(std::span<const TimedCpuRun> runs, const CpuCalibration& machine, double coverage = 0.8);

}  // namespace pagoda::inline core
#pragma GCC visibility pop
