// The memory in use while the model runs, as a table of steps and as a chart.
#include <algorithm>
#include <cmath>

#include "pagoda/base/csv_line.h"
#include "report/rows.h"

namespace pagoda::present {
namespace {

// Escapes text between tags and in quotes.
std::string xml(const std::string& text) {
  std::string escaped;
  for (const char c : base::printable(text)) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

// One decimal: a tenth of a pixel.
std::string px(double value) {
  const auto tenths = static_cast<long long>(std::llround(value * 10));
  const std::string sign = tenths < 0 ? "-" : "";
  const long long magnitude = std::abs(tenths);
  return sign + std::to_string(magnitude / 10) + (magnitude % 10 == 0 ? "" : "." + std::to_string(magnitude % 10));
}

// A step of 1, 2 or 5 times a power of ten, such that at most five steps reach `top`.
double tick(double top) {
  double step = std::pow(10, std::floor(std::log10(std::max(top, 1.0))));
  while (top / step > 5) step *= 2;
  for (const double finer : {0.5, 0.2})
    if (top / (step * finer) <= 5) return step * finer;
  return step;
}

constexpr double kWidth = 960, kHeight = 360, kLeft = 84, kRight = 16, kTop = 72, kBottom = 44;
constexpr std::size_t kColumns = 120;  // of a line of text in the picture

std::string element(double x, double y, std::string_view anchor, const std::string& text) {
  return "<text x=\"" + px(x) + "\" y=\"" + px(y) + "\" text-anchor=\"" + std::string(anchor) + "\">" + text +
         "</text>\n";
}

}  // namespace

std::string memory_timeline_csv(const documents::EstimateDocument& estimate) {
  const documents::EstimateMemory& plan = *estimate.memory;
  base::CsvLine header;
  for (const char* name : {"step", "node", "name", "op_type", "bytes"}) header.add(std::string_view(name));
  std::string text = std::move(header).end();
  for (std::size_t step = 0; step < plan.timeline.size(); ++step) {
    base::CsvLine line;
    line.add(std::to_string(step)).add(std::to_string(plan.order[step]));
    line.name(plan.names[step]).name(plan.op_types[step]).add(documents::Count(plan.timeline[step]));
    text += std::move(line).end();
  }
  return text;
}

// All steps have the same width; if several steps of a long model share a pixel, the highest is drawn.
std::string memory_timeline_svg(const documents::EstimateDocument& estimate) {
  const documents::EstimateMemory& plan = *estimate.memory;
  const std::size_t steps = plan.timeline.size();
  const double top = std::max(1.0, static_cast<double>(plan.peak_bytes));
  const double width = kWidth - kLeft - kRight, height = kHeight - kTop - kBottom, bottom = kHeight - kBottom;
  const auto x_of = [&](double step) { return kLeft + width * step / std::max(1.0, static_cast<double>(steps)); };
  const auto y_of = [&](double bytes) { return bottom - height * bytes / top; };

  std::string text = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + px(kWidth) + " " + px(kHeight) +
                     "\" width=\"" + px(kWidth) + "\" height=\"" + px(kHeight) +
                     "\" font-family=\"DejaVu Sans, sans-serif\" font-size=\"12\" fill=\"#222\" role=\"img\">\n";
  const std::string name = xml(estimate.model.path.empty() ? estimate.model.name : estimate.model.path);
  text += "<title>Activation memory of " + name + "</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n";
  text += "<text x=\"" + px(kLeft) +
          "\" y=\"22\" font-size=\"15\" font-weight=\"bold\">Activations alive at each step, " + name + "</text>\n";
  if (steps > 0) {
    const std::string peak = "peak " + base::grouped(plan.peak_bytes) + " B (" + base::si(plan.peak_bytes, "B") +
                             ") at step " + std::to_string(plan.peak_step) + ", " + plan.names[plan.peak_step] + " (" +
                             plan.op_types[plan.peak_step] + ")";
    text += element(kLeft, 40, "start", xml(base::elide(peak, kColumns)));
    text += element(kLeft, 57, "start", xml(base::elide("not counted: " + plan.excludes, kColumns)));
  }
  for (double mark = 0, step = tick(top); mark <= top * 1.0001; mark += step) {
    text += "<path d=\"M" + px(kLeft) + " " + px(y_of(mark)) + "H" + px(kWidth - kRight) + "\" stroke=\"#ddd\"/>\n";
    text += element(kLeft - 8, y_of(mark) + 4, "end", base::si(static_cast<Int>(mark), "B"));
  }
  std::string line = "M" + px(kLeft) + " " + px(bottom);
  const std::size_t columns = std::min(steps, static_cast<std::size_t>(width));
  for (std::size_t column = 0; column < columns; ++column) {
    const std::size_t begin = column * steps / columns, end = (column + 1) * steps / columns;
    const Int highest = *std::max_element(plan.timeline.begin() + static_cast<std::ptrdiff_t>(begin),
                                          plan.timeline.begin() + static_cast<std::ptrdiff_t>(end));
    line += "V" + px(y_of(static_cast<double>(highest))) + "H" + px(x_of(static_cast<double>(end)));
  }
  text += "<path d=\"" + line + "V" + px(bottom) + "Z\" fill=\"#4477aa\" fill-opacity=\"0.35\" stroke=\"#4477aa\"/>\n";
  if (steps > 0) {
    const double x = x_of(static_cast<double>(plan.peak_step) + 0.5);
    text += "<circle cx=\"" + px(x) + "\" cy=\"" + px(y_of(top)) + "\" r=\"3.5\" fill=\"#cc3311\"/>\n";
  }
  text += element(kLeft, bottom + 18, "start", "0") +
          element(kWidth - kRight, bottom + 18, "end", std::to_string(steps)) +
          element(kLeft + width / 2, bottom + 34, "middle", "step, in the order of execution");
  return text + "</svg>\n";
}

}  // namespace pagoda::present
