// Readers of text other than documents: formulas of sizes, CSV and JSON.
#include <optional>
#include <string>
#include <vector>

#include "fuzz/readers.h"
#include "pagoda/base/csv_line.h"
#include "pagoda/base/csv_reader.h"
#include "pagoda/base/printed_number.h"
#include "pagoda/base/json.h"
#include "pagoda/core/dim.h"

namespace pagoda::fuzz {
namespace {

void formula(std::string_view text) {
  const std::optional<Dim> dim = Dim::parse(text);
  if (!dim) return;
  for (const std::string& print : {dim->to_string(), dim->factored()})
    if (const std::optional<Dim> again = Dim::parse(print))
      require(*again == *dim, print + " is read as " + again->to_string());
  (void)dim->bind({{"a", 3}, {"b", 0}});
}

void csv(std::string_view text) {
  base::CsvReader reader(text, kSubject);
  std::vector<std::string> cells, again;
  while (reader.next(cells)) {
    for (const std::string& cell : cells) (void)base::printed(cell);
    const std::string line = base::csv_line(cells);
    base::CsvReader written(line, kSubject);
    const bool is_blank = cells.size() == 1 && cells[0].empty();
    require(written.next(again) == !is_blank && (is_blank || again == cells), "a row differs: " + line);
  }
}

void json(std::string_view text) {
  const base::JsonDocument document = base::parse_json(text, kSubject, "expected JSON");
  const std::string print = document.root().value().dump();
  require(base::parse_json(print, kSubject, "").root().value().dump() == print, "read back differs: " + print);
}

constexpr Target kTargets[] = {{"csv", csv}, {"formula", formula}, {"json", json}};

}  // namespace

std::span<const Target> targets() { return kTargets; }

}  // namespace pagoda::fuzz
