// Rules of operators, for those who add their own: a rule is a row of three pure functions over an OpContext.
//
//   void infer_swish(OpContext& op) { op.set_output(0, op.input(0)); }
//   OpCost cost_swish(const OpContext& op) {
//     OpCost cost = op.streamed();            // reads all inputs once, writes all outputs once
//     cost.special = cost.arith = op.output_elements(0);   // x * sigmoid(x)
//     return cost;
//   }
//   AnalyzeOptions options;
//   options.extra_rules = {{"my.domain", {"Swish", infer_swish, cost_swish, nullptr, "1 sigmoid, 1 mul / element"}}};
//
// A rule holds only mathematics: no I/O, no caches, no look at other nodes. What a rule cannot know it asks for and
// the context ends the rule: shape(i) of a value of unknown rank, an absent mandatory input or attribute, a
// contradiction reported by fail(). The driver turns that into a diagnostic with the node's name.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pagoda/core/cost.h"
#include "pagoda/core/graph.h"
#include "pagoda/core/op_facts.h"

#pragma GCC visibility push(default)
namespace pagoda::inline core {

class OpContext;

struct OpRule {
  std::string_view name;
  void (*infer)(OpContext&) = nullptr;         // sets the type of every output
  OpCost (*cost)(const OpContext&) = nullptr;  // work and traffic, given the types of inputs and outputs
  void (*fold)(OpContext&) = nullptr;          // sets values of small outputs, where the inputs' values allow
  std::string_view work;                       // the cost formula in words
  OpFacts facts = {};                          // what fusion, memory, batch and training ask of it
};

struct ExtraRule {
  std::string_view domain;
  OpRule rule;
};

// A symbol that no input of the model names, and why it is there.
struct Symbol {
  std::string name;
  std::string node;          // the node that decides it
  std::string cause;         // "number of non-zero elements", "trip count" …
  std::optional<Dim> upper;  // what it can never exceed, where that is known
};

// Sizes of inputs that the file fixes and the caller asks for otherwise. They are symbols while the graph is walked, so
// that the numbers which the file derived from them can follow. Every formula over them has an exported size.
struct FixedSizes {
  Bindings exported;  // symbol → its size in the file
  Bindings asked;     // symbol → the size asked for, where it is known before the walk ends
  std::string batch;  // the symbol of the batch; empty where the file does not fix the batch

  Dim as_exported(const Dim& size) const { return size.bind(exported); }
  Dim as_asked(const Dim& size) const { return size.bind(asked); }
  bool hold(const Dim& size) const;        // it depends on one of them
  bool hold_batch(const Dim& size) const;  // on the batch
  bool hold_other(const Dim& size) const;  // on one that is not the batch
};

// One node as its rule sees it. Index arguments are positions in the node's input or output list.
class OpContext {
 public:
  struct State;  // the driver's side; see ops/context.h
  explicit OpContext(State& state) : state_(state) {}

  const Node& node() const;
  std::int64_t opset() const;  // imported version of the node's domain

  // --- inputs ---
  int input_count() const;               // length of the input list, omitted ones included
  bool has_input(int i) const;           // within the list and not omitted
  const TensorType& input(int i) const;  // ends the rule when absent
  ElementType element(int i) const { return input(i).element; }
  bool has_shape(int i) const;      // present and of known rank
  const Shape& shape(int i) const;  // ends the rule when the rank is unknown
  int rank(int i) const { return static_cast<int>(shape(i).size()); }
  const TensorValue* value(int i) const;  // elements where known, else null; also null when absent
  // The elements as integers where every one is known, e.g. axes; empty otherwise.
  std::optional<std::vector<std::int64_t>> integers(int i) const;
  bool is_constant(int i) const;                   // an initializer or computed from initializers alone
  bool same_value(int i, int j) const;             // both inputs are the same tensor
  const std::vector<Shape>* members(int i) const;  // of a sequence whose members are known one by one; else null

