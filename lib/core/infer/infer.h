// Walks a graph in execution order: finds each node's rule, lets it infer, fold and cost, and collects the rows.
// Bodies (branches, loops, local functions) are walked the same way and their rows spliced in.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "graph/by_operator.h"
#include "graph/index.h"
#include "infer/storage.h"
#include "ops/context.h"
#include "ops/custom.h"
#include "ops/packed_weights.h"
#include "pagoda/core/analysis.h"

namespace pagoda::inline core {

// Whether a stored tensor counts as a parameter; `in_node`: it is the value of a Constant node, not an initializer.
bool is_parameter(const TensorType& type, bool in_node);
// Whether a tensor is as small as a number in an expression: an operand, but nothing to keep.
bool is_literal(const Shape& shape);

// ValueInfo::tensor of a Constant node's value; negative, so that no initializer uses it.
inline std::int32_t tensor_in_node(std::size_t node_index) { return -1 - static_cast<std::int32_t>(node_index); }

// The results of walking one graph.
struct GraphResult {
  std::vector<ValueInfo> outputs;  // of the graph
  std::vector<ValueInfo> values;   // by ValueId
  std::vector<NodeReport> rows;
};

// The type used to count bytes.
inline ElementType stored_element(const ValueInfo& info) {
  return info.stored == ElementType::Undefined ? info.type.element : info.stored;
}
inline TensorType stored_type(const ValueInfo& info) {
  TensorType type = info.type;
  type.element = stored_element(info);
  return type;
}

// Sets a member to a different value for a scope, and restores it however the scope ends.
template <typename T>
class Scoped {
 public:
  Scoped(T& member, T value) : member_(member), before_(std::exchange(member, value)) {}
  ~Scoped() { member_ = before_; }
  Scoped(const Scoped&) = delete;
  Scoped& operator=(const Scoped&) = delete;

 private:
  T& member_;
  T before_;
};

// The graph that an attribute holds.
GraphId body_of(const Node& node, std::string_view attribute_name);

// The value of a single known integer or bool; null for anything else.
const Dim* known_integer(const ValueInfo* info);
std::optional<bool> known_bool(const ValueInfo* info);
// A tensor of one element, of rank 0 or shape [1].
bool is_scalar(const TensorType& type);

// A value that changes from trip to trip: its type, without its known contents.
ValueInfo varying(ValueInfo info);

inline void set_output(OpContext::State& state, std::size_t i, ValueInfo info) {
  state.outputs[i] = std::move(info);
  state.output_set[i] = true;
}

// Adds the cost and weights of a row to those of a row that stands for several.
void add_row(NodeReport& sum, const NodeReport& row);

class Walker {
 public:
  // Limit on nodes walked to unroll loops, for any file.
  static constexpr std::size_t kUnrolledNodes = 50'000;
  // Limit on visits of nodes in bodies, in addition to 20 per node of the file.
  static constexpr std::size_t kWalkedNodes = 20'000;

  Walker(Session& session, const AnalyzeOptions& options, const std::vector<CustomOperator>& stated)
      : session_(session),
        options_(options),
        stated_(stated),
        custom_rules_(ops::rules_of(stated)),
        packed_(ops::packed_weights(session.model)),
        storage_(storage_of(options.precision)),
        operands_(product_operands(session.model, storage_)),
        walk_limit_(kWalkedNodes),
        unroll_budget_(kUnrolledNodes) {
    for (const Graph& graph : session.model.graphs) walk_limit_ += 20 * graph.nodes.size();
  }

  // `inputs` are the graph's, in order; `outer` are the values of the enclosing graph, null for main and functions.
  GraphResult walk(GraphId graph, std::span<const ValueInfo> inputs, const std::vector<ValueInfo>* outer,
                   const Name& scope);

  // Of all weights seen, including those in branches not taken.
  const Dim& params() const { return params_; }
  const Dim& param_bytes() const { return param_bytes_; }
  // Of all nodes that compute only on stored tensors, each once.
  const OpCost& at_load() const { return at_load_; }

 private:
  struct Frame;  // one graph being walked
  struct Call {  // a function call; null in the main graph and its bodies
    const Function* function = nullptr;
    const std::vector<Attribute>* attributes = nullptr;
    const Call* outer = nullptr;  // that this one is within
  };

