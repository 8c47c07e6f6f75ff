// Runs of known work, traffic, time and energy, for fitting energy constants and drawing energy rooflines.
//
//   EnergyTable table = read_energy_csv(text, "runs.csv");             // columns flops, bytes, seconds, joules
//   add_energy_runs(table, load_profile("resnet50.csv"), &estimate, "resnet50");   // measured runs with joules
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
  base::Settings config;  // other known facts: model, batch, clocks …
  double flops = 0, bytes = 0, seconds = 0, joules = 0;
};

struct EnergyTable {
  std::vector<EnergyRun> rows;
  std::vector<std::string> left_out;  // rows that cannot be used, and why
};

// Reads CSV with a header. Columns are found by name; the first name present is used:
//   flops, flop, work · bytes, traffic, dram_bytes · measured_seconds, seconds, time · measured_joules, joules, energy,
//   else measured_watts, watts, power (times the seconds)
// A unit may follow: "time(ms)", "work(GFLOP)"; else SI units. The table of onnx-estimate --sweep --measured can be
// read unchanged. Other columns become settings of the run. Rows without joules are left out. Throws Error.
EnergyTable read_energy_csv(std::string_view text, std::string_view subject);

// Adds whole runs with joules, with the work of the estimate at their sizes; without an estimate, kernels with joules
// and counters of operations and DRAM bytes. Throws Error if there is neither an estimate nor a kernel.
void add_energy_runs(EnergyTable& table, const documents::Measured& measured,
                     const documents::EstimateDocument* estimate, std::string_view subject);

// E = ε_f·W + ε_m·Q + π_0·T: terms "joules_per_flop", "joules_per_byte" and "constant_watts".
EnergyFit fit_energy(const std::vector<EnergyRun>& rows, const EnergyFitOptions& options = {});

// Groups rows with equal values of `settings`, in the order of first rows; keys are like "gpu_hz=918000000". Throws
// Error if a row lacks a setting.
std::vector<std::pair<std::string, std::vector<EnergyRun>>> grouped_by(const std::vector<EnergyRun>& rows,
                                                                       const std::vector<std::string>& settings);

}  // namespace pagoda::measured
#pragma GCC visibility pop
