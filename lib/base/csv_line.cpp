#include "pagoda/base/csv_line.h"

#include <algorithm>

#include "pagoda/base/text.h"

namespace pagoda::base {
namespace {

// Text that contains a separator, quote or line break, has a space at either end, or begins like a UTF-8 byte order
// mark.
bool needs_quotes(std::string_view text) {
  const auto is_special = [](char c) { return c == ',' || c == '"' || c == '\r' || c == '\n'; };
  return !text.empty() && (text.front() == ' ' || text.back() == ' ' || text.starts_with("\xEF\xBB\xBF") ||
                           std::any_of(text.begin(), text.end(), is_special));
}

}  // namespace

CsvLine& CsvLine::add(double value) { return add(shortest(value)); }

CsvLine& CsvLine::add(std::string_view text) {
  if (has_any_) line_ += ',';
  has_any_ = true;
  if (!needs_quotes(text)) {
    line_ += text;
    return *this;
  }
  line_ += '"';
  for (const char c : text) line_.append(c == '"' ? 2 : 1, c);
  line_ += '"';
  return *this;
}

CsvLine& CsvLine::name(std::string_view text) {
  const bool is_formula = !text.empty() && std::string_view("=+-@").find(text.front()) != std::string_view::npos;
  if (!is_formula && is_plain(text)) return add(text);
  return add((is_formula ? "'" : "") + printable(text));
}

}  // namespace pagoda::base
