// The table report as GitHub-flavoured Markdown.
#include <algorithm>
#include <array>

#include "pagoda/estimate/make_estimate.h"
#include "report/rows.h"

namespace pagoda::present {
namespace report {

// Text from a file as a code span, in which Markdown, HTML, links and mentions have no effect: delimited by more
// backticks than it contains in a row (GFM §6.3), with `|` escaped as tables require (GFM §4.10).
std::string code(std::string_view text) {
  if (text.empty()) return "";
  std::size_t longest = 0, run = 0;
  std::string inside;
  for (const char c : text) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
    inside += c == '|' ? "\\|" : std::string(1, c);
  }
  const std::string fence(longest + 1, '`');
  const bool padded = text.front() == '`' || text.back() == '`';
  return fence + (padded ? " " : "") + inside + (padded ? " " : "") + fence;
}

namespace {

// True if a column contains text from files.
bool is_name(std::string_view header) {
  static constexpr std::array<std::string_view, 6> kNames = {"node", "op", "output", "kernel", "ops", "before"};
  return std::ranges::find(kNames, header) != kNames.end();
}

}  // namespace

std::string markdown_table(const base::Grid& grid) {
  std::string text = "|";
  for (const base::Column& column : grid.columns) text += " " + column.header + " |";
  text += "\n|";
  for (const base::Column& column : grid.columns) text += column.is_number ? " ---: |" : " --- |";
  text += "\n";
  for (const auto& row : grid.rows) {
    text += "|";
    for (std::size_t c = 0; c < row.size(); ++c)
      text += " " + (!grid.columns[c].is_number && is_name(grid.columns[c].header) ? code(row[c]) : row[c]) + " |";
    text += "\n";
  }
  return text;
}

}  // namespace report

using report::code;
using report::markdown_table;

std::string markdown_report(const documents::EstimateDocument& estimate, const ReportOptions& options) {
  const report::Data data = report::collect(estimate, options);
  std::string text = "# " + code(report::title(estimate)) + "\n\n" + code(report::subtitle(estimate)) + "\n\n";
  if (!estimate.variants.empty()) {
    text += report::above_variants(estimate) + markdown_table(rows_grid(documents::RowKind::Variant, estimate)) + "\n" +
            report::decisive(estimate);
  } else if (options.rows == Rows::None) {
    base::Grid answer = report::answer_grid(data);
    for (auto& row : answer.rows) row[2] = code(row[2]);
    text += markdown_table(answer);
    if (estimate.memory) text += "\n" + markdown_table(report::memory_grid(*estimate.memory));
  } else {
    base::Grid totals = report::totals_grid(data);
    for (auto& row : totals.rows)
      if (row[0] == "nodes" && estimate.totals.unmodelled_nodes > 0) row[3] = code(row[3]);
    text += markdown_table(totals) + "\n" + markdown_table(rows_grid(data.kind, estimate, data.rows));
  }
  if (estimate.training)
    text += "\n" + markdown_table(rows_grid(documents::RowKind::Part, estimate)) + "\n" +
            markdown_table(report::training_memory_grid(*estimate.training));
  text += "\nSI units: 1 kB is 1000 B, 1 M is 10^6.\n";
  if (!options.formulas) return text;
  text += "\n| total | formula |\n| --- | --- |\n";
  for (const auto& [what, formula] : report::total_formulas(estimate))
    text += "| " + what + " | " + code(formula) + " |\n";
  const std::vector<Symbol> symbols = estimate::unset_symbols(estimate);
  if (!symbols.empty()) text += "\n";
  for (const Symbol& symbol : symbols) text += "* " + code(report::symbol_text(symbol)) + "\n";
  const std::vector<report::RowFormulas> rows = report::row_formulas(data);
  if (rows.empty()) return text;
  const auto flops = [&](const std::string& cell) { return data.counts_macs() ? "" : " | " + cell; };
  text += "\n| row | MACs" + flops("FLOPs") + " | bytes |\n| --- | ---" + flops("---") + " | --- |\n";
  for (const report::RowFormulas& row : rows)
    text += "| " + code(row.row) + " | " + code(row.formulas.macs) + flops(code(row.formulas.flops)) + " | " +
            code(row.formulas.bytes) + " |\n";
  return text;
}

}  // namespace pagoda::present
