// Operators defined by a user: schema pagoda.custom-operators/1.
//
//   Analysis analysis = analyze(model, {.batch = 8}, load_custom_operators({"my_ops.json"}));
//   std::string file = custom_operator_template(model, analysis);  // to fill in: what has no rule
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pagoda/core/custom_operator.h"
#include "pagoda/documents/estimate.h"

#pragma GCC visibility push(default)
namespace pagoda::documents {

// Reads files, or the text of one. Throws Error, which names the member, for an operator with a problem_of() and for an
// operator that is defined twice.
std::vector<CustomOperator> load_custom_operators(const std::vector<std::string>& paths);
std::vector<CustomOperator> parse_custom_operators(std::string_view json, std::string_view subject);

// The operators of nodes without a rule, sorted; a file could define them.
std::vector<std::string> operators_without_rule(const EstimateDocument& estimate);

// A file that defines every operator of the model without a rule: its inputs as the analysis found them, and null for
// what only the user knows. Throws Error if every operator has a rule.
std::string custom_operator_template(const Model& model, const Analysis& analysis);

}  // namespace pagoda::documents
#pragma GCC visibility pop
