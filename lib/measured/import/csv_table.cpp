#include "import/csv_table.h"

#include <algorithm>

#include "pagoda/base/cat.h"

namespace pagoda::measured::import {

bool CsvTable::next(const std::function<bool(const Row&)>& is_skipped) {
  do {
    if (!reader_.next(row)) return false;
  } while (is_skipped && is_skipped(row));
  if (row.size() < names.size())
    base::fail(place(), cat("has ", row.size(), " cells, expected ", names.size(), "; the file may have been cut off"));
  return true;
}

CsvTable::Column CsvTable::find(std::initializer_list<std::string_view> spellings) const {
  for (const std::string_view name : spellings)
    if (const auto at = std::ranges::find(names, name); at != names.end())
      return static_cast<std::size_t>(at - names.begin());
  return std::nullopt;
}

const std::string& CsvTable::cell(Column column) const {
  static const std::string kNone;
  return column ? row[*column] : kNone;
}

double CsvTable::number(Column column) const {
  const std::optional<double> found = base::printed_number(cell(column));
  if (!found || !(*found >= 0) || *found > 1e30)
    base::fail(place(), cat("\"", cell(column), "\" is not a number that is 0 or more"));
  return *found;
}

void CsvTable::fail(std::string_view what) const { base::fail(subject_, std::string(what)); }

}  // namespace pagoda::measured::import
