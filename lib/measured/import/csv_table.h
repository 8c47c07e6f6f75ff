// The CSV tables of profilers: lines of other programs above the header, and columns by name.
#pragma once

#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pagoda/base/csv_reader.h"

namespace pagoda::measured::import {

class CsvTable {
 public:
  using Row = std::vector<std::string>;
  using Column = std::optional<std::size_t>;  // empty: the table has none

  // Skips rows until `is_header`. Throws Error if there is none, with `without`.
  template <typename IsHeader>
  CsvTable(std::string_view text, std::string_view subject, const IsHeader& is_header, std::string_view without)
      : reader_(text, subject), subject_(subject) {
    do {
      if (!reader_.next(names)) fail(without);
    } while (!is_header(names));
  }

  // Reads the next row that is not skipped; false at the end. Throws Error for a row that is shorter than the header.
  bool next(const std::function<bool(const Row&)>& is_skipped = {});

  Column find(std::initializer_list<std::string_view> spellings) const;  // the first of these that is there
  const std::string& cell(Column column) const;                          // "" without a column
  double number(Column column) const;                                    // Error unless it is 0 or more
  std::string place() const { return reader_.place(); }                  // "FILE, line 12"
  [[noreturn]] void fail(std::string_view what) const;                   // Error about the whole file

  Row names, row;

 private:
  base::CsvReader reader_;
  std::string_view subject_;
};

}  // namespace pagoda::measured::import
