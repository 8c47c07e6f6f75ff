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

}  // namespace pagoda::present::plot
