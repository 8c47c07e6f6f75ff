// Impossible times, runs that a file does not count, and sums of kernels that overlap. All profiles here are written by
// hand.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>

#include "import/import_data.h"
#include "import/timeline.h"
#include "pagoda/base/cat.h"
#include "pagoda/documents/device.h"
#include "pagoda/estimate/measured_runs.h"
#include "pagoda/present/report.h"

namespace pagoda::measured {
namespace {

using documents::Measured;
using documents::MeasuredBasis;

bool has_note(const Measured& measured, const std::string& part) {
  return std::ranges::any_of(measured.notes,
                             [&](const std::string& note) { return note.find(part) != std::string::npos; });
}
std::string notes_of(const Measured& measured) {
  std::string all;
  for (const std::string& note : measured.notes) all += note + "\n";
  return all;
}

// Events of a trace of torch.profiler.
std::string event(const std::string& category, const std::string& name, const std::string& times, int lane = 1,
                  const std::string& arguments = "") {
  return cat(R"({"ph":"X","pid":1,"tid":)", lane, ",\"cat\":\"", category, "\",\"name\":\"", name, "\",", times,
             ",\"args\":{", arguments, "}}");
}
std::string at(const std::string& start, const std::string& duration) {
  return cat("\"ts\":", start, ",\"dur\":", duration);
}
std::string launched(const std::string& name, const std::string& times, int stream = 7, int device = 0) {
  static int correlation = 0;
  ++correlation;
  const std::string arguments = cat("\"correlation\":", correlation);
  return cat(
      event("cuda_runtime", "cudaLaunchKernel", cat("\"ts\":", 1000 + correlation, ",\"dur\":0.5"), 1, arguments), ",",
      event("kernel", name, times, stream, cat(arguments, ",\"stream\":", stream, ",\"device\":", device)));
}
std::string trace(std::initializer_list<std::string> events) {
  std::string text;
  for (const std::string& each : events) text += (text.empty() ? "" : ",\n") + each;
  return cat("{\"schemaVersion\":1,\"traceEvents\":[", text, "]}");
}

std::string nsys(const std::string& rows) {
  return "Start (ns),Duration (ns),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Device,Ctx,Strm,Name\n" + rows;
}
std::string nsys_row(int start, int duration, const std::string& name, int stream = 7, int device = 0) {
  return cat(start, ",", duration, ",1,1,1,1,128,1,1,NVIDIA H200 (", device, "),1,", stream, ",", name, "\n");
}

}  // namespace

TEST_CASE("an impossible time is unknown, and the note names its kernel and why") {
  struct Case {
    const char* reason;
    std::string text;
    std::map<std::string, double> seconds;  // below 0: unknown
    const char* note;
  };
  const Case cases[] = {
      {"stamps of 0 are none",
       trace({launched("k0", at("0", "0")), launched("k1", at("1450.5", "200"))}),
       {{"k0", -1}, {"k1", 200e-6}},
       "1 launch has an impossible time, left unknown: the profiler has no stamps of it (\"k0\")"},
      {"a kernel takes time, where stamps have nanoseconds",
       trace({launched("k0", at("1400.125", "0")), launched("k1", at("1450.5", "200"))}),
       {{"k0", -1}, {"k1", 200e-6}},
       "1 launch has an impossible time, left unknown: its duration is 0 (\"k0\")"},
      {"whole microseconds round a short kernel to 0, which is no time",
       trace({launched("k0", at("1400", "0")), launched("k1", at("1450", "200"))}),
       {{"k0", -1}, {"k1", 200e-6}},
       "its duration is 0 (\"k0\")"},
      {"a layer of TensorRT takes time, too",
       R"([{"count":10},{"name":"a","timeMs":0,"averageMs":0,"medianMs":0},{"name":"b","timeMs":1,"averageMs":0.1}])",
       {{"a", -1}, {"b", 1e-4}},
       "1 layer has an impossible time, left unknown: its duration is 0 (\"a\")"},
      {"stamps that a spreadsheet rounded: durations stay, and overlap is not known",
       "Start (ns);Duration (ns);CorrId;GrdX;GrdY;GrdZ;BlkX;BlkY;BlkZ;Device;Ctx;Strm;Name\n"
       "1,86724E+12;19611;1;1;1;1;1;1;1;A (0);1;7;k0\n1,86725E+12;10271;2;1;1;1;1;1;1;A (0);1;7;k1\n",
       {{"k0", 19611e-9}, {"k1", 10271e-9}},
       "have lost their digits, as a spreadsheet's saving does"},
      {"... that are whole numbers",
       nsys(nsys_row(1000000, 900, "a") + nsys_row(1000000, 700, "b") + nsys_row(1000000, 500, "c")),
       {{"a", 900e-9}, {"b", 700e-9}, {"c", 500e-9}},
       "have lost their digits"},
      {"... in a trace",
       trace({launched("a", at("1000", "500")), launched("b", at("1000", "500")), launched("c", at("1000", "100"))}),
       {{"a", 500e-6}, {"b", 500e-6}, {"c", 100e-6}},
       "have lost their digits"},
      {"a duration that is a text, which is quoted",
       trace({launched("k0", at("1050.5", "\"50 us\"")), launched("k1", at("1450.5", "200"))}),
       {{"k0", -1}, {"k1", 200e-6}},
       "1 time is no number and unknown; the first is \"dur\": \"50 us\" of \"k0\""},
      {"a duration that is null",
       trace({launched("k0", at("1050.5", "null")), launched("k1", at("1450.5", "200"))}),
       {{"k0", -1}, {"k1", 200e-6}},
       "the first is \"dur\": null of \"k0\""},
      {"a kernel without a start keeps its duration",
       trace({launched("k0", "\"dur\":50"), launched("k1", at("1450.5", "200"))}),
       {{"k0", 50e-6}, {"k1", 200e-6}},
       "1 kernel has no stamp of the start: overlap is not known"},
      {"236 years, while its stream goes on",
       trace({launched("k0", at("1050", "7.4e15")), launched("k1", at("1450", "200")),
              launched("k2", at("1850", "300"))}),
       {{"k0", -1}, {"k1", 200e-6}, {"k2", 300e-6}},
       "runs on into the next one of its stream or thread (\"k0\", 7.40e+09 s)"},
      {"236 years, at the end of a trace that does not say its length",
       trace({launched("k0", at("1050", "100")), launched("k1", at("1450", "7.4e15"))}),
       {{"k0", 100e-6}, {"k1", -1}},
       "longer than its trace"},
      {"1.6 s, and the next kernel starts 60 µs later",
       trace({launched("k0", at("2000", "50")), launched("k1", at("2060", "1600000")), launched("k2", at("2120", "50")),
              launched("k3", at("2180", "50"))}),
       {{"k0", 50e-6}, {"k1", -1}, {"k2", 50e-6}, {"k3", 50e-6}},
       "(\"k1\", 1.60 s)"},
      {"longer than the profiler ran",
       trace({event("Trace", "PyTorch Profiler (0)", at("900", "2000")), launched("k0", at("1050", "3000"))}),
       {{"k0", -1}},
       "longer than its trace"},
      {"the host waited for it, and went on before",
       trace({launched("k0", at("1050", "3000")), event("cuda_runtime", "cudaDeviceSynchronize", at("1100", "50"))}),
       {{"k0", -1}},
       "longer than its trace"},
      {"the same times on two streams are two kernels at the same time",
       trace({launched("k0", at("1050.5", "1000"), 7), launched("k1", at("1100.5", "200"), 8)}),
       {{"k0", 1e-3}, {"k1", 200e-6}},
       "kernels overlap"},
      {"the same stream of two devices is two streams",
       trace({launched("k0", at("1050.5", "1000"), 7, 0), launched("k1", at("1100.5", "200"), 7, 1)}),
       {{"k0", 1e-3}, {"k1", 200e-6}},
       "2 devices"},
      {"a dependent launch starts while the last blocks run: the overlap counts once",
       trace({launched("k0", at("1050.5", "100")), launched("k1", at("1140.5", "100"))}),
       {{"k0", 100e-6}, {"k1", 90e-6}},
       "the overlap counts once"},
      {"a whole microsecond is what old traces round by",
       trace({launched("k0", at("1050", "11")), launched("k1", at("1060", "10"))}),
       {{"k0", 11e-6}, {"k1", 10e-6}},
       nullptr},
      {"calls of a thread nest",
       trace({event("cpu_op", "a", at("10.5", "100")), event("cpu_op", "inner", at("20.5", "500")),
              event("cpu_op", "b", at("120.5", "30"))}),
       {{"a", 100e-6}, {"b", 30e-6}},
       "(\"inner\", 500 µs)"},
      {"a table: the end before the start, and no stamps",
       "Kernel_Name,Start_Timestamp,End_Timestamp\na,100,1100\nb,3000,2000\nc,0,0\n",
       {{"a", 1e-6}, {"b", -1}, {"c", -1}},
       "it ends before it starts"},
      {"a table of nsys",
       nsys(nsys_row(0, 900, "a") + nsys_row(1000, 900000000, "b") + nsys_row(2000, 500, "c")),
       {{"a", 900e-9}, {"b", -1}, {"c", 500e-9}},
       "1 dispatch has an impossible time"},
      {"a mean of layers above their sum",
       R"([{"count":10},{"name":"a","timeMs":1,"averageMs":5},{"name":"b","timeMs":1,"averageMs":0.1}])",
       {{"a", -1}, {"b", 1e-4}},
       "1 layer has an impossible time"},
  };
  for (const Case& each : cases) {
    CAPTURE(each.reason);
    const Measured measured = import_profile(each.text, "t");
    CAPTURE(notes_of(measured));
    for (const auto& expected : each.seconds) {
      const auto& name = expected.first;
      const auto& seconds = expected.second;
      CAPTURE(name);
      const documents::MeasuredKernel* kernel = test::kernel_named(measured, name);
      REQUIRE(kernel != nullptr);
      CHECK(kernel->seconds.has_value() == (seconds >= 0));
      if (kernel->seconds) CHECK(*kernel->seconds == doctest::Approx(seconds));
    }
    CHECK(has_note(measured, each.note == nullptr ? "impossible" : each.note) == (each.note != nullptr));
    if (has_note(measured, "lost their digits") || has_note(measured, "no stamp of the start"))
      CHECK(!measured.busy_seconds);
  }
}

TEST_CASE("a range that ends before its kernels do is no time of a run") {
  // The range lasts 90 µs, and the host launches a kernel at 1010 in it.
  const auto step = [](const std::string& kernel) {
    const std::string call = "\"correlation\":900";
    return trace({event("user_annotation", "ProfilerStep#0", at("1000", "90")),
                  event("cuda_runtime", "cudaLaunchKernel", at("1010", "5"), 1, call),
                  event("kernel", "k", kernel, 7, call + ",\"stream\":7,\"device\":0")});
  };
  const auto ort = [](int run, int kernel) {
    return cat(
        R"([{"cat":"Session","ph":"X","pid":1,"tid":1,"ts":1,"dur":)", run, R"(,"name":"model_run"},)",
        R"({"cat":"Node","ph":"X","pid":1,"tid":1,"ts":2,"dur":9,"name":"a_kernel_time","args":{"op_name":"Conv"}},)",
        R"({"cat":"Kernel","ph":"X","pid":1,"tid":1,"ts":5,"dur":)", kernel, R"(,"name":"gemm","args":{}}])");
  };
  struct Case {
    const char* reason;
    std::string text;
    double seconds;  // 0: unknown
  };
  const Case cases[] = {
      {"the host waits", step(at("1020", "60")), 90e-6},
      {"clocks of host and device differ by a little", step(at("1031", "60")), 90e-6},
      {"the kernel goes on for 900 µs", step(at("1100", "900")), 0},
      {"it begins in the range, and ends behind it", step(at("1050", "60")), 0},
      {"ONNX Runtime, whose run waits", ort(90, 60), 90e-6},
      {"ONNX Runtime, without synchronisation", ort(90, 900), 0},
  };
  for (const Case& each : cases) {
    CAPTURE(each.reason);
    const Measured measured = import_profile(each.text, "t");
    CHECK(measured.seconds.has_value() == (each.seconds > 0));
    CHECK(measured.seconds.value_or(0) == doctest::Approx(each.seconds));
    CHECK(test::is_missing(measured, "seconds") == (each.seconds == 0));
    CHECK(measured.kernels.at(0).seconds.has_value());
  }
}

TEST_CASE("runs that differ by their times alone have a note") {
  const auto steps = [](const char* last) {
    std::string events;
    for (int i = 0; i < 3; ++i) {
      const int start = 1000 * (i + 1);
      const std::string call = cat("\"correlation\":", 800 + i);
      events += cat(i == 0 ? "" : ",", event("user_annotation", cat("ProfilerStep#", i), at(cat(start), "900")), ",",
                    event("cuda_runtime", "cudaLaunchKernel", at(cat(start + 1), "5"), 1, call), ",",
                    event("kernel", "k", at(cat(start + 50), i == 2 ? last : "100"), 7, call + ",\"stream\":7"));
    }
    return import_profile(trace({events}), "t");
  };
  CHECK(has_note(steps("400"), "the runs differ: kernels run for 100 µs of one, and for 400 µs of another"));
  CHECK_FALSE(has_note(steps("150"), "the runs differ"));
}

TEST_CASE("steps of two ranks have a note") {
  const auto steps = [](int second) {
    return import_profile(
        trace({event("user_annotation", "ProfilerStep#0", at("1000", "90")),
               event("user_annotation", "ProfilerStep#1", at("2000", "90"), second),
               event("cpu_op", "aten::add", at("1001", "5")), event("cpu_op", "aten::add", at("2001", "5"))}),
        "t");
  };
  CHECK(has_note(steps(2), "ProfilerStep ranges are of 2 threads or processes"));
  CHECK_FALSE(has_note(steps(1), "ProfilerStep ranges are"));
}

TEST_CASE("tables of nsys that people edited, joined or saved again") {
  const std::string sums = "Time (%),Total Time (ns),Instances,Avg (ns),Name\n";
  const std::string rows = nsys_row(10, 3000, "a") + nsys_row(5000, 900, "b");
  struct Case {
    const char* reason;
    std::string text, says;  // in the refusal or a note; empty: neither
  };
  const Case cases[] = {
      {"the header again", nsys(nsys_row(10, 3000, "a")) + nsys(nsys_row(5000, 900, "b")), ""},
      {"a row of empty cells", nsys(nsys_row(10, 3000, "a") + ",,,,,,,,,,,,\n" + nsys_row(5000, 900, "b")), ""},
      {"trailing separators", nsys(nsys_row(10, 3000, "a")) + "5000,900,1,1,1,1,128,1,1,A (0),1,7,b,,\n", ""},
      {"a name with commas and no quotes", nsys(rows + nsys_row(7000, 5, "gemm<float, 128>")),
       "line 4: has 14 cells, expected 13; put quotes around names that hold a separator"},
      {"a column that is too narrow", nsys("10,########,1,1,1,1,1,1,1,A (0),1,7,a\n"),
       "\"########\" in the column \"Duration (ns)\" is not a number that is 0 or more; widen the column"},
      {"a unit in a cell", nsys("10,900 ns,1,1,1,1,1,1,1,A (0),1,7,a\n"),
       "0 or more; convert it to the unit of the column, and remove its own"},
      {"a number below 0", nsys("10,-900,1,1,1,1,1,1,1,A (0),1,7,a\n"),
       "\"-900\" in the column \"Duration (ns)\" is not a"},
      {"another report below", nsys(rows) + "\n" + sums + "100,10,1,10,c\n",
       "the file holds several reports; the first with kernels is read"},
      {"a sum that is not its mean times its launches", sums + "100,5000,10,600,a\n",
       "line 2: \"5000\" in the column \"Total Time (ns)\" is not 10 launches of \"600\" in the column \"Avg (ns)\""},
      {"... in another unit", "Time (%),Total Time (us),Instances,Avg (ns),Name\n100,6000,10,600,a\n",
       "is not 10 launches"},
      {"... whose mean is rounded",
       "Time (%),Total Time (ms),Instances,Avg (ms),Name\n60,0.054,10,0.005,a\n40,1,9,0.11,b\n", ""},
      {"... that is", sums + "60,6004,10,600.4,a\n40,4000,10,400,b\n", ""},
  };
  for (const Case& each : cases) {
    CAPTURE(each.reason);
    const std::string error = test::import_error(each.text);
    if (error.empty()) {
      const Measured measured = import_profile(each.text, "t");
      CHECK(measured.kernels.size() == 2);
      CHECK(has_note(measured, each.says));
      CHECK(has_note(measured, "several reports") == !each.says.empty());
    } else {
      CHECK_MESSAGE(error.find(each.says) != std::string::npos, error);
      CHECK(!each.says.empty());
      CHECK((error.find("convert it") != std::string::npos) == (each.says.find("convert it") != std::string::npos));
    }
  }
}

TEST_CASE("a row that is the sum of all others is their total, and no kernel") {
  const std::string header =
      "Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name\n";
  struct Case {
    const char* reason;
    std::string text;
    std::size_t kernels;
  };
  const Case cases[] = {
      {"at the end", header + "60,6000,10,600,,,,,a\n40,4000,30,133.3,,,,,b\n100,10000,40,,,,,,Total\n", 2},
      {"at the beginning, in another language",
       header + "100,10000,40,,,,,,Summe\n60,6000,10,600,,,,,a\n40,4000,30,133.3,,,,,b\n", 2},
      {"other launches", header + "60,6000,10,600,,,,,a\n40,4000,30,133.3,,,,,b\n100,10000,1,,,,,,gemm\n", 3},
      {"two kernels alike", header + "50,6000,10,600,,,,,a\n50,6000,10,600,,,,,b\n", 2},
      {"TensorRT",
       R"([{"count":10},{"name":"a","timeMs":1,"averageMs":0.1},{"name":"b","timeMs":2,"averageMs":0.2},)"
       R"({"name":"Total","timeMs":3,"averageMs":0.3}])",
       2},
  };
  for (const Case& each : cases) {
    CAPTURE(each.reason);
    const Measured measured = import_profile(each.text, "t");
    CHECK(measured.kernels.size() == each.kernels);
    const bool has_total = each.text.find("Total\n") != std::string::npos ||
                           each.text.find("Summe") != std::string::npos ||
                           each.text.find("\"Total\"") != std::string::npos;
    CHECK(has_note(measured, "is the sum of all others: taken as their total, and left out") == has_total);
  }
}

TEST_CASE("a table of rocprof whose stamps lost their digits has no times") {
  CHECK(test::import_error("Kernel_Name,Start_Timestamp,End_Timestamp\na,1.86724E+12,1.86724E+12\n")
            .find("line 2: \"1.86724E+12\" has lost its digits, as a spreadsheet's saving does") != std::string::npos);
  CHECK(test::import_error("Kernel_Name,Start_Timestamp,End_Timestamp\na,1.000000E+06,1.001234E+06\n").empty());
}

TEST_CASE("ONNX Runtime: nodes of a thread follow each other, and none is longer than its run") {
  const auto node = [](const char* name, const char* op, int start, int duration) {
    return cat(R"({"cat":"Node","ph":"X","pid":1,"tid":1,"ts":)", start, ",\"dur\":", duration, ",\"name\":\"", name,
               R"(_kernel_time","args":{"op_name":")", op, "\"}}");
  };
  const std::string run = R"({"cat":"Session","ph":"X","pid":1,"tid":1,"ts":1,"dur":1000,"name":"model_run"})";
  const Measured measured = import_profile(
      cat("[", run, ",", node("long", "Conv", 10, 5000000), ",", node("over", "Conv", 100, 300), ",",
          node("next", "Relu", 200, 50), ",", node("loop", "Loop", 300, 100), ",", node("body", "Add", 310, 20), "]"),
      "t");
  CHECK(!test::kernel_named(measured, "long")->seconds);
  CHECK(!test::kernel_named(measured, "over")->seconds);
  CHECK(*test::kernel_named(measured, "next")->seconds == doctest::Approx(50e-6));
  CHECK(*test::kernel_named(measured, "loop")->seconds == doctest::Approx(80e-6));
  CHECK(*test::kernel_named(measured, "body")->seconds == doctest::Approx(20e-6));
  CHECK(has_note(measured, "2 executions of nodes have impossible times, left unknown"));
}

TEST_CASE("a run without a time leaves its kernel the times of the others") {
  std::string events;
  for (int run = 0; run < 4; ++run)
    events +=
        cat(run > 0 ? "," : "", event("user_annotation", cat("ProfilerStep#", run), at(cat(run * 1000, ".5"), "900")),
            ",", event("cpu_op", "a", at(cat(run * 1000 + 100, ".5"), run == 2 ? "-7" : "100")));
  const Measured measured = import_profile(trace({events}), "t");
  REQUIRE(measured.kernels.size() == 1);
  CHECK(*measured.kernels[0].seconds == doctest::Approx(100e-6).epsilon(0.001));
}

// Random perturbations of good timelines: whatever the stamps say, the possible times of a stream are disjoint.
TEST_CASE("possible times of a timeline never add up to more than its extent times its streams") {
  std::mt19937 random(51);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  for (int round = 0; round < 300; ++round) {
    const std::size_t streams = 1 + below(3);
    std::vector<import::Stretch> good;
    for (std::size_t stream = 0; stream < streams; ++stream) {
      double clock = 1;
      for (std::size_t i = 0, n = 2 + below(20); i < n; ++i) {
        const double seconds = 1e-6 * static_cast<double>(1 + below(1000));
        good.push_back({clock, seconds, static_cast<std::uint32_t>(stream)});
        clock += seconds + 1e-6 * static_cast<double>(below(10));
      }
    }
    const auto name = [](std::size_t) { return std::string_view("k"); };
    const import::TimelineRules rules{.are_kernels = true};
    import::ImpossibleTimes none, some;
    std::vector<import::Stretch> same = good;
    CHECK(import::check_times(same, rules, name, none) == 0);
    CHECK(std::ranges::all_of(same, [](const import::Stretch& each) { return each.seconds.has_value(); }));

    std::vector<import::Stretch> bad = good;
    for (std::size_t i = 0, n = 1 + below(5); i < n; ++i) {
      import::Stretch& each = bad[below(bad.size())];
      switch (below(5)) {
        case 0:
          each.seconds = *each.seconds * static_cast<double>(1 + below(1000000));
          break;
        case 1:
          each.start = 0, each.seconds = 0;
          break;
        case 2:
          each.seconds = -*each.seconds;
          break;
        case 3:
          std::swap(each.start, bad[below(bad.size())].start);
          break;
        default:
          each.seconds = 7.4e9;
          break;
      }
    }
    std::ranges::shuffle(bad, random);
    import::check_times(bad, rules, name, some);
    double total = 0, first = 1e300, last = 0;
    for (const import::Stretch& each : bad) {
      if (!each.seconds) continue;
      total += *each.seconds;
      first = std::min(first, each.start), last = std::max(last, each.start + *each.seconds);
    }
    CHECK(total <= (std::max(0.0, last - first)) * static_cast<double>(streams) * (1 + 1e-9));
    CHECK(last < 3700);
  }
}

TEST_CASE("runs are told apart by steps, ranges and order, and what is ambiguous is said") {
  const std::string two = nsys_row(1000, 100, "a") + nsys_row(2000, 200, "b"),
                    again = nsys_row(3000, 120, "a") + nsys_row(4000, 220, "b"),
                    more = nsys_row(5000, 140, "a") + nsys_row(6000, 240, "b");
  std::string ten;
  for (int i = 0; i < 10; ++i) ten += nsys_row(20000 * i, 10000, "gemm");
  const auto ranged = [](const char* range, int start, const char* op) {
    return cat(event("user_annotation", range, at(cat(start), "90")), ",",
               event("cpu_op", op, at(cat(start + 10), "50.5")));
  };
  struct Case {
    const char* reason;
    std::string text;
    ImportOptions options;
    std::int64_t runs;
    double microseconds;  // of all kernels, in one run
    const char* note;
  };
  const Case cases[] = {
      {"one sequence three times", nsys(two + again + more), {.warmup = 0}, 3, 0.34, "3 times: taken as 3 runs"},
      {"two runs", nsys(two + again), {}, 2, 0.32, "2 times: taken as 2 runs"},
      {"as one run, on demand", nsys(two + again), {.runs = 1}, 1, 0.64, nullptr},
      {"a sequence that is cut off repeats nothing",
       nsys(two + again + nsys_row(5000, 140, "a")),
       {},
       1,
       0.78,
       "does not say how many runs"},
      {"one kernel ten times may be ten layers", nsys(ten), {}, 1, 100, "give `runs=N`"},
      {"... or ten runs, on demand", nsys(ten), {.runs = 10, .warmup = 0}, 10, 10, nullptr},
      {"a range of the user that repeats",
       trace({ranged("infer", 100, "a"), ranged("infer", 200, "a")}),
       {},
       2,
       50.5,
       "range \"infer\" repeats 2 times"},
      {"ranges with different launches are parts of a run",
       trace({ranged("layer", 100, "a"), ranged("layer", 200, "b")}),
       {},
       1,
       101,
       "does not say how many runs"},
  };
  for (const Case& each : cases) {
    CAPTURE(each.reason);
    const Measured measured = import_profile(each.text, "t", each.options);
    CAPTURE(notes_of(measured));
    CHECK(measured.repeats + measured.warmup == each.runs);
    CHECK(*measured.kernel_seconds() == doctest::Approx(1e-6 * each.microseconds));
    CHECK(has_note(measured, each.note == nullptr ? "runs" : each.note) == (each.note != nullptr));
  }
  CHECK(test::import_error(
            trace({event("user_annotation", "ProfilerStep#1", at("1", "90")), event("cpu_op", "a", at("2", "5"))}),
            {.runs = 3}) == "profile: has 1 ProfilerStep range, and `runs` is 3; leave `runs` out");
}

TEST_CASE("what onnx-estimate takes from a profile: wall time, busy time or a sum, with the notes of the importer") {
  struct Case {
    const char* reason;
    std::string text;
    MeasuredBasis basis;
    double microseconds;
  };
  const Case cases[] = {
      {"one stream", nsys(nsys_row(1000, 4000, "a") + nsys_row(6000, 2000, "b")), MeasuredBasis::Kernels, 6},
      {"two streams that overlap", nsys(nsys_row(1000, 4000, "a", 7) + nsys_row(2000, 4000, "b", 8)),
       MeasuredBasis::Busy, 5},
      {"two devices at the same time", nsys(nsys_row(1000, 4000, "a", 7, 0) + nsys_row(1000, 4000, "a", 7, 1)),
       MeasuredBasis::Busy, 4},
      {"a step of the profiler",
       trace({event("user_annotation", "ProfilerStep#1", at("1", "90")), event("cpu_op", "a", at("2", "5"))}),
       MeasuredBasis::Run, 90},
  };
  const Model model = load_model(test::source_path("models/skeletons/resnet50.onnx"));
  for (const Case& each : cases) {
    CAPTURE(each.reason);
    const Measured measured = import_profile(each.text, "t");
    documents::EstimateDocument estimate = estimate::make_estimate(model, {.measured = measured});
    REQUIRE(estimate.measured);
    CHECK(estimate.measured->basis == each.basis);
    CHECK(estimate.measured->seconds == doctest::Approx(1e-6 * each.microseconds));
    for (const std::string& note : measured.notes)
      CHECK(std::ranges::any_of(estimate.diagnostics, [&](const Diagnostic& diagnostic) {
        return diagnostic.message.find(note) != std::string::npos;
      }));
    const documents::EstimateDocument again = documents::parse_estimate(documents::write_estimate(estimate), "e");
    CHECK(again.measured->basis == each.basis);
    const Measured read = documents::parse_measured(documents::write_measured(measured), "m");
    CHECK(read.busy_seconds == measured.busy_seconds);
  }
}

TEST_CASE("kernels without a time make the sum of the others a lower bound, which proves no more than that") {
  const auto measured = [](const char* unknown) {
    return import_profile(trace({launched("k0", at("0", "0")), launched("k1", at("1450.5", unknown))}), "t");
  };
  const Model model = load_model(test::source_path("models/skeletons/resnet50.onnx"));
  estimate::EstimateRequest request{.device = documents::find_device("h200"), .measured = measured("200")};
  request.sizes.batch = 64;  // whose floor is above 200 µs: a whole time would be impossible
  request.budgets = {parse_budget(BudgetKind::Seconds, "100us"), parse_budget(BudgetKind::Seconds, "1s")};
  const documents::EstimateDocument estimate = estimate::make_estimate(model, request);
  REQUIRE(estimate.measured);
  CHECK(estimate.measured->at_least);
  CHECK(estimate.measured->seconds == doctest::Approx(200e-6));
  CHECK_FALSE(estimate.measured->bound_share);
  CHECK_FALSE(estimate::is_impossible(estimate));
  CHECK((*estimate.budgets)[0].verdict == Verdict::Exceeds);
  CHECK((*estimate.budgets)[1].verdict == Verdict::CannotTell);
  CHECK(documents::parse_estimate(documents::write_estimate(estimate), "e").measured->at_least);
  CHECK(present::table_report(estimate, {}).find("kernels add up to ≥ 200 µs") != std::string::npos);
  CHECK(test::error_of([&] {
          (void)estimate::make_estimate(
              model,
              {.measured = import_profile(trace({launched("k0", at("0", "0")), launched("k1", at("0", "0"))}), "t")});
        }).find("2 of its 2 kernels have no time (") != std::string::npos);
}

TEST_CASE("shares of a sum that is a lower bound are upper bounds, or not known") {
  // Of k0 one launch has no time: it may have taken any part of the run.
  const Measured measured = import_profile(
      trace({launched("k0", at("0", "0")), launched("k1", at("1450.5", "200")), launched("k0", at("1950.5", "200"))}),
      "t");
  const std::string report = kernel_report(measured, 0, 0);
  const auto line = [&](const std::string& name) {
    const std::size_t begin = report.find("\n" + name) + 1;
    return report.substr(begin, report.find('\n', begin) - begin);
  };
  CHECK_MESSAGE(line("k1").find("200 µs   ≤ 50.0 %") != std::string::npos, report);
  CHECK_MESSAGE(line("k0").find("≥ 200 µs          ?") != std::string::npos, report);
  CHECK_MESSAGE(line("sum of one run").find("≥ 400 µs      100 %") != std::string::npos, report);
}

TEST_CASE("traces of other versions, and saved again by viewers, give the same kernels") {
  const std::string plain = trace({launched("k0", at("1050.25", "100")), launched("k1", at("1450.25", "200"))});
  const auto replaced = [](std::string text, const std::string& what, const std::string& with) {
    for (std::size_t i = text.find(what); i != std::string::npos; i = text.find(what, i + with.size()))
      text.replace(i, what.size(), with);
    return text;
  };
  const Measured expected = import_profile(plain, "t");
  REQUIRE(expected.kernels.size() == 2);
  const std::string begin = R"({"ph":"B","pid":1,"tid":7,"cat":"kernel","name":")",
                    end = R"({"ph":"E","pid":1,"tid":7,"ts":)";
  const std::pair<const char*, std::string> forms[] = {
      {"capitals, before PyTorch 1.12",
       replaced(replaced(plain, "\"kernel\"", "\"Kernel\""), "cuda_runtime", "Runtime")},
      {"numbers as texts",
       replaced(replaced(replaced(plain, "\"ts\":1450.25", "\"ts\":\"1450.25\""), "\"dur\":200", "\"dur\":\"200\""),
                "\"tid\":7", "\"tid\":\"7\"")},
      {"another unit on the screen", replaced(plain, "\"schemaVersion\":1", "\"displayTimeUnit\":\"ns\"")},
      {"events that begin and end",
       trace({begin + R"(k0","ts":1050.25,"args":{"stream":7,"device":0}})", end + "1150.25}",
              begin + R"(k1","ts":"1450.25","args":{"stream":7,"device":0}})", end + "1650.25}"})},
  };
  for (const auto& each : forms) {
    const char* form = each.first;
    const std::string& text = each.second;
    CAPTURE(form);
    const Measured measured = import_profile(text, "t");
    REQUIRE(measured.kernels.size() == 2);
    for (std::size_t i = 0; i < 2; ++i) {
      CHECK(measured.kernels[i].name == expected.kernels[i].name);
      CHECK(*measured.kernels[i].seconds == doctest::Approx(*expected.kernels[i].seconds));
      CHECK(measured.kernels[i].provider == "stream 7");
    }
  }
  // A step was an operator, once.
  const Measured old = import_profile(
      trace({event("Operator", "ProfilerStep#1", at("1", "90")), event("Operator", "aten::add", at("2", "5"))}), "t");
  CHECK(*old.seconds == doctest::Approx(90e-6));
  REQUIRE(old.kernels.size() == 1);
  CHECK(old.kernels[0].name == "aten::add");

  const std::string list = test::data("ort_resnet50_all.json");
  const Measured listed = import_profile(list, "t"), saved = import_profile(cat("{\"traceEvents\":", list, "}"), "t");
  CHECK(saved.source == "onnxruntime");
  CHECK(documents::write_measured(saved) == documents::write_measured(listed));
}

