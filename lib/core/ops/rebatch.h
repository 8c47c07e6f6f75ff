// Re-batching of a reshape: a model exported at a fixed batch has that batch multiplied into constant target shapes.
// Which target size it went into is found by laying both shapes along the row-major order of the elements.
#pragma once

#include <cstddef>
#include <optional>

#include "pagoda/core/rule.h"

namespace pagoda::inline core::ops {

// `input` holds the symbol rebatch.to in one of its sizes; `target` holds the sizes at the exported batch, none of
// them unknown. The index of the target size that has to grow with the batch; empty where it is unknown.
std::optional<std::size_t> batch_position(const Shape& input, const Shape& target, const OpContext::Rebatch& rebatch);

// Whether the formula depends on the batch.
bool has_batch(const Dim& dim, const OpContext::Rebatch& rebatch);

}  // namespace pagoda::inline core::ops
