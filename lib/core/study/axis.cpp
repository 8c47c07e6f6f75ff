// Axes of sweeps: reading their text, and finding the symbols that they set.
#include <algorithm>

#include "infer/bind_inputs.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/number.h"
#include "pagoda/base/text.h"
#include "pagoda/core/sweep.h"

namespace pagoda::inline core {
namespace {

constexpr std::string_view kForm = "NAME=LIST such as batch=1,2,4..1024";

class ListReader {
 public:
  ListReader(std::string_view list, std::string_view whole) : rest_(list), whole_(whole) {}

  std::vector<std::int64_t> run() {
    for (bool more = true; more;) {
      const std::size_t comma = rest_.find(',');
      more = comma != std::string_view::npos;
      item(rest_.substr(0, comma));
      rest_.remove_prefix(more ? comma + 1 : rest_.size());
    }
    return std::move(sizes_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(cat("'", whole_, "': ", what, "; expected ", kForm));
  }

  std::int64_t number(std::string_view text) const {
    const auto size = base::parse_number<std::int64_t>(text);
    if (!size || *size < 0) fail(cat("'", text, "' is not a size"));
    return *size;
  }

  void add(std::int64_t size) {
    if (sizes_.size() == kMaxSweepPoints) fail(cat("more than ", kMaxSweepPoints, " sizes"));
    sizes_.push_back(size);
    ++run_length_;
  }

  void item(std::string_view text) {
    const std::size_t dots = text.find("..");
    if (dots == std::string_view::npos) return add(number(text));
    add(number(text.substr(0, dots)));
    go_on(number(text.substr(dots + 2)));
    run_length_ = 0;  // the next item starts a new progression
  }

  // Continues the progression of the last sizes up to `last`, which is always added.
  void go_on(std::int64_t last) {
    const std::int64_t c = sizes_.back();
    if (last < c) fail(cat("the range ends at ", last, " before ", c));
    std::int64_t step = 1, factor = 1;
    if (run_length_ >= 2) {
      const std::int64_t b = sizes_[sizes_.size() - 2];
      step = c - b;
      if (run_length_ >= 3) {
        const std::int64_t a = sizes_[sizes_.size() - 3];
        if (a > 0 && b > a && b % a == 0 && c % b == 0 && b / a == c / b)
          factor = b / a;
        else if (b - a != step)
          fail("the sizes before '..' are not a progression");
      }
      if (step <= 0 && factor == 1) fail("the sizes before '..' do not ascend");
    }
    for (std::int64_t size = c;;) {
      if (factor > 1 ? size > last / factor : size > last - step) break;
      size = factor > 1 ? size * factor : size + step;
      add(size);
    }
    if (sizes_.back() != last) add(last);
  }

  std::string_view rest_, whole_;
  std::vector<std::int64_t> sizes_;
  int run_length_ = 0;  // sizes since the last range
};

// Whether the work is linear in the symbols together: items of a batch never meet. Sizes that tiles divide; where the
// formula holds at none of them, nothing speaks against it.
bool is_work_linear_in(const std::vector<std::string>& symbols, const Analysis& analysis) {
  const Dim work = flops(analysis.totals.cost);
  const auto at = [&](std::int64_t size) {
    Bindings sizes;
    for (const std::string& symbol : symbols) sizes.emplace(symbol, size);
    return work.evaluate(sizes);
  };
  try {
    return at(512) - at(256) == at(768) - at(512);
  } catch (const Error&) {
    return true;
  }
}

// Whether a loop runs as often as the symbol says, or may do so, or a convolution slides over it.
bool is_counted_through(const std::string& symbol, const Model& model, const Analysis& analysis) {
  const auto holds = [&](const Dim& dim) { return std::ranges::binary_search(dim.symbols(), symbol); };
  if (std::ranges::find(analysis.symbols, "trip count", &Symbol::cause) != analysis.symbols.end()) return true;
  return std::ranges::any_of(analysis.nodes, [&](const NodeReport& row) {
    if (holds(row.runs)) return true;
    if (row.graph != 0 || row.facts.form != ProductForm::Convolution) return false;
    const Shape* read = shape_of(analysis, model.main().node(row.node).input(0));
    return read != nullptr && !read->empty() && std::any_of(read->begin() + 1, read->end(), holds);
  });
}

}  // namespace

SweepAxis parse_axis(std::string_view text) {
  const std::size_t equals = text.rfind('=');
  if (equals == std::string_view::npos || equals == 0) throw Error(cat("'", text, "' is not of the form ", kForm));
  return {std::string(text.substr(0, equals)), ListReader(text.substr(equals + 1), text).run()};
}

AnalyzeOptions sweep_options(AnalyzeOptions options, const std::vector<SweepAxis>& axes) {
  for (const SweepAxis& axis : axes) {
    if (options.dims.contains(axis.dim) || (axis.dim == "batch" && options.batch > 0))
      throw Error("'" + axis.dim + "' is both swept and bound to one size; give one of the two");
    if (axis.dim == "batch") options.symbolic_batch = true;
    if (axis.dim.find('.') != std::string::npos) options.symbolic_sizes.push_back(axis.dim);
  }
  return options;
}

std::vector<std::string> batch_dims(const Model& model) {
  std::vector<TensorType> declared;
  for (const ValueId input : model.main().inputs) declared.push_back(model.main().value(input).declared);
  return batch_symbols(model.main(), declared);
}

std::vector<std::string> batch_dims(const Model& model, const Analysis& analysis) {
  std::vector<std::string> symbols = batch_dims(model), unnamed;
  if (symbols.empty()) {
    std::vector<TensorType> bound;
    for (const InputInfo& input : analysis.inputs) bound.push_back(input.type);
    symbols = batch_symbols(model.main(), bound);
  }
  std::erase_if(symbols, [&](const std::string& symbol) {
    if (!std::ranges::binary_search(analysis.free_dims, symbol)) return true;
    if (names_batch(symbol)) return false;
    if (is_counted_through(symbol, model, analysis)) return true;
    unnamed.push_back(symbol);
    return false;
  });
  if (!is_work_linear_in(unnamed, analysis))
    std::erase_if(symbols,
                  [&](const std::string& symbol) { return std::ranges::find(unnamed, symbol) != unnamed.end(); });
  return symbols;
}

std::vector<std::string> batch_dims(const Model& model, const AnalyzeOptions& options,
                                    const std::vector<CustomOperator>& stated) {
  std::vector<std::string> names = batch_dims(model);
  if (std::ranges::all_of(names, names_batch) || !options.input_shapes.empty()) return names;
  AnalyzeOptions open = options;
  open.batch = 0;
  for (const std::string& name : names) open.dims.erase(name);
  for (const auto& [filed, name] : model.renamed_dims)
    if (std::ranges::find(names, name) != names.end()) open.dims.erase(filed);
  return batch_dims(model, analyze(model, open, stated));
}

std::vector<std::string> axis_symbols(const Model& model, const Analysis& analysis, const std::string& axis) {
  const auto renamed = model.renamed_dims.find(axis);
  const std::string name = renamed == model.renamed_dims.end() ? Dim::identifier(axis) : renamed->second;
  const auto is_named = [&](const Symbol& symbol) { return symbol.name == name; };
  if (std::binary_search(analysis.free_dims.begin(), analysis.free_dims.end(), name) ||
      std::any_of(analysis.symbols.begin(), analysis.symbols.end(), is_named))
    return {name};
  if (axis == "batch")
    if (std::vector<std::string> symbols = batch_dims(model, analysis); !symbols.empty()) return symbols;
  std::vector<std::string> known = analysis.free_dims;
  for (const Symbol& symbol : analysis.symbols) known.push_back(symbol.name);
  throw Error(cat("'", axis, "' cannot be swept: the model has no such dim; ",
                  known.empty() ? "all its sizes are fixed" : "its free dims are: ", base::joined(known)));
}

}  // namespace pagoda::inline core
