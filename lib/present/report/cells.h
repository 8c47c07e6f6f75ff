// Cells of the column table as text, for each kind of output.
#pragma once

#include <string>
#include <vector>

#include "pagoda/base/csv_line.h"
#include "pagoda/base/json_writer.h"
#include "pagoda/base/text.h"
#include "pagoda/documents/columns.h"

namespace pagoda::present {

using documents::Cell;
using documents::Row;
using Columns = std::vector<const documents::ResultColumn*>;

// Names and values of members, in turn.
template <typename T, typename... Rest>
base::JsonWriter& members(base::JsonWriter& json, std::string_view name, const T& value, const Rest&... rest) {
  json.member(name, value);
  if constexpr (sizeof...(rest) > 0) members(json, rest...);
  return json;
}

// A count or a number that may be unknown.
template <typename Maybe>
Cell cell_of(const Maybe& value) {
  return value ? Cell(*value) : Cell();
}

inline Cell cell_of(const documents::Count& value) { return documents::to_cell(value); }

// Exact, for machines. Empty: not known.
std::string exact_text(const Cell& cell);
// Rounded, with a unit, printable. Empty: not known.
std::string shown_text(const Cell& cell, documents::CellKind kind);
// The same; "?" if not known.
std::string known_text(const Cell& cell, documents::CellKind kind);
// A number as a member; null if not known.
void write_cell(base::JsonWriter& json, std::string_view name, const Cell& cell);

// Lists are joined by ';'. A cell stays empty where the column does not apply to the row's kind.
void add_cells(base::CsvLine& line, const Columns& columns, const Row& row);

// The rows of one kind as printable cells: all of the estimate, or some of them.
base::Grid rows_grid(documents::RowKind kind, const documents::EstimateDocument& estimate,
                     const std::vector<Row>& rows);
base::Grid rows_grid(documents::RowKind kind, const documents::EstimateDocument& estimate);

}  // namespace pagoda::present
