// Which stored numbers an analysis depends on: sizes, axes, limits of loops. All others are parameters, and a file
// without them is estimated alike.
#pragma once

#include <string_view>
#include <vector>

#include "ops/context.h"
#include "pagoda/core/graph.h"

namespace pagoda::inline core {

// The reads of one walk without bindings, over both branches of every If. Throws Error where the model cannot be
// analysed. In analyze.cpp.
ValueReads value_reads(const Model& model);

// By graph and value: the operator for which an analysis reads the elements, at whatever sizes; empty where none does.
// Computed values are followed back to all from which their elements may be computed.
std::vector<std::vector<std::string_view>> value_readers(const Model& model);

}  // namespace pagoda::inline core
