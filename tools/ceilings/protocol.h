// How a ceiling is measured on any device: warm up until settled, choose a configuration, report it on fresh samples.
// Every ceiling is visited several times, each time in a different random order and with newly allocated memory, so
// that differences between runs also occur between visits and enter the interval. Comparing the first visits with the
// last ones shows drift.
//
// An Experiment is a ceiling without numbers plus the configurations that may reach it. Nothing here depends on CPUs,
// GPUs or wall clocks: the tests drive it with synthetic machines.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "disturbance.h"
#include "pagoda/documents/ceilings.h"

namespace pagoda::tools::ceilings {

inline constexpr std::uint32_t kUselessSample = kPreempted | kStolen | kThermal | kHwSlowdown;

struct Sample {
  double rate = 0;  // in the ceiling's unit; seconds for latencies
  double seconds = 0;
  double clock_hz = 0;  // 0: unknown
  double watts = 0;     // 0: unknown
  std::uint32_t disturbances = 0;
};

// Computes the trips of a loop that fill a given time, from the rate of the previous run.
struct Pace {
  double trips_per_second = 0;
  std::uint64_t trips(double seconds, std::uint64_t at_first) const {
    if (trips_per_second <= 0) return at_first;
    return static_cast<std::uint64_t>(std::clamp(trips_per_second * seconds, 1.0, 4e9));
  }
};

struct Candidate {
  std::string name;
  base::Settings config;
  std::function<Sample(double seconds)> run;  // for about this long
};

// Nothing more can be measured in this process: the device hangs or its context is lost.
class DeviceLost : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The check of a kernel's output.
struct Verdict {
  bool right = true;
  std::string detail;
};

struct Experiment {
  documents::Ceiling ceiling;
  std::vector<Candidate> candidates;
  std::function<Verdict()> verify;                   // may be empty
  std::function<void(documents::Ceiling&)> theory;   // fills theory from clock_hz and units; may be empty
  std::function<void()> prepare = {}, release = {};  // memory; may be empty
  // Power and heat slow this load down within seconds: it is sampled only after Plan::soak_seconds of it.
  bool heats = false;
  std::optional<std::size_t> chosen = {};  // the candidate of the reported samples; set by measure()
};

struct Plan {
  double sample_seconds = 0.1;
  double warm_up_seconds = 1;      // at most, per experiment
  int settle_window = 3;           // samples whose medians must agree …
  double settle_tolerance = 0.01;  // … by this
  double soak_seconds = 0;  // of load before sampling an experiment that heats; none if another such one has just ended
  int choose_samples = 4;   // per candidate
  int visits = 4;           // of each experiment, over the whole run
  int min_samples = 16, max_samples = 60;  // over all visits
  double half_width = 0.005;               // of the 95 % interval over the median: converged if at most this
  double budget_seconds = 0;               // of all experiments; 0: no limit
  double seconds_each = 0;                 // limits the budget if experiments are few; 0: no limit
  double drift_tolerance = 0.02;
  std::uint64_t seed = 1;
};

// The plan for a number of experiments. The budget is `asked` if given, else the plan's, but at most seconds_each per
// experiment. A small `asked` shortens samples so that they fit, and limits each soak to a twentieth of the budget.
Plan budgeted(Plan plan, std::size_t experiments, std::optional<double> asked, std::uint64_t seed);

struct Progress {
  std::size_t done = 0, of = 0;
  std::string id;
  double seconds_left = 0;
};

struct Measured {
  std::vector<documents::Ceiling> ceilings;  // in the order of the experiments
  std::string lost;                          // why it ended early; experiments not reached are `unavailable`
  std::vector<documents::CeilingCheck> checks;
  std::vector<std::size_t> order;  // order of the first visits
};

// An experiment that throws becomes `unavailable` with the message as note; the others continue unless it threw
// DeviceLost. `now` is in seconds; tests pass their own clock.
Measured measure(std::vector<Experiment>& experiments, const Plan& plan, const std::function<double()>& now,
                 const std::function<void(const Progress&)>& progress);

}  // namespace pagoda::tools::ceilings
