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
  // The field as a number above 0; empty for other text, and for a fraction where a whole number is expected.
  template <typename Number>
  std::optional<Number> positive(std::string_view column) const {
    constexpr double kMost = 1e15;  // more is no batch and no time, and would not fit a Number
    const auto found = table_.number_or_none(table_.find({column}));
    if (!found || !(*found > 0 && *found < kMost)) return std::nullopt;
    const auto number = static_cast<Number>(*found);
    return static_cast<double>(number) == *found ? std::optional(number) : std::nullopt;
  }
  std::string place() const { return table_.place(); }  // "FILE, line 12"

 private:
  std::string text_;
  base::CsvTable table_;
};

}  // namespace pagoda::tools
