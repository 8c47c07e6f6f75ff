// Slow, plain recomputations that check the memory plan and the traffic models. They share no code with the library:
// values are followed through views here, and everything is recounted at every step.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "pagoda/core/analyze.h"
#include "pagoda/core/graph.h"
#include "pagoda/core/traffic.h"

namespace pagoda::test {

// The main graph of an analysed model, by value.
class Oracle {
 public:
  Oracle(const Model& model, const Analysis& analysis, Bindings bindings);

  // The value whose bytes `value` shares, through views.
  ValueId root(ValueId value) const { return root_[static_cast<std::size_t>(value)]; }
  // Bytes of an activation; 0 for weights, constants, host values and views.
  Int bytes(ValueId value) const;
  Int stored_bytes(ValueId value) const;  // includes weights and constants
  bool is_constant(ValueId value) const;
  // Whether the node needs the elements of its inputs.
  bool reads(std::size_t node) const;

  // Bytes alive at each step of an order, recounted from all values at every step: quadratic.
  std::vector<Int> alive(const std::vector<std::int32_t>& order) const;

  // Whether each group comes after the groups that make what it reads.
  bool can_run_in_order(const Traffic& traffic) const;

  // Bytes that a group must move: each distinct input from outside once, and each result needed outside once.
  Int group_bytes(const TrafficGroup& group) const;

 private:
  // The DequantizeLinear of `value`, if every reader recomputes `value` for itself; null otherwise.
  const Node* recomputed_by(ValueId value) const;

  const Model& model_;
  const Analysis& analysis_;
  Bindings bindings_;
  std::vector<std::int32_t> row_;       // by node
  std::vector<std::int32_t> producer_;  // by value
  std::vector<ValueId> root_;
};

// A graph over "v0:f32[4,N]" of element-wise operators, row sums and softmax, products, slices, concatenations and
// views, which read values chosen at random among the latest ones.
std::string random_graph(unsigned seed, int nodes);

// The inputs that an operator reads in full: most read all; the arguments of the others are known before launch.
std::vector<ValueId> inputs_read(const Node& node);

}  // namespace pagoda::test

// How failures print counts.
template <>
struct doctest::StringMaker<pagoda::Int> {
  static doctest::String convert(pagoda::Int value) { return pagoda::to_string(value).c_str(); }
};
template <>
struct doctest::StringMaker<pagoda::Dim> {
  static doctest::String convert(const pagoda::Dim& dim) { return dim.to_string().c_str(); }
};
template <>
struct doctest::StringMaker<std::vector<pagoda::Int>> {
  static doctest::String convert(const std::vector<pagoda::Int>& values) {
    std::string text;
    for (const pagoda::Int value : values) text += pagoda::to_string(value) + " ";
    return text.c_str();
  }
};
