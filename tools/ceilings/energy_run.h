// Energy ceilings: runs loads of known work over long windows, reads an energy counter, and fits the cost of each work.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "pagoda/documents/ceilings.h"
#include "pagoda/measured/energy_fit.h"
#include "power.h"
#include "protocol.h"

namespace pagoda::tools::ceilings {

// A load that runs for a given time and returns the amount of work done, by name.
struct EnergyLoad {
  std::string name;
  std::function<std::vector<double>(double seconds)> run;  // work in the order of `names`
};

struct EnergyPlan {
  std::string source;  // "nvml", "rapl", "rails"
  std::function<double()> joules;
  std::function<double()> now = steady_seconds;
  std::function<void(double)> sleep = [](double seconds) {
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  };
  std::function<void(double)> spin;  // busy without work for some seconds; empty: do not measure active idle power
  std::vector<std::string> names;    // "float64" → FLOP, "dram" → B …
  std::vector<std::string> units;    // "J/FLOP", "J/B"
  std::vector<EnergyLoad> loads;
  std::shared_ptr<RailTrace> rails;  // whose sum `joules` is; null: it is a counter of the device
  double settle_seconds = 3;         // discarded at the start of a window
  double window_seconds = 10;
  double edge_seconds = 0.5;  // longest wait for the counter to move
};

// Takes a Jetson's rails as the plan's counter; false if their total is unknown.
bool use_rails(EnergyPlan& plan);

// Adds the first candidates of experiments as loads: of the experiment with each id, as work of the name beside it.
// Prepares them. The experiments must outlive the plan.
void add_loads(std::vector<Experiment>& experiments, std::span<const std::pair<std::string, std::string>> wanted,
               EnergyPlan& plan);

// Measures idle power, then every load at full and at half duty, and fits. Appends ceilings of kind energy and fills
// `energy`; if the fit is impossible, appends the reason to `not_run`.
void run_energy(const EnergyPlan& plan, documents::CeilingsDocument& document);

}  // namespace pagoda::tools::ceilings
