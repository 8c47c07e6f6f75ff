// Reports on experiment results: tables, comparisons with intervals, histories, and explanations of why models differ.
//
//   std::vector<Result> base = load_results("main").results, now = load_results("branch").results;
//   std::string csv = results_csv(now, ResultColumns::Tidy);
//   ResultComparison c = compare_results(base, now);
//   c.geomean.ratio;                    // how many times faster than base
//   c.regressed();                      // beyond noise; where nothing changed, at most 1 comparison in 20 is
//
// Speed-ups are ratios of medians, base over new: above 1 is faster. An unknown number is empty, never 0.
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
namespace pagoda::lab {

// --- selection ------------------------------------------------------------------------------------------------------

// Splits "AXIS=VALUE,…". Throws Error.
std::vector<std::pair<std::string, std::string>> conditions_of(std::string_view text);
// The records that meet all conditions. Besides axes, a condition may be accelerator=NAME (the device, or part of the
// name of the accelerator or processor) or test=train or eval (the mode). Throws Error if no record is left.
std::vector<documents::Result> results_where(const std::vector<documents::Result>& results,
                                             const std::vector<std::string>& conditions);
// The same for the runs of a measurement, whose axes are their settings: batch=8, gpu_hz=918000000. Throws Error if no
// run is left.
documents::Measured runs_where(documents::Measured measured, const std::vector<std::string>& conditions);

// --- tables ---------------------------------------------------------------------------------------------------------

// Tidy: one row per experiment, SI units, one column per axis. TidyLayers: one row per layer. Overall, Layers, Latency
// and MetricReport have the columns of earlier tools, so that their notebooks keep working: Overall and Layers (Model,
// Algorithm, …, Execution_Time_ms), Latency (engine, version, …, average_latency_ms, … of ONNX Runtime's benchmarks),
// MetricReport (timestamp, suite_name, …, median_total_time of PyTorch/XLA's benchmarks); values that a record lacks
// are empty. Calibration: the input of pagoda-calibrate (model, family, batch, device, seconds), for inference of ONNX
// files; a family is the file's name up to its first digit, underscore, hyphen or dot.
enum class ResultColumns : std::uint8_t { Tidy, TidyLayers, Overall, Layers, Latency, MetricReport, Calibration };
std::optional<ResultColumns> result_columns(std::string_view name);  // "tidy", "tidy-layers", "overall", "layers", …
inline constexpr std::string_view kResultColumnNames =
    "tidy, tidy-layers, overall, layers, latency, metric_report, calibration";

// Features by model name, to join as columns.
using ModelFeatures = std::map<std::string, std::vector<Feature>>;

// `machine`: the device column of calibration rows, as `onnx-estimate --device` takes it.
std::string results_csv(const std::vector<documents::Result>& results, ResultColumns columns,
                        const ModelFeatures& features = {}, std::string_view machine = {});

// --- comparison -----------------------------------------------------------------------------------------------------

struct CompareOptions {
  double tolerance = 0.02;    // ignore smaller changes, even significant ones
  double false_alarm = 0.05;  // probability that anything is called slower (or faster) although nothing changed
  std::vector<std::string> without = {};  // axes to ignore when matching configurations
};

// Same: the whole interval lies within the tolerance. CannotTell: it does not, and no test found a difference.
enum class SpeedVerdict : std::uint8_t { Same, Faster, Slower, CannotTell };
std::string_view to_string(SpeedVerdict verdict);  // "same", "faster", "SLOWER", "cannot tell"

struct SpeedUp {
  std::string name, model;
  std::optional<double> ratio, low, high;  // base / new; 95 % interval of this ratio
  double base_seconds = 0, new_seconds = 0;
  std::size_t base_units = 0, new_units = 0;  // numbers of independent measurements
  std::string units;                          // "repeats", "blocks of one process"
  std::string test;                           // "rank sum, exact", "Welch on logarithms"
  std::optional<double> p_slower, p_faster;   // one-sided
  SpeedVerdict verdict = SpeedVerdict::CannotTell;
  std::optional<double> base_error, new_error;  // verification errors
  std::string note;
};

struct MeanRatio {
  std::string name;  // the model, or the mode if there are several; empty: all
  std::size_t count = 0;
  double ratio = 1;                 // geometric mean
  std::optional<double> low, high;  // 95 % interval for measurement noise, not for the choice of models
};

struct ResultComparison {
  CompareOptions options;
  std::vector<SpeedUp> rows;      // slowest ratio first
  std::vector<MeanRatio> models;  // geometric mean over the configurations of each
  // Over models of one mode: inference and training never share a mean. With several modes its count is 0.
  MeanRatio geomean;
  std::vector<MeanRatio> by_mode;  // over the models of each mode, if there are several modes
  std::vector<std::string> only_base, only_new;
  std::vector<std::string> broken, repaired;  // broken: ok before but not now, with the reason; repaired: the reverse
  std::size_t tested = 0;                     // pairs with enough repeats for a verdict

