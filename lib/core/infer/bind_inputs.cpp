#include "infer/bind_inputs.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "graph/dim_poly.h"
#include "infer/each_dim.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/number.h"
#include "pagoda/base/text.h"
#include "pagoda/core/peculiarity.h"

namespace pagoda::inline core {
namespace {

// An input dim that an exporter names separately although it is a formula of others. Nothing in the graph links them.
struct DerivedDim {
  Peculiarity exporter;
  std::string_view dim;
  std::array<std::string_view, 2> sum_of;
  std::string_view unless;  // when the caller has to give it
};

constexpr DerivedDim kDerivedDims[] = {
    {{"onnxruntime-genai's model builder", "0.18", "the skeletons llama_genai_* in models/"},
     "total_sequence_length",
     {"past_sequence_length", "sequence_length"},
     "past and present share a longer buffer"},
};

// The words of a name in lower case: "maxSeqLen_2" has max, seq and len.
std::vector<std::string> words_of(std::string_view name) {
  const auto is_upper = [](char c) { return c >= 'A' && c <= 'Z'; };
  const auto is_lower = [](char c) { return c >= 'a' && c <= 'z'; };
  std::vector<std::string> words;
  bool goes_on = false;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const bool is_letter = is_upper(name[i]) || is_lower(name[i]);
    if (is_letter && (!goes_on || (is_upper(name[i]) && is_lower(name[i - 1])))) words.emplace_back();
    if (is_letter) words.back() += name[i];
    goes_on = is_letter;
  }
  for (std::string& word : words) word = base::lower(word);
  return words;
}

template <std::size_t Size>
bool has_word(std::string_view name, const std::string_view (&known)[Size]) {
  const std::vector<std::string> words = words_of(name);
  return std::ranges::any_of(words, [&](const std::string& word) {
    const bool is_plural = word.size() > 1 && word.back() == 's';
    return std::ranges::any_of(known, [&](std::string_view each) {
      return word == each || (is_plural && word.substr(0, word.size() - 1) == each);
    });
  });
}

// A dim whose name has one of these words counts parts of an item or of the whole input.
constexpr std::string_view kWordsOfParts[] = {"atom", "boxes",    "byte",  "channel", "char",   "col",      "column",
                                              "edge", "face",     "frame", "graph",   "height", "len",      "length",
                                              "node", "past",     "pixel", "point",   "seq",    "sequence", "step",
                                              "time", "timestep", "token", "width",   "word"};
// The batch times another size, or divided by it.
constexpr std::string_view kWordsOfProducts[] = {"head", "mul", "per", "times", "x"};

bool names_parts(std::string_view name) { return has_word(name, kWordsOfParts); }

bool mentions_batch(std::string_view name) { return base::lower(name).find("batch") != std::string::npos; }

bool names_product(std::string_view name) { return mentions_batch(name) && has_word(name, kWordsOfProducts); }

bool is_letter_of_batch(std::string_view name) { return base::lower(name) == "n" || base::lower(name) == "b"; }

bool is_data(const TensorType& type) {
  return type.container == Container::Tensor && type.shape && !type.shape->empty();
}

// The batch axes determined by operators, where the inputs have such an axis.
std::vector<std::optional<std::size_t>> known_batch_axes(const Graph& graph, const std::vector<TensorType>& inputs) {
  std::vector<std::optional<std::size_t>> axes = batch_axes(graph);
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (axes[i] && !(is_data(inputs[i]) && *axes[i] < inputs[i].shape->size())) axes[i] = std::nullopt;
  return axes;
}

class Binder {
 public:
  Binder(const Model& model, const AnalyzeOptions& options) : graph_(model.main()) {
    bound_.options = options;
    bound_.renamed = model.renamed_dims;
    for (const ValueId input : graph_.inputs) {
      const Value& value = graph_.value(input);
      names_.push_back(value.name);
      bound_.types.push_back(value.declared);
      declared_.push_back(value.declared.shape.value_or(Shape{}));
      for (const Dim& dim : declared_.back())
        for (const std::string& name : dim.symbols())
          bound_.input_dims.emplace(name, static_cast<int>(bound_.input_dims.size()));
    }
    batch_axes_ = known_batch_axes(graph_, bound_.types);
  }

