// Slopes of time over repetitions, exact operands, and oneDNN's products.
#include "matmul.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>

#include "pagoda/base/statistics.h"

namespace pagoda::tools::conv {
namespace {

TEST_CASE("the slope has neither launch nor wait in it, and these are said apart") {
  // A machine that needs 3 µs per product and 50 µs to enter and wait, with a drift that raises both.
  double drift = 1;
  const auto together = [&](std::int64_t n) {
    drift *= 1.0001;
    return drift * (3e-6 * static_cast<double>(n) + 50e-6);
  };
  const Slope slope = measure_slope(together, 1);
  CHECK(slope.n >= 2048);
  CHECK(slope.seconds.size() >= 7);
  CHECK(base::median(slope.seconds) == doctest::Approx(3e-6).epsilon(0.01));
  CHECK(std::abs(base::median(slope.overhead) - 50e-6) < 10e-6);
}

TEST_CASE("operands are the same in every type, and errors are seen") {
  const std::vector<float> values = exact_values(64, 1);
  const auto halves = as_float16(values), brains = as_bfloat16(values);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const int exponent = (halves[i] >> 10U & 31U);
    const double magnitude = exponent == 0 ? 0 : std::ldexp(1024.0 + (halves[i] & 1023U), exponent - 25);
    CHECK((halves[i] & 0x8000U ? -magnitude : magnitude) == static_cast<double>(values[i]));
    CHECK(std::bit_cast<float>(static_cast<std::uint32_t>(brains[i]) << 16U) == values[i]);
  }
  const ProductShape shape{.m = 3, .n = 5, .k = 7};
  const std::vector<float> a = exact_values(21, 1), b = exact_values(35, 2);
  std::vector<float> c(15, 0);
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 5; ++j)
      for (std::size_t l = 0; l < 7; ++l) c[i * 5 + j] += a[i * 7 + l] * b[l * 5 + j];
  CHECK(product_error(shape, c, 50) == 0);
  c[14] += 0.25F;
  CHECK(product_error(shape, c, 0) == 0.25);
}

TEST_CASE("oneDNN's products are exact on exact operands") {
  const ProductLibrary library = onednn_products(1);
  if (!library.unavailable.empty()) {
    MESSAGE("not run: ", library.unavailable);
    return;
  }
  for (const ProductShape shape : {ProductShape{64, 64, 64}, {1, 33, 100}, {17, 1, 5}}) {
    const ProductRun run = library.prepare(shape, "float32");
    REQUIRE(run.refused.empty());
    CHECK(run.together(2) > 0);
    CHECK(product_error(shape, run.output(), 100) == 0);
  }
  CHECK_FALSE(library.prepare({8, 8, 8}, "float16").refused.empty());
}

}  // namespace
}  // namespace pagoda::tools::conv
