// Two kinds of pictures, with the fonts and colours of rooflines: points over categories or time, and rows with
// intervals.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace pagoda::lab::results {

// Widths of pictures. On a phone, a picture of the usual width would have letters of 5 pixels; a narrow one breaks its
// title and legend into several rows and puts names above their intervals.
inline constexpr double kPictureWidth = 900, kNarrowWidth = 360;

struct ChartPoint {
  double x = 0, y = 0;
  std::optional<double> low = {}, high = {};
  std::string label = {};  // beside the point; empty: none
  std::string key = {};    // key of its table row, see PageTable::keys
  bool is_marked = false;  // larger than the others
};

struct ChartLine {
  std::string name;
  std::vector<ChartPoint> points;
  std::vector<ChartPoint> cloud = {};  // faint points behind the line
  std::string dashes = {};  // SVG dash pattern; empty: solid
  std::size_t color = 0;    // index in the palette
};

// Logarithmic in y, so that equal factors up and down look alike.
struct LineChart {
  std::string title, subtitle, x_title, y_title;
  std::vector<std::string> x_names = {};  // names of x = 0, 1, 2 …; empty: plain numbers
  std::vector<ChartLine> lines = {};
  std::optional<double> reference = {};  // y of a horizontal line
  std::string reference_name = {};
  std::optional<double> limit = {};  // x of a vertical line
  std::string limit_name = {};
};
std::string draw(const LineChart& chart, double width = kPictureWidth);  // empty if there is no positive point

struct IntervalRow {
  std::string name;
  double value = 1;
  std::optional<double> low = {}, high = {};
  std::string text;       // at the right
  std::size_t color = 6;  // index in the palette; the last colour is grey
  std::string key = {};   // key of its table row, see PageTable::keys
};

struct IntervalChart {
  std::string title, subtitle, x_title;
  std::vector<IntervalRow> rows = {};
  double reference = 1;
};
std::string draw(const IntervalChart& chart, double width = kPictureWidth);

// One picture in both widths; a page shows the one that suits its window.
struct Picture {
  std::string wide, narrow;
};
template <typename Chart>
Picture picture_of(const Chart& chart) {
  return {draw(chart), draw(chart, kNarrowWidth)};
}

// Stacks wide pictures vertically in one picture, without empty ones. Throws Error if all are empty.
std::string stacked(const std::vector<Picture>& pictures);

// A page of pictures and tables that works offline and loads nothing, with the same parts as the chart's page: a
// verdict, tabs, search, sortable tables, rows linked with marks.
struct PageTable {
  std::string title;
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> keys = {};       // one per row, matching the keys of marks in the picture; empty: none
  std::vector<std::size_t> baselines = {};  // rows that are 1 by definition; a page leaves them out
};
struct Page {
  std::string title, verdict;  // the headline: "TITLE: VERDICT"
  std::vector<std::string> facts;
  std::vector<Picture> pictures;
  std::vector<PageTable> tables;
};
std::string page(const Page& page);

}  // namespace pagoda::lab::results