  BoundInputs run() {
    // bound_.options.dims collects sizes from three ways to give them; a different size for the same dim is an error.
    const AnalyzeOptions asked = bound_.options;
    bound_.options.dims.clear();
    for (const auto& [name, size] : asked.dims) bind_dim(name, size, "dims");
    for (const auto& [input, sizes] : asked.input_shapes) bind_shape(input, sizes);
    for (const std::string& size : asked.symbolic_sizes) open_size(size);
    if (asked.batch > 0 || asked.symbolic_batch) bind_batch(asked.batch);
    warn_of_empty_inputs();
    solve_formulas();
    assume_derived();
    for_each_size([&](Dim& dim) {
      dim = dim.bind(bound_.options.dims);
      if (dim.is_constant() && *dim.value() < 0)
        throw Error("the bindings make a size of " + dim.to_string() + "; sizes are at least 0");
    });
    check_shapes();
    bound_.bindings.insert(bound_.options.dims.begin(), bound_.options.dims.end());
    return std::move(bound_);
  }

 private:
  template <typename Change>
  void for_each_size(const Change& change) {
    for (TensorType& type : bound_.types) for_each_dim(type, change);
  }

  // `how`: the field that sets the size; `input`: the one of its entries, unless that is the dim.
  void bind_dim(const std::string& name, std::int64_t size, std::string_view how, std::string_view input = {}) {
    if (size < 0) {
      const std::string given = cat(name, "=", size);
      throw Error(cat(input.empty() ? base::field(how, given) : cat(base::field(how, input), " ", given),
                      ": a size is at least 0"));
    }
    std::string symbol = name;
    if (const auto renamed = bound_.renamed.find(name); renamed != bound_.renamed.end()) symbol = renamed->second;
    const auto [at, inserted] = bound_.options.dims.emplace(symbol, size);
    if (!inserted && at->second != size)
      throw Error(cat("dim ", name, " is given as ", at->second, " and, by ", base::field(how, input), ", as ", size,
                      "; give one size"));
  }

  void bind_shape(const std::string& input, const std::vector<std::int64_t>& sizes) {
    const auto found = std::find(names_.begin(), names_.end(), input);
    if (found == names_.end()) {
      throw Error(base::field("inputs", input) +
                  ": the model has no such input; its inputs are: " + base::joined(names_));
    }
    const auto index = static_cast<std::size_t>(found - names_.begin());
    TensorType& type = bound_.types[index];
    if (!type.shape) {
      type.shape = Shape(sizes.begin(), sizes.end());
      return;
    }
    if (type.shape->size() != sizes.size())
      throw Error(
          cat(base::field("inputs", input), " has ", sizes.size(), " dims, the model's input is ", to_string(type)));
    asked_.emplace_back(index, sizes);
    const std::size_t batch_axis = batch_axes_[index].value_or(0);
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      Dim& dim = (*type.shape)[i];
      if (bound_.fixed && bound_.fixed->hold(dim)) continue;  // stays a symbol to the end; check_shapes compares
      if (dim == Dim(0)) {                                    // a placeholder
        dim = declared_[index][i] = sizes[i];
        continue;
      }
      if (dim.is_symbol()) {
        bind_dim(dim.to_string(), sizes[i], "inputs", input);
      } else if (dim.is_constant() && dim != Dim(sizes[i])) {
        if (i != batch_axis) {
          follow(index, i, sizes[i]);
          continue;
        }
        if (bound_.options.batch > 0 && bound_.options.batch != sizes[i])
          throw Error(cat(base::field("inputs", input), ": dim ", i, " is fixed at ", dim.to_string(),
                          " in the file, found ", sizes[i], " beside a different `batch`"));
        bound_.options.batch = sizes[i];
        bind_fixed_batch(sizes[i]);
      }
    }
    if (*type.shape == declared_[index]) return;
    // Symbols distinguish rows from columns: if one of them changes, both get a symbol.
    constexpr std::int64_t kMostChannels = 4;
    for (std::size_t i = 2; sizes.size() >= 4 && i < sizes.size(); ++i)
      if ((*type.shape)[i] != declared_[index][i])
        for (std::size_t other = 2; other < sizes.size(); ++other)
          if ((*type.shape)[other].is_constant() && sizes[other] > kMostChannels) follow(index, other, sizes[other]);
    note_sizes(index, sizes);
  }

