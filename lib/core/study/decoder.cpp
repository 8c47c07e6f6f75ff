// Finds the dims of past and new tokens: from the cache's pairs, then from the inputs of tokens and masks.
#include "pagoda/core/decoder.h"
#include "pagoda/base/cat.h"

#include <algorithm>

#include "infer/each_dim.h"
#include "pagoda/base/enum_names.h"
#include "pagoda/core/memory.h"

namespace pagoda::inline core {
namespace {

constexpr base::EnumNames<Phase::Decode> kPhases("prefill", "decode");

bool holds_text(const std::string& name, std::string_view part) { return name.find(part) != std::string::npos; }

// The input with token ids [batch, tokens], else the one with their embeddings [batch, tokens, hidden].
const InputInfo* token_input(const std::vector<InputInfo>& inputs) {
  for (const std::size_t rank : {std::size_t{2}, std::size_t{3}})
    for (const InputInfo& input : inputs)
      if (input.type.shape && input.type.shape->size() == rank && is_float(input.type.element) == (rank == 3) &&
          !holds_text(input.name, "mask") && !holds_text(input.name, "position"))
        return &input;
  return nullptr;
}

class Reader {
 public:
  Reader(const Model& model, const Analysis& analysis, const PhaseOptions& options)
      : graph_(model.main()), analysis_(analysis), options_(options), cache_(find_kv_cache(model, analysis)) {
    if (!options_.tokens && options_.phase == Phase::Decode) options_.tokens = 1;
    if (cache_.pairs.empty())
      throw Error(base::field("phase", to_string(options.phase)) +
                  ": the model has no pair of an input with past keys or values and an output with the present ones; "
                  "export it with its cache");
  }

  PhaseSizes run() {
    if (const Node* paged = paged_node()) return in_pages(*paged);
    set_past();
    set_tokens();
    set_masks();
    const InputInfo* tokens = token_input(analysis_.inputs);
    sizes_.tokens = tokens_;
    if (tokens != nullptr) sizes_.tokens *= tokens->type.shape->front().bind(sizes_.dims);
    return std::move(sizes_);
  }

 private:
  // The first node that reads a paged cache.
  const Node* paged_node() const {
    for (const CachePair& pair : cache_.pairs) {
      if (pair.tokens_per_page == Dim(0)) continue;
      for (const Node& node : graph_.nodes)
        if (std::find(node.inputs.begin(), node.inputs.end(), pair.past) != node.inputs.end()) return &node;
    }
    return nullptr;
  }

  // The tokens of all sequences are concatenated, and the block table [sequences, pages] locates the keys of each
  // sequence: past and new tokens fill whole pages. A past that stays free is counted in pages.
  PhaseSizes in_pages(const Node& node) {
    const Shape* query = shape_of(analysis_, node.input(0));
    const Shape* cache = shape_of(analysis_, node.input(3));
    const Shape* table = node.input(7) == kAbsent ? nullptr : shape_of(analysis_, node.input(7));
    if (query == nullptr || cache == nullptr || table == nullptr || table->size() != 2)
      throw Error(base::field("phase", to_string(options_.phase)) + ": " + display_name(graph_, node) +
                  " has no block table [sequences, pages] to size its cache by");
    const std::optional<std::int64_t>& tokens = options_.tokens;
    const Dim& sequences = table->front();
    if (tokens) size_as((*query)[0], sequences * *tokens, "number of new tokens");
    Dim pages = (*table)[1];
    const auto page = (*cache)[1].value64();
    if (!page) throw Error("`phase`: the tokens of a page, " + (*cache)[1].to_string() + ", are not a number; set it");
    if (options_.past && tokens) {
      pages = Dim((*options_.past + *tokens + *page - 1) / *page);
      size_as((*table)[1], pages, "number of pages");
    } else if (pages.is_symbol()) {
      sizes_.past_dim = pages.to_string();
      sizes_.tokens_per_past = *page;
    }
    for (const CachePair& pair : cache_.pairs)
      if (const Shape* past = shape_of(analysis_, pair.past); past != nullptr && pair.tokens_per_page != Dim(0))
        size_as((*past)[0], sequences * pages, "number of blocks in the cache");
    sizes_.tokens = tokens ? sequences * *tokens : (*query)[0];
    return std::move(sizes_);
  }

  // Binds `dim` if `size` is a number; otherwise replaces it by the formula.
  void size_as(const Dim& dim, const Dim& size, const std::string& what) {
    if (const auto number = size.value64())
      bind(dim, *number, what);
    else if (dim.is_symbol())
      sizes_.masks.insert_or_assign(dim.to_string(), size);
  }

  void bind(const Dim& dim, std::int64_t size, const std::string& what) {
    if (dim.is_symbol()) {
      const auto [at, is_new] = sizes_.dims.emplace(dim.to_string(), size);
      if (!is_new && at->second != size)
        throw Error(cat("the dim ", dim.to_string(), " of the ", what, " would be both ", at->second, " and ", size,
                        "; name sizes with `dims` instead"));
    } else if (dim != Dim(size)) {
      throw Error(cat("the ", what, " is ", dim.to_string(), " in the file, not ", size,
                      "; export the model with this dim dynamic, or ask for that size"));
    }
  }

