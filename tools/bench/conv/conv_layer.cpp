// Reads a model, sets its input size, and collects its convolutions with the shapes found by analysis.

#include <algorithm>
#include <numeric>
#include <optional>

#include "conv_run.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/text.h"
#include "pagoda/core/analyze.h"
#include "pagoda/core/model.h"
#include "pagoda/lab/axes.h"

namespace pagoda::tools::conv {
namespace {

std::int64_t product(const Sizes& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>());
}

// Sets the size of the first input with a batch, channels and one to three spatial axes.
void resize_input(Model& model, const Sizes& sizes) {
  Graph& graph = model.graphs.front();
  for (const ValueId id : graph.inputs) {
    auto& shape = graph.values[static_cast<std::size_t>(id)].declared.shape;
    if (!shape || shape->size() < 3 || shape->size() > 5) continue;
    if (sizes.size() > 1 && sizes.size() != shape->size() - 2)
      throw Error(cat(model.path, ": found an input size of ", join(sizes), " for an input of ", shape->size() - 2,
                      " spatial axes; give one size for each, or one for all"));
    for (std::size_t axis = 2; axis < shape->size(); ++axis)
      (*shape)[axis] = Dim(sizes.size() > 1 ? sizes[axis - 2] : sizes.front());
    // The declared shapes of computed values belong to the input size of the export.
    for (Value& value : graph.values)
      if (value.initializer < 0 && !value.is_input) value.declared = {};
    return;
  }
  throw Error(model.path + ": no input with a batch, channels and spatial axes; an input size cannot be set");
}

std::optional<Sizes> numbers(const TensorType& type) {
  if (!type.shape) return std::nullopt;
  Sizes sizes;
  for (const Dim& dim : *type.shape) {
    if (!dim.value()) return std::nullopt;
    sizes.push_back(static_cast<std::int64_t>(*dim.value()));
  }
  return sizes;
}

// The attribute; empty if it is missing or of another type.
template <typename T>
T attribute(const Node& node, const char* name) {
  const Attribute* found = node.attribute(name);
  const auto* value = found ? std::get_if<T>(&found->value) : nullptr;
  return value ? *value : T();
}

Sizes list(const Node& node, const char* name, std::size_t count, std::int64_t otherwise) {
  const Sizes values = attribute<Sizes>(node, name);
  return values.size() == count ? values : Sizes(count, otherwise);
}

// Why the node cannot be run alone; empty: `layer` is filled.
std::string read_layer(const Node& node, const Analysis& analysis, ConvLayer& layer) {
  if (node.op_type != "Conv" && node.op_type != "FusedConv") return "of type " + node.op_type + ", not float32";
  const auto sizes = [&](ValueId id) -> std::optional<Sizes> {
    return id < 0 ? std::nullopt : numbers(analysis.types[static_cast<std::size_t>(id)]);
  };
  const auto x = sizes(node.input(0)), w = sizes(node.input(1)), y = sizes(node.output(0));
  if (!x || !w || !y) return "its sizes are not known: set the model's free dims, or check the input size";
  if (x->size() < 3 || x->size() > 5 || w->size() != x->size() || y->size() != x->size())
    return "expected 1 to 3 spatial axes";
  const auto is_empty = [](std::int64_t size) { return size < 1; };
  if (std::ranges::any_of(*y, is_empty) || std::ranges::any_of(*x, is_empty))
    return "the input is too small for it: nothing is left to compute";
  const std::size_t axes = x->size() - 2;
  layer.batch = (*x)[0];
  layer.in_channels = (*x)[1];
  layer.out_channels = (*w)[0];
  layer.groups = layer.in_channels / std::max<std::int64_t>(1, (*w)[1]);
  layer.in = {x->begin() + 2, x->end()};
  layer.kernel = {w->begin() + 2, w->end()};
  layer.out = {y->begin() + 2, y->end()};
  layer.strides = list(node, "strides", axes, 1);
  layer.dilations = list(node, "dilations", axes, 1);
  const Sizes pads = list(node, "pads", 2 * axes, 0);
  layer.pads_begin = {pads.begin(), pads.end() - std::ssize(pads) / 2};
  layer.pads_end = {pads.end() - std::ssize(pads) / 2, pads.end()};
  const std::string automatic = attribute<std::string>(node, "auto_pad");
  for (std::size_t i = 0; i < axes && automatic.starts_with("SAME"); ++i) {
    // The output is ⌈in / stride⌉; padding is split evenly between both sides, an odd one goes to the end (UPPER).
    const std::int64_t reach = (layer.kernel[i] - 1) * layer.dilations[i] + 1;
    const std::int64_t total = std::max<std::int64_t>(0, (layer.out[i] - 1) * layer.strides[i] + reach - layer.in[i]);
    layer.pads_begin[i] = automatic == "SAME_LOWER" ? total - total / 2 : total / 2;
    layer.pads_end[i] = total - layer.pads_begin[i];
  }
  layer.has_bias = node.inputs.size() > 2 && node.inputs[2] >= 0;
  return {};
}

}  // namespace

