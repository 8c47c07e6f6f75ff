// What a chart says first: how long, why, whether it fits, and what to do about it. Each number is one of the estimate
// or of its series.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plot/chart.h"

namespace pagoda::present::plot {

// A time on the one scale of the ladder.
struct Rung {
  std::string name;  // "unfused", "fused", "floor", "predicted", "measured"
  double seconds = 0;
};

struct Verdict {
  // The headline, in parts that the page replaces for other requests: "bert_base, batch=8" "NVIDIA H200 (float16)"
  // "at least 2.10 ms" "memory bounds 74.9 % of it" "fits: 286 MB of 141 GB".
  std::string model, device, time, bound, fit;
  std::vector<std::string> actions;  // sentences, the most gain first
  std::vector<Rung> ladder;          // longest first as an engine gets better; measured last
  // The parts as one text: "model on device: time, bound; fit", or with another separator for ": " and "; ".
  std::string headline(std::string_view separator = {}) const;
};

// Of a series; of roofs alone there is none.
std::optional<Verdict> verdict_of(const Chart& chart, const Series& series);
// Of all that a chart shows: its one series, or the second against the first. Empty where more would have to be said.
std::optional<Verdict> verdict_of(const Chart& chart);
// Labels of the series without the sizes that all end in: {"bert_base", "bert_fused"} and ", batch=8, sequence=128".
struct ShortLabels {
  std::vector<std::string> labels;
  std::string common;
};
ShortLabels short_labels(const Chart& chart);
// A time for each model of a chart of several that have one; empty otherwise.
std::vector<Rung> ladder_of(const Chart& chart);

}  // namespace pagoda::present::plot
