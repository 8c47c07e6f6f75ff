// Tests of two small samples, one-sided, and intervals of their ratio.
#pragma once

#include <array>
#include <optional>
#include <span>

#pragma GCC visibility push(default)
namespace pagoda::base {

// Probability of at least `wins` pairs (a_i > b_j) of n·m where all orders are equally likely (Mann and Whitney 1947).
double rank_sum_tail(std::size_t n, std::size_t m, std::size_t wins);
// The least value that it can take: 1 / C(n+m, n).
double rank_sum_resolution(std::size_t n, std::size_t m);
// Pairs with a_i > b_j; equal ones count as none, so that ties only make the test more careful.
std::size_t wins(std::span<const double> a, std::span<const double> b);

// P(T > t) of Student's distribution.
double student_tail(double t, double degrees);
double student_quantile(double probability, double degrees);

// Of means with unequal variances (Welch 1947). Empty where a sample has fewer than two values or both do not vary.
struct Welch {
  double difference = 0, error = 0, degrees = 1;  // mean(a) − mean(b)
};
std::optional<Welch> welch(std::span<const double> a, std::span<const double> b);

// Interval of the shift a − b by pairwise differences (Hodges and Lehmann 1963): the middle, and both ends at
// `confidence`. Empty where the samples are too small for it.
std::optional<std::array<double, 3>> shift_interval(std::span<const double> a, std::span<const double> b,
                                                    double confidence);

}  // namespace pagoda::base
#pragma GCC visibility pop
