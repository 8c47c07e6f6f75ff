// The engines for which time can be predicted, one row each.
//
//   EstimateRequest request{.device = device("h100-sxm")};
//   set_prediction("llm-serving", "", request);                  // by the engine's own calibration
//   set_prediction("onnxruntime-cpu", "here.json", request);     // brings the device with it
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pagoda/estimate/make_estimate.h"

#pragma GCC visibility push(default)
namespace pagoda::estimate {

struct Engine {
  std::string_view id, what;
  std::string_view calibration;  // the default; empty: one must be named
  std::vector<std::string> (*calibrations)();
  // Sets the request's prediction by a calibration's name or file.
  void (*set)(const std::string& name, EstimateRequest& request);
  // Whether a calibration is of one machine and includes its device.
  bool (*brings_device)(const std::string& calibration);
};
inline constexpr std::string_view kDefaultEngine = "pytorch-amp";

std::span<const Engine> engines();
std::vector<std::string> engine_ids();

// Sets the engine and calibration that predict the request's time. `engine` empty: kDefaultEngine; `calibration` empty:
// the engine's default. Throws Error for an unknown engine or calibration, and if the request has a device but the
// calibration brings its own.
void set_prediction(std::string_view engine, const std::string& calibration, EstimateRequest& request);
// Of the same. Throws Error for an unknown engine or an unusable file.
bool brings_device(std::string_view engine, const std::string& calibration);

}  // namespace pagoda::estimate
#pragma GCC visibility pop
