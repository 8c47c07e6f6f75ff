// Dim against its laws: canonical form, exact division, floors, bounds, text; and against
// plain integers on random expressions.
#include <doctest/doctest.h>

#include <limits>
#include <random>

#include "pagoda/core/dim.h"
#include "support/sometimes.h"

using pagoda::Bindings;
using pagoda::Dim;
using pagoda::Int;

namespace {

Dim sym(const char* name) { return Dim::symbol(name); }

}  // namespace

TEST_CASE("equal expressions have one form") {
  const Dim a = sym("a"), b = sym("b");
  CHECK((a + b) * (a - b) == a * a - b * b);
  CHECK(a + b - a == b);
  CHECK((a - a).value() == Int{0});
  CHECK(2 * a + 3 * a == 5 * a);
  CHECK(a * b == b * a);
  CHECK(a * Dim(0) == Dim(0));
}

TEST_CASE("text is pasteable, constants last, lower degree first") {
  const Dim b = sym("b"), s = sym("s"), past = sym("past");
  CHECK((18432 * b * s * s + 84934656 * b * s).to_string() == "84934656*b*s + 18432*b*s*s");
  CHECK((Dim(1) + past).to_string() == "past + 1");
  CHECK((past - 1).to_string() == "past - 1");
  CHECK((Dim(3) - past).to_string() == "-past + 3");
  CHECK(Dim(-7).to_string() == "-7");
  CHECK(pagoda::floor_div(s + 1, 2).to_string() == "floor_div(s + 1, 2)");
}

TEST_CASE("factored text takes common factors out when that is shorter") {
  const Dim batch = sym("batch"), s = sym("s");
  CHECK((Dim(352) * (666647 * batch + 290119)).factored() == "352*(666647*batch + 290119)");
  CHECK((18432 * batch * s * s + 84934656 * batch * s).factored() == "18432*batch*s*(s + 4608)");
  CHECK((17563828224 * batch).factored() == "17563828224*batch");
  CHECK((2 * s + 2).factored() == "2*s + 2");
}

TEST_CASE("floor division leaves the atom where it can") {
  const Dim h = sym("h"), n = sym("n");
  struct Row {
    Dim got, expected;
    const char* why;
  };
  const Row rows[] = {
      {floor_div(4 * h, 2), 2 * h, "exact"},
      {floor_div(4 * h + 3, 2), 2 * h + 1, "whole multiples of the divisor leave"},
      {floor_div(h - 1, 2) + 1, floor_div(h + 1, 2), "the constant is reduced to [0, divisor)"},
      {floor_div(3 * h, 2), h + floor_div(h, 2), "so are coefficients"},
      {floor_div(floor_div(h + 1, 2) + 1, 2), floor_div(h + 3, 4), "chains of strides are one division"},
      {floor_div(n * h * 12, n), 12 * h, "symbolic divisor that divides"},
      {floor_div(n * h + n * 3, h + 3), n, "polynomial divisor that divides"},
      {ceil_div(h, 2), floor_div(h + 1, 2), "ceil is floor"},
      {floor_div(Dim(-3), 2), Dim(-2), "rounds down, not towards zero"},
      {floor_div(max(1 - h, 0), 32), 0, "from 0 to below the divisor"},
      {0 - floor_div(0 - h, 4), floor_div(h + 3, 4), "rounding up has one form"},
      {floor_div(4 - h + 4 * floor_div(h, 4), 4), 1 + floor_div(h, 4) - floor_div(h + 3, 4), "padding to a multiple"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.why);
    CHECK_MESSAGE(row.got == row.expected, row.got.to_string() << " expected " << row.expected.to_string());
  }
  CHECK(floor_div(max(3 - h, 0), 2).evaluate({{"h", 1}}) == 1);  // up to 3, not below the divisor 2: the atom stays
  CHECK_THROWS_AS((void)floor_div(h, 0), pagoda::Error);
}

TEST_CASE("exact division of polynomials finds the quotient or says no") {
  const Dim a = sym("a"), b = sym("b");
  CHECK(exact_div((a + b) * (a - 2 * b + 7), a + b) == a - 2 * b + 7);
  CHECK(exact_div(a * a - b * b, a - b) == a + b);
  CHECK_FALSE(exact_div(a * a + 1, a + 1).has_value());
  CHECK_FALSE(exact_div(Dim(7), 2).has_value());
  CHECK_FALSE(exact_div(a, 0).has_value());
  CHECK(exact_div(Dim(0), a) == Dim(0));
}

