// Two kinds of pictures, with the type and colours of rooflines: points over categories or time, and rows with
// intervals.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace pagoda::present::results {

struct ChartPoint {
  double x = 0, y = 0;
  std::optional<double> low = {}, high = {};
  std::string label = {};  // beside the point; empty: none
};

struct ChartLine {
  std::string name;
  std::vector<ChartPoint> points;
  std::string dashes = {};  // of SVG; empty: solid
  std::size_t color = 0;    // in the palette
};

// Logarithmic in y: ratios up and down look alike.
struct LineChart {
  std::string title, subtitle, x_title, y_title;
  std::vector<std::string> x_names = {};  // of 0, 1, 2 …; empty: plain numbers
  std::vector<ChartLine> lines = {};
  std::optional<double> reference = {};  // a line across
  std::string reference_name = {};
};
std::string draw(const LineChart& chart);  // empty where there is no positive point

struct IntervalRow {
  std::string name;
  double value = 1;
  std::optional<double> low = {}, high = {};
  std::string text;       // at the right
  std::size_t color = 6;  // in the palette; the last is grey
};

struct IntervalChart {
  std::string title, subtitle, x_title;
  std::vector<IntervalRow> rows = {};
  double reference = 1;
};
std::string draw(const IntervalChart& chart);

// Pictures of draw() under each other in one; those that are empty are left out. Throws Error where all are.
std::string stacked(const std::vector<std::string>& svgs);

// A page of pictures and tables that works offline and loads nothing.
struct PageTable {
  std::string title;
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
};
std::string page(const std::string& title, const std::vector<std::string>& facts, const std::vector<std::string>& svgs,
                 const std::vector<PageTable>& tables);

}  // namespace pagoda::present::results
