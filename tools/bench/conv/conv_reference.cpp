// Plain loops for the definition: y[n,o,p] = b[o] + Σ x[n, c, p·stride + k·dilation − pad] · w[o, c, k].
#include "conv_run.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <numeric>
#include <random>
#include <set>

namespace pagoda::tools::conv {
namespace {

// Always three axes; missing ones have size 1.
struct Axes {
  std::array<std::int64_t, 3> in{1, 1, 1}, kernel{1, 1, 1}, out{1, 1, 1}, stride{1, 1, 1}, dilation{1, 1, 1}, pad{};
  explicit Axes(const ConvLayer& layer) {
    const auto fill = [](std::array<std::int64_t, 3>& to, const Sizes& from) {
      std::ranges::copy(from, to.end() - std::ssize(from));
    };
    fill(in, layer.in), fill(kernel, layer.kernel), fill(out, layer.out);
    fill(stride, layer.strides), fill(dilation, layer.dilations), fill(pad, layer.pads_begin);
  }
};

double element(const ConvLayer& layer, const Axes& a, const Operands& operands, std::int64_t position) {
  std::array<std::int64_t, 3> at{};
  for (std::size_t i = 3; i-- > 0;) {
    at[i] = position % a.out[i];
    position /= a.out[i];
  }
  const std::int64_t o = position % layer.out_channels, n = position / layer.out_channels;
  const std::int64_t channels = layer.in_channels / layer.groups;
  const std::int64_t first = o / (layer.out_channels / layer.groups) * channels;
  double sum = operands.bias.empty() ? 0.0 : static_cast<double>(operands.bias[static_cast<std::size_t>(o)]);
  for (std::int64_t c = 0; c < channels; ++c) {
    const float* x = operands.input.data() + (n * layer.in_channels + first + c) * a.in[0] * a.in[1] * a.in[2];
    const float* w = operands.weights.data() + (o * channels + c) * a.kernel[0] * a.kernel[1] * a.kernel[2];
    for (std::int64_t i = 0; i < a.kernel[0]; ++i) {
      const std::int64_t z = at[0] * a.stride[0] + i * a.dilation[0] - a.pad[0];
      if (z < 0 || z >= a.in[0]) continue;
      for (std::int64_t j = 0; j < a.kernel[1]; ++j) {
        const std::int64_t y = at[1] * a.stride[1] + j * a.dilation[1] - a.pad[1];
        if (y < 0 || y >= a.in[1]) continue;
        for (std::int64_t k = 0; k < a.kernel[2]; ++k) {
          const std::int64_t column = at[2] * a.stride[2] + k * a.dilation[2] - a.pad[2];
          if (column < 0 || column >= a.in[2]) continue;
          sum += static_cast<double>(x[(z * a.in[1] + y) * a.in[2] + column]) *
                 static_cast<double>(w[(i * a.kernel[1] + j) * a.kernel[2] + k]);
        }
      }
    }
  }
  return sum;
}

// Positions to compare: all, or the first and last of every axis plus random ones.
std::vector<std::int64_t> chosen(const ConvLayer& layer, std::int64_t limit) {
  const std::int64_t total = layer.out_elements();
  if (limit <= 0 || total <= limit) {
    std::vector<std::int64_t> all(static_cast<std::size_t>(total));
    std::iota(all.begin(), all.end(), std::int64_t{0});
    return all;
  }
  Sizes sizes = {layer.batch, layer.out_channels};
  sizes.insert(sizes.end(), layer.out.begin(), layer.out.end());
  std::set<std::int64_t> some;
  for (unsigned corner = 0; corner < (1U << sizes.size()); ++corner) {
    std::int64_t position = 0;
    for (std::size_t axis = 0; axis < sizes.size(); ++axis)
      position = position * sizes[axis] + ((corner >> axis & 1U) != 0 ? sizes[axis] - 1 : 0);
    some.insert(position);
  }
  std::mt19937_64 random(12345);
  while (static_cast<std::int64_t>(some.size()) < limit)
    some.insert(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(total)));
  return {some.begin(), some.end()};
}

}  // namespace

Operands random_operands(const ConvLayer& layer, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto fill = [&](std::vector<float>& values, std::int64_t count) {
    values.resize(static_cast<std::size_t>(count));
    // 24 bits: every value is exact in float32, whatever the library's rounding.
    for (float& value : values) value = static_cast<float>(random() >> 40U) / 8388608.0F - 1.0F;
  };
  Operands operands;
  fill(operands.input, layer.in_elements());
  fill(operands.weights, layer.weight_elements());
  if (layer.has_bias) fill(operands.bias, layer.out_channels);
  return operands;
}

double convolve_at(const ConvLayer& layer, const Operands& operands, std::int64_t position) {
  return element(layer, Axes(layer), operands, position);
}

ConvError compare(const ConvLayer& layer, const Operands& operands, std::span<const float> got, std::int64_t limit) {
  ConvError error;
  const Axes axes(layer);
  double difference = 0, magnitude = 0, squares = 0, worst = 0;
  for (const std::int64_t position : chosen(layer, limit)) {
    const double expected = element(layer, axes, operands, position);
    const double value = static_cast<double>(got[static_cast<std::size_t>(position)]);
    error.finite = error.finite && std::isfinite(value);
    difference += std::abs(value - expected);
    magnitude += std::abs(expected);
    squares += expected * expected;
    worst = std::max(worst, std::abs(value - expected));
    ++error.points;
  }
  if (error.finite && magnitude > 0) {
    error.mean = difference / magnitude;
    error.worst = worst / std::sqrt(squares / static_cast<double>(error.points));
  }
  return error;
}

ConvLibrary reference_library() {
  ConvLibrary library{.name = "reference", .algorithms = {"reference"}};
  library.prepare = [](const ConvLayer& layer, const Operands& operands, const std::string&) {
    const auto output = std::make_shared<std::vector<float>>(static_cast<std::size_t>(layer.out_elements()));
    const auto data = std::make_shared<Operands>(operands);
    ConvRun run{.implementation = "plain loops, sums in double", .workspace_bytes = 0};
    run.time = [layer, data, output](std::int64_t n) {
      return time_each(n, [&] {
        const Axes axes(layer);
        for (std::size_t p = 0; p < output->size(); ++p)
          (*output)[p] = static_cast<float>(element(layer, axes, *data, static_cast<std::int64_t>(p)));
      });
    };
    run.output = [output] { return *output; };
    return run;
  };
  return library;
}

}  // namespace pagoda::tools::conv
