// The page: the SVG picture, the chart's JSON and one script, in a single file that makes no network requests.
// Its content security policy allows exactly this script and this style, so that no name in a model can become code.
#include "page/page_files.h"

#include <algorithm>
#include <cctype>

#include "draw/text.h"
#include "page/answer_html.h"
#include "page/pairs.h"
#include "page/views.h"
#include "page/what_if.h"
#include "pagoda/base/text.h"
#include "plot/draw.h"
#include "plot/outputs.h"
#include "plot/verdict.h"

namespace pagoda::present::plot {
namespace {

// JSON inside a script element: "<" could end the element or open a comment, so it is written as an escape. Blanks
// between tokens are left out.
std::string in_script(const std::string& json) {
  std::string text;
  text.reserve(json.size());
  bool is_quoted = false, is_escaped = false;
  for (const char c : json) {
    if (c == '"' && !is_escaped) is_quoted = !is_quoted;
    is_escaped = is_quoted && c == '\\' && !is_escaped;
    if (c == '<')
      text += "\\u003c";
    else if (is_quoted || (c != ' ' && c != '\n'))
      text += c;
  }
  return text;
}

constexpr std::string_view kWhatIf = R"(<form id="what-if" aria-label="What if" hidden><div id="what-if-sizes"></div>
<label>Precision <select id="what-if-precision"></select></label>
<label>Device <select id="what-if-device"></select></label>
<label>Traffic <select id="what-if-traffic"><option value="0">unfused</option><option value="1">fused</option><option value="2">resident</option></select></label>
<button id="what-if-reset" type="button" disabled>As asked</button>
<dl id="answer" aria-live="polite"></dl>
<p id="what-if-note" hidden>Greyed parts do not show this request; this command does: <code id="what-if-command"></code></p></form>
)";

constexpr std::string_view kPlotBar = R"(<div class="bar">
<label>Model <select id="series"></select></label>
<span class="group" role="group" aria-label="Frame"><button id="zoom-reset" type="button" aria-pressed="true" title="The dots with 99 % of the time; double click or 0">Fit</button><button id="machine" type="button" aria-pressed="false" title="The same axes for every model on this machine">Machine</button></span>
<label>Chart <select id="y" title="What the axes show"><option value="rate">roofline</option><option value="time">time over FLOP/B</option><option value="bytes">time over bytes</option></select></label>
<label>Colour <select id="color"><option value="type">type</option><option value="limit">limit</option><option value="share">% of roof</option><option value="precision">precision</option></select></label>
<span id="color-key"></span><span id="axes-note"></span>
</div>
)";

constexpr std::string_view kTable = R"(<section class="table"><h2 id="operators">Operators</h2>
<div class="bar"><input id="search" type="search" placeholder="Search operators" aria-label="Search operators by name, scope or type">
<label>Limit <select id="limit"><option value="">all</option><option value="memory">memory</option><option value="compute">compute</option><option value="latency">latency</option><option value="neither">neither roof</option><option value="unknown">unknown</option><option value="none">none</option></select></label>
<label>Heaviest <input id="share" type="range" min="1" max="100" value="100"><span id="share-text">100%</span></label>
<span id="status" role="status"></span></div>
<div id="rows" tabindex="0" role="region" aria-labelledby="operators" title="↑ and ↓ select, Enter opens"><table aria-labelledby="operators"><thead><tr></tr></thead><tbody></tbody></table></div><p id="printed"></p></section>
)";

constexpr std::string_view kMore = R"(<details class="more"><summary>Roofs, levels, export</summary><div class="bar">
<label>Bytes at <select id="level"><option value="dram">DRAM</option><option value="l2">L2</option><option value="l1">L1</option></select></label>
<label>Ridge of <select id="precision"></select></label>
<fieldset id="roof-boxes"><legend>Roofs</legend></fieldset>
<span class="end"><button id="clear" type="button">Clear</button><button id="save-svg" type="button">SVG</button><button id="save-png" type="button">PNG</button><button id="save-csv" type="button">CSV</button><button id="dark" type="button" aria-pressed="false">Dark</button></span></div></details>
)";

// The views below the chart; the reader chooses one (page/tabs.js).
struct Panel {
  std::string_view id, title, says;
};
// clang-format off
constexpr Panel kPanels[] = {
    {"compare",   "Compare",   "The first model before, another after. A row of time is matched by name, output, structure or operator."},
    {"structure", "Structure", "Time by part, coloured by limit: C compute, M memory, L latency, N neither roof. Layers with the same operators in order, each of the same work within 5 %, are one; a click shows only that part."},
    {"timeline",  "Timeline",  "Rows in order of execution."},
    {"types",     "Types",     "Time by operator type; a click shows only that type."},
    {"fusion",    "Fusion",    ""},
    {"energy",    "Energy",    ""},
    {"memory",    "Memory",    ""},
    {"gap",       "Gap",       ""},
    {"sweep",     "Sweep",     ""}};
