// Replaces symbols in a finished analysis, by values or by formulas of other symbols.
#include "pagoda/core/analysis.h"

#include <set>

#include "infer/each_dim.h"
#include "ops/shape_math.h"
#include "pagoda/base/cat.h"

namespace pagoda::inline core {

std::vector<std::string> free_dims(const std::vector<InputInfo>& inputs) {
  std::set<std::string> names;
  for (const InputInfo& input : inputs)
    if (input.type.shape)
      for (const Dim& dim : *input.type.shape)
        for (std::string& name : dim.symbols()) names.insert(std::move(name));
  return {names.begin(), names.end()};
}

Bindings completed(const Analysis& analysis, Bindings bindings) {
  for (const auto& [name, formula] : analysis.equalities) {
    const auto given = bindings.find(name);
    if (given == bindings.end()) continue;
    const Dim open = formula.bind(bindings) - given->second;
    if (const auto names = open.symbols(); names.size() == 1) {
      const Dim rest = open - Dim::symbol(names[0]);
      if (const auto value = rest.value64(); value && *value <= 0) bindings.emplace(names[0], -*value);
    }
  }
  for (const auto& [name, formula] : analysis.equalities)
    if (const auto value = formula.bind(bindings).value64()) bindings.emplace(name, *value);
  return bindings;
}

namespace {

// Throws Error where the bindings contradict an equality.
void expect_equalities(const Analysis& analysis, const Bindings& bindings) {
  for (const auto& [name, formula] : analysis.equalities) {
    const auto given = bindings.find(name);
    if (given == bindings.end()) continue;
    const Dim value = formula.bind(bindings);
    if (value.is_constant() && value != Dim(given->second))
      throw Error(cat("dim ", name, " is given as ", given->second, ", but the formulas hold where it is ",
                      formula.to_string(), formula.is_constant() ? "" : cat(", here ", value.to_string()),
                      "; give sizes that agree, or bind them before the analysis"));
  }
  for (const auto& [name, constant] : analysis.ones_or) {
    const auto given = bindings.find(name);
    if (given != bindings.end() && given->second != 1 && constant != Dim(given->second))
      throw Error(cat("dim ", name, " is given as ", given->second, ", but it is broadcast against ",
                      constant.to_string(), "; give 1 or ", constant.to_string()));
  }
}

template <typename Change>
Analysis changed(const Analysis& analysis, const Change& change) {
  Analysis result = analysis;
  for_each_dim(result, [&](Dim& dim) {
    if (!dim.is_constant()) dim = change(dim);
  });
  for (auto& [name, formula] : result.equalities) formula = change(formula);
  result.free_dims = free_dims(result.inputs);
  return result;
}

// Why the requirement does not hold at these sizes, both numbers; empty where it holds.
std::string broken(const Requirement& requirement, const Dim& size, const Dim& other) {
  const bool is_enough = *size.value() >= *other.value();
  switch (requirement.kind) {
    case Requirement::Kind::Equal:
    case Requirement::Kind::Broadcast: {
      const bool is_broadcast = requirement.kind == Requirement::Kind::Broadcast;
      if (size == other || (is_broadcast && other == Dim(1))) return {};
      return cat(" needs ", requirement.size.to_string(), " and ", requirement.other.to_string(), " to be equal, here ",
                 size.to_string(), " and ", other.to_string(),
                 is_broadcast && size == Dim(1) ? ", which broadcasts and the formulas do not say"
                                                : "; the model does not work there");
    }
    case Requirement::Kind::Window:
      return is_enough ? "" : cat(": ", ops::window_exceeds(size, other));
    case Requirement::Kind::Reduced:
      return is_enough ? "" : cat(" reduces an axis of ", requirement.size.to_string(), ", here ", size.to_string());
    case Requirement::Kind::Squeezed:
      return is_enough ? ""
             : requirement.size.is_constant()
                 ? " removes an axis of size 1, which the formulas keep"
                 : cat(" removes an axis of size 1, and the formulas keep that of ", requirement.size.to_string());
  }
  return {};
}

}  // namespace

std::string broken_requirement(const Analysis& analysis, const Bindings& bindings) {
  for (const Requirement& requirement : analysis.requirements) {
    const Dim size = requirement.size.bind(bindings);
    const Dim other = requirement.other.bind(bindings);
    if (!size.is_constant() || !other.is_constant()) continue;
    if (std::string why = broken(requirement, size, other); !why.empty()) return requirement.node + why;
  }
  return {};
}

Analysis bind_dims(const Analysis& analysis, const Bindings& given) {
  Bindings bindings = completed(analysis, given);
  expect_equalities(analysis, bindings);
  for (const auto& [name, formula] : analysis.equalities)
    if (!given.contains(name)) bindings.erase(name);  // no dim of the formulas
  if (const std::string why = broken_requirement(analysis, bindings); !why.empty())
    throw Error(why + "; give other sizes, or bind them before the analysis");
  Analysis result = changed(analysis, [&](const Dim& dim) { return dim.bind(bindings); });
  for (const auto& [name, value] : bindings) result.bindings.insert_or_assign(name, value);
  std::erase_if(result.symbols, [&](const Symbol& symbol) { return bindings.contains(symbol.name); });
  return result;
}

Analysis substitute_dims(const Analysis& analysis, const std::map<std::string, Dim, std::less<>>& replacements) {
  return changed(analysis, [&](const Dim& dim) { return dim.substitute(replacements); });
}

}  // namespace pagoda::inline core
