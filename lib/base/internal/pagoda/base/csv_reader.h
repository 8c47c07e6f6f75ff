// Rows of a CSV text (RFC 4180: quotes, doubled quotes, line ends within them), with their line numbers. Lines may end
// in LF, CR LF or CR.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#pragma GCC visibility push(default)
namespace pagoda::base {

class CsvReader {
 public:
  // Errors name `subject`. A byte order mark of UTF-8 is skipped.
  CsvReader(std::string_view text, std::string_view subject, char separator = ',');

  // Reads the next non-empty row into `cells`; false at the end. Throws Error for an unclosed quote.
  bool next(std::vector<std::string>& cells);
  std::size_t line() const { return row_line_; }  // of the last row read, from 1
  std::string place() const;                      // "FILE, line 12"
  // Whether the cell of the last row was in quotes.
  bool was_quoted(std::size_t column) const { return quoted_[column]; }
  char separator() const { return separator_; }

 private:
  void end_line();

  std::string_view text_, subject_;
  char separator_;
  std::size_t position_ = 0, line_ = 1, row_line_ = 1;
  std::vector<bool> quoted_;  // by column of the last row
};

}  // namespace pagoda::base
#pragma GCC visibility pop
