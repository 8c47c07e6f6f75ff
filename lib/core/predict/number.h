// Sizes of an analysis without symbols, as numbers.
#pragma once

#include "pagoda/core/dim.h"

namespace pagoda::inline core {

// Throws as Dim::evaluate does if the size has symbols.
inline double number(const Dim& dim) { return static_cast<double>(dim.evaluate({})); }

}  // namespace pagoda::inline core
