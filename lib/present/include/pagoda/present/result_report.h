// What results of experiments say: tables, comparisons with intervals, histories, and why models differ.
//
//   std::vector<Result> base = load_results("main").results, now = load_results("branch").results;
//   std::string csv = results_csv(now, ResultColumns::Tidy);
//   ResultComparison c = compare_results(base, now);
//   c.geomean.ratio;                    // how many times faster than base
//   c.regressed();                      // beyond noise; where nothing changed, at most 1 comparison in 20 is
//
// Speed-ups are ratios of medians, base over new: above 1 is faster. A number that is not known is empty, never 0.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pagoda/core/structure.h"
#include "pagoda/documents/measured.h"
#include "pagoda/documents/result.h"

#pragma GCC visibility push(default)
namespace pagoda::present {

// --- selection ------------------------------------------------------------------------------------------------------

// "AXIS=VALUE,…" in parts. Throws Error.
std::vector<std::pair<std::string, std::string>> conditions_of(std::string_view text);
// The records that have all values of all conditions. Beside axes: accelerator=NAME, the device or a part of what the
// accelerator or the processor is called; test=train or eval, the mode. Throws Error where no record is left.
std::vector<documents::Result> results_where(const std::vector<documents::Result>& results,
                                             const std::vector<std::string>& conditions);

// --- tables ---------------------------------------------------------------------------------------------------------

// Tidy: a row an experiment, SI units, every axis a column. TidyLayers: a row a layer. The others have the columns that
// tools before had, so that their notebooks go on: Overall and Layers (Model, Algorithm, …, Execution_Time_ms), Latency
// (engine, version, …, average_latency_ms, … of ONNX Runtime's benchmarks), MetricReport (timestamp, suite_name, …,
// median_total_time of PyTorch/XLA's). What a record does not hold is empty in them. Calibration: what pagoda-calibrate
// reads (model, family, batch, device, seconds), of inference of ONNX files; a family is the name up to its first digit
// or underscore.
enum class ResultColumns : std::uint8_t { Tidy, TidyLayers, Overall, Layers, Latency, MetricReport, Calibration };
std::optional<ResultColumns> result_columns(std::string_view name);  // "tidy", "tidy-layers", "overall", "layers", …
inline constexpr std::string_view kResultColumnNames =
    "tidy, tidy-layers, overall, layers, latency, metric_report, calibration";

// Numbers about models by the name of the model: columns to join.
using ModelFeatures = std::map<std::string, std::vector<Feature>>;

// `machine`: the device, as `onnx-estimate --device` takes it, that calibration rows are of.
std::string results_csv(const std::vector<documents::Result>& results, ResultColumns columns,
                        const ModelFeatures& features = {}, std::string_view machine = {});

// --- comparison -----------------------------------------------------------------------------------------------------

struct CompareOptions {
  double tolerance = 0.02;    // smaller changes do not count, however sure
  double false_alarm = 0.05;  // probability that anything is called slower (or faster) where nothing changed
  std::vector<std::string> without = {};  // axes that do not tell configurations apart
};

enum class SpeedVerdict : std::uint8_t { Same, Faster, Slower, CannotTell };
std::string_view to_string(SpeedVerdict verdict);  // "same", "faster", "SLOWER", "cannot tell"

struct SpeedUp {
  std::string name, model;
  std::optional<double> ratio, low, high;  // base / new; 95 % interval of this one
  double base_seconds = 0, new_seconds = 0;
  std::size_t base_units = 0, new_units = 0;  // independent measurements behind it
  std::string units;                          // "repeats", "blocks of one process"
  std::string test;                           // "rank sum, exact", "Welch on logarithms"
  std::optional<double> p_slower, p_faster;   // one-sided
  SpeedVerdict verdict = SpeedVerdict::CannotTell;
  std::optional<double> base_error, new_error;  // of verification
  std::string note;
};

struct MeanRatio {
  std::string name;  // model, or the mode where there are several; empty: all
  std::size_t count = 0;
  double ratio = 1;                 // geometric mean
  std::optional<double> low, high;  // 95 %, of the noise of measurement; not of the choice of models
};

struct ResultComparison {
  CompareOptions options;
  std::vector<SpeedUp> rows;      // slowest ratio first
  std::vector<MeanRatio> models;  // geometric mean over the configurations of each
  // Over models. Of one mode: inference and training never share a mean; empty count where there are several.
  MeanRatio geomean;
  std::vector<MeanRatio> by_mode;  // over the models of each mode, where there are several
  std::vector<std::string> only_base, only_new;
  std::vector<std::string> broken, repaired;  // ok before and not now, with the reason; the reverse
  std::size_t tested = 0;                     // pairs with enough repeats for a verdict

