// Energy ceilings: loads of known work over long windows, a counter of joules, and the fit of what each work costs.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "pagoda/documents/ceilings.h"
#include "pagoda/measured/energy_fit.h"
#include "power.h"

namespace pagoda::tools::ceilings {

// Something to run for a while, and how much work of each name it did.
struct EnergyLoad {
  std::string name;
  std::function<std::vector<double>(double seconds)> run;  // works in the order of `names`
};

struct EnergyPlan {
  std::string source;  // "nvml", "rapl", "rails"
  std::function<double()> joules;
  std::function<double()> now;
  std::function<void(double)> sleep;
  std::function<void(double)> spin;  // busy without work, for so long; empty: active idle power is not measured
  std::vector<std::string> names;    // "float64" → FLOP, "dram" → B …
  std::vector<std::string> units;    // "J/FLOP", "J/B"
  std::vector<EnergyLoad> loads;
  double settle_seconds = 3;  // discarded at the start of a window
  double window_seconds = 10;
  double edge_seconds = 0.5;  // longest wait for the counter to move
};

// Measures idle power, then every load at full and at half duty, and fits. Appends ceilings of kind energy and fills
// `energy`; where the fit is impossible, says why in `not_run`.
void run_energy(const EnergyPlan& plan, documents::CeilingsDocument& document);

// What of `rails` entered the fit, into `energy`: the rails that were added up, how they were read and how often, and
// the mean watts of each.
void describe_rails(const RailTrace& rails, documents::EnergyReport& energy);

}  // namespace pagoda::tools::ceilings