TEST_CASE("min and max decide where sizes cannot be negative") {
  const Dim a = sym("a"), b = sym("b");
  CHECK(max(a + 3, a) == a + 3);
  CHECK(min(a + b, a) == a);
  CHECK(max(a, b) == max(b, a));
  CHECK(max(a, b).to_string() == "max(a, b)");
  CHECK(min(512, min(a, 512)) == min(a, 512));
  CHECK(max(max(a, b), a + 1) == max(b, a + 1));
  CHECK(min(b, min(a, 7)).to_string() == "min(7, min(a, b))");
  CHECK(min(Dim(1000), a).bind({{"a", 7}}) == Dim(7));
  CHECK(pagoda::equal(a, Dim(-1)) == false);
  CHECK(pagoda::equal(a + 1, Dim(0)) == false);
  CHECK_FALSE(pagoda::equal(a, Dim(1)).has_value());
  CHECK(pagoda::greater_equal(a, Dim(0)) == true);
  CHECK_FALSE(pagoda::greater_equal(a, Dim(1)).has_value());
}

TEST_CASE("overflow is an error, never a wrapped number") {
  const Dim big = Dim(std::numeric_limits<std::int64_t>::max());
  const Dim square = big * big;
  CHECK(square.value().has_value());
  CHECK_FALSE(square.value64().has_value());
  CHECK_THROWS_AS((void)(square * square), pagoda::Error);
  CHECK_THROWS_AS((void)((square * sym("a")) * square), pagoda::Error);
}

TEST_CASE("constants and factors beyond 64 bits are as exact as short ones") {
  const Dim n = sym("n"), m = sym("m");
  const Int large = Int{1} << 100, longest = std::numeric_limits<std::int64_t>::max(),
            least = std::numeric_limits<std::int64_t>::min();
  for (const Int value : {large, -large, longest, longest + 1, least, least - 1}) {
    CAPTURE(pagoda::to_string(value));
    CHECK(Dim(value).is_constant());
    CHECK(Dim(value).value() == value);
    CHECK(Dim(value).value64().has_value() == (value >= least && value <= longest));
    CHECK(Dim(value).to_string() == pagoda::to_string(value));
    CHECK(Dim(value) == Dim(value));
    CHECK_FALSE(Dim(value) == Dim(value + 1));
    CHECK_FALSE(Dim(value) == Dim(0));
    CHECK_FALSE(Dim(value) == n);
    CHECK(Dim(value) - Dim(value - 5) == Dim(5));
    CHECK((Dim(value) - Dim(value)).value64() == 0);
    CHECK(value * n == n * Dim(value));
    CHECK_FALSE(value * n == n);
    CHECK((value * n).evaluate({{"n", 3}}) == 3 * value);
    CHECK((value * n).bind({{"n", 1}}) == Dim(value));
    CHECK((value * n).to_string() == pagoda::to_string(value) + "*n");
    CHECK(Dim::parse((value * (n + m)).to_string()) == value * (n + m));
    CHECK(value * n - value * n == Dim(0));
    CHECK(value * n + n - value * n == n);
    CHECK(pagoda::exact_div(value * n, Dim(value)) == n);
    CHECK(pagoda::exact_div(value * n, n) == Dim(value));
    CHECK(pagoda::floor_div(Dim(value), Dim(value)) == Dim(1));
    CHECK(pagoda::max(Dim(value), Dim(value - 1)) == Dim(value));
    Dim doubled = value * n;
    const Dim before = doubled;
    doubled *= Dim(2);
    CHECK(before == value * n);
    CHECK(doubled - before == before);
    doubled = Dim(value);
    doubled *= Dim(0);
    CHECK(doubled == Dim(0));
  }
  CHECK(pagoda::exact_div(large * (n + 1), n + 1) == Dim(large));
  CHECK((large * n) * (large / 4 * Dim(0) + m) == large * n * m);
}

TEST_CASE("expressions beyond the limits are refused, not carried") {
  Dim sum = 0;
  CHECK_THROWS_AS(
      {
        for (std::size_t i = 0; i <= Dim::kMaxTerms; ++i) sum += sym(("s" + std::to_string(i)).c_str());
      },
      pagoda::TooComplex);
}

TEST_CASE("formulas of exporters are read") {
  struct Row {
    const char* text;
    const char* expected;  // empty: not a formula
  };
  const Row rows[] = {
      {"past_sequence_length + sequence_length", "past_sequence_length + sequence_length"},
      {"((((((((num_samples//80)) - 3)//2)) - 1)//2)) + 1", "floor_div(num_samples - 80, 320)"},
      {"2*s54", "2*s54"},
      {"2*text**2 + text - 1", "2*text*text + text - 1"},
      {"((s0**2)//s0)", "s0"},
      {"-a**2", "0 - a*a"},
      {"a**-1", ""},
      {"a**b", ""},
      {"a**17", ""},
      {"2**3**2", ""},
      {"'2'", ""},
      {"64", "64"},
      {"Max(1, s0)", "max(1, s0)"},
      {"floor(h/32)", "floor_div(h, 32)"},
      {"s % 4", "s - 4*floor_div(s, 4)"},
      {"", ""},
      {"a +", ""},
      {"a b", ""},
      {"(a", ""},
      {"1/0", ""},
      {"unk__12", "unk__12"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.text);
    const auto read = Dim::parse(row.text);
    if (*row.expected == '\0') {
      CHECK_FALSE(read.has_value());
      continue;
    }
    REQUIRE(read.has_value());
    for (const std::int64_t size : {1000, 1280, 16000, 99999}) {
      Bindings bindings;
      for (const std::string& name : read->symbols()) bindings[name] = size;
      CHECK(read->evaluate(bindings) == Dim::parse(row.expected)->evaluate(bindings));
    }
  }
}

