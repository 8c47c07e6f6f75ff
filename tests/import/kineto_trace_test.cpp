// torch.profiler's traces: a real one from a CPU, and a hand-written one with GPU kernels.
#include <doctest/doctest.h>

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

TEST_CASE("a trace without operators is an error, and one cut off names the byte") {
  CHECK(test::import_error(R"({"schemaVersion":1,"traceEvents":[]})").find("holds no operator") != std::string::npos);
  const std::string text = test::data("kineto_gpu.json");
  CHECK(test::import_error(text.substr(0, 900)).find("not JSON, byte 901") != std::string::npos);
  CHECK(test::import_error("{\"schemaVersion\":1}").find("has no array \"traceEvents\"") != std::string::npos);
  const std::string deep(5000, '[');
  CHECK(test::import_error("{\"traceEvents\":" + deep).find("nests deeper than 100") != std::string::npos);
}

}  // namespace pagoda::measured
