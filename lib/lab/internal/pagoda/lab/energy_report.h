// Reports on an energy fit: constants with intervals, errors, constants that the runs cannot separate, and conclusions.
//
//   EnergyStudy study{.label = "", .rows = table.rows, .fit = measured::fit_energy(table.rows)};
//   std::cout << energy_report({study}, table.left_out, device, Precision::Float32);
#pragma once

#include <string>
#include <vector>

#include "pagoda/core/device.h"
#include "pagoda/measured/energy_table.h"

#pragma GCC visibility push(default)
namespace pagoda::lab {

// One fit, of all runs or of the runs of one power mode.
struct EnergyStudy {
  std::string label;  // "gpu_hz=918000000"; empty: all runs
  std::vector<measured::EnergyRun> rows;
  measured::EnergyFit fit;
};

// Text. Given a device, adds its balance points: the intensities that suffice for time and for energy.
std::string energy_report(const std::vector<EnergyStudy>& studies, const std::vector<std::string>& left_out,
                          const std::optional<DeviceSpec>& device, Precision precision);

// CSV with one row per fit: constants with intervals, errors, condition.
std::string energy_constants_csv(const std::vector<EnergyStudy>& studies);

// CSV with one row per run: work, rates, measured and fitted joules.
std::string energy_runs_csv(const std::vector<EnergyStudy>& studies);

// The constants as a section of a device file. A constant that the runs cannot separate, or that was fitted as 0, is
// null, with the reason.
DeviceEnergy device_energy(const EnergyStudy& study, Precision precision, const std::string& source);

}  // namespace pagoda::lab
#pragma GCC visibility pop
