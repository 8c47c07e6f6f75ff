#include "pagoda/base/csv_line.h"

#include "pagoda/base/text.h"

namespace pagoda::base {
namespace {

// Quotes text that contains a separator, quote or line break, has a space at either end, or begins like a UTF-8 byte
// order mark.
std::string field(std::string_view text) {
  const bool is_plain = text.empty() || (text.find_first_of(",\"\r\n") == std::string::npos && text.front() != ' ' &&
                                         text.back() != ' ' && !text.starts_with("\xEF\xBB\xBF"));
  if (is_plain) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

}  // namespace

CsvLine& CsvLine::add(double value) { return add(shortest(value)); }

CsvLine& CsvLine::add(std::string_view text) {
  if (has_any_) line_ += ',';
  has_any_ = true;
  line_ += field(text);
  return *this;
}

CsvLine& CsvLine::name(const std::string& text) {
  const bool is_formula = !text.empty() && std::string_view("=+-@").find(text.front()) != std::string_view::npos;
  return add((is_formula ? "'" : "") + printable(text));
}

}  // namespace pagoda::base
