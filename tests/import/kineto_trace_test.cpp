// torch.profiler's traces: a real one from a CPU, and a hand-written one with GPU kernels.
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "import/import_data.h"

namespace pagoda::measured {

TEST_CASE("a real trace of the CPU: outermost operators, their modules and shapes, a row a call") {
  const documents::Measured measured = measured::load_profile(test::data_path("torch_cpu.json"));
  CHECK(measured.source == "kineto");
  CHECK(measured.repeats == 2);
  REQUIRE(measured.kernels.size() == 14);
  const documents::MeasuredKernel& stem = measured.kernels.front();
  CHECK(stem.name == "aten::conv2d");
  CHECK(stem.nvtx == "stem");
  CHECK(stem.detail.find("[1,3,32,32],[32,3,3,3],[32]") == 1);
  CHECK(stem.launches == 1);
  CHECK(stem.spread->n == 2);
  CHECK(*measured.kernel_seconds() < *measured.seconds);
  CHECK(*measured.kernel_seconds() > 0.8 * *measured.seconds);
}

TEST_CASE("kernels of a GPU belong to the operator and ranges around their launch") {
  const documents::Measured measured = measured::load_profile(test::data_path("kineto_gpu.json"));
  CHECK(measured.device == "NVIDIA H200");
  REQUIRE(measured.kernels.size() == 3);
  const documents::MeasuredKernel& conv = measured.kernels[1];
  CHECK(conv.name == "sm90_xmma_fprop");
  CHECK(conv.op_type == "aten::conv2d");
  CHECK(conv.nvtx == "conv1");
  CHECK(conv.provider == "stream 7");
  CHECK(conv.detail == "grid [8,1,1], block [128,1,1]");
  CHECK(*conv.seconds == doctest::Approx(11e-6));
  // It ran after its step's range had ended on the host, but still belongs to the run that launched it.
  CHECK(*measured.kernels[2].seconds == doctest::Approx(1.5e-6));
  CHECK(*measured.seconds == doctest::Approx(105e-6));
  bool says_outside = false;
  for (const std::string& note : measured.notes)
    says_outside = says_outside || note.starts_with("1 launch (3 µs in all)");
  CHECK(says_outside);
}

TEST_CASE("without steps the trace is one run, or as many equal ones as asked for") {
  const std::string op = R"({"ph":"X","cat":"cpu_op","name":"aten::relu","pid":1,"tid":1,"dur":2,"ts":)";
  const std::string text = "{\"traceEvents\":[" + op + "1}," + op + "5}]}";
  CHECK(measured::import_profile(text, "t").kernels.size() == 2);
  const documents::Measured two = measured::import_profile(text, "t", {.runs = 2});
  CHECK(two.kernels.size() == 1);
  CHECK(two.kernels[0].spread->n == 2);
  CHECK(test::import_error(text, {.runs = 3}).find("not 3 equal runs") != std::string::npos);
}

namespace {

struct TraceEvent {
  const char *category, *name;
  int start, duration;
};

std::string trace_of(const std::vector<TraceEvent>& events) {
  std::string text = "{\"traceEvents\":[";
  for (const auto& [category, name, start, duration] : events)
    text += (text.back() == '[' ? "" : ",") + std::string(R"({"ph":"X","pid":1,"tid":1,"cat":")") + category +
            R"(","name":")" + name + R"(","ts":)" + std::to_string(start) + R"(,"dur":)" + std::to_string(duration) +
            "}";
  return text + "]}";
}

// "name time launches|…"
std::string rows_of(const documents::Measured& measured) {
  std::string text;
  for (const documents::MeasuredKernel& kernel : measured.kernels)
    text += kernel.name + " " + std::to_string(std::lround(*kernel.seconds * 1e6)) + " " +
            std::to_string(kernel.launches.value_or(0)) + "|";
  return text;
}

}  // namespace

