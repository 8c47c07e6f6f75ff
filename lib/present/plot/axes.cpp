// Grid and ticks, 1-2-5 in each decade. The page redraws them by the same rule when it zooms.
#include <algorithm>
#include <cmath>

#include "plot/draw.h"
#include "plot/text.h"

namespace pagoda::present::plot {
namespace {

struct Ticks {
  std::string major, minor;  // paths of grid lines
  std::vector<std::pair<double, std::string>> labels;
};

// Grid lines of each decade: at 1, and thinner ones at 2 and 5.
template <typename Line>
Ticks ticks(double low, double high, const Line& line) {
  Ticks result;
  const int first = static_cast<int>(std::floor(std::log10(low) + 1e-9)),
            last = static_cast<int>(std::ceil(std::log10(high) - 1e-9));
  const bool is_short = high / low < 150;  // also label the steps of 2 and 5
  for (int exponent = first; exponent <= last; ++exponent) {
    for (const int step : {1, 2, 5}) {
      const double value = step * std::pow(10.0, exponent);
      if (value < low * (1 - 1e-9) || value > high * (1 + 1e-9)) continue;
      (step == 1 ? result.major : result.minor) += line(value);
      if (step != 1 && !is_short) continue;
      std::string label = decade(exponent);
      label[label.find('1')] = static_cast<char>('0' + step);
      result.labels.emplace_back(value, std::move(label));
    }
  }
  return result;
}

}  // namespace

void draw_axes(Svg& svg, const Chart& chart, const Layout& layout) {
  const Scale& scale = layout.scale;
  const Frame& frame = chart.frame;
  const Box& plot = scale.plot;
  const Ticks x = ticks(frame.x0, frame.x1, [&](double value) {
    return "M" + px(scale.x(value)) + " " + px(plot.y0) + "V" + px(plot.y1);
  });
  const Ticks y = ticks(frame.y0, frame.y1, [&](double value) {
    return "M" + px(plot.x0) + " " + px(scale.y(value)) + "H" + px(plot.x1);
  });
  svg.open("g", {{"id", "axes"}, {"fill", "none"}});
  svg.leaf("path", {{"id", "grid-minor"}, {"class", "grid minor"}, {"stroke", "#f0f2f4"}, {"d", x.minor + y.minor}});
  svg.leaf("path", {{"id", "grid-major"}, {"class", "grid"}, {"stroke", "#dde1e6"}, {"d", x.major + y.major}});
  svg.leaf("rect", {{"class", "frame"},
                    {"x", px(plot.x0)},
                    {"y", px(plot.y0)},
                    {"width", px(plot.x1 - plot.x0)},
                    {"height", px(plot.y1 - plot.y0)},
                    {"stroke", "#8a939d"}});
  svg.open("g", {{"id", "ticks-x"}, {"class", "ink"}, {"fill", std::string(kInk)}, {"text-anchor", "middle"}});
  for (const auto& [value, label] : x.labels) svg.text(scale.x(value), plot.y1 + 18, label);
  svg.close();
  svg.open("g", {{"id", "ticks-y"}, {"class", "ink"}, {"fill", std::string(kInk)}, {"text-anchor", "end"}});
  for (const auto& [value, label] : y.labels) svg.text(plot.x0 - 8, scale.y(value) + 4, label);
  svg.close();
  svg.text((plot.x0 + plot.x1) / 2, plot.y1 + 40, "Arithmetic intensity [FLOP / DRAM byte]",
           {{"id", "title-x"},
            {"class", "ink"},
            {"text-anchor", "middle"},
            {"font-size", "13"},
            {"fill", std::string(kInk)}});
  const double middle = (plot.y0 + plot.y1) / 2;
  const double left = plot.x0 - (chart.sheet.is_column ? 50 : 62);
  svg.text(left, middle, chart.is_energy ? "Work per joule [FLOP/J]" : "Performance [FLOP/s]",
           {{"id", "title-y"},
            {"class", "ink"},
            {"text-anchor", "middle"},
            {"font-size", "13"},
            {"fill", std::string(kInk)},
            {"transform", "rotate(-90 " + px(left) + " " + px(middle) + ")"}});
  svg.close();
}

}  // namespace pagoda::present::plot
