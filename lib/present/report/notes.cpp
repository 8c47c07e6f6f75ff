// Additions to a report: diagnostics, budgets, and assumed sizes.
#include <algorithm>
#include <map>
#include <set>

#include "pagoda/base/cat.h"
#include "pagoda/base/enum_names.h"
#include "pagoda/base/plural.h"
#include "pagoda/estimate/make_estimate.h"
#include "pagoda/present/spell.h"
#include "report/rows.h"

namespace pagoda::present {
namespace report {
namespace {

std::string found_text(const BudgetResult& result) {
  if (!result.value) return "?";
  if (result.budget.kind == BudgetKind::Rate)
    return cat(result.is_least ? "≤ " : "", base::si_rate(result.budget.run_items / *result.value, "items/s"));
  if (result.budget.kind == BudgetKind::Seconds)
    return (result.is_least ? "≥ " : "") + base::si_seconds(*result.value);
  const bool is_bytes = result.budget.kind == BudgetKind::Bytes || result.budget.kind == BudgetKind::Memory;
  const auto& unit = result.budget.unit;  // of work: what the limit was compared with
  return base::si(static_cast<Int>(*result.value), is_bytes ? "B" : unit ? operation(*unit) : "");
}

// The nodes whose results `node` reads, up to the sizes and weights that they start from, have short results and begin
// at a Shape: arithmetic on sizes, which only lacks exact integers.
bool is_size_arithmetic(const documents::EstimateDocument& estimate, const documents::EstimateNode& node) {
  constexpr std::size_t kMostElements = 64;
  std::map<std::string_view, const documents::EstimateNode*> producers;
  for (const documents::EstimateNode& each : estimate.nodes)
    for (const OutputInfo& output : each.outputs) producers.emplace(output.name, &each);
  bool has_shape = false;
  std::set<const documents::EstimateNode*> seen;
  // The first input is what gets the size.
  std::vector<base::Name> open(node.inputs.begin() + (node.inputs.size() > 1 ? 1 : 0), node.inputs.end());
  while (!open.empty()) {
    const auto found = producers.find(open.back().view());
    open.pop_back();
    if (found == producers.end() || !seen.insert(found->second).second) continue;
    const documents::EstimateNode& producer = *found->second;
    if (producer.op_type == "Shape" || producer.op_type == "Size") {
      has_shape = true;
      continue;
    }
    const auto sizes = producer.outputs.empty() ? std::nullopt : documents::sizes(producer.outputs[0].type);
    if (!sizes || sizes->size() > 1 || (sizes->size() == 1 && sizes->front() > Int{kMostElements})) return false;
    open.insert(open.end(), producer.inputs.begin(), producer.inputs.end());
  }
  return has_shape;
}

// What decides a size that no input names.
enum class Decider : std::uint8_t { Data, Arithmetic, Loop };
Decider decider_of(const Symbol& symbol, const documents::EstimateDocument& estimate) {
  if (symbol.cause == "trip count") return Decider::Loop;
  if (symbol.cause.find("rounded down in float32") != std::string::npos) return Decider::Arithmetic;
  const auto node = std::ranges::find_if(
      estimate.nodes, [&](const documents::EstimateNode& each) { return each.shown_name() == symbol.node; });
  return node != estimate.nodes.end() && is_size_arithmetic(estimate, *node) ? Decider::Arithmetic : Decider::Data;
}

std::string causes_text(const BudgetResult& result) { return base::joined(result.causes, "; ", base::printable); }

}  // namespace

std::string why_at_least(const EstimateDocument& estimate) {
  const std::size_t sizes = estimate::unset_symbols(estimate).size();
  if (sizes == 0 || !estimate.totals.counts.bytes.is_at_least()) return {};
  return cat(sizes, sizes == 1 ? " size that the data decide is" : " sizes that the data decide are", " taken as 1");
}

std::string verdict_text(const BudgetResult& result) {
  if (result.budget.kind != BudgetKind::Rate || result.verdict == core::Verdict::CannotTell)
    return std::string(to_string(result.verdict));
  return result.verdict == core::Verdict::Fits ? "yes" : "no";
}

base::Grid budgets_grid(const std::vector<BudgetResult>& budgets) {
  base::Grid grid{.columns = {{.header = "budget"},
                              {.header = "verdict"},
                              {.header = "limit", .is_number = true},
                              {.header = "found", .is_number = true},
                              {.header = "why"}},
                  .rows = {}};
  for (const BudgetResult& result : budgets)
    grid.rows.push_back({std::string(to_string(result.budget.kind)), verdict_text(result),
                         base::printable(result.budget.text), found_text(result), causes_text(result)});
  return grid;
}

}  // namespace report

std::string budgets_report(const std::vector<BudgetResult>& budgets) {
  std::string text;
  for (const BudgetResult& result : budgets) {
    const std::string causes = report::causes_text(result);
    text += cat(to_string(result.budget.kind), ": ", report::verdict_text(result), " ", result.budget.text, ", found ",
                report::found_text(result), causes.empty() ? "" : "; ", causes, "\n");
  }
  return text;
}

namespace {

// Why the work is "?"; empty if it is known, or if a warning about open sizes says why.
std::string unknown_work(const EstimateDocument& estimate) {
  if (estimate.totals.counts.flops || is_published(estimate.count) || !estimate::free_dims(estimate).empty()) return {};
  const auto node = std::ranges::find_if(
      estimate.nodes, [](const EstimateNode& each) { return !each.counts.flops && each.mark != Mark::Unmodelled; });
  return cat("work is not known: ",
             node == estimate.nodes.end() ? "its sum"
                                          : cat(base::printable(node->shown_name()), " (",
                                                base::printable(node->qualified_op()), "): its formula"),
             " has no value at these sizes\n");
}

}  // namespace

std::optional<Format> format(std::string_view name) {
  constexpr base::EnumNames<Format::Markdown> kNames("table", "json", "csv", "markdown");
  return kNames.value(name);
}

std::string diagnostics_report(const std::vector<Diagnostic>& diagnostics, Severity least, std::size_t limit) {
  std::string text;
  std::size_t shown = 0, hidden = 0, following = 0;
  for (const Diagnostic& diagnostic : diagnostics) {
    const bool decides = diagnostic.cause == Cause::OpenBranch || diagnostic.cause == Cause::OpenSizes;
    if (diagnostic.severity < least && !decides) continue;
    if (shown > 0 && diagnostic.cause == Cause::UnknownInput) {
      ++following;
      continue;
    }
    if (shown == limit) {
      ++hidden;
      continue;
    }
    ++shown;
    text += cat(to_string(diagnostic.severity), ": ", base::printable(diagnostic.node),
                diagnostic.node.empty() ? "" : ": ", base::printable(diagnostic.message), "\n");
  }
  if (following > 0)
    text += cat("and ", base::counted(following, "node"), " behind them: an input's rank is not known\n");
  if (hidden > 0) text += cat("and ", hidden, " more; --format json lists all\n");
  return text;
}

std::string free_dims_report(const documents::EstimateDocument& estimate) {
  constexpr std::size_t kShort = 40;
  std::string text;
  // The first items, and the number of the others.
  const auto listed = [](const auto& items, const auto& item_text) {
    constexpr std::size_t kListed = 8;
    std::string list;
    for (std::size_t i = 0; i < std::min(items.size(), kListed); ++i)
      list += cat(i == 0 ? "" : ", ", item_text(items[i]));
    return items.size() > kListed ? cat(list, " and ", items.size() - kListed, " more") : list;
  };
  if (const std::vector<std::string> dims = estimate::free_dims(estimate); !dims.empty()) {
    std::string remedy;
    const std::string names = listed(dims, [&](const std::string& dim) {
      remedy += cat(" --dim ", dim, "=V");
      return dim;
    });
    text += cat("free dims taken as 1: ", names, "; set them with", remedy,
                estimate.unset.empty() ? "" : " for work, times and fits", ", or see formulas with --symbolic\n");
  }
  const std::string problem = estimate::impossible_size(estimate);
  text += problem.empty() ? unknown_work(estimate) : cat("warning: ", command_line(problem), "\n");
  const std::vector<Symbol> symbols = estimate::unset_symbols(estimate);
  for (const auto& kind : {std::pair{report::Decider::Data, "sizes that the data decide"},
                           {report::Decider::Arithmetic, "sizes that float arithmetic decides"},
                           {report::Decider::Loop, "trips of loops"}}) {
    const report::Decider decider = kind.first;
    std::vector<Symbol> of_kind = symbols;
    std::erase_if(of_kind, [&](const Symbol& symbol) { return report::decider_of(symbol, estimate) != decider; });
    if (of_kind.empty()) continue;
    text += cat(kind.second, ", taken as 1 unless set with --assume: ",
                listed(of_kind,
                       [&](const Symbol& symbol) {
                         // Only --symbolic shows long formulas and names.
                         const std::string upper = symbol.upper ? symbol.upper->to_string() : "";
                         const bool is_short = !upper.empty() && upper.size() <= kShort;
                         const std::string_view name = decider == report::Decider::Loop ? symbol.node : symbol.name;
                         return cat(base::elide(base::printable(name), kShort),
                                    is_short ? cat(" (at most ", upper, ")") : "");
                       }),
                "; --symbolic says what each is\n");
  }
  return text;
}

}  // namespace pagoda::present