  // Makes a fixed size a symbol; `asked` is the requested size, if known. The symbol then counts the largest unit that
  // divides both sizes: 224 and 320 are 7 and 10 units of 32, so the sizes after five halvings are whole multiples of
  // the symbol, and formulas stay free of floor_div.
  void follow(std::size_t index, std::size_t axis, std::optional<std::int64_t> asked) {
    Dim& dim = (*bound_.types[index].shape)[axis];
    const auto from = dim.value64();
    if (!from || *from < 1 || (asked && *asked < 1))
      throw Error(cat(base::field("inputs", names_[index]), ": dim ", axis, " is fixed at ", dim.to_string(),
                      " in the file", asked ? cat(", found ", *asked) : "",
                      "; export the model with this dim dynamic"));
    std::string name = unused(Dim::identifier(cat(names_[index], ".", axis)));
    const std::int64_t unit = asked ? std::gcd(*from, *asked) : 1;
    if (asked) bound_.asked.emplace(name, *asked);
    if (unit > 1) name = unused(cat(name, "_over_", unit));
    dim = unit * symbol_of(name, *from / unit);
    if (!asked) return;
    bound_.units.emplace(name, unit);
    bound_.fixed->asked.emplace(name, *asked / unit);
    bound_.bind_last.emplace(name, *asked / unit);
  }

  std::string unused(std::string name) const {
    while (bound_.input_dims.contains(name)) name += "_";
    return name;
  }

  Dim symbol_of(const std::string& name, std::int64_t exported) {
    bound_.input_dims.emplace(name, static_cast<int>(bound_.input_dims.size()));
    if (!bound_.fixed) bound_.fixed.emplace();
    bound_.fixed->exported.emplace(name, exported);
    return Dim::symbol(name);
  }

