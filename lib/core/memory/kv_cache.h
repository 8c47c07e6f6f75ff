// Finds the inputs with past keys, values or states, and the outputs that return them updated.
#pragma once

#include "memory/schedule.h"
#include "pagoda/core/memory.h"

namespace pagoda::inline core {

KvCache find_kv_cache(const Model& model, const Analysis& analysis);

}  // namespace pagoda::inline core
