// The report of an estimate as a table, and the same as GitHub-flavoured Markdown: rows, totals, and formulas if dims
// are free.
#include <algorithm>
#include <utility>

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

// Formulas of the totals: name and formula.
std::vector<std::pair<std::string, std::string>> total_formulas(const documents::EstimateDocument& estimate) {
  const documents::EstimateSymbolic& symbolic = *estimate.symbolic;
  std::vector<std::pair<std::string, std::string>> lines = {{"MACs", symbolic.totals.macs}};
  if (!symbolic.totals.flops.empty() && estimate.count != Convention::Macs)
    lines.emplace_back("FLOPs", symbolic.totals.flops);
  lines.emplace_back("bytes", symbolic.totals.bytes);
  if (!symbolic.activation_peak_bytes.empty())
    lines.emplace_back("activation peak bytes", symbolic.activation_peak_bytes);
  return lines;
}

// Formulas of each row that has work.
struct RowFormulas {
  std::string row;
  EstimateFormulas formulas;
};
std::vector<RowFormulas> row_formulas(const Data& data) {
  std::vector<RowFormulas> rows;
  const auto add = [&](std::string name, const EstimateFormulas* formulas) {
    if (formulas != nullptr && (formulas->bytes != "0" || formulas->macs != "0" || formulas->flops != "0"))
      rows.push_back({std::move(name), *formulas});
    if (data.counts_macs() && !rows.empty()) rows.back().formulas.flops = {};
  };
  for (const Row& row : data.rows)
    add((row.type == nullptr ? "#" + std::to_string(row.index) + " " : "") + base::printable(row.shown_name()),
        row.symbolic);
  return rows;
}

// "boxes: number of selected boxes, decided by the data at nms, at most 1000", printable.
std::string symbol_text(const Symbol& symbol) {
  std::string text = symbol.name + ": " + base::printable(symbol.cause);
  text += ", decided by the data";
  if (!symbol.node.empty()) text += " at " + base::printable(symbol.node);
  if (symbol.upper) text += ", at most " + symbol.upper->to_string();
  return text;
}

}  // namespace

std::string markdown_table(const base::Grid& grid) {
  static constexpr std::string_view kNames[] = {"node", "op", "output", "kernel", "ops", "before"};  // texts from files
  const auto cell = [&](const std::string& text, const base::Column& column) {
    const bool is_name = !column.is_number && std::ranges::find(kNames, column.header) != std::end(kNames);
    return is_name ? code(text) : text;
  };
  std::string text = "|";
  for (const base::Column& column : grid.columns) text += " " + column.header + " |";
  text += "\n|";
  for (const base::Column& column : grid.columns) text += column.is_number ? " ---: |" : " --- |";
  text += "\n";
  for (const auto& row : grid.rows) {
    text += "|";
    for (std::size_t c = 0; c < row.size(); ++c) text += " " + cell(row[c], grid.columns[c]) + " |";
    text += "\n";
  }
  return text;
}

}  // namespace report

using report::code;
using report::markdown_table;

namespace {

std::string formula_block(const report::Data& data) {
  std::string text = "\nformulas (floor_div(a, b) is a // b)\n";
  base::Grid grid{.columns = {{.header = "  total"}, {.header = "formula"}}, .rows = {}};
  for (const auto& [what, formula] : report::total_formulas(data.estimate)) grid.rows.push_back({"  " + what, formula});
  text += base::aligned(grid, 0);
  for (const Symbol& symbol : estimate::unset_symbols(data.estimate))
    text += "  where " + report::symbol_text(symbol) + "\n";
  for (const report::RowFormulas& row : report::row_formulas(data)) {
    text += "\n" + row.row + "\n  MACs   " + row.formulas.macs + "\n";
    if (!row.formulas.flops.empty()) text += "  FLOPs  " + row.formulas.flops + "\n";
    text += "  bytes  " + row.formulas.bytes + "\n";
  }
  return text;
}

}  // namespace

std::string table_report(const documents::EstimateDocument& estimate, const ReportOptions& options) {
  const report::Data data = report::collect_folded(estimate, options);
  std::string text = report::title(estimate) + "\n" + report::subtitle(estimate) + "\n\n";
  text += report::headline_text(estimate, options.width);
  if (!estimate.variants.empty()) {
    text += report::above_variants(estimate) +
            base::aligned(rows_grid(documents::RowKind::Variant, estimate), options.width) + "\n" +
            report::decisive(estimate);
  } else if (options.rows == Rows::None) {
    text += report::answer(data);
    if (estimate.memory) text += "\n" + base::aligned(report::memory_grid(*estimate.memory), 0);
  } else {
    text += base::aligned(report::shown_grid(data), options.width) + "\n";
    text += base::aligned(report::totals_grid(data), options.width);
  }
  if (estimate.training)
    text += "\n" + base::aligned(rows_grid(documents::RowKind::Part, estimate), 0) + "\n" +
            base::aligned(report::training_memory_grid(*estimate.training), 0);
  if (estimate.placement.size() == 1) {
    std::string begin = "\nplacement  ";
    for (const std::string& line : report::placement_lines(estimate, estimate.placement.front()))
      text += std::exchange(begin, "           ") + line + "\n";
  } else if (!estimate.placement.empty()) {
    text += "\n" + base::aligned(report::placements_grid(estimate), options.width);
    for (const std::string& line : report::refused_lines(estimate)) text += line + "\n";
  }
  if (report::has_reasons(estimate)) text += "\n" + base::aligned(report::reasons_grid(estimate), options.width);
  std::string begin = "\nfusion     ";
  for (const std::string& line : report::fused_lines(estimate))
    if (!line.empty()) text += std::exchange(begin, "           ") + line + "\n";
  if (!estimate.unfused.empty()) text += "\n" + base::aligned(report::unfused_grid(estimate), options.width);
  text += report::kSiUnits;
  if (options.formulas) text += formula_block(data);
  return text;
}

std::string markdown_report(const documents::EstimateDocument& estimate, const ReportOptions& options) {
  const report::Data data = report::collect_folded(estimate, options);
  std::string text = "# " + code(report::title(estimate)) + "\n\n" + code(report::subtitle(estimate)) + "\n\n";
  if (const std::string verdict = headline(estimate); !verdict.empty()) text += code(verdict) + "\n\n";
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
    text += markdown_table(totals) + "\n" + markdown_table(report::shown_grid(data));
  }
  if (estimate.training)
    text += "\n" + markdown_table(rows_grid(documents::RowKind::Part, estimate)) + "\n" +
            markdown_table(report::training_memory_grid(*estimate.training));
  if (estimate.placement.size() == 1) {
    text += "\n";
    for (const std::string& line : report::placement_lines(estimate, estimate.placement.front()))
      text += "* " + code(line) + "\n";
  } else if (!estimate.placement.empty()) {
    text += "\n" + markdown_table(report::placements_grid(estimate));
    for (const std::string& line : report::refused_lines(estimate)) text += "\n* " + code(line) + "\n";
  }
  if (report::has_reasons(estimate)) text += "\n" + markdown_table(report::reasons_grid(estimate));
  for (const std::string& line : report::fused_lines(estimate))
    if (!line.empty()) text += "\n* " + code(line) + "\n";
  if (!estimate.unfused.empty()) text += "\n" + markdown_table(report::unfused_grid(estimate));
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
