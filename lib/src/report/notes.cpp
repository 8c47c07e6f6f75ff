// What goes beside a report: diagnostics, sizes taken for granted, and the operators that have rules.
#include <algorithm>

#include "ops/op_rule.h"
#include "report/rows.h"

namespace pagoda {

std::string list_operators(std::size_t width) {
  report::Grid grid{.columns = {{.header = "domain"}, {.header = "operator"}, {.header = "work", .shortest_width = 20}},
                    .rows = {}};
  for (const ops::Family& family : ops::families())
    for (const OpRule& rule : family.rules)
      grid.rows.push_back(
          {report::domain_name(std::string(family.domain)), std::string(rule.name), std::string(rule.work)});
  std::sort(grid.rows.begin(), grid.rows.end());
  return report::aligned(grid, width);
}

std::string diagnostics_report(const Analysis& analysis, Severity least, std::size_t limit) {
  std::string text;
  std::size_t shown = 0, hidden = 0;
  for (const Diagnostic& diagnostic : analysis.diagnostics) {
    if (diagnostic.severity < least) continue;
    if (shown == limit) {
      ++hidden;
      continue;
    }
    ++shown;
    text += std::string(to_string(diagnostic.severity)) + ": ";
    if (!diagnostic.node.empty()) text += printable(diagnostic.node) + ": ";
    text += printable(diagnostic.message) + "\n";
  }
  if (hidden > 0) text += "and " + std::to_string(hidden) + " more; --format json lists all\n";
  return text;
}

std::string free_dims_report(const Analysis& analysis) {
  constexpr std::size_t kListed = 8;
  std::string text;
  if (const auto& dims = analysis.free_dims; !dims.empty()) {
    std::string names, remedy;
    for (std::size_t i = 0; i < std::min(dims.size(), kListed); ++i) {
      names += (i == 0 ? "" : ", ") + dims[i];
      remedy += " --dim " + dims[i] + "=V";
    }
    if (dims.size() > kListed) names += " and " + std::to_string(dims.size() - kListed) + " more";
    text += "free dims taken as 1: " + names + "; set them with" + remedy + ", or see formulas with --symbolic\n";
  }
  if (const auto& symbols = analysis.symbols; !symbols.empty()) {
    text += "sizes that the data decide, taken as 1 unless set with --dim: ";
    for (std::size_t i = 0; i < std::min(symbols.size(), kListed); ++i) text += (i == 0 ? "" : ", ") + symbols[i].name;
    if (symbols.size() > kListed) text += " and " + std::to_string(symbols.size() - kListed) + " more";
    text += "; --symbolic tells what each is\n";
  }
  return text;
}

}  // namespace pagoda
