#include "pagoda/documents/engines.h"

#include <algorithm>
#include <iterator>

#include "pagoda/base/text.h"
#include "pagoda/documents/calibration.h"
#include "pagoda/documents/cpu_calibration.h"
#include "pagoda/documents/serving.h"
#include "pagoda/documents/tensorrt.h"

namespace pagoda::documents {
namespace {

bool is_file(const std::string& name) { return name.find('/') != std::string::npos || name.ends_with(".json"); }

void set_pytorch(const std::string& name, EstimateRequest& request) {
  request.calibration = is_file(name) ? load_calibration(name) : calibration(name);
}

void set_serving(const std::string& name, EstimateRequest& request) {
  request.serving = is_file(name) ? load_serving_calibration(name) : serving_calibration(name);
}

void set_tensorrt(const std::string& name, EstimateRequest& request) {
  request.tensorrt = is_file(name) ? load_tensorrt_calibration(name) : tensorrt_calibration(name);
}

void set_cpu(const std::string& name, EstimateRequest& request) {
  CpuCalibrationFile file = load_cpu_calibration(name);
  if (request.device || !request.other_devices.empty())
    throw Error("--engine " + file.engine + " predicts the machine that " + name +
                " was measured on; it does not go with another --device");
  request.device = std::move(file.device);
  request.cpu = std::move(file.fitted);
}

constexpr Engine kEngines[] = {
    {"pytorch-amp", "eager PyTorch in mixed precision (default)", "rtx-3090-amp-nchw", calibration_ids, set_pytorch},
    {"llm-serving", "vLLM, SGLang, TensorRT-LLM: a step of a decoder, on one device or several", "llm-serving",
     serving_calibration_ids, set_serving},
    {"tensorrt", "TensorRT in float16, or with --precision int8 with products in int8", "tensorrt",
     tensorrt_calibration_ids, set_tensorrt},
    {"onnxruntime-cpu", "ONNX Runtime on the CPU that pagoda-calibrate --here onnxruntime-cpu -o FILE measured", "",
     +[] { return std::vector<std::string>(); }, set_cpu, true},
};

const Engine& engine_of(std::string_view id) {
  const auto* found = std::find_if(std::begin(kEngines), std::end(kEngines),
                                   [&](const Engine& engine) { return engine.id == id; });
  if (found == std::end(kEngines))
    throw Error("engine \"" + std::string(id) + "\" is not known; expected " + base::joined(engine_ids(), " or "));
  return *found;
}

}  // namespace

std::span<const Engine> engines() { return kEngines; }

std::vector<std::string> engine_ids() {
  std::vector<std::string> ids;
  for (const Engine& engine : kEngines) ids.emplace_back(engine.id);
  return ids;
}

bool brings_device(std::string_view engine) { return !engine.empty() && engine_of(engine).brings_device; }

void set_prediction(std::string_view engine, const std::string& calibration, EstimateRequest& request) {
  const Engine& chosen = engine_of(engine.empty() ? kDefaultEngine : engine);
  if (calibration.empty() && chosen.calibration.empty())
    throw Error("--engine " + std::string(chosen.id) + " needs --calibration FILE: measure this machine by "
                "pagoda-calibrate --here " + std::string(chosen.id) + " -o FILE");
  chosen.set(calibration.empty() ? std::string(chosen.calibration) : calibration, request);
}

}  // namespace pagoda::documents
