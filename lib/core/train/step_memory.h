// What a training step keeps, computes again, and holds at its peak.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "memory/schedule.h"
#include "train/flow.h"

namespace pagoda::inline core::train_rules {

struct StepMemory {
  std::vector<std::vector<SavedTensor>> saved;  // by node
  std::vector<bool> recomputed;                 // by node
  Dim saved_bytes;
  std::optional<Dim> peak;
};

// `forward` by node, in training mode. Takes the bodies out of the schedule.
StepMemory step_memory(const Analysis& analysis, Schedule& schedule, const Flow& flow, const TrainingOptions& options,
                       const std::vector<OpCost>& forward);

}  // namespace pagoda::inline core::train_rules