  std::size_t count(SpeedVerdict verdict) const;
  // Slower beyond noise, or broken.
  bool regressed() const { return count(SpeedVerdict::Slower) > 0 || !broken.empty(); }
};

ResultComparison compare_results(const std::vector<documents::Result>& base, const std::vector<documents::Result>& now,
                                 const CompareOptions& options = {});

// --- history --------------------------------------------------------------------------------------------------------

struct Snapshot {
  std::string name, time;  // time: ISO 8601, copied from the records; may be empty
  std::vector<documents::Result> results;
};
// Groups the results of one file by day, oldest first; records without a time share a snapshot with an empty name.
std::vector<Snapshot> by_day(const std::vector<documents::Result>& results);

struct HistoryPoint {
  std::size_t snapshot = 0;
  std::size_t workloads = 0;
  double geomean = 1;
  std::optional<double> low, high;
  std::array<double, 3> percentiles = {};  // 5th, 50th, 95th percentile of the speed-ups of the workloads
};

struct CurvePoint {
  std::string workload;
  double ratio = 1;
  std::optional<double> low = {}, high = {};
  std::optional<double> error = {};      // of verification against its reference
  std::optional<std::string> code = {};  // "PASS", …
};

// The history of one way of running models (backend, compile mode, algorithm …).
struct SeriesHistory {
  std::string name;
  std::vector<HistoryPoint> points;  // by snapshot
  std::vector<CurvePoint> latest;    // from the newest snapshot that contains the series, slowest first
  std::string latest_snapshot;
};

struct History {
  std::string baseline;
  std::vector<std::string> snapshots;
  std::vector<std::string> dates;  // of each snapshot's earliest record, "2026-01-31"; empty: unknown
  std::vector<SeriesHistory> series;
};

// `baseline` is one of: "oldest" (each workload's oldest record in the same series); the name of a snapshot (the same
// series in that snapshot); "AXIS=VALUE,…" (each workload's oldest record in the series with these values). Throws
// Error if nothing matches.
History history(const std::vector<Snapshot>& snapshots, const std::string& baseline = "oldest");

// --- why ------------------------------------------------------------------------------------------------------------

// How a structural feature of models correlates with a quantity.
struct Correlation {
  std::string feature;
  std::size_t count = 0;
  double rank = 0;       // Spearman's ρ
  double linear = 0;     // Pearson's r with the logarithm of the quantity
  double explained = 0;  // r²: share of the logarithm's variance that a linear fit of this feature alone explains
};

struct TreeNode {
  std::size_t count = 0;
  double mean = 0;       // geometric mean of the quantity
  std::string feature;   // empty: a leaf
  double threshold = 0;  // values up to it go left
  double explained = 0;  // share of the total variance that this split explains
  std::size_t left = 0, right = 0;
  std::vector<std::string> models;  // leaves only
};

struct Explanation {
  std::string quantity;
  std::vector<std::pair<std::string, double>> ranks;   // models and their quantity, least first
  std::vector<Correlation> correlations;               // strongest rank correlation first
  std::vector<TreeNode> tree;                          // [0] is the root
  double explained = 0;                                // share of the variance that the tree explains on its own models
  std::optional<double> explained_unseen;              // the same, leaving out one model at a time; may be negative
  std::vector<std::pair<std::string, double>> shares;  // features, by the variance that their splits explain
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

// Throw Error if a format needs a program that is not installed.
std::string comparison_report(const ResultComparison& comparison, ReportFormat format, const std::string& title = "");
std::string history_report(const History& history, ReportFormat format, const std::string& title = "");
std::string latest_report(const History& history, ReportFormat format, const std::string& title = "");
std::string explanation_report(const Explanation& explanation, ReportFormat format, const std::string& title = "");

// One row per configuration: p50, p95, p99, throughput, memory, energy, power. Repeats are merged by their median; axes
// that differ between rows become columns; failures show their reason. Pictures show latency and throughput over the
// batch, image size or sequence, whichever has the most values. `most`: most rows of text, 0: all. Throws Error if
// nothing can be drawn.
std::string times_report(const std::vector<documents::Result>& results, ReportFormat format,
                         const std::string& title = "", std::size_t most = 0);

// The layers of a record as kernels and its total as seconds: the input of roofline-plot and pagoda-import.
documents::Measured measured_of(const documents::Result& result);
// One whole run per configuration, the median over its repeats: the input of `onnx-estimate --sweep --measured`.
documents::Measured measured_runs_of(const std::vector<documents::Result>& results);

}  // namespace pagoda::lab
#pragma GCC visibility pop
