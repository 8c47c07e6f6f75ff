// The search for products that several devices can share, and the part of each tensor that one device then holds.
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
  Shape shape;               // of the part; an axis is split if its size differs from the tensor's
  Int replicas = 1;          // devices that hold the same part, if there are fewer key heads than devices
  Dim outer = 1;             // of a merged axis: the product of the unsplit axes before the split one
  bool has_heads = false;    // the split axis counts heads or derives from them: it may be cut between any two
  ValueId origin = kAbsent;  // where the split began: the output of a product, or of a Split after it
};

struct Split {
  std::map<ValueId, Part> parts;         // of the values that are split
  std::set<std::int32_t> columns, rows;  // nodes: products split by columns or by rows; an all-reduce sums the latter
  std::set<std::int32_t> heads;          // column-split products before an output of the model
  std::set<std::int32_t> gathered;       // nodes that write an output of the model in parts
  std::set<std::int32_t> looked_up;      // nodes that pick rows of a table split by its rows
  std::set<std::int32_t> whole;          // products with weights that every device computes in full
  std::string whole_reason;              // why the first of them is whole
};

// Throws Error if the heads cannot be divided over the devices, or nothing can be split.
Split find_split(const Model& model, const Analysis& analysis, std::int64_t devices);

// By ValueId: whether the value is stored in the file, or computed from such values alone.
std::vector<bool> constant_values(const Model& model, const Analysis& analysis);

// How a node multiplies an activation by a stored weight: indices of inputs, and axes of the weight.
struct WeightProduct {
  int activation = 0, weight = 1;
  int columns_axis = 1, rows_axis = 0;  // of the weight
  std::vector<int> per_column = {};     // inputs with elements per column: biases, scales, zero points
  std::vector<int> per_block = {};      // … per block of rows and columns, columns first
};
// Nullopt if the node is not such a product, or stores its weight in another form.
std::optional<WeightProduct> weight_product(const Node& node, const OpFacts& facts, std::size_t weight_rank);

// Elements of the part over elements of the whole, along split axes only.
struct Fraction {
  Int part = 1, whole = 1;
};
Fraction fraction(const Shape& part, const Shape& whole);

// --- how the parts of operands become the parts of results: pure functions of shapes, in rules.cpp ---

// The part of a reshaped tensor; nullopt if the reshape divides the split axis at other places. If a cut between the
// elements of an axis (such as the heads) would do, `cut_at` is then set to the size of that axis.
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
