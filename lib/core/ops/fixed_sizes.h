// Numbers that a file derived from sizes which it fixes, in the target of a reshape or the output size of a resize:
// what they become where the inputs have other sizes (FixedSizes).
#pragma once

#include <cstddef>
#include <optional>

#include "pagoda/core/rule.h"

namespace pagoda::inline core::ops {

// Whether the size is another one than at export, or may be.
bool changes(const FixedSizes& fixed, const Dim& size);

// `input` holds the batch in one of its sizes; `target` holds the sizes at export, none of them unknown. The index of
// the target size that has to grow with the batch; empty where it is unknown.
std::optional<std::size_t> batch_position(const Shape& input, const Shape& target, const FixedSizes& fixed);

// Replaces the numbers in the target of a reshape that follow the sizes of `input`. `open` is the target size that is
// solved for; it is cleared where its formula goes into `target`. Ends the rule where nothing decides what becomes of a
// number.
void follow_target(OpContext& op, const Shape& input, TensorValue& target, std::optional<std::size_t>& open);

// A size that the node states for axis `axis` of an output of rank `rank`, where the input has size `own`.
Dim stated_size(const OpContext& op, std::size_t rank, std::size_t axis, const Dim& own, const Dim& size);

// product(dividend) / product(divisor); equal sizes cancel first. A quotient that is no polynomial is still a whole
// number in every run, so the floor division is exact.
Dim solved_size(const OpContext& op, const Shape& dividend, const Shape& divisor);

void require_same_count(const OpContext& op, const Shape& input, const Shape& output);

}  // namespace pagoda::inline core::ops
