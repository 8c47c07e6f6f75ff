// The page: the master picture, the chart's JSON and one script, in a single file that asks the network for nothing.
// Its policy allows exactly this script and this style, so that no name in a model can become code.
#include "plot/page_files.h"

#include <algorithm>

#include "pagoda/base/sha256.h"
#include "pagoda/base/text.h"
#include "plot/compact.h"
#include "plot/draw.h"
#include "plot/outputs.h"
#include "plot/text.h"
#include "plot/verdict.h"
#include "plot/views.h"
#include "plot/what_if.h"

namespace pagoda::present::plot {
namespace {

// JSON inside a script element: "<" could end the element or open a comment; it may be written as an escape.
std::string in_script(const std::string& json) {
  std::string text;
  text.reserve(json.size());
  for (const char c : json) {
    if (c == '<')
      text += "\\u003c";
    else if (c != '\n')  // between tokens only: strings escape theirs
      text += c;
  }
  return text;
}

std::string compact_style(std::string_view style) {
  std::string text;
  for (std::size_t i = 0; i < style.size(); ++i) {
    if (style.substr(i, 2) == "/*")
      i = style.find("*/", i) + 1;
    else if (style[i] == '\n' || (style[i] == ' ' && !text.empty() &&
                                  std::string_view("{};:,").find(text.back()) != std::string_view::npos))
      continue;
    else
      text += style[i];
  }
  return text;
}

constexpr std::string_view kWhatIf = R"(<form id="what-if" aria-label="What if" hidden><div id="what-if-sizes"></div>
<label>Precision <select id="what-if-precision"></select></label>
<label>Device <select id="what-if-device"></select></label>
<label>Traffic <select id="what-if-traffic"><option value="0">unfused</option><option value="1">fused</option></select></label>
<button id="what-if-reset" type="button" disabled>As asked</button>
<dl id="answer" aria-live="polite"></dl>
<p id="what-if-note" hidden>Greyed parts are of the request as asked; for this one run <code id="what-if-command"></code></p></form>
)";

constexpr std::string_view kPlotBar = R"(<div class="bar">
<span class="group" role="group" aria-label="Frame"><button id="zoom-reset" type="button" aria-pressed="true" title="The dots with 99 % of the time; double click or 0">Fit</button><button id="machine" type="button" aria-pressed="false" title="The same axes for every model on this machine">Machine</button></span>
<label>Y <select id="y" title="What the vertical axis shows"><option value="rate">FLOP/s</option><option value="time">time</option></select></label>
<label>Colour <select id="color"><option value="type">type</option><option value="limit">limit</option><option value="share">% of roof</option><option value="precision">precision</option></select></label>
<span id="color-key"></span>
</div>
)";

constexpr std::string_view kTable = R"(<section class="table"><h2 id="operators">Operators</h2>
<div class="bar"><input id="search" type="search" placeholder="Search operators" aria-label="Search operators by name, scope or type">
<label>Limit <select id="limit"><option value="">all</option><option value="memory">memory</option><option value="compute">compute</option><option value="neither">neither roof</option><option value="unknown">unknown</option><option value="none">none</option></select></label>
<label>Heaviest <input id="share" type="range" min="1" max="100" value="100"><span id="share-text">100%</span></label>
<span id="status" role="status"></span></div>
<div id="rows" tabindex="0" role="region" aria-labelledby="operators" title="↑ and ↓ select, Enter opens"><table aria-labelledby="operators"><thead><tr></tr></thead><tbody></tbody></table></div><p id="printed"></p></section>
)";

constexpr std::string_view kMore = R"(<details class="more"><summary>Roofs, levels, export</summary><div class="bar">
<label>Model <select id="series"></select></label>
<label>Bytes at <select id="level"><option value="dram">DRAM</option><option value="l2">L2</option><option value="l1">L1</option></select></label>
<label>Ridge of <select id="precision"></select></label>
<fieldset id="roof-boxes"><legend>Roofs</legend></fieldset>
<span class="end"><button id="clear" type="button">Clear</button><button id="save-svg" type="button">SVG</button><button id="save-png" type="button">PNG</button><button id="save-csv" type="button">CSV</button><button id="dark" type="button" aria-pressed="false">Dark</button></span></div></details>
)";

constexpr std::string_view kStructure =
    R"(<section id="structure" hidden><h2>Structure <small>time by part, coloured by what bounds it; alike layers as one; a click shows only that part</small></h2><div></div></section>
<section id="timeline" hidden><h2>Timeline <small>rows in order of execution, one after another</small></h2><div></div></section>
)";

std::string part(const char* id, const std::string& text) {
  return "<span id=\"verdict-" + std::string(id) + "\">" + xml(text) + "</span>";
}