TEST_CASE("hostile numbers of a trace give no time, or an error") {
  for (const std::string number : {"\"nan\"", "\"inf\"", "\"\"", "null", "1e300", "-1e300", "\"1e300\"", "[]"}) {
    CAPTURE(number);
    const std::string good = launched("good", at("1450.25", "200"));
    for (const std::string& bad : {launched("bad", at(number, "5")), launched("bad", at("1700.5", number))}) {
      const Measured measured = import_profile(trace({good, bad}), "t");
      CHECK(*test::kernel_named(measured, "good")->seconds == doctest::Approx(200e-6));
      const documents::MeasuredKernel* kernel = test::kernel_named(measured, "bad");
      CHECK((kernel == nullptr || !kernel->seconds || *kernel->seconds == doctest::Approx(5e-6)));
    }
    const std::string node = R"({"cat":"Node","tid":1,"ts":1,"name":"a_kernel_time","args":{"op_name":"Add"},"dur":)";
    const std::string message = test::import_error("[" + node + number + "}]");
    CHECK((message.empty() || message.starts_with("profile[0]")));
  }
}

TEST_CASE("nodes of ONNX Runtime without names stay apart") {
  const auto node = [](const char* op, int start) {
    return cat(R"({"cat":"Node","pid":1,"tid":1,"ts":)", start,
               R"(,"dur":50,"name":"_kernel_time","args":{"op_name":")", op, "\"}}");
  };
  const Measured measured =
      import_profile(cat("[", node("Conv", 100), ",", node("Relu", 200), ",", node("Conv", 300), "]"), "t");
  REQUIRE(measured.kernels.size() == 3);
  const std::string report = kernel_report(measured, 0, 0);
  CHECK_MESSAGE(report.find("(no name) Conv") != std::string::npos, report);
  CHECK_MESSAGE(report.find("(no name) Relu") != std::string::npos, report);
}

