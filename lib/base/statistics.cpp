// Order statistics of repeated measurements, and tests of two samples.
#include "pagoda/base/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace pagoda::base {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

std::vector<double> sorted_copy(std::span<const double> values) {
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

// P(Binomial(n, 1/2) = k), in logarithms so that large n does not overflow.
double binomial_half(std::size_t n, std::size_t k) {
  const auto log_factorial = [](std::size_t m) { return std::lgamma(static_cast<double>(m) + 1); };
  return std::exp(log_factorial(n) - log_factorial(k) - log_factorial(n - k) - static_cast<double>(n) * std::log(2.0));
}

}  // namespace

double quantile(std::span<const double> sorted, double fraction) {
  if (sorted.empty()) return kNaN;
  const double place = std::clamp(fraction, 0.0, 1.0) * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], place - static_cast<double>(below));
}

double median(std::span<const double> values) { return quantile(sorted_copy(values), 0.5); }

std::vector<double> ranks(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> result(values.size());
  for (std::size_t i = 0; i < order.size();) {
    std::size_t end = i;
    while (end < order.size() && values[order[end]] == values[order[i]]) ++end;
    for (std::size_t j = i; j < end; ++j) result[order[j]] = static_cast<double>(i + end + 1) / 2;
    i = end;
  }
  return result;
}

std::optional<std::array<double, 2>> median_interval(std::span<const double> values, double confidence) {
  const std::vector<double> x = sorted_copy(values);
  const std::size_t n = x.size();
  if (n < 2) return std::nullopt;
  // Coverage of [x_(k), x_(n+1-k)] (1-based): 1 - 2 P(B < k). Finds the largest k that still covers, then interpolates
  // to k + 1.
  double below = binomial_half(n, 0);  // P(B < 1)
  double coverage = 1 - 2 * below;
  if (coverage < confidence) return std::nullopt;
  std::size_t k = 1;
  double next = coverage;
  while (2 * (k + 1) <= n) {
    below += binomial_half(n, k);
    next = 1 - 2 * below;
    if (next < confidence) break;
    coverage = next;
    ++k;
  }
  double lambda = 0;
  if (next < confidence && 2 * (k + 1) <= n) {
    const double share = (coverage - confidence) / (coverage - next);
    const auto nn = static_cast<double>(n), kk = static_cast<double>(k);
    lambda = (nn - kk) * share / (kk + (nn - 2 * kk) * share);
  }
  return std::array{std::lerp(x[k - 1], x[k], lambda), std::lerp(x[n - k], x[n - k - 1], lambda)};
}

std::optional<std::array<double, 2>> grouped_interval(std::span<const std::vector<double>> groups) {
  // 97.5 % points of Student's t for 1, 2, … degrees of freedom.
  constexpr std::array kStudent = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228};
  std::vector<double> all, middles;
  for (const std::vector<double>& group : groups) {
    if (group.empty()) continue;
    all.insert(all.end(), group.begin(), group.end());
    middles.push_back(median(group));
  }
  auto interval = median_interval(all);
  if (!interval || middles.size() < 2) return std::nullopt;
  // Works in logarithms, since rates may differ by factors and no bound may fall below 0.
  const double middle = median(all);
  if (std::any_of(middles.begin(), middles.end(), [](double m) { return !(m > 0); })) return std::nullopt;
  const auto g = static_cast<double>(middles.size());
  double mean = 0, square = 0;
  for (const double m : middles) mean += std::log(m) / g;
  for (const double m : middles) square += (std::log(m) - mean) * (std::log(m) - mean);
  const double t = middles.size() - 2 < kStudent.size() ? kStudent[middles.size() - 2] : 2.228;
  const double half = 1.25 * t * std::sqrt(square / (g - 1) / g);
  (*interval)[0] = std::min((*interval)[0], middle * std::exp(-half));
  (*interval)[1] = std::max((*interval)[1], middle * std::exp(half));
  return interval;
}

std::optional<double> Summary::relative_half_width() const {
  if (!ci95 || !(median > 0)) return std::nullopt;
  return ((*ci95)[1] - (*ci95)[0]) / 2 / median;
}

Summary summarize(std::span<const double> values) {
  const std::vector<double> x = sorted_copy(values);
  Summary s;
  s.n = x.size();
  s.median = quantile(x, 0.5);
  s.p5 = quantile(x, 0.05);
  s.p95 = quantile(x, 0.95);
  s.min = x.empty() ? kNaN : x.front();
  s.max = x.empty() ? kNaN : x.back();
  s.ci95 = median_interval(x);
  return s;
}

bool settled(std::span<const double> series, std::size_t window, double tolerance) {
  if (window == 0 || series.size() < 2 * window) return false;
  const double last = median(series.last(window));
  const double before = median(series.subspan(series.size() - 2 * window, window));
  return std::abs(last - before) <= tolerance * std::abs(before);
}

// --- Tests of two samples ---

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
