// Runs of known work, traffic, time and energy: what constants of energy are fitted to, and what energy rooflines draw.
//
//   EnergyTable table = read_energy_csv(text, "runs.csv");             // columns flops, bytes, seconds, joules
//   add_energy_runs(table, load_profile("resnet50.csv"), &estimate, "resnet50");  // runs with joules, at the model's work
//   EnergyFit fit = fit_energy(table.rows);                            // J/FLOP, J/B, W
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pagoda/documents/estimate.h"
#include "pagoda/documents/measured.h"
#include "pagoda/measured/energy_fit.h"

#pragma GCC visibility push(default)
namespace pagoda::measured {

struct EnergyRun {
  std::string label;      // "resnet50 batch=8"
  base::Settings config;  // what else is known of it: model, batch, clocks …
  double flops = 0, bytes = 0, seconds = 0, joules = 0;
};

struct EnergyTable {
  std::vector<EnergyRun> rows;
  std::vector<std::string> left_out;  // rows that cannot be used, and why
};

// CSV with a header. Taken by name, the first of each that is there:
//   flops, flop, work · bytes, traffic, dram_bytes · measured_seconds, seconds, time · measured_joules, joules, energy,
//   else measured_watts, watts, power (times the seconds)
// A unit may follow: "time(ms)", "work(GFLOP)"; else SI units. So the table of onnx-estimate --sweep --measured is read as
// it is. Other columns are settings of the run. Rows without joules are left out. Throws Error.
EnergyTable read_energy_csv(std::string_view text, std::string_view subject);

// Whole runs with joules, at the work of the estimate at their sizes; without an estimate kernels with joules and counters of
// operations and memory. Throws Error where there is neither.
void add_energy_runs(EnergyTable& table, const documents::Measured& measured, const documents::EstimateDocument* estimate,
                     std::string_view subject);

// E = ε_f·W + ε_m·Q + π_0·T: terms "joules_per_flop", "joules_per_byte" and "constant_watts".
EnergyFit fit_energy(const std::vector<EnergyRun>& rows, const EnergyFitOptions& options = {});

// The rows with equal values of `settings`, in the order of their first rows; by "gpu_hz=918000000". Throws Error for a setting
// that no row has.
std::vector<std::pair<std::string, std::vector<EnergyRun>>> grouped_by(const std::vector<EnergyRun>& rows,
                                                                       const std::vector<std::string>& settings);

}  // namespace pagoda::measured
#pragma GCC visibility pop
