// Rows of a CSV text (RFC 4180: quotes, doubled quotes, line ends within them), with their line numbers.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#pragma GCC visibility push(default)
namespace pagoda::base {

class CsvReader {
 public:
  // Errors name `subject`. A byte order mark of UTF-8 is skipped.
  CsvReader(std::string_view text, std::string_view subject);

  // Reads the next non-empty row into `cells`; false at the end. Throws Error for an unclosed quote.
  bool next(std::vector<std::string>& cells);
  std::size_t line() const { return row_line_; }  // of the last row read, from 1
  std::string place() const;                      // "FILE, line 12"

 private:
  std::string_view text_, subject_;
  std::size_t position_ = 0, line_ = 1, row_line_ = 1;
};

// "1,234.5", "7 (0: 7)", " 3e9 "; empty for anything that is not a number, including "n/a" and "nan".
std::optional<double> printed_number(std::string_view text);

}  // namespace pagoda::base
#pragma GCC visibility pop
