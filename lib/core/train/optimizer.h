// States of optimizers.
#pragma once

#include "pagoda/core/train.h"

namespace pagoda::inline core {

// Number of tensors of the parameter's size that are kept from step to step.
int optimizer_states(Optimizer optimizer);

// A parameter of that type has a master copy of higher precision.
bool has_master(const TrainingOptions& options, ElementType weight);

}  // namespace pagoda::inline core
