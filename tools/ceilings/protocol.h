// How a ceiling is measured, whatever it runs on: warm up until settled, choose a configuration, report it on fresh
// samples. Every ceiling is visited several times, each time in another random order with its memory allocated anew, so
// that what differs between runs differs between visits and enters the interval; the first visits against the last ones
// tell drift.
//
// An Experiment is a ceiling without numbers plus the configurations that may reach it. Nothing here knows about CPUs,
// GPUs or clocks of the wall: the tests drive it with synthetic machines.
#pragma once

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
  double clock_hz = 0;  // 0: not known
  double watts = 0;     // 0: not known
  std::uint32_t disturbances = 0;
};

struct Candidate {
  std::string name;
  base::Settings config;
  std::function<Sample(double seconds)> run;  // for about so long
};

// Nothing more can be measured in this process: the device hangs or its context is gone.
class DeviceLost : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Whether the kernel's output is what its work must give.
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
  bool heats =
      false;  // a load that power and heat slow down within seconds: sampled only after Plan::soak_seconds of it
};

struct Plan {
  double sample_seconds = 0.1;
  double warm_up_seconds = 1;              // at most, per experiment
  int settle_window = 3;                   // samples whose medians must agree …
  double settle_tolerance = 0.01;          // … by this
  double soak_seconds = 0;  // of load before an experiment that heats is sampled; none where one ended just now
  int choose_samples = 4;                  // per candidate
  int visits = 4;                          // of an experiment, over the whole time
  int min_samples = 16, max_samples = 60;  // of all visits together
  double half_width = 0.005;               // of the 95 % interval over the median: then it has converged
  double budget_seconds = 0;               // of all experiments; 0: no limit
  double seconds_each = 0;                 // of an experiment at most, where they are few; 0: no limit
  double drift_tolerance = 0.02;
  std::uint64_t seed = 1;
};

// The plan for so many experiments: `asked` in place of its budget, or its budget, but no more than seconds_each for
// each. A budget too small for samples of the plan's length makes them shorter, and one too small for its soaks, a
// twentieth each, these.
Plan budgeted(Plan plan, std::size_t experiments, std::optional<double> asked, std::uint64_t seed);

struct Progress {
  std::size_t done = 0, of = 0;
  std::string id;
  double seconds_left = 0;
};

struct Measured {
  std::vector<documents::Ceiling> ceilings;  // in the order of the experiments
  std::string lost;                          // why it ended early; what was not reached is `unavailable`
  std::vector<documents::CeilingCheck> checks;
  std::vector<std::size_t> order;  // of the first visits
};

// An experiment that throws becomes `unavailable` with the message as note; the others go on unless it is DeviceLost.
// `now` in seconds; the tests pass a clock of their own.
Measured measure(std::vector<Experiment>& experiments, const Plan& plan, const std::function<double()>& now,
                 const std::function<void(const Progress&)>& progress);

// Numbers, interval and status of a ceiling from the samples of its visits.
void conclude(documents::Ceiling& ceiling, const std::vector<std::vector<Sample>>& visits, const Plan& plan);

}  // namespace pagoda::tools::ceilings
