// Finds sizes that are impossible as numbers.
#include <algorithm>

#include "describe.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/error.h"
#include "pagoda/base/text.h"
#include "pagoda/core/custom_operator.h"
#include "pagoda/core/decoder.h"

namespace pagoda::estimate {
namespace {

bool is_impossible(const Dim& dim) {
  try {
    return !dim.is_constant() && dim.evaluate({}) < 0;
  } catch (const Error&) {
    return true;
  }
}

// Searches rows of an analysis or an estimate. Skips sizes with a swept symbol: neither free nor data-dependent.
template <typename Row>
std::string find_impossible(const std::vector<Row>& rows, const std::vector<std::string>& free,
                            const std::vector<Symbol>& symbols) {
  for (const Row& row : rows)
    for (const OutputInfo& output : row.outputs) {
      if (!output.type.shape) continue;
      const auto dim = std::find_if(output.type.shape->begin(), output.type.shape->end(), is_impossible);
      if (dim == output.type.shape->end()) continue;
      std::string names, remedy;
      bool is_swept = false;
      for (const std::string& name : dim->symbols()) {
        if (std::find(free.begin(), free.end(), name) != free.end()) {
          names += (names.empty() ? "" : ", ") + name;
          remedy += " " + base::field("dims", name + "=V");
        } else {
          is_swept = is_swept || std::ranges::find(symbols, name, &Symbol::name) == symbols.end();
        }
      }
      if (names.empty() || is_swept) continue;
      return "with " + names + " taken as 1, " + dim->to_string() + " of " + base::printable(output.name) +
             " is not a size; set" + remedy;
    }
  return {};
}

std::vector<Symbol> without(std::vector<Symbol> symbols, const std::vector<std::string>& names) {
  std::erase_if(symbols, [&](const Symbol& symbol) { return holds(names, symbol.name); });
  return symbols;
}

}  // namespace

// A contradiction in a file's own sizes may be one that its engine overlooks, or a rule that is wrong.
std::string cannot_run_text(const Model& model, const Analysis& analysis) {
  std::string why = exceeded_table(position_tables(model, analysis));
  const auto broken = std::ranges::find(analysis.diagnostics, Cause::Contradiction, &Diagnostic::cause);
  if (!why.empty() || broken == analysis.diagnostics.end() || analysis.bindings.empty()) return why;
  const auto row = std::ranges::find_if(analysis.nodes, [&](const NodeReport& each) {
    const Graph& graph = model.graph(each.graph);
    return !each.problem.empty() && display_name(graph, graph.node(each.node)) == broken->node;
  });
  return cat(broken->node, ": ", row == analysis.nodes.end() ? Name(broken->message) : row->problem);
}

std::string impossible_size(const Analysis& analysis, const std::vector<std::string>& swept) {
  std::vector<std::string> free = analysis.free_dims;
  std::erase_if(free, [&](const std::string& name) { return holds(swept, name); });
  return find_impossible(analysis.nodes, free, without(analysis.symbols, swept));
}

namespace {

// How an analysis at 1 differs from formulas evaluated there; empty if it does not.
std::string difference_at_one(const Model& model, const Analysis& formulas, const Analysis& at_one) {
  if (at_one.totals.unmodelled_nodes > formulas.totals.unmodelled_nodes) {
    const auto row = std::ranges::find_if(at_one.nodes, [](const NodeReport& each) { return !each.problem.empty(); });
    if (row == at_one.nodes.end()) return "a node does not work";
    const Graph& graph = model.graph(row->graph);
    return cat(display_name(graph, graph.node(row->node)), ": ", row->problem);
  }
  if (!formulas.symbols.empty()) return {};  // sizes that the data decide make lower bounds of them
  const bool is_same = std::ranges::all_of(kCostCounts, [&](auto count) {
    return formulas.totals.cost.*count == at_one.totals.cost.*count ||
           (formulas.totals.cost.*count).evaluate({}) == (at_one.totals.cost.*count).evaluate({});
  });
  return is_same ? "" : "the model counts otherwise than its formulas";
}

}  // namespace

// Conditions of the formulas come first, then an analysis at 1: some rules refuse numbers only.
Broken broken_at_one(const Model& model, const EstimateRequest& request, const std::optional<PhaseSizes>& phase,
                     const Analysis& analysis, const std::vector<std::string>& swept,
                     const std::vector<std::string>& unset) {
  AnalyzeOptions at_one = request.sizes;
  at_one.precision = request.precision;
  Bindings ones;
  std::string names, remedy;
  for (const std::string& name : analysis.free_dims) {
    if (holds(swept, name)) continue;
    ones.emplace(name, 1);
    if (!unset.empty() && !holds(unset, name)) continue;  // a batch of 1 is one
    names += (names.empty() ? "" : ", ") + name;
    remedy += " " + base::field("dims", name + "=V");
  }
  if (ones.empty()) return {};
  std::string broken = broken_requirement(analysis, ones);
  if (broken.empty() && swept.empty() && !(phase && !phase->masks.empty())) {
    at_one.dims.insert(ones.begin(), ones.end());
    if (phase) at_one.dims.insert(phase->dims.begin(), phase->dims.end());
    try {
      broken = difference_at_one(model, analysis, analyze(model, at_one, request.custom_operators));
    } catch (const Error& error) {
      broken = error.what();
    }
  }
  if (broken.empty()) return {};
  return {.why = cat("with ", names, " taken as 1, ", broken), .remedy = cat("set", remedy)};
}

void forget_counts(EstimateDocument& estimate) {
  const auto forget = [](EstimateCounts& counts) {
    for (const auto& [name, member] : kEstimateCounts)
      if (member != &EstimateCounts::params && member != &EstimateCounts::param_bytes) counts.*member = std::nullopt;
  };
  forget(estimate.totals.counts);
  estimate.totals.intensity = std::nullopt;
  estimate.totals.activation_peak_bytes = std::nullopt;
  for (EstimateNode& node : estimate.nodes) forget(node.counts);
  if (estimate.types)
    for (EstimateType& type : *estimate.types) forget(type.counts);
  if (!estimate.traffic) return;
  estimate.traffic->bytes_read = estimate.traffic->bytes_written = estimate.traffic->bytes = std::nullopt;
  for (EstimateGroup& group : estimate.traffic->groups) forget(group.counts);
}

std::string impossible_size(const EstimateDocument& estimate) {
  return find_impossible(estimate.nodes, free_dims(estimate), unset_symbols(estimate));
}

std::vector<std::string> free_dims(const EstimateDocument& estimate) {
  std::vector<std::string> names;
  for (const auto& [name, size] : estimate.bindings)
    if (!size && !(estimate.sweep && holds(estimate.sweep->symbols, name))) names.push_back(name);
  return names;
}

std::vector<Symbol> unset_symbols(const EstimateDocument& estimate) {
  return estimate.sweep ? without(estimate.symbols, estimate.sweep->symbols) : estimate.symbols;
}

}  // namespace pagoda::estimate
