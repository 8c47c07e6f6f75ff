// pagoda-calibrate --here tensorrt, from the study to a prediction, with a worker that makes up its times.
#include <doctest/doctest.h>

#include <filesystem>
#include <sstream>

#include "pagoda/core/tensorrt.h"
#include "pagoda/documents/calibration.h"
#include "support/files.h"
#include "support/json_schema.h"
#include "support/workshop.h"

using namespace pagoda;
using doctest::Approx;

TEST_CASE("TensorRT measured here gives a calibration that finds the machine's coefficients and brings its device") {
  const test::Workshop shop;
  const std::string ceilings = test::source_path("data/measured/nvidia-h200.json");
  std::filesystem::create_directories(shop.path("here.json.runs"));
  std::filesystem::copy_file(ceilings, shop.path("here.json.runs/ceilings.json"));
  const std::string around =
      "ASKED=asked.jsonl H200_CEILINGS='" + ceilings + "' PAGODA_PYTHON='" PAGODA_FAKE_TENSORRT "' ";
  const test::Outcome ran =
      shop.shell(around + "'" PAGODA_CALIBRATE "' --here tensorrt -o here.json --residuals r.csv");
  CAPTURE(ran.err);
  REQUIRE(ran.code == 0);
  CHECK(ran.says("each by a fit without its family"));
  CHECK(ran.says("resnet50_dynamic batch 16"));
  CHECK(!ran.says("left out"));
  CHECK(test::read_file(shop.path("r.csv")).starts_with("run,seconds,predicted"));

  std::istringstream asked(test::read_file(shop.path("asked.jsonl")));
  int runs = 0;
  for (std::string line; std::getline(asked, line); ++runs) {
    CHECK(test::contains(line, R"("device":"tensorrt")"));
    CHECK(test::contains(line, R"("dtype":"float16")"));
  }
  CHECK(runs == 19);

  const std::string text = test::read_file(shop.path("here.json"));
  test::check_schema(text, "tensorrt-calibration");
  const documents::CalibrationFile file = documents::parse_calibration(text, "here.json");
  const TensorRtCoefficients truth = tensorrt_coefficients(documents::calibration("tensorrt")),
                             found = tensorrt_coefficients(file.fitted);
  CHECK(file.fitted.devices == std::vector<std::string>{"NVIDIA H200"});
  CHECK(file.fitted.regime == "TensorRT 10.9.0 on NVIDIA H200, float16");
  CHECK(found.launch_cycles == Approx(1.3 * truth.launch_cycles).epsilon(0.03));
  CHECK(found.bandwidth == Approx(0.9 * truth.bandwidth).epsilon(0.03));
  CHECK(found.narrow == Approx(truth.narrow).epsilon(0.03));
  REQUIRE(file.fitted.interval);
  CHECK(file.fitted.interval->low == Approx(1).epsilon(0.05));
  CHECK(file.fitted.interval->high == Approx(1).epsilon(0.05));
  REQUIRE(file.device);
  CHECK(file.device->name == "NVIDIA H200");

  const std::string estimate = "'" PAGODA_ONNX_ESTIMATE "' '" + test::source_path("models/skeletons/resnet152.onnx") +
                               "' --predict --engine tensorrt --calibration here.json";
  const test::Outcome predicted = shop.shell(estimate);
  CHECK(predicted.code == 0);
  CHECK(predicted.says("here: TensorRT 10.9.0 on NVIDIA H200, float16"));
  CHECK(shop.shell(estimate + " --what-if fp16,int8").code == 0);
  const test::Outcome elsewhere = shop.shell(estimate + " --device t4");
  CHECK(elsewhere.code == 2);
  CHECK(elsewhere.says("predicts the machine that its --calibration was measured on"));
  CHECK(shop.shell("'" PAGODA_ONNX_ESTIMATE "' '" + test::source_path("models/skeletons/resnet50.onnx") +
                   "' --predict --engine tensorrt --calibration none.json")
            .says("none.json"));
}
