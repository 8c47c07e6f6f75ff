// Pictures and pages of results: several pictures in one, and a page of pictures and tables.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "draw/picture.h"
#include "pagoda/lab/result_report.h"

namespace pagoda::lab::results {

using present::plot::ChartLine, present::plot::ChartPoint, present::plot::IntervalChart, present::plot::LineChart,
    present::plot::Picture, present::plot::draw;

// Stacks wide pictures vertically in one picture, without empty ones. Throws Error if all are empty.
std::string stacked(const std::vector<Picture>& pictures);

// A page of pictures and tables that works offline and loads nothing, with the same parts as the chart's page: a
// verdict, tabs, search, sortable tables, rows linked with marks.
struct PageTable {
  std::string title;
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows = {};
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

// The report in a format, by the function for it; PNG is made from the SVG.
using Output = std::function<std::string()>;
std::string written(ReportFormat format, const Output& text, const Output& csv, const Output& svg, const Output& html);

// With trailing zeros, so that a column of energies lines up: "1.20 J".
std::string joules_text(double joules);

}  // namespace pagoda::lab::results
