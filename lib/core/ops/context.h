// The driver's side of OpContext: what a rule sees of its node, and the session that all nodes of an analysis share.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "pagoda/base/boxed.h"
#include "pagoda/core/diagnostic.h"
#include "pagoda/core/rule.h"

namespace pagoda::inline core {

// A tensor of two values: `inside` where its last two axes are in a band about the diagonal, least ≤ column − row ≤
// most, and `outside` elsewhere. Without limits all elements are `inside`.
struct Banded {
  Scalar inside, outside;
  std::optional<Dim> least = {}, most = {};
};

// Facts about one value, collected while its graph is walked.
struct ValueInfo {
  TensorType type;
  // Its elements, if known: computed during the walk, or those of an initializer, which stay in the model.
  base::Boxed<TensorValue> computed_value;
  const TensorValue* stored_value = nullptr;
  base::Boxed<std::vector<Shape>> members;  // of a sequence, if each shape is known
  Dim repeats_of_first;                     // number of members beside these, each with the shape of the first
  base::Boxed<Banded> banded;               // its elements, where they are too many to list, or their number is open
  Name unread;                              // why its small value could not be read
  // The stored tensor behind it, for counting parameters once: an initializer (index) or a Constant node (~index).
  GraphId tensor_graph = -1;
  std::int32_t tensor = 0;
  ElementType stored = ElementType::Undefined;            // instead of type.element, where a precision narrows operands
  ElementType dequantized_from = ElementType::Undefined;  // type of the integers that it holds scaled, in any layout
  bool constant = false;                                  // computed from initializers alone
  bool host = false;    // shape arithmetic: a short integer vector computed from shapes and constants
  bool absent = false;  // an optional input that the caller of a function omitted

  const TensorValue* value() const { return computed_value ? computed_value.get() : stored_value; }
};

// Thrown to end a rule early.
struct RuleStop {
  enum class Kind { Contradiction, Unknown, UnknownInput } kind;
  std::string message;
};

// The inputs whose elements rules read, other than to compute those of an output.
struct ValueReads {
  std::set<std::tuple<GraphId, std::size_t, int>> inputs;  // by graph, node and place
  std::vector<bool> walked;                                // by graph
  std::pair<GraphId, std::size_t> node = {};               // whose rule runs
  bool folds = false;                                      // it computes the elements of an output
};

// State shared by all graphs of one analysis.
class Session {
 public:
  explicit Session(const Model& of_model) : model(of_model) {}

  const Model& model;
  ValueReads* reads = nullptr;  // where they are recorded, with both branches of every If; null: nowhere
  std::vector<Symbol> symbols;
  std::vector<Diagnostic> diagnostics;
  std::optional<FixedSizes> fixed;
  std::map<std::string, int> input_dims;  // names of the inputs' dims → order of first appearance

  Dim fresh(std::string_view hint, std::string node, std::string cause, std::optional<Dim> upper);
  // Removes a symbol that nothing depends on.
  void forget(const Dim& symbol);
  // Replaces symbols that were found equal to other expressions.
  Dim resolve(const Dim& dim) const;
  // See OpContext::unify; empty when two constants differ.
  // In a broadcast, a size that stays undecided may also be 1.
  std::optional<Dim> unify(const Dim& a, const Dim& b, const Name& node,
                           Requirement::Kind kind = Requirement::Kind::Equal);
  // Records that a symbol, broadcast with a constant above 1, is that constant or 1.
  void one_or(const Dim& symbol, const Dim& constant, const Name& node);
  // What unify(), one_or() and rules assumed but could not prove, except for nodes that may not run.
  std::vector<Requirement> requirements;
  void require(Requirement::Kind kind, const Dim& size, const Dim& other, const Name& node);
  int undecided = 0;  // nested branches being walked whose condition is unknown
  // Ifs, by graph and node, that may take either branch, and whose branches have outputs of different ranks. Where the
  // nodes behind one can only run after one of its branches, a second walk takes that one.
  using IfPlace = std::pair<GraphId, std::size_t>;
  std::set<IfPlace> open_ranks;
  std::map<IfPlace, bool> taken_by_rank;
  // While it lives, one branch of a condition on sizes is walked: equalities found in it hold in it alone.
  class Branch {
   public:
    explicit Branch(Session& session) : session_(session), outside_(session.equalities_) {
      ++session.undecided, ++session.branches_;
    }
    Branch(const Branch&) = delete;
    Branch& operator=(const Branch&) = delete;
    ~Branch();
    bool has_equalities() const { return session_.equalities_.size() != outside_.size(); }

