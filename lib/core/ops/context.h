// The driver's side of OpContext: what a rule sees of its node, and the session all nodes of one analysis share.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "pagoda/core/diagnostic.h"
#include "pagoda/core/rule.h"

namespace pagoda::inline core {

// What is known of one value while its graph is walked.
struct ValueInfo {
  TensorType type;
  ElementType stored = ElementType::Undefined;  // instead of type.element, where a precision narrows operands
  // Its elements, where they are known: computed on the way, or an initializer's, which stay in the model.
  std::optional<TensorValue> computed_value;
  const TensorValue* stored_value = nullptr;
  std::optional<std::vector<Shape>> members;  // of a sequence, where they are known one by one
  bool constant = false;                      // computed from initializers alone
  bool host = false;  // shape arithmetic: a short integer vector computed from shapes and constants
  // The stored tensor behind it, for counting parameters once: an initializer (index) or a Constant node (~index).
  GraphId tensor_graph = -1;
  std::int32_t tensor = 0;
  ElementType dequantized_from = ElementType::Undefined;  // it is those numbers, scaled; maybe in another layout
  std::string unread;                                     // why its small value could not be read
  bool absent = false;                                    // an optional input that the caller of a function omitted

  const TensorValue* value() const { return computed_value ? &*computed_value : stored_value; }
};

// How a rule ends early.
struct RuleStop {
  enum class Kind { Contradiction, Unknown, UnknownInput } kind;
  std::string message;
};

// State shared by all graphs of one analysis.
class Session {
 public:
  explicit Session(const Model& of_model) : model(of_model) {}

  const Model& model;
  std::vector<Symbol> symbols;
  std::vector<Diagnostic> diagnostics;
  std::optional<FixedSizes> fixed;
  std::map<std::string, int> input_dims;  // names of the inputs' dims → order of first appearance

  Dim fresh(std::string_view hint, std::string node, std::string cause, std::optional<Dim> upper);
  // Takes back a symbol that nothing depends on.
  void forget(const Dim& symbol);
  // Replaces symbols that were found equal to other expressions.
  Dim resolve(const Dim& dim) const;
  // See OpContext::unify; empty when two constants differ.
  // With `or_one`, of a broadcast, what stays open may be 1 as well.
  std::optional<Dim> unify(const Dim& a, const Dim& b, const std::string& node, bool or_one = false);
  // Where a symbol meets a constant above 1 in a broadcast it is that constant or 1.
  void one_or(const Dim& symbol, const Dim& constant, const std::string& node);
  // What unify() and one_or() took for equal without being able to tell, but for nodes that may not run.
  struct TakenForEqual {  // an Analysis's Requirement
    Dim size, other;
    bool or_one = false;
    std::string node;
  };
  std::vector<TakenForEqual> taken_for_equal;
  int undecided = 0;  // branches being walked whose condition is not known
  const std::map<std::string, Dim>& ones_or() const { return ones_or_; }

  // --- sizes that the file fixes, see FixedSizes; only where `fixed` is set ---
  // A size that a tensor has; later seen_sizes() name it.
  void see(const Shape& shape);
  std::vector<Dim> seen(std::int64_t exported, std::optional<std::pair<std::size_t, std::size_t>> rank_and_axis) const;
  Dim pending_size(std::int64_t exported, const std::string& node, std::string cause);
  std::pair<Dim, Dim> pending_parts(const Dim& whole, std::int64_t outer, std::int64_t inner, const std::string& node);
  // Sizes still pending, and those that were decided in a way that the sizes asked for do not allow: node and reason.
  std::optional<std::pair<std::string, std::string>> unsettled() const;
  // The operator multiplies by stored weights: a number that meets a pending size decides it.
  bool has_weights = false;
  // Numbers of the file that gave way since it was last cleared, and the formulas they gave way to.
  struct Yielded {
    Dim constant, formula;
  };
  std::vector<Yielded> yielded;

  void note(Severity severity, std::string node, std::string message, Cause cause = Cause::Note);
  // Takes out what was noted from the `first` diagnostic on, to be forgotten or noted again.
  std::vector<Diagnostic> take_notes(std::size_t first);
  const std::map<std::string, Dim, std::less<>>& equalities() const { return equalities_; }

 private:
  bool is_fresh(const std::string& name) const { return fresh_names_.contains(name); }
  bool more_telling(const Dim& a, const Dim& b) const;
  void require(const Dim& size, const Dim& other, const std::string& node, bool or_one);
  void set_equal(const std::string& symbol, const Dim& dim, const std::string& node);
  std::optional<Dim> unify_fixed(const Dim& a, const Dim& b, const std::string& node, bool or_one);
  // Decides a pending size, and with it the other part of a whole.
  void settle(const std::string& symbol, const Dim& dim, const std::string& node);
  bool is_pending(const Dim& dim) const { return dim.is_symbol() && pending_.contains(dim.to_string()); }

  std::set<std::string, std::less<>> fresh_names_;
  std::map<std::string, int> next_of_stem_;  // the number that the next symbol of a stem tries first
  std::map<std::string, Dim, std::less<>> equalities_;
  std::map<std::string, Dim> ones_or_;
  std::set<std::string> noted_, required_;

  struct Pending {
    std::string node;
    std::optional<Dim> whole;  // of two parts
    std::string other;         // the other part
  };
  std::map<std::string, Pending, std::less<>> pending_;
  struct Seen {
    Dim size;
    std::size_t rank, axis;
  };
  std::map<std::int64_t, std::vector<Seen>> seen_;  // by exported size, in order of appearance
};

struct CustomOperator;

struct OpContext::State {
  Session& session;
  const Node& node;
  const std::string& display_name;
  std::int64_t opset = 1;
  OpFacts facts = {};
  const CustomOperator* custom = nullptr;  // that the rule follows; null for all others
  std::vector<const ValueInfo*> inputs;  // null where omitted
  std::vector<ValueInfo> outputs;
  std::vector<bool> output_set;
};

}  // namespace pagoda::inline core