  void note_sizes(std::size_t index, const std::vector<std::int64_t>& sizes) {
    std::string from, to;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const Dim& dim = (*bound_.types[index].shape)[i];
      if (!bound_.fixed || !bound_.fixed->hold_other(dim)) continue;
      from += (from.empty() ? "" : "x") + bound_.fixed->as_exported(dim).to_string();
      to += (to.empty() ? "" : "x") + std::to_string(sizes[i]);
    }
    if (!from.empty())
      bound_.diagnostics.push_back(
          {Severity::Info, "", "input " + names_[index] + ": fixed at " + from + " in the file, read as " + to});
  }

  // Makes the fixed size INPUT.AXIS a symbol. Ignores other names; the later look-up of the dim reports them.
  void open_size(const std::string& size) {
    const std::size_t dot = size.rfind('.');
    const auto found = std::find(names_.begin(), names_.end(), size.substr(0, dot));
    if (dot == std::string::npos || found == names_.end()) return;
    const auto index = static_cast<std::size_t>(found - names_.begin());
    const auto axis = base::parse_number<std::size_t>(std::string_view(size).substr(dot + 1));
    const std::optional<Shape>& shape = bound_.types[index].shape;
    if (axis && shape && *axis < shape->size() && (*shape)[*axis].is_constant()) follow(index, *axis, std::nullopt);
  }

  void warn_of_empty_inputs() {
    for (std::size_t i = 0; i < bound_.types.size(); ++i) {
      const auto is_asked = [&](const auto& asked) { return asked.first == i; };
      if (!is_data(bound_.types[i]) || std::ranges::count(*bound_.types[i].shape, Dim(0)) == 0 ||
          std::ranges::any_of(asked_, is_asked))
        continue;
      bound_.diagnostics.push_back(
          {Severity::Warning, "",
           cat("input ", names_[i], " is ", to_string(bound_.types[i]),
               " in the file: it is empty, or 0 stands for an ", "open size; set its sizes with ",
               base::field("inputs", cat(names_[i], "=AxBxC")))});
    }
  }

  // Solves formulas such as past + seq for a single unknown.
  void solve_formulas() {
    for (const auto& [index, sizes] : asked_)
      for (std::size_t i = 0; i < sizes.size(); ++i) {
        const Dim open = (*bound_.types[index].shape)[i].bind(bound_.options.dims) - Dim(sizes[i]);
        const auto names = open.symbols();
        if (names.size() != 1 || bound_.bind_last.contains(names[0])) continue;
        const Dim rest = open - Dim::symbol(names[0]);
        if (const auto value = rest.value64(); value && *value <= 0)
          bind_dim(names[0], -*value, "inputs", names_[index]);
      }
  }

  void assume_derived() {
    for (const DerivedDim& derived : kDerivedDims) {
      const std::string name(derived.dim);
      const Dim sum = Dim::symbol(derived.sum_of[0]) + Dim::symbol(derived.sum_of[1]);
      const auto is_missing = [&](const std::string& part) { return !bound_.input_dims.contains(part); };
      if (any_symbol(sum, is_missing) || !bound_.input_dims.contains(name) || bound_.options.dims.contains(name))
        continue;
      for_each_size([&](Dim& dim) { dim = dim.substitute({{name, sum}}); });
      bound_.assumed.emplace(name, sum);
      bound_.diagnostics.push_back(
          {Severity::Info, "",
           cat("dim ", name, " taken to be ", sum.to_string(), "; give it where ", derived.unless)});
    }
  }

  void check_shapes() const {
    for (const auto& [index, sizes] : asked_)
      for (std::size_t i = 0; i < sizes.size(); ++i) {
        const Dim dim = (*bound_.types[index].shape)[i].bind(bound_.bind_last);
        if (dim.is_constant() && dim != Dim(sizes[i]))
          throw Error(cat(base::field("inputs", names_[index]), ": dim ", i, " is ", dim.to_string(),
                          " by the other bindings, found ", sizes[i], "; give sizes that agree"));
      }
  }

  // The batch is a free dim; failing that, the size fixed at export.
  void bind_batch(std::int64_t batch) {
    if (bound_.fixed && !bound_.fixed->batch.empty()) return;  // given by the shape of an input
    const std::vector<std::string> symbols = batch_symbols(graph_, bound_.types);
    if (!symbols.empty()) {
      if (batch > 0)
        for (const std::string& symbol : symbols) bind_dim(symbol, batch, "batch");
      return;
    }
    for (const auto& [name, order] : bound_.input_dims)
      if (names_product(name) && !bound_.options.dims.contains(name))
        throw Error(cat("`batch`: no dim is the batch; ", name, " is its product with another size; set it with ",
                        base::field("dims", name + "=V")));
    bind_fixed_batch(batch);
  }

  // The size that is the batch of a model whose free dims are none.
  std::optional<std::int64_t> fixed_batch() const {
    bool counts_parts = false, is_open_elsewhere = false;
    for (std::size_t i = 0; i < bound_.types.size(); ++i) {
      if (batch_axes_[i] || !is_data(bound_.types[i]) || !bound_.types[i].shape->front().is_symbol()) continue;
      counts_parts = counts_parts || names_parts(bound_.types[i].shape->front().to_string());
      is_open_elsewhere = is_open_elsewhere || bound_.types[i].shape->size() > 1;
    }
    for (std::size_t i = 0; i < bound_.types.size(); ++i)
      if (batch_axes_[i])
        if (const auto size = (*bound_.types[i].shape)[*batch_axes_[i]].value64())
          return is_open_elsewhere ? std::nullopt : size;
    for (const std::size_t least_rank : {2, 1})
      for (const TensorType& type : bound_.types)
        if (is_data(type) && type.shape->size() >= least_rank)
          // Beside nodes or tokens, a first dim such as the 2 ends of edges is no batch.
          if (const auto size = type.shape->front().value64();
              size && (!counts_parts || (*size == 1 && least_rank == 2)))
            return size;
    return std::nullopt;
  }

  void bind_fixed_batch(std::int64_t batch) {
    const std::optional<std::int64_t> from = fixed_batch();
    if (!from) {
      bound_.diagnostics.push_back(
          {Severity::Warning, "",
           "`batch` has no effect: no input has a batch dim; set sizes with `dims` or `inputs`"});
      return;
    }
    if (*from == 0) return fill_empty_batch(batch);
    if (*from == batch) {
      bound_.bindings.emplace("batch", batch);  // unchanged, but requested: labels the estimate beside other batches
      return;
    }
    const std::string name = unused("batch");
    const Dim symbol = symbol_of(name, *from);
    bound_.fixed->batch = name;
    if (batch > 0) bound_.fixed->asked.emplace(name, batch), bound_.bind_last.emplace(name, batch);
    for (std::size_t i = 0; i < bound_.types.size(); ++i) {
      TensorType& type = bound_.types[i];
      const std::size_t axis = batch_axes_[i].value_or(0);
      if (!is_data(type) || (*type.shape)[axis] != Dim(*from)) continue;
      (*type.shape)[axis] = symbol;
      bound_.diagnostics.push_back({Severity::Info, "",
                                    cat("input ", names_[i], ": batch ", *from, " fixed at export",
                                        axis > 0 ? cat(" at axis ", axis) : "", " read as ", name),
                                    Cause::FixedBatch});
    }
  }

  // The file has 0 in place of the batch.
  void fill_empty_batch(std::int64_t batch) {
    const std::string name = unused("batch");
    if (batch > 0)
      bound_.bindings.emplace(name, batch);
    else
      bound_.input_dims.emplace(name, static_cast<int>(bound_.input_dims.size()));
    for (std::size_t i = 0; i < bound_.types.size(); ++i) {
      if (!is_data(bound_.types[i])) continue;
      Dim& dim = (*bound_.types[i].shape)[batch_axes_[i].value_or(0)];
      if (dim == Dim(0)) dim = batch > 0 ? Dim(batch) : Dim::symbol(name);
    }
  }

  const Graph& graph_;
  BoundInputs bound_;
  std::vector<std::string> names_;
  std::vector<Shape> declared_;                                           // of each input
  std::vector<std::optional<std::size_t>> batch_axes_;                    // of each input, where operators determine it
  std::vector<std::pair<std::size_t, std::vector<std::int64_t>>> asked_;  // input index, sizes given for it
};

}  // namespace

