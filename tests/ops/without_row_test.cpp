// Adding an operator takes one row in its family and one in a test here: every rule of the registry must occur in a
// test row that states its types, and in one that states its work. Only rows that a test has checked count: doctest
// runs files in the order of their names, and this one is the last.
#include <doctest/doctest.h>

#include <set>
#include <string>

#include "ops/op_rule.h"
#include "support/op_case.h"

namespace pagoda::test {

TEST_CASE("every rule has a row of types and a row of work among those that ran before") {
  const CheckedOperators& checked = checked_operators();
  REQUIRE_MESSAGE(checked.with_work.size() > 350,
                  "only " << checked.with_work.size() << " operators were checked; run all tests of this program");
  std::string missing;
  std::set<const OpRule*> tables;
  for (const ops::Family& family : ops::families()) {
    if (!tables.insert(family.rules.data()).second) continue;  // the same rules under another domain
    for (const OpRule& rule : family.rules) {
      const std::string name = (family.domain.empty() ? "" : std::string(family.domain) + ".") + std::string(rule.name);
      if (!checked.with_types.contains(name)) missing += name + " (types) ";
      if (!checked.with_work.contains(name)) missing += name + " (work) ";
    }
  }
  CHECK_MESSAGE(missing.empty(), "without a row: " << missing);
}

}  // namespace pagoda::test