// clang-format on

std::string part(const char* id, const std::string& text) {
  return "<span id=\"verdict-" + std::string(id) + "\">" + xml(text) + "</span>";
}

std::string ladder_html(const std::vector<Rung>& ladder) {
  if (ladder.empty()) return "";
  std::string html = "<ol id=\"ladder\" aria-label=\"Times on one scale\">";
  double longest = 0;
  for (const Rung& rung : ladder) longest = std::max(longest, rung.seconds);
  for (const Rung& rung : ladder)
    html += "<li data-rung=\"" + xml(rung.name) + "\" data-seconds=\"" + base::shortest(rung.seconds) + "\"><span>" +
            xml(rung.name) +
            "</span><svg viewBox=\"0 0 100 10\" preserveAspectRatio=\"none\" aria-hidden=\"true\"><rect width=\"" +
            px(100 * rung.seconds / longest) + "\" height=\"10\"/></svg><b>" + base::si_seconds(rung.seconds) +
            "</b></li>";
  return html + "</ol>";
}

// The headline, the actions, and the times on one scale.
std::string verdict_html(const Chart& chart) {
  const std::optional<Verdict> verdict = verdict_of(chart);
  if (!verdict)
    return "<header class=\"verdict\"><h1 id=\"verdict\">" + xml(chart.title) + "</h1>\n" +
           ladder_html(ladder_of(chart)) + "</header>\n";
  std::string html = "<header class=\"verdict\"><div><h1 id=\"verdict\">" + part("model", verdict->model) + " on " +
                     part("device", verdict->device) + ": " + part("time", verdict->time) + ", " +
                     part("bound", verdict->bound) + (verdict->fit.empty() ? "" : "; ") + part("fit", verdict->fit) +
                     "</h1>\n<ol id=\"actions\">";
  for (const std::string& action : verdict->actions) html += "<li>" + xml(action) + "</li>";
  return html + "</ol></div>\n" + ladder_html(verdict->ladder) + "</header>\n";
}

std::string quoted(const std::string& word) {
  const auto is_plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("_@%+=:,./-").find(c) != std::string_view::npos;
  };
  if (!word.empty() && std::ranges::all_of(word, is_plain)) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? "'\\''" : std::string(1, c);
  return text + "'";
}

// The command that recreates this page, so that a reader can change it.
std::string command_of(const ChartEstimate& estimate, const Chart& chart) {
  const documents::EstimateDocument& document = estimate.document();
  std::vector<std::string> words = {"onnx-estimate", document.model.path.empty() ? "MODEL.onnx" : document.model.path};
  const auto add = [&](std::initializer_list<std::string> more) { words.insert(words.end(), more); };
  for (const auto& [name, size] : document.bindings)
    if (size) add({"--dim", name + "=" + std::to_string(*size)});
  if (document.phase) add({"--phase", std::string(to_string(document.phase->phase))});
  if (document.training) add({"--training", "--optimizer", std::string(to_string(document.training->optimizer))});
  add({"--device", chart.device.id.empty() ? "DEVICE" : chart.device.id});
  if (document.roofline && document.roofline->precision)
    add({"--precision", std::string(option_name(*document.roofline->precision))});
  if (document.roofline && document.roofline->parallel) {
    const ParallelOptions& devices = document.roofline->parallel->devices;
    for (const auto& [option, count] : {std::pair{"--tensor-parallel", devices.tensor},
                                        {"--pipeline-parallel", devices.pipeline},
                                        {"--expert-parallel", devices.expert}})
      if (count > 1) add({option, std::to_string(count)});
  }
  if (document.traffic && document.traffic->model != TrafficModel::Unfused)
    add({"--traffic", std::string(to_string(document.traffic->model))});
  add({"-o", "page.html"});
  return base::joined(words, " ", quoted);
}

// For a page without formulas: the command that answers other requests.
std::string no_formulas_html(const Chart& chart) {
  std::string html;
  for (const ChartEstimate& estimate : chart.estimates) {
    const bool is_step = estimate.document().training.has_value();
    html += "<li>" + std::string(is_step ? "another step: " : "") + "<code>" + xml(command_of(estimate, chart)) +
            "</code></li>";
  }
  if (html.empty()) return "";
  return "<details id=\"no-formulas\"><summary>Other sizes, precisions and devices</summary><p>This page holds counts "
         "and "
         "no formulas. A page of one model by onnx-estimate answers what-if at once:</p><ul>" +
         html + "</ul></details>\n";
}

