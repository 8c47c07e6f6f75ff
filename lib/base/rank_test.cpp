#include "pagoda/base/rank_test.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "pagoda/base/statistics.h"

namespace pagoda::base {
namespace {

// The number of orders of n and m values with u wins, for every u: f(n, m, u) = f(n−1, m, u−m) + f(n, m−1, u),
// depending on whether the largest value is in the first or the second sample.
std::vector<double> orders(std::size_t n, std::size_t m) {
  std::vector<std::vector<double>> row(m + 1);  // for n' = 0: one order, with no wins
  for (std::size_t j = 0; j <= m; ++j) row[j] = {1.0};
  for (std::size_t i = 1; i <= n; ++i) {
    std::vector<std::vector<double>> next(m + 1);
    next[0] = {1.0};
    for (std::size_t j = 1; j <= m; ++j) {
      next[j].assign(i * j + 1, 0.0);
      for (std::size_t u = 0; u < row[j].size(); ++u) next[j][u + j] += row[j][u];
      for (std::size_t u = 0; u < next[j - 1].size(); ++u) next[j][u] += next[j - 1][u];
    }
    row = std::move(next);
  }
  return row[m];
}

// Continued fraction of the incomplete beta function (Abramowitz and Stegun 26.5.8), evaluated from the front.
double beta_fraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  double c = 1, d = 1 - (a + b) * x / (a + 1);
  d = 1 / (std::abs(d) < kTiny ? kTiny : d);
  double value = d;
  for (int i = 1; i < 500; ++i) {
    for (const bool even : {true, false}) {
      const double term = even ? i * (b - i) * x / ((a + 2 * i - 1) * (a + 2 * i))
                               : -(a + i) * (a + b + i) * x / ((a + 2 * i) * (a + 2 * i + 1));
      d = 1 + term * d;
      d = 1 / (std::abs(d) < kTiny ? kTiny : d);
      c = 1 + term / c;
      if (std::abs(c) < kTiny) c = kTiny;
      value *= c * d;
    }
    if (std::abs(c * d - 1) < 1e-14) break;
  }
  return value;
}

double incomplete_beta(double a, double b, double x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double front =
      std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log1p(-x));
  return x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a : 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double variance(std::span<const double> values) {
  const double center = mean(values);
  double sum = 0;
  for (const double value : values) sum += (value - center) * (value - center);
  return sum / static_cast<double>(values.size() - 1);
}

}  // namespace

double rank_sum_tail(std::size_t n, std::size_t m, std::size_t least) {
  const std::vector<double> counts = orders(n, m);
  const double all = std::accumulate(counts.begin(), counts.end(), 0.0);
  double tail = 0;
  for (std::size_t u = counts.size(); u-- > least;) tail += counts[u];
  return tail / all;
}

double rank_sum_resolution(std::size_t n, std::size_t m) {
  return std::exp(std::lgamma(static_cast<double>(n) + 1) + std::lgamma(static_cast<double>(m) + 1) -
                  std::lgamma(static_cast<double>(n + m) + 1));
}

std::size_t wins(std::span<const double> a, std::span<const double> b) {
  std::size_t count = 0;
  for (const double x : a)
    count += static_cast<std::size_t>(std::count_if(b.begin(), b.end(), [&](double y) { return x > y; }));
  return count;
}

double student_tail(double t, double degrees) {
  const double both = incomplete_beta(degrees / 2, 0.5, degrees / (degrees + t * t));
  return t >= 0 ? both / 2 : 1 - both / 2;
}

double student_quantile(double probability, double degrees) {
  double low = 0, high = 1;
  if (probability < 0.5) return -student_quantile(1 - probability, degrees);
  while (1 - student_tail(high, degrees) < probability && high < 1e9) high *= 2;
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2;
    (1 - student_tail(middle, degrees) < probability ? low : high) = middle;
  }
  return (low + high) / 2;
}

std::optional<Welch> welch(std::span<const double> a, std::span<const double> b) {
  if (a.size() < 2 || b.size() < 2) return std::nullopt;
  const double va = variance(a) / static_cast<double>(a.size()), vb = variance(b) / static_cast<double>(b.size());
  if (va + vb <= 0) return std::nullopt;
  const double degrees = (va + vb) * (va + vb) /
                         (va * va / static_cast<double>(a.size() - 1) + vb * vb / static_cast<double>(b.size() - 1));
  return Welch{mean(a) - mean(b), std::sqrt(va + vb), degrees};
}

std::optional<std::array<double, 3>> shift_interval(std::span<const double> a, std::span<const double> b,
                                                    double confidence) {
  const double tail = (1 - confidence) / 2;
  if (a.empty() || b.empty() || rank_sum_resolution(a.size(), b.size()) > tail) return std::nullopt;
  std::vector<double> differences;
  for (const double x : a)
    for (const double y : b) differences.push_back(x - y);
  std::sort(differences.begin(), differences.end());
  // The largest k with P(wins ≤ k − 1) ≤ tail: the k-th smallest and k-th largest differences are the ends.
  const std::vector<double> counts = orders(a.size(), b.size());
  const double all = std::accumulate(counts.begin(), counts.end(), 0.0);
  std::size_t k = 0;
  for (double below = counts[0]; below / all <= tail; below += counts[k]) ++k;
  return std::array{median(differences), differences[k - 1], differences[differences.size() - k]};
}

}  // namespace pagoda::base
