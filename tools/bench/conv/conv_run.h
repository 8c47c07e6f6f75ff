// The convolutions of a model as plain numbers, and the interface of a convolution library: for a layer and an
// algorithm, functions to run and time it, or why it cannot run.
//
//   LayerList list = conv_layers("resnet50.onnx", {.batch = 1, .input_size = {224}});
//   list.layers;    // in the order of the graph, equal shapes included
//   list.left_out;  // convolutions that cannot be run alone, each with the reason
//   ConvRun run = onednn_library(0).prepare(list.layers[0], random_operands(list.layers[0], 1), "winograd");
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "pagoda/base/settings.h"
#include "pagoda/core/graph.h"

namespace pagoda::tools::conv {

using Sizes = std::vector<std::int64_t>;  // one number per spatial axis

struct ConvLayer {
  std::string name = {};
  std::int64_t batch = 1, in_channels = 1, out_channels = 1, groups = 1;
  Sizes in = {}, kernel = {}, out = {};
  Sizes strides = {}, dilations = {}, pads_begin = {}, pads_end = {};
  bool has_bias = false;

  std::int64_t in_elements() const;
  std::int64_t weight_elements() const;
  std::int64_t out_elements() const;
  std::int64_t macs() const;                     // out_elements × in_channels/groups × taps; taps on padding count
  bool same_work(const ConvLayer& other) const;  // equal except for the name
  bool operator==(const ConvLayer&) const = default;
};

// "1x64x56x56 * 64x64x3x3 /1 +1": input, weights, strides, padding; then dilations and groups if they are not 1.
std::string to_string(const ConvLayer& layer);
std::string join(const Sizes& sizes, const char* between = "x");

struct LeftOut {
  std::string name, reason;
};

struct LayerList {
  std::vector<ConvLayer> layers;
  std::vector<LeftOut> left_out;
};

struct LayerOptions {
  std::int64_t batch = 1;
  // Sizes of the image input's spatial axes, even if the file fixes them; one number: for all axes; none: the file's.
  Sizes input_size = {};
};

// "input_size" of a config: a side, or "HEIGHTxWIDTH"; none: the file's. Throws Error for anything else.
Sizes input_sizes(const base::Setting& size);

// Throws Error for an unusable file, or if a size is given and the model has no image input.
LayerList conv_layers(const std::string& path, const LayerOptions& options);
LayerList conv_layers(Model model, const LayerOptions& options);

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