// The headline, what to do, and the times on one scale.
std::string verdict_html(const Chart& chart) {
  const std::optional<Verdict> verdict = chart.series.empty() ? std::nullopt : verdict_of(chart, chart.series.front());
  if (!verdict || chart.series.size() > 1) return "<header><h1 id=\"verdict\">" + xml(chart.title) + "</h1></header>\n";
  std::string html = "<header class=\"verdict\"><div><h1 id=\"verdict\">" + part("model", verdict->model) + " on " +
                     part("device", verdict->device) + ": " + part("time", verdict->time) + ", " +
                     part("bound", verdict->bound) + (verdict->fit.empty() ? "" : "; ") + part("fit", verdict->fit) +
                     "</h1>\n<ol id=\"actions\">";
  for (const std::string& action : verdict->actions) html += "<li>" + xml(action) + "</li>";
  html += "</ol></div>\n<ol id=\"ladder\" aria-label=\"Times on one scale\">";
  double longest = 0;
  for (const Rung& rung : verdict->ladder) longest = std::max(longest, rung.seconds);
  for (const Rung& rung : verdict->ladder)
    html += "<li data-rung=\"" + xml(rung.name) + "\" data-seconds=\"" + base::shortest(rung.seconds) + "\"><span>" +
            xml(rung.name) +
            "</span><svg viewBox=\"0 0 100 10\" preserveAspectRatio=\"none\" aria-hidden=\"true\"><rect width=\"" +
            px(100 * rung.seconds / longest) + "\" height=\"10\"/></svg><b>" + base::si_seconds(rung.seconds) +
            "</b></li>";
  return html + "</ol></header>\n";
}

// The second picture of the page: its ids must differ from those of the first.
std::string energy_figure(const Chart& chart) {
  std::string svg = draw_roofline(energy_view(chart), true);
  for (const auto& [from, to] :
       {std::pair<std::string, std::string>{" id=\"", " id=\"energy-"},
        {"url(#", "url(#energy-"},
        {"\"roofline-title roofline-desc\"", "\"energy-roofline-title energy-roofline-desc\""}})
    for (std::size_t at = svg.find(from); at != std::string::npos; at = svg.find(from, at + to.size()))
      svg.replace(at, from.size(), to);
  return svg;
}

}  // namespace

std::string chart_html(const Chart& chart) {
  const std::string script = "\"use strict\";(()=>{" + compact_script(page_script()) + "})();\n",
                    style = compact_style(page_style());
  std::string html = "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
  html += "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'sha256-" +
          base::base64(base::sha256(script)) + "'; style-src 'sha256-" + base::base64(base::sha256(style)) +
          "'; img-src blob:; base-uri 'none'; form-action 'none'\">\n";
  html += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>" + xml(chart.title) +
          "</title>\n";
  html += "<style>" + style + "</style>\n</head>\n<body>\n<main>\n";
  html += verdict_html(chart);
  html += kWhatIf;
  html += "<div class=\"split\"><section class=\"plot\" aria-label=\"Roofline\">\n";
  html += kPlotBar;
  html += "<div class=\"chart\">\n" + draw_roofline(chart, false) +
          "<div id=\"card\" role=\"tooltip\" hidden></div>\n</div>\n<div id=\"legend\" class=\"legend\" role=\"group\" "
          "aria-label=\"Types\"></div>\n<p id=\"absent\"></p></section>\n";
  html += kTable;
  html += "</div>\n";
  html += kMore;
  if (!chart.warnings.empty()) {
    html += "<div class=\"check\"><strong>Check</strong><ul>";
    for (const std::string& warning : chart.warnings) html += "<li>" + xml(warning) + "</li>";
    html += "</ul></div>\n";
  }
  html += kStructure;
  html += "<div class=\"views\">\n";
  for (const View& view : draw_views(chart))
    html += "<figure class=\"view\" data-s=\"" + std::to_string(view.series) + "\"" +
            (view.series == 0 ? "" : " hidden") + " aria-label=\"" + xml(view.title) + "\">\n" + view.svg +
            "</figure>\n";
  html += "</div>\n";
  if (chart.energy) html += "<figure class=\"energy\" aria-label=\"energy\">\n" + energy_figure(chart) + "</figure>\n";
  html += "<dl class=\"facts\">";
  for (const auto& [key, value] : chart.provenance) html += "<dt>" + xml(key) + "</dt><dd>" + xml(value) + "</dd>";
  html += "</dl>\n</main>\n<script type=\"application/json\" id=\"chart-data\">" + in_script(chart_json(chart)) +
          "</script>\n";
  if (const std::string what_if = what_if_json(chart); !what_if.empty())
    html += "<script type=\"application/json\" id=\"what-if-data\">" + in_script(what_if) + "</script>\n";
  return html + "<script>" + script + "</script>\n</body>\n</html>\n";
}

}  // namespace pagoda::present::plot
