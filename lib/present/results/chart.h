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
  std::string key = {};    // of the row that it stands for, PageTable::keys
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
  std::string key = {};   // of the row that it stands for, PageTable::keys
};

struct IntervalChart {
  std::string title, subtitle, x_title;
  std::vector<IntervalRow> rows = {};
  double reference = 1;
};
std::string draw(const IntervalChart& chart);

// Pictures of draw() under each other in one; those that are empty are left out. Throws Error where all are.
std::string stacked(const std::vector<std::string>& svgs);

// A page of pictures and tables that works offline and loads nothing, with the parts of the chart's page: a verdict,
// tabs, search, tables that sort, rows linked with marks.
struct PageTable {
  std::string title;
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> keys = {};       // of each row, as marks of the picture have them; empty: none
  std::vector<std::size_t> baselines = {};  // rows that are 1 by definition, which a page leaves out
};
struct Page {
  std::string title, verdict;  // the headline: "TITLE: VERDICT"
  std::vector<std::string> facts, svgs;
  std::vector<PageTable> tables;
};
std::string page(const Page& page);

}  // namespace pagoda::present::results
