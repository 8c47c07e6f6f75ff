// Fits the energy per operation and per byte to measured runs: E = Σ ε_i·work_i + P0·T.
//
//   EnergyFit fit = fit_energy({"float64", "dram"}, rows);   // row: {FLOP, B}, seconds, joules
//   fit.terms[0].value, fit.terms[0].interval;               // J/FLOP with its 95 % interval
//   fit.terms.back();                                        // "constant_watts": P0
//
// No constant is below 0 (non-negative least squares; Lawson and Hanson, Solving Least Squares Problems, 1974, chapter
// 23). Residuals are relative to each row's energy, so that long runs do not dominate short ones.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "pagoda/base/error.h"

#pragma GCC visibility push(default)
namespace pagoda::measured {

struct EnergyRow {
  std::vector<double> work;  // one per name: FLOP, OP or B
  double seconds = 0;
  double joules = 0;
};

struct EnergyTerm {
  std::string name;
  double value = 0;                  // J per unit of work; W for "constant_watts"
  std::array<double, 2> interval{};  // 95 %, by resampling rows
};

struct EnergyFit {
  std::vector<EnergyTerm> terms;          // in the order of names, then "constant_watts"
  std::vector<double> relative_residual;  // (measured - fitted) / measured, by row
  double relative_rms = 0;
  double mean_error = 0;        // mean of |relative_residual|
  double condition_number = 0;  // of the design matrix with columns scaled to length 1; large: terms are not separable
  // Groups of constants that the runs cannot separate: if one grows, the others shrink and the fit hardly changes. For
  // each direction whose singular value is kIndistinct times below the largest: the terms with more than half of their
  // variance in it (Belsley, Kuh, Welsch, Regression Diagnostics, 1980, chapter 3). Empty: all are separable.
  std::vector<std::vector<std::string>> indistinct;
};
inline constexpr double kIndistinct = 30;  // from the same book: "moderate to strong" dependence

struct EnergyFitOptions {
  int resamples = 400;
  std::uint64_t seed = 1;
};

// Throws Error if there are fewer rows than terms, if a row has the wrong number of works, and for joules or seconds
// that are not above 0.
EnergyFit fit_energy(const std::vector<std::string>& names, const std::vector<EnergyRow>& rows,
                     const EnergyFitOptions& options = {});

}  // namespace pagoda::measured
#pragma GCC visibility pop