  void set_past() {
    bool keeps_window = false, keeps_all = false;
    for (const CachePair& pair : cache_.pairs) {
      const Shape* past = shape_of(analysis_, pair.past);
      const Shape* present = shape_of(analysis_, pair.present);
      if (past == nullptr || present == nullptr) continue;
      if (pair.axis == CachePair::kState || pair.tokens_per_page != Dim(0)) continue;
      const auto axis = static_cast<std::size_t>(pair.axis);
      const Dim& length = (*past)[axis];
      if (const std::int64_t window = window_of(pair.past); window > 0) {
        keeps_window = true;
        if (length.is_symbol()) sizes_.dims.emplace(length.to_string(), window);
        continue;
      }
      if (length.is_constant() && (*present)[axis] == length) {
        is_fixed_ = true;
        continue;
      }
      keeps_all = true;
      if (options_.past) bind(length, *options_.past, "past");
      if (length.is_symbol()) sizes_.past_dim = length.to_string();
      past_ = options_.past ? Dim(*options_.past) : length;
      const Dim grown = (*present)[axis] - length;
      if (grown.is_symbol()) new_tokens_ = grown;
    }
    // If every cache keeps a window, only a mask has the length of the past.
    if (keeps_window && !keeps_all) {
      if (!options_.past) sizes_.past_dim = "past";
      past_ = options_.past ? Dim(*options_.past) : Dim::symbol(sizes_.past_dim);
    }
    if (is_fixed_)
      sizes_.diagnostics.push_back({Severity::Info, "",
                                    "the cache is a buffer of fixed size: attention is counted over all of it, "
                                    "whatever `past` says"});
  }

  // The rows of a buffer that keeps a window: those of the window, from the first token on; 0: not such a buffer.
  std::int64_t window_of(ValueId past) const {
    for (const Node& node : graph_.nodes)
      if (node.integer("sliding_window_cache", 0) != 0 &&
          std::find(node.inputs.begin(), node.inputs.end(), past) != node.inputs.end())
        return node.integer("local_window_size", 0);
    return 0;
  }

  void set_tokens() {
    if (!new_tokens_) {
      const InputInfo* input = token_input(analysis_.inputs);
      if (input == nullptr) throw Error("no input of tokens was found; name its sizes with `dims`");
      new_tokens_ = (*input->type.shape)[1];
    }
    if (new_tokens_->is_symbol()) sizes_.token_dim = new_tokens_->to_string();
    if (options_.tokens) bind(*new_tokens_, *options_.tokens, "number of new tokens");
    tokens_ = new_tokens_->bind(sizes_.dims);
  }

  // True if a float input other than a mask has this dim, as the keys have that a decoder takes from its encoder.
  bool is_of_other_data(const Dim& dim) const {
    return std::any_of(analysis_.inputs.begin(), analysis_.inputs.end(), [&](const InputInfo& input) {
      return is_float(input.type.element) && input.type.shape && !holds_text(input.name, "mask") &&
             std::find(input.type.shape->begin(), input.type.shape->end(), dim) != input.type.shape->end();
    });
  }

  // Masks span past and new tokens; some exporters give that length a separate name.
  void set_masks() {
    if (is_fixed_) return;
    const Dim total = tokens_ + past_;
    for (const InputInfo& input : analysis_.inputs) {
      if (!input.type.shape) continue;
      for (std::size_t i = 1; i < input.type.shape->size(); ++i) {
        const Dim& dim = (*input.type.shape)[i];
        if (holds_text(input.name, "mask") && set_sum(dim)) continue;
        if (!dim.is_symbol() || sizes_.dims.contains(dim.to_string())) continue;
        if (!holds_text(input.name, "mask") && !holds_text(dim.to_string(), "total")) continue;
        if (dim == new_tokens_ || dim.to_string() == sizes_.past_dim || is_of_other_data(dim)) continue;
        size_as(dim, total, "mask");
      }
    }
  }

  // A mask's length stated as a sum of past and new tokens that no other tensor names.
  bool set_sum(const Dim& dim) {
    const std::vector<std::string> names = dim.symbols();
    if (names.size() != 2 || dim != Dim::symbol(names[0]) + Dim::symbol(names[1])) return false;
    const bool is_first = holds_text(names[0], "past");
    if (is_first == holds_text(names[1], "past")) return false;
    for (const auto& [name, size] :
         {std::pair(names[is_first ? 0 : 1], past_), std::pair(names[is_first ? 1 : 0], tokens_)})
      if (!sizes_.dims.contains(name) && name != sizes_.past_dim && name != sizes_.token_dim)
        size_as(Dim::symbol(name), size, "mask");
    return true;
  }

