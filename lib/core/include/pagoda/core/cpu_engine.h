// Predicts time under ONNX Runtime on a CPU, with a calibration made on the same machine.
//
//   CpuCalibration here = documents::load_cpu_calibration("here.json").fitted;   // pagoda-calibrate --here wrote it
//   CpuPrediction time = predict_cpu(model, analysis, here);
//   time.seconds;  time.low, time.high;
//
// The model is lowered to the kernels that the engine runs after its own optimisations (cpu_kernels): constants folded,
// activations and sums fused into convolutions, convolutions in blocked channel layout with a reorder at each border. A
// kernel takes
//   launch + start + ((flops / (R · curve))^(1+v) + (cached / B + cold / M)^(1+v))^(1/(1+v)),
//   curve = rows/(rows + m0) · width/(width + n0) · depth/(depth + k0) · line/(line + l0)
// where start, R, B, v, m0, n0, k0 and l0 belong to its class and M is the memory's rate. Arithmetic and traffic follow
// each other if v is 0; the longer hides the other if v is large. A class that is bound by bytes has B · width/(width +
// n0) in place of B, where width is the number of elements that lie side by side. Kernels that move less than
// kFewBytes run on one thread, so nothing starts. Cold bytes are those that the cache does not hold: the cold share of
// the weights (cold_share), and activations of one kernel beyond its capacity, which is at most that of the stated
// last-level cache. While the processors have different caches, activations also take bytes / H to change hands
// (CpuApart). All are fitted to single kernels timed by the engine's profiler, whose own
// cost per kernel follows from runs with and without it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
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
  // Products: rows are output positions, width is columns or channels of the output, depth is multiply-accumulates per
  // element.
  Conv,           // in blocked channel layout
  ConvPointwise,  // 1×1, blocked
  ConvStem,       // reads an image in plain layout, writes blocks
  ConvColumns,    // im2col and a product: 1-D, 3-D, odd groups, transposed
  ConvDepthwise,
  ConvDepthwiseColumns,  // in plain layout, by an engine that has blocks: im2col and a product for each channel
  ConvQuantized,
  ConvQuantizedDepthwise,
  Product,           // with a weight
  ProductBiased,     // with a weight and a bias, which is spread over the result first: Gemm
  ProductVector,     // of one row with a weight, which it reads once: bound by bytes
  ProductBatched,    // of activations
  ProductQuantized,  // of integers, by int8
  ProductUnsigned,   // of integers, by uint8, which is slower on x86
  ProductBits,       // of floats, with a weight of a few bits: MatMulNBits
  Attention,         // as one operator
  Recurrent,
  // Bound by bytes:
  Pointwise,
  PointwiseBroadcast,  // a smaller operand is repeated
  Activation,          // evaluates exp, erf or similar
  Logistic,            // sigmoid, tanh, SiLU
  Norm,
  SkipNorm,  // of a sum
  Softmax,
  SoftmaxOuter,  // over an axis other than the innermost
  Reduce,
  Pool,
  Transpose,           // keeps the innermost axis
  TransposeInner,      // swaps two neighbouring blocks of axes, the innermost among them
  TransposeScattered,  // any other order that moves the innermost axis
  Copy,                // concatenates, slices, pads, repeats
  Gather,
  Resize,
  ResizeCubic,
  Quantize,  // floats to integers, and back
  Integer,   // between 8-bit tensors, element by element
  IntegerPool,
  Reorder,  // from or to blocked channel layout
  Other,
  Small,  // shapes and views: a launch without bytes
};
inline constexpr std::size_t kCpuKernelClasses = static_cast<std::size_t>(CpuKernelClass::Small) + 1;
std::string_view to_string(CpuKernelClass kind);  // "conv_pointwise"
std::optional<CpuKernelClass> cpu_kernel_class(std::string_view name);
bool is_product(CpuKernelClass kind);
bool is_bound_by_work(CpuKernelClass kind);  // a product, except of one row, which uses each weight once
bool is_quantized(CpuKernelClass kind);  // a product of integers

struct CpuKernel {
  CpuKernelClass kind = CpuKernelClass::Small;
  std::int32_t row = 0;     // in Analysis::nodes
  double flops = 0;         // of products, including channels that pad blocks
  double bytes = 0;         // of activations, read and written
  double weight_bytes = 0;  // of stored tensors
  // Of products; of other kernels, width is the elements side by side in a row of the work, 0 where that is unknown.
  double rows = 0, width = 0, depth = 0;
  // Of convolutions in blocks: output positions side by side, which the kernel works on at once. 0: all of them.
  double line = 0;
  double matrices = 1;  // of a batched product, which share `rows`
  // Absorbed by a convolution in plain layout, which an engine may run as kernels after it all the same.
  bool has_bias = false;
  int sums = 0, activations = 0;
};