  std::size_t count(SpeedVerdict verdict) const;
  // Slower beyond noise, or broken.
  bool regressed() const { return count(SpeedVerdict::Slower) > 0 || !broken.empty(); }
};

ResultComparison compare_results(const std::vector<documents::Result>& base, const std::vector<documents::Result>& now,
                                 const CompareOptions& options = {});

// --- history --------------------------------------------------------------------------------------------------------

struct Snapshot {
  std::string name, time;  // time: ISO 8601, as records have it; may be empty
  std::vector<documents::Result> results;
};
// Results of one file by the day of their records, oldest first; records without a time are in one without a name.
std::vector<Snapshot> by_day(const std::vector<documents::Result>& results);

struct HistoryPoint {
  std::size_t snapshot = 0;
  std::size_t workloads = 0;
  double geomean = 1;
  std::optional<double> low, high;
  std::array<double, 3> percentiles = {};  // 5th, 50th, 95th of the speed-ups of workloads
};

struct CurvePoint {
  std::string workload;
  double ratio = 1;
  std::optional<double> low, high;
  std::optional<double> error;      // of verification against its reference
  std::optional<std::string> code;  // "PASS", …
};

// One way of running models (backend, compile mode, algorithm …) over time.
struct SeriesHistory {
  std::string name;
  std::vector<HistoryPoint> points;  // by snapshot
  std::vector<CurvePoint> latest;    // of the newest snapshot that has the series, slowest first
  std::string latest_snapshot;
};

struct History {
  std::string baseline;
  std::vector<std::string> snapshots;
  std::vector<std::string> dates;  // of each snapshot's first record, "2026-01-31"; empty: not known
  std::vector<SeriesHistory> series;
};

// `baseline`: "oldest": each workload's oldest record in the same series; the name of a snapshot: the same series in
// it; "AXIS=VALUE,…": each workload's oldest record of the series with these values. Throws Error where nothing fits.
History history(const std::vector<Snapshot>& snapshots, const std::string& baseline = "oldest");

// --- why ------------------------------------------------------------------------------------------------------------

// A quantity of models, and what of their structure goes with it.
struct Correlation {
  std::string feature;
  std::size_t count = 0;
  double rank = 0;       // Spearman's ρ
  double linear = 0;     // Pearson's r with the logarithm of the quantity
  double explained = 0;  // of the variance of the logarithm, by this feature alone in a straight line: r²
};

struct TreeNode {
  std::size_t count = 0;
  double mean = 0;       // of the quantity (geometric)
  std::string feature;   // empty: a leaf
  double threshold = 0;  // left: at most
  double explained = 0;  // of all the variance, by this split
  std::size_t left = 0, right = 0;
  std::vector<std::string> models;  // of a leaf
};

struct Explanation {
  std::string quantity;
  std::vector<std::pair<std::string, double>> ranks;   // models by the quantity, least first
  std::vector<Correlation> correlations;               // strongest rank correlation first
  std::vector<TreeNode> tree;                          // [0] is the root
  double explained = 0;                                // of the variance, by the tree on the models it saw
  std::optional<double> explained_unseen;              // on models left out, one at a time; may be negative
  std::vector<std::pair<std::string, double>> shares;  // features by what their splits explain
  std::vector<std::string> missing;                    // models without features
};

struct ExplainOptions {
  std::size_t depth = 3, smallest_leaf = 3;
};

// Quantities must be positive. Throws Error for fewer than 4 models with features.
Explanation explain(const std::string& quantity, const std::map<std::string, double>& values,
                    const ModelFeatures& features, const ExplainOptions& options = {});

// --- output ---------------------------------------------------------------------------------------------------------

enum class ReportFormat : std::uint8_t { Text, Csv, Svg, Png, Html };

// Throw Error where a format needs what is not installed.
std::string comparison_report(const ResultComparison& comparison, ReportFormat format, const std::string& title = "");
std::string history_report(const History& history, ReportFormat format, const std::string& title = "");
std::string latest_report(const History& history, ReportFormat format, const std::string& title = "");
std::string explanation_report(const Explanation& explanation, ReportFormat format, const std::string& title = "");

// A row a configuration: p50, p95, p99, throughput, memory, energy, power; repeats by their median, what differs between
// rows as columns, what failed with its reason. Pictures show latency and throughput over the batch, the image size or
// the sequence, whichever has the most values. `most`: rows of text, 0: all. Throws Error where nothing can be drawn.
std::string times_report(const std::vector<documents::Result>& results, ReportFormat format,
                         const std::string& title = "", std::size_t most = 0);

// Layers of a record as kernels, the whole as seconds: what roofline-plot and pagoda-import take.
documents::Measured measured_of(const documents::Result& result);
// Whole runs of several records, a run each with its configuration: what `onnx-estimate --sweep --measured` takes.
documents::Measured measured_runs_of(const std::vector<documents::Result>& results);

}  // namespace pagoda::present
#pragma GCC visibility pop
