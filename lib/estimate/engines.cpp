#include "pagoda/estimate/engines.h"

#include <algorithm>
#include <iterator>

#include "pagoda/base/cat.h"
#include "pagoda/base/files.h"
#include "pagoda/base/json.h"
#include "pagoda/base/text.h"
#include "pagoda/documents/calibration.h"
#include "pagoda/documents/cpu_calibration.h"
#include "pagoda/documents/serving.h"
#include "pagoda/documents/tensorrt.h"

namespace pagoda::estimate {

using namespace documents;

namespace {

// A calibration that was measured on one machine predicts that machine.
void set_machine(DeviceSpec device, std::string_view engine, const std::string& name, EstimateRequest& request) {
  if (request.device || !request.other_devices.empty())
    throw Error(base::field("engine", engine) + " predicts the machine that " + name +
                " was measured on; it does not go with another `device`");
  request.device = std::move(device);
}

void set_pytorch(const std::string& name, EstimateRequest& request) {
  request.engine = base::is_path(name) ? load_calibration(name).fitted : calibration(name);
}

void set_serving(const std::string& name, EstimateRequest& request) {
  request.engine = base::is_path(name) ? load_serving_calibration(name) : serving_calibration(name);
}

TensorRtCalibrationFile tensorrt_file(const std::string& name) {
  return base::is_path(name) ? load_tensorrt_calibration(name)
                             : TensorRtCalibrationFile{.fitted = tensorrt_calibration(name)};
}

void set_tensorrt(const std::string& name, EstimateRequest& request) {
  TensorRtCalibrationFile file = tensorrt_file(name);
  if (file.device) set_machine(std::move(*file.device), "tensorrt", name, request);
  request.engine = std::move(file.fitted);
}

void set_cpu(const std::string& name, EstimateRequest& request) {
  CpuCalibrationFile file = load_cpu_calibration(name);
  set_machine(std::move(file.device), file.engine, name, request);
  request.engine = std::move(file.fitted);
}

void set_here(const std::string& name, EstimateRequest& request) {
  CalibrationFile file = load_calibration(name);
  if (!file.device) throw Error(name + ": states no machine; expected the file that pagoda-calibrate --here wrote");
  set_machine(std::move(*file.device), file.fitted.engine.id, name, request);
  request.engine = std::move(file.fitted);
}

std::vector<std::string> no_calibrations() { return {}; }

bool never(const std::string&) { return false; }
bool always(const std::string&) { return true; }

constexpr Engine kEngines[] = {
    {"pytorch-amp", "eager PyTorch in mixed precision (default)", "rtx-3090-amp-nchw", calibration_ids, set_pytorch,
     never},
    {"llm-serving", "vLLM, SGLang, TensorRT-LLM: a step of a decoder, on one device or several", "llm-serving",
     serving_calibration_ids, set_serving, never},
    {"tensorrt", "TensorRT in float16, or with `precision=int8` with products in int8", "tensorrt",
     tensorrt_calibration_ids, set_tensorrt,
     +[](const std::string& name) { return !name.empty() && tensorrt_file(name).device.has_value(); }},
    {"onnxruntime-cpu", "ONNX Runtime on the CPU that pagoda-calibrate --here onnxruntime-cpu -o FILE measured", "",
     no_calibrations, set_cpu, always},
    {"onnxruntime-cuda",
     "ONNX Runtime in float32, with products in tf32, on the GPU that pagoda-calibrate --here onnxruntime-cuda -o FILE "
     "measured",
     "", no_calibrations, set_here, always},
    {"pytorch-cpu", "eager PyTorch in float32 on the CPU that pagoda-calibrate --here pytorch-cpu -o FILE measured", "",
     no_calibrations, set_here, always},
    {"pytorch-cuda", "eager PyTorch in float32 on the GPU that pagoda-calibrate --here pytorch-cuda -o FILE measured",
     "", no_calibrations, set_here, always},
};

const Engine& engine_of(std::string_view id) {
  const auto* found = std::find_if(std::begin(kEngines), std::end(kEngines),
                                   [&](const Engine& engine) { return engine.id == id; });
  if (found == std::end(kEngines))
    throw Error("engine \"" + std::string(id) + "\" is not known; expected " + base::joined(engine_ids(), " or "));
  return *found;
}

// The engine of a calibration, by the schema and the word of its file or by its built-in name; empty: not known.
std::string engine_of_calibration(const std::string& name) {
  if (!base::is_path(name)) {
    for (const Engine& engine : kEngines) {
      const std::vector<std::string> known = engine.calibrations();
      if (std::find(known.begin(), known.end(), name) != known.end()) return std::string(engine.id);
    }
    return {};
  }
  const base::JsonDocument file = base::parse_json(base::read_file(name, "a calibration"), name, "expected a calibration");
  const std::string schema = file.schema();
  if (schema == "pagoda.tensorrt-calibration/1") return "tensorrt";
  if (schema == "pagoda.serving-calibration/1") return "llm-serving";
  const bool names_engine = schema == "pagoda.calibration/1" || schema == "pagoda.cpu-calibration/1";
  if (!names_engine) return {};
  return file.root().has("engine") ? file.root().at("engine").text() : std::string(kDefaultEngine);
}

void require_engine(const std::string& name, std::string_view expected) {
  const std::string found = engine_of_calibration(name);
  if (found.empty() || found == expected) return;
  throw Error(name + ": is a calibration of " + found + ", expected one for " + std::string(expected) + "; give " +
              base::field("engine", found));
}

}  // namespace

std::span<const Engine> engines() { return kEngines; }

std::vector<std::string> engine_ids() {
  std::vector<std::string> ids;
  for (const Engine& engine : kEngines) ids.emplace_back(engine.id);
  return ids;
}

bool brings_device(std::string_view engine, const std::string& calibration) {
  if (engine.empty()) return false;
  const Engine& chosen = engine_of(engine);
  if (!calibration.empty()) require_engine(calibration, chosen.id);
  return chosen.brings_device(calibration);
}

void set_prediction(std::string_view engine, const std::string& calibration, EstimateRequest& request) {
  const Engine& chosen = engine_of(engine.empty() ? kDefaultEngine : engine);
  if (calibration.empty() && chosen.calibration.empty())
    throw Error(cat(base::field("engine", chosen.id), " needs `calibration=FILE`: measure this machine by ",
                    "pagoda-calibrate --here ", chosen.id, " -o FILE"));
  if (!calibration.empty()) require_engine(calibration, chosen.id);
  chosen.set(calibration.empty() ? std::string(chosen.calibration) : calibration, request);
}

}  // namespace pagoda::estimate