// Kernels that move fewer bytes, such as shape computations, run on one thread. Assumed: the engine decides by what it
// takes each operator to cost.
inline constexpr double kFewBytes = 4000;

// --- kernels from sizes; shapes in ONNX's axis order ---

enum class ConvForm : std::uint8_t { Blocks, Plain, Integers };
// A convolution of x [N, C, spatial …] and w [M, C / groups, window …] to y. `block`: channels in a block of the
// engine, 0 if it has none, so that all its convolutions are plain.
CpuKernel conv_kernel(const std::vector<std::int64_t>& x, const std::vector<std::int64_t>& w,
                      const std::vector<std::int64_t>& y, std::int64_t block, ConvForm form);
// Matrices [.., rows, depth] × [.., depth, width].
CpuKernel product_kernel(CpuKernelClass kind, double matrices, double rows, double depth, double width,
                         double element_bytes, bool has_weight);
// A kernel that moves `bytes`, plus `weight_bytes` of stored tensors, in rows of `width` elements (0: unknown).
CpuKernel moving_kernel(CpuKernelClass kind, double bytes, double weight_bytes = 0, double width = 0);
// The kernel of a transpose: axis i of the result is axis perm[i] of the operand of these sizes.
CpuKernel transpose_kernel(const std::vector<std::int64_t>& sizes, const std::vector<std::int64_t>& perm,
                           double element_bytes);

// The class of any operator except convolutions and transposes: by its name in the engine, else by its facts.
CpuKernelClass cpu_class_of(std::string_view op_type, const OpFacts& facts, bool is_broadcast);
// The transpose from shape `from` to `to`; empty where sizes alone do not decide its class.
std::optional<CpuKernel> transpose_kernel_between(const std::vector<std::int64_t>& from,
                                                  const std::vector<std::int64_t>& to, double element_bytes);

// --- calibration ---

struct CpuCoefficients {
  double start_seconds = 0;                           // beyond the launch that all kernels have
  double flops_per_second = 0, bytes_per_second = 0;  // 0: the class has none
  double rows = 0, width = 0, depth = 0, line = 0;    // sizes at which a kernel reaches half its rate
  double overlap = 3;                                 // of arithmetic and traffic: v
};

// What all classes share.
struct CpuMachine {
  double launch_seconds = 0;
  double memory_bytes_per_second = 0, cache_bytes = 0;
  // Of activations, from the processor that wrote them to the one that reads or overwrites them; 0: hidden in the rates
  // of the classes.
  double handoff_bytes_per_second = 0;
  double cache_speed = 1;  // of cached bytes, as a factor of the classes' rates
};

// The machine while its processors have different last-level caches, as a host may place those of a virtual machine: two
// caches hold more and serve fewer cores each, and activations that one processor wrote cross from one cache to the other.
struct CpuApart {
  CpuMachine machine;
  double share = 0;  // of the calibration's rounds
  double runs = 0, mean_error = 0;  // of the ratio to the time with one cache
};

struct CpuCalibration : CpuMachine {
  std::string id;
  std::string regime;  // engine, version, machine, threads
  int threads = 0;
  int channel_block = 16;  // floats per vector register
  std::array<CpuCoefficients, kCpuKernelClasses> classes = {};
  std::optional<CpuApart> apart;  // empty: no run was measured in both placements
  double coverage = 0;
  std::optional<Factors> interval;  // empty: too few families to claim one
  // Errors on families left out of the fit:
  double models = 0, families = 0, mean_error = 0, median_error = 0, p90_error = 0;
};

// Gives each class without a rate that of the nearest class that has one.
void fill_unmeasured(CpuCalibration& calibration);

// `cold`: the share of the weights that each run reads from memory.
double cpu_kernel_seconds(const CpuKernel& kernel, const CpuCalibration& calibration, double cold);
double cpu_kernel_seconds(const CpuKernel& kernel, const CpuCoefficients& of_class, const CpuMachine& machine,
                          double cold);