  const Graph& graph_;
  const Analysis& analysis_;
  PhaseOptions options_;  // `tokens` is 1 if decode gives none
  KvCache cache_;
  PhaseSizes sizes_;
  std::optional<Dim> new_tokens_;
  Dim tokens_, past_;
  bool is_fixed_ = false;
};

bool has_past(const PhaseOptions& phase) { return phase.phase == Phase::Decode || phase.past.value_or(0) > 0; }

// The index in Graph::inputs of an input of one number or boolean: of rank 0 or shape [1].
std::optional<std::size_t> scalar_position(const Model& model, std::string_view name) {
  if (model.graphs.empty()) return std::nullopt;
  const Graph& graph = model.main();
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    const Value& value = graph.values[graph.inputs[i]];
    const TensorType& type = value.declared;
    const bool is_number = type.element == ElementType::Bool || is_integer(type.element) || is_float(type.element);
    if (value.name == name && type.container == Container::Tensor && is_number && type.shape &&
        type.shape->size() <= 1 && element_count(*type.shape) == Dim(1))
      return i;
  }
  return std::nullopt;
}

ElementType scalar_element(const Model& model, std::size_t position) {
  return model.main().values[model.main().inputs[position]].declared.element;
}

// The value as the type holds it; empty if it does not.
std::optional<Scalar> held_by(ElementType type, const Scalar& value) {
  const Dim* integer = std::get_if<Dim>(&value);
  const double* real = std::get_if<double>(&value);
  const auto number = integer != nullptr ? integer->value64() : std::nullopt;
  if (is_float(type)) {
    if (number) return Scalar(static_cast<double>(*number));
    return real != nullptr ? std::optional(value) : std::nullopt;
  }
  if (!number || (type == ElementType::Bool && *number != 0 && *number != 1)) return std::nullopt;
  return value;
}

// Turns the input into an initializer.
void fix_input(Graph& graph, std::size_t position, Scalar value) {
  const ValueId id = graph.inputs[position];
  Value& input = graph.values[id];
  input.initializer = static_cast<std::int32_t>(graph.initializers.size());
  input.is_input = false;
  Tensor tensor;
  tensor.name = input.name;
  tensor.type = input.declared;
  tensor.value = TensorValue{std::move(value)};
  graph.initializers.push_back(std::move(tensor));
  graph.inputs.erase(graph.inputs.begin() + static_cast<std::ptrdiff_t>(position));
}

}  // namespace

bool has_scalar(const Model& model, std::string_view input) { return scalar_position(model, input).has_value(); }

void set_scalar(Model& model, std::string_view input, const Scalar& value) {
  const auto position = scalar_position(model, input);
  if (!position)
    throw Error(base::field("inputs", input) +
                ": the model has no such input of one boolean or number; give other inputs a shape");
  const ElementType type = scalar_element(model, *position);
  std::optional<Scalar> held = held_by(type, value);
  if (!held)
    throw Error(cat(base::field("inputs", input), ": the input holds ", to_string(type),
                    type == ElementType::Bool ? "; give true or false" : "; give an integer"));
  fix_input(model.graphs.front(), *position, *std::move(held));
}

bool has_flag(const Model& model, std::string_view input) {
  const auto position = scalar_position(model, input);
  return position && scalar_element(model, *position) == ElementType::Bool;
}

void set_flag(Model& model, std::string_view input, bool value) {
  if (model.graphs.empty()) throw Error("the model has no graph");
  if (!has_flag(model, input))
    throw Error(base::field("inputs", input) + ": the model has no such input of one boolean");
  set_scalar(model, input, Dim(value ? 1 : 0));
}

void set_phase_flag(Model& model, const PhaseOptions& phase) {
  if (has_flag(model, kCacheBranch)) set_flag(model, kCacheBranch, has_past(phase));
}

Model in_other_phase(const Model& model, const PhaseOptions& phase) {
  Model other = model;
  set_phase_flag(other, phase);
  Graph& graph = other.graphs.front();
  for (const Value& value : graph.values)
    if (value.name == kCacheBranch && value.initializer >= 0)
      graph.initializers[value.initializer].value = TensorValue{Dim(has_past(phase) ? 1 : 0)};
  return other;
}

std::optional<Phase> phase(std::string_view name) { return kPhases.value(name); }
std::vector<std::string_view> phase_names() { return kPhases.all(); }
std::string_view to_string(Phase phase) { return kPhases[phase]; }

Analysis in_phase(const Analysis& analysis, const PhaseSizes& sizes) {
  Analysis result = bind_dims(analysis, sizes.dims);
  if (!sizes.masks.empty()) result = substitute_dims(result, sizes.masks);
  result.diagnostics.insert(result.diagnostics.end(), sizes.diagnostics.begin(), sizes.diagnostics.end());
  return result;
}

PhaseSizes phase_sizes(const Model& model, const Analysis& analysis, const PhaseOptions& options) {
  return Reader(model, analysis, options).run();
}

}  // namespace pagoda::inline core
