// Which row is the first to need each weight and each input of the model, and how many bytes of it: every run
// must read them, whatever it fuses (RooflineTotals::floor_seconds).
#pragma once

#include "memory/schedule.h"

namespace pagoda::inline core {

// Sets NodeReport::needed_bytes of all rows. `schedule` is that of the model's main graph.
void count_needed_bytes(const Model& model, const Schedule& schedule, Analysis& analysis);

}  // namespace pagoda::inline core
