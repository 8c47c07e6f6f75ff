// Interface of a convolution library: for a layer and an algorithm, functions to run and time it, or why it cannot run.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "conv_layer.h"

namespace pagoda::tools::conv {

// Operands, row-major as in ONNX: input NC…, weights OI…, bias O (empty: none). Uniform in [-1, 1), the same for the
// same seed.
struct Operands {
  std::vector<float> input, weights, bias;
};
Operands random_operands(const ConvLayer& layer, std::uint64_t seed);

// One element of the output by the definition, in double precision, by its position in row-major order: the reference
// for every other result.
double convolve_at(const ConvLayer& layer, const Operands& operands, std::int64_t position);

struct ConvError {
  std::int64_t points = 0;      // outputs compared
  std::optional<double> mean;   // Σ|got − reference| / Σ|reference|; empty: a value is not finite, or all are 0
  std::optional<double> worst;  // max|got − reference| / root mean square of the reference
  bool finite = true;
};
// Compares all outputs (`limit` 0), or at most `limit`: the corners of all axes and a seeded random choice.
ConvError compare(const ConvLayer& layer, const Operands& operands, std::span<const float> got, std::int64_t limit);

// A layer prepared to run. The library chooses the layouts; converting operands to them is not timed.
struct ConvRun {
  std::string refused = {};         // why the library cannot run it; empty: it can
  std::string implementation = {};  // the library's name of the kernel
  std::optional<std::int64_t> workspace_bytes = {};
  std::function<std::vector<double>(std::int64_t)> time = {};  // runs n times; seconds of each run
  std::function<std::vector<float>()> output = {};             // of the last run, row-major NC…
};

struct ConvLibrary {
  std::string name = {}, version = {};       // "oneDNN", "2.6.3"
  std::string device = {};                   // "AMD EPYC …", "NVIDIA H200"; empty: unknown
  bool adds_bias = true;                     // false: layers run without their bias
  std::string clock = "steady";              // the clock that times runs
  std::string unavailable = {};              // why nothing can run, and what to install; empty: available
  std::vector<std::string> algorithms = {};  // valid names, including "auto"
  std::function<ConvRun(const ConvLayer&, const Operands&, const std::string& algorithm)> prepare = {};
  // Why a layer is refused, as far as is known without a device; empty: no objection.
  std::function<std::string(const ConvLayer&, const std::string& algorithm)> objection = {};
};

ConvLibrary reference_library();          // plain loops, on one thread
ConvLibrary onednn_library(int threads);  // 0: as many as the machine has
// Opened at run time. `tensor_math`: float32 operands may be multiplied as TF32.
ConvLibrary cudnn_library(int device_index, bool tensor_math);
// oneDNN's for the device "cpu", cuDNN's for "cuda" and "cuda:N". Throws UsageError for other devices.
ConvLibrary library_of(const std::string& device, int threads, bool tensor_math);

// Seconds of each of n calls of `work`, by the steady clock.
template <typename Work>
std::vector<double> time_each(std::int64_t n, const Work& work) {
  std::vector<double> seconds;
  for (std::int64_t i = 0; i < n; ++i) {
    const auto start = std::chrono::steady_clock::now();
    work();
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return seconds;
}

}  // namespace pagoda::tools::conv
