// Whether a provider's condition holds for a node.
#pragma once

#include <string>

#include "pagoda/core/placement.h"
#include "place/loaded.h"

namespace pagoda::inline core {

std::string qualified_name(const LoadedNode& node);  // "LSTM", "com.microsoft.Gelu"

// Each part of the condition holds. What is not known, such as the rank of an operand, holds neither plainly nor
// negated.
bool holds(const ProviderCondition& condition, const LoadedNode& node, const LoadedGraph& loaded);

}  // namespace pagoda::inline core
