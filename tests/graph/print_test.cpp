// Counts and formulas on streams, from users' namespaces.
#include <doctest/doctest.h>

#include <sstream>

#include "pagoda/core/analyze.h"
#include "pagoda/core/print.h"
#include "support/text_graph.h"

namespace elsewhere {

std::string printed() {
  std::ostringstream out;
  const pagoda::Model model = pagoda::test::graph("x:f32[N,4], w:f32[4,2] -> y = MatMul(x, w)");
  const pagoda::Dim work = pagoda::flops(pagoda::analyze(model).totals.cost);
  out << work << " " << work.evaluate({{"N", 3}}) << " " << pagoda::Int{-1} << " " << (pagoda::Int{1} << 100);
  return out.str();
}

struct Other {};
std::ostream& operator<<(std::ostream& out, Other) { return out << "other"; }

std::string beside_another() {
  using pagoda::operator<<;  // this namespace has operators of its own
  std::ostringstream out;
  out << Other() << " " << pagoda::Int{7};
  return out.str();
}

}  // namespace elsewhere

namespace pagoda {
namespace {

TEST_CASE("counts and formulas print") {
  CHECK(elsewhere::printed() == "16*N 48 -1 1267650600228229401496703205376");
  CHECK(elsewhere::beside_another() == "other 7");
}

}  // namespace
}  // namespace pagoda
