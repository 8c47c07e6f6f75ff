// The verdict on an estimate: how long a run takes, what limits it, whether it fits, what to do about it. Terminal,
// page, pictures and Python print this one, so that no two outputs disagree.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pagoda/documents/estimate.h"

namespace pagoda::present::report {

// A time on the common scale of the ladder, with its interval if it is a prediction.
struct Rung {
  std::string name;  // "unfused", "fused", "floor", "launched", "predicted", "measured"
  double seconds = 0;
  std::optional<double> low = {}, high = {};
};

// "2.10 ms"; "12.7 ms (9.06–15.2)" with an interval.
std::string time_text(const Rung& rung);

struct Action {
  std::string text = {};  // "Fuse: 2.10 ms → 635 µs"
  std::optional<double> gain = {};
  std::string of_what = {};   // what grows by the gain, if not the speed: "tokens/s"
  std::string request = {};   // the request that makes it, as its front end spells it: "--traffic fused"
  bool lowers_bound = false;  // or drops the launches beside it: a run far above both feels neither
  bool is_gap = false;        // of a run or prediction far above its bound; what is known of its kernels says more

  std::string sentence() const;  // "Fuse: 2.10 ms → 635 µs (3.31×)."
};

struct Verdict {
  // The page replaces these parts when the request changes. Empty: not said.
  std::string model = {}, device = {};  // "bert_base, batch=8", "NVIDIA H200 SXM 141 GB (float16)"
  std::string time = {};                // "635 µs fused (floor 571; 2.10 ms unfused)"
  std::string limit = {};               // "memory-bound for 75 % of the time"
  std::string rate = {};                // "at most 16,700 tokens/s"; of language models
  std::string fit = {};                 // "fits: 286 MB of 141 GB"
  bool is_blocked = false;              // it cannot run like this: the fit, or the sizes to set, comes first
  std::string subject = "time";         // what the headline is about: "time", "fits", "sizes", "sweep", "fastest"
  std::vector<Action> actions = {};     // what cures a blocker, then largest gain first
  std::vector<Rung> ladder = {};        // bounds from unfused to floor, then launched, predicted, measured

  struct Part {
    std::string_view name, separator;  // separator: before the part
    const std::string* text;
  };
  std::vector<Part> parts() const;  // of the headline, in order; without model and device
  // "635 µs fused (floor 571; 2.10 ms unfused), memory-bound for 75 % of the time; fits: 286 MB of 141 GB".
  std::string headline() const;
  // The same with another separator; line breaks fit there.
  std::string headline(std::string_view separator) const;
};

// Empty if nothing is known about time and sizes: no device, and all sizes are set.
std::optional<Verdict> verdict_of(const documents::EstimateDocument& estimate);

// Least times of a run.
struct Bounds {
  double seconds = 0;  // under `traffic`
  TrafficModel traffic = TrafficModel::Unfused;
  std::optional<double> floor = {}, fused = {}, unfused = {}, launched = {};
  double graph = 0;         // captured as one graph, which is launched once; where launches are the limit
  double memory_share = 0;  // of the time, in kernels whose traffic takes longer than their arithmetic
  bool is_least = false;    // of a part of the work: a size that the data decide is taken as 1
  bool is_part = false;     // some rows are not known
  std::string device = {};  // its name, which says what kind of graphs it runs

  // Launches take longer than the work: engines that launch each kernel wait for the host.
  bool is_launch_bound() const;
  bool gains_from_graph() const;  // a graph of several kernels
};
// Of a run, or of a training step. The estimate must have a roofline.
Bounds bounds_of(const documents::EstimateDocument& estimate);
// What a run needs where it fits, as far as that is known: "286 MB", "≥ 304 MB", "at most 412 MB".
std::string fits_bytes(const documents::EstimateFit& fit);
// "CUDA graph": how the makers of a device call a sequence of launches that is captured once.
std::string graph_name(std::string_view device);
// Fills time, limit and ladder.
void say_bounds(Verdict& verdict, const Bounds& bounds);

// A measured run against its bound.
struct Measurement {
  double seconds = 0;
  std::optional<double> bound_share = {};   // bound / measured
  std::optional<Precision> precision = {};  // whose roofs the bound is of, if not those of the estimate
  documents::MeasuredBasis basis = documents::MeasuredBasis::Run;
  bool is_least = false;     // the time of a kernel is not known
  bool has_kernels = false;  // whose times say where that above the bound goes
};
// Replaces time and limit, and advice that lowers only a bound far below the run.
void say_measured(Verdict& verdict, const Measurement& run);

// The point of a sweep from which on it does not pay: the smallest size from which on the rate is at least `kEnough` of
// the best. Empty if rates are not known or do not fit one dim.
struct Knee {
  std::int64_t size = 0;
  double rate = 0, share = 0;  // items a second, and what part of the best rate this is
  bool is_last = false;        // of those that fit: larger ones may pay, too
  bool is_largest = false;     // of those tried
  double falls_to = 0;         // where rates fall again: that of the largest size that fits, as a part of the best
  std::int64_t largest = 0;    // this size
};
std::optional<Knee> knee_of(const documents::EstimateSweep& sweep);
// "from batch 8 on 97 % of the best"; "best at batch 16, the largest tried".
std::string knee_text(const documents::EstimateSweep& sweep, const Knee& knee);

// Items or tokens of a run, without rejected speculated tokens. A run without a batch is one item.
double items_kept(const documents::EstimateDocument& estimate);
// "3,810 items/s", "1.23 M tokens/s".
std::string rate_text(double value, std::string_view unit);
// What a rate counts: "tokens/s", "items/s", "runs/s".
const char* rate_unit(const documents::EstimateDocument& estimate);
// "cannot run: wpe has rows for 1,024 positions, these sizes take 2,001"; of EstimateDocument::cannot_run.
std::string table_text(const documents::EstimateDocument& estimate);
// The precision of most work: "float16". Empty: not known.
std::string precision_text(const documents::EstimateRoofline& roofline);

// The sentences, with holes in braces. The page fills the same ones for other sizes.
using Values = std::vector<std::pair<std::string_view, std::string>>;
std::string said(std::string_view sentence, const Values& values);
std::span<const std::pair<std::string_view, std::string_view>> sentences();
inline constexpr double kWorthALine = 1.05;  // launches are the headline if they exceed the work by this factor
inline constexpr double kEnough = 0.97;      // of the best rate of a sweep

}  // namespace pagoda::present::report
