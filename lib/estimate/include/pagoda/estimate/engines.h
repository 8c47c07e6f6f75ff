// The engine, calibration and providers of a request, by name. Engines are records of core/engine.h, providers of
// core/placement.h.
//
//   EstimateRequest request{.device = device("h100-sxm")};
//   set_prediction("llm-serving", "", request);                  // by the engine's own calibration
//   set_prediction("onnxruntime-cpu", "here.json", request);     // brings the device with it
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pagoda/estimate/make_estimate.h"

#pragma GCC visibility push(default)
namespace pagoda::estimate {

std::vector<std::string> engine_ids();

// Sets the engine and calibration that predict the request's time. `engine` empty: the first of engines();
// `calibration` empty: the engine's default. Throws Error for an unknown engine or calibration, and if the request has
// a device but the calibration brings its own.
void set_prediction(std::string_view engine, const std::string& calibration, EstimateRequest& request);
// Of the same. Throws Error for an unknown engine or an unusable file.
bool brings_device(std::string_view engine, const std::string& calibration);
// The id of the engine that a calibration, by name or file, is of. Throws Error for an unusable one.
std::string calibrated_engine(const std::string& calibration);

std::vector<std::string> provider_ids();

// Sets the providers that are asked for the placement of nodes: ids or files, separated by commas. `form`: "default" or
// "plain". Throws Error for anything else.
void set_providers(std::string_view names, std::string_view form, EstimateRequest& request);

// Sets the CPU beside `device`: an id, or a file of a device or of a calibration that pagoda-calibrate --here
// onnxruntime-cpu wrote, which also predicts its times. Throws Error for anything else.
void set_host_device(const std::string& name, EstimateRequest& request);

}  // namespace pagoda::estimate
#pragma GCC visibility pop
