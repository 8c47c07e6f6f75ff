// What was computed for an estimate, put together as its document.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pagoda/core/fit.h"
#include "pagoda/documents/make_estimate.h"

namespace pagoda::documents {

// A run on several devices.
struct GroupRun {
  Share share;                // of a device, at its part of the batch
  std::vector<Stage> stages;  // empty without a pipeline
  LinkRate link;
  Roofline bound;  // of the share; its totals are of a step on all devices
  ParallelTime time;
  std::vector<MemoryNeed> held;  // by one device of each stage; without a pipeline by one device

  const MemoryNeed& largest_need() const;
};

struct Findings {
  Analysis analysis;
  std::optional<PagodaCounts> published = std::nullopt;  // for Convention::Pagoda: replaces flops, param_bytes, bytes
  std::optional<MemoryPlan> memory = std::nullopt;
  std::optional<Traffic> traffic = std::nullopt;  // replaces bytes of totals; empty: unfused
  std::optional<Roofline> bound = std::nullopt;   // on the request's device
  std::optional<GroupRun> group = std::nullopt;   // on several devices: `bound` is its
  std::optional<EstimatePrediction> predicted = std::nullopt;
  std::optional<EstimateHandover> handover = std::nullopt;
  std::optional<EstimatePhase> phase = std::nullopt;  // without rates
  Count items = std::nullopt;                         // EstimateRoofline::items
  std::optional<Training> training = std::nullopt;
  std::optional<RooflineTotals> step_time = std::nullopt;  // of the training step
  std::vector<EstimateTraining::Row> step_rows = {};
  std::optional<EstimateFit> fit = std::nullopt;
  std::vector<EstimateAdvice> advice = {};
  std::vector<EstimateVariant> variants = {};
  std::optional<Sweep> sweep = std::nullopt;
  std::vector<std::string> swept_symbols = {};
  std::vector<BudgetResult> budgets = {};
};

// Takes the findings apart: what is large is moved, not copied.
EstimateDocument describe(const Model& model, const EstimateRequest& request, Findings findings);

// The analysis at the sizes that a request asks for, and those of its phase.
struct Sized {
  Analysis analysis;
  std::optional<PhaseSizes> phase;
};
Sized sized(const Model& model, const EstimateRequest& request);

// What a run processes: new tokens in a phase, else the items of a batch that is set.
Count items_of(const EstimateRequest& request, const Sized& sized);
// The traffic that a request asks for; empty: unfused.
std::optional<Traffic> traffic_of(const Model& model, const EstimateRequest& request, const Analysis& analysis);
// The cache next to memory that the whole device shares. Throws Error where none is known.
std::int64_t cache_bytes(const DeviceSpec& device);

// Whether products that are asked for in int8 stay in float16: the device has no tensor units for them.
bool lacks_int8(const EstimateRequest& request);
// What TensorRT runs: the request's precision, float16 where it names none or the device lacks it.
Analysis tensorrt_analysis(const Model& model, const EstimateRequest& request, const Analysis& analysis);
// The least time of a run on the request's device.
RooflineTotals times_of(const Model& model, const EstimateRequest& request, const Analysis& analysis);
// One step on all devices of a request. Throws Error for what cannot be shared out.
GroupRun run_on_group(const Model& model, const EstimateRequest& request, const Sized& sized);
// What one device of each stage of the group holds of an analysis whose sizes are free; without a group the analysis.
std::vector<Analysis> held_by_devices(const Model& model, const EstimateRequest& request, const Analysis& analysis,
                                      const GroupRun* group);
// The request of the sequences that one expert group works on.
EstimateRequest of_one_group(const EstimateRequest& request);
// What follows a prefill elsewhere. Throws Error where no link is known.
EstimateHandover handover_of(const Model& model, const EstimateRequest& request, const Analysis& analysis);
EstimateParallel parallel_part(const Model& model, const EstimateRequest& request, const GroupRun& group);

// Sets whether the model fits the request's device and, where it is asked for, what would shorten the least time.
void add_fit_and_advice(const Model& model, const EstimateRequest& request, Findings& findings);
// The least time elsewhere; see EstimateRequest.
std::vector<EstimateVariant> variants_of(const Model& model, const EstimateRequest& request);
// Adds the energy of the run, and of the sizes of a sweep, where the device has constants.
void add_energy(const DeviceSpec& device, EstimateDocument& estimate);
// Adds the measured runs of the estimate's sizes, or of its sweep's. Throws Error where the file holds none of them.
void add_measured(const Measured& measured, EstimateDocument& estimate);

// Names that files give the batch; the first one found counts.
inline constexpr const char* kBatchNames[] = {"batch", "batch_size", "N", "n"};

// The first size with free dims at 1 that is negative or a division by 0, as the public function says it.
std::string impossible_size(const Analysis& analysis, const std::vector<std::string>& swept_symbols);

}  // namespace pagoda::documents
