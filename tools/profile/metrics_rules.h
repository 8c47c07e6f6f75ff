// The metrics from which each quantity can be computed, in order of preference. The generator checks them against each
// chip.
#pragma once

#include <string>
#include <vector>

#include "pagoda/documents/metrics.h"

namespace pagoda::tools::profile {

struct QuantityRule {
  std::string id;
  std::vector<std::vector<documents::MetricTerm>> formulas;  // every term must exist
};

// Rules for all chips. A term whose metric ends in "?" is optional and is left out of the formula if absent. One that
// begins with "!" is valid only on chips whose tensor units do not support sparse operands.
std::vector<QuantityRule> quantity_rules();

// Quantities of the first group; precisions of the tensor units are added to it afterwards.
std::vector<std::string> base_quantities();
// Cycles of the units whose peaks are per cycle: added to the first group if it still fits into one pass.
std::vector<std::string> clock_quantities();

}  // namespace pagoda::tools::profile
