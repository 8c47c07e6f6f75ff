// The picture: geometry recomputed from the inputs; text remains text; no NaN or infinity.
#include <doctest/doctest.h>

#include <cmath>
#include <regex>

#include "../../cmake/compact.h"
#include "draw/text.h"
#include "pagoda/base/sha256.h"
#include "pagoda/base/text.h"
#include "plot/draw.h"
#include "plot/plot_support.h"
#include "support/golden.h"
#include "support/sometimes.h"

namespace pagoda::present::plot {
namespace {

using test::measured_input;
using test::small_input;

const Box kPlot = Sheet().plot;

// Pixel position of a value, by the definition of a logarithmic axis.
double pixel_x(const Frame& frame, double x) {
  return kPlot.x0 +
         (kPlot.x1 - kPlot.x0) * (std::log10(x) - std::log10(frame.x0)) / (std::log10(frame.x1) - std::log10(frame.x0));
}
double pixel_y(const Frame& frame, double y) {
  return kPlot.y1 -
         (kPlot.y1 - kPlot.y0) * (std::log10(y) - std::log10(frame.y0)) / (std::log10(frame.y1) - std::log10(frame.y0));
}

present::PlotInput many(int count) {
  present::PlotInput input = small_input();
  std::string nodes;
  for (int i = 0; i < count; ++i)
    nodes +=
        (i == 0 ? "" : ",") + test::node(i, "/stage" + std::to_string(i / 7) + "/block" + std::to_string(i) + "/Conv",
                                         i % 3 == 0 ? "Conv" : "Relu", 1e6 * (1 + i * i % 97), 1e5 * (1 + i * 31 % 57));
  input.estimates = {present::read_plot_estimate("net.json", test::estimate(nodes))};
  return input;
}

TEST_CASE("roofs end where the inputs say") {
  const Chart chart = make_chart(small_input(), {});
  const Layout layout = make_layout(chart, 0);
  const Frame& frame = chart.frame;
  int checked = 0;
  for (const RoofMark& mark : layout.roofs) {
    REQUIRE(mark.line);
    CAPTURE(mark.roof->id);
    if (mark.roof->id == "dram") {
      // From the left end of the frame, on the 1 TB/s line, to the highest roof drawn, 10 TFLOP/s.
      CHECK(mark.line->x0 == doctest::Approx(pixel_x(frame, frame.x0)));
      CHECK(mark.line->y0 == doctest::Approx(pixel_y(frame, frame.x0 * 1e12)));
      CHECK(mark.line->x1 == doctest::Approx(pixel_x(frame, 10)));
      CHECK(mark.line->y1 == doctest::Approx(pixel_y(frame, 10e12)));
      ++checked;
    } else if (mark.roof->id == "vector-float32") {
      // From the intensity at which the fastest level, 4 TB/s, reaches the roof, to the right end.
      CHECK(mark.line->x0 == doctest::Approx(pixel_x(frame, 10e12 / 4e12)));
      CHECK(mark.line->x1 == doctest::Approx(pixel_x(frame, frame.x1)));
      CHECK(mark.line->y0 == doctest::Approx(pixel_y(frame, 10e12)));
      CHECK(mark.line->y1 == mark.line->y0);
      ++checked;
    }
  }
  CHECK(checked == 2);
  REQUIRE(layout.ridge);
  CHECK(layout.ridge->x == doctest::Approx(pixel_x(frame, 10)));
}

TEST_CASE("no label covers another label, a dot or the edge") {
  for (const int count : {1, 5, 40, 300}) {
    CAPTURE(count);
    const present::PlotInput input = many(count);
    const Chart chart = make_chart(input, {});
    const Layout layout = make_layout(chart, 0);
    std::vector<Box> boxes;
    for (const LabelMark& label : layout.labels) boxes.push_back(label.box);
    CHECK(boxes.size() >= std::min<std::size_t>(count, 5));
    test::Sometimes has_line("a roof with a line"), has_place("a dot with a place");
    for (const RoofMark& mark : layout.roofs) {
      for (const Box& box : mark.boxes)
        for (const LabelMark& label : layout.labels) CHECK_FALSE(box.overlaps(label.box));
      if (has_line(mark.roof->shown && mark.line)) CHECK_FALSE(mark.text.empty());
    }
    for (std::size_t i = 0; i < boxes.size(); ++i) {
      CHECK(boxes[i].inside(kPlot));
      for (std::size_t j = i + 1; j < boxes.size(); ++j) CHECK_FALSE(boxes[i].overlaps(boxes[j]));
      for (const DotMark& dot : layout.dots)
        if (const auto& at = dot.estimated; has_place(at))
          CHECK_FALSE(
              boxes[i].overlaps({at->x - dot.radius, at->y - dot.radius, at->x + dot.radius, at->y + dot.radius}));
    }
  }
}

TEST_CASE("names of several models stand beside their stars, off each other and inside the frame") {
  present::PlotInput input = small_input();
  input.measured.clear();
  const std::string text = test::estimate(test::small_nodes());
  input.estimates.clear();
  for (const std::string name : {"first_of_the_models", "second", "third_of_the_models", "fourth"}) {
    std::string other = text;
    input.estimates.push_back(
        present::read_plot_estimate(name + ".json", other.replace(other.find("net.onnx"), 8, name + ".onnx")));
  }
  const Chart chart = make_chart(input, {});
  const Layout layout = make_layout(chart, 0);
  REQUIRE(layout.star_names.size() == 4);
  std::vector<Box> boxes;
  for (std::size_t i = 0; i < 4; ++i) {
    const double x = layout.scale.x(chart.series[i].bound_star->x()),
                 y = layout.scale.y(chart.series[i].bound_star->y());
    const double width = 1.15 * text_width(star_name(chart, chart.series[i]), kLabelText);
    const NamePlace& place = layout.star_names[i];
    const double from = place.is_left ? x - 14 - width : x + 14;
    boxes.push_back({from, y + place.drop - 8, from + width, y + place.drop + 8});
    CHECK(boxes.back().inside(kPlot));
    for (std::size_t j = 0; j < i; ++j) CHECK_FALSE(boxes[i].overlaps(boxes[j]));
    for (const RoofMark& mark : layout.roofs)
      for (const Box& box : mark.boxes) CHECK_FALSE(box.overlaps(boxes[i]));
    test::Sometimes has_line("a roof with a line");
    for (const RoofMark& mark : layout.roofs)
      if (has_line(mark.roof->shown && mark.line)) CHECK_FALSE(mark.text.empty());
  }
}

TEST_CASE("the label of a roof close under another stands below its line") {
  present::PlotInput input = small_input();
  input.estimates.clear();
  input.measured.clear();
  input.device.peaks.push_back({Precision::Float64, Unit::Vector, {}, {9e12, "test"}});
  const Chart chart = make_chart(input, {});
  const Layout layout = make_layout(chart, 0);
  const auto mark_of = [&](std::string_view name) -> const RoofMark& {
    for (const RoofMark& mark : layout.roofs)
      if (mark.roof->name == name) return mark;
    FAIL("no roof " << name);
    std::abort();
  };
  const RoofMark &below = mark_of("FP64 vector"), &above = mark_of("FP32 vector");
  REQUIRE(below.line.has_value());
  REQUIRE(above.line.has_value());
  CHECK(below.line->y0 - above.line->y0 > 0);   // pixels grow downwards
  CHECK(below.line->y0 - above.line->y0 < 20);  // a label does not fit between
  CHECK(below.text_y > below.line->y0);
  CHECK(above.text_y < above.line->y0);
}

TEST_CASE("no output holds what is not a number") {
  for (const present::PlotInput& input : {small_input(), measured_input(), many(30)}) {
    std::string html = present::plot_html(input);
    html.resize(html.find("<script>\"use strict\""));  // the script itself mentions such numbers
    for (const auto& text : {present::plot_svg(input), present::plot_csv(input), present::plot_json(input), html}) {
      CHECK_FALSE(std::regex_search(text, std::regex(R"([^A-Za-z_.](nan|inf|NaN|Infinity)[^A-Za-z_(.])")));
    }
  }
}

TEST_CASE("the page allows exactly its own script and style and names no other place") {
  const std::string html = present::plot_html(measured_input());
  const auto between = [&](const char* begin, const char* end) {
    const std::size_t from = html.rfind(begin) + std::string(begin).size();
    return html.substr(from, html.find(end, from) - from);
  };
  CHECK(html.find("script-src 'sha256-" + base::base64(base::sha256(between("<script>", "</script>"))) + "'") !=
        std::string::npos);
  CHECK(html.find("style-src 'sha256-" + base::base64(base::sha256(between("<style>", "</style>"))) + "'") !=
        std::string::npos);
  CHECK(html.find("default-src 'none'") != std::string::npos);
  CHECK(html.substr(0, html.find("<script>")).find(" style=") == std::string::npos);  // the policy would ignore it
  for (std::size_t at = html.find("://"); at != std::string::npos; at = html.find("://", at + 1))
    CHECK(html.substr(at, 20) == "://www.w3.org/2000/s");
}

TEST_CASE("hostile names stay text") {
  present::PlotInput input = small_input();
  const std::string evil = R"(</script><script>alert(1)</script>\"'&<svg onload=alert(2)>]]>\u0001\u202e)";
  input.estimates = {present::read_plot_estimate(
      "net.json",
      test::estimate(test::node(0, evil, "Conv", 1e9, 1e6) + "," + test::node(1, "r", "<b>&\\\"", 1e6, 1e6)))};
  const std::string svg = present::plot_svg(input);
  CHECK(svg.find("<script") == std::string::npos);
  CHECK(svg.find("onload=alert(2)>") == std::string::npos);
  CHECK(svg.find('\x01') == std::string::npos);
  const std::string html = present::plot_html(input);
  CHECK(html.find("<script>alert") == std::string::npos);
  CHECK(html.find("<svg onload") == std::string::npos);
  const std::string json = present::plot_json(input);
  CHECK(json.find("alert(2)") != std::string::npos);  // JSON keeps the name unchanged
}

TEST_CASE("the picture is as it was reviewed") {
  test::check_golden("plot/small.svg", present::plot_svg(measured_input(), {.tool = "test"}));
}

// The extents of all text in a picture: x of its beginning and end.
std::vector<std::pair<double, double>> text_spans(const std::string& svg) {
  std::vector<std::pair<double, double>> spans;
  const std::regex kText("<text x=\"([-0-9.]+)\" y=\"[-0-9.]+\"([^>]*)>([^<]*)</text>");
  for (std::sregex_iterator at(svg.begin(), svg.end(), kText), end; at != end; ++at) {
    const std::string attributes = (*at)[2];
    if (attributes.find("rotate") != std::string::npos) continue;
    const double width = text_width((*at)[3].str(), 12), x = std::stod((*at)[1]);
    const double from = attributes.find("\"end\"") != std::string::npos      ? x - width
                        : attributes.find("\"middle\"") != std::string::npos ? x - width / 2
                                                                             : x;
    spans.emplace_back(from, from + width);
  }
  return spans;
}

TEST_CASE("a picture for a paper has the printed width, text of that size, and all of it inside") {
  const std::string svg = present::plot_svg(
      measured_input(), {.width_points = *present::points("85mm"), .font_points = *present::points("7pt")});
  CHECK(svg.find(" width=\"240.94pt\"") != std::string::npos);
  // Small text is 12 units high: 7 pt of 240.94 pt correspond to 12 of 413.05.
  CHECK(svg.find("viewBox=\"0 0 413.05 ") != std::string::npos);
  const auto spans = text_spans(svg);
  CHECK(spans.size() > 20);
  for (const auto& [from, to] : spans) {
    CHECK(from >= -1);
    CHECK(to <= 414);
  }
  CHECK_THROWS_WITH(present::plot_svg(measured_input(), {.width_points = 50.0}),
                    "a picture 50.00 pt wide has no room for text of 9.00 pt; expected at least 210.0 pt, or a smaller "
                    "--font-size");
}

TEST_CASE("lengths are those of print and of CSS") {
  CHECK(*present::points("72pt") == 72);
  CHECK(*present::points("1in") == 72);
  CHECK(*present::points("25.4mm") == doctest::Approx(72));
  CHECK(*present::points("2.54cm") == doctest::Approx(72));
  CHECK(*present::points("96px") == 72);
  for (const char* text : {"", "7", "mm", "-3mm", "0pt", "7 pts", "1em", "infpt"}) CHECK_FALSE(present::points(text));
}

TEST_CASE("a still picture's frame is what the dots need, or the machine's") {
  const present::PlotInput input = many(40);
  const Chart machine = make_chart(input, {});
  Chart fitted = machine;
  fit_frame(fitted);
  double low_x = INFINITY, high_x = 0, all = 0, outside = 0;
  for (const Dot& dot : fitted.series[0].dots) {
    if (dot.rail || !dot.estimated) continue;
    low_x = std::min(low_x, dot.estimated->x), high_x = std::max(high_x, dot.estimated->x);
    all += dot.seconds;
    if (!fitted.frame.holds(*dot.estimated)) outside += dot.seconds;
  }
  CHECK(outside <= 0.01 * all);
  CHECK(std::log10(high_x / low_x) / std::log10(fitted.frame.x1 / fitted.frame.x0) > 1.0 / 3);
  CHECK(fitted.frame.x0 > machine.frame.x0);
  CHECK(fitted.frame.x1 < machine.frame.x1);
  Chart kept = make_chart(input, {.machine_frame = true});
  fit_frame(kept);
  CHECK(kept.frame.x0 == machine.frame.x0);
  CHECK(kept.frame.y1 == machine.frame.y1);
}

TEST_CASE("a script loses its blanks and comments and nothing else") {
  // in                                                  out
  const std::vector<std::pair<std::string, std::string>> kCases = {
      {"const a = 1;  // one\n\n  let b = a;\n", "const a=1;let b=a;"},
      {"f(a,\n  b)\ng = {\n  c\n}\nh = 1", "f(a,b)\ng={c\n}\nh=1"},
      {"x = a + +b - -c;", "x=a+ +b- -c;"},
      {"f(\"a  //  b\", 'c /* d */');", "f(\"a  //  b\",'c /* d */');"},
      {"t = `a  ${ b + `c  ${ {d: 1} }` }  e`;", "t=`a  ${b+`c  ${{d:1}}`}  e`;"},
      {"r = /[\"/ ]+  x/g; q = a / b;", "r=/[\"/ ]+  x/g;q=a/b;"},
      {"return x in y;", "return x in y;"},
      {"return /[\",]/.test(a) ? \"b  c\" : 1; returns / 2;", "return/[\",]/.test(a)?\"b  c\":1;returns/2;"},
      {"s = \"\\\"  \";", "s=\"\\\"  \";"},
  };
  for (const auto& [in, out] : kCases) CHECK(compact_script(in) == out);
}

TEST_CASE("pages carry no comments and no indentation of their scripts and styles") {
  const std::string html = present::plot_html(small_input());
  const std::string script = html.substr(html.rfind("<script>")), style = html.substr(html.find("<style>"));
  REQUIRE(script.find("function draw_timeline(rows,holder){const s=series()") != std::string::npos);
  CHECK_FALSE(std::regex_search(script, std::regex("\n( |\n|//)")));
  CHECK(style.substr(0, style.find("</style>")).find_first_of('\n') == std::string::npos);
}

TEST_CASE("numbers read as people write them") {
  const std::vector<std::pair<double, std::string>> kCases = {{0, "0"},          {1, "1"},          {12.34, "12.3"},
                                                              {999.6, "1 k"},    {123456, "123 k"}, {4.8e12, "4.8 T"},
                                                              {1.2e-6, "1.2 µ"}, {1000, "1 k"}};
  for (const auto& [value, text] : kCases) CHECK(base::si_text(value, "") == text);
  CHECK(base::si_text(640, "FLOP/s") == "640 FLOP/s");
  CHECK(base::si_text(9.6e14, "FLOP/s") == "960 TFLOP/s");
  CHECK(decade(14) == "100 T");
  CHECK(decade(-2) == "0.01");
  CHECK(decade(0) == "1");
  CHECK(decade(4) == "10 k");
  CHECK(plain(0.08333) == "0.0833");
  CHECK(percent_text(0.12345) == "12.3%");
  CHECK(percent_text(1) == "100%");
  CHECK(px(1.005) == "1");
  CHECK(px(-0.5) == "-0.5");
}

TEST_CASE("hashes are those of the standard") {
  // FIPS 180-4 example messages.
  CHECK(base::hex(base::sha256("abc")) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(base::hex(base::sha256("")) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(base::hex(base::sha256(std::string(1000000, 'a'))) ==
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  CHECK(base::base64(base::sha256("")) == "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
}

TEST_CASE("the terminal picture is as it was reviewed") {
  test::check_golden("plot/small.txt", plot_text(measured_input()));
}

}  // namespace
}  // namespace pagoda::present::plot
