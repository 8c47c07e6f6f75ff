// Memory use of ONNX Runtime's CPU provider. The file's tensors stay in memory until the session has its own copies:
// convolution weights in blocks of channels, product weights packed. The arena grows by regions of powers of two, and
// the second run allocates by a plan made from the sizes that the first run measured.
#include <algorithm>
#include <cmath>
#include <iterator>

#include "pagoda/core/onnxruntime.h"

namespace pagoda::inline core {
namespace {

// Least squares of relative errors over 66 runs of 43 families, measured as tests/bench/engine_memory.py does with ONNX
// Runtime 1.31.0, default options, Linux with glibc; with families left out the mean error is 10.9 %, the median 8.5 %.
struct Coefficients {
  double start;                     // bytes
  double blocked, products, other;  // bytes per byte
  double node;                      // bytes per node
};
constexpr Coefficients kLoading = {0.7e6, 2.96, 1.63, 1.26, 3340};
constexpr Coefficients kKept = {1.7e6, 2.88, 1.49, 1.09, 4120};
// Times the activations alive at once: a first run without a plan, and then the plan's own block.
constexpr double kArena = 2.21;
// Measured / predicted for families left out of the fit: 10th and 90th percentiles.
constexpr Factors kInterval = {0.87, 1.24};
constexpr double kCoverage = 0.8;

constexpr OrtKernelClass kBlocked[] = {OrtKernelClass::Conv, OrtKernelClass::ConvPointwise, OrtKernelClass::ConvStem,
                                       OrtKernelClass::ConvDepthwise};

double sum(const Coefficients& c, const CpuMemoryTerms& terms) {
  return c.start + c.blocked * terms.blocked + c.products * terms.products + c.other * terms.other +
         c.node * terms.nodes;
}

}  // namespace

CpuMemoryTerms cpu_memory_terms(const Model& model, const Analysis& analysis) {
  constexpr int kAnyBlock = 16;  // with any block size the session stores its own copy of the weights
  CpuMemoryTerms terms;
  const OrtKernels lowered = ort_cpu_kernels(model, analysis, kAnyBlock);
  terms.activations = lowered.activation_bytes;
  for (const OrtKernel& kernel : lowered.kernels) {
    const bool is_blocked = std::find(std::begin(kBlocked), std::end(kBlocked), kernel.kind) != std::end(kBlocked);
    if (is_blocked) terms.blocked += kernel.weight_bytes;
    const bool is_packed = kernel.kind == OrtKernelClass::Product || kernel.kind == OrtKernelClass::ProductBiased ||
                           kernel.kind == OrtKernelClass::ProductVector;
    if (is_packed) terms.products += kernel.weight_bytes;
  }
  const double stored = static_cast<double>(analysis.totals.param_bytes.evaluate({}));
  terms.other = std::max(0.0, stored - terms.blocked - terms.products);
  terms.nodes = static_cast<double>(analysis.nodes.size());
  return terms;
}

EngineMemory predict_cpu_memory(const CpuMemoryTerms& terms) {
  const double load = sum(kLoading, terms), run = sum(kKept, terms) + kArena * terms.activations;
  const double bytes = std::max(load, run);
  return {.bytes = std::llround(bytes),
          .load_bytes = std::llround(load),
          .run_bytes = std::llround(run),
          .low = std::llround(bytes * kInterval.low),
          .high = std::llround(bytes * kInterval.high),
          .coverage = kCoverage};
}

}  // namespace pagoda::inline core
