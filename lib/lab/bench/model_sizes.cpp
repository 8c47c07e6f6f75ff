#include "pagoda/lab/model_sizes.h"

#include <algorithm>
#include <set>

#include "pagoda/base/cat.h"
#include "pagoda/base/number.h"
#include "pagoda/base/text.h"
#include "pagoda/core/analyze.h"
#include "pagoda/core/model.h"
#include "pagoda/core/sweep.h"
#include "pagoda/estimate/open_sizes.h"
#include "pagoda/lab/axes.h"

namespace pagoda::lab::bench {
namespace {

bool mentions(const std::string& name, std::string_view word) {
  return base::lower(name).find(word) != std::string::npos;
}

// All names of dims, as formulas and as the file have them.
std::set<std::string> dim_names(const Model& model) {
  std::set<std::string> names;
  for (const auto& [in_file, name] : model.renamed_dims) names.insert(in_file);
  for (const ValueId input : model.main().inputs)
    if (const std::optional<Shape>& shape = model.main().value(input).declared.shape)
      for (const Dim& dim : *shape)
        for (const std::string& name : dim.symbols()) names.insert(name);
  return names;
}

std::vector<std::int64_t> shape_of_text(const std::string& name, const std::string& text) {
  std::vector<std::int64_t> shape;
  for (const std::string& part : base::split(text, "x")) {
    const auto size = base::parse_number<std::int64_t>(part);
    if (!size || *size < 0)
      throw Error(cat(base::field("inputs", name), ": found \"", text, "\", expected sizes like 1x3x224x224"));
    shape.push_back(*size);
  }
  return shape;
}

// The batch that the file fixes: the size that becomes a symbol when another is asked for.
std::optional<std::int64_t> batch_fixed_in(const Model& model, const Analysis& open) {
  const Graph& graph = model.main();
  std::optional<std::int64_t> first;  // of all inputs that have dims
  bool is_one = true;
  for (const ValueId input : graph.inputs)
    if (const std::optional<Shape>& shape = graph.value(input).declared.shape; shape && !shape->empty())
      is_one = is_one && shape->size() > 1 && shape->front() == Dim(1), first = 1;
  try {
    const Analysis freed = analyze(model, {.symbolic_batch = true});
    // The first axis may be the channels of a single image. Weights fix their number: no other can be analysed.
    if (freed.totals.unmodelled_nodes > open.totals.unmodelled_nodes) return is_one ? first : std::nullopt;
    for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
      const std::optional<Shape>& declared = graph.value(graph.inputs[i]).declared.shape;
      const std::optional<Shape>& shape = freed.inputs[i].type.shape;
      for (std::size_t axis = 0; declared && shape && axis < shape->size(); ++axis)
        if ((*shape)[axis].is_symbol() && (*declared)[axis].is_constant()) return (*declared)[axis].value64();
    }
  } catch (const Error&) {  // the graph supports no other batch
    return is_one ? first : std::nullopt;
  }
  return std::nullopt;
}

// Axes of height and width of a batch of images, whose channels are one or three, or free before them; empty for
// other inputs, such as a mask or a cache.
std::optional<std::size_t> first_image_axis(const InputInfo& input) {
  if (!input.type.shape || input.type.shape->size() != 4 || !is_float(input.type.element) ||
      mentions(std::string(input.name), "past") || mentions(std::string(input.name), "mask"))
    return std::nullopt;
  const Shape& shape = *input.type.shape;
  const auto is_channels = [](const Dim& dim) { return dim == Dim(1) || dim == Dim(3); };
  if (is_channels(shape[1])) return 2;
  if (is_channels(shape[3])) return 1;
  return shape[1].is_constant() ? std::nullopt : std::optional<std::size_t>(2);
}

bool is_known(const Shape& shape) { return std::ranges::all_of(shape, &Dim::is_constant); }

}  // namespace

bool has_model_sizes(const documents::Config& config) {
  const std::string backend = documents::text_of(config, "backend");
  return (backend == "ort" || backend == "torch") && config.contains("model_file");
}

ModelSizes::ModelSizes(const std::string& path)
    : model_(load_model(path)), open_(analyze(model_)), batch_dims_(batch_dims(model_, open_)) {
  if (batch_dims_.empty()) fixed_batch_ = batch_fixed_in(model_, open_);
}

