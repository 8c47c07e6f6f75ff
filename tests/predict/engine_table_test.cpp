// Which engine, machine and form is fastest, and when that is not sure.
#include "pagoda/estimate/engine_table.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "pagoda/core/model.h"
#include "pagoda/documents/device.h"
#include "pagoda/estimate/engines.h"
#include "pagoda/present/report.h"
#include "support/files.h"
#include "support/text_graph.h"

using namespace pagoda;
using estimate::EngineRow, estimate::EngineTable, estimate::EngineChoice;

namespace {

EngineRow row(const char* form, const char* engine, const char* device, std::optional<double> seconds,
              std::optional<double> low, std::optional<double> high, std::optional<double> least = {}) {
  return {.model = "m.onnx", .form = form, .engine = engine, .device = device,
          .is_on_cpu = std::string(device) == "here", .seconds = seconds, .low = low, .high = high,
          .least_seconds = least};
}

EngineChoice calibrated(const char* engine, const std::string& file) {
  EngineChoice choice{.engine = engine, .request = {}};
  estimate::set_prediction(engine, test::source_path(file), choice.request);
  return choice;
}

}  // namespace

TEST_CASE("the fastest row is sure where no other may be faster") {
  const char *const cpu = "onnxruntime-cpu", *const cuda = "onnxruntime-cuda";
  const EngineRow single = row("float32", cpu, "here", 4.0, 3.0, 5.0), gpu = row("float32", cuda, "t4", 1.0, 0.8, 1.3);
  struct Case {
    const char* why;
    std::vector<EngineRow> rows;
    std::optional<std::size_t> fastest;
    std::vector<std::size_t> rivals;
  };
  const Case cases[] = {
      {"intervals apart", {single, gpu}, 1, {}},
      {"intervals overlap", {single, row("float32", cuda, "t4", 3.5, 2.5, 4.5)}, 1, {0}},
      {"one machine: the ratio decides, although intervals overlap",
       {single, row("int8", cpu, "here", 2.4, 1.8, 3.1)}, 1, {}},
      {"one machine: a ratio within its error", {single, row("int8", cpu, "here", 2.9, 2.2, 3.7)}, 1, {0}},
      {"a bound above the fastest's interval", {gpu, row("int8", cuda, "t4", {}, {}, {}, 1.4)}, 0, {}},
      {"a bound within it", {gpu, row("int8", cuda, "t4", {}, {}, {}, 1.2)}, 0, {1}},
      {"nothing known of a machine", {gpu, row("float32", cuda, "", {}, {}, {})}, 0, {1}},
      {"no interval, within a factor of three", {row("float32", cpu, "here", 3.6, {}, {}), gpu}, 1, {0}},
      {"no interval, beyond it", {row("float32", cpu, "here", 4.0, {}, {}), gpu}, 1, {}},
      {"nothing predicted", {row("float32", cuda, "t4", {}, {}, {}, 1.2)}, {}, {}},
  };
  for (const Case& each : cases) {
    CAPTURE(each.why);
    const EngineTable table = estimate::compare_engines(each.rows);
    CHECK(table.fastest == each.fastest);
    CHECK(table.rivals == each.rivals);
  }
}

TEST_CASE("the first line names form, machine, time and what is not sure") {
  const auto first_line = [](std::vector<EngineRow> rows) {
    const std::string text =
        present::engines_report(present::Format::Table, estimate::compare_engines(std::move(rows)), {});
    return text.substr(0, text.find('\n'));
  };
  EngineRow gpu = row("float32", "onnxruntime-cuda", "rtx-4090", 4e-3, 3e-3, 5.2e-3);
  gpu.reasons = {"900 launches take at least 3.2 ms"};
  const EngineRow cpu = row("int8", "onnxruntime-cpu", "here", 3.1e-3, 2.6e-3, 3.8e-3);
  CHECK(first_line({gpu, cpu}) ==
        "fastest under ONNX Runtime: int8 on the CPU 3.10 ms (2.60 ms … 3.80 ms); float32 on rtx-4090 4.00 ms (3.00 ms "
        "… 5.20 ms), where 900 launches take at least 3.2 ms: neither is sure");
  gpu.seconds = gpu.low = gpu.high = std::nullopt;
  gpu.least_seconds = 3.2e-3;
  gpu.reasons.clear();
  CHECK(first_line({gpu, cpu}) ==
        "fastest of those predicted under ONNX Runtime: int8 on the CPU 3.10 ms (2.60 ms … 3.80 ms); float32 on "
        "rtx-4090 is not predicted, at least 3.20 ms");
}

TEST_CASE("a small network is faster on the CPU, a large one on the GPU, and integers leave the GPU") {
  const EngineChoice cpu = calibrated("onnxruntime-cpu", "tests/predict/data/here.json");
  EngineChoice gpu = calibrated("onnxruntime-cuda", "data/measured/nvidia-h200-onnxruntime-cuda.json");
  estimate::set_providers("cuda", "default", gpu.request);
  struct Case {
    const char* graph;
    std::size_t fastest;
  };
  const Case cases[] = {
      {"x:f32[1,64], w:f32[64,128]=const -> y = MatMul(x, w)", 0},
      {"x:f32[4096,4096], w:f32[4096,4096]=const -> y = MatMul(x, w)", 1},
  };
  for (const Case& each : cases) {
    CAPTURE(each.graph);
    const Model model = test::graph(each.graph);
    const EngineTable table =
        estimate::compare_engines({estimate::engine_row(model, cpu), estimate::engine_row(model, gpu)});
    CHECK(table.fastest == each.fastest);
    CHECK(table.rows[0].form == "float32");
  }
  const Model integers = test::graph("x:u8[64,512], w:i8[512,512]=const -> y = MatMulInteger(x, w)");
  const EngineRow left = estimate::engine_row(integers, gpu);
  CHECK_FALSE(left.seconds);
  CHECK(left.form == "int8");
  CHECK(left.problem.find("1 node leaves the GPU (MatMulInteger)") != std::string::npos);
  const EngineRow none = estimate::engine_row(
      integers, {.engine = "onnxruntime-cuda", .request = {.device = documents::find_device("t4")}, .problem = "why"});
  CHECK(none.problem == "why");
  CHECK(none.least_seconds.value_or(0) > 0);
}