bool names_batch(std::string_view name) {
  const std::string text = base::lower(name);
  if (text == "bs" || text == "bsz" || is_letter_of_batch(name)) return true;
  return mentions_batch(name) && !names_parts(name) && !names_product(name);
}

std::vector<std::string> batch_symbols(const Graph& graph, const std::vector<TensorType>& inputs) {
  std::vector<std::string> symbols;
  for (const TensorType& type : inputs) {
    if (!is_data(type)) continue;
    const Shape& shape = *type.shape;
    for (std::size_t axis = 0; axis < shape.size(); ++axis)
      for (const std::string& name : shape[axis].symbols())
        // A letter in a formula, past_n+n, as the last size, or twice is a count as often as a batch.
        if (names_batch(name) && (!is_letter_of_batch(name) || (axis + 1 < shape.size() && shape[axis].is_symbol() &&
                                                                std::ranges::count(shape, shape[axis]) == 1)))
          symbols.push_back(name);
  }
  if (!symbols.empty()) return symbols;
  const std::vector<std::optional<std::size_t>> axes = known_batch_axes(graph, inputs);
  // Where operators read the batch, other axes of these inputs are none, and a batch that the file fixes is fixed.
  std::vector<std::string> others;
  bool is_fixed = false;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!axes[i]) continue;
    const Shape& shape = *inputs[i].shape;
    is_fixed = is_fixed || shape[*axes[i]].is_constant();
    for (std::size_t axis = 0; axis < shape.size(); ++axis)
      if (axis != *axes[i]) others.push_back(shape[axis].to_string());
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!is_data(inputs[i]) || (is_fixed && !axes[i])) continue;
    const Dim& dim = (*inputs[i].shape)[axes[i].value_or(0)];
    if (!dim.is_symbol()) continue;
    const std::string name = dim.to_string();
    // Items of rank 0, such as samples of a signal, are parts of one, as are the rows of a square.
    if (axes[i] || (inputs[i].shape->size() > 1 && std::ranges::count(*inputs[i].shape, dim) == 1 &&
                    !names_parts(name) && !names_product(name) && std::ranges::find(others, name) == others.end()))
      symbols.push_back(name);
  }
  return symbols;
}

BoundInputs bind_inputs(const Model& model, const AnalyzeOptions& options) { return Binder(model, options).run(); }

}  // namespace pagoda::inline core
