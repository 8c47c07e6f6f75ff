// Tables that programs and people write: other lines above the header, columns by name, and numbers in any locale.
//
//   double total = 0;
//   CsvTable table(text, "runs.csv", has_column("seconds"), "has no column \"seconds\"");
//   const CsvTable::Column seconds = table.find({"seconds"});
//   table.expect_numbers({seconds});
//   while (table.next()) total += table.number(seconds);
//
// Cells are separated by commas, semicolons or tabs: the first of these with which a line is the header. The other
// numbers of the table show how to read "12.345" and "12,345"; if none does, they are an error, never a guess.
#pragma once

#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pagoda/base/csv_reader.h"
#include "pagoda/base/printed_number.h"

#pragma GCC visibility push(default)
namespace pagoda::base {

class CsvTable {
 public:
  using Row = std::vector<std::string>;
  using Column = std::optional<std::size_t>;  // empty: the table has none
  using IsRow = std::function<bool(const Row&)>;

  // Skips the rows above the header. Throws Error with the text `without` if none is. The texts must outlive the table.
  CsvTable(std::string_view text, std::string_view subject, const IsRow& is_header, std::string_view without);

  // Reads ahead how the numbers of the columns are printed. Call it before next().
  void expect_numbers(const std::vector<Column>& columns);
  void expect_all_numbers();  // of all columns

  // Reads the next row that is not skipped, empty or the header; false at the end. Error unless as long as the header.
  bool next(const IsRow& is_skipped = {});

  Column find(std::initializer_list<std::string_view> spellings) const;  // the first that is there
  const std::string& cell(Column column) const;                          // "" without a column
  // The cell as a number; empty for other text. Throws Error if the table does not show which number it is.
  std::optional<double> number_or_none(Column column) const;
  double number(Column column) const;                   // Error unless it is 0 or more
  std::string place() const { return reader_.place(); }  // "FILE, line 12"
  [[noreturn]] void fail(std::string_view what) const;   // Error about the whole file

  Row names, row;

 private:
  std::optional<DecimalMark> mark_of(std::size_t column) const;

  CsvReader reader_;
  Row header_;  // as in the file
  std::string_view subject_;
  std::vector<Marks> marks_;  // by column
};

// Whether the row has a cell with this text: then it may be the header.
bool has_column(const CsvTable::Row& row, std::string_view name);
CsvTable::IsRow has_column(std::string name);

}  // namespace pagoda::base
#pragma GCC visibility pop
