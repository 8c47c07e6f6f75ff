// Writes CSV (RFC 4180) one line at a time.
#pragma once

#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "pagoda/base/integer.h"
#include "pagoda/base/name.h"

#pragma GCC visibility push(default)
namespace pagoda::base {

class CsvLine {
 public:
  CsvLine() { line_.reserve(kUsual); }
  CsvLine& add(std::string_view text);
  // Text from the model file. A quote is prepended if a spreadsheet would run it as a formula.
  CsvLine& name(std::string_view text);
  template <std::convertible_to<std::string_view> Text>
  CsvLine& add(const Text& text) {
    return add(std::string_view(text));
  }
  CsvLine& add(Int number) { return add(to_string(number)); }
  CsvLine& add(double value);
  template <std::integral Integer>
  CsvLine& add(Integer number) {
    return add(static_cast<Int>(number));
  }
  template <typename T>
  CsvLine& add(const std::optional<T>& maybe) {
    return maybe ? add(*maybe) : add("");
  }
  // Other types write themselves: write_csv(CsvLine&, const T&), found by argument-dependent lookup.
  template <typename T>
  requires requires(CsvLine& line, const T& content) { write_csv(line, content); }
  CsvLine& add(const T& content) {
    write_csv(*this, content);
    return *this;
  }
  std::string end() && { return std::move(line_) + "\r\n"; }

 private:
  static constexpr std::size_t kUsual = 256;  // characters

  std::string line_;
  bool has_any_ = false;
};

// A line of texts, such as a header.
template <typename Texts = std::initializer_list<std::string_view>>
std::string csv_line(const Texts& texts) {
  CsvLine line;
  for (const auto& text : texts) line.add(text);
  return std::move(line).end();
}

}  // namespace pagoda::base
#pragma GCC visibility pop
