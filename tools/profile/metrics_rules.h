// Which metrics could tell a quantity, in order of preference: the knowledge that the generator holds against each
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

// All that any chip may have. A term whose metric ends in "?" may be absent: it is then left out of the formula. One
// that begins with "!" holds only on chips whose tensor units know no sparse operands.
std::vector<QuantityRule> quantity_rules();

// Quantities of the first group, then tensor precisions in the order in which they are added to it.
std::vector<std::string> base_quantities();
// Cycles of the units whose peaks are a cycle's: into the first group, where it stays within one pass.
std::vector<std::string> clock_quantities();

}  // namespace pagoda::tools::profile