// The second picture of the page: its ids must differ from those of the first, and it needs no style of its own.
std::string energy_figure(const Chart& chart) {
  std::string svg = draw_roofline(energy_view(chart), true);
  constexpr std::string_view kEnd = "</style>\n";
  if (const std::size_t begin = svg.find("<style>"); begin != std::string::npos)
    svg.erase(begin, svg.find(kEnd, begin) + kEnd.size() - begin);
  for (const auto& [from, to] :
       {std::pair<std::string, std::string>{" id=\"", " id=\"energy-"},
        {"url(#", "url(#energy-"},
        {"\"roofline-title roofline-desc\"", "\"energy-roofline-title energy-roofline-desc\""}})
    for (std::size_t at = svg.find(from); at != std::string::npos; at = svg.find(from, at + to.size()))
      svg.replace(at, from.size(), to);
  return svg;
}

std::string tabs_html(const Chart& chart, std::string_view first) {
  const std::vector<View> views = draw_views(chart);
  std::string bar, panels;
  for (const Panel& panel : kPanels) {
    const std::string id(panel.id);
    bar += "<button type=\"button\" role=\"tab\" id=\"tab-" + id + "\" data-tab=\"" + id + "\" aria-controls=\"" + id +
           "\" aria-selected=\"false\" tabindex=\"-1\">" + std::string(panel.title) + "</button>";
    panels += "<section id=\"" + id + "\" role=\"tabpanel\" aria-labelledby=\"tab-" + id + "\" hidden>";
    if (!panel.says.empty()) panels += "<p class=\"says\">" + std::string(panel.says) + "</p>";
    panels += "<div class=\"body\"></div>";
    for (const View& view : views)
      if (view.kind == panel.id)
        panels += "<figure class=\"view\" data-view=\"" + view.kind + "\" data-s=\"" + std::to_string(view.series) +
                  "\" aria-label=\"" + xml(view.title) + "\">\n" + view.svg + "</figure>\n";
    if (id == "energy" && chart.energy)
      panels += "<figure class=\"energy\" aria-label=\"energy\">\n" + energy_figure(chart) + "</figure>\n";
    panels += "</section>\n";
  }
  return "<div id=\"tabs\"><div id=\"tab-bar\" role=\"tablist\" aria-label=\"Views\" data-first=\"" +
         std::string(first) + "\">" + bar + "</div>\n" + panels + "</div>\n";
}

}  // namespace

std::string chart_html(const Chart& chart, std::string_view first) {
  std::string html;
  html += verdict_html(chart);
  const documents::EstimateDocument* answered = chart.estimates.size() == 1 ? &chart.estimates[0].document() : nullptr;
  if (answered != nullptr) html += budgets_html(*answered);
  const std::string what_if = what_if_json(chart), pairs = pairs_json(chart);
  html += what_if.empty() ? no_formulas_html(chart) : std::string(kWhatIf);
  html += "<div class=\"split\"><section class=\"plot\" aria-label=\"Roofline\">\n";
  html += kPlotBar;
  html += "<div class=\"chart\">\n" + draw_roofline(chart, false) +
          "<div id=\"card\" role=\"tooltip\" aria-live=\"polite\" hidden></div>\n</div>\n<div id=\"legend\" "
          "class=\"legend\" role=\"group\" "
          "aria-label=\"Types\"></div>\n<p id=\"absent\"></p></section>\n";
  html += kTable;
  html += "</div>\n";
  html += kMore;
  if (!chart.warnings.empty()) {
    html += "<div class=\"check\"><strong>Check</strong><ul>";
    for (const std::string& warning : chart.warnings) html += "<li>" + xml(warning) + "</li>";
    html += "</ul></div>\n";
  }
  html += tabs_html(chart, first);
  if (answered != nullptr) html += answer_html(*answered);
  html += "<dl class=\"facts\">";
  for (const auto& [key, value] : chart.provenance) html += "<dt>" + xml(key) + "</dt><dd>" + xml(value) + "</dd>";
  html += "</dl>\n</main>\n<script type=\"application/json\" id=\"chart-data\">" + in_script(chart_json(chart)) +
          "</script>\n";
  for (const auto& [id, json] : {std::pair{"what-if-data", &what_if}, {"pairs-data", &pairs}})
    if (!json->empty())
      html += "<script type=\"application/json\" id=\"" + std::string(id) + "\">" + in_script(*json) + "</script>\n";
  return page_of(chart.title, "<main>\n" + html, page_script());
}

}  // namespace pagoda::present::plot
