// Rules of operators that a user describes with formulas.
#pragma once

#include <vector>

#include "pagoda/core/custom_operator.h"
#include "pagoda/core/rule.h"

namespace pagoda::inline core::ops {

// Rules with names and facts but no functions, in the same order; the two functions below compute the results.
// Names point into `operators`. Throws Error for a statement that has a problem_of().
std::vector<OpRule> rules_of(const std::vector<CustomOperator>& operators);

void infer_custom(const CustomOperator& custom, OpContext& op);
OpCost cost_custom(const CustomOperator& custom, OpContext& op);

}  // namespace pagoda::inline core::ops
