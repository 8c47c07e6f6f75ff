// One line of RFC 4180 at a time.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "pagoda/base/integer.h"

#pragma GCC visibility push(default)
namespace pagoda::base {

class CsvLine {
 public:
  CsvLine& add(std::string_view text);
  // A text from the file. One that a spreadsheet would run as a formula gets a quote before it.
  CsvLine& name(const std::string& text);
  CsvLine& add(const std::optional<Int>& number) { return add(number ? to_string(*number) : std::string()); }
  CsvLine& add(const std::optional<double>& value);
  CsvLine& add(double value) { return add(std::optional(value)); }
  // Other types write themselves: write_csv(CsvLine&, const T&), found beside the type.
  template <typename T>
  requires requires(CsvLine& line, const T& content) { write_csv(line, content); }
  CsvLine& add(const T& content) {
    write_csv(*this, content);
    return *this;
  }
  std::string end() && { return std::move(line_) + "\r\n"; }

 private:
  std::string line_;
  bool has_any_ = false;
};

}  // namespace pagoda::base
#pragma GCC visibility pop