   private:
    Session& session_;
    std::map<std::string, Dim, std::less<>> outside_;
  };
  const std::map<std::string, Dim>& ones_or() const { return ones_or_; }

  // --- sizes that the file fixes, see FixedSizes; only where `fixed` is set ---
  std::vector<Dim> input_sizes;  // those of the graph's inputs that follow
  // Records the sizes of a tensor, which later seen_sizes() return.
  void see(const Shape& shape);
  std::vector<Dim> seen(std::int64_t exported, std::optional<std::pair<std::size_t, std::size_t>> rank_and_axis) const;
  // The sizes that a reshape merges into one, in their order; merged() returns all lists whose product is `whole`.
  void note_merged(const Dim& whole, Shape sizes);
  std::vector<Shape> merged(const Dim& whole) const;
  // `otherwise`: the formula where no operator decides; without one the request is refused.
  Dim pending_size(std::int64_t exported, const Name& node, std::optional<Dim> otherwise = std::nullopt);
  std::pair<Dim, Dim> pending_parts(const Dim& whole, std::int64_t outer, std::int64_t inner, const Name& node);
  // Decides that a formula made only of pending sizes stays as in the file; false where it is made of others.
  bool keep(const Dim& formula, const Name& node);
  // Decides what no operator decided: sizes that have a formula for this case, and pairs of parts, where a part with
  // the same exported size on axes of different sizes is a block, which stays.
  void settle_rest();
  // The first size that is still pending, or decided in a way that the requested sizes do not allow: node and reason.
  std::optional<std::pair<std::string, std::string>> unsettled() const;
  // The operator multiplies by stored weights: a number that meets a pending size decides it.
  bool has_weights = false;
  // Numbers of the file that were replaced since the last clear, and the formulas that replaced them.
  struct Yielded {
    Dim constant, formula;
  };
  std::vector<Yielded> yielded;

  void note(Severity severity, std::string node, std::string message, Cause cause = Cause::Note);
  // Removes and returns the diagnostics from index `first` on, for the caller to drop or to note again.
  std::vector<Diagnostic> take_notes(std::size_t first);
  const std::map<std::string, Dim, std::less<>>& equalities() const { return equalities_; }

 private:
  bool is_fresh(const std::string& name) const { return fresh_names_.contains(name); }
  bool is_more_informative(const Dim& a, const Dim& b) const;
  void set_equal(const std::string& symbol, const Dim& dim, const Name& node, Requirement::Kind kind);
  std::optional<Dim> unify_fixed(const Dim& a, const Dim& b, const Name& node, Requirement::Kind kind);
  // Decides that the pending symbols of a formula stay as in the file.
  void settle_as_exported(const Dim& formula, const Name& node);
  // Decides a pending size, and with it the other part if the size is one of two parts.
  void settle(const std::string& symbol, const Dim& dim, const Name& node);
  bool is_pending(const Dim& dim) const { return dim.is_symbol() && pending_.contains(dim.to_string()); }

  std::set<std::string, std::less<>> fresh_names_;
  std::map<std::string, int> next_of_stem_;  // the suffix that the next symbol of a stem tries first
  std::map<std::string, Dim, std::less<>> equalities_;
  std::map<std::string, Dim> ones_or_;
  std::set<std::string> noted_, required_;
  int branches_ = 0;  // of conditions on sizes

  struct Pending {
    std::string node;
    std::optional<Dim> whole = {};      // product of the two parts
    std::string other = {};             // symbol of the other part
    bool is_outer = false;              // of the two parts
    std::optional<Dim> otherwise = {};  // where no operator decides
  };
  std::map<std::string, Pending, std::less<>> pending_;
  struct Seen {
    Dim size;
    std::size_t rank, axis;
  };
  std::map<std::int64_t, std::vector<Seen>> seen_;  // by exported size, in order of appearance
  struct Merged {
    Dim whole;
    Shape sizes;
  };
  std::map<std::int64_t, std::vector<Merged>> merged_;  // by exported size of the whole
};

struct CustomOperator;

struct OpContext::State {
  // Of a rule's helper that follows fixed sizes.
  static State& of(const OpContext& op) { return op.state_; }

  Session& session;
  const Node& node;
  const Name& display_name;
  std::int64_t opset = 1;
  OpFacts facts = {};
  const CustomOperator* custom = nullptr;  // the one that the rule follows; null for other rules
  std::vector<const ValueInfo*> inputs;    // null where omitted
  std::vector<ValueInfo> outputs;
  std::vector<bool> output_set;
};

}  // namespace pagoda::inline core
