// Ceilings as a readable table, as CSV, and in the formats of other roofline tools.
#pragma once

#include <string>
#include <vector>

#include "pagoda/documents/ceilings.h"

namespace pagoda::tools::ceilings {

std::string table(const documents::CeilingsDocument& document);
// One row per ceiling: id, mode, value, interval, unit, status and theoretical values.
std::string csv(const documents::CeilingsDocument& document);
// Lines "<GFLOP/s> FP64 GFLOPs EMP" and "<GB/s> L1 EMP", as read by plotters of the Empirical Roofline Tool.
std::string ert_csv(const documents::CeilingsDocument& document);
// A header and a row with the columns of rocprof-compute's roofline.csv that have a counterpart: value, low and high.
std::string rocprof_csv(const documents::CeilingsDocument& document);

// 1.2345e12, "B/s" → "1.23 TB/s"
std::string with_unit(double value, const std::string& unit);

}  // namespace pagoda::tools::ceilings
