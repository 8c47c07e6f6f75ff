// The picture: geometry recomputed from the inputs; text remains text; no NaN or infinity.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <regex>

#include "../../cmake/compact.h"
#include "draw/text.h"
#include "pagoda/base/sha256.h"
#include "pagoda/base/text.h"
#include "pagoda/documents/device.h"
#include "plot/draw.h"
#include "plot/plot_support.h"
#include "support/golden.h"
#include "support/sometimes.h"

namespace pagoda::present::plot {
namespace {

using test::measured_input;
using test::small_input;

// Pixel position of a value, by the definition of a logarithmic axis.
double pixel_x(const Scale& scale, double x) {
  const auto& [frame, plot] = scale;
  return plot.x0 +
         (plot.x1 - plot.x0) * (std::log10(x) - std::log10(frame.x0)) / (std::log10(frame.x1) - std::log10(frame.x0));
}
double pixel_y(const Scale& scale, double y) {
  const auto& [frame, plot] = scale;
  return plot.y1 -
         (plot.y1 - plot.y0) * (std::log10(y) - std::log10(frame.y0)) / (std::log10(frame.y1) - std::log10(frame.y0));
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
  const Scale& scale = layout.scale;
  const Frame& frame = scale.frame;
  int checked = 0;
  for (const RoofMark& mark : layout.roofs) {
    REQUIRE(mark.line);
    CAPTURE(mark.roof->id);
    if (mark.roof->id == "dram") {
      // From the left end of the frame, on the 1 TB/s line, to the highest roof drawn, 10 TFLOP/s.
      CHECK(mark.line->x0 == doctest::Approx(pixel_x(scale, frame.x0)));
      CHECK(mark.line->y0 == doctest::Approx(pixel_y(scale, frame.x0 * 1e12)));
      CHECK(mark.line->x1 == doctest::Approx(pixel_x(scale, 10)));
      CHECK(mark.line->y1 == doctest::Approx(pixel_y(scale, 10e12)));
      ++checked;
    } else if (mark.roof->id == "vector-float32") {
      // From the intensity at which the fastest level, 4 TB/s, reaches the roof, to the right end.
      CHECK(mark.line->x0 == doctest::Approx(pixel_x(scale, 10e12 / 4e12)));
      CHECK(mark.line->x1 == doctest::Approx(pixel_x(scale, frame.x1)));
      CHECK(mark.line->y0 == doctest::Approx(pixel_y(scale, 10e12)));
      CHECK(mark.line->y1 == mark.line->y0);
      ++checked;
    }
  }
  CHECK(checked == 2);
  REQUIRE(layout.ridge);
  CHECK(layout.ridge->x == doctest::Approx(pixel_x(scale, 10)));
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
      if (has_line(mark.roof->shown && mark.line)) CHECK((mark.margin || !mark.text.empty()));
    }
    for (std::size_t i = 0; i < boxes.size(); ++i) {
      CHECK(boxes[i].inside(layout.scale.plot));
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
    CHECK(boxes.back().inside(layout.scale.plot));
    for (std::size_t j = 0; j < i; ++j) CHECK_FALSE(boxes[i].overlaps(boxes[j]));
    for (const RoofMark& mark : layout.roofs)
      for (const Box& box : mark.boxes) CHECK_FALSE(box.overlaps(boxes[i]));
    test::Sometimes has_line("a roof with a line");
    for (const RoofMark& mark : layout.roofs)
      if (has_line(mark.roof->shown && mark.line)) CHECK((mark.margin || !mark.text.empty()));
  }
}

// A chart of nodes given as {FLOPs, bytes}, all convolutions: of FP32, under the vector roof.
present::PlotInput with_nodes(const std::vector<std::pair<double, double>>& work) {
  present::PlotInput input = small_input();
  input.estimates.clear();
  std::string nodes;
  for (std::size_t i = 0; i < work.size(); ++i)
    nodes += (i == 0 ? "" : ",") +
             test::node(static_cast<int>(i), "n" + std::to_string(i), "Conv", work[i].first, work[i].second);
  if (!work.empty()) input.estimates = {present::read_plot_estimate("net.json", test::estimate(nodes))};
  return input;
}

// Roofs alone, a decoder's dots at one intensity, a network's dots, and dots without FLOPs.
const std::vector<std::vector<std::pair<double, double>>> kModels = {
    {},
    {{1e6, 1e6}, {2e6, 2e6}, {9e5, 1e6}},
    {{1e10, 1e7}, {3e8, 1e7}, {1e6, 8e6}, {1e6, 12e6}, {5e7, 1e6}},
    {{0, 5e7}, {0, 1e6}, {1e6, 1e6}}};

bool crosses(const Box& box, const Segment& line) {
  for (int i = 0; i <= 400; ++i) {
    const double part = i / 400.0, x = line.x0 + part * (line.x1 - line.x0), y = line.y0 + part * (line.y1 - line.y0);
    if (x > box.x0 && x < box.x1 && y > box.y0 && y < box.y1) return true;
  }
  return false;
}

TEST_CASE("on every machine, labels of roofs cover no other label and no line, in the order of their lines") {
  test::Sometimes has_margin("a label in the margin"), has_slope("a label along a slope"),
      has_rows("a label of several rows");
  for (const std::string& name : documents::device_ids())
    for (const auto& model : kModels)
      for (const bool is_paper : {false, true}) {
        CAPTURE(name);
        CAPTURE(model.size());
        CAPTURE(is_paper);
        present::PlotInput input = with_nodes(model);
        input.device = documents::device(name);
        Chart chart = make_chart(input, is_paper ? PlotOptions{.width_points = 241, .font_points = 7} : PlotOptions());
        fit_frame(chart);
        const Layout layout = make_layout(chart, 0);
        std::vector<const RoofMark*> margin;
        for (const RoofMark& mark : layout.roofs) {
          if (!mark.roof->shown || !mark.line) continue;
          CHECK((mark.margin || has_slope(!mark.text.empty())));
          if (has_margin(mark.margin)) margin.push_back(&mark);
          if (has_rows(mark.margin && mark.margin->rows.size() > 1)) CHECK(is_paper);
          for (const RoofMark& other : layout.roofs)
            for (const Box& box : mark.boxes) {
              if (other.line && other.roof->shown && &other != &mark) CHECK_FALSE(crosses(box, *other.line));
              for (const Box& second : other.boxes)
                if (&other != &mark) CHECK_FALSE(box.overlaps(second));
            }
        }
        std::ranges::stable_sort(margin, {}, [](const RoofMark* mark) { return mark->margin->line_y; });
        for (std::size_t i = 0; i < margin.size(); ++i) {
          const Box& box = margin[i]->margin->box;
          CHECK(box.x0 > layout.scale.plot.x1);
          CHECK(box.x1 <= chart.sheet.plot.x1 + 1);
          if (i > 0) CHECK(box.y0 >= margin[i - 1]->margin->box.y1 - 1e-9);
        }
      }
}

TEST_CASE("labels that are pushed apart keep their order and move as little as they can") {
  using Places = std::vector<double>;
  CHECK(spread({}, 10, 0, 100).empty());
  CHECK(spread({20, 50}, 10, 0, 100) == Places{20, 50});
  CHECK(spread({50, 50}, 10, 0, 100) == Places{45, 55});
  CHECK(spread({20, 50, 52, 54}, 10, 0, 100) == Places{20, 42, 52, 62});
  CHECK(spread({1, 2}, 10, 0, 100) == Places{5, 15});
  CHECK(spread({99, 99}, 10, 0, 100) == Places{85, 95});
}

TEST_CASE("on every machine, the frame holds the ridge and the dots that carry the time") {
  test::Sometimes has_main("a main roof");
  for (const std::string& name : documents::device_ids())
    for (const auto& model : kModels) {
      if (model.empty()) continue;
      CAPTURE(name);
      CAPTURE(model.size());
      present::PlotInput input = with_nodes(model);
      input.device = documents::device(name);
      Chart chart = make_chart(input, {});
      fit_frame(chart);
      const Roof& main = chart.roofs.compute[chart.roofs.main];
      if (has_main(chart.roofs.has_main)) CHECK(chart.frame.holds({chart.roofs.ridge(chart.roofs.main), main.value}));
      double outside = 0;
      for (const Dot& dot : chart.series[0].dots)
        if (!dot.rail && dot.estimated && !chart.frame.holds(*dot.estimated)) outside += dot.share;
      CHECK(outside <= 0.04);
    }
}

TEST_CASE("a light row far from all others does not stretch the frame: it is an open mark at the edge") {
  const present::PlotInput near = with_nodes({{1e10, 1e7}, {1e8, 1e7}}),
                           far = with_nodes({{1e10, 1e7}, {1e8, 1e7}, {1, 1e6}});
  Chart without = make_chart(near, {}), with = make_chart(far, {});
  fit_frame(without), fit_frame(with);
  REQUIRE(with.series[0].dots.back().estimated->x == doctest::Approx(1e-6));
  CHECK(with.frame.x0 == without.frame.x0);
  CHECK(with.series[0].outside == 1);
  const std::string svg = present::plot_svg(far);
  const std::size_t mark = svg.find("class=\"outside\"");
  REQUIRE(mark != std::string::npos);
  CHECK(svg.substr(mark, 40).find("fill=\"none\"") != std::string::npos);
  // A heavy one does.
  const present::PlotInput heavy_input = with_nodes({{1e10, 1e7}, {1e8, 1e7}, {1e4, 1e9}});
  Chart heavy = make_chart(heavy_input, {});
  fit_frame(heavy);
  CHECK(heavy.frame.x0 < 1e-5);
}

TEST_CASE("rows without FLOPs stand on a rail, as high as their share of the time, and never in the plot") {
  const present::PlotInput input = with_nodes({{0, 6e7}, {0, 2e7}, {1e6, 8e7}});
  Chart chart = make_chart(input, {});
  fit_frame(chart);
  const Layout layout = make_layout(chart, 0);
  REQUIRE(layout.rail.size() == 2);
  CHECK(layout.rail_share == doctest::Approx(0.5));
  const auto tall = [](const Box& box) { return box.y1 - box.y0; };
  CHECK(tall(layout.rail[0].box) / tall(layout.rail[1].box) == doctest::Approx(3));
  for (const RailMark& mark : layout.rail) {
    CHECK(mark.box.x0 > layout.axis);
    CHECK(mark.box.x1 < layout.scale.plot.x0);
    CHECK(mark.box.y1 <= layout.scale.plot.y1);
  }
  for (const DotMark& mark : layout.dots) CHECK_FALSE(chart.series[0].dots[mark.dot].rail);
  // The terminal has it, too: half of the lines.
  const std::string text = present::plot_text(input, {.lines = 20});
  std::size_t blocks = 0;
  for (const char* edge : {"│█", "┤█"})
    for (std::size_t at = text.find(edge); at != std::string::npos; at = text.find(edge, at + 1)) ++blocks;
  CHECK(blocks == 10);
}

TEST_CASE("a dot's area grows with its time over the whole range") {
  const auto area = [](double share) { return dot_radius(share) * dot_radius(share); };
  for (const double share : {0.0, 0.001, 0.1, 0.3, 0.8}) {
    CAPTURE(share);
    CHECK(area(share + 0.1) - area(share) == doctest::Approx(area(0.1) - area(0)));
  }
  CHECK(dot_radius(0) > 2);
}

TEST_CASE("a tick far below 1 is a power of ten, not a prefix of the axis' unit") {
  CHECK(decade(-5) == "10⁻⁵");
  CHECK(decade(-12) == "10⁻¹²");
  CHECK(Tick{2e-5, 2, -5}.label() == "2·10⁻⁵");
  CHECK(Tick{2e-2, 2, -2}.label() == "0.02");
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
  double all = 0, outside = 0;
  for (const Dot& dot : fitted.series[0].dots) {
    if (dot.rail || !dot.estimated) continue;
    all += dot.seconds;
    if (!fitted.frame.holds(*dot.estimated)) outside += dot.seconds;
  }
  CHECK(outside <= 0.04 * all);
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
  CHECK(percent_text(1.3e-8) == "<0.01%");
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
