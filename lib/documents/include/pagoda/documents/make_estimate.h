// From a model to its estimate.
//
//   Model model = load_model("resnet50.onnx");
//   documents::EstimateRequest request{.sizes = {.batch = 8}, .traffic = TrafficModel::Fused};
//   request.device = documents::find_device("h200");
//   documents::EstimateDocument estimate = documents::make_estimate(model, request);
//   estimate.totals.counts.flops;      // exact
//   estimate.roofline->totals.seconds; // no run on that device is shorter
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pagoda/core/cpu_engine.h"
#include "pagoda/core/custom_operator.h"
#include "pagoda/core/predict.h"
#include "pagoda/core/serving.h"
#include "pagoda/core/tensorrt.h"
#include "pagoda/documents/estimate.h"
#include "pagoda/documents/measured.h"

#pragma GCC visibility push(default)
namespace pagoda::documents {

// The link between devices: one by name, or its rate; neither: the fastest that the device's file states.
struct LinkChoice {
  std::string name = {};
  std::optional<double> bytes_per_second = std::nullopt;  // in one direction
};

// Speculative decoding: tokens that a draft proposes in each step, and the chance that one is accepted.
struct Speculation {
  std::int64_t tokens = 0;
  double acceptance = 0;
};

struct EstimateRequest {
  AnalyzeOptions sizes = {};                          // batch, dims and shapes of inputs
  std::vector<CustomOperator> custom_operators = {};  // operators without a rule, stated by their user
  std::optional<PhaseOptions> phase = std::nullopt;   // of a language model with a cache
  Convention count = Convention::Flops;               // what "flops" are
  TrafficModel traffic = TrafficModel::Unfused;       // what "bytes" are
  std::optional<DeviceSpec> device = std::nullopt;    // time bounds
  std::optional<Precision> precision = std::nullopt;  // of all floats: AnalyzeOptions::precision
  // Predicts the time, too; needs a device.
  std::optional<Calibration> calibration = std::nullopt;
  // … or under a serving engine; of these one is given (engines.h).
  std::optional<ServingCalibration> serving = std::nullopt;
  // … or under TensorRT, in float16 or, with that precision, with products in int8.
  std::optional<TensorRtCalibration> tensorrt = std::nullopt;
  // … or under ONNX Runtime on the CPU of `device`, which was measured with it.
  std::optional<CpuCalibration> cpu = std::nullopt;
  std::optional<MemoryOptions> memory = std::nullopt;      // plans the memory
  std::optional<ParallelOptions> parallel = std::nullopt;  // several devices alike; needs a device
  LinkChoice link = {};
  // Of a prefill: hands its cache to as many of these devices, which decode.
  std::optional<DeviceSpec> decode_device = std::nullopt;
  std::optional<Speculation> speculation = std::nullopt;  // of a decode step, whose tokens are one more
  std::optional<TrainingOptions> training = std::nullopt;
  std::vector<SweepAxis> sweep = {};
  std::vector<Budget> budgets = {};
  std::optional<Measured> measured = std::nullopt;  // runs of the model, held against the bound
  // Says what would shorten the time: looks at other traffic, precisions and batches of the device.
  bool advice = false;
  // Looks at every combination of these, for one row each; an empty list stands for what is asked for above.
  std::vector<DeviceSpec> other_devices = {};
  std::vector<Precision> other_precisions = {};
  std::vector<TrafficModel> other_traffic = {};
  std::map<std::string, double> price_per_hour = {};  // by device
  bool by_type = false;                               // EstimateDocument::types, too
  bool formulas = false;                              // totals as formulas, also where no dim is free
  bool row_formulas = false;                          // and each row
  std::string tool = {};                              // name and version of the program
};

// The analysis that a request asks for: at its sizes, in its phase, with the dims of a sweep left free.
Analysis analysis_of(const Model& model, const EstimateRequest& request);

// Parts of a request that do not go together, as onnx-estimate spells them, with the remedy; empty where all do.
std::string refusal(const EstimateRequest& request);

// Everything that a request asks for. A merged decoder must be on the side of the request's phase: set_phase_flag().
// Throws Error for a refusal(), for sizes that contradict the model or each other, and for a time or a plan where a
// size makes no sense with free dims at 1.
EstimateDocument make_estimate(const Model& model, const EstimateRequest& request = {});

// The first size that makes no sense with free dims taken as 1, negative or a division by 0, and which to set; empty
// where there is none: "with samples taken as 1, floor_div(samples, 5) - 1 of conv is no size; set --dim samples=V".
std::string impossible_size(const EstimateDocument& estimate);

// The dims that nothing sets: neither a binding nor a sweep.
std::vector<std::string> free_dims(const EstimateDocument& estimate);
// The sizes that the data decide and no sweep sets.
std::vector<Symbol> unset_symbols(const EstimateDocument& estimate);

}  // namespace pagoda::documents
#pragma GCC visibility pop
