#include "report/cells.h"

#include <algorithm>
#include <cmath>

#include "report/rows.h"

namespace pagoda::present {
namespace {

using documents::CellKind;

template <typename... Cases>
struct Visitor : Cases... {
  using Cases::operator()...;
};
template <typename... Cases>
Visitor(Cases...) -> Visitor<Cases...>;

// A percentage with one decimal: "12.3".
std::string percent_text(double percent) {
  if (percent > 0 && percent < 0.05) return "<0.1";
  const Int tenths = std::llround(percent * 10);
  return to_string(tenths / 10) + "." + to_string(tenths % 10);
}

std::string number_text(double value, CellKind kind) {
  static constexpr std::pair<CellKind, std::string (*)(double)> kTexts[] = {
      {CellKind::Seconds, base::si_seconds},
      {CellKind::Intensity, report::intensity_text},
      {CellKind::Factor, [](double factor) { return base::rounded(factor) + "×"; }},
      {CellKind::Share, report::share_cell},
      {CellKind::Percent, percent_text},
      {CellKind::Portion, [](double portion) { return base::rounded(100 * portion) + " %"; }},
      {CellKind::Joules, [](double joules) { return base::si_text(joules, "J", {.trims = false}); }},
      {CellKind::Rate, [](double rate) { return base::si_rate(rate, ""); }}};
  for (const auto& [of, text] : kTexts)
    if (of == kind) return text(value);
  return base::rounded(value);
}

void replace(std::string& text, std::string_view part, const std::string& by) {
  if (const std::size_t at = text.find(part); at != std::string::npos) text.replace(at, part.size(), by);
}

std::string header_text(const char* header, const documents::EstimateDocument& estimate) {
  std::string text = header;
  replace(text, "FLOP", report::operation(estimate.count));
  if (estimate.phase) {
    replace(text, "an item", "a token");
    replace(text, "items", "tokens");
  }
  for (const documents::EstimateVariant& variant : estimate.variants) {
    if (variant.predicted) replace(text, "{engine}", base::printable(variant.predicted->engine));
    if (variant.prompt) replace(text, "{prompt}", "prompt of " + base::grouped(variant.prompt->tokens));
  }
  return text;
}

std::string grid_text(const documents::ResultColumn& column, const Row& row) {
  const bool is_idle = row.bound != nullptr && row.bound->bound == Bound::None;
  if (is_idle && column.is_timed()) return {};
  if (row.variant != nullptr && !row.variant->refused.empty() && !column.is_choice) return {};
  const Cell cell = column.cell(row);
  if (std::holds_alternative<std::monostate>(cell)) return column.terminal.unknown;
  if (column.terminal.hides_zero && documents::number(cell) == 0) return {};
  return shown_text(cell, column.kind);
}

}  // namespace

std::string exact_text(const Cell& cell) {
  return std::visit(
      Visitor{[](std::monostate) { return std::string(); }, [](const Int& value) { return to_string(value); },
              [](const documents::AtLeast& bound) { return to_string(bound.value); },
              [](double value) { return base::shortest(value); },
              [](bool value) { return std::string(value ? "true" : "false"); },
              [](std::string_view value) { return std::string(value); },
              [](const std::vector<std::string>& values) { return base::joined(values, ";"); },
              [](const std::vector<Int>& values) {
                return base::joined(values, ";", [](const Int& value) { return to_string(value); });
              }},
      cell);
}

std::string shown_text(const Cell& cell, CellKind kind) {
  if (const auto* const bound = std::get_if<documents::AtLeast>(&cell)) return "≥ " + shown_text(bound->value, kind);
  if (const Int* const value = std::get_if<Int>(&cell)) {
    if (kind == CellKind::Number) return to_string(*value);
    if (kind == CellKind::Size) return base::grouped(*value);
    return base::si(*value, kind == CellKind::Bytes ? "B" : "");
  }
  if (const double* const value = std::get_if<double>(&cell)) return number_text(*value, kind);
  return base::printable(exact_text(cell));
}

std::string known_text(const Cell& cell, CellKind kind) {
  return std::holds_alternative<std::monostate>(cell) ? "?" : shown_text(cell, kind);
}

void write_cell(base::JsonWriter& json, std::string_view name, const Cell& cell) {
  const Int* const count = documents::whole(cell);
  count != nullptr ? json.member(name, *count) : json.member(name, documents::number(cell));
}

void add_cells(base::CsvLine& line, const Columns& columns, const Row& row) {
  for (const documents::ResultColumn* column : columns) {
    const Cell cell = column->is_in(documents::View::Csv, row.kind) ? column->cell(row) : Cell();
    if (const double* const value = std::get_if<double>(&cell))
      line.add(*value);
    else if (const Int* const count = documents::whole(cell))
      line.add(*count);
    else
      line.name(exact_text(cell));
  }
}

base::Grid rows_grid(documents::RowKind kind, const documents::EstimateDocument& estimate) {
  return rows_grid(kind, estimate, documents::rows_of(estimate, kind));
}

base::Grid rows_grid(documents::RowKind kind, const documents::EstimateDocument& estimate,
                     const std::vector<Row>& rows) {
  Columns columns = documents::columns_of(kind, documents::View::Terminal, estimate);
  std::erase_if(columns, [&](const documents::ResultColumn* column) {
    const auto is_known = [&](const Row& row) { return !std::holds_alternative<std::monostate>(column->cell(row)); };
    return column->terminal.is_sparse && std::ranges::none_of(rows, is_known);
  });
  base::Grid grid;
  for (const documents::ResultColumn* column : columns) {
    const bool is_text = column->kind == CellKind::Text || column->kind == CellKind::Texts;
    grid.columns.push_back({.header = header_text(column->terminal.header, estimate),
                            .is_number = !is_text,
                            .drop_order = column->terminal.drop_order,
                            .shortest_width = column->terminal.shortest_width});
  }
  grid.rows.reserve(rows.size());
  for (const Row& row : rows) {
    std::vector<std::string>& cells = grid.rows.emplace_back();
    cells.reserve(columns.size());
    for (const documents::ResultColumn* column : columns) cells.push_back(grid_text(*column, row));
  }
  return grid;
}

}  // namespace pagoda::present
