// The kernels of a model under ONNX Runtime, and their times on a CPU.
//
//   CpuCoefficients here = cpu_coefficients(documents::load_calibration("here.json").fitted);  // of this machine
//   OrtKernels lowered = ort_cpu_kernels(model, analysis, here.channel_block);
//   cpu_run_seconds(lowered, here, here);
//
// The model is lowered to the kernels that the engine runs after its own optimisations (ort_cpu_kernels): constants
// folded, activations and sums fused into convolutions, convolutions in blocked channel layout with a reorder at each
// border. A kernel takes
//   launch + start + ((flops / (R · curve))^(1+v) + (cached / B + cold / M)^(1+v))^(1/(1+v)),
//   curve = rows/(rows + m0) · width/(width + n0) · depth/(depth + k0) · line/(line + l0)
// where start, R, B, v, m0, n0, k0 and l0 belong to its class and M is the memory's rate. Arithmetic and traffic follow
// each other if v is 0; the longer hides the other if v is large. A class that is bound by bytes has B · width/(width +
// n0) in place of B, where width is the number of elements that lie side by side. Kernels that move less than
// kFewBytes run on one thread, so nothing starts. Cold bytes are those that the cache does not hold: the cold share of
// the weights (cold_share), and activations of one kernel beyond its capacity, which is at most that of the stated
// last-level cache. While the processors have different caches, activations also take bytes / H to change hands
// (CpuApart). All are fitted to single kernels timed by the engine's profiler, whose own cost per kernel follows from
// runs with and without it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "pagoda/core/engine.h"
#include "pagoda/core/graph.h"
#include "pagoda/core/op_facts.h"

#pragma GCC visibility push(default)
namespace pagoda::inline core {

enum class OrtKernelClass : std::uint8_t {
  // Products: rows are output positions, width is output columns or channels, depth is multiply-accumulates of each.
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
inline constexpr std::size_t kOrtKernelClasses = static_cast<std::size_t>(OrtKernelClass::Small) + 1;
std::string_view to_string(OrtKernelClass kind);  // "conv_pointwise"
bool is_product(OrtKernelClass kind);
bool is_bound_by_work(OrtKernelClass kind);  // a product, except of one row, which uses each weight once
bool is_quantized(OrtKernelClass kind);      // a product of integers

struct OrtKernel {
  OrtKernelClass kind = OrtKernelClass::Small;
  std::int32_t row = 0;     // in Analysis::nodes
  double times = 1;         // in a loop, its trips; the other members describe one run
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

// Kernels that move fewer bytes, such as shape computations, run on one thread. Assumed: the engine decides by its own
// estimate of each operator's cost.
inline constexpr double kFewBytes = 4000;

// --- kernels from sizes; shapes in ONNX's axis order ---

enum class ConvForm : std::uint8_t { Blocks, Plain, Integers };
// A convolution of x [N, C, spatial …] and w [M, C / groups, window …] to y. `block`: channels in a block of the
// engine, 0 if it has none, so that all its convolutions are plain.
OrtKernel conv_kernel(const std::vector<std::int64_t>& x, const std::vector<std::int64_t>& w,
                      const std::vector<std::int64_t>& y, std::int64_t block, ConvForm form);
// Matrices [.., rows, depth] × [.., depth, width].
OrtKernel product_kernel(OrtKernelClass kind, double matrices, double rows, double depth, double width,
                         double element_bytes, bool has_weight);
// A kernel that moves `bytes`, plus `weight_bytes` of stored tensors, in rows of `width` elements (0: unknown).
OrtKernel moving_kernel(OrtKernelClass kind, double bytes, double weight_bytes = 0, double width = 0);
// The kernel of a transpose: axis i of the result is axis perm[i] of the operand of these sizes.
OrtKernel transpose_kernel(const std::vector<std::int64_t>& sizes, const std::vector<std::int64_t>& perm,
                           double element_bytes);

// The class of any operator except convolutions and transposes: by its name in the engine, else by its facts.
OrtKernelClass ort_class_of(std::string_view op_type, const OpFacts& facts, bool is_broadcast);
// The transpose from shape `from` to `to`; empty where sizes alone do not decide its class.
std::optional<OrtKernel> transpose_kernel_between(const std::vector<std::int64_t>& from,
                                                  const std::vector<std::int64_t>& to, double element_bytes);

// --- calibration ---

struct CpuClassCoefficients {
  double start_seconds = 0;                           // beyond the launch that all kernels have
  double flops_per_second = 0, bytes_per_second = 0;  // 0: the class has none
  double rows = 0, width = 0, depth = 0, line = 0;    // sizes at which a kernel reaches half its rate
  double overlap = 3;                                 // of arithmetic and traffic: v
};

// Coefficients that all classes share.
struct CpuMachine {
  double launch_seconds = 0;
  double memory_bytes_per_second = 0, cache_bytes = 0;
  // Of activations from the processor that wrote them to the next one; 0: hidden in the rates of the classes.
  double handoff_bytes_per_second = 0;
  double cache_speed = 1;  // of cached bytes, as a factor of the classes' rates
};

// The machine while its processors have different last-level caches, as a host may place those of a virtual machine:
// two caches hold more and serve fewer cores each, and activations that one processor wrote cross from one cache to the
// other.
struct CpuApart {
  CpuMachine machine;
  double share = 0;                 // of the calibration's rounds
  double runs = 0, mean_error = 0;  // of the ratio to the time with one cache
};

struct CpuCoefficients : CpuMachine {
  double threads = 0;
  double channel_block = 16;  // floats per vector register; 0: convolutions have no blocks
  std::array<CpuClassCoefficients, kOrtKernelClasses> classes = {};
  std::optional<CpuApart> apart;  // empty: no run was measured in both placements
};
CoefficientRows coefficient_rows(CpuCoefficients& coefficients);
CpuCoefficients cpu_coefficients(const Calibration& calibration);
Coefficients written_coefficients(CpuCoefficients coefficients);

// Gives each class without a rate that of the nearest class that has one.
void fill_unmeasured(CpuCoefficients& coefficients);

// `cold`: the share of the weights that each run reads from memory.
double cpu_kernel_seconds(const OrtKernel& kernel, const CpuCoefficients& coefficients, double cold);
double cpu_kernel_seconds(const OrtKernel& kernel, const CpuClassCoefficients& of_class, const CpuMachine& machine,
                          double cold);

struct OrtKernels {
  std::vector<OrtKernel> kernels;  // in order
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
double cold_share(const OrtKernels& model, double cache_bytes);
// Seconds of each kernel of a run on a machine in the one placement or the other, and their sum.
std::vector<double> cpu_seconds(const OrtKernels& lowered, const CpuCoefficients& coefficients,
                                const CpuMachine& machine);
double cpu_run_seconds(const OrtKernels& lowered, const CpuCoefficients& coefficients, const CpuMachine& machine);
// The kernels of ONNX Runtime's CPU provider at its highest level of optimisation. All dims must be bound.
OrtKernels ort_cpu_kernels(const Model& model, const Analysis& analysis, double channel_block);

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

EngineMemory predict_cpu_memory(const CpuMemoryTerms& terms);

}  // namespace pagoda::inline core
#pragma GCC visibility pop
