// Counters and formulas of a row as cells of CSV.
#pragma once

#include "pagoda/base/csv_line.h"
#include "report/rows.h"

namespace pagoda::present::report {

void write_csv(base::CsvLine& line, const Counters& counters);
void write_csv(base::CsvLine& line, const Formulas& formulas);

}  // namespace pagoda::present::report
