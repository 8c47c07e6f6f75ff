// Statistics of repeated measurements without assumptions about their distribution: disturbances can only slow a run
// down, so means and standard deviations mislead.
//
//   Summary s = summarize(samples);
//   s.median, s.ci95;  // the true median lies in the interval, 19 times of 20
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#pragma GCC visibility push(default)
namespace pagoda::base {

// Of sorted values, by linear interpolation; `fraction` in [0, 1]. NaN for an empty list.
double quantile(std::span<const double> sorted, double fraction);
double median(std::span<const double> values);
// Positions in the sorted order, from 1; equal values share their mean position.
std::vector<double> ranks(std::span<const double> values);

// Confidence interval of the median by order statistics: the number of samples below the median is Binomial(n, 1/2)
// whatever the distribution. Interpolated between neighbouring order statistics to come close to `confidence`
// (Hettmansperger and Sheather, Statistics & Probability Letters 4, 1986). Empty if n is too small: below 6 at 95 %.
std::optional<std::array<double, 2>> median_interval(std::span<const double> values, double confidence = 0.95);

// The same for samples in groups, minutes apart, that differ by more than their own noise because of memory placement
// or other load on the host. The interval of all samples, widened if necessary to median · exp(± 1.25·t·s/√g) from the
// medians of the g groups: Student's t with g - 1 degrees of freedom; s is the standard deviation of the logarithms, so
// that a rate's interval has no negative end; a median of Gaussian values scatters √(π/2) times as much as their mean.
// Groups count because a second run draws new groups, not new samples of these. Empty with fewer than two groups or 6
// samples, or if a group's median is not positive.
std::optional<std::array<double, 2>> grouped_interval(std::span<const std::vector<double>> groups);

struct Summary {
  std::size_t n = 0;
  double median = 0, p5 = 0, p95 = 0, min = 0, max = 0;  // NaN for an empty list
  std::optional<std::array<double, 2>> ci95;
  // Half the interval's width / the median; empty without an interval.
  std::optional<double> relative_half_width() const;
  // Some samples are much larger (faster, for rates) than the median: something else was using the machine.
  bool contended() const { return n >= 5 && p95 > 1.03 * median; }
};
Summary summarize(std::span<const double> values);

// Whether the medians of the last two windows of a series differ by at most `tolerance` (a fraction).
bool settled(std::span<const double> series, std::size_t window, double tolerance);

// --- One-sided tests of two small samples, and intervals of their shift ---

// Probability of at least `wins` pairs (a_i > b_j) among n·m if all orders are equally likely (Mann and Whitney 1947).
double rank_sum_tail(std::size_t n, std::size_t m, std::size_t wins);
// The smallest possible value of rank_sum_tail(): 1 / C(n+m, n).
double rank_sum_resolution(std::size_t n, std::size_t m);
// Number of pairs with a_i > b_j; ties do not count, which makes the test conservative.
std::size_t wins(std::span<const double> a, std::span<const double> b);

// P(T > t) of Student's distribution.
double student_tail(double t, double degrees);
double student_quantile(double probability, double degrees);

// Test of means with unequal variances (Welch 1947). Empty if a sample has fewer than two values or neither varies.
struct Welch {
  double difference = 0, error = 0, degrees = 1;  // mean(a) − mean(b)
};
std::optional<Welch> welch(std::span<const double> a, std::span<const double> b);

// Interval of the shift a − b by pairwise differences (Hodges and Lehmann 1963): the median, then both ends at
// `confidence`. Empty if the samples are too small.
std::optional<std::array<double, 3>> shift_interval(std::span<const double> a, std::span<const double> b,
                                                    double confidence);

}  // namespace pagoda::base
#pragma GCC visibility pop
