// The page: the SVG picture, the chart's JSON and one script, in a single file that makes no network requests.
// Its content security policy allows exactly this script and this style, so that no name in a model can become code.
#include "page/page_files.h"

#include <algorithm>
#include <cctype>

#include "draw/text.h"
#include "page/parts.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/embedded_file.h"
#include "pagoda/base/sha256.h"
#include "pagoda/base/text.h"
#include "plot/draw.h"
#include "report/rows.h"

namespace pagoda::present::plot {

std::span<const base::EmbeddedFile> page_files();

namespace {

std::string_view file_text(std::string_view name) {
  const auto files = page_files();
  return std::ranges::find(files, name, &base::EmbeddedFile::name)->text;
}

std::string scripts(const std::vector<std::string_view>& names) { return base::joined(names, "", file_text); }

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

// The views below the chart; the reader chooses one (page/tabs.js).
struct Panel {
  std::string_view id, title, text;
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

// Columns of the operators' table, in its order: name, title, unit, meaning. The script computes and formats the cells.
std::string columns_json() {
  base::JsonWriter json;
  json.begin_array(base::JsonWriter::Layout::Compact);
  for (const documents::ResultColumn* column :
       documents::columns_of(documents::RowKind::Dot, documents::View::Terminal))
    json.begin_array()
        .value(column->name)
        .value(column->terminal.header)
        .value(documents::unit(column->kind))
        .value(column->meaning)
        .end_array();
  return std::move(json.end_array()).text();
}

std::string ladder_html(const std::vector<Rung>& ladder) {
  std::string html = "<ol id=\"ladder\" aria-label=\"Times on one scale\">";
  double longest = 0;
  for (const Rung& rung : ladder) longest = std::max(longest, rung.high.value_or(rung.seconds));
  const auto interval = [&](const Rung& rung) {
    return rung.low && rung.high
               ? cat("<path d=\"M", px(100 * *rung.low / longest), " 5H", px(100 * *rung.high / longest), "\"/>")
               : std::string();
  };
  for (const Rung& rung : ladder)
    html += cat("<li data-rung=\"", xml(rung.name), "\" data-seconds=\"", base::shortest(rung.seconds), "\"><span>",
                xml(rung.name),
                "</span><svg viewBox=\"0 0 100 10\" preserveAspectRatio=\"none\" aria-hidden=\"true\"><rect width=\"",
                px(100 * rung.seconds / longest), "\" height=\"10\"/>", interval(rung), "</svg><b>",
                report::time_text(rung), "</b></li>");
  return html + "</ol>";
}

// The headline, the actions, and the times on one scale.
std::string verdict_html(const Chart& chart) {
  const std::optional<Verdict> verdict = verdict_of(chart);
  if (!verdict)
    return cat("<header class=\"verdict\"><h1 id=\"verdict\">", xml(chart.title), "</h1>\n",
               ladder_of(chart).empty() ? "" : ladder_html(ladder_of(chart)), "</header>\n");
  const auto part = [](std::string_view id, std::string_view text, bool is_bad = false) {
    return cat("<span id=\"verdict-", id, is_bad ? "\" class=\"bad\">" : "\">", xml(text), "</span>");
  };
  std::string actions, said;
  for (const report::Action& action : verdict->actions) actions += cat("<li>", xml(action.sentence()), "</li>");
  for (const auto& [name, separator, text] : verdict->parts())
    said += cat(separator, part(name, *text, verdict->is_blocked && said.empty()));
  return cat("<header class=\"verdict\"><div><h1 id=\"verdict\">", part("model", verdict->model), " ",
             before_machine(chart), " ", part("device", verdict->device), ": <span id=\"verdict-text\">", said,
             "</span></h1>\n<ol id=\"actions\">", actions, "</ol></div>\n", ladder_html(verdict->ladder),
             "</header>\n");
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
  const auto add = [&](const char* option, std::string_view value) {
    words.insert(words.end(), {option, std::string(value)});
  };
  for (const auto& [name, size] : document.bindings)
    if (size) add("--dim", cat(name, "=", *size));
  if (document.phase) add("--phase", to_string(document.phase->phase));
  if (document.training) words.emplace_back("--training"), add("--optimizer", to_string(document.training->optimizer));
  add("--device", chart.device.id.empty() ? "DEVICE" : chart.device.id);
  if (document.roofline && document.roofline->precision) add("--precision", option_name(*document.roofline->precision));
  if (document.roofline && document.roofline->parallel) {
    const ParallelOptions& devices = document.roofline->parallel->devices;
    for (const auto& [option, count] : {std::pair{"--tensor-parallel", devices.tensor},
                                        {"--pipeline-parallel", devices.pipeline},
                                        {"--expert-parallel", devices.expert}})
      if (count > 1) add(option, std::to_string(count));
  }
  if (!document.training && document.roofline) add("--traffic", to_string(document.roofline->traffic));
  add("-o", "page.html");
  return base::joined(words, " ", quoted);
}

// For a page without formulas: the command that answers other requests.
std::string no_formulas_html(const Chart& chart) {
  std::string html;
  for (const ChartEstimate& estimate : chart.estimates)
    html += cat("<li>", estimate.document().training ? "another step: " : "", "<code>",
                xml(command_of(estimate, chart)), "</code></li>");
  if (html.empty()) return "";
  return cat(
      "<details id=\"no-formulas\"><summary>Other sizes, precisions and devices</summary><p>This page holds counts and "
      "no formulas. A page of one model by onnx-estimate answers what-if at once:</p><ul>",
      html, "</ul></details>\n");
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

// A table whose first column names the rows. A grid without headers gets no table head.
std::string table_html(const base::Grid& grid, const char* label) {
  const auto cell = [](const char* element, const base::Column& column, const std::string& text, const char* scope) {
    return cat("<", element, scope, column.is_number ? " class=\"number\">" : ">", xml(text), "</", element, ">");
  };
  std::string html = "<table aria-label=\"" + xml(label) + "\">";
  if (std::ranges::any_of(grid.columns, [](const base::Column& column) { return !column.header.empty(); })) {
    html += "<thead><tr>";
    for (const base::Column& column : grid.columns) html += cell("th", column, column.header, " scope=\"col\"");
    html += "</tr></thead>";
  }
  html += "<tbody>";
  for (const std::vector<std::string>& row : grid.rows) {
    html += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i)
      html += i == 0 ? cell("th", grid.columns[i], row[i], " scope=\"row\"") : cell("td", grid.columns[i], row[i], "");
    html += "</tr>";
  }
  return html + "</tbody></table>";
}

std::string section(const char* id, const char* title, const std::string& content) {
  return "<section class=\"answer\" id=\"" + std::string(id) + "\"><h2>" + title + "</h2>" + content + "</section>\n";
}

// Work, memory, traffic, phase, fit, time, advice, the heaviest rows; for training also the step.
std::string answer_html(const documents::EstimateDocument& estimate) {
  const ReportOptions options;
  std::string tables = table_html(report::answer_grid(report::collect(estimate, options)), "Answer");
  if (estimate.training)
    tables += table_html(rows_grid(documents::RowKind::Part, estimate), "Training step") +
              table_html(report::training_memory_grid(*estimate.training), "Memory of a training step");
  return section("in-words", "Answer", tables);
}

// Which nodes the asked providers leave, and why.
std::string placement_html(const documents::EstimateDocument& estimate) {
  if (estimate.placement.empty()) return "";
  std::string content;
  if (estimate.placement.size() == 1) {
    for (const std::string& line : report::placement_lines(estimate, estimate.placement.front()))
      content += cat("<li>", xml(line), "</li>");
    content = cat("<ul>", content, "</ul>");
  } else {
    content = table_html(report::placements_grid(estimate), "Providers");
    for (const std::string& line : report::refused_lines(estimate)) content += cat("<p>", xml(line), "</p>");
  }
  if (report::has_reasons(estimate)) content += table_html(report::reasons_grid(estimate), "Nodes on the CPU");
  return section("placement", "Placement", content);
}

std::string tabs_html(const Chart& chart, std::string_view first) {
  const std::vector<View> views = draw_views(chart);
  // A sweep is what was asked for.
  if (first.empty() &&
      std::ranges::any_of(views, [](const View& view) { return std::string_view(view.kind) == "sweep"; }))
    first = "sweep";
  std::string bar, panels;
  for (const Panel& panel : kPanels) {
    bar +=
        cat("<button type=\"button\" role=\"tab\" id=\"tab-", panel.id, "\" data-tab=\"", panel.id,
            "\" aria-controls=\"", panel.id, "\" aria-selected=\"false\" tabindex=\"-1\">", panel.title, "</button>");
    panels += cat("<section id=\"", panel.id, "\" role=\"tabpanel\" aria-labelledby=\"tab-", panel.id, "\" hidden>");
    if (!panel.text.empty()) panels += cat("<p class=\"says\">", panel.text, "</p>");
    panels += "<div class=\"body\"></div>";
    for (const View& view : views)
      if (view.kind == panel.id)
        panels += cat("<figure class=\"view\" data-view=\"", view.kind, "\" data-s=\"", view.series, "\" aria-label=\"",
                      xml(view.title), "\">\n", view.svg, "</figure>\n");
    if (panel.id == "energy" && chart.energy)
      panels += cat("<figure class=\"energy\" aria-label=\"energy\">\n", energy_figure(chart), "</figure>\n");
    panels += "</section>\n";
  }
  return cat("<div id=\"tabs\"><div id=\"tab-bar\" role=\"tablist\" aria-label=\"Views\" data-first=\"", first, "\">",
             bar, "</div>\n", panels, "</div>\n");
}

}  // namespace

std::string page_file(std::string_view name, const std::map<std::string_view, std::string>& values) {
  std::string text;
  std::string_view rest = file_text(name);
  for (std::size_t hole = rest.find("{{"); hole != std::string_view::npos; hole = rest.find("{{")) {
    const std::size_t end = rest.find("}}", hole);
    text.append(rest.substr(0, hole)).append(values.at(rest.substr(hole + 2, end - hole - 2)));
    rest.remove_prefix(end + 2);
  }
  return text.append(rest);
}

std::string report_page_script() { return scripts({"kit.js", "report.js"}); }

std::string page_of(std::string_view title, const std::string& body, std::string_view script) {
  const std::string code = cat("\"use strict\";(()=>{", script, "})();\n"), style(file_text("page.css"));
  return page_file("page.html", {{"script_hash", base::base64(base::sha256(code))},
                                 {"style_hash", base::base64(base::sha256(style))},
                                 {"title", xml(title)},
                                 {"style", style},
                                 {"body", body},
                                 {"script", code}});
}

std::string chart_html(const Chart& chart, std::string_view first) {
  const documents::EstimateDocument* answered = chart.estimates.size() == 1 ? &chart.estimates[0].document() : nullptr;
  const std::string columns = columns_json(), what_if = what_if_json(chart), pairs = pairs_json(chart);
  std::string warnings, facts, more_data;
  for (const std::string& warning : chart.warnings) warnings += cat("<li>", xml(warning), "</li>");
  if (!warnings.empty()) warnings = cat("<div class=\"check\"><strong>Check</strong><ul>", warnings, "</ul></div>\n");
  for (const auto& [key, value] : chart.provenance) facts += cat("<dt>", xml(key), "</dt><dd>", xml(value), "</dd>");
  for (const auto& [id, json] :
       {std::pair{"columns-data", &columns}, {"what-if-data", &what_if}, {"pairs-data", &pairs}})
    if (!json->empty())
      more_data += cat("\n<script type=\"application/json\" id=\"", id, "\">", in_script(*json), "</script>");
  std::string budgets;  // the requested limits, met or not, with the causes
  if (answered != nullptr && answered->budgets)
    budgets = section("budgets", "Budgets", table_html(report::budgets_grid(*answered->budgets), "Budgets"));
  const std::string body =
      page_file("chart.html", {{"verdict", verdict_html(chart)},
                               {"budgets", budgets},
                               {"what_if", what_if.empty() ? no_formulas_html(chart) : page_file("what_if.html")},
                               {"roofline", draw_roofline(chart, false)},
                               {"placement", answered == nullptr ? "" : placement_html(*answered)},
                               {"warnings", warnings},
                               {"tabs", tabs_html(chart, first)},
                               {"answer", answered == nullptr ? "" : answer_html(*answered)},
                               {"facts", facts},
                               {"chart", in_script(chart_json(chart))},
                               {"more_data", more_data}});
  std::vector<std::string_view> names = {"kit.js",   "data.js",   "state.js",     "roofline.js",
                                         "table.js", "hover.js",  "structure.js", "timeline.js",
                                         "types.js", "fusion.js", "energy.js",    "tabs.js"};
  if (!pairs.empty()) names.emplace_back("compare.js");
  if (!what_if.empty()) names.emplace_back("what_if.js");
  names.emplace_back("main.js");
  return page_of(chart.title, body, scripts(names));
}

}  // namespace pagoda::present::plot
