// What the estimator computed, put together as one document.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pagoda/documents/estimate.h"

#pragma GCC visibility push(default)
namespace pagoda::documents {

// The time that a model needs at least on a device, and what a calibration expects it to take.
struct TimeSection {
  const DeviceSpec* device = nullptr;
  RooflineOptions options = {};
  const Roofline* bound = nullptr;
  std::optional<EstimatePrediction> predicted = std::nullopt;
};

// A run of a language model.
struct PhaseSection {
  Phase phase = Phase::Decode;
  Count tokens = std::nullopt;           // new ones of the whole batch
  Count bytes_per_token = std::nullopt;  // that the cache grows by, for the whole batch
};

// A training step; `time` is the bound of its rows on the device of TimeSection.
struct TrainingSection {
  const Training* training = nullptr;
  TrainingOptions options = {};
  std::optional<RooflineTotals> time = std::nullopt;
};

// What an estimate holds beside counts; null: not asked for. What is pointed to must outlive the call.
struct Sections {
  const MemoryPlan* memory = nullptr;
  const Traffic* traffic = nullptr;  // replaces bytes of totals; null: unfused
  const TimeSection* time = nullptr;
  const PhaseSection* phase = nullptr;
  const TrainingSection* training = nullptr;
  const Sweep* sweep = nullptr;
  const std::vector<BudgetResult>* budgets = nullptr;
};

struct DescribeOptions {
  Convention count = Convention::Flops;     // what "flops" are
  const PagodaCounts* published = nullptr;  // for Convention::Pagoda: replaces flops, param_bytes and bytes
  bool by_type = false;                     // EstimateDocument::types, too
  bool formulas = false;                    // totals as formulas, also where no dim is free
  bool row_formulas = false;                // and each row
  std::string tool = {};                    // name and version of the program
  Sections sections = {};
};

EstimateDocument describe(const Model& model, const Analysis& analysis, const DescribeOptions& options = {});

// Counts of some work. Where it is not modelled only the weights are known.
EstimateCounts counts_of(const OpCost& cost, const Dim& params, const Dim& param_bytes, Convention convention,
                         bool is_modelled = true);

// "ai.onnx" for the default domain, which files leave empty.
std::string domain_name(const std::string& domain);

}  // namespace pagoda::documents
#pragma GCC visibility pop
