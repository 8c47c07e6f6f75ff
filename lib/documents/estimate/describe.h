// What was computed for an estimate, put together as its document.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pagoda/documents/make_estimate.h"

namespace pagoda::documents {

struct Findings {
  Analysis analysis;
  std::optional<PagodaCounts> published = std::nullopt;  // for Convention::Pagoda: replaces flops, param_bytes, bytes
  std::optional<MemoryPlan> memory = std::nullopt;
  std::optional<Traffic> traffic = std::nullopt;  // replaces bytes of totals; empty: unfused
  std::optional<Roofline> bound = std::nullopt;   // on the request's device
  std::optional<EstimatePrediction> predicted = std::nullopt;
  std::optional<EstimatePhase> phase = std::nullopt;  // without rates
  std::optional<Training> training = std::nullopt;
  std::optional<RooflineTotals> step_time = std::nullopt;  // of the training step
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

// What would shorten the least time, and the least time elsewhere; see EstimateRequest.
std::vector<EstimateAdvice> advice_of(const Model& model, const EstimateRequest& request, const Findings& findings);
std::vector<EstimateVariant> variants_of(const Model& model, const EstimateRequest& request);
// The runs of the request's measurement that are of the estimate's sizes, or of its sweep's. Throws Error where none is.
void add_measured(const Measured& measured, EstimateDocument& estimate);
Count memory_of(const DeviceSpec& device);  // empty: not known
EstimateFit fit_of(const Model& model, const EstimateRequest& request, const Findings& findings);
// The cache next to memory that the whole device shares. Throws Error where none is known.
std::int64_t cache_bytes(const DeviceSpec& device);

// Why times and plans cannot be of these sizes, as impossible_size() says it; `is_free` dims can be set.
std::string impossible_size(const Analysis& analysis, const std::vector<std::string>& swept_symbols);

}  // namespace pagoda::documents
