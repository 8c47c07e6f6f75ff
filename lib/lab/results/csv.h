// Rows of CSV from any cells: texts, which may come from models, numbers, unknown numbers, and lists of these.
#pragma once

#include <ranges>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "pagoda/base/csv_line.h"

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

}  // namespace pagoda::lab::results
