// Which row is the first to need each weight and each input of the model, and how many bytes of it: every run
// must read them, whatever it fuses (RooflineTotals::floor_seconds).
#pragma once

#include "pagoda/core/analysis.h"
#include "pagoda/core/graph.h"

namespace pagoda::inline core {

// Sets NodeReport::needed_bytes of all rows, and the peak of activations.
void count_memory(const Model& model, Analysis& analysis);

}  // namespace pagoda::inline core
