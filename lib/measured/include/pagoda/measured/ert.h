// The verdict over pairs of measurements of ERT's kernel and of our roof.
#pragma once

#include "pagoda/documents/ceilings.h"

#pragma GCC visibility push(default)
namespace pagoda::measured {

// Whether that kernel is anywhere surely faster than our roof: whether the interval of a median ratio lies above 1.
// Intervals are distribution-free (median_interval), each side at (1 - confidence) / points, after Bonferroni: with so
// many points some would otherwise exceed 1 by chance. A point without interval fails the check too. Fills ratios and
// intervals.
documents::CeilingCheck judge(documents::ErtComparison& comparison);

}  // namespace pagoda::measured
#pragma GCC visibility pop
