// The axes of all charts: where values and texts lie, and round ticks.
#pragma once

#include <string>
#include <vector>

namespace pagoda::present::plot {

struct Point {
  double x = 0, y = 0;

  bool operator==(const Point&) const = default;
};

struct Box {
  double x0 = 0, y0 = 0, x1 = 0, y1 = 0;

  bool overlaps(const Box& other) const { return x0 < other.x1 && other.x0 < x1 && y0 < other.y1 && other.y0 < y1; }
  bool inside(const Box& other) const { return x0 >= other.x0 && x1 <= other.x1 && y0 >= other.y0 && y1 <= other.y1; }
};

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
// The multiples of a step from `low` to `high`. The step is 1, 2 or 5 times a power of ten: the smallest with at most
// `most` steps in this range.
std::vector<double> linear_ticks(double low, double high, int most = 5);

}  // namespace pagoda::present::plot