  void visit(Frame& frame);
  void resolve(ValueInfo& info) const;
  void yield_stored(Frame& frame, const OpContext::State& state);
  void visit_rule(Frame& frame, const OpRule& rule, OpContext::State& state);
  void mark_placement(const OpRule& rule, OpContext::State& state) const;
  void visit_call(Frame& frame, const Function& function, OpContext::State& state);
  // Structure ops, in control_flow.cpp.
  using StructureVisit = void (Walker::*)(Frame&, OpContext::State&);
  static StructureVisit structure_visit(const Node& node);  // null for all other ops
  void visit_if(Frame& frame, OpContext::State& state);
  // Walks a body of the node. `part` ends the scope of its rows: "body", "then".
  GraphResult walk_body(const Frame& frame, const OpContext::State& state, GraphId body,
                        std::span<const ValueInfo> inputs, std::string_view part = "body");
  // Sets the outputs of a node with a body, and adds the node's row and those of the body.
  void finish(Frame& frame, OpContext::State& state, std::span<ValueInfo> outputs, std::vector<NodeReport> rows,
              const Dim& times);
  void weigh_branches(Frame& frame, OpContext::State& state, const Dim& truth, GraphResult taken, GraphResult other);
  // Moves the weights of a walk's rows to those of a later walk of the same body, which found them counted.
  static void keep_weights(const std::vector<NodeReport>& from, std::vector<NodeReport>& to);
  void visit_loop(Frame& frame, OpContext::State& state);
  bool is_of_trip(const Dim& dim, std::size_t first_symbol) const;
  Scalar at_trip(const Scalar& start, const Scalar& probe, const Scalar& after, ElementType type, const Dim& trip,
                 std::size_t first_symbol) const;
  // Walks a loop trip by trip, where every trip's condition is known. Keeps the result if it leaves fewer open sizes
  // than `once`, the body walked with a symbol for the trip; symbols and notes from the positions in Opened on are
  // those of `once`.
  struct Opened {
    std::size_t symbols, notes;
  };
  struct Unrolled;
  std::optional<Unrolled> unroll(const Frame& frame, const OpContext::State& state, GraphId body_id,
                                 const std::optional<Dim>& limit, bool has_open_branch);
  bool replace_by_trips(Frame& frame, OpContext::State& state, const GraphResult& once, const std::optional<Dim>& limit,
                        const Opened& opened, bool has_open_branch);
  void visit_scan(Frame& frame, OpContext::State& state);
  void visit_sequence_map(Frame& frame, OpContext::State& state);
  // Adds the work of the graphs that an attention runs on its scores to the node's row, the last one.
  void add_modifiers(Frame& frame, OpContext::State& state);

  // An initializer of a graph.
  ValueInfo stored_value(GraphId graph, ValueId id) const;
  // Stores a value of a graph in the type that the precision requires.
  void store(GraphId graph, ValueId id, ValueInfo& info) const;
  void store_outputs(const Frame& frame, OpContext::State& state) const;
  OpCost cost_of(const OpRule& rule, OpContext::State& state) const;
  struct Operator {
    const OpRule* rule = nullptr;            // null: the operator has none
    const CustomOperator* custom = nullptr;  // the description that the rule implements
    const Function* function = nullptr;      // of the file
    StructureVisit structure = nullptr;
    std::int64_t opset = 0;
  };
  const Operator& operator_of(const Node& node);
  void find_rule(const Node& node, Operator& found) const;
  void adopt_declared(const Frame& frame, OpContext::State& state, std::size_t first_symbol);
  NodeReport row_of(const Frame& frame, const OpContext::State& state);
  // Adds the row of a node whose work is in the rows of its bodies.
  void add_own_row(Frame& frame, const OpContext::State& state);
  void count_parameters(NodeReport& row, const OpContext::State& state);
  void count_parameter(NodeReport& row, const ValueInfo& input);
  void count_bodies(NodeReport& row, const Node& node, int depth = 0);
  // Adds the node's row in place of those that it has so far, from `first_row` on.
  void unmodelled(Frame& frame, std::size_t first_row, const OpContext::State& state, const std::string& problem,
                  Cause cause);
  // Appends the rows of a body, each executed `times` times; one aggregated row when there are too many.
  void splice(Frame& frame, const OpContext::State& state, std::vector<NodeReport> rows, const Dim& times);
  // One row for all rows of a body that is executed `times` times.
  NodeReport aggregate(const Frame& frame, const OpContext::State& state, const std::vector<NodeReport>& rows,
                       const Dim& times);
  // Merges the types of two alternatives of one value; differing dims become fresh symbols.
  ValueInfo join(const ValueInfo& a, const ValueInfo& b, const std::string& hint, const Name& node,
                 std::string_view cause);

  Session& session_;
  const AnalyzeOptions& options_;
  const std::vector<CustomOperator>& stated_;
  std::vector<OpRule> custom_rules_;                        // of stated_
  std::map<std::pair<GraphId, std::int32_t>, Dim> packed_;  // packed weights, identified by their consumers
  FloatStorage storage_;
  std::vector<std::vector<bool>> operands_;  // of products, by graph and value
  struct Lists {
    std::vector<const ValueInfo*> inputs;
    std::vector<ValueInfo> outputs;
    std::vector<bool> output_set;
  } spare_;  // of the previous node, whose memory the next one reuses
  ByOperator<Operator> operators_;
  std::string contradiction_;  // the first in the branch being walked: why it cannot run
  int depth_ = 0;
  std::size_t walked_nodes_ = 0;
  std::size_t walk_limit_;
  std::size_t unroll_budget_;
  std::size_t spliced_rows_ = 0;
  std::vector<std::vector<bool>> counted_tensors_;  // by graph and tensor
  std::set<GraphId> counted_bodies_;
  std::map<std::string, GraphResult> calls_;  // function bodies by signature
  Call call_;                                 // being walked
  Dim params_ = 0, param_bytes_ = 0;
  OpCost at_load_;
  std::set<std::tuple<GraphId, std::size_t, std::string>> counted_at_load_;
};

struct Walker::Frame {
  GraphId id;
  const Graph& graph;
  const Name& scope;
  std::vector<ValueInfo> values;
  std::vector<NodeReport> rows = {};
  std::size_t node = 0;  // being visited: its index
};

}  // namespace pagoda::inline core
