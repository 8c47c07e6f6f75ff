#include "matmul.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>

namespace pagoda::tools::conv {

std::vector<float> exact_values(std::int64_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = static_cast<float>(static_cast<int>(random() >> 60U)) / 8.0F - 1.0F;
  return values;
}

std::vector<std::uint16_t> as_bfloat16(const std::vector<float>& values) {
  std::vector<std::uint16_t> result;
  for (const float value : values)
    result.push_back(static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16U));
  return result;
}

// The exponent's bias changes from 127 to 15, the mantissa from 23 bits to 10; all values are 0 or normal.
std::vector<std::uint16_t> as_float16(const std::vector<float>& values) {
  std::vector<std::uint16_t> result;
  for (const float value : values) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(value), magnitude = bits & 0x7FFFFFFFU;
    const std::uint32_t half = magnitude == 0 ? 0 : (magnitude >> 13U) - (112U << 10U);
    result.push_back(static_cast<std::uint16_t>((bits >> 16U & 0x8000U) | half));
  }
  return result;
}

double product_error(const ProductShape& s, const std::vector<float>& got, std::int64_t points) {
  const std::vector<float> a = exact_values(s.m * s.k, 1), b = exact_values(s.k * s.n, 2);
  std::mt19937_64 random(3);
  double worst = 0;
  const auto below = [&](std::int64_t size) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(size));
  };
  for (std::int64_t i = 0; i < points + 4; ++i) {
    const std::int64_t row = i < 4 ? (i & 1) * (s.m - 1) : below(s.m);
    const std::int64_t column = i < 4 ? (i >> 1) * (s.n - 1) : below(s.n);
    double sum = 0;
    for (std::int64_t j = 0; j < s.k; ++j)
      sum += static_cast<double>(a[static_cast<std::size_t>(row * s.k + j)]) *
             static_cast<double>(b[static_cast<std::size_t>(j * s.n + column)]);
    const double difference = std::abs(static_cast<double>(got[static_cast<std::size_t>(row * s.n + column)]) - sum);
    worst = std::isfinite(difference) ? std::max(worst, difference) : std::numeric_limits<double>::infinity();
  }
  return worst;
}

Slope measure_slope(const std::function<double(std::int64_t)>& together, double budget_seconds) {
  constexpr double kChunkSeconds = 0.01;
  constexpr std::size_t kMostSamples = 200;
  Slope slope{.n = 1, .seconds = {}, .overhead = {}};
  together(1);
  double spent = 0;
  // Double n until the clock's resolution and the final wait no longer matter.
  for (double taken = together(1); taken < kChunkSeconds && slope.n < (std::int64_t{1} << 24);) {
    slope.n *= 2;
    taken = together(slope.n);
    spent += taken;
  }
  const double limit = spent + budget_seconds;
  while (slope.seconds.size() < kMostSamples && (spent < limit || slope.seconds.size() < 7)) {
    // Alternate the order, so that a drift of the clock affects both alike.
    const bool short_first = slope.seconds.size() % 2 == 0;
    const double first = together(short_first ? slope.n : 2 * slope.n),
                 second = together(short_first ? 2 * slope.n : slope.n);
    const double once = short_first ? first : second, twice = short_first ? second : first;
    spent += first + second;
    slope.seconds.push_back((twice - once) / static_cast<double>(slope.n));
    slope.overhead.push_back(2 * once - twice);  // 2·(n·t + c) − (2n·t + c)
  }
  return slope;
}

}  // namespace pagoda::tools::conv
