#include "pagoda/base/csv_line.h"

#include <algorithm>

#include "pagoda/base/cat.h"
#include "pagoda/base/csv_reader.h"
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

CsvReader::CsvReader(std::string_view text, std::string_view subject, char separator)
    : text_(text), subject_(subject), separator_(separator) {
  if (text_.starts_with("\xEF\xBB\xBF")) position_ = 3;
}

std::string CsvReader::place() const { return cat(subject_, ", line ", row_line_); }

// Reads the LF of a CR LF, whose CR was read.
void CsvReader::end_line() {
  if (text_[position_ - 1] == '\r' && position_ < text_.size() && text_[position_] == '\n') ++position_;
  ++line_;
}

bool CsvReader::next(std::vector<std::string>& cells) {
  const auto ends_line = [](char c) { return c == '\n' || c == '\r'; };
  while (position_ < text_.size() && ends_line(text_[position_])) {
    ++position_;
    end_line();
  }
  if (position_ >= text_.size()) return false;
  row_line_ = line_;
  cells.assign(1, "");
  quoted_.assign(1, false);
  bool quoted = false;
  while (position_ < text_.size()) {
    const char c = text_[position_++];
    if (quoted) {
      if (c == '\n') ++line_;
      if (c != '"') {
        cells.back() += c;
      } else if (position_ < text_.size() && text_[position_] == '"') {
        cells.back() += '"';
        ++position_;
      } else {
        quoted = false;
      }
    } else if (c == '"' && cells.back().empty()) {
      quoted = quoted_.back() = true;
    } else if (c == separator_) {
      cells.emplace_back();
      quoted_.push_back(false);
    } else if (ends_line(c)) {
      end_line();
      return true;
    } else {
      cells.back() += c;
    }
  }
  if (quoted) fail(place(), "a quote is opened and never closed; the file may have been cut off");
  return true;
}

}  // namespace pagoda::base