std::int64_t ConvLayer::in_elements() const { return batch * in_channels * product(in); }
std::int64_t ConvLayer::weight_elements() const { return out_channels * (in_channels / groups) * product(kernel); }
std::int64_t ConvLayer::out_elements() const { return batch * out_channels * product(out); }
std::int64_t ConvLayer::macs() const { return out_elements() * (in_channels / groups) * product(kernel); }

bool ConvLayer::same_work(const ConvLayer& o) const {
  ConvLayer renamed = o;
  renamed.name = name;
  return *this == renamed;
}

std::string join(const Sizes& sizes, const char* between) {
  return base::joined(sizes, between, [](std::int64_t size) { return cat(size); });
}

std::string to_string(const ConvLayer& l) {
  return cat(join({l.batch, l.in_channels}), "x", join(l.in), " * ", join({l.out_channels, l.in_channels / l.groups}),
             "x", join(l.kernel), " /", join(l.strides), " +", join(l.pads_begin),
             l.pads_end == l.pads_begin ? "" : ":" + join(l.pads_end),
             product(l.dilations) == 1 ? "" : " dilated " + join(l.dilations),
             l.groups == 1 ? "" : cat(" in ", l.groups, " groups"));
}

Sizes input_sizes(const base::Setting& size) {
  if (std::holds_alternative<std::monostate>(size)) return {};
  const auto pair = lab::bench::height_and_width(size);
  if (!pair) throw Error(cat("input_size: found ", base::setting_text(size), ", expected a side or HEIGHTxWIDTH"));
  return (*pair)[0] == (*pair)[1] ? Sizes{(*pair)[0]} : Sizes{(*pair)[0], (*pair)[1]};
}

LayerList conv_layers(Model model, const LayerOptions& options) {
  if (!options.input_size.empty()) resize_input(model, options.input_size);
  constexpr std::string_view kTypes[] = {"Conv", "FusedConv", "ConvInteger", "QLinearConv", "NhwcConv"};
  const Analysis analysis = analyze(model, {.batch = options.batch});
  LayerList result;
  for (const NodeReport& row : analysis.nodes) {
    const Graph& graph = model.graphs[static_cast<std::size_t>(row.graph)];
    const Node& node = graph.nodes[static_cast<std::size_t>(row.node)];
    if (std::ranges::find(kTypes, node.op_type.view()) == std::end(kTypes)) continue;
    ConvLayer layer{.name = pagoda::display_name(graph, node)};
    const std::string reason = row.graph == 0 ? read_layer(node, analysis, layer) : "inside a body or a function";
    if (reason.empty())
      result.layers.push_back(std::move(layer));
    else
      result.left_out.push_back({layer.name, reason});
  }
  return result;
}

LayerList conv_layers(const std::string& path, const LayerOptions& options) {
  return conv_layers(load_model(path), options);
}

}  // namespace pagoda::tools::conv
