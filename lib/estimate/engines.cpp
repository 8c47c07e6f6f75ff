#include "pagoda/estimate/engines.h"

#include "pagoda/base/cat.h"
#include "pagoda/base/files.h"
#include "pagoda/core/engine.h"
#include "pagoda/documents/calibration.h"

namespace pagoda::estimate {

using namespace documents;

namespace {

const Engine& engine_of(std::string_view id) { return id.empty() ? *engines().front() : pagoda::engine(id); }

// A calibration by name or file. Throws Error if it is one of another engine.
CalibrationFile calibration_of(const std::string& name, const Engine& expected) {
  const bool is_file = base::is_path(name);
  const std::string text = is_file ? base::read_file(name, "a calibration") : "";
  const Calibration built_in = is_file ? Calibration() : calibration(name);
  const std::string found = is_file ? engine_of_calibration(text, name) : built_in.engine;
  if (!found.empty() && found != expected.id)
    throw Error(name + ": is a calibration of " + found + ", expected one for " + std::string(expected.id) +
                "; give " + base::field("engine", found));
  return is_file ? parse_calibration(text, name) : CalibrationFile{.fitted = built_in};
}

}  // namespace

std::vector<std::string> engine_ids() {
  std::vector<std::string> ids;
  for (const Engine* engine : engines()) ids.emplace_back(engine->id);
  return ids;
}

bool brings_device(std::string_view engine, const std::string& calibration) {
  if (engine.empty()) return false;
  const Engine& chosen = engine_of(engine);
  if (calibration.empty()) return chosen.is_of_one_machine;
  return calibration_of(calibration, chosen).device.has_value();
}

void set_prediction(std::string_view engine, const std::string& calibration, EstimateRequest& request) {
  const Engine& chosen = engine_of(engine);
  const std::string id(chosen.id), name = calibration.empty() ? std::string(chosen.calibration) : calibration;
  if (name.empty())
    throw Error(base::field("engine", id) + " needs `calibration=FILE`: measure this machine by pagoda-calibrate --here " + id +
                " -o FILE");
  CalibrationFile file = calibration_of(name, chosen);
  if (!file.device && chosen.is_of_one_machine)
    throw Error(name + ": states no machine; expected the file that pagoda-calibrate --here wrote");
  // A calibration that was measured on one machine predicts that machine.
  if (file.device) {
    if (request.device || !request.other_devices.empty())
      throw Error(base::field("engine", id) + " predicts the machine that " + name +
                  " was measured on; it does not go with another `device`");
    request.device = std::move(file.device);
  }
  request.engine = std::move(file.fitted);
}

}  // namespace pagoda::estimate
