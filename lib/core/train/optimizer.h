// What optimizers keep: see optimizer.cpp.
#pragma once

#include "pagoda/core/train.h"

namespace pagoda::inline core {

// Tensors of the parameter's size that stay from step to step.
int optimizer_states(Optimizer optimizer);

// Whether a parameter of that type has a copy of higher precision.
bool has_master(const TrainingOptions& options, ElementType weight);

}  // namespace pagoda::inline core
