// The verdict at the top of a chart: how long, why, whether it fits, and what to do about it. Each number comes from
// the estimate or from its series.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plot/chart.h"

namespace pagoda::present::plot {

// A time on the common scale of the ladder.
struct Rung {
  std::string name;  // "unfused", "fused", "floor", "predicted", "measured"
  double seconds = 0;
};

struct Verdict {
  // The headline, in parts that the page replaces when the request changes: "bert_base, batch=8" "NVIDIA H200
  // (float16)" "at least 2.10 ms" "memory bounds 74.9 % of it" "fits: 286 MB of 141 GB".
  std::string model, device, time, bound, fit;
  std::vector<std::string> actions;  // sentences, largest gain first
  std::vector<Rung> ladder;          // bounds, from unfused to floor, then the prediction; measured last
  // The parts as one text: "model on device: time, bound; fit", or with `separator` in place of ": " and "; ".
  std::string headline(std::string_view separator = {}) const;
};

// The verdict on a series; empty if the series has no time.
std::optional<Verdict> verdict_of(const Chart& chart, const Series& series);
// The verdict on the whole chart: its only series, or the second series against the first. Empty in all other cases.
std::optional<Verdict> verdict_of(const Chart& chart);
// Labels of the series without the sizes that all have: {"bert_base", "bert_fused"} and ", batch=8, sequence=128".
struct ShortLabels {
  std::vector<std::string> labels;
  std::string common;
};
ShortLabels short_labels(const Chart& chart);
// "534 G … 2.74 TFLOP/s, 10 … 51%": the range of a model's measured stars, and their shares of the main roof or the
// arch at their intensities; or the range of its bounds if it has no measured star.
std::string reach_text(const Chart& chart, const Series& series);
// In a chart of several models: the time of each. Empty unless all have one comparable time.
std::vector<Rung> ladder_of(const Chart& chart);

}  // namespace pagoda::present::plot
