// Known values of an analysis, and sizes without symbols as numbers.
#pragma once

#include <algorithm>

#include "graph/index.h"
#include "pagoda/core/analysis.h"

namespace pagoda::inline core {

// Throws as Dim::evaluate does if the size has symbols.
inline double number(const Dim& dim) { return static_cast<double>(dim.evaluate({})); }

// Whether the value is known to be this number throughout.
inline bool is_all(const Graph& graph, const Analysis& analysis, ValueId value, double number) {
  if (value == kAbsent) return false;
  const std::int32_t stored = graph.value(value).initializer;
  const auto& known = stored < 0 ? analysis.values[index(value)] : graph.initializers[index(stored)].value;
  return known && std::all_of(known->begin(), known->end(), [&](const Scalar& each) {
    const auto* real = std::get_if<double>(&each);
    return real != nullptr && *real == number;
  });
}

}  // namespace pagoda::inline core
