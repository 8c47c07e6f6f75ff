// A kernel's time and how it changes with each coefficient.
#pragma once

#include "pagoda/core/eager.h"

namespace pagoda::inline core {

// Derivatives are with respect to the logarithm of a coefficient.
struct KernelTerms {
  double seconds = 0, launch = 0;
  double by_work = 0, by_bytes = 0, by_rows = 0, by_width = 0, by_depth = 0, by_norm = 0;
};
KernelTerms kernel_terms(const KernelLaunch& kernel, const KernelRates& rates, const EagerCoefficients& coefficients);

}  // namespace pagoda::inline core
