// The engines that a time can be predicted under, a row each.
//
//   EstimateRequest request{.device = device("h100-sxm")};
//   set_prediction("llm-serving", "", request);                  // by the engine's own calibration
//   set_prediction("onnxruntime-cpu", "here.json", request);     // brings the device with it
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pagoda/documents/make_estimate.h"

#pragma GCC visibility push(default)
namespace pagoda::documents {

struct Engine {
  std::string_view id, what;
  std::string_view calibration;  // the one taken unless another is named; empty: one has to be
  std::vector<std::string> (*calibrations)();
  // Sets the request's prediction by a calibration's name or file.
  void (*set)(const std::string& name, EstimateRequest& request);
  bool brings_device = false;  // the calibration is of one machine: no device is asked for
};
inline constexpr std::string_view kDefaultEngine = "pytorch-amp";

std::span<const Engine> engines();
std::vector<std::string> engine_ids();

// Sets what the request's time is predicted by. `engine` empty: kDefaultEngine; `calibration` empty: the engine's own.
// Throws Error for an engine or calibration that is not known, and for a device beside a calibration that brings one.
void set_prediction(std::string_view engine, const std::string& calibration, EstimateRequest& request);
bool brings_device(std::string_view engine);

}  // namespace pagoda::documents
#pragma GCC visibility pop
