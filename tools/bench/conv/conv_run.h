// What a library of convolutions offers: for a layer and an algorithm, something to run and time, or why not.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "conv_layer.h"

namespace pagoda::tools::conv {

// Operands, row-major as ONNX has them: NC…, weights OI…, bias O (empty: none). Uniform in [-1, 1), the same for the
// same seed.
struct Operands {
  std::vector<float> input, weights, bias;
};
Operands random_operands(const ConvLayer& layer, std::uint64_t seed);

// A layer made ready to run. Layouts are the library's own choice; bringing operands into them is not timed.
struct ConvRun {
  std::string refused = {};         // why the library does not run it so; empty: it does
  std::string implementation = {};  // the kernel, as the library calls it
  std::optional<std::int64_t> workspace_bytes = {};
  std::function<std::vector<double>(std::int64_t)> time = {};  // seconds of each of n runs
  std::function<std::vector<float>()> output = {};             // of the last run, row-major NC…
};

struct ConvLibrary {
  std::string name = {}, version = {};       // "oneDNN", "2.6.3"
  std::string device = {};                   // "AMD EPYC …", "NVIDIA H200"; empty: not said
  bool adds_bias = true;                     // false: layers are run without theirs
  std::string clock = "steady";              // what times runs
  std::string unavailable = {};              // why nothing can be run, and what to install; empty: it can
  std::vector<std::string> algorithms = {};  // that may be asked for, "auto" among them
  std::function<ConvRun(const ConvLayer&, const Operands&, const std::string& algorithm)> prepare = {};
  // Why a layer is refused, as far as is known without a device; empty: it is not.
  std::function<std::string(const ConvLayer&, const std::string& algorithm)> objection = {};
};

ConvLibrary reference_library();          // plain loops, on one thread
ConvLibrary onednn_library(int threads);  // 0: as many as the machine has
// Opened at run time. `tensor_math`: float32 may be multiplied as TF32.
ConvLibrary cudnn_library(int device_index, bool tensor_math);

}  // namespace pagoda::tools::conv