AnalyzeOptions ModelSizes::options_of(const documents::Config& config) const {
  AnalyzeOptions options;
  const std::set<std::string> known = dim_names(model_);
  for (const auto& [name, value] : config) {
    if (name.starts_with(kInputSetting)) {
      const std::string input = name.substr(kInputSetting.size());
      options.input_shapes.emplace(input, shape_of_text(input, base::setting_text(value)));
      continue;
    }
    const auto* size = std::get_if<std::int64_t>(&value);
    if (size == nullptr || !documents::is_axis(name) || find_axis(name) != nullptr) continue;
    const auto renamed = model_.renamed_dims.find(name);
    if (known.contains(name))
      options.dims.emplace(renamed == model_.renamed_dims.end() ? name : renamed->second, *size);
    else if (documents::text_of(config, "backend") == "ort")  // others may have an option of this name
      throw Error(cat(base::field("dims", cat(name, "=", *size)), ": the model has no such dim; ",
                      known.empty() ? "all its sizes are fixed" : "its dims are: " + base::joined(known)));
  }
  if (const auto length = documents::integer_of(config, "sequence")) set_sequence(*length, options);
  if (const auto size = config.find("input_size"); size != config.end()) set_images(size->second, config, options);
  return options;
}

// Sets dims named for a sequence, and the second dim of inputs of tokens; not the past, which a cache has.
void ModelSizes::set_sequence(std::int64_t length, AnalyzeOptions& options) const {
  for (const InputInfo& input : open_.inputs)
    for (std::size_t axis = 0; input.type.shape && axis < input.type.shape->size(); ++axis) {
      const Dim& dim = (*input.type.shape)[axis];
      const std::string name = dim.is_symbol() ? dim.to_string() : "";
      const bool is_batch = std::ranges::find(batch_dims_, name) != batch_dims_.end();
      if (!name.empty() && !is_batch && !mentions(name, "past") &&
          (mentions(name, "seq") || (axis == 1 && is_integer(input.type.element))))
        options.dims.emplace(name, length);
    }
}

void ModelSizes::set_images(const base::Setting& size, const documents::Config& config, AnalyzeOptions& options) const {
  const auto sides = height_and_width(size);
  if (!sides) return;
  bool has_image = false;
  for (const InputInfo& input : open_.inputs) {
    for (std::size_t axis = 0; input.type.shape && axis < input.type.shape->size(); ++axis)
      for (const auto& [names, side] : {std::pair(" height h ", (*sides)[0]), std::pair(" width w ", (*sides)[1])})
        if (const Dim& dim = (*input.type.shape)[axis];
            dim.is_symbol() &&
            std::string_view(names).find(cat(" ", base::lower(dim.to_string()), " ")) != std::string_view::npos)
          options.dims.emplace(dim.to_string(), side), has_image = true;
    const auto first = first_image_axis(input);
    has_image = has_image || first;
    if (!first || options.input_shapes.contains(std::string(input.name))) continue;
    std::vector<std::int64_t> whole;  // where the file fixes the image
    bool is_fixed = false;
    for (std::size_t axis = 0; axis < 4; ++axis) {
      const Dim& dim = (*input.type.shape)[axis];
      std::optional<std::int64_t> asked = dim.value64();
      if (axis == *first || axis == *first + 1) {
        asked = (*sides)[axis - *first];
        if (dim.is_symbol()) options.dims.emplace(dim.to_string(), *asked);
        is_fixed = is_fixed || (dim.is_constant() && dim != Dim(*asked));
      } else if (const auto set = options.dims.find(dim.to_string()); set != options.dims.end()) {
        asked = set->second;
      } else if (axis == 0) {
        asked = documents::integer_of(config, "batch").value_or(asked.value_or(1));
      }
      if (asked) whole.push_back(*asked);
    }
    // With channels that are not set, the input stays open.
    if (is_fixed && whole.size() == 4) options.input_shapes.emplace(std::string(input.name), std::move(whole));
  }
  if (!has_image)
    throw Error(cat(base::field("input_size", base::setting_text(size)), ": no input of the model is an image; give ",
                    base::field("dims", "NAME=V"), " or ", base::field("inputs", "NAME=AxBxC")));
}

