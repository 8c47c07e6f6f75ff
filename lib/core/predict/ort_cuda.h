// The kernels of ONNX Runtime's CUDA provider, in float32.
#pragma once

#include "pagoda/core/eager.h"

namespace pagoda::inline core {

// All dims must be bound.
EagerKernels ort_cuda_kernels(const Model& model, const Analysis& analysis);

}  // namespace pagoda::inline core
