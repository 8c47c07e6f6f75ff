// The chart model: roofs, frame, items, dots, and what is reported for items without a dot.
#include "plot/chart.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "pagoda/base/text.h"
#include "pagoda/documents/device.h"
#include "plot/draw.h"
#include "plot/plot_support.h"
#include "support/files.h"
#include "support/json_schema.h"

namespace pagoda::present::plot {
namespace {

using test::estimate;
using test::measured_input;
using test::node;
using test::small_input;
using test::small_nodes;

const Item& item(const Series& series, const std::string& name) {
  for (const Item& candidate : series.items)
    if (candidate.name == name) return candidate;
  FAIL("no item " << name);
  return series.items.front();
}

const Dot& dot(const Series& series, const std::string& name) {
  for (const Dot& candidate : series.dots)
    if (candidate.name == name) return candidate;
  FAIL("no dot " << name);
  return series.dots.front();
}

std::size_t absent(const Series& series, Absence absence) {
  return series.absent[static_cast<std::size_t>(absence)].first;
}

TEST_CASE("without bounds in the estimate, times follow from FLOPs, bytes and the roofs") {
  const Chart chart = make_chart(small_input(), {});
  const Series& series = chart.series.at(0);
  CHECK(*item(series, "conv").bound_seconds == doctest::Approx(1e9 / 10e12));
  CHECK(item(series, "conv").limit == Limit::Compute);
  CHECK(*item(series, "relu").bound_seconds == doctest::Approx(8e6 / 1e12));
  CHECK(item(series, "relu").limit == Limit::Memory);
  CHECK(series.seconds == doctest::Approx(1e-4 + 8e-6 + 24e-6 + 1e-6));
  CHECK(series.memory_share == doctest::Approx(33e-6 / 133e-6));
  CHECK(dot(series, "conv").estimated->x == doctest::Approx(1000));
  CHECK(dot(series, "conv").estimated->y == doctest::Approx(10e12));
}

TEST_CASE("the ridge is peak over bandwidth, of the roof of most FLOPs") {
  const Chart chart = make_chart(small_input(), {});
  CHECK(chart.roofs.compute.at(chart.roofs.main).value == 10e12);
  CHECK(chart.roofs.ridge(chart.roofs.main) == doctest::Approx(10));
  const Chart half = make_chart(small_input(), {.precision = Precision::Float16});
  CHECK(half.roofs.ridge(half.roofs.main) == doctest::Approx(100));
  CHECK_THROWS_AS(make_chart(small_input(), {.precision = Precision::Int4}), Error);
  // Time does not decide: 90 % of it is in FP32 additions, 99 % of the FLOPs are in FP16 products.
  present::PlotInput mixed = small_input();
  const auto as_half = [](std::string row) { return row.replace(row.rfind("float32"), 7, "float16"); };
  mixed.estimates = {present::read_plot_estimate(
      "net.json", estimate(as_half(node(0, "product", "Conv", 1e11, 1e8)) + "," + node(1, "sum", "Add", 1e8, 1e10)))};
  const Chart chart_of_both = make_chart(mixed, {});
  REQUIRE(item(chart_of_both.series[0], "sum").bound_seconds >
          9 * *item(chart_of_both.series[0], "product").bound_seconds);
  CHECK(chart_of_both.roofs.compute[chart_of_both.roofs.main].precisions.front() == Precision::Float16);
  CHECK(chart_of_both.roofs.has_main);
  // Half and half: no roof is the model's.
  mixed.estimates = {present::read_plot_estimate(
      "net.json", estimate(as_half(node(0, "product", "Conv", 1e9, 1e6)) + "," + node(1, "sum", "Add", 1e9, 1e6)))};
  CHECK_FALSE(make_chart(mixed, {}).roofs.has_main);
  CHECK_FALSE(make_layout(make_chart(mixed, {}), 0).ridge);
  mixed.estimates.clear();
  CHECK_FALSE(make_chart(mixed, {}).roofs.has_main);
}

TEST_CASE("FP32 work is not held against a narrower tensor roof") {
  const Chart chart = make_chart(small_input(), {});
  const Item& conv = item(chart.series.at(0), "conv");
  REQUIRE(conv.roof);
  CHECK(chart.roofs.compute[*conv.roof].precisions.front() == Precision::Float32);
}

TEST_CASE("the frame depends on the roofs alone") {
  present::PlotInput empty = small_input();
  empty.estimates.clear();
  const Frame with = make_chart(small_input(), {}).frame, without = make_chart(empty, {}).frame;
  CHECK(with.x0 == without.x0);
  CHECK(with.x1 == without.x1);
  CHECK(with.y0 == without.y0);
  CHECK(with.y1 == without.y1);
  CHECK(with.y1 >= 100e12);
  for (const double end : {with.x0, with.x1, with.y0, with.y1})
    CHECK(std::log10(end) == doctest::Approx(std::round(std::log10(end))));
  CHECK_THROWS_AS(make_chart(empty, {.x_limits = {{1, 1}}}), Error);
}

TEST_CASE("what is the same work is one dot, what has none is counted") {
  const Chart chart = make_chart(small_input(), {});
  const Series& series = chart.series.at(0);
  CHECK(series.items.size() == 6);
  CHECK(dot(series, "add_*").items.size() == 2);
  CHECK(dot(series, "copy").rail);
  CHECK(absent(series, Absence::ZeroFlops) == 1);
  CHECK(absent(series, Absence::NoWork) == 1);
  CHECK(absent(series, Absence::None) == 4);
}

TEST_CASE("unknown work is not a dot and a warning, never a zero") {
  present::PlotInput input = small_input();
  input.estimates = {present::read_plot_estimate(
      "net.json",
      R"({"schema": "pagoda.estimate/1", "model": {"path": "x.onnx"}, "totals": {"unmodelled_nodes": 1, "partial": true},
      "nodes": [{"index": 0, "name": "odd", "op_type": "Odd", "domain": "my", "inputs": [], "outputs": [], "macs": null, "flops": null, "bytes": null, "precision": null, "mark": "unmodelled"}]})")};
  const Chart chart = make_chart(input, {});
  CHECK(chart.series.at(0).dots.empty());
  CHECK(absent(chart.series.at(0), Absence::Unmodelled) == 1);
  CHECK_FALSE(item(chart.series.at(0), "odd").flops);
  REQUIRE_FALSE(chart.warnings.empty());
  CHECK(chart.warnings.front().find("not modelled") != std::string::npos);
}

TEST_CASE("a measured kernel is held against the bound of the nodes it joined") {
  const Chart chart = make_chart(measured_input(), {});
  REQUIRE(chart.series.size() == 1);
  const Series& series = chart.series[0];
  CHECK(*item(series, "conv").roof_share() == doctest::Approx(0.5));
  CHECK(item(series, "conv").limit == Limit::Neither);
  CHECK(*item(series, "relu").roof_share() == doctest::Approx(1));
  CHECK(item(series, "relu").limit == Limit::Memory);
  CHECK(series.seconds == doctest::Approx(2e-4 + 8e-6 + 24e-6 + 2e-6 + 1e-5));
  CHECK(absent(series, Absence::Unmeasured) == 1);  // add_2
  CHECK(item(series, "stray").nodes.empty());
  CHECK(*series.joined_share == doctest::Approx(1 - 1e-5 / series.seconds));
  CHECK(dot(series, "conv").measured->y == doctest::Approx(5e12));
  CHECK(dot(series, "conv").estimated->y == doctest::Approx(10e12));
}

TEST_CASE("the headline of kernels with a wall time is of the run, and says what lies between kernels") {
  const Chart chart = make_chart(measured_input(), {});
  const Series& series = chart.series.at(0);
  const double run = 1e-3, kernels = series.seconds;  // the file's own wall time, and the sum of its kernels
  CHECK(kernels == doctest::Approx(2.44e-4));
  CHECK(series.measured_star->seconds == run);
  const std::optional<Verdict> verdict = verdict_of(chart);
  REQUIRE(verdict);
  CHECK(verdict->time == "1.00 ms measured");
  CHECK(verdict->limit.starts_with(base::rounded(100 * series.bound_seconds / run, 2) + " % of what"));
  CHECK(verdict->ladder.back().seconds == run);
  CHECK(verdict->actions.at(0).sentence() == "756 µs, 75.6 % of the run, lies between kernels.");
  // Without a wall time, the sum of the kernels is all there is.
  present::PlotInput input = measured_input();
  std::string& text = input.measured[0].text;
  constexpr std::string_view kSeconds = "\"seconds\": 0.001";
  text.replace(text.find(kSeconds), kSeconds.size(), "\"seconds\": null");
  CHECK(verdict_of(make_chart(input, {}))->time == "kernels add up to " + base::si_seconds(kernels));
}

TEST_CASE("the time of kernels that overlap is the time in which any of them ran") {
  present::PlotInput input = measured_input();
  std::string& text = input.measured[0].text;
  constexpr std::string_view kSeconds = "\"seconds\": 0.001";
  text.replace(text.find(kSeconds), kSeconds.size(), "\"seconds\": null, \"busy_seconds\": 2e-4");
  CHECK(verdict_of(make_chart(input, {}))->time == "kernels ran for 200 µs");
  text.replace(text.find("2e-4"), 4, "2.42e-4");  // 99 % of the sum: clocks differ, nothing overlaps
  CHECK(verdict_of(make_chart(input, {}))->time == "kernels add up to 244 µs");
}

TEST_CASE("a sum of kernels of which one has no time is a lower bound, from which no rate or share follows") {
  present::PlotInput input = measured_input();
  std::string& text = input.measured[0].text;
  const auto set_null = [&](std::string_view seconds) {
    text.replace(text.find(seconds), seconds.size(), "\"seconds\": null");
  };
  set_null("\"seconds\": 2e-4");                               // of k_conv
  CHECK_FALSE(make_chart(input, {}).series[0].is_at_least());  // the run's own time holds
  CHECK(verdict_of(make_chart(input, {}))->time == "1.00 ms measured");
  set_null("\"seconds\": 0.001");
  const Chart chart = make_chart(input, {});
  CHECK(chart.series[0].is_at_least());
  CHECK_FALSE(chart.series[0].measured_star);
  const std::optional<Verdict> verdict = verdict_of(chart);
  REQUIRE(verdict);
  CHECK(verdict->time == "kernels add up to ≥ 44.0 µs");
  CHECK(verdict->limit.empty());
  CHECK(verdict->ladder.empty());
  CHECK(summary(chart, chart.series[0]).ends_with(" · ≥ 44 µs measured"));
  CHECK(chart_text(chart).find(" 0 s") == std::string::npos);
  // No comparison with another run.
  input.measured.push_back(measured_input().measured[0]);
  CHECK_FALSE(verdict_of(make_chart(input, {})));
}

TEST_CASE("a chart says on which machine a run was measured only if the file does") {
  present::PlotInput input = measured_input();
  const auto headline = [&] { return chart_text(make_chart(input, {.columns = 200})); };
  CHECK(headline().starts_with("net, batch=4 under the roofs of Small machine · "));
  std::string& text = input.measured[0].text;
  constexpr std::string_view kNone = "\"device\": null";
  text.replace(text.find(kNone), kNone.size(), "\"device\": \"Small machine\"");
  CHECK(headline().starts_with("net, batch=4 on Small machine · "));
}

TEST_CASE("a kernel has one limit in all outputs: one shorter than a launch has latency, unless it was measured") {
  present::PlotInput input = small_input();
  const Chart before = make_chart(input, {});
  const Item& conv = item(before.series.at(0), "conv");
  CHECK(conv.limit != Limit::Latency);
  input.device.launch_overhead_seconds.value = 2 * *conv.bound_seconds;
  CHECK(item(make_chart(input, {}).series.at(0), "conv").limit == Limit::Latency);
  CHECK(make_chart(input, {}).series[0].memory_share < before.series[0].memory_share + 1e-12);
}

TEST_CASE("a run with a time and no kernels is a star at the model's work over its time, beside the bound") {
  present::PlotInput input = small_input();
  const auto whole = [](const std::string& more) {
    return R"({"schema": "pagoda.measured/1", "source": "pagoda-bench", "tool": null, "device": null, "clocks": {},
      "repeats": 9, "warmup": 1, "missing": [], "notes": [], "kernels": [], )" +
           more + "}";
  };
  const std::string totals = R"(, "symbolic": {"macs": "0", "flops": "1000000*batch", "bytes": "5000 + 1000*batch"})";
  std::string text = estimate(small_nodes(), totals);
  text.replace(text.find(R"("totals": {})"), 12, R"("totals": {"flops": 4000000, "bytes": 9000})");
  input.estimates = {present::read_plot_estimate("net.json", text)};
  input.measured = {{"run.json", whole(R"("env": {"batch": 4}, "seconds": 1e-3,
      "seconds_spread": {"min": 8e-4, "max": 2e-3, "mean": 1e-3, "n": 9})")}};
  const Chart chart = make_chart(input, {});
  REQUIRE(chart.series.size() == 1);
  const Series& series = chart.series[0];
  REQUIRE(series.measured_star);
  CHECK(series.measured_star->y() == doctest::Approx(4e9));
  CHECK(series.measured_star->x() == doctest::Approx(4e6 / 9e3));
  CHECK(*series.measured_star->longest == 2e-3);
  CHECK(series.bound_star);                                           // the estimate's own star stays
  CHECK(dot(series, "conv").estimated->y == doctest::Approx(10e12));  // and so do its dots, with shares of the bound
  CHECK(dot(series, "conv").share > 0.5);
  const std::string svg = present::plot_svg(input);
  CHECK(svg.find("class=\"spread\"") != std::string::npos);
  CHECK(svg.find("class=\"star measured\"") != std::string::npos);
  CHECK(present::plot_csv(input).find("whole model") != std::string::npos);

  // Several batches of a model with a free batch make a path; a run of a size other than the estimate's is refused.
  text.replace(text.find(R"("batch": 4)"), 10, R"("batch": null)");
  input.estimates = {present::read_plot_estimate("net.json", text)};
  const std::string runs = R"("env": {}, "seconds": null, "runs": [
      {"config": {"batch": 8, "gpu_hz": 1}, "seconds": 2e-3}, {"config": {"batch": 1, "gpu_hz": 1}, "seconds": 1e-3}])";
  input.measured = {{"runs.json", whole(runs)}};
  const Chart many = make_chart(input, {});
  REQUIRE(many.series[0].runs.size() == 2);
  CHECK(many.series[0].runs[0].label == "batch=1");
  CHECK(many.series[0].runs[1].flops == 8e6);
  CHECK(many.series[0].runs[1].bytes == 13000);
  CHECK(present::plot_svg(input).find(">batch=8<") != std::string::npos);

