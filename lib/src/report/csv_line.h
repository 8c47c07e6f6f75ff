// One line of RFC 4180 at a time.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "report/rows.h"

namespace pagoda::report {

class CsvLine {
 public:
  CsvLine& add(std::string_view text);
  // A text from the file. One that a spreadsheet would run as a formula gets a quote before it.
  CsvLine& name(const std::string& text);
  CsvLine& add(const Number& number) { return add(number ? to_string(*number) : std::string()); }
  CsvLine& add(const std::optional<double>& value) { return add(value ? shortest(*value) : std::string()); }
  CsvLine& add(double value) { return add(std::optional(value)); }
  CsvLine& add(const Counters& counters);
  CsvLine& add(const Formulas& formulas) { return add(formulas.macs).add(formulas.flops).add(formulas.bytes); }
  std::string end() && { return std::move(line_) + "\r\n"; }

 private:
  std::string line_;
  bool has_any_ = false;
};

}  // namespace pagoda::report
