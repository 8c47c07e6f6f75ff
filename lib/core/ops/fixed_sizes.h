// Numbers in a reshape target or a resize output that the exporter computed from fixed sizes: what they become when
// the inputs have other sizes (FixedSizes).
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "pagoda/core/rule.h"

namespace pagoda::inline core::ops {

// True if the size differs, or may differ, from its value at export.
bool changes(const FixedSizes& fixed, const Dim& size);

// The formula as messages state it: a number where the requested sizes are known.
std::string as_read(const FixedSizes& fixed, const Dim& formula);

// The index of the target size that has to grow with the batch; empty where it cannot be determined. One size of
// `input` holds the batch; `target` has the sizes at export, all known.
std::optional<std::size_t> batch_position(const Shape& input, const Shape& target, const FixedSizes& fixed);

// Replaces the numbers in a reshape target that follow the sizes of `input` by formulas. `open` is the index of the
// target size to solve for; it is cleared where its formula is stored in `target`. Ends the rule where the formula of a
// number cannot be determined.
void follow_target(OpContext& op, const Shape& input, TensorValue& target, std::optional<std::size_t>& open);

// Records the sizes of `input` that a reshape merges into a size of `output`.
void note_merges(const OpContext& op, const Shape& input, const Shape& output);

// A stated size that earlier tensors had: pending, until a size that it meets decides. If it meets none, it follows the
// earlier tensors of its rank at its axis; without such tensors it stays.
Dim size_of_similar_tensors(const OpContext& op, std::size_t rank, std::size_t axis, const Dim& size);

// The size stated for axis `axis` of an output of rank `rank`, the input's being `own`; a formula if the file fixed it.
Dim stated_size(const OpContext& op, std::size_t rank, std::size_t axis, const Dim& own, const Dim& size);

// product(dividend) / product(divisor); equal sizes cancel first. A quotient that is not a polynomial is still an
// integer in every run, so the floor division is exact.
Dim solved_size(const OpContext& op, const Shape& dividend, const Shape& divisor);

void require_same_count(const OpContext& op, const Shape& input, const Shape& output);

}  // namespace pagoda::inline core::ops
