// The tensors that a training step keeps or computes again, and the bytes alive at its peak.
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

// `forward`: costs by node, in training mode. Moves the steps out of `schedule`.
StepMemory step_memory(const Analysis& analysis, Schedule& schedule, const Flow& flow, const TrainingOptions& options,
                       const std::vector<OpCost>& forward);

}  // namespace pagoda::inline core::train_rules
