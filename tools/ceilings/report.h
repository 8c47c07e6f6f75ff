// The same ceilings as a table for people, as CSV, and in the forms that other roofline tools read.
#pragma once

#include <string>
#include <vector>

#include "pagoda/documents/ceilings.h"

namespace pagoda::tools::ceilings {

std::string table(const documents::CeilingsDocument& document);
// One row a ceiling: id, mode, value, interval, unit, status and the theories.
std::string csv(const documents::CeilingsDocument& document);
// Lines "<GFLOP/s> FP64 GFLOPs EMP" and "<GB/s> L1 EMP", as plotters of the Empirical Roofline Tool read them.
std::string ert_csv(const documents::CeilingsDocument& document);
// One header and one row, the columns of rocprof-compute's roofline.csv that have a counterpart: value, low and high.
std::string rocprof_csv(const documents::CeilingsDocument& document);

// 1.2345e12, "B/s" → "1.23 TB/s"
std::string with_unit(double value, const std::string& unit);

}  // namespace pagoda::tools::ceilings
