// Symbols of an analysis: the ones invented for sizes that the data decide, and the equalities found between sizes.
#include <algorithm>
#include <iterator>

#include "ops/context.h"

namespace pagoda::inline core {

Dim Session::fresh(std::string_view hint, std::string node, std::string cause, std::optional<Dim> upper) {
  const std::string stem = Dim::identifier(hint);
  std::string name = stem;
  int& next = next_of_stem_.emplace(stem, 2).first->second;
  while (fresh_names_.contains(name) || input_dims.contains(name)) name = stem + "_" + std::to_string(next++);
  fresh_names_.insert(name);
  symbols.push_back({name, std::move(node), std::move(cause), std::move(upper)});
  return Dim::symbol(name);
}

void Session::forget(const Dim& symbol) {
  const std::string name = symbol.to_string();
  // It is one of the latest.
  const auto last =
      std::find_if(symbols.rbegin(), symbols.rend(), [&](const Symbol& known) { return known.name == name; });
  if (last != symbols.rend()) symbols.erase(std::next(last).base());
}

Dim Session::resolve(const Dim& dim) const {
  return dim.is_constant() || equalities_.empty() ? dim : dim.substitute(equalities_);
}

void Session::one_or(const Dim& symbol, const Dim& constant, const std::string& node) {
  if (symbol.is_symbol() && input_dims.contains(symbol.to_string()))
    ones_or_.emplace(symbol.to_string(), constant);
  else
    require(constant, symbol, node, true);
}

void Session::require(const Dim& size, const Dim& other, const std::string& node, bool or_one) {
  constexpr std::size_t kMost = 256;
  if (undecided > 0 || rebatch || taken_for_equal.size() >= kMost) return;
  if (required_.insert(size.to_string() + " = " + other.to_string()).second)
    taken_for_equal.push_back({size, other, or_one, node});
}

void Session::note(Severity severity, std::string node, std::string message, Cause cause) {
  constexpr std::size_t kMaxDiagnostics = 10'000;
  if (diagnostics.size() < kMaxDiagnostics && noted_.insert(node + '\n' + message).second)
    diagnostics.push_back({severity, std::move(node), std::move(message), cause});
}

std::vector<Diagnostic> Session::take_notes(std::size_t first) {
  const auto begin = diagnostics.begin() + static_cast<std::ptrdiff_t>(first);
  std::vector<Diagnostic> taken(std::make_move_iterator(begin), std::make_move_iterator(diagnostics.end()));
  diagnostics.erase(begin, diagnostics.end());
  for (const Diagnostic& diagnostic : taken) noted_.erase(diagnostic.node + '\n' + diagnostic.message);
  return taken;
}

// Constants tell most, then expressions without invented symbols, then those in the dims named first, then short ones.
bool Session::more_telling(const Dim& a, const Dim& b) const {
  if (a.is_constant() != b.is_constant()) return a.is_constant();
  const auto rank = [&](const Dim& dim) {
    int invented = 0;
    int latest = 0;
    for (const std::string& name : dim.symbols()) {
      invented += is_fresh(name) ? 1 : 0;
      if (const auto found = input_dims.find(name); found != input_dims.end()) latest = std::max(latest, found->second);
    }
    const std::string text = dim.to_string();
    return std::tuple(invented, latest, text.size(), text);
  };
  return rank(a) < rank(b);
}

void Session::set_equal(const std::string& symbol, const Dim& dim, const std::string& node) {
  for (auto& [name, replacement] : equalities_) replacement = replacement.substitute({{symbol, dim}});
  equalities_.emplace(symbol, dim);
  if (!is_fresh(symbol))
    note(Severity::Info, node, "takes dim " + symbol + " to be " + dim.to_string() + ", as the operator requires");
}

std::optional<Dim> Session::unify(const Dim& raw_a, const Dim& raw_b, const std::string& node, bool or_one) {
  if (raw_a == raw_b) return raw_a;
  const Dim a = resolve(raw_a);
  const Dim b = resolve(raw_b);
  if (a == b) return a;
  if (a.is_constant() && b.is_constant()) return std::nullopt;
  if (rebatch) {
    // A size baked in at export gives way to the formula that had this value at the exported batch.
    const Dim& constant = a.is_constant() ? a : b;
    const Dim& formula = a.is_constant() ? b : a;
    const std::string batch = rebatch->to.to_string();
    const auto names = formula.symbols();
    if (constant.is_constant() && std::find(names.begin(), names.end(), batch) != names.end()) {
      if (formula.bind({{batch, rebatch->from}}) == constant) {
        note(Severity::Info, node, "size " + constant.to_string() + " fixed at export read as " + formula.to_string());
        return formula;
      }
      return std::nullopt;
    }
  }
  const Dim& kept = more_telling(a, b) ? a : b;
  const Dim& dropped = more_telling(a, b) ? b : a;
  if (dropped.is_symbol()) {
    const std::string name = dropped.to_string();
    const auto names = kept.symbols();
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      set_equal(name, kept, node);
      return kept;
    }
  } else if (kept.is_symbol() && !dropped.is_constant()) {
    const std::string name = kept.to_string();
    const auto names = dropped.symbols();
    if (std::find(names.begin(), names.end(), name) == names.end() && is_fresh(name)) {
      set_equal(name, dropped, node);
      return kept;
    }
  }
  require(kept, dropped, node, or_one);
  return kept;
}

}  // namespace pagoda::inline core
