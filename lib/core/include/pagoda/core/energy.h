// The energy roofline: energy and power of work and traffic on a machine of constant power.
//
//   EnergyModel model{.joules_per_flop = 8.7e-12, .joules_per_byte = 134e-12, .constant_watts = 23,
//                     .flops_per_second = 5.3e12, .bytes_per_second = 204.8e9};
//   joules(model, flops, bytes);        // ε_f·W + ε_m·Q + π_0·T
//   flops_per_joule(model, intensity);  // the arch: smooth where the time roofline has its edge
//
// Work W in FLOP, traffic Q in B, intensity I = W/Q in FLOP/B. Time is the roofline's, T = max(W·τ_f, Q·τ_m) with
// τ_f = 1/flops_per_second and τ_m = 1/bytes_per_second; a cap on the power of work and traffic adds the term
// (W·ε_f + Q·ε_m)/cap to the maximum. Model: Choi, Bedard, Fowler, Vuduc, "A roofline model of energy", IPDPS 2013;
// the cap: Choi, Dukhan, Liu, Vuduc, "Algorithmic time, energy, and power on candidate HPC compute building blocks",
// IPDPS 2014.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pagoda/core/device.h"

#pragma GCC visibility push(default)
namespace pagoda::inline core {

struct EnergyModel {
  double joules_per_flop = 0;                      // ε_f
  double joules_per_byte = 0;                      // ε_m
  double constant_watts = 0;                       // π_0: drawn while anything runs
  double flops_per_second = 0;                     // 1/τ_f
  double bytes_per_second = 0;                     // 1/τ_m
  std::optional<double> cap_watts = std::nullopt;  // power that work and traffic may draw on top of constant_watts
};

// The energy model of a device for work of one precision, from its energy constants, its fastest peak and its memory.
// Empty where the device file lacks one of them. Without `precision`, it uses the precision of the constants.
std::optional<EnergyModel> energy_model(const DeviceSpec& device, std::optional<Precision> precision = std::nullopt);
// The constants that energy_model() lacks, each with the reason in the device file: "joules_per_byte: came out as 0 in
// …". Empty where there is a model, and where the device has no energy constants at all.
std::vector<std::string> missing_energy(const DeviceSpec& device, std::optional<Precision> precision = std::nullopt);

// Throws Error unless rates are above 0, energies and constant power at least 0, and a cap above 0.
void check(const EnergyModel& model);

double seconds(const EnergyModel& model, double flops, double bytes);
double joules(const EnergyModel& model, double flops, double bytes);
// The same for a run that takes `seconds`, such as consecutive kernels: ε_f·W + ε_m·Q + π_0·seconds.
double joules(const EnergyModel& model, double flops, double bytes, double seconds);

// W/E as a function of intensity: 1 / (ε_f + ε_m/I + π_0·max(τ_f, τ_m/I)) where no cap binds.
double flops_per_joule(const EnergyModel& model, double intensity);
// The limit of W/E as intensity grows.
double peak_flops_per_joule(const EnergyModel& model);

// β_t = τ_m/τ_f, FLOP/B: where work and traffic take the same time, cap aside.
double time_balance(const EnergyModel& model);
// β_ε = ε_m/ε_f, FLOP/B: where work and traffic take the same energy, constant power aside.
double energy_balance(const EnergyModel& model);
// η = ε_f/(ε_f + π_0·τ_f): the share of a FLOP's energy at peak that the FLOP itself takes, without constant power.
double flop_efficiency(const EnergyModel& model);
// Where W/E is half of its peak, cap aside: the I with I = B(I), the effective balance η·β_ε + (1 − η)·max(0, β_t − I),
// since E = W·(ε_f + π_0·τ_f)·(1 + B(I)/I).
double half_peak_intensity(const EnergyModel& model);
// η·β_ε ≤ β_t: compute-bound work exceeds half of the peak efficiency, so finishing early saves energy.
bool race_to_halt(const EnergyModel& model);

// Average power, E/T. Without a cap: π_0 + π_f·(I + β_ε)/β_t left of β_t and π_0 + π_f·(1 + β_ε/I) right of it, with
// π_f = ε_f/τ_f; never above constant_watts + cap_watts.
double watts(const EnergyModel& model, double intensity);
// Its maximum over intensities, at β_t: π_0 + ε_f/τ_f + ε_m/τ_m, limited by the cap.
double peak_watts(const EnergyModel& model);

}  // namespace pagoda::inline core
#pragma GCC visibility pop