struct CpuKernels {
  std::vector<CpuKernel> kernels;  // in order
  double weight_bytes = 0;         // of stored tensors that the kernels of a run read
  double activation_bytes = 0;     // alive at once, at most
  std::int64_t unknown_rows = 0;   // unmodelled: their kernels are not counted
};
// The share of the weights that a cache has dropped by the time that the next run reads them: 0 if it holds them and
// the memory of the activations. Each run passes over all of these bytes, W, and misses a share m of them; each miss
// replaces any line of the cache, of capacity C, with equal probability, so a line survives a run with probability
// exp(-m W / C) = 1 - m. (A cache that replaces the oldest line would drop all as soon as W exceeds C.) Checked with
// products of one and two rows, ONNX Runtime 1.32 on a Zen 4 with 32 MiB of last-level and 2 of private caches: from 25
// to 134 MB of weights, the rate falls from 120 to 34 GB/s as this and a C of 35 MB say, within 10 % for two rows.
double cold_share(const CpuKernels& model, double cache_bytes);
// The kernels of ONNX Runtime's CPU provider at its highest level of optimisation. All dims must be bound.
CpuKernels cpu_kernels(const Model& model, const Analysis& analysis, int channel_block);

// Kernels of one class that is slow in this engine for a known reason, where they take at least 5 % of the time.
struct SlowCpuKernels {
  CpuKernelClass kind = CpuKernelClass::Other;
  std::vector<std::int32_t> rows;  // in Analysis::nodes, most time first
  double seconds = 0;
  std::string_view reason;
};

// A prediction is of the placement of processors that most rounds of the calibration had.
struct CpuPrediction {
  double seconds = 0;
  bool is_apart = false;                // the processors have different caches
  std::optional<double> other_seconds;  // in the other placement; empty: not measured
  std::optional<double> low, high;
  std::vector<SlowCpuKernels> slow;  // most time first
  std::vector<double> row_seconds;   // by Analysis::nodes: sums to `seconds`
  std::int64_t kernels = 0, unknown_rows = 0;
};
CpuPrediction predict_cpu(const Model& model, const Analysis& analysis, const CpuCalibration& calibration);

// --- memory ---

// Quantities that decide the memory of a session, in bytes.
struct CpuMemoryTerms {
  double blocked = 0;      // convolution weights that are copied into blocked layout
  double products = 0;     // weights of matrix products, packed for their kernels
  double other = 0;        // all other stored tensors
  double nodes = 0;        // a count
  double activations = 0;  // peak of live tensors; sums and activations run in place
};
CpuMemoryTerms cpu_memory_terms(const Model& model, const Analysis& analysis);  // all dims must be bound

// Resident bytes that loading a model and running it add to a process.
struct CpuMemory {
  double bytes = 0;       // the larger of load_bytes and run_bytes
  double load_bytes = 0;  // the peak while the session is created: the file's tensors and the copies made of them
  double run_bytes = 0;   // what the session keeps, plus the activation arena as the engine grows it
  double low = 0, high = 0, coverage = 0;
};
CpuMemory predict_cpu_memory(const CpuMemoryTerms& terms);

// --- fitting ---

// A kernel timed by the engine's profiler.
struct TimedCpuKernel {
  CpuKernel kernel;
  double seconds = 0;  // of one execution
};
struct TimedCpuRun {
  std::string name, family;  // models that share code, left out together; no family: fitted always, never judged
  double seconds = 0;        // of a run without the profiler
  std::optional<double> apart_seconds = {};  // the same while the processors have different caches
  CpuKernels lowered;
  std::vector<TimedCpuKernel> timed;  // of a run with the profiler
  // Of all kernels of that run, known or not; 0: no profile.
  double profiled_seconds = 0, profiled_kernels = 0;
};
struct CpuFit {
  CpuCalibration calibration;
  // s of each run, by a fit without its family; empty where no other family runs the kernels that take most of the
  // time.
  std::vector<std::optional<double>> predicted;
  std::map<std::string, CpuCalibration> without;  // by family: the fit without its runs
  double fitted_mean_error = 0;                   // of the calibration on the runs it was fitted to
  double covered = 0;  // share of judged runs inside the interval that the other families give
};
// `machine` gives threads, block and cache; the rest is fitted. Throws Error without runs, and without a one-row
// product whose weight exceeds the cache, which is needed to measure the memory's rate.
CpuFit fit_cpu(std::span<const TimedCpuRun> runs, const CpuCalibration& machine, double coverage = 0.8);

}  // namespace pagoda::inline core
#pragma GCC visibility pop
