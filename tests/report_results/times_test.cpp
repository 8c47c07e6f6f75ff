// Tables and charts of times, and the records that they use.
#include <doctest/doctest.h>

#include "pagoda/lab/result_report.h"
#include "sample.h"

namespace pagoda::lab {
namespace {

using test::append;
using test::made;

std::vector<documents::Result> two_modes() {
  std::vector<documents::Result> all;
  for (const std::int64_t batch : {1, 8, 64}) {
    append(all, made({.batch = batch, .repeats = 2, .run = [=] { return 0.25 * static_cast<double>(batch); }}));
    std::vector<documents::Result> training = made({.batch = batch, .run = [] { return 4.0; }});
    for (documents::Result& r : training) {
      r.config["mode"] = std::string("training");
      r.config["device"] = std::string("cuda:1");
      r.metadata["gpu"] = std::string("NVIDIA H200");
      r.energy.joules = 12.5;
      r.energy.watts = 350;
      r.device_peak_bytes = 3e9;
    }
    append(all, std::move(training));
  }
  return all;
}

}  // namespace

TEST_CASE("a table has a row a configuration, and a column an axis that varies") {
  const std::string text = times_report(results_where(two_modes(), {"test=eval"}), ReportFormat::Text);
  CHECK(text.substr(0, text.find("all:")) ==
        "model     batch     p50     p95     p99  items/s  memory  runs\n"
        "resnet50      1  250 ms  250 ms  250 ms     4.00       ?   120\n"
        "resnet50      8  2.00 s  2.00 s  2.00 s     4.00       ?   120\n"
        "resnet50     64  16.0 s  16.0 s  16.0 s     4.00       ?   120\n");
  CHECK(text.find("all: torch compile=eager device=cpu\n") != std::string::npos);
  CHECK(text.find("energy: no counter could be read") != std::string::npos);
  const std::string training = times_report(results_where(two_modes(), {"test=train"}), ReportFormat::Text);
  CHECK(training.find("3.00 GB  12.5 J  350 W    60") != std::string::npos);
}

TEST_CASE("a table states the shapes that ran") {
  std::vector<documents::Result> all = made({});
  append(all, made({.batch = 2, .repeats = 2}));
  append(all, made({.batch = 4}));
  append(all, made({.batch = 8}));
  const auto images = [](std::int64_t batch) {
    return documents::InputTensor{.name = "images", .type = "float32", .shape = {batch, 3, 8, 8}};
  };
  all[0].inputs = {images(1)};
  all[1].inputs = {images(2)};
  all[2].inputs = {images(1)};  // of the same configuration, by a version that took open sizes as 1
  all[3].inputs = {images(4), {.name = "n", .type = "int64", .shape = {}}, images(4), images(4)};
  const std::string text = times_report(all, ReportFormat::Text);
  CHECK(
      text.substr(0, text.find("all:")) ==
      "model     batch     p50     p95     p99  items/s  memory  runs  inputs\n"
      "resnet50      1  1.00 s  1.00 s  1.00 s     1.00       ?    60  images float32[1,3,8,8]\n"
      "resnet50      2  1.00 s  1.00 s  1.00 s     2.00       ?   120  different ones\n"
      "resnet50      4  1.00 s  1.00 s  1.00 s     4.00       ?    60  images float32[4,3,8,8], n int64[] and 2 more\n"
      "resnet50      8  1.00 s  1.00 s  1.00 s     8.00       ?    60  ?\n");
  CHECK(times_report(all, ReportFormat::Html).find("images float32[1,3,8,8]") != std::string::npos);
  all[0].items.reset();
  CHECK(times_report({all[0]}, ReportFormat::Text).find("1.00 s  1.00 s  1.00 s        ?") != std::string::npos);
}

TEST_CASE("runs beside which something else wanted the processors are counted") {
  std::vector<documents::Result> all = results_where(two_modes(), {"test=eval"});
  for (documents::Result& r : all) r.metadata["cpus"] = std::int64_t{4};
  all[0].interference.load = 4.9;  // the benchmark's own threads
  CHECK(times_report(all, ReportFormat::Text).find("disturbed") == std::string::npos);
  all[1].interference.load = 5.5;
  all[2].interference.load = 12;
  CHECK(times_report(all, ReportFormat::Text)
            .find("disturbed: beside 2 of 6 runs, something else wanted the processors, up to 3.0 tasks for each; run them "
                  "again on an idle machine\n") != std::string::npos);
  // In CSV of each row; nothing where a record has no load.
  const auto last_cells = [](const std::string& csv) {
    std::string cells;
    for (std::size_t end = csv.find("\r\n"); end != std::string::npos; end = csv.find("\r\n", end + 1))
      cells += csv.substr(csv.rfind(',', end), end - csv.rfind(',', end));
    return cells;
  };
  CHECK(last_cells(times_report(all, ReportFormat::Csv)) == ",disturbed_runs,1,1,");
  // A GPU's times do not depend on the host's load in this way.
  for (documents::Result& r : all) r.config["device"] = std::string("cuda");
  CHECK(times_report(all, ReportFormat::Text).find("disturbed") == std::string::npos);
}

TEST_CASE("a table as CSV is in SI units, and empty where nothing is known") {
  std::vector<documents::Result> all = results_where(two_modes(), {"test=train,batch=8"});
  all[0].inputs = {{.name = "x", .type = "float32", .shape = {8, 3, 224, 224}}};
  documents::Result failed = all[0];
  failed.config["batch"] = std::int64_t{4096};
  failed.status = documents::ResultStatus::OutOfMemory;
  failed.reason = "too much";
  failed.timing.reset();
  all.push_back(failed);
  CHECK(times_report(all, ReportFormat::Csv) ==
        "backend,batch,compile,device,mode,model,status,repeats,runs,p50_seconds,p95_seconds,p99_seconds,mean_seconds,"
        "std_seconds,min_seconds,max_seconds,items_per_second,host_peak_bytes,device_peak_bytes,joules,watts,inputs,"
        "disturbed_runs\r\n"
        "torch,8,eager,cuda:1,training,resnet50,ok,1,60,4,4,4,4,0,4,4,2,,3e+09,12.5,350,\"x:float32[8,3,224,224]\",\r\n"
        "torch,4096,eager,cuda:1,training,resnet50,out_of_memory: too much,0,0,,,,,,,,,,,,,,\r\n");
}

TEST_CASE("records are chosen by axes, accelerator and test") {
  const std::vector<documents::Result> all = two_modes();
  CHECK(results_where(all, {}).size() == 9);
  CHECK(results_where(all, {"accelerator=h200"}).size() == 3);
  CHECK(results_where(all, {"accelerator=cuda:1", "batch=8"}).size() == 1);
  CHECK(results_where(all, {"test=eval,batch=64"}).size() == 2);
  CHECK_THROWS_AS(results_where(all, {"batch=5"}), Error);
  CHECK_THROWS_AS(results_where(all, {"batch"}), Error);
}

TEST_CASE("a long name of the model is no column, and no end of a table is lost over it") {
  std::vector<documents::Result> all = two_modes();
  for (documents::Result& r : all) r.config["model_name"] = std::string("x");
  const std::string text = times_report(results_where(all, {"test=eval"}), ReportFormat::Text);
  CHECK(text.starts_with("model     batch     p50"));
  CHECK(text.find("model_name") == std::string::npos);
}

TEST_CASE("the host's memory is that of runs on a CPU alone, and watts without joules are shown") {
  std::vector<documents::Result> all = made({});
  all[0].host_peak_bytes = 5e9;
  CHECK(times_report(all, ReportFormat::Text).find("5.00 GB") != std::string::npos);
  all[0].config["device"] = std::string("cuda");
  CHECK(times_report(all, ReportFormat::Text).find("5.00 GB") == std::string::npos);
  all[0].energy.watts = 70;
  const std::string text = times_report(all, ReportFormat::Text);
  CHECK(text.find("70 W") != std::string::npos);
  CHECK(text.find("no counter could be read") == std::string::npos);
}

TEST_CASE("latency and throughput are drawn over the size that varies most") {
  const std::string svg = times_report(two_modes(), ReportFormat::Svg, "Mine");
  CHECK(svg.find("Mine: latency over batch") != std::string::npos);
  CHECK(svg.find("Mine: throughput over batch") != std::string::npos);
  CHECK(svg.find("height=\"920\"") != std::string::npos);
  const std::string page = times_report(two_modes(), ReportFormat::Html);
  CHECK(page.find("<td class=\"number\">12.5 J</td>") != std::string::npos);
}

TEST_CASE("modules of a framework are ranges, nodes of a file are nodes") {
  documents::Result torch = made({})[0];
  torch.layers = {{.name = "features.6", .op_type = "Conv2d", .seconds = 0.5, .facts = {}, .note = ""}};
  CHECK(measured_of(torch).kernels[0].nvtx == "features.6");
  CHECK(measured_of(torch).kernels[0].node.empty());
  torch.config["model_file"] = std::string("net.onnx");
  CHECK(measured_of(torch).kernels[0].node == "features.6");
}

TEST_CASE("inference and training never share a geometric mean") {
  std::vector<documents::Result> now = two_modes();
  for (documents::Result& r : now)
    if (r.config.contains("mode")) r.timing->latency.p50 /= 4;
  const ResultComparison c = compare_results(two_modes(), now);
  CHECK(c.geomean.count == 0);
  REQUIRE(c.by_mode.size() == 2);
  CHECK(c.by_mode[0].name == "inference");
  CHECK(c.by_mode[0].ratio == doctest::Approx(1));
  CHECK(c.by_mode[1].ratio == doctest::Approx(4));
  CHECK(comparison_report(c, ReportFormat::Text).find("1 model of training: 4.000×") != std::string::npos);
  // Two repeats against one: no verdict, not even "same".
  CHECK(c.count(SpeedVerdict::CannotTell) == c.rows.size());
  const History h = history(by_day(two_modes()));
  REQUIRE(h.series.size() == 2);
  CHECK(h.series[0].name == "torch compile=eager inference");
  CHECK(h.series[1].name == "torch compile=eager training");
}

TEST_CASE("a history's axis shows dates, and names where a date is there twice") {
  Snapshot first{.name = "main", .time = "2026-01-31T08:00:00Z", .results = made({})};
  Snapshot second{.name = "branch", .time = "2026-02-03T08:00:00Z", .results = made({})};
  const std::string svg = history_report(history({first, second}), ReportFormat::Svg);
  CHECK(svg.find(">2026-01-31<") != std::string::npos);
  CHECK(svg.find(">2026-02-03<") != std::string::npos);
  second.time = "2026-01-31T20:00:00Z";
  const History twice = history({first, second});
  CHECK(history_report(twice, ReportFormat::Csv).find("main,2026-01-31,1,1,") != std::string::npos);
  CHECK(history_report(twice, ReportFormat::Svg).find("2026-01-31 main") != std::string::npos);
}

TEST_CASE("whole runs for other tools are one per configuration: the median over its repeats") {
  std::vector<documents::Result> all = made({.batch = 8, .repeats = 3});
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].timing->latency.p50 = std::vector{0.5, 0.25, 4.0}[i];
    if (i > 0) all[i].energy.joules = 10.0 * static_cast<double>(i);
  }
  append(all, made({.batch = 64}));
  const documents::Measured measured = measured_runs_of(all);
  REQUIRE(measured.runs.size() == 2);
  CHECK(measured.runs[0].config.at("batch") == base::Setting(std::int64_t{8}));
  CHECK_FALSE(measured.runs[0].config.contains("repeat"));
  CHECK(measured.runs[0].seconds == 0.5);
  CHECK(measured.runs[0].energy_joules == 15);
  CHECK_FALSE(measured.runs[1].energy_joules);
}

}  // namespace pagoda::lab
