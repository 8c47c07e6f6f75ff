// Which power mode: of measured runs the front of time and energy, and the mode that saves most within a limit.
//
//   std::vector<ModeStudy> studies = study_modes(measured::load_profile("orin.csv", {}), 0.05);
//   studies[0].modes[studies[0].chosen].name;       // "cores=8, gpu 918 MHz"
//   studies[0].saving();                            // 0.15: of the energy of the fastest mode
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pagoda/documents/measured.h"
#include "pagoda/present/result_report.h"

#pragma GCC visibility push(default)
namespace pagoda::present {

struct ModeRun {
  std::string name;  // the settings in which modes differ
  double seconds = 0, joules = 0;
  bool is_on_front = false;  // no other mode is faster and takes less energy
};

// The modes of one work, such as a batch.
struct ModeStudy {
  std::string work;  // "batch=8"; empty: all runs are of one work
  double slow_down = 0;
  std::vector<ModeRun> modes;  // fastest first
  std::size_t least = 0;       // in modes: with the least energy
  std::size_t chosen = 0;      // in modes: with the least energy of those within the limit
  std::size_t left_out = 0;    // runs of all works without seconds or joules

  double saving() const { return 1 - modes[chosen].joules / modes.front().joules; }
};

// Runs with seconds and joules; those whose power is doubtful are left out. Runs with equal values of `same` are of one
// work. Throws Error where there are none.
std::vector<ModeStudy> study_modes(const documents::Measured& measured, double slow_down,
                                   const std::vector<std::string>& same = {"batch"}, std::string_view subject = "runs");

// Text: the choice of each work. CSV: every mode. Pictures: energy over time, the front, the choice.
std::string modes_report(const std::vector<ModeStudy>& studies, ReportFormat format, const std::string& title);

}  // namespace pagoda::present
#pragma GCC visibility pop
