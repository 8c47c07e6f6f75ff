// Finds the inputs that hold past keys, values or states, and the outputs that hold them grown.
#pragma once

#include "memory/schedule.h"
#include "pagoda/core/memory.h"

namespace pagoda::inline core {

KvCache find_kv_cache(const Model& model, const Analysis& analysis);

}  // namespace pagoda::inline core
