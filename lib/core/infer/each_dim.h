// Visits every formula of an analysis.
#pragma once

#include <variant>

#include "pagoda/core/analysis.h"

namespace pagoda::inline core {

// Applies `change` to every size of the type.
template <typename Change>
void for_each_dim(TensorType& type, const Change& change) {
  if (type.shape)
    for (Dim& dim : *type.shape) change(dim);
}

// Applies `change` to every Dim of the analysis.
template <typename Change>
void for_each_dim(Analysis& analysis, const Change& change) {
  const auto change_cost = [&](OpCost& cost) {
    for (const auto count : kCostCounts) change(cost.*count);
    for (PartMoved& part : cost.parts) change(part.bytes);
  };
  for (InputInfo& input : analysis.inputs) for_each_dim(input.type, change);
  for (InputInfo& output : analysis.outputs) for_each_dim(output.type, change);
  for (TensorType& type : analysis.types) for_each_dim(type, change);
  for (auto& value : analysis.values) {
    if (!value) continue;
    for (Scalar& scalar : *value) {
      if (Dim* dim = std::get_if<Dim>(&scalar)) change(*dim);
      if (Ratio* ratio = std::get_if<Ratio>(&scalar)) change(ratio->numerator);
    }
  }
  for (NodeReport& row : analysis.nodes) {
    for (OutputInfo& output : row.outputs) for_each_dim(output.type, change);
    change_cost(row.cost);
    change(row.runs);
    change(row.params);
    change(row.param_bytes);
    change(row.needed_bytes);
  }
  change_cost(analysis.totals.cost);
  change(analysis.totals.params);
  change(analysis.totals.param_bytes);
  change(analysis.totals.weight_bytes);
  change_cost(analysis.totals.at_load);
  for (Requirement& requirement : analysis.requirements) {
    change(requirement.size);
    change(requirement.other);
  }
  if (analysis.totals.activation_peak_bytes) change(*analysis.totals.activation_peak_bytes);
  for (Symbol& symbol : analysis.symbols)
    if (symbol.upper) change(*symbol.upper);
}

// The same analysis with symbols of its inputs replaced by formulas of the others.
Analysis substitute_dims(const Analysis& analysis, const std::map<std::string, Dim, std::less<>>& replacements);

// The bindings, completed with the dims that Analysis::equalities determine.
Bindings completed(const Analysis& analysis, Bindings bindings);

// The names of the free dims of inputs, sorted.
std::vector<std::string> free_dims(const std::vector<InputInfo>& inputs);

}  // namespace pagoda::inline core
