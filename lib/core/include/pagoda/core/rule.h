// Operator rules, for users who add their own: a rule is a row of three pure functions over an OpContext.
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
// A rule contains only mathematics: no I/O, no caches, no access to other nodes. The context ends a rule that asks for
// something unknown: shape(i) of a value of unknown rank, an absent mandatory input or attribute; fail() ends it for a
// contradiction. The driver turns that into a diagnostic with the node's name.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
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
  OpFacts facts = {};                          // for fusion, memory, batch and training
};

struct ExtraRule {
  std::string_view domain;
  OpRule rule;
};

// A symbol that no input of the model names, and why it exists.
struct Symbol {
  std::string name;
  std::string node;          // the node that decides it
  std::string cause;         // "number of non-zero elements", "trip count" …
  std::optional<Dim> upper;  // its upper bound, where known
};

// A condition on sizes under which the formulas hold, where it depends on the sizes that are bound.
struct Requirement {
  enum class Kind : std::uint8_t {
    Equal,      // the operator requires size = other
    Broadcast,  // the same, or other = 1: the formulas take `size` for the result
    Window,     // a padded input of `size` holds a window that spans `other`
    Reduced,    // `size` elements are reduced to one: at least `other`, 1
    Squeezed,   // an axis of `size` stays: at least `other`, 2
  };
  Dim size, other;
  Kind kind = Kind::Equal;
  std::string node;
};

// Input sizes that the file fixes and the caller changes. They are symbols while the graph is walked, so that numbers
// the exporter derived from them can be updated. Every formula over them has an exported size.
struct FixedSizes {
  Bindings exported;  // symbol → its size in the file
  Bindings asked;     // symbol → the requested size, where known before the walk ends
  std::string batch;  // the symbol of the batch; empty where the file does not fix the batch

  Dim as_exported(const Dim& size) const { return size.bind(exported); }
  Dim as_asked(const Dim& size) const { return size.bind(asked); }
  bool hold(const Dim& size) const;        // `size` depends on one of them
  bool hold_batch(const Dim& size) const;  // on the batch
  bool hold_other(const Dim& size) const;  // on one other than the batch
};

// A sequence whose length is a formula: all its members have one shape but the last.
struct Parts {
  Dim count;
  Shape each, last;
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
  bool is_constant(int i) const;                   // an initializer or computed only from initializers
  bool same_value(int i, int j) const;             // both inputs are the same tensor
  const std::vector<Shape>* members(int i) const;  // of a sequence with individually known members; else null
  std::optional<Parts> parts(int i) const;         // of a sequence whose members are known otherwise

  // --- attributes ---
  bool has_attribute(std::string_view name) const;
  std::int64_t attribute(std::string_view name, std::int64_t otherwise) const;
  double attribute(std::string_view name, double otherwise) const;
  std::string_view attribute(std::string_view name, std::string_view otherwise) const;
  std::int64_t attribute(std::string_view name, int otherwise) const {
    return attribute(name, std::int64_t{otherwise});
  }
  std::string_view attribute(std::string_view name, const char* otherwise) const {
    return attribute(name, std::string_view(otherwise));
  }
  bool flag(std::string_view name, bool otherwise = false) const { return attribute(name, otherwise ? 1 : 0) != 0; }
  std::int64_t required_integer(std::string_view name) const;
  std::optional<std::vector<std::int64_t>> integer_list(std::string_view name) const;
  const AttributeValue* attribute_value(std::string_view name) const;
  // For axes and similar, which moved from attribute to input in later opsets: the attribute, else the input's value.
  std::optional<std::vector<std::int64_t>> integer_list_or_input(std::string_view name, int input) const;

  // --- outputs ---
  int output_count() const;                 // length of the output list, omitted ones included
  bool has_output(int i) const;             // within the list and named
  void set_output(int i, TensorType type);  // no effect where there is no such output
  void set_output(int i, ElementType element, Shape shape);
  const TensorType& output(int i) const;                // for cost and fold; ends the rule when absent
  const Shape& output_shape(int i) const;               // ends the rule when the rank is unknown
  void set_value(int i, TensorValue value);             // for fold
  void set_members(int i, std::vector<Shape> members);  // of a sequence; no effect beyond 256 members
  void set_parts(int i, Parts parts);                   // of a sequence
  const TensorValue* output_value(int i) const;

  // --- symbols ---
  // A new symbol for a data-dependent size. `hint` is its name, `cause` the reason it exists. Also for data-dependent
  // work, as long as no output's shape contains it.
  Dim fresh(std::string_view hint, std::string_view cause, std::optional<Dim> upper = std::nullopt) const;
  // Of two sizes that must be equal, returns the more informative one. Unequal constants end the rule with `what` as
  // the subject. A number that the file derived from a fixed size yields to that size's formula.
  Dim unify(const Dim& a, const Dim& b, std::string_view what);
  // Records a condition that holds for some sizes only; no effect where it holds for all sizes of at least 1.
  void require(Requirement::Kind kind, const Dim& size, const Dim& other) const;
  // Numpy broadcasting of two dims / shapes.
  Dim broadcast(const Dim& a, const Dim& b);
  Shape broadcast(const Shape& a, const Shape& b);
  // The sizes that the file fixes and the caller changes; null where there are none.
  const FixedSizes* fixed_sizes() const;
  // Formulas over them, seen as tensor sizes, that have this exported size: at any axis, or at this axis of this rank.
  std::vector<Dim> seen_sizes(std::int64_t exported) const;
  std::vector<Dim> seen_sizes(std::int64_t exported, std::size_t rank, std::size_t axis) const;
  // A size given as a number that may depend on one of them: a symbol until a later operator decides.
  Dim pending_size(std::int64_t exported) const;
  // The same for two sizes whose product is `whole`: deciding one decides the other.
  std::pair<Dim, Dim> pending_parts(const Dim& whole, std::int64_t outer, std::int64_t inner) const;
  void note(std::string message);  // an informational diagnostic of this node

  // --- cost helpers ---
  Dim elements(int i) const;         // of input i
  Dim output_elements(int i) const;  // of output i
  Dim input_bytes(int i) const;      // 0 for an absent input
  Dim output_bytes(int i) const;     // 0 for an absent output
  // Every distinct present input read once, every present output written once; precision of input 0.
  OpCost streamed() const;
  // The same, reading only the listed inputs; the others are arguments such as axes, known before launch.
  OpCost streamed(std::initializer_list<int> inputs_read) const;
  OpCost streamed(std::span<const int> inputs_read) const;
  // Replaces the bytes of an input (output) that `cost` otherwise moves in full.
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
