// ONNX Runtime's profiles: real ones, and small ones for cases that the real ones lack.
#include <doctest/doctest.h>

#include "import/import_data.h"

namespace pagoda::measured {
namespace {

std::string node(const char* name, const char* op, int start, int duration, const char* more = "") {
  return std::string("{\"cat\":\"Node\",\"ts\":") + std::to_string(start) + ",\"dur\":" + std::to_string(duration) +
         ",\"name\":\"" + name + "_kernel_time\",\"args\":{\"op_name\":\"" + op + "\"" + more + "}}";
}
std::string run(int start, int duration) {
  return "{\"cat\":\"Session\",\"ts\":" + std::to_string(start) + ",\"dur\":" + std::to_string(duration) +
         ",\"name\":\"model_run\",\"args\":{}}";
}
std::string profile(std::initializer_list<std::string> events) {
  std::string text;
  for (const std::string& event : events) text += (text.empty() ? "[" : ",\n") + event;
  return text + "]";
}

}  // namespace

TEST_CASE("a real profile: every node once, medians over the runs after the first, sums near the whole run") {
  struct Row {
    const char* file;
    std::size_t kernels;
    std::int64_t repeats;
  };
  for (const Row& row : {Row{"ort_resnet50_basic.json", 122, 2}, Row{"ort_resnet50_all.json", 58, 2},
                         Row{"ort_bert_basic.json", 536, 1}, Row{"ort_bert_all.json", 464, 1}}) {
    INFO(row.file);
    const documents::Measured measured = measured::load_profile(test::data_path(row.file));
    CHECK(measured.source == "onnxruntime");
    CHECK(measured.kernels.size() == row.kernels);
    CHECK(measured.repeats == row.repeats);
    CHECK(measured.warmup == (row.repeats == 2 ? 1 : 0));
    double mean = 0;
    for (const documents::MeasuredKernel& kernel : measured.kernels) {
      CHECK(kernel.launches == 1);
      CHECK(kernel.flops.empty());
      mean += kernel.spread ? kernel.spread->mean : *kernel.seconds;
    }
    // The difference is the work of the engine and its profiler between nodes: 6 % in the worst of these files.
    const double run = measured.spread ? measured.spread->mean : *measured.seconds;
    CHECK(mean <= run);
    CHECK(mean >= 0.9 * run);
    CHECK(test::is_missing(measured, "flops"));
  }
}

TEST_CASE("a real profile tells types, providers and shapes") {
  const documents::Measured measured = measured::load_profile(test::data_path("ort_resnet50_basic.json"));
  const documents::MeasuredKernel* conv = test::kernel_named(measured, "/conv1/Conv");
  REQUIRE(conv);
  CHECK(conv->op_type == "Conv");
  CHECK(conv->provider == "CPUExecutionProvider");
  CHECK(conv->detail == " -> float[1,64,112,112]");
}

TEST_CASE("repeated launches within a run add up, and runs give median and spread") {
  const std::string text =
      profile({run(0, 100), node("a", "Relu", 1, 10), node("a", "Relu", 20, 5), node("b", "Add", 40, 7), run(200, 90),
               node("a", "Relu", 201, 8), node("a", "Relu", 220, 9), node("b", "Add", 240, 3)});
  const documents::Measured measured = measured::import_profile(text, "p");
  REQUIRE(measured.kernels.size() == 2);
  CHECK(measured.repeats == 2);
  CHECK(measured.kernels[0].launches == 2);
  CHECK(*measured.kernels[0].seconds == doctest::Approx(16e-6));
  CHECK(measured.kernels[0].spread->min == doctest::Approx(15e-6));
  CHECK(measured.kernels[0].spread->max == doctest::Approx(17e-6));
  CHECK(*measured.seconds == doctest::Approx(95e-6));
  const documents::Measured later = measured::import_profile(text, "p", {.warmup = 1});
  CHECK(*later.kernels[1].seconds == doctest::Approx(3e-6));
  CHECK(!later.kernels[1].spread);
}

TEST_CASE("a loop's own time is without that of its body, and its body names it") {
  const documents::Measured measured =
      measured::import_profile(profile({run(0, 100), node("body", "Add", 10, 20), node("body", "Add", 40, 20),
                                        node("loop", "Loop", 5, 60), node("after", "Relu", 70, 5)}),
                               "p");
  REQUIRE(measured.kernels.size() == 3);
  const documents::MeasuredKernel* loop = test::kernel_named(measured, "loop");
  const documents::MeasuredKernel* body = test::kernel_named(measured, "body");
  CHECK(*loop->seconds == doctest::Approx(20e-6));
  CHECK(*body->seconds == doctest::Approx(40e-6));
  CHECK(body->launches == 2);
  CHECK(body->nvtx == "loop");
  CHECK(test::kernel_named(measured, "after")->nvtx.empty());
}

TEST_CASE("kernels on a GPU replace the time of the node that launched them") {
  const std::string kernel =
      R"({"cat":"Kernel","pid":-1,"tid":-1,"dur":4,"ts":12,"ph":"X","name":"k","args":{"op_name":"Add"}})";
  const documents::Measured measured = measured::import_profile(
      profile({run(0, 100), node("a", "Add", 1, 30), kernel, kernel, node("b", "Relu", 40, 6)}), "p");
  CHECK(*test::kernel_named(measured, "a")->seconds == doctest::Approx(8e-6));
  CHECK(*test::kernel_named(measured, "b")->seconds == doctest::Approx(6e-6));
}

TEST_CASE("without runs all is one run, and that is said") {
  const documents::Measured measured =
      measured::import_profile(profile({node("a", "Add", 1, 3), node("a", "Add", 5, 4)}), "p");
  CHECK(measured.kernels[0].launches == 2);
  CHECK(!measured.seconds);
  CHECK(test::is_missing(measured, "seconds"));
}

TEST_CASE("a file of ONNX Runtime without nodes, or with times that are none, is an error with its place") {
  CHECK(test::import_error(profile({run(0, 1)})).find("run the session at least once") != std::string::npos);
  CHECK(test::import_error(profile({run(0, 9), node("a", "Add", 1, -3)})) ==
        "profile[1]: expected \"dur\" as a count of microseconds");
  CHECK(test::import_error("[{\"cat\":\"Session\"},3]") == "profile[1]: expected an event object");
  CHECK(test::import_error("[{\"cat\":\"Session\",") ==
        "profile: not JSON, byte 19: it ends there, as a file that was cut off; write or download it again");
}

}  // namespace pagoda::measured
