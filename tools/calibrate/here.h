// The measurements of --here, the rounds of each run that count, and the fits of an engine's calibration to them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "arguments.h"
#include "pagoda/core/analyze.h"
#include "pagoda/core/device.h"
#include "pagoda/core/model.h"
#include "pagoda/documents/result.h"
#include "pagoda/lab/fit.h"
#include "studies.h"

namespace pagoda::tools {

struct Here;
struct HereFit;

// An engine that --here measures.
struct HereEngine {
  std::string_view id;
  const char* name;                       // for people
  const char* version;                    // in the metadata of its runs
  const char *backend, *device;           // of pagoda-bench
  const char* type;                       // of its products; null: the model's own
  std::int64_t rounds;                    // of all runs
  double budget_seconds, warmup_seconds;  // of a run in a round
  const char* profile;  // how another run gives the time of each kernel: the worker's option layers_by, "" for its own
                        // way; null: none does
  std::span<const StudyRow> study;
  std::span<const char* const> ceilings;  // arguments of ert-ceilings
  HereFit (*fit)(const Here& here);
  const char* regime = "";  // ends the regime of its calibration
};

// A run of the study that gave a time.
struct HereRun {
  const StudyRow* row;
  const documents::Result* result;      // of its fastest round
  double seconds;                       // the mean of its rounds
  std::optional<double> apart_seconds;  // the same while the processors had different caches
};

// All measurements.
struct Here {
  const HereEngine& engine;
  const CalibrateArguments& arguments;
  std::string folder, models;  // of the runs; of the skeletons
  std::vector<HereRun> runs = {};
  double apart_share;  // of rounds in which the processors had different caches
  std::string ceilings = {};
  DeviceSpec device = {};

  std::string name_of(std::size_t run) const;
  int threads() const;         // as the worker counted them, where it can
  std::string regime() const;  // "ONNX Runtime 1.32.0 on a CPU, 2 threads, the engine's default"
};

// Of a model of the study in the sizes that the worker ran.
Analysis analysis_of(const Model& model, const documents::Result& result, std::optional<Precision> precision = {});

// A fit to what was measured, and its residuals as CSV.
struct HereFit {
  lab::Fit fit;
  std::string residuals;
};
HereFit fit_onnxruntime(const Here& here);
HereFit fit_whole_runs(const Here& here);
HereFit fit_tensorrt(const Here& here);

// Throws Error if the study's model of a run has kernels without a cost.
void require_costs(const Here& here, std::size_t run, std::int64_t unknown_rows);
// The residuals: measured and predicted seconds of each run; with the interval from other families, if it is asked for.
HereFit with_residuals(const Here& here, lab::Fit fit, bool has_intervals);
// A table of the runs, and how far the predictions are off.
std::string report(const Here& here, const lab::Fit& fit);

// --- rounds: each run of the study is measured in several ---

using Rounds = std::map<const StudyRow*, std::vector<const documents::Result*>>;  // the fastest first

// The rounds that gave a time.
Rounds rounds_of(const HereEngine& engine, const std::vector<documents::Result>& results);

// Where a host placed the processors of a virtual machine while it was measured. A calibration is of one cache if the
// machine had one in some round of at least half of its runs.
struct Placements {
  std::size_t together = 0, apart = 0;             // rounds
  double together_seconds = 0, apart_seconds = 0;  // the mean time until one processor sees what another wrote
  bool is_of_one_cache = false;

  double apart_share() const;  // of the rounds whose placement is known
};
Placements placements_of(const Rounds& rounds);
// Runs that no round has measured in that placement, though others were.
std::vector<const StudyRow*> runs_without_one_cache(const Rounds& rounds, const Placements& placements);

// The time of a run by the rounds of one placement that were not disturbed.
HereRun run_of(const StudyRow& row, const std::vector<const documents::Result*>& rounds, const Placements& placements);

// Notes on placements, and on runs that were disturbed.
std::vector<std::string> notes_of(const Rounds& rounds, const Placements& placements, const std::string& folder);

}  // namespace pagoda::tools
