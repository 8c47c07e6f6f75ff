// The effect of AnalyzeOptions::precision: the types in which floats are stored.
#pragma once

#include <optional>
#include <vector>

#include "pagoda/core/graph.h"
#include "pagoda/core/precision.h"
#include "pagoda/core/tensor_type.h"

namespace pagoda::inline core {

// Whether a precision replaces the type: float16, bfloat16, float32, float64. Narrower floats, quantised weights, stay.
bool is_replaced(ElementType type);
// The type of all floats, and the narrower one for operands of products; Undefined where nothing changes.
struct FloatStorage {
  ElementType floats = ElementType::Undefined;
  ElementType operands = ElementType::Undefined;
};
FloatStorage storage_of(std::optional<Precision> precision);

// By graph and ValueId: whether a product of two operands or attention multiplies the value, directly or in a different
// layout, or stores it in the cache that it multiplies. Empty lists where `storage` has no type for operands.
std::vector<std::vector<bool>> product_operands(const Model& model, const FloatStorage& storage);

}  // namespace pagoda::inline core
