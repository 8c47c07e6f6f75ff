// Stands in for Python and its worker of ONNX Runtime on a machine without a GPU: a run takes as long as the built-in
// calibration predicts for the ceilings of H200_CEILINGS, with two coefficients changed. Appends what it is asked for
// to the file that ASKED names.
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "pagoda/core/analyze.h"
#include "pagoda/core/model.h"
#include "pagoda/core/tensorrt.h"
#include "pagoda/documents/calibration.h"
#include "pagoda/documents/device.h"

using namespace pagoda;
using nlohmann::json;

int main() {
  const TensorRtRates rates = tensorrt_rates(documents::load_device(std::getenv("H200_CEILINGS"))).value();
  TensorRtCoefficients truth = tensorrt_coefficients(documents::calibration("tensorrt"));
  truth.launch_cycles *= 1.3;
  truth.bandwidth *= 0.9;
  double seconds = 0;
  const auto answer = [](const json& event) { std::cout << event.dump() << std::endl; };
  for (std::string line; std::getline(std::cin, line);) {
    const json request = json::parse(line);
    const std::string op = request.at("op");
    if (op == "prepare") {
      const json& config = request.at("config");
      std::ofstream(std::getenv("ASKED"), std::ios::app) << config.dump() << '\n';
      const Model model = load_model(config.at("model_file").get<std::string>());
      AnalyzeOptions sizes{.batch = config.at("batch").get<std::int64_t>(), .precision = Precision::Float16};
      if (config.contains("sequence")) sizes.dims["sequence"] = config["sequence"].get<std::int64_t>();
      const Analysis analysis = analyze(model, sizes);
      seconds = tensorrt_seconds(tensorrt_kernels(model, analysis), rates, truth);
      json inputs = json::array();
      for (const ValueId input : model.main().inputs) {
        json shape = json::array();
        for (const Dim& dim : *analysis.types.at(static_cast<std::size_t>(input)).shape)
          shape.push_back(dim.value64().value());
        inputs.push_back({{"name", model.main().value(input).name.view()}, {"type", "float32"}, {"shape", shape}});
      }
      answer({{"event", "ready"},
              {"items", config.at("batch")},
              {"load_seconds", 0.5},
              {"inputs", inputs},
              {"versions", {{"tensorrt", "10.9.0"}}}});
    } else if (op == "run") {
      answer({{"event", "times"},
              {"seconds", std::vector<double>(request.at("iterations").get<std::size_t>(), seconds)},
              {"clock", "made up"}});
    } else if (op == "quit") {
      return 0;
    } else {
      answer({{"event", "unsupported"}, {"message", op}});
    }
  }
  return 0;
}