TEST_CASE("a row is the outermost operator; an event around operators that is none is a range") {
  struct Case {
    const char* reason;
    std::vector<TraceEvent> events;
    std::string rows, path;
  };
  const Case cases[] = {
      {"TorchScript's module holds its calls",
       {{"cpu_op", "forward", 0, 50},
        {"cpu_op", "aten::conv2d", 1, 20},
        {"cpu_op", "aten::convolution", 2, 18},
        {"cpu_op", "aten::relu", 30, 5}},
       "aten::conv2d 20 1|aten::relu 5 1|",
       "forward"},
      {"an operator of another library is one",
       {{"cpu_op", "torchvision::nms", 0, 50}, {"cpu_op", "aten::sort", 1, 20}},
       "torchvision::nms 50 1|",
       ""},
      {"a step of the backward pass is one",
       {{"cpu_op", "autograd::engine::evaluate_function: MulBackward0", 0, 50},
        {"cpu_op", "MulBackward0", 1, 40},
        {"cpu_op", "aten::mul", 2, 20}},
       "autograd::engine::evaluate_function: MulBackward0 50 1|",
       ""},
      {"an event without operators is a row", {{"cpu_op", "Pregraph bytecode", 0, 5}}, "Pregraph bytecode 5 1|", ""},
      {"a compiled region leaves the time between its calls to one row; its number is no path",
       {{"cpu_op", "Torch-Compiled Region: 0/0", 0, 100},
        {"cpu_op", "Pregraph bytecode", 5, 5},
        {"user_annotation", "graph", 10, 80},
        {"cpu_op", "aten::addmm", 20, 30},
        {"cpu_op", "aten::copy_", 25, 5},
        {"cpu_op", "aten::add", 120, 5}},
       "Torch-Compiled Region: 0/0 (fused loops) 65 3|Pregraph bytecode 5 1|aten::addmm 30 1|aten::add 5 1|",
       "Torch-Compiled Region: 0.0"},
      {"whole microseconds: a call may begin where the one around it ends",
       {{"cpu_op", "aten::reshape", 10, 8}, {"cpu_op", "aten::_unsafe_view", 18, 0}, {"cpu_op", "aten::add", 18, 4}},
       "aten::reshape 8 1|aten::add 4 1|",
       ""},
  };
  for (const Case& c : cases) {
    CAPTURE(std::string(c.reason));
    const documents::Measured measured = measured::import_profile(trace_of(c.events), "t", {.runs = 1});
    CHECK(rows_of(measured) == c.rows);
    CHECK(measured.kernels.front().nvtx == c.path);
  }
}

TEST_CASE("runs that are not equal name a call that differs") {
  CHECK(test::import_error(
            trace_of({{"cpu_op", "aten::add", 0, 2}, {"cpu_op", "aten::mul", 2, 2}, {"cpu_op", "aten::add", 4, 2}}),
            {.runs = 2}) == "profile: holds 3 launches, which are not 2 equal runs: \"aten::mul\" comes 1 time");
}

TEST_CASE("a list of PyTorch's profiler without Kineto is named") {
  CHECK(
      test::import_error(R"([{"name":"aten::mul","ph":"X","ts":633,"dur":54,"tid":1,"pid":"CPU functions","args":{}}])")
          .find("without Kineto") != std::string::npos);
}

TEST_CASE("a trace without operators is an error, and one cut off names the byte") {
  CHECK(test::import_error(R"({"schemaVersion":1,"traceEvents":[]})").find("holds no operator") != std::string::npos);
  const std::string text = test::data("kineto_gpu.json");
  CHECK(test::import_error(text.substr(0, 900)).find("not JSON, byte 901") != std::string::npos);
  CHECK(test::import_error("{\"schemaVersion\":1}").find("has no array \"traceEvents\"") != std::string::npos);
  const std::string deep(5000, '[');
  CHECK(test::import_error("{\"traceEvents\":" + deep).find("nests deeper than 100") != std::string::npos);
}

}  // namespace pagoda::measured
