// The energy roofline: its arch by the closed form, its points by joules, several models, each in its own colour.
#include <doctest/doctest.h>

#include <cmath>
#include <regex>
#include <set>

#include "draw/text.h"
#include "plot/draw.h"
#include "plot/plot_support.h"
#include "support/json_schema.h"

namespace pagoda::present::plot {
namespace {

using doctest::Approx;

// 1 pJ/FLOP, 100 pJ/B, 20 W on 10 TFLOP/s and 1 TB/s.
DeviceEnergy small_energy() {
  return {.work = {{Precision::Float32, {1e-12, "test"}}},
          .joules_per_byte = {100e-12, "test"},
          .constant_watts = {20.0, "test"}};
}

std::string runs_of(const std::string& runs) {
  return R"({"schema": "pagoda.measured/1", "source": "jetson", "tool": null, "device": null, "clocks": {}, "env": {}, "repeats": 1, "warmup": 0,)"
         R"("seconds": null, "seconds_spread": null, "missing": [], "notes": [], "kernels": [], "runs": [)" +
         runs + "]}";
}
std::string run(int batch, double seconds, const std::string& watts) {
  return R"({"config": {"batch": )" + std::to_string(batch) + R"(}, "seconds": )" + std::to_string(seconds) +
         R"(, "watts": )" + watts + R"(, "energy_joules": null, "note": null})";
}

// Work 1e9·batch FLOP; traffic 1e6 + 1e7·batch B by default.
present::PlotEstimate free_batch(const std::string& name, const std::string& bytes = "1000000 + 10000000*batch") {
  std::string text =
      test::estimate(test::small_nodes(), R"(, "symbolic": {"macs": "batch", "flops": "1000000000*batch", "bytes": ")" +
                                              bytes + R"(", "activation_peak_bytes": "1"})");
  text.replace(text.find("\"batch\": 4"), 10, "\"batch\": null");
  text.replace(text.find("net.onnx"), 8, name + ".onnx");
  return present::read_plot_estimate(name + ".json", text);
}

const present::PlotInput& two_models() {
  static const present::PlotInput input = [] {
    present::PlotInput models = test::small_input();
    models.estimates = {free_batch("first"), free_batch("second")};
    models.measured = {{"first.json", runs_of(run(1, 0.001, "50") + "," + run(8, 0.004, "60"))},
                       {"second.json", runs_of(run(1, 0.002, "40") + "," + run(4, 0.005, "null"))}};
    models.device.energy = small_energy();
    return models;
  }();
  return input;
}

}  // namespace

TEST_CASE("the arch and its asymptotes follow from the constants") {
  const Chart chart = energy_view(make_chart(two_models(), {}));
  REQUIRE(chart.energy);
  REQUIRE(chart.energy->model);
  // τ_f = 0.1 ps, τ_m = 1 ps: for work only 1/(1 pJ + 2 pJ), for traffic only 1/(100 pJ + 20 pJ).
  CHECK(chart.roofs.compute[0].value == Approx(1 / 3e-12));
  CHECK(chart.roofs.bandwidth[0].value == Approx(1 / 120e-12));
  CHECK(chart.roofs.compute[0].unit_text() == "FLOP/J");
  CHECK(flops_per_joule(*chart.energy->model, 40) == Approx(1 / (1e-12 + 100e-12 / 40 + 2e-12)));
  const std::string svg = chart_svg(chart);
  CHECK(svg.find("id=\"arch\"") != std::string::npos);
  CHECK(svg.find("energy balance 100 FLOP/B") != std::string::npos);
  CHECK(svg.find("time balance 10 FLOP/B") != std::string::npos);
  CHECK(svg.find("Work per joule [FLOP/J]") != std::string::npos);
  CHECK_FALSE(std::regex_search(svg, std::regex("[^a-z]nan")));
}

TEST_CASE("runs stand at their work over their joules; one without joules is counted and not drawn") {
  const Chart chart = energy_view(make_chart(two_models(), {}));
  REQUIRE(chart.series.size() == 2);
  REQUIRE(chart.series[0].runs.size() == 2);
  CHECK(chart.series[0].runs[0].y() == Approx(1e9 / (0.001 * 50)));
  CHECK(chart.series[0].runs[1].y() == Approx(8e9 / (0.004 * 60)));
  CHECK(chart.series[1].runs.size() == 1);
  REQUIRE(chart.warnings.size() == 1);
  CHECK(chart.warnings[0].find("1 measured run or kernel has no joules") != std::string::npos);
}

