// Assembles the computed results into an estimate document.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pagoda/core/conventions.h"
#include "pagoda/core/engine.h"
#include "pagoda/core/fit.h"
#include "pagoda/estimate/make_estimate.h"
#include "pagoda/estimate/open_sizes.h"

namespace pagoda::estimate {

using namespace documents;

// Numbers of formulas, with free dims at 1. Those that depend on a size that the data decide, other than those of
// `swept`, are lower bounds.
class Counter {
 public:
  explicit Counter(const Analysis& analysis, const std::vector<std::string>& swept = {}) : symbols_(analysis.symbols) {
    std::erase_if(symbols_, [&](const Symbol& symbol) { return std::ranges::find(swept, symbol.name) != swept.end(); });
  }
  Count operator()(const Dim& dim) const { return count(dim).at_least(depends_on_data(dim, symbols_)); }

 private:
  std::vector<Symbol> symbols_;
};

// A run on several devices.
struct GroupRun {
  Share share;                // of one device, at its part of the batch
  std::vector<Stage> stages;  // empty without a pipeline
  LinkRate link;
  Roofline bound;  // rows: of the share; totals: of one step on all devices
  ParallelTime time;
  std::vector<MemoryNeed> held;  // on one device of each stage; without a pipeline on one device

  const MemoryNeed& largest_need() const;
};

struct Findings {
  Analysis analysis;
  EstimateDocument estimate = {};                          // the parts that describe() does not make
  std::optional<PagodaCounts> published = std::nullopt;    // for Convention::Pagoda: replaces flops, param_bytes, bytes
  std::optional<Traffic> traffic = std::nullopt;           // empty: unfused
  std::optional<RooflineTotals> fused = {}, unfused = {};  // on the device, whatever `traffic` is
  std::optional<GroupRun> group = std::nullopt;            // set for several devices: the roofline is then the group's
  std::optional<Training> training = std::nullopt;
};

// Completes the estimate of the findings, and consumes the rest: large parts are moved, not copied.
void describe(const Model& model, const EstimateRequest& request, Findings& findings);
EstimateTraining training_part(const Training& training, const EstimateRequest& request, const Counter& count);
// The smallest size whose rate, as predicted or else as bounded with launches, is within 5 % of the best that fits.
// Empty for several dims, and where the items of a run do not change.
std::optional<EstimateBest> best_of(const EstimateSweep& sweep);
// `arena_weights`: of arena_weights_of(); empty: no engine with an arena is asked for.
std::vector<EstimateCliff> cliffs_of(const EstimateSweep& sweep, const DeviceSpec& device,
                                     const std::vector<std::int64_t>& arena_weights, bool is_decoder);
// The weights on the device under the request's engine or first provider that has an arena.
std::vector<std::int64_t> arena_weights_of(const Model& model, const EstimateRequest& request,
                                           const Analysis& analysis);
EstimateSweep sweep_part(Sweep sweep, std::vector<std::string> symbols,
                         const std::vector<std::optional<EstimatePrediction>>& predictions);

// The peak of activations; as a number also where its formula is too complex. Warns of tensors that it leaves out,
// where it is a lower bound.
Count activation_peak(const Model& model, Analysis& analysis);

// The analysis at the requested sizes, and the sizes of the request's phase.
struct Sized {
  Analysis analysis;
  std::optional<PhaseSizes> phase;
};
Sized sized(const Model& model, const EstimateRequest& request);
// The same in the precision that holds, which it sets.
Sized sized_as_run(const Model& model, EstimateRequest& request);

// The items of a run: new tokens in a phase, else the batch size, if it is set.
Count items_of(const Model& model, const EstimateRequest& request, const Sized& sized);
// The traffic that holds (traffic_model_of); empty: unfused.
std::optional<Traffic> traffic_of(const Model& model, const EstimateRequest& request, const Analysis& analysis);
// Size of the last-level cache, shared by the whole device. Throws Error if it is not known.
std::int64_t cache_bytes(const DeviceSpec& device);

bool is_swept(const EstimateRequest& request, std::string_view dim);
// Adds a warning before the diagnostics of the analysis, so that many of those cannot hide it.
void warn(Analysis& analysis, std::string message);
// Warns once of doubtful, assumed and missing rates that the times on the device depend on.
void warn_of_device(const DeviceSpec& device, const std::vector<AssumedPeak>& assumed,
                    const std::vector<MissingPeak>& missing, std::vector<Diagnostic>& diagnostics);

// Whether the request names an engine whose time is predicted.
bool predicts(const EstimateRequest& request);
// The engine of such a request.
const Engine& engine_of(const EstimateRequest& request);
// The time of a run under that engine, on the request's device, whose roofline is in `findings`. Empty without an
// engine, and if it does not predict the model. Adds warnings to the analysis. `is_rewritten`: `model` is the quantised
// form of the file.
std::optional<EstimatePrediction> prediction_of(const Model& model, const EstimateRequest& request, Findings& findings,
                                                bool is_rewritten = false);
// Whether the request names no engine, or one that predicts products of this precision.
bool engine_runs(const EstimateRequest& request, Precision precision);
// Why the engine does not predict the request's precisions or training; empty if it does.
std::string engine_refusal(const EstimateRequest& request);
// The precision that holds where the request names none: that of the products of the measured run, else of the engine,
// if the file multiplies plain float32; else empty. `analysis`: in the types of the file.
std::optional<Precision> precision_of_run(const EstimateRequest& request, const Analysis& analysis);
// The format of most products of a measured run, by its counters; empty: not known, or plain float32.
std::optional<Precision> products_of(const Measured& measured);
EstimateRequest with_traffic(EstimateRequest request, TrafficModel model);
// The bounds of a run on the request's device, and their sum.
Roofline bounds_of(const Model& model, const EstimateRequest& request, const Analysis& analysis);
RooflineTotals times_of(const Model& model, const EstimateRequest& request, const Analysis& analysis);
// One device's part of a step and what it moves: the same on every kind of device, unless traffic stays in a cache.
struct GroupShare {
  Share share;
  std::optional<Traffic> moved;
};
// Throws Error if the work cannot be divided among the devices.
GroupShare share_of_group(const Model& model, const EstimateRequest& request, const Sized& sized);
// One step on all devices of a request, of which `part` is share_of_group(). Throws Error if the work cannot be divided
// among the devices.
GroupRun run_on_group(const Model& model, const EstimateRequest& request, const Sized& sized, const GroupShare& part);
// The request restricted to the sequences that one expert group processes.
EstimateRequest of_one_group(const EstimateRequest& request);
// The transfer and decoding after a prefill, on other devices. `file_model` is the model before with_branches_taken(),
// for another phase. Throws Error if no link is known.
EstimateHandover handover_of(const Model& model, const Model& file_model, const EstimateRequest& request,
                             const Analysis& analysis);
EstimateParallel parallel_part(const Model& model, const EstimateRequest& request, const GroupRun& group);

// Why the request's devices do not go with the provider, whose times are theirs all the same; empty: they do, or are
// not known.
std::string unfit_text(const Provider& provider, const EstimateRequest& request);
// Where a provider puts the nodes of the main graph. Sets what its engine takes of the device's memory.
EstimatePlacement placement_of(const Model& model, const EstimateRequest& request, Findings& findings,
                               const Provider& provider);
// Adds what the first provider fuses and nearly fuses; without one, CUDA on a device of NVIDIA, else the CPU.
void add_unfused(const Model& model, const EstimateRequest& request, Findings& findings);

// Sets whether the model fits the request's device and, if requested, which changes would lower the time bound.
void add_fit_and_advice(const Model& model, const Model& file_model, const EstimateRequest& request,
                        Findings& findings);
// Time bounds and predictions of the request's other devices, precisions and traffic; adds new warnings to `analysis`,
// that of the request.
std::vector<EstimateVariant> variants_of(const Model& model, const Model& file_model, const EstimateRequest& request,
                                         Analysis& analysis);
// The model in a different phase, with its branch taken.
Model model_in_phase(const Model& file_model, const PhaseOptions& phase);
// Adds the energy of the run, and of each point of a sweep, if the device has energy constants. Returns a note on
// missing constants; empty if none is missing, or the device has none at all.
std::string add_energy(const DeviceSpec& device, EstimateDocument& estimate);

inline bool holds(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Why no engine can run the model at the sizes that were asked for; empty: nothing speaks against it.
std::string cannot_run_text(const Model& model, const Analysis& analysis);

// The first size that, with free dims at 1, is negative or divides by 0; worded as the public function words it.
std::string impossible_size(const Analysis& analysis, const std::vector<std::string>& swept_symbols);
struct Broken {
  std::string why = {}, remedy = {};  // both empty: nothing is
};
// Why formulas do not hold with free dims at 1, other than those of `swept_symbols`, and the dims to set. `phase`: the
// sizes that the request's phase sets in `analysis`.
Broken broken_at_one(const Model& model, const EstimateRequest& request, const std::optional<PhaseSizes>& phase,
                     const Analysis& analysis, const std::vector<std::string>& swept_symbols,
                     const std::vector<std::string>& unset);
// Clears all counts that formulas give, for an estimate at sizes at which they do not hold.
void forget_counts(EstimateDocument& estimate);

}  // namespace pagoda::estimate