TEST_CASE("reports of Nsight Systems and rocprof, new and old") {
  const std::string sums =
      "Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name\n"
      "75.0,30000,10,3000.0,3000.0,2900,3100,10.0,gemm\n25.0,10000,20,500.0,500.0,400,600,10.0,relu\n";
  struct Case {
    const char* reason;
    std::string text;
    ImportOptions options;
    const char* source;
    double gemm_microseconds;
    std::int64_t launches;
  };
  const Case cases[] = {
      {"gputrace, before 2021",
       "Start(nsec),Duration(nsec),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Device,Ctx,Strm,Name\n10,3000,1,1,1,1,1,1,1,A "
       "(0),1,7,gemm\n",
       {},
       "nsys",
       3,
       1},
      {"--timeunit usec",
       "Start (us),Duration (us),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Device,Ctx,Strm,Name\n10,3,1,1,1,1,1,1,1,A "
       "(0),1,7,gemm\n",
       {},
       "nsys",
       3,
       1},
      {"cuda_kern_exec_trace, whose PID holds an ID",
       "API Start (ns),API Dur (ns),Queue Start (ns),Queue Dur (ns),Kernel Start (ns),Kernel Dur (ns),Total Dur "
       "(ns),PID,TID,DevId,API Function,GridXYZ,BlockXYZ,Kernel Name\n0,10,10,5,15,3000,1015,1,1,0,cudaLaunchKernel,1 "
       "1 1,1 1 1,gemm\n",
       {},
       "nsys",
       3,
       1},
      {"cuda_kern_exec_sum",
       "PID,TID,DevId,Count,QCount,TAvg (ns),KAvg (ns),API Name,Kernel "
       "Name\n1,1,0,2,1,9000,1500,cudaLaunchKernel,gemm\n",
       {},
       "nsys",
       3,
       2},
      {"cuda_gpu_kern_sum", sums, {}, "nsys", 30, 10},
      {"... of ten runs", sums, {.runs = 10}, "nsys", 3, 1},
      {"several reports in a file",
       "Processing [a.sqlite] with [cuda_gpu_trace.py]...\n" + nsys(nsys_row(10, 3000, "gemm")) +
           "Processing [a.sqlite] with [x.py]...\nRange,Style\na,b\n",
       {},
       "nsys",
       3,
       1},
      {"sums, with another report behind them",
       "Processing [a.sqlite] with [cuda_gpu_kern_sum.py]...\n" + sums +
           "Processing [a.sqlite] with [x.py]...\nRange,Style\na,b\n",
       {},
       "nsys",
       30,
       10},
      {"rocprof's statistics",
       "\"Name\",\"Calls\",\"TotalDurationNs\",\"AverageNs\",\"Percentage\"\n\"gemm\",2,3000,1500,100\n",
       {},
       "rocprof",
       3,
       2},
      {"rocprof",
       "\"Index\",\"KernelName\",\"gpu-id\",\"queue-id\",\"grd\",\"wgr\",\"BeginNs\",\"EndNs\"\n0,\"gemm\",2,0,64,64,"
       "1000,4000\n",
       {},
       "rocprof",
       3,
       1},
      {"rocprofv2",
       "Dispatch_ID,GPU_ID,Queue_ID,Kernel_Name,Start_Timestamp,End_Timestamp\n1,2,1,gemm,1000,4000\n",
       {},
       "rocprof",
       3,
       1},
  };
  for (const Case& each : cases) {
    CAPTURE(each.reason);
    const Measured measured = import_profile(each.text, "t", each.options);
    CHECK(measured.source == each.source);
    REQUIRE(!measured.kernels.empty());
    CHECK(measured.kernels[0].name == "gemm");
    CHECK(*measured.kernels[0].seconds == doctest::Approx(1e-6 * each.gemm_microseconds));
    CHECK(*measured.kernels[0].launches == each.launches);
  }
  CHECK(has_note(import_profile(sums, "t"), "multiple of 10 launches, so give `runs=N`"));
  CHECK(test::import_error(sums, {.runs = 4}) ==
        "profile, line 2: \"gemm\" was launched 10 times, which is not 4 equal runs; give another number of runs");
  CHECK(test::import_error("Time (%),Total Time (ns),Num Calls,Name\n1,2,3,cudaMalloc\n")
            .find("--report cuda_gpu_trace") != std::string::npos);
  CHECK(test::import_error("Kernel Name,PID\nk,1\n").find("is a table (CSV); expected a profile") != std::string::npos);
  CHECK(test::import_error("\"Index\",\"KernelName\",\"gpu-id\"\n0,\"k\",1\n").find("timestamp") != std::string::npos);
}

TEST_CASE("a time of Nsight Compute without a unit is in its base unit, which is said, or is refused") {
  const auto table = [](const char* time) {
    return cat("\"ID\",\"Kernel Name\",\"gpu__time_duration.sum\"\n\"0\",\"gemm\",\"", time, "\"\n");
  };
  const Measured whole = import_profile(table("12500"), "t");
  CHECK(*whole.kernels[0].seconds == doctest::Approx(12.5e-6));
  CHECK(has_note(
      whole, "gpu__time_duration.sum has no unit in the file; it is read in Nsight Compute's base unit, nanoseconds"));
  CHECK(test::import_error(table("12.5")).find("is 12.5 without a unit; expected the row of units") !=
        std::string::npos);
  const Measured zero = import_profile(table("0"), "t");
  CHECK(!zero.kernels[0].seconds);
}

}  // namespace pagoda::measured