TEST_CASE("of several runs of a size, the path leads through the best; the others stay as small marks") {
  present::PlotInput input = two_models();
  // Batch 1: the second mode is slower and takes less energy. Batch 8 has one run.
  input.measured[0].text = runs_of(run(1, 0.001, "50") + "," + run(8, 0.004, "60") + "," + run(1, 0.0015, "20"));
  const Chart time = make_chart(input, {});
  const auto seconds = [](const std::vector<Star>& stars) {
    std::vector<double> all;
    for (const Star& star : stars) all.push_back(star.seconds);
    return all;
  };
  CHECK(seconds(time.series[0].runs) == std::vector{0.001, 0.004});
  CHECK(seconds(time.series[0].other_runs) == std::vector{0.0015});
  CHECK(time.series[0].runs[0].label == "batch=1");
  CHECK(chart_svg(time).find("class=\"others\"") != std::string::npos);
  const Chart energy = energy_view(time);
  REQUIRE(energy.series[0].runs.size() == 2);
  CHECK(energy.series[0].runs[0].joules == doctest::Approx(0.0015 * 20));
  REQUIRE(energy.series[0].other_runs.size() == 1);
  CHECK(energy.series[0].other_runs[0].joules == doctest::Approx(0.001 * 50));
  // A table of a single size has a star, and marks beside it.
  input.measured[0].text = runs_of(run(1, 0.001, "50") + "," + run(1, 0.0015, "20"));
  const Chart one = make_chart(input, {});
  REQUIRE(one.series[0].measured_star);
  CHECK(one.series[0].measured_star->seconds == 0.001);
  CHECK(chart_svg(one).find("class=\"others\"") != std::string::npos);
  CHECK(energy_view(one).series[0].measured_star->joules == doctest::Approx(0.0015 * 20));
}

TEST_CASE("a chart of one model says what its stars are, and what its runs reach") {
  present::PlotInput input = two_models();
  input.estimates.pop_back();
  input.measured.pop_back();
  // 1 TFLOP/s at 90.9 FLOP/B and 2 TFLOP/s at 98.8 FLOP/B, below 10 TFLOP/s.
  const std::string svg = chart_svg(make_chart(input, {}));
  CHECK(svg.find(">measured whole model<") != std::string::npos);
  CHECK(svg.find(">whole model at its least time<") != std::string::npos);
  CHECK(svg.find(">whole model<") == std::string::npos);
  CHECK(svg.find("2 measured runs: 1 T … 2 TFLOP/s, 10 … 20% of the roofs.") != std::string::npos);
  // Without runs there is one kind of star.
  input.measured.clear();
  const std::string bounds = chart_svg(make_chart(input, {}));
  CHECK(bounds.find(">whole model<") != std::string::npos);
  CHECK(bounds.find(">measured whole model<") == std::string::npos);
}

// Five runs with joules of 2 pJ/FLOP, 50 pJ/B and 10 W, at `fixed_bytes` + 1e7·batch B.
std::string five_runs(double fixed_bytes) {
  std::string runs;
  for (const auto& [batch, seconds] : {std::pair{1, 0.01}, {2, 0.002}, {16, 0.01}, {64, 0.02}, {128, 0.5}}) {
    const double joules = 2e-12 * 1e9 * batch + 50e-12 * (fixed_bytes + 1e7 * batch) + 10 * seconds;
    runs += (runs.empty() ? "" : ",") + run(batch, seconds, std::to_string(joules / seconds));
  }
  return runs_of(runs);
}

TEST_CASE("without constants four runs with joules are fitted, and fewer are drawn without an arch") {
  present::PlotInput input = two_models();
  input.device.energy = std::nullopt;
  const Chart few = energy_view(make_chart(input, {}));
  CHECK_FALSE(few.energy->model);
  CHECK(chart_svg(few).find("id=\"arch\"") == std::string::npos);
  input.measured[0].text = five_runs(1e6);
  input.estimates.pop_back();
  input.measured.pop_back();
  const Chart fitted = energy_view(make_chart(input, {}));
  // FLOPs and bytes grow together here, so the fit can only separate their sum from the constant power.
  CHECK_FALSE(fitted.energy->model);
  // If most bytes are constant, the fit can separate all three.
  input.estimates = {free_batch("first", "1000000000 + 10000000*batch")};
  input.measured[0].text = five_runs(1e9);
  const Chart apart = energy_view(make_chart(input, {}));
  REQUIRE(apart.energy->model);
  CHECK(apart.energy->model->joules_per_flop == Approx(2e-12).epsilon(0.02));
  CHECK(apart.energy->model->joules_per_byte == Approx(50e-12).epsilon(0.02));
  CHECK(apart.energy->model->constant_watts == Approx(10).epsilon(0.02));
  CHECK(apart.energy->source.find("fitted to 5 runs") != std::string::npos);
  input.measured.clear();
  CHECK_THROWS_WITH_AS(energy_view(make_chart(input, {})), doctest::Contains("pagoda-calibrate --energy"), Error);
}

