// The sum of many formulas against adding them one by one.
#include "graph/dim_poly.h"

#include <doctest/doctest.h>

#include <random>

using pagoda::Dim;
using pagoda::DimSum;
using pagoda::Int;

TEST_CASE("a sum of many formulas is the formula that additions give") {
  const Dim a = Dim::symbol("a"), b = Dim::symbol("b"), half = pagoda::floor_div(a + 1, 2);
  const Dim parts[] = {
      0, 7, -7, a, -3 * a, a * b, 2 * a * b - a, half, half * b + 5, Dim(Int{1} << 70) * b, Dim(Int{1} << 90)};
  std::minstd_rand random(7);
  for (int round = 0; round < 200; ++round) {
    DimSum sum;
    Dim expected;
    for (int i = 0; i < round % 20; ++i) {
      const Dim& part = parts[random() % std::size(parts)];
      sum.add(part);
      expected += part;
    }
    CHECK(sum.total().to_string() == expected.to_string());
    CHECK(sum.total() == expected);
  }
}

TEST_CASE("a sum beyond 128 bits is refused") {
  DimSum sum;
  sum.add(Dim(Int{1} << 126));
  CHECK_THROWS_AS(sum.add(Dim(Int{1} << 126)), pagoda::Error);
}

TEST_CASE("a sum of too many terms is refused") {
  DimSum sum;
  for (std::size_t i = 0; i <= Dim::kMaxTerms; ++i) sum.add(Dim::symbol("s" + std::to_string(i)));
  CHECK_THROWS_AS((void)sum.total(), pagoda::TooComplex);
}
