// Columns of text tables, and rows of CSV from any cells: texts, which may come from models, numbers, unknown numbers,
// and lists of these.
#pragma once

#include <initializer_list>
#include <ranges>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "pagoda/base/csv_line.h"
#include "pagoda/base/text.h"

namespace pagoda::lab::results {

template <typename Cell>
void add_cell(base::CsvLine& line, const Cell& cell) {
  if constexpr (std::is_convertible_v<const Cell&, std::string_view>)
    line.name(cell);
  else if constexpr (std::ranges::range<Cell>)
    for (const auto& each : cell) add_cell(line, each);
  else
    line.add(cell);
}

template <typename... Cells>
std::string csv_row(const Cells&... cells) {
  base::CsvLine line;
  (add_cell(line, cells), ...);
  return std::move(line).end();
}

// "12.3 %" of 0.123.
inline std::string percent(double part) { return base::rounded(100 * part) + " %"; }

// Columns of a text table by their headers; ">" before a header: numbers.
inline std::vector<base::Column> columns_of(std::initializer_list<std::string_view> headers) {
  std::vector<base::Column> columns;
  for (const std::string_view header : headers) {
    const bool is_number = header.starts_with('>');
    columns.push_back({std::string(header.substr(is_number ? 1 : 0)), is_number});
  }
  return columns;
}

}  // namespace pagoda::lab::results