TEST_CASE("constants that the device's file leaves null are named with their reasons") {
  present::PlotInput input = two_models();
  input.device.energy->joules_per_byte = {std::nullopt, "not separable from other constants by a fit to 3 runs"};
  const Chart few = energy_view(make_chart(input, {}));
  CHECK_FALSE(few.energy->model);
  REQUIRE(few.warnings.size() == 2);
  CHECK(few.warnings[1].find("(joules_per_byte: not separable from other constants by a fit to 3 runs)") !=
        std::string::npos);
  // Runs that give all three of them take their place, and the chart says so.
  input.estimates = {free_batch("first", "1000000000 + 10000000*batch")};
  input.measured = {{"first.json", five_runs(1e9)}};
  const Chart fitted = energy_view(make_chart(input, {}));
  REQUIRE(fitted.energy->model);
  REQUIRE(fitted.warnings.size() == 1);
  CHECK(fitted.warnings[0].find("are not used (joules_per_byte: not separable") != std::string::npos);
  // Nothing to draw at all: the refusal has the reason, too.
  input.measured.clear();
  CHECK_THROWS_WITH_AS(energy_view(make_chart(input, {})), doctest::Contains("not separable"), Error);
}

TEST_CASE("a run far below the arch is inside the frame, and a chart without points has one") {
  present::PlotInput input = two_models();
  input.measured[0].text = runs_of(run(1, 1000, "50"));
  const Chart low = energy_view(make_chart(input, {}));
  REQUIRE(low.series[0].runs.size() == 1);
  CHECK(low.frame.y0 <= low.series[0].runs[0].y());
  input.device.energy = std::nullopt;
  for (auto& measured : input.measured) measured.text = runs_of(run(1, 0.002, "null"));
  input.measured[0].text = runs_of(run(1, 0.001, "50"));
  const Frame frame = energy_view(make_chart(input, {})).frame;
  CHECK(std::isfinite(frame.y0));
  CHECK(frame.y1 > frame.y0);
}

TEST_CASE("an energy chart is fitted to its runs and balances, and its legend has no empty part") {
  const Chart chart = energy_view(make_chart(two_models(), {}));
  for (const Series& series : chart.series)
    for (const Star& run : series.runs) CHECK(chart.frame.holds(run.place()));
  CHECK(chart.frame.holds({100, flops_per_joule(*chart.energy->model, 100)}));  // the energy balance
  CHECK(chart.frame.x1 / chart.frame.x0 <= 1e4);
  CHECK(chart_svg(chart).find(">Marks<") != std::string::npos);
  present::PlotInput input = two_models();
  input.estimates.clear();
  input.measured.clear();
  const std::string svg = chart_svg(energy_view(make_chart(input, {})));
  CHECK(svg.find(">Constants<") != std::string::npos);
  CHECK(svg.find(">Marks<") == std::string::npos);
  CHECK(svg.find(">Model<") == std::string::npos);
}

TEST_CASE("several models have colours, dots and labelled paths of their own, in a picture and in the data") {
  const Chart chart = make_chart(two_models(), {});
  CHECK(chart.by_model);
  CHECK(chart.series[0].label == "first");
  const Layout layout = make_layout(chart, 0);
  REQUIRE(layout.paths.size() == 2);
  for (const PathMark& path : layout.paths) {
    REQUIRE(path.labels.size() == path.stars.size());  // each point shows its size
    for (const StarLabel& label : path.labels)
      CHECK(std::all_of(label.text.begin(), label.text.end(), [](char c) { return c >= '0' && c <= '9'; }));
  }
  const std::string svg = chart_svg(chart);
  for (std::size_t i = 0; i < 2; ++i) {
    const std::string color(series_color(i)), s = std::to_string(i);
    CHECK(std::regex_search(svg, std::regex("data-kind=\"runs\" data-s=\"" + s + "\" fill=\"" + color)));
    const std::size_t group = svg.find("class=\"series\" data-s=\"" + s + "\"");
    REQUIRE(group != std::string::npos);
    CHECK(svg.substr(group, 60).find("display") == std::string::npos);
  }
  const std::string csv = chart_csv(chart);
  CHECK(csv.find("flops_per_joule") != std::string::npos);
  CHECK(csv.find("first,batch=8,whole model") != std::string::npos);
  const std::string json = chart_json(chart);
  CHECK(json.find("\"energy_balance\": 100") != std::string::npos);
  test::check_schema(json, "chart");
}

TEST_CASE("the page holds the energy roofline beside the other, with ids of its own") {
  const std::string html = chart_html(make_chart(two_models(), {}), "");
  CHECK(html.find("id=\"energy-roofline\"") != std::string::npos);
  std::set<std::string> ids;
  const std::regex id(" id=\"([^\"]+)\"");
  for (std::sregex_iterator at(html.begin(), html.end(), id); at != std::sregex_iterator(); ++at)
    CHECK_MESSAGE(ids.insert((*at)[1]).second, (*at)[1].str());
}

}  // namespace pagoda::present::plot
