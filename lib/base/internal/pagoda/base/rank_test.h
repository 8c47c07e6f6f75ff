// One-sided tests of two small samples, and intervals of their shift.
#pragma once

#include <array>
#include <optional>
#include <span>

#pragma GCC visibility push(default)
namespace pagoda::base {

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
