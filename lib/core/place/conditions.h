// Whether a provider's condition holds for a node.
#pragma once

#include <string>

#include "pagoda/core/placement.h"
#include "place/units.h"

namespace pagoda::inline core {

std::string qualified_name(const LoadedNode& node);  // "LSTM", "com.microsoft.Gelu"

// Each part of the condition holds. What is not known, such as the rank of an operand, holds neither plainly nor
// negated.
// `name`: qualified_name() of the unit's node.
bool holds(const ProviderCondition& condition, std::string_view name, const NodeUnit& unit, const NodeUnits& units);

}  // namespace pagoda::inline core
