// The axes of all charts: where values lie, and round ticks.
#pragma once

#include <string>
#include <vector>

namespace pagoda::present::plot {

// A logarithmic axis: maps the values from `low` to `high` to the pixels from `from` to `to`.
struct LogAxis {
  double low = 1, high = 10, from = 0, to = 1;

  double operator()(double value) const;
  double ratio() const { return high / low; }
};

// A round value: step · 10^exponent, with a step of 1, 2 or 5.
struct Tick {
  double value = 0;
  int step = 1, exponent = 0;

  std::string label() const;  // "100 T", "0.02"
};

// The round values from `low` to `high`, ascending.
std::vector<Tick> log_ticks(double low, double high);
// The smallest step of 1, 2 or 5 times a power of ten with at most `most` steps in `span`.
double round_step(double span, int most);
// The multiples of that step from `low` to `high`.
std::vector<double> linear_ticks(double low, double high, int most = 5);

}  // namespace pagoda::present::plot
