// How the parts of operands become the parts of results, operator by operator: pure functions of shapes.
#pragma once

#include <optional>

#include "parallel/split.h"

namespace pagoda::inline core {

// The part of a reshaped tensor; nullopt if the reshape divides the split axis at other places. `cut_at` is then set to
// the size of the leading axis (such as the heads) between whose elements the split would have to lie, if there is one.
std::optional<Part> reshaped(const Part& part, const Shape& from, const Shape& to, Dim* cut_at);
// The part after numpy's broadcasting, axes aligned at the last. Devices with the same part share out a broadcast axis.
std::optional<Part> broadcast(const Part& part, const Shape& from, const Shape& to);
// The part with the same axes split; nullopt unless `to` has the same rank and the same size along every split axis.
std::optional<Part> same_axes(const Part& part, const Shape& from, const Shape& to);
// True if an axis is split; negative axes count from the end.
bool is_split(const Part& part, const Shape& whole, int axis);
// The last split axis; -1 if there is none.
int split_axis(const Part& part, const Shape& whole);

}  // namespace pagoda::inline core
