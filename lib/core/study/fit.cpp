#include "pagoda/core/fit.h"

#include <algorithm>

#include "graph/dim_poly.h"
#include "memory/schedule.h"
#include "pagoda/base/error.h"
#include "pagoda/core/memory.h"

namespace pagoda::inline core {
namespace {

// The formulas of the memory need, built once for all sizes.
class Need {
 public:
  Need(const Model& model, const Analysis& analysis, const Training* training)
      : model_(model), analysis_(analysis), training_(training) {
    cache_ = find_kv_cache(model, analysis).shared_bytes;
    peak_ = training == nullptr ? analysis.totals.activation_peak_bytes : training->memory.activation_peak_bytes;
  }

  MemoryNeed at(const Bindings& bindings) const {
    MemoryNeed need;
    need.at_least = analysis_.partial;
    if (training_ == nullptr) {
      need.weights = size_at(analysis_.totals.weight_bytes, bindings);
      need.cache = size_at(cache_, bindings);
    } else {
      const TrainingMemory& memory = training_->memory;
      need.at_least = need.at_least || training_->partial;
      need.weights = size_at(memory.weight_bytes, bindings);
      need.gradients = size_at(memory.gradient_bytes, bindings);
      need.optimizer = size_at(memory.master_weight_bytes + memory.optimizer_state_bytes, bindings);
    }
    // The peak includes the cache, which lives as long as the run.
    if (const std::optional<Int> peak = peak_at(bindings, need.at_least))
      need.activations = std::max<Int>(*peak - need.cache, 0);
    else
      need.at_least = true;
    return need;
  }

  // Whether the data decide a size on which the peak depends, or may depend where it has no formula.
  bool is_up_to_data() const { return peak_ ? depends_on_data(*peak_, analysis_.symbols) : !analysis_.symbols.empty(); }

 private:
  // Nullopt if the formula of a training step's peak is too complex. If that of inference is, the memory is planned.
  std::optional<Int> peak_at(const Bindings& bindings, bool& at_least) const {
    if (peak_) return size_at(*peak_, bindings);
    if (training_ != nullptr) return std::nullopt;
    const MemoryPlan plan = plan_memory(model_, analysis_, {.bindings = bindings, .reorder = false, .arena = false});
    at_least = at_least || !plan.unsized.empty() || !plan.unsized_bodies.empty();
    return plan.peak_bytes;
  }

  const Model& model_;
  const Analysis& analysis_;
  const Training* training_;
  Dim cache_ = 0;
  std::optional<Dim> peak_;
};

constexpr std::int64_t kLargest = std::int64_t{1} << 40;

// `bindings`, and the sizes that the data decide at their upper bounds. Empty where one has none.
std::optional<Bindings> at_upper_bounds(Bindings bindings, const std::vector<Symbol>& symbols) {
  for (const Symbol& symbol : symbols) {
    if (!symbol.upper) return std::nullopt;
    try {
      const Dim upper = symbol.upper->bind(bindings);  // it may name symbols before this one
      const Int size = depends_on_data(upper, symbols) ? Int{-1} : upper.evaluate({});
      if (size < 0 || size > kLargest) return std::nullopt;
      bindings.emplace(symbol.name, static_cast<std::int64_t>(size));
    } catch (const Error&) {
      return std::nullopt;
    }
  }
  return bindings;
}

}  // namespace

bool depends_on_data(const Dim& dim, const std::vector<Symbol>& symbols) {
  return !symbols.empty() && any_symbol(dim, [&](const std::string& name) {
    return std::ranges::find(symbols, name, &Symbol::name) != symbols.end();
  });
}

std::optional<bool> MemoryNeed::fits(const std::optional<Int>& bytes) const {
  if (bytes && total() > *bytes) return false;  // whatever else comes on top
  return bytes && (!at_least || (most && *most <= *bytes)) ? std::optional(true) : std::nullopt;
}

MemoryNeed memory_need(const Model& model, const Analysis& analysis, const Training* training,
                       const Bindings& bindings) {
  const Need formulas(model, analysis, training);
  MemoryNeed need = formulas.at(bindings);
  if (need.at_least || !formulas.is_up_to_data()) return need;
  need.at_least = true;
  if (const std::optional<Bindings> most = at_upper_bounds(bindings, analysis.symbols)) {
    const MemoryNeed at_most = formulas.at(*most);
    if (!at_most.at_least) need.most = at_most.total();
  }
  return need;
}

std::optional<Dim> memory_formula(const Model& model, const Analysis& analysis) {
  if (!analysis.totals.activation_peak_bytes) return std::nullopt;
  // The peak includes the cache, which lives as long as the run.
  return analysis.totals.weight_bytes +
         max(*analysis.totals.activation_peak_bytes, find_kv_cache(model, analysis).shared_bytes);
}

std::optional<std::int64_t> largest_size(const Model& model, const Analysis& analysis,
                                         const std::vector<std::string>& symbols, Int bytes, const Training* training) {
  const Need need(model, analysis, training);
  if (need.at({}).at_least || need.is_up_to_data()) return std::nullopt;
  const auto fits = [&](std::int64_t size) {
    Bindings bindings;
    for (const std::string& symbol : symbols) bindings[symbol] = size;
    return need.at(bindings).total() <= bytes;
  };
  if (!fits(1)) return 0;
  std::int64_t below = 1, above = 2;
  for (; fits(above); above *= 2) {
    if (above >= kLargest) return std::nullopt;
    below = above;
  }
  while (above - below > 1) {
    const std::int64_t middle = below + (above - below) / 2;
    (fits(middle) ? below : above) = middle;
  }
  return below;
}

}  // namespace pagoda::inline core
