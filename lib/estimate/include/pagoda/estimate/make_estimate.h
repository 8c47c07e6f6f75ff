// Makes the estimate of a model.
//
//   Model model = load_model("resnet50.onnx");
//   estimate::EstimateRequest request{.sizes = {.batch = 8}};
//   request.device = documents::find_device("h200");
//   documents::EstimateDocument estimate = estimate::make_estimate(model, request);
//   estimate.totals.counts.flops;      // exact
//   estimate.roofline->totals.seconds;       // no run by an engine that fuses is shorter on that device
//   estimate.roofline->totals.floor_seconds; // no run at all
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pagoda/core/calibration.h"
#include "pagoda/core/custom_operator.h"
#include "pagoda/core/placement.h"
#include "pagoda/documents/estimate.h"
#include "pagoda/documents/measured.h"

#pragma GCC visibility push(default)
namespace pagoda::estimate {

// The link between devices, by name or by rate; if neither is set, the fastest in the device's file.
struct LinkChoice {
  std::string name = {};
  std::optional<double> bytes_per_second = std::nullopt;  // in one direction
};

using documents::Speculation;

struct EstimateRequest {
  AnalyzeOptions sizes = {};                          // batch, dims and shapes of inputs
  std::vector<CustomOperator> custom_operators = {};  // user-defined operators for nodes without a rule
  std::optional<PhaseOptions> phase = std::nullopt;   // of a language model with a cache
  Convention count = Convention::Flops;               // the definition of "flops"
  std::optional<TrafficModel> traffic = {};           // of times and bytes moved; empty: traffic_model_of() decides
  std::optional<DeviceSpec> device = std::nullopt;    // time bounds
  // Of all floats: AnalyzeOptions::precision. Empty: that of the file; for a file of float32 that of the products of
  // the measured run, else of the engine.
  std::optional<Precision> precision = std::nullopt;
  // Also predicts the time, under the engine of this calibration; needs a device. set_prediction() of engines.h sets it
  // by name.
  std::optional<Calibration> engine = {};
  std::optional<MemoryOptions> memory = std::nullopt;      // plans the memory
  std::optional<ParallelOptions> parallel = std::nullopt;  // several identical devices; needs a device
  LinkChoice link = {};
  // For a prefill: its cache is handed over to the same number of these devices, which decode.
  std::optional<DeviceSpec> decode_device = std::nullopt;
  std::optional<Speculation> speculation = std::nullopt;  // of a decode step, which adds one token
  std::optional<TrainingOptions> training = std::nullopt;
  std::vector<SweepAxis> sweep = {};
  std::vector<Budget> budgets = {};
  std::optional<documents::Measured> measured = std::nullopt;  // measured runs of the model, compared with the bound
  // Adds EstimateDocument::advice: tries other traffic models, precisions and batches on the device.
  bool advice = false;
  // Adds a variant for every combination of these; an empty list means the value requested above.
  std::vector<DeviceSpec> other_devices = {};
  std::vector<Precision> other_precisions = {};
  std::vector<TrafficModel> other_traffic = {};
  std::vector<ParallelOptions> other_parallel = {};
  // Tokens of a prompt. Each variant of a decode step then also has the time of its prefill. 0: no prompt.
  std::int64_t prompt = 0;
  std::map<std::string, double> price_per_hour = {};  // by device
  // Providers of ONNX Runtime that are asked which nodes they take, as the file has them or as the runtime runs them.
  std::vector<Provider> providers = {};
  PlacementForm placement_form = PlacementForm::Default;
  bool unfused = false;  // also fills EstimateDocument::fused and unfused
  std::optional<DeviceSpec> host_device = std::nullopt;  // runs the nodes that providers leave, beside `device`
  std::optional<Calibration> host_engine = std::nullopt;  // of onnxruntime-cpu on that device, if it was measured
  bool by_type = false;                               // also fills EstimateDocument::types
  bool formulas = false;                              // totals as formulas, even if no dim is free
  bool row_formulas = false;                          // formulas for each row as well
  std::string tool = {};                              // name and version of the program
  // Spells the fields of the request that the estimate's messages name: spell.h of present. Null: "`batch`".
  std::string (*spell)(std::string_view message) = nullptr;
};

// The traffic model that holds. What is requested wins, then what the requested engine does, then fused wherever there
// is a device and so a time. Without one, of training steps and of published counts it is unfused.
TrafficModel traffic_model_of(const EstimateRequest& request);

// The requested analysis: at the request's sizes, in its phase, with the dims of a sweep left free.
Analysis analysis_of(const Model& model, const EstimateRequest& request);

// Options that a caller was given for a part of the request. One whose part the request lacks is refused.
struct Refinements {
  bool in_place = false;                                      // of the memory plan
  bool optimizer = false, recompute = false, frozen = false;  // of the training step
  bool past = false, tokens = false;                          // of the phase
  bool speculate = false, acceptance = false;                 // both of the speculation
  bool engine = false, calibration = false;                   // of the prediction
};

// Names incompatible parts of a request, with the remedy; empty if there are none.
std::string refusal(const EstimateRequest& request, const Refinements& given = {});

// Computes everything requested. A merged decoder must be set to the branch of the request's phase: set_phase_flag().
// Throws Error if there is a refusal(), if sizes contradict the model or each other, and if a time or a memory plan is
// requested but a size is impossible with free dims at 1.
documents::EstimateDocument make_estimate(const Model& model, const EstimateRequest& request = {});

// The first size that is impossible (negative or a division by 0) with free dims taken as 1, and the dim to set; empty
// if there is none: "with samples taken as 1, floor_div(samples, 5) - 1 of conv is not a size; set `dims=samples=V`".
std::string impossible_size(const documents::EstimateDocument& estimate);

// The dims set neither by a binding nor by a sweep.
std::vector<std::string> free_dims(const documents::EstimateDocument& estimate);
// The data-dependent sizes that no sweep sets.
std::vector<Symbol> unset_symbols(const documents::EstimateDocument& estimate);

}  // namespace pagoda::estimate
#pragma GCC visibility pop