  // Marks that lie on each other share a label.
  input.measured = {
      {"close.json", whole(R"("env": {}, "seconds": null, "runs": [{"config": {"batch": 1}, "seconds": 1e-3},
      {"config": {"batch": 63}, "seconds": 63e-3}, {"config": {"batch": 64}, "seconds": 64e-3}])")}};
  CHECK(present::plot_svg(input).find(">batch=63, 64<") != std::string::npos);
  input.measured = {{"runs.json", whole(runs)}};

  text.replace(text.find(R"("batch": null)"), 13, R"("batch": 2)");
  input.estimates = {present::read_plot_estimate("net.json", text)};
  CHECK_THROWS_WITH_AS(make_chart(input, {}),
                       "runs.json: none of its runs can be drawn: it ran batch=1, the estimate has 2; leave the dim "
                       "free, or estimate that size",
                       Error);
  input.measured = {
      {"more.json", whole(R"("env": {}, "seconds": null, "runs": [{"config": {"batch": 2}, "seconds": 1e-3},
      {"config": {"batch": 8}, "seconds": 2e-3}, {"config": {"batch": 4}, "seconds": 2e-3}])")}};
  const std::vector<std::string> warnings = make_chart(input, {}).warnings;
  CHECK(std::count_if(warnings.begin(), warnings.end(),
                      [](const std::string& warning) { return warning.find("not drawn") != std::string::npos; }) == 1);
  CHECK(
      std::count(warnings.begin(), warnings.end(),
                 "more.json: 2 runs are not drawn; the first: it ran batch=4, the estimate has 2; leave the dim free, "
                 "or estimate that size") == 1);
  input.estimates.clear();
  CHECK_THROWS_AS(make_chart(input, {}), Error);
}

TEST_CASE("nodes of one kernel are one item whose bytes are those that leave it") {
  present::PlotInput input = small_input();
  // conv writes v0 (1000 B), which only relu reads; relu's result v1 is read outside.
  input.estimates = {present::read_plot_estimate(
      "net.json", estimate(node(0, "conv", "Conv", 1e6, 5000) + "," +
                           node(1, "relu", "Relu", 250, 2000, R"("mark": "compute")", R"("v0")") + "," +
                           node(2, "next", "Relu", 250, 2000, R"("mark": "compute")", R"("v1")")))};
  input.measured = {
      {"run.json",
       R"({"schema": "pagoda.measured/1", "source": "tensorrt", "tool": null, "device": null, "clocks": {}, "env": {},
      "repeats": 1, "warmup": 0, "seconds": null, "seconds_spread": null, "missing": [], "notes": [], "kernels": [
      {"name": "fused", "node": null, "nvtx": null, "launches": 1, "seconds": 1e-6, "seconds_spread": null, "flops": null, "bytes": null,
       "energy_joules": null, "joined": {"rule": "fused name", "nodes": [0, 1]}}]})"}};
  const Chart chart = make_chart(input, {});
  const Item& fused = item(chart.series.at(0), "conv");
  CHECK(fused.nodes.size() == 2);
  CHECK(*fused.flops == doctest::Approx(1e6 + 250));
  CHECK(*fused.bytes == doctest::Approx(5000 + 2000 - 2 * 1000));
  CHECK(item(chart.series.at(0), "next").absence == Absence::Unmeasured);
}

TEST_CASE("a point far above its roof is drawn where it is, and warned of") {
  present::PlotInput input = measured_input();
  const std::size_t at = input.measured[0].text.find("2e-4");
  input.measured[0].text.replace(at, 4, "5e-5");  // half of the lower bound
  const Chart chart = make_chart(input, {});
  CHECK(dot(chart.series.at(0), "conv").above_roof);
  CHECK(dot(chart.series.at(0), "conv").measured->y == doctest::Approx(20e12));
  CHECK(std::any_of(chart.warnings.begin(), chart.warnings.end(),
                    [](const std::string& text) { return text.find("above the roof") != std::string::npos; }));
}

TEST_CASE("estimates of one model at several sizes make a path in order of size") {
  present::PlotInput input = small_input();
  const auto at_batch = [](const char* batch) {
    std::string text = estimate(small_nodes());
    return text.replace(text.find(R"("batch": 4)"), 10, std::string(R"("batch": )") + batch);
  };
  input.estimates = {present::read_plot_estimate("large.json", at_batch("100000")),
                     present::read_plot_estimate("b1.json", at_batch("1"))};
  const Chart chart = make_chart(input, {});
  REQUIRE(chart.path.size() == 2);
  CHECK(chart.path[0].label == "batch=1");
  CHECK(chart.path[1].label == "batch=100000");
  CHECK(chart.title == "net, batch=1 … 100000 on Small machine: float32 (file), unfused");
}

TEST_CASE("a title says precision and traffic, of each model where they differ") {
  present::PlotInput input = small_input();
  CHECK(make_chart(input, {}).title == "net, batch=4 on Small machine: float32 (file), unfused");
  CHECK(make_chart(measured_input(), {}).title ==
        "net, batch=4 under the roofs of Small machine: float32 (file), measured");
  std::string other = estimate(small_nodes());
  other.replace(other.find("net.onnx"), 8, "new.onnx");
  input.estimates.push_back(present::read_plot_estimate("new.json", other));
  CHECK(make_chart(input, {}).title.ends_with("on Small machine: float32 (file), unfused"));
  input.estimates[1].document.precision = Precision::Float16;
  const std::string title = make_chart(input, {}).title;
  CAPTURE(title);
  CHECK(title.find(" [float32 (file), unfused] · ") != std::string::npos);
  CHECK(title.ends_with(" [float16, unfused] on Small machine"));
  input.estimates.clear();
  CHECK(make_chart(input, {}).title == "Roofline of Small machine");
}

TEST_CASE("a measured kernel is held against the roof of the format that its counters name") {
  present::PlotInput input = measured_input();
  input.device.peaks.push_back({Precision::Tf32, Unit::Tensor, {}, {40e12, "test"}});
  const double before = *item(make_chart(input, {}).series[0], "conv").bound_seconds;
  std::string& text = input.measured[0].text;
  constexpr std::string_view kNone = "\"flops\": null";  // of the first kernel, k_conv
  text.replace(text.find(kNone), kNone.size(), R"("flops": {"tf32.tensor": 9e8, "float32": 1e6})");
  const Chart chart = make_chart(input, {});
  const Item& conv = item(chart.series[0], "conv");
  CHECK(*conv.bound_seconds == doctest::Approx(before / 4));
  CHECK(chart.roofs.compute[*conv.roof].precisions.front() == Precision::Tf32);
  CHECK(conv.dtype == "float32 as tf32");
  CHECK(chart.series[0].ran_in == Precision::Tf32);
  CHECK(chart.title == "net, batch=4 under the roofs of Small machine: tf32, measured");
}

TEST_CASE("counts that are only lower bounds stay lower bounds in charts") {
  present::PlotInput input = small_input();
  CHECK(chart_json(make_chart(input, {})).find("at_least") == std::string::npos);
  documents::EstimateNode& conv = input.estimates[0].document.nodes[0];
  conv.counts.flops = conv.counts.flops.at_least();
  const Chart chart = make_chart(input, {});
  CHECK(item(chart.series[0], "conv").at_least);
  CHECK_FALSE(item(chart.series[0], "relu").at_least);
  test::check_schema(chart_json(chart), "chart");
  CHECK(chart_text(chart).find("≥ 100 µs") != std::string::npos);
}

TEST_CASE("two estimates of one model and size are told apart by their files") {
  present::PlotInput input = small_input();
  input.measured.clear();
  const std::string text = estimate(small_nodes());
  input.estimates = {present::read_plot_estimate("folder/before.json", text),
                     present::read_plot_estimate("after.json", text)};
  const Chart chart = make_chart(input, {});
  REQUIRE(chart.series.size() == 2);
  CHECK(chart.series[0].label == "net, batch=4 (before)");
  CHECK(chart.series[1].label == "net, batch=4 (after)");
}

TEST_CASE("a chart as JSON satisfies its schema") {
  const auto from_file = [](const char* name) {
    const std::string path = test::source_path(std::string("tests/plot/data/") + name);
    return present::PlotFile{name, test::read_file(path)};
  };
  present::PlotInput files = small_input(), changed = small_input(), machines = small_input(), empty = small_input();
  files.estimates = {present::read_plot_estimate("small.json", from_file("small_estimate.json").text)};
  files.measured = {from_file("small_measured.json")};
  std::string faster = estimate(small_nodes());
  faster.replace(faster.find("net.onnx"), 8, "new.onnx");
  changed.estimates.push_back(present::read_plot_estimate("new.json", faster));
  machines.device.peaks.push_back({Precision::Int8, Unit::Tensor, {}, {200e12, "test"}});
  machines.others = {documents::device("orin-agx:30w")};
  empty.estimates.clear();
  for (const present::PlotInput& input : {small_input(), measured_input(), files, changed, machines, empty})
    test::check_schema(chart_json(make_chart(input, {.tool = "roofline-plot 1"})), "chart");
  test::check_schema(chart_json(make_chart(measured_input(), {.max_dots = 2})), "chart");
}

TEST_CASE("rates of integer formats are operations, not FLOPs") {
  present::PlotInput input = small_input();
  input.device.peaks.push_back({Precision::Int8, Unit::Tensor, {}, {200e12, "test"}});
  const Roofs roofs = make_roofs(input, std::nullopt);
  CHECK(roofs.compute[0].label() == "INT8 tensor 200 TOP/s");
  CHECK(roofs.compute[1].label() == "FP16 tensor 100 TFLOP/s");
  CHECK(roofs.bandwidth[0].label() == "DRAM 1 TB/s");
}

TEST_CASE("the lightest dots beyond the limit join by type and place and lose no time") {
  present::PlotInput input = small_input();
  std::string nodes;
  for (int i = 0; i < 500; ++i)
    nodes += (i == 0 ? "" : ",") + node(i, "n" + std::to_string(i), i % 2 == 0 ? "Conv" : "Add", 1e6 + i, 1e5 + 7 * i);
  input.estimates = {present::read_plot_estimate("net.json", estimate(nodes))};
  const Chart chart = make_chart(input, {.max_dots = 50});
  const Series& series = chart.series.at(0);
  CHECK(series.dots.size() < 80);
  CHECK(series.items.size() == 500);
  std::size_t items = 0;
  double share = 0;
  for (const Dot& each : series.dots) items += each.items.size(), share += each.share;
  CHECK(items == 500);
  CHECK(share == doctest::Approx(1));
  std::size_t aggregates = 0;
  for (const Dot& each : series.dots) {
    if (!each.aggregate) continue;
    ++aggregates;
    CHECK(each.items.size() > 1);
    CHECK(each.name == each.type + ", " + std::to_string(each.items.size()) + " others");
  }
  CHECK(aggregates > 0);
}

TEST_CASE("files that are no estimates are refused with what was expected") {
  for (const char* text :
       {"", "{", "[]", "{}", R"({"schema": "pagoda.device/1"})", R"({"schema": "pagoda.estimate/1"})",
        R"({"schema": "pagoda.estimate/1", "types": []})", R"({"schema": "pagoda.estimate/1", "nodes": [1]})",
        R"({"schema": "pagoda.estimate/1", "nodes": [], "totals": 3})",
        R"({"schema": "pagoda.estimate/1", "nodes": [{"flops": "many"}]})"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(present::read_plot_estimate("bad.json", text), Error);
  }
}

TEST_CASE("members that this version does not know are named and left out") {
  present::PlotInput input = small_input();
  input.estimates = {present::read_plot_estimate("net.json", estimate(small_nodes(), R"(, "colour": 3)"))};
  const Chart chart = make_chart(input, {});
  REQUIRE_FALSE(chart.warnings.empty());
  CHECK(chart.warnings.front() == "net.json: \"colour\" is not known to this version and was left out");

  std::string run = test::small_measured();
  run.insert(run.find('{') + 1, R"("colour": 3, )");
  input.measured = {{"run.json", run}};
  CHECK(make_chart(input, {}).warnings.front() == "run.json: \"colour\" is not known to this version and was left out");
}

}  // namespace
}  // namespace pagoda::present::plot

namespace pagoda::present {
namespace {

TEST_CASE("the peaks that a measured device told are roofs, and dots of its kernels lie below them") {
  const std::string measured =
      R"({"schema": "pagoda.measured/1", "source": "pagoda-profile", "tool": null, "device": "NVIDIA H200", "clocks": {}, )"
      R"("env": {}, "repeats": 1, "warmup": 0, "seconds": null, "seconds_spread": null, "kernels": [{"name": "gemm", )"
      R"("node": null, "nvtx": null, "launches": 1, "seconds": 0.001, "seconds_spread": null, "flops": {"bfloat16.tensor": )"
      R"(500000000000}, "bytes": {"dram_read": 1e9, "dram_write": 1e8, "dram": 1.1e9, "l2": 2e9, "l1": null}, )"
      R"("energy_joules": null, "device": 0}], "devices": [{"name": "NVIDIA H200", "chip": "GH100", )"
      R"("clocks": {"sm": 1.75e9}, "peaks": {"bfloat16.tensor": {"per_cycle": 540672, "per_second": 946176000000000}, )"
      R"("float16": {"per_cycle": 3, "per_second": null}, "int1.tensor": {"per_cycle": 1, "per_second": 5}, )"
      R"("bytes.dram": {"per_cycle": 1536, "per_second": 4916736000000}, )"
      R"("bytes.l2": {"per_cycle": 12288, "per_second": 21504000000000}}}], "missing": [], "notes": []})";
  const DeviceSpec device = documents::parse_device(measured, "run.json");
  CHECK(device.name == "NVIDIA H200");
  CHECK_FALSE(device.measured);       // stated, not measured
  REQUIRE(device.peaks.size() == 1);  // no number, or a format that is unknown here: no roof
  CHECK(*device.peak(Precision::Bfloat16, Unit::Tensor)->flops_per_second.value == 946176e9);
  REQUIRE(device.levels.size() == 2);
  CHECK(device.levels[0].level == "dram");
  CHECK(*device.level("l2")->bytes_per_second.value == 21504e9);
  CHECK_FALSE(device.memory_bytes().has_value());
  PlotInput input{.device = device};
  input.measured = {{"run.json", measured}};
  const std::string text = plot_text(input);
  CHECK(text.find("BF16 tensor 946 TFLOP/s") != std::string::npos);
  CHECK(text.find("DRAM 4.92 TB/s") != std::string::npos);
  CHECK(text.find("gemm") != std::string::npos);
  std::string without = measured;
  without.replace(without.find("bytes.dram\": {\"per"), 10, "bytes.none");
  CHECK_THROWS_WITH_AS(documents::parse_device(without, "run.json"), doctest::Contains("names no device with peaks"),
                       Error);
}

}  // namespace
}  // namespace pagoda::present
