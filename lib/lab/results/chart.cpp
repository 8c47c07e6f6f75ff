#include "results/chart.h"

#include <algorithm>

#include "draw/text.h"
#include "page/page_files.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/error.h"
#include "pagoda/base/number.h"
#include "pagoda/base/text.h"

namespace pagoda::lab::results {

std::string stacked(const std::vector<Picture>& pictures) {
  const std::string begin =
      present::plot::filled("viewBox=\"0 0 % ", {present::plot::kPictureWidth});  // the height is next
  double height = 0;
  std::string inside;
  for (const auto& [svg, narrow] : pictures) {
    if (svg.empty()) continue;
    inside += present::plot::filled("<g transform=\"translate(0 %)\">\n", {height}) + svg + "</g>\n";
    const std::string_view from = std::string_view(svg).substr(svg.find(begin) + begin.size());
    height += base::leading_number<double>(from).value_or(0);
  }
  if (inside.empty()) throw Error("there is nothing to draw: no record has a time");
  return present::plot::filled(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 % %\" width=\"%\" height=\"%\">\n",
             {present::plot::kPictureWidth, height, present::plot::kPictureWidth, height}) +
         inside + "</svg>\n";
}

namespace {

// Whether a column contains numbers, with or without units: these are aligned right and sorted by size.
bool is_of_numbers(const PageTable& table, std::size_t column) {
  bool any = false;
  for (const auto& row : table.rows) {
    const std::string& cell = row[column];
    if (cell.empty() || cell == "?" || cell == "–" || cell == "not known") continue;
    const std::size_t at = cell.find_first_not_of(" +-");
    for (const std::string_view sign : {"≤ ", "≥ ", "≈ "})
      if (cell.starts_with(sign)) return is_of_numbers({"", {""}, {{cell.substr(sign.size())}}}, 0);
    if (at == std::string::npos || cell[at] < '0' || cell[at] > '9') return false;
    if (cell.size() == 10 && cell[4] == '-' && cell[7] == '-') return false;  // a date
    any = true;
  }
  return any;
}

std::string table_html(const PageTable& table) {
  using present::plot::xml;
  std::string html = cat("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"", xml(table.title),
                         "\"><table class=\"plain\" aria-label=\"", xml(table.title), "\"><thead><tr>");
  // Columns without text are left out; leading blanks give the depth of a row in a tree.
  std::vector<std::pair<std::size_t, const char*>> shown;
  const auto any = [&](auto is) { return std::ranges::any_of(table.rows, is); };
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if (!any([&](const auto& row) { return !row[i].empty(); })) continue;
    const bool is_tree = any([&](const auto& row) { return row[i].starts_with(" "); });
    shown.emplace_back(i, is_of_numbers(table, i) ? " class=\"number\"" : is_tree ? " class=\"tree\"" : "");
    html += cat("<th scope=\"col\"", shown.back().second, ">", xml(table.columns[i]), "</th>");
  }
  html += "</tr></thead><tbody>\n";
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    if (std::ranges::find(table.baselines, r) != table.baselines.end()) continue;
    html += r < table.keys.size() ? "<tr data-k=\"" + xml(table.keys[r]) + "\">" : "<tr>";
    for (const auto& [i, style] : shown) html += cat("<td", style, ">", xml(table.rows[r][i]), "</td>");
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>";
}

}  // namespace

std::string page(const Page& page) {
  using present::plot::xml;
  std::string html = cat("<main>\n<header class=\"verdict\"><div><h1>", xml(page.title),
                         page.verdict.empty() ? "" : cat(": <span id=\"verdict-time\">", xml(page.verdict), "</span>"),
                         "</h1>\n<ul id=\"actions\">");
  for (const std::string& fact : page.facts) html += cat("<li>", xml(fact), "</li>");
  html += "</ul></div></header>\n";
  for (const auto& [wide, narrow] : page.pictures)
    if (!wide.empty())
      html += cat("<figure class=\"result\">\n<div class=\"wide\">", wide, "</div><div class=\"narrow\">", narrow,
                  "</div></figure>\n");
  html +=
      "<div class=\"bar\"><input id=\"search\" type=\"search\" placeholder=\"Search rows\" aria-label=\"Search "
      "rows\"><span id=\"status\" role=\"status\"></span><span class=\"end\"><button id=\"save-svg\" "
      "type=\"button\">SVG</button><button id=\"save-csv\" type=\"button\">CSV</button><button id=\"dark\" "
      "type=\"button\" aria-pressed=\"false\">Dark</button></span></div>\n";
  std::string bar, panels;
  for (const PageTable& table : page.tables) {
    if (table.rows.size() <= table.baselines.size()) continue;
    const std::string id = cat("table-", &table - page.tables.data());
    bar += cat("<button type=\"button\" role=\"tab\" id=\"tab-", id, "\" data-tab=\"", id, "\" aria-controls=\"", id,
               "\" aria-selected=\"false\" tabindex=\"-1\">", xml(table.title), "</button>");
    panels += cat("<section id=\"", id, "\" role=\"tabpanel\" aria-labelledby=\"tab-", id, "\">", table_html(table));
    if (!table.baselines.empty())
      panels += cat("<p class=\"note\">", present::plot::count_text(table.baselines.size(), "row", "rows"),
                    " of the baseline itself, 1 by definition, left out</p>");
    panels += "</section>\n";
  }
  html += cat("<div id=\"tabs\"><div id=\"tab-bar\" role=\"tablist\" aria-label=\"Tables\">", bar, "</div>\n", panels,
              "</div>\n</main>\n");
  return present::plot::page_of(page.title, html, present::plot::report_page_script());
}

std::string written(ReportFormat format, const Output& text, const Output& csv, const Output& svg, const Output& html) {
  switch (format) {
    case ReportFormat::Text:
      return text();
    case ReportFormat::Csv:
      return csv();
    case ReportFormat::Svg:
      return svg();
    case ReportFormat::Png:
      return present::plot::rasterize(svg(), "png");
    case ReportFormat::Html:
      return html();
  }
  return {};
}

std::string joules_text(double joules) { return base::si_text(joules, "J", {.trims = false}); }

}  // namespace pagoda::lab::results
