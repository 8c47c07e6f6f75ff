// Tables of measured runs.
#pragma once

#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pagoda/base/csv_reader.h"
#include "pagoda/base/number.h"

namespace pagoda::tools {

// The rows of a CSV file with a header. Lines that start with # are skipped.
class RunTable {
 public:
  // Throws Error if the header lacks one of these columns.
  RunTable(const std::string& path, std::initializer_list<const char*> needed);

  bool next();  // false at the end
  bool has(const std::string& column) const { return columns_.contains(column); }
  // A field of the row. Throws Error if the row ends before it.
  const std::string& operator[](const std::string& column) const;
  // The field as a number above 0; empty for other text.
  template <typename Number>
  std::optional<Number> positive(const std::string& column) const {
    const auto number = base::parse_number<Number>((*this)[column]);
    return number && *number > 0 ? number : std::nullopt;
  }
  std::string place() const { return file_.place(); }  // "FILE, line 12"

 private:
  std::string text_;
  base::CsvReader file_;
  std::map<std::string, std::size_t> columns_;
  std::vector<std::string> fields_;
};

}  // namespace pagoda::tools
