// Judges pairs of measurements of ERT's kernel and our roof.
#pragma once

#include "pagoda/documents/ceilings.h"

#pragma GCC visibility push(default)
namespace pagoda::lab {

// Fails if ERT's kernel is significantly faster than our roof at any point: if the interval of a median ratio lies
// above 1. Intervals are distribution-free (median_interval), each side at (1 - confidence) / points, after Bonferroni:
// with many points some would otherwise exceed 1 by chance. A point without an interval also fails. Fills in the ratios
// and intervals.
documents::CeilingCheck judge(documents::ErtComparison& comparison);

}  // namespace pagoda::lab
#pragma GCC visibility pop
