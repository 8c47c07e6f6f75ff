// Histories, the newest curve, tables, reasons and pictures.
#include <doctest/doctest.h>

#include <fstream>

#include "pagoda/lab/result_report.h"
#include "sample.h"
#include "support/json_schema.h"

namespace pagoda::lab {
namespace {

using test::append;
using test::made;
using test::Made;

Made timed(const std::string& model, const std::string& compile, double seconds, const std::string& time) {
  return {.model = model, .compile = compile, .run = [seconds] { return seconds; }, .time = time};
}

// Two models, two compile modes, three days; inductor becomes faster, eager does not.
std::vector<documents::Result> three_days() {
  std::vector<documents::Result> all;
  const double inductor[] = {1.0, 0.8, 0.5};
  for (int day = 0; day < 3; ++day) {
    const std::string time = "2026-03-0" + std::to_string(day + 1) + "T10:00:00Z";
    for (const std::string model : {"a", "b"}) {
      append(all, made(timed(model, "eager", 1.0, time)));
      append(all, made(timed(model, "inductor", inductor[day] * (model == "a" ? 1 : 0.5), time)));
    }
  }
  return all;
}

}  // namespace

TEST_CASE("a history is of days, and its baseline the oldest record of each series") {
  const std::vector<lab::Snapshot> days = lab::by_day(three_days());
  REQUIRE(days.size() == 3);
  const lab::History h = lab::history(days);
  REQUIRE(h.series.size() == 2);
  CHECK(h.series[0].name == "torch compile=eager");
  CHECK(h.series[0].points.at(2).geomean == doctest::Approx(1));
  CHECK(h.series[1].points.at(0).geomean == doctest::Approx(1));
  CHECK(h.series[1].points.at(2).geomean == doctest::Approx(2));
  CHECK(h.series[1].points.at(2).workloads == 2);
}

TEST_CASE("a baseline may be a snapshot or the values of axes") {
  const std::vector<lab::Snapshot> days = lab::by_day(three_days());
  CHECK(lab::history(days, "2026-03-02").series[1].points.at(2).geomean == doctest::Approx(1.6));
  const lab::History h = lab::history(days, "compile=eager");
  CHECK(h.series[1].points.at(0).geomean == doctest::Approx(std::sqrt(2)));  // of 1 and 2
  CHECK(h.series[1].points.at(2).percentiles[1] == doctest::Approx(3));      // of 2 and 4
  CHECK(h.series[1].latest.front().ratio == doctest::Approx(2));
  CHECK(h.series[1].latest.back().ratio == doctest::Approx(4));
  CHECK(h.series[1].latest_snapshot == "2026-03-03");
  CHECK_THROWS_WITH_AS(lab::history(days, "april"), doctest::Contains("AXIS=VALUE"), Error);
  CHECK_THROWS_AS(lab::history(days, "compile=xla"), Error);
}

TEST_CASE("calibration rows are inference of ONNX files, by family") {
  std::vector<documents::Result> results = made(timed("resnet50", "inductor", 0.001953125, "2026-03-01T10:00:00Z"));
  documents::Result named = results[0], training = results[0];
  results[0].config["model_file"] = std::string("models/resnet50_dynamic.onnx");
  training.config = results[0].config;
  training.config["mode"] = std::string("training");
  results.push_back(named);  // a name without a model file
  results.push_back(training);
  CHECK(results_csv(results, lab::ResultColumns::Calibration, {}, "h200") ==
        "model,family,batch,device,seconds\r\nmodels/resnet50_dynamic.onnx,resnet,1,h200,0.001953125\r\n");
  CHECK(lab::result_columns("calibration") == lab::ResultColumns::Calibration);
}

TEST_CASE("older tables keep their columns") {
  std::vector<documents::Result> results = made(timed("resnet50", "inductor", 0.001953125, "2026-03-01T10:00:00Z"));
  documents::Result& r = results[0];
  r.config["algorithm"] = std::string("winograd");
  r.config["input_size"] = std::int64_t{224};
  r.compile_seconds = 3;
  r.layers = {{.name = "conv1",
               .op_type = "Conv",
               .seconds = 0.00048828125,
               .facts = {{"in_channels", std::int64_t{3}},
                         {"out_channels", std::int64_t{64}},
                         {"input", std::string("224x224")},
                         {"kernel", std::string("7x7")},
                         {"stride", std::string("2x2")},
                         {"padding", std::string("3x3")}},
               .note = ""},
              {.name = "conv2", .op_type = "Conv", .seconds = {}, .facts = {}, .note = "refused"}};
  CHECK(results_csv(results, lab::ResultColumns::Overall) ==
        "Model,Algorithm,Device,Batch_Size,Input_Size,Execution_Time_ms,Mean_ms,Std_ms,Min_ms,Max_ms,Power_W,Energy_J\r\n"
        "resnet50,winograd,cpu,1,224,1.953125,1.953125,0,1.953125,1.953125,,\r\n");
  CHECK(results_csv(results, lab::ResultColumns::Layers) ==
        "Model,Layer,Algorithm,Device,Batch_Size,Input_Size,In_Channels,Out_Channels,Kernel_Size,Stride,Padding,"
        "Execution_Time_ms,Percentage_of_Total\r\nresnet50,conv1,winograd,cpu,1,224,3,64,7,2,3,0.48828125,25\r\n");
  const std::string latency = results_csv(results, lab::ResultColumns::Latency);
  CHECK(latency.starts_with("engine,version,providers,device,precision,optimizer,io_binding,model_name,inputs,"));
  CHECK(latency.find("\r\ntorch,,,cpu,,inductor,,resnet50,,,1,,,2026-03-01T10:00:00Z,60,512,1.953125,0,1.953125,1."
                     "953125,1.953125\r\n") != std::string::npos);
  const std::string metrics = results_csv(results, lab::ResultColumns::MetricReport);
  CHECK(metrics.starts_with("timestamp,suite_name,model_name,experiment_name,accelerator,"));
  CHECK(metrics.find(",inductor,eval,1,0,1,,0.001953125,0.001953125,,,3,\r\n") != std::string::npos);
  const std::string tidy = results_csv(results, lab::ResultColumns::Tidy, {{"resnet50", {{"nodes", 124.0}}}});
  CHECK(tidy.find("structure_nodes\r\n") != std::string::npos);
  CHECK(tidy.ends_with(",124\r\n"));
  const std::string layers = results_csv(results, lab::ResultColumns::TidyLayers);
  CHECK(layers.find(",conv2,Conv,,,refused,") != std::string::npos);
  CHECK(lab::result_columns("metric_report") == lab::ResultColumns::MetricReport);
  CHECK_FALSE(lab::result_columns("other").has_value());
}

TEST_CASE("a record becomes a measurement that the schema describes") {
  std::vector<documents::Result> results = made(timed("a", "eager", 0.002, ""));
  results[0].layers = {{.name = "conv1", .op_type = "Conv", .seconds = 0.0005, .facts = {}, .note = ""}};
  const std::string json = documents::write_measured(measured_of(results[0]));
  test::check_schema(json, "measured");
  const documents::Measured back = documents::parse_measured(json, "test");
  CHECK(back.seconds == 0.002);
  REQUIRE(back.kernels.size() == 1);
  CHECK(back.kernels[0].seconds == 0.0005);
  results[0].status = documents::ResultStatus::Timeout;
  CHECK_THROWS_WITH_AS(measured_of(results[0]), doctest::Contains("timeout"), Error);
}

TEST_CASE("a planted reason is found: its feature comes first and splits the tree") {
  std::map<std::string, double> speedups;
  lab::ModelFeatures features;
  test::Noise noise(5, 0.03), other(6, 1.0);
  for (int i = 0; i < 24; ++i) {
    const std::string model = "m" + std::to_string(i);
    const double launches = 10 + 37 * i % 200;
    speedups[model] = (launches > 100 ? 2.0 : 1.1) * noise();
    features[model] = {{"flops", 1e9 * other()}, {"launches", launches}, {"constant", 1.0}, {"unknown", {}}};
  }
  const lab::Explanation e = lab::explain("speed-up", speedups, features);
  CHECK(e.correlations.front().feature == "launches");
  CHECK(e.correlations.size() == 2);  // leaves out features that are constant or partly unknown
  CHECK(e.tree.front().feature == "launches");
  CHECK(e.tree.front().threshold == doctest::Approx(100).epsilon(0.1));
  CHECK(e.explained > 0.95);
  CHECK(*e.explained_unseen > 0.9);
  CHECK(e.shares.front().first == "launches");
  CHECK(e.ranks.front().second <= e.ranks.back().second);
}

TEST_CASE("where nothing is planted, the tree does not explain models that it has not seen") {
  std::map<std::string, double> speedups;
  lab::ModelFeatures features;
  test::Noise noise(7, 0.3), other(8, 1.0);
  for (int i = 0; i < 24; ++i) {
    const std::string model = "m" + std::to_string(i);
    speedups[model] = noise();
    for (int f = 0; f < 10; ++f) features[model].push_back({"f" + std::to_string(f), other()});
  }
  const lab::Explanation e = lab::explain("speed-up", speedups, features);
  CHECK(e.explained > 0.3);          // it seems to on the data that it has seen
  CHECK(*e.explained_unseen < 0.2);  // which is why both are reported
}

TEST_CASE("every report has every format, without dates and loading nothing") {
  const std::vector<lab::Snapshot> days = lab::by_day(three_days());
  const lab::History h = lab::history(days, "compile=eager");
  const lab::ResultComparison c = lab::compare_results(days[0].results, days[2].results);
  for (const lab::ReportFormat format : {lab::ReportFormat::Text, lab::ReportFormat::Csv,
                                             lab::ReportFormat::Svg, lab::ReportFormat::Html}) {
    for (const std::string& text :
         {comparison_report(c, format), lab::history_report(h, format), lab::latest_report(h, format)}) {
      CHECK(text.find("nan") == std::string::npos);
      CHECK(text.find("inf") == std::string::npos);
      if (format == lab::ReportFormat::Html) {
        CHECK(text.find("default-src 'none'") != std::string::npos);
        CHECK(text.find("http-equiv") != std::string::npos);
        CHECK(text.find("src=") == std::string::npos);
      }
      CHECK(text.starts_with("<svg") == (format == lab::ReportFormat::Svg));
    }
  }
  CHECK(comparison_report(c, lab::ReportFormat::Csv).starts_with("configuration,model,base_seconds,"));
  const std::string hostile =
      comparison_report(lab::compare_results(made(timed("<script>\x1b[2J", "eager", 1, "")),
                                                 made(timed("<script>\x1b[2J", "eager", 1, ""))),
                        lab::ReportFormat::Html);
  CHECK(hostile.find("&lt;script&gt;") != std::string::npos);
  CHECK(hostile.find("<script>") == hostile.rfind("<script>"));  // only the page's own
  CHECK(hostile.find('\x1b') == std::string::npos);
}

TEST_CASE("a picture names every line of its legend, or says how many it does not name") {
  lab::History h{.baseline = "oldest", .snapshots = {"a", "b"}, .dates = {"", ""}, .series = {}};
  const auto add = [&](std::size_t count) {
    while (h.series.size() < count) {
      lab::SeriesHistory& line = h.series.emplace_back();
      line.name = "torch compile=inductor training number " + std::to_string(h.series.size());
      line.points = {{.snapshot = 0, .workloads = 1, .geomean = 1, .low = {}, .high = {}, .percentiles = {1, 1, 1}},
                     {.snapshot = 1, .workloads = 1, .geomean = 2, .low = {}, .high = {}, .percentiles = {2, 2, 2}}};
    }
    return lab::history_report(h, lab::ReportFormat::Svg);
  };
  const std::string four = add(4);
  for (const lab::SeriesHistory& line : h.series) {
    INFO(line.name);
    CHECK(four.find(">" + line.name + "<") != std::string::npos);
  }
  CHECK(four.find("without space") == std::string::npos);
  CHECK(add(40).find("without space for a name") != std::string::npos);
}

}  // namespace pagoda::lab
