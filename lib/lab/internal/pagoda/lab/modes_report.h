// Compares the power modes of measured runs: the Pareto front of time and energy, and the mode that saves the most
// energy within a limit on the slow-down.
//
//   std::vector<ModeStudy> studies = study_modes(measured::load_profile("orin.csv", {}), 0.05);
//   studies[0].modes[studies[0].chosen].settings;   // "cores=8", "gpu 918 MHz"
//   studies[0].saving();                            // 0.15: of the energy of the fastest mode
#pragma once

#include <string>
#include <vector>

#include "pagoda/documents/measured.h"
#include "pagoda/lab/result_report.h"

#pragma GCC visibility push(default)
namespace pagoda::lab {

struct ModeRun {
  std::vector<std::string> settings;  // those that differ between modes: "cores=8", "gpu 918 MHz"
  double seconds = 0, joules = 0;
  bool is_on_front = false;  // no other mode is faster and takes less energy
};

// The modes of one workload, such as one batch size.
struct ModeStudy {
  std::string work;  // "batch=8"; empty: all runs have the same workload
  double slow_down = 0;
  std::vector<ModeRun> modes;  // fastest first
  std::size_t least = 0;       // index in modes: the least energy
  std::size_t chosen = 0;      // index in modes: the least energy within the limit
  std::size_t left_out = 0;    // runs without seconds or joules, over all workloads

  double saving() const { return 1 - modes[chosen].joules / modes.front().joules; }
};

// Uses the runs that have seconds and joules, without those whose power is doubtful. Runs with equal values of the
// settings in `same` form one workload. Throws Error if no run is left.
std::vector<ModeStudy> study_modes(const documents::Measured& measured, double slow_down,
                                   const std::vector<std::string>& same = {"batch"}, std::string_view subject = "runs");

// Text: the chosen mode of each workload. CSV: every mode. Pictures: energy over time, the front, the chosen mode.
std::string modes_report(const std::vector<ModeStudy>& studies, ReportFormat format, const std::string& title);

}  // namespace pagoda::lab
#pragma GCC visibility pop