// Engines take the numbers in a file as they are; the estimate follows what they meant. Throws Error where the two
// differ: where a Reshape to [1,-1] keeps the batch at 1, for example.
void ModelSizes::require_same_sizes(const Analysis& asked) const {
  Model literal = model_;
  Graph& graph = literal.graphs.front();
  for (Value& value : graph.values) value.declared.shape = value.is_input ? value.declared.shape : std::nullopt;
  for (std::size_t i = 0; i < graph.inputs.size(); ++i)
    graph.values[static_cast<std::size_t>(graph.inputs[i])].declared.shape = asked.inputs[i].type.shape;
  const auto fail = [](const Graph& of, const Node& node, const std::string& why) {
    throw Error(cat("the file fixes other sizes: at these, ", display_name(of, node), " ", why,
                    "; export the model with these sizes free"));
  };
  const Analysis run = analyze(literal, {});
  for (std::size_t i = 0; i < std::min(run.nodes.size(), asked.nodes.size()); ++i)
    if (const NodeReport& row = run.nodes[i]; !row.problem.empty() && asked.nodes[i].problem.empty())
      fail(literal.graph(row.graph), literal.graph(row.graph).node(row.node), cat("does not run: ", row.problem));
  for (const Node& node : graph.nodes)
    for (const ValueId output : node.outputs) {
      const Shape *as_run = shape_of(run, output), *as_asked = shape_of(asked, output);
      if (as_run == nullptr || as_asked == nullptr || !is_known(*as_run) || !is_known(*as_asked) ||
          *as_run == *as_asked)
        continue;
      const auto at = static_cast<std::size_t>(output);
      fail(graph, node, cat("gives ", to_string(run.types[at]), " in place of ", to_string(asked.types[at])));
    }
}

RunSizes ModelSizes::at(const documents::Config& config) const {
  AnalyzeOptions options = options_of(config);
  const auto batch = documents::integer_of(config, "batch");
  const auto sets_batch = [&](const std::string& name) { return options.dims.contains(name); };
  if (batch_dims_.empty() && !fixed_batch_) {
    if (batch.value_or(1) > 1)
      throw Error(cat(base::field("batch", cat(*batch)), ": no input has a batch dim; set sizes with ",
                      base::field("dims", "NAME=V"), " or ", base::field("inputs", "NAME=AxBxC")));
  } else if (batch) {
    options.batch = *batch;
  } else if (!batch_dims_.empty() && options.input_shapes.empty() && std::ranges::none_of(batch_dims_, sets_batch)) {
    options.batch = 1;
  }
  Analysis asked = analyze(model_, options);
  const std::vector<std::string> unset = estimate::unset_dims(model_, asked, {});
  if (unset.empty() && !asked.free_dims.empty()) {
    options.batch = 1;
    asked = analyze(model_, options);
  }
  RunSizes sizes;
  for (std::size_t i = 0; i < asked.inputs.size(); ++i) {
    const auto& [name, type] = asked.inputs[i];
    if (!type.shape)
      throw Error(cat("input ", std::string(name), ": the file states no rank; give its shape, ",
                      base::field("inputs", cat(std::string(name), "=AxBxC"))));
    documents::InputTensor& input =
        sizes.inputs.emplace_back(documents::InputTensor{std::string(name), std::string(to_string(type.element)), {}});
    const std::optional<Shape>& declared = model_.main().value(model_.main().inputs[i]).declared.shape;
    for (std::size_t axis = 0; axis < type.shape->size(); ++axis) {
      const auto size = (*type.shape)[axis].value64();
      if (!size) throw Error(estimate::open_inputs_text(model_, {.sizes = options}, asked, unset));
      input.shape.push_back(*size);
      sizes.is_resized =
          sizes.is_resized || (declared && (*declared)[axis].is_constant() && (*declared)[axis] != (*type.shape)[axis]);
    }
  }
  for (const std::string& name : batch_dims_)
    if (const auto found = asked.bindings.find(name); found != asked.bindings.end()) sizes.batch = found->second;
  if (fixed_batch_) {
    const auto found = asked.bindings.find("batch");
    sizes.batch = found != asked.bindings.end() ? found->second : *fixed_batch_;
  }
  if (sizes.is_resized) require_same_sizes(asked);
  return sizes;
}

}  // namespace pagoda::lab::bench
