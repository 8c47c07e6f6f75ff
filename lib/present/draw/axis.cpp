#include "draw/axis.h"

#include <cmath>

#include "draw/text.h"

namespace pagoda::present::plot {

namespace {

constexpr double kTolerance = 1e-9;  // of a value at the end of an axis

double round_step(double span, int most) {
  const double decade = std::pow(10, std::floor(std::log10(span / most)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (span / (factor * decade) <= most) return factor * decade;
  return 10 * decade;
}

}  // namespace

double LogAxis::operator()(double value) const {
  return from + (to - from) * std::log(value / low) / std::log(high / low);
}

std::string Tick::label() const {
  std::string text = decade(exponent);
  if (step == 1) return text;
  if (text.starts_with("10⁻")) return std::string(1, static_cast<char>('0' + step)) + "·" + text;
  text[text.find('1')] = static_cast<char>('0' + step);
  return text;
}

std::vector<Tick> log_ticks(double low, double high) {
  std::vector<Tick> ticks;
  const int first = static_cast<int>(std::floor(std::log10(low))), last = static_cast<int>(std::ceil(std::log10(high)));
  for (int exponent = first; exponent <= last; ++exponent)
    for (const int step : {1, 2, 5})
      if (const double value = step * std::pow(10.0, exponent);
          value >= low * (1 - kTolerance) && value <= high * (1 + kTolerance))
        ticks.push_back({value, step, exponent});
  return ticks;
}

std::vector<double> linear_ticks(double low, double high, int most) {
  const double step = round_step(high - low, most);
  std::vector<double> ticks;
  for (double i = std::ceil(low / step - kTolerance); i <= high / step + kTolerance; ++i) ticks.push_back(i * step);
  return ticks;
}

}  // namespace pagoda::present::plot
