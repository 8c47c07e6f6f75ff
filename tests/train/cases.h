// The operators in the test tables, so that one test can check that none is missing.
#pragma once

#include <string>
#include <vector>

namespace pagoda::test {

// Nodes as text, "Op(x, …)" or "domain.Op(x, …)".
std::vector<std::string> elementwise_nodes();
std::vector<std::string> norm_nodes();
std::vector<std::string> rule_nodes();
std::vector<std::string> contraction_nodes();

}  // namespace pagoda::test
