// What a run costs more, or less, while its processors have different last-level caches.
#pragma once

#include <optional>
#include <span>

#include "pagoda/core/cpu_engine.h"

namespace pagoda::inline core {

// Seconds of a whole run: all its kernels on a machine in the one placement or the other.
double cpu_run_seconds(const CpuKernels& kernels, const CpuCalibration& calibration, const CpuMachine& machine);

// Fitted to the ratios of runs that were timed in both placements, in which errors of `calibration` cancel. Empty if
// there are too few.
std::optional<CpuApart> fit_apart(std::span<const TimedCpuRun> runs, const CpuCalibration& calibration);

}  // namespace pagoda::inline core
