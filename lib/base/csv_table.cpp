#include "pagoda/base/csv_table.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "pagoda/base/cat.h"
#include "pagoda/base/text.h"

namespace pagoda::base {
namespace {

// The reader behind the header, with the separator that finds one. Sets `names` to its cells; none without a header.
CsvReader behind_header(std::string_view text, std::string_view subject, const CsvTable::IsRow& is_header,
                        CsvTable::Row& names) {
  for (const char separator : {',', ';', '\t'}) {
    CsvReader reader(text, subject, separator);
    while (reader.next(names))
      if (is_header(names)) return reader;
  }
  names.clear();
  return {text, subject};
}

// "1.2 ms", but neither "-1" nor "1 2 3".
bool has_unit(const std::string& text) {
  const std::size_t unit = text.find_first_not_of("0123456789., ");
  return unit != std::string::npos && unit > 1 && text[unit - 1] == ' ' && printed(text.substr(0, unit - 1)).with_point;
}

}  // namespace

CsvTable::CsvTable(std::string_view text, std::string_view subject, const IsRow& is_header, std::string_view without)
    : reader_(behind_header(text, subject, is_header, names)), header_(names), subject_(subject), marks_(names.size()) {
  if (names.empty()) fail(without);
}

void CsvTable::expect_numbers(const std::vector<Column>& columns) {
  CsvReader ahead = reader_;
  Row cells;
  while (ahead.next(cells))
    for (const Column& column : columns)
      if (column && *column < cells.size()) marks_[*column].see(cells[*column]);
}

void CsvTable::expect_all_numbers() {
  std::vector<Column> all(names.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
  expect_numbers(all);
}

bool CsvTable::next(const IsRow& is_skipped) {
  do {
    if (!reader_.next(row)) return false;
  } while (row == header_ || std::ranges::all_of(row, &std::string::empty) || (is_skipped && is_skipped(row)));
  if (row.size() < names.size())
    base::fail(place(), cat("has ", row.size(), " cells, expected ", names.size(), "; the file may have been cut off"));
  if (!std::all_of(row.begin() + static_cast<std::ptrdiff_t>(names.size()), row.end(),
                   std::mem_fn(&std::string::empty)))
    base::fail(place(), cat("has ", row.size(), " cells, expected ", names.size(),
                            "; put quotes around names that hold a separator"));
  return true;
}

CsvTable::Column CsvTable::find(std::initializer_list<std::string_view> spellings) const {
  for (const std::string_view name : spellings)
    if (const auto at = std::ranges::find(names, name); at != names.end())
      return static_cast<std::size_t>(at - names.begin());
  return std::nullopt;
}

const std::string& CsvTable::cell(Column column) const {
  static const std::string kNone;
  return column ? row[*column] : kNone;
}

// The mark that the column's own numbers show, else other columns, else the separator: between commas, a program that
// prints decimal commas puts every fraction in quotes.
std::optional<DecimalMark> CsvTable::mark_of(std::size_t column) const {
  const Marks& own = marks_[column];
  if (own.shows(DecimalMark::Point) || own.shows(DecimalMark::Comma)) return own.decimal();
  Marks others;
  for (const Marks& marks : marks_) {
    others.has_point |= marks.decimal() == DecimalMark::Point;
    others.has_comma |= marks.decimal() == DecimalMark::Comma;
  }
  if (others.has_point || others.has_comma) return others.decimal();
  const bool is_plain = reader_.separator() == ',' && !reader_.was_quoted(column);
  return is_plain ? std::optional(DecimalMark::Point) : std::nullopt;
}

std::optional<double> CsvTable::number_or_none(Column column) const {
  const PrintedNumber number = printed(cell(column));
  if (number.with_point == number.with_comma) return number.with_point;
  const std::optional<DecimalMark> mark = mark_of(*column);
  if (mark && number.with(*mark)) return number.with(*mark);
  if (!number.is_ambiguous())
    base::fail(place(), cat("\"", cell(column), "\" has another decimal mark than other numbers of the column \"",
                            names[*column], "\"; print them all in one locale"));
  base::fail(place(), cat("\"", cell(column), "\" is ", shortest(*number.with_point), " or ",
                          shortest(*number.with_comma),
                          ", and no other number of the file shows which; print numbers without separators of "
                          "thousands (LC_ALL=C), and fractions with a decimal point"));
}

double CsvTable::number(Column column) const {
  const std::optional<double> found = number_or_none(column);
  const std::string& text = cell(column);
  if (!found && printable(text).find("\uFFFD") != std::string::npos && text.find("\uFFFD") == std::string::npos)
    base::fail(place(), cat("\"", text, "\" is not UTF-8; convert the file first: iconv -f CP1252 -t UTF-8 FILE"));
  if (!found || !(*found >= 0) || *found > 1e30)
    base::fail(place(),
               cat("\"", text, "\" in the column \"", column ? names[*column] : "", "\" is not a number that is 0 or more",
                   text.starts_with("##") ? "; widen the column in the spreadsheet, and save it again"
                   : has_unit(text)       ? "; convert it to the unit of the column, and remove its own"
                                          : ""));
  return *found;
}

void CsvTable::fail(std::string_view what) const { base::fail(subject_, std::string(what)); }

bool has_column(const CsvTable::Row& row, std::string_view name) { return std::ranges::find(row, name) != row.end(); }

CsvTable::IsRow has_column(std::string name) {
  return [name = std::move(name)](const CsvTable::Row& row) { return has_column(row, name); };
}

}  // namespace pagoda::base
