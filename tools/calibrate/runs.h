// Tables of measured runs.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "pagoda/base/csv_table.h"

namespace pagoda::tools {

// The rows of a CSV file with a header. Lines that start with # are skipped.
class RunTable {
 public:
  // Throws Error if the header lacks one of these columns.
  RunTable(const std::string& path, std::initializer_list<const char*> needed);

  bool next();  // false at the end
  bool has(std::string_view column) const { return table_.find({column}).has_value(); }
  const std::string& operator[](std::string_view column) const { return table_.cell(table_.find({column})); }
  // The field as a number above 0; empty for other text.
  template <typename Number>
  std::optional<Number> positive(std::string_view column) const {
    const auto found = table_.number_or_none(table_.find({column}));
    const auto number = static_cast<Number>(found.value_or(0));
    return number > 0 && static_cast<double>(number) == *found ? std::optional(number) : std::nullopt;
  }
  std::string place() const { return table_.place(); }  // "FILE, line 12"

 private:
  std::string text_;
  base::CsvTable table_;
};

}  // namespace pagoda::tools
