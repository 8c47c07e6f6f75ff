// Statistics of repeated measurements, without assumptions on their distribution: disturbances only ever slow a run
// down, so means and standard deviations mislead.
//
//   Summary s = summarize(samples);
//   s.median, s.ci95;                             // the true median lies in the interval, 19 times of 20
//   std::optional<Choice> best = choose({a, b});  // picked on one half of the samples, reported on the other
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#pragma GCC visibility push(default)
namespace pagoda::base {

// Of sorted values, by linear interpolation; `fraction` in [0, 1]. NaN of nothing.
double quantile(std::span<const double> sorted, double fraction);
double median(std::span<const double> values);
// Places in the sorted order, from 1; equal values share the mean of theirs.
std::vector<double> ranks(std::span<const double> values);

// Confidence interval of the median by order statistics: the number of samples below the median is Binomial(n, 1/2)
// whatever the distribution. Interpolated between neighbouring order statistics to come close to `confidence`
// (Hettmansperger and Sheather, Statistics & Probability Letters 4, 1986). Empty where n is too small for it: below 6
// at 95 %.
std::optional<std::array<double, 2>> median_interval(std::span<const double> values, double confidence = 0.95);

// The same where the samples come in groups, minutes apart, that differ from each other by more than their own noise:
// other placement in memory, other neighbours on the host. The interval of all samples, widened where need be to
// median · exp(± 1.25·t·s/√g) of the g groups' medians (Student's t with g - 1 degrees of freedom, s the standard
// deviation of their logarithms, so that a rate's interval has no negative end; a median of Gaussian values scatters
// √(π/2) times as much as their mean), since a second run draws new groups, not new samples of these. Empty where there
// are fewer than two groups or 6 samples, or values that are not positive.
std::optional<std::array<double, 2>> grouped_interval(std::span<const std::vector<double>> groups);

struct Summary {
  std::size_t n = 0;
  double median = 0, p5 = 0, p95 = 0, min = 0, max = 0;  // NaN of nothing
  std::optional<std::array<double, 2>> ci95;
  // Half the width of the interval over the median; empty without an interval.
  std::optional<double> relative_half_width() const;
  // 1.4826 times the median absolute deviation over the median: the coefficient of variation were they Gaussian.
  double relative_spread = 0;
  // Some samples are much faster than the middle one: something else was using the machine.
  bool contended() const { return n >= 5 && p95 > 1.03 * median; }
};
Summary summarize(std::span<const double> values);

// The best of several configurations without the upward bias of "the largest seen": samples with even index choose,
// samples with odd index report. Higher is better unless told otherwise. Empty where no candidate has two samples.
struct Choice {
  std::size_t index = 0;
  Summary chosen_on, reported;
};
std::optional<Choice> choose(const std::vector<std::vector<double>>& candidates, bool lower_is_better = false);

// Whether the last two windows of a series have medians within `tolerance` (a fraction) of each other.
bool settled(std::span<const double> series, std::size_t window, double tolerance);

}  // namespace pagoda::base
#pragma GCC visibility pop