TEST_CASE("formulas are read up to a depth, a length and a power, and refused beyond") {
  const auto repeated = [](const std::string& text, int times) {
    std::string result;
    for (int i = 0; i < times; ++i) result += text;
    return result;
  };
  struct Row {
    std::string formula;
    std::optional<Dim> expected;
  };
  const Dim a = Dim::symbol("a");
  const Row rows[] = {
      {repeated("(", 64) + "a" + repeated(")", 64), a},
      {repeated("(", 65) + "a" + repeated(")", 65), std::nullopt},
      {repeated("(", 500) + "a" + repeated(")", 500), std::nullopt},
      {repeated("-", 64) + "a", a},
      {repeated("-", 66) + "a", std::nullopt},
      {repeated("max(a, ", 60) + "1" + repeated(")", 60), max(a, Dim(1))},
      {repeated("max(a, ", 70) + "1" + repeated(")", 70), std::nullopt},
      {std::string(1024, 'a'), Dim::symbol(std::string(1024, 'a'))},
      {std::string(1025, 'a'), std::nullopt},
      {repeated("a+", 511) + "a", 512 * a},
      {repeated("a+", 512) + "a", std::nullopt},
      {"2**16", Dim(65536)},
      {"2**17", std::nullopt},
  };
  for (const Row& row : rows) {
    CAPTURE(row.formula);
    CHECK(Dim::parse(row.formula) == row.expected);
  }
}

TEST_CASE("names become identifiers") {
  CHECK(Dim::identifier("batch-size") == "batch_size");
  CHECK(Dim::identifier("2d") == "_2d");
  CHECK(Dim::identifier("") == "_");
  CHECK(Dim::symbol("input.1_dim_0").to_string() == "input_1_dim_0");
}

namespace {

// A random expression, and its value under `bindings` computed with plain integers.
std::pair<Dim, Int> random_expression(std::mt19937& random, const Bindings& bindings, int depth) {
  const auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  if (depth == 0 || pick(4) == 0) {
    if (pick(2) == 0) {
      const int constant = pick(9);
      return {Dim(constant), constant};
    }
    auto at = bindings.begin();
    std::advance(at, pick(static_cast<int>(bindings.size())));
    return {Dim::symbol(at->first), at->second};
  }
  const auto [a, x] = random_expression(random, bindings, depth - 1);
  const auto [b, y] = random_expression(random, bindings, depth - 1);
  const Int floor = y == 0 ? 0 : (x / y - ((x % y != 0 && (x < 0) != (y < 0)) ? 1 : 0));
  switch (pick(6)) {
    case 0:
      return {a + b, x + y};
    case 1:
      return {a - b, x - y};
    case 2:
      return {a * b, x * y};
    case 3:
      return {min(a, b), x < y ? x : y};
    case 4:
      return {max(a, b), x < y ? y : x};
    default:
      break;
  }
  if (y == 0 || b == Dim(0)) return {a, x};
  return {floor_div(a, b), floor};
}

}  // namespace

TEST_CASE("random expressions evaluate as plain integers do, before and after binding and through their text") {
  std::mt19937 random(20240601);
  pagoda::test::Sometimes is_bounded("a lower bound");
  for (int i = 0; i < 3000; ++i) {
    const Bindings bindings = {{"a", static_cast<std::int64_t>(random() % 7)},
                               {"b", static_cast<std::int64_t>(1 + random() % 7)},
                               {"c", static_cast<std::int64_t>(3 + random() % 50)}};
    std::optional<std::pair<Dim, Int>> drawn;
    try {
      drawn = random_expression(random, bindings, 4);
      const Dim& dim = drawn->first;
      const Int value = drawn->second;
      CAPTURE(dim.to_string());
      CHECK(dim.evaluate(bindings) == value);
      CHECK(dim.bind(bindings) == Dim(value));
      CHECK(Dim::parse(dim.factored()).value_or(Dim(-99)).evaluate(bindings) == value);
      if (is_bounded(dim.lower_bound())) CHECK(*dim.lower_bound() <= value);
      CHECK(dim.bind({{"b", bindings.at("b")}}).bind(bindings) == Dim(value));
    } catch (const pagoda::TooComplex&) {
    } catch (const pagoda::Error& error) {
      // The divisor is 0 for these bindings only: plain integers cannot divide by it either.
      CHECK(std::string(error.what()).find("division by a size of 0") != std::string::npos);
    }
  }
}