  // --- attributes ---
  bool has_attribute(std::string_view name) const;
  std::int64_t attribute(std::string_view name, std::int64_t otherwise) const;
  double attribute(std::string_view name, double otherwise) const;
  std::string_view attribute(std::string_view name, std::string_view otherwise) const;
  std::int64_t required_integer(std::string_view name) const;
  std::optional<std::vector<std::int64_t>> integer_list(std::string_view name) const;
  const AttributeValue* attribute_value(std::string_view name) const;
  // Axes and the like, which moved from attribute to input in later opsets: the attribute, else the input's value.
  std::optional<std::vector<std::int64_t>> integer_list_or_input(std::string_view name, int input) const;

  // --- outputs ---
  int output_count() const;                 // length of the output list, omitted ones included
  bool has_output(int i) const;             // within the list and named
  void set_output(int i, TensorType type);  // no effect where there is no such output
  void set_output(int i, ElementType element, Shape shape);
  const TensorType& output(int i) const;                // for cost and fold; ends the rule when absent
  const Shape& output_shape(int i) const;               // ends the rule when the rank is unknown
  void set_value(int i, TensorValue value);             // for fold
  void set_members(int i, std::vector<Shape> members);  // of a sequence; no effect beyond 256 of them
  const TensorValue* output_value(int i) const;

  // --- symbols ---
  // A new symbol for a size that only the data decide. `hint` names it, `cause` says why it is there.
  // Also for work that only the data decide, as long as no output has it in its shape.
  Dim fresh(std::string_view hint, std::string_view cause, std::optional<Dim> upper = std::nullopt) const;
  // Two sizes that must be equal: the more telling one. Unequal constants end the rule with `what` as the subject.
  // A number that the file derived from a size which it fixes gives way to the formula of that size.
  Dim unify(const Dim& a, const Dim& b, std::string_view what);
  // Numpy broadcasting of two dims / shapes.
  Dim broadcast(const Dim& a, const Dim& b);
  Shape broadcast(const Shape& a, const Shape& b);
  // The sizes that the file fixes and the caller asks for otherwise; null where there are none.
  const FixedSizes* fixed_sizes() const;
  // Sizes over them that tensors were seen to have, of this exported size: at any axis, or at this axis of this rank.
  std::vector<Dim> seen_sizes(std::int64_t exported) const;
  std::vector<Dim> seen_sizes(std::int64_t exported, std::size_t rank, std::size_t axis) const;
  // A size stated as a number that may follow one of them: a symbol until an operator further on decides.
  Dim pending_size(std::int64_t exported) const;
  // The same of two sizes whose product is `whole`: once one is decided, so is the other.
  std::pair<Dim, Dim> pending_parts(const Dim& whole, std::int64_t outer, std::int64_t inner) const;
  void note(std::string message);  // an informational diagnostic of this node

  // --- cost helpers ---
  Dim elements(int i) const;         // of input i
  Dim output_elements(int i) const;  // of output i
  Dim input_bytes(int i) const;      // 0 for an absent input
  Dim output_bytes(int i) const;     // 0 for an absent output
  // Every distinct present input read once, every present output written once; precision of input 0.
  OpCost streamed() const;
  // The same, reading only the listed inputs (the others are arguments such as axes, known before launch).
  OpCost streamed(std::initializer_list<int> inputs_read) const;
  OpCost streamed(const std::vector<int>& inputs_read) const;
  // Bytes of an input (output) that `cost` else moves in full.
  void read_only(OpCost& cost, int input, const Dim& bytes) const;
  void write_only(OpCost& cost, int output, const Dim& bytes) const;

  // Ends the rule: the node contradicts the operator's definition.
  [[noreturn]] void fail(std::string message) const;
  // Ends the rule: not enough is known.
  [[noreturn]] void unknown(std::string message) const;

 private:
  State& state_;
};

}  // namespace pagoda::inline core
#pragma GCC visibility pop
