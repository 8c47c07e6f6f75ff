// Sizes and types of a graph's values, as numbers: all dims must be bound.
#pragma once

#include <cstdint>

#include "graph/index.h"
#include "pagoda/core/analysis.h"
#include "predict/number.h"
#include "predict/strides.h"

namespace pagoda::inline core {

class Tensors {
 public:
  explicit Tensors(const Analysis& analysis) : analysis_(analysis) {}

  const Shape* shape(ValueId value) const { return shape_of(analysis_, value); }
  Sizes sizes(ValueId value) const {
    Sizes result;
    if (const Shape* known = shape(value))
      for (const Dim& dim : *known) result.push_back(static_cast<std::int64_t>(dim.evaluate({})));
    return result;
  }
  double elements(ValueId value) const {
    const Shape* known = shape(value);
    return known == nullptr ? 0 : number(element_count(*known));
  }
  double bytes(ValueId value) const {
    const ElementType element = value == kAbsent ? ElementType::Undefined : analysis_.types[index(value)].element;
    return elements(value) * bits(element) / 8;
  }
  bool is_float32(ValueId value) const {
    return value != kAbsent && analysis_.types[index(value)].element == ElementType::Float32;
  }
  // The size of an axis; 0 if it is not known.
  double number_at(ValueId value, std::size_t axis) const {
    const Shape* known = shape(value);
    return known == nullptr || axis >= known->size() ? 0 : number((*known)[axis]);
  }
  // The elements of the innermost axis.
  double row_width(ValueId value) const {
    const Shape* known = shape(value);
    return known == nullptr || known->empty() ? 0 : number(known->back());
  }

 private:
  const Analysis& analysis_;
};

}  // namespace pagoda::inline core
