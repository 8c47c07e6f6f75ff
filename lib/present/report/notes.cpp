// Additions to a report: diagnostics, budgets, and assumed sizes.
#include <algorithm>

#include "pagoda/estimate/make_estimate.h"
#include "pagoda/present/spell.h"
#include "report/rows.h"

namespace pagoda::present {
namespace report {
namespace {

std::string found_text(const documents::EstimateBudget& budget) {
  if (!budget.value) return "?";
  if (budget.budget == BudgetKind::Seconds) return base::si_seconds(*budget.value);
  const bool is_bytes = budget.budget == BudgetKind::Bytes || budget.budget == BudgetKind::Memory;
  return base::si(static_cast<Int>(*budget.value), is_bytes ? "B" : "");
}

std::string causes_text(const documents::EstimateBudget& budget) {
  return base::joined(budget.causes, "; ", base::printable);
}

}  // namespace

base::Grid budgets_grid(const std::vector<documents::EstimateBudget>& budgets) {
  base::Grid grid{.columns = {{.header = "budget"},
                              {.header = "verdict"},
                              {.header = "limit", .is_number = true},
                              {.header = "found", .is_number = true},
                              {.header = "why"}},
                  .rows = {}};
  for (const documents::EstimateBudget& budget : budgets)
    grid.rows.push_back({std::string(to_string(budget.budget)), std::string(to_string(budget.verdict)),
                         base::printable(budget.limit), found_text(budget), causes_text(budget)});
  return grid;
}

}  // namespace report

std::string budgets_report(const std::vector<documents::EstimateBudget>& budgets) {
  std::string text;
  for (const documents::EstimateBudget& budget : budgets) {
    const std::string causes = report::causes_text(budget);
    text += std::string(to_string(budget.budget)) + ": " + std::string(to_string(budget.verdict)) + " " + budget.limit +
            ", found " + report::found_text(budget) + (causes.empty() ? "" : "; " + causes) + "\n";
  }
  return text;
}

std::optional<Format> format(std::string_view name) {
  constexpr std::pair<Format, std::string_view> kFormats[] = {
      {Format::Table, "table"}, {Format::Json, "json"}, {Format::Csv, "csv"}, {Format::Markdown, "markdown"}};
  for (const auto& [value, text] : kFormats)
    if (text == name) return value;
  return std::nullopt;
}

std::string diagnostics_report(const std::vector<Diagnostic>& diagnostics, Severity least, std::size_t limit) {
  std::string text;
  std::size_t shown = 0, hidden = 0, following = 0;
  for (const Diagnostic& diagnostic : diagnostics) {
    if (diagnostic.severity < least) continue;
    if (shown > 0 && diagnostic.cause == Cause::UnknownInput) {
      ++following;
      continue;
    }
    if (shown == limit) {
      ++hidden;
      continue;
    }
    ++shown;
    text += std::string(to_string(diagnostic.severity)) + ": ";
    if (!diagnostic.node.empty()) text += base::printable(diagnostic.node) + ": ";
    text += base::printable(diagnostic.message) + "\n";
  }
  if (following > 0)
    text += "and " + std::to_string(following) + (following == 1 ? " node" : " nodes") +
            " behind them: an input's rank is not known\n";
  if (hidden > 0) text += "and " + std::to_string(hidden) + " more; --format json lists all\n";
  return text;
}

std::string free_dims_report(const documents::EstimateDocument& estimate) {
  constexpr std::size_t kListed = 8, kShort = 40;
  std::string text;
  if (const std::vector<std::string> dims = estimate::free_dims(estimate); !dims.empty()) {
    std::string names, remedy;
    for (std::size_t i = 0; i < std::min(dims.size(), kListed); ++i) {
      names += (i == 0 ? "" : ", ") + dims[i];
      remedy += " --dim " + dims[i] + "=V";
    }
    if (dims.size() > kListed) names += " and " + std::to_string(dims.size() - kListed) + " more";
    text += "free dims taken as 1: " + names + "; set them with" + remedy + ", or see formulas with --symbolic\n";
  }
  if (const std::string problem = estimate::impossible_size(estimate); !problem.empty())
    text += "warning: " + command_line(problem) + "\n";
  if (const std::vector<Symbol> symbols = estimate::unset_symbols(estimate); !symbols.empty()) {
    text += "sizes that the data decide, taken as 1 unless set with --assume: ";
    for (std::size_t i = 0; i < std::min(symbols.size(), kListed); ++i) {
      text += (i == 0 ? "" : ", ") + symbols[i].name;
      // Only --symbolic shows long formulas.
      const std::string upper = symbols[i].upper ? symbols[i].upper->to_string() : "";
      if (!upper.empty() && upper.size() <= kShort) text += " (at most " + upper + ")";
    }
    if (symbols.size() > kListed) text += " and " + std::to_string(symbols.size() - kListed) + " more";
    text += "; --symbolic says what each is\n";
  }
  return text;
}

}  // namespace pagoda::present
