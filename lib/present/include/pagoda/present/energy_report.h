// What a fit of energy says: constants with intervals, errors, what the runs do not tell apart, and what follows from it.
//
//   EnergyStudy study{.label = "", .rows = table.rows, .fit = measured::fit_energy(table.rows)};
//   std::cout << energy_report({study}, table.left_out, device, Precision::Float32);
#pragma once

#include <string>
#include <vector>

#include "pagoda/core/device.h"
#include "pagoda/measured/energy_table.h"

#pragma GCC visibility push(default)
namespace pagoda::present {

// One fit: of all runs, or of those of one power mode.
struct EnergyStudy {
  std::string label;  // "gpu_hz=918000000"; empty: all runs
  std::vector<measured::EnergyRun> rows;
  measured::EnergyFit fit;
};

// Text. With a device its balance points: which intensity is enough for time, which for energy.
std::string energy_report(const std::vector<EnergyStudy>& studies, const std::vector<std::string>& left_out,
                          const std::optional<DeviceSpec>& device, Precision precision);

// CSV, a row a fit: constants with intervals, errors, condition.
std::string energy_constants_csv(const std::vector<EnergyStudy>& studies);

// CSV, a row a run: work, rates, joules as measured and as fitted.
std::string energy_runs_csv(const std::vector<EnergyStudy>& studies);

// The constants as a section of a device file. What the runs do not tell apart, or what came out as 0, is null with the reason.
DeviceEnergy device_energy(const EnergyStudy& study, Precision precision, const std::string& source);

}  // namespace pagoda::present
#pragma GCC visibility pop
