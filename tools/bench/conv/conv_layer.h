// The convolutions of a model as plain numbers: everything that a library needs to run each alone.
//
//   LayerList list = conv_layers("resnet50.onnx", {.batch = 1, .input_size = {224}});
//   list.layers;    // in the order of the graph, equal shapes included
//   list.left_out;  // convolutions that cannot be run alone, each with the reason
#pragma once

#include <cstdint>
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

}  // namespace pagoda::tools::conv
