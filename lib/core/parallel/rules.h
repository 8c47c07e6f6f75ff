// How the parts of operands become the parts of results, operator by operator: pure functions of shapes.
#pragma once

#include <optional>

#include "parallel/split.h"

namespace pagoda::inline core {

// The part of a reshaped tensor; empty where the split axis is cut up otherwise. `cut_at` then holds the size of the
// leading axis between whose elements the split would have to lie, where there is one: heads.
std::optional<Part> reshaped(const Part& part, const Shape& from, const Shape& to, Dim* cut_at);
// Axes of numpy's broadcasting, aligned at the last; `part` grows replicas into an axis that was 1.
std::optional<Part> broadcast(const Part& part, const Shape& from, const Shape& to);
// Every split axis is there in `to` with the same size.
std::optional<Part> same_axes(const Part& part, const Shape& from, const Shape& to);
// Whether an axis is split; negative axes count from the end.
bool is_split(const Part& part, const Shape& whole, int axis);
// The last of several axes that is split; -1 for none.
int split_axis(const Part& part, const Shape& whole);

}  // namespace pagoda::inline core
