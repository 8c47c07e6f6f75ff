// The search for products that several devices can share, and what of each tensor one device then holds.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "pagoda/core/analysis.h"
#include "pagoda/core/graph.h"

namespace pagoda::inline core {

// The part of a tensor that one device holds.
struct Part {
  Shape shape;               // of the part; an axis that differs from the tensor's own is split
  Int replicas = 1;          // devices that hold the same part: of key heads, where there are fewer than devices
  Dim outer = 1;             // elements of whole axes that a merged axis counts before the split one
  bool has_heads = false;    // the split axis counts heads, or follows from them: it may be cut anywhere between two
  ValueId origin = kAbsent;  // where the axis was split: what a product, or a Split behind it, writes
};

struct Split {
  std::map<ValueId, Part> parts;         // of the values that are split
  std::set<std::int32_t> columns, rows;  // nodes: products split by columns, and by rows, whose sums an all-reduce adds
  std::set<std::int32_t> heads;          // of the columns, those before an output of the model
  std::set<std::int32_t> gathered;       // nodes that write an output of the model in parts
  std::set<std::int32_t> looked_up;      // nodes that pick rows of a table split by its rows
  std::set<std::int32_t> whole;          // products with weights that every device does
  std::string whole_reason;              // of the first of them
};

// Throws Error where the number of devices does not divide heads, and where nothing can be split.
Split find_split(const Model& model, const Analysis& analysis, std::int64_t devices);

// By ValueId: stored in the file, or computed from what is alone.
std::vector<bool> constant_values(const Model& model, const Analysis& analysis);

// How a node multiplies an activation with a stored weight: places of inputs, and axes of the weight.
struct WeightProduct {
  int activation = 0, weight = 1;
  int columns_axis = 1, rows_axis = 0;  // of the weight
  std::vector<int> per_column;          // inputs whose elements belong to columns: biases, scales, zero points
  std::vector<int> per_block;           // … to blocks of rows and columns, columns first
};
// Empty where the node is none, or stores its weight otherwise.
std::optional<WeightProduct> weight_product(const Node& node, const OpFacts& facts, std::size_t weight_rank);

// Elements of the part over those of the whole; sizes that are not split do not count.
struct Fraction {
  Int part = 1, whole = 1;
};
Fraction fraction(const Shape& part, const Shape& whole);

}  // namespace pagoda::inline core
