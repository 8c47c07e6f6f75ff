// The graph that ONNX Runtime asks a provider about: that of the file, or what its first level of optimisation leaves.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "pagoda/core/analysis.h"
#include "pagoda/core/model.h"
#include "pagoda/core/placement.h"

namespace pagoda::inline core {

struct LoadedNode {
  std::int32_t file = -1;      // the node of the file whose name it keeps; -1: the runtime made it
  const Node* like = nullptr;  // its attributes; null: the runtime made it
  std::string_view op, domain;
  std::vector<ValueId> inputs, captured, outputs;  // captured: read by its bodies
  bool is_gone = false;
  bool has_bodies = false;
  bool is_remade = false;    // under another name, in the layout of the provider
  bool is_expanded = false;  // the runtime runs the nodes by which ONNX defines the operator
  // Where transposes moved them, or of a node that the runtime made; perm of Transpose.
  std::vector<std::int64_t> axes = {};
  std::string key = {};  // LoadedGraph::key_of(), once asked for
  std::uint64_t inferred = 0;  // LoadedGraph::inference_state() behind its last inference; 0: none yet
  std::vector<std::int32_t> made_of = {};  // nodes of the file that became part of it
};

inline bool is_plain(const LoadedNode& node) { return node.domain.empty(); }
inline bool quantises(const LoadedNode& node) { return node.op == "QuantizeLinear"; }
inline bool dequantises(const LoadedNode& node) { return node.op == "DequantizeLinear"; }
// A node that the runtime makes.
inline LoadedNode made_node(std::string_view op, std::vector<ValueId> inputs, std::vector<ValueId> outputs = {}) {
  return {.op = op, .domain = "", .inputs = std::move(inputs), .captured = {}, .outputs = std::move(outputs)};
}
inline bool is_random(std::string_view op) {
  return op.starts_with("Random") || op == "Bernoulli" || op == "Multinomial";
}
// ONNX defines the operator by others, and the CPU has no kernel of it.
bool is_defined_by_others(const LoadedNode& node);
// Whether the CPU has a kernel of the operator for floats of 16 bits.
bool runs_halves_on_cpu(std::string_view op);
// The whole number of a scalar; empty if it is not known.
inline std::optional<std::int64_t> integer_of(const Scalar& scalar) {
  const Dim* dim = std::get_if<Dim>(&scalar);
  return dim == nullptr ? std::nullopt : dim->value64();
}
// The elements of a stored tensor as text; empty where they are not known.
std::optional<std::vector<std::string>> texts_of(const TensorValue& value);
// The elements of an attribute as text, one for a number or a text; empty for a graph, a type or a large tensor.
std::optional<std::vector<std::string>> texts_of(const Attribute& attribute);

// Of ONNX Runtime: {1, 21}.
using Release = std::pair<int, int>;
inline constexpr Release kSince1_21 = {1, 21};  // products of more than two dims, and biases, are rewritten since then
inline constexpr Release kSince1_24 = {1, 24};  // inference follows some sizes that nodes compute since then
inline constexpr Release kSince1_27 = {1, 27};  // stored tensors that are inputs, too, are shared since then
// Since then, a Transpose passes Elu, Gather and Reshapes that split dims.
inline constexpr Release kSince1_28 = {1, 28};

struct ValueInfo;

class LoadedGraph {
 public:
  // As the file has it, but for constants.
  LoadedGraph(const Model& model, const Analysis& analysis);
  LoadedGraph(const LoadedGraph&) = delete;
  LoadedGraph& operator=(const LoadedGraph&) = delete;
  // Expands operators for which the runtime has no kernels, but those that the provider has kernels for. One that
  // compiles parts is asked about the nodes of the file first.
  void expand(const Provider& provider, PlacementForm form);
  // Finds the sizes that the runtime knows while nothing is folded.
  void infer(Release release);
  // Removes, folds and fuses nodes as the first level of optimisation of this release does.
  void optimise(Release release);

  const std::vector<LoadedNode>& nodes() const { return nodes_; }  // with those that are gone
  // The nodes that are left, in the runtime's order: depth first from nodes whose results nothing reads, from the last
  // one back. It decides which of equal nodes stays.
  const std::vector<std::int32_t>& order() const;
  // Work with channels last, where the provider does.
  void change_layout(const std::vector<std::int32_t>& nodes);
  // What the next levels fuse of the nodes that the provider took. Provider::fusions are names of the table in
  // fusions.cpp. `unfused`, unless null, gets what nearly matches a pattern of that table.
  void fuse_late(const Provider& provider, const std::vector<bool>& is_taken, std::vector<UnfusedNodes>* unfused);
  const std::vector<FusedNodes>& fused() const { return fused_; }  // on any level
  // By node of the file: whether a node that is left does its work, as a reader of the graph would say it. From each
  // result that is left, the file's graph is walked back to tensors that are left, too. `copied` are written by copies.
  std::vector<bool> covered(const std::vector<ValueId>& copied) const;
  // The results that the runtime's graph for the CPU casts: halves that the CPU cannot compute.
  std::vector<ValueId> cast_halves() const;
  // By node of the file: whether it depends on no input, as the file has it.
  std::vector<bool> constant_in_file() const;
  bool is_constant(ValueId value) const { return value != kAbsent && values_[at(value)].is_constant; }
  // By value: whether it depends on no input of the model.
  std::vector<bool> computed() const;
  bool is_output(ValueId value) const { return values_[at(value)].is_output; }
  std::string_view name(ValueId value) const { return graph_.value(original(value)).name; }
  const TensorType& type(ValueId value) const { return *values_[at(value)].type; }
  // The file's tensor that a tensor of this graph holds, perhaps transposed.
  ValueId original(ValueId value) const { return values_[at(value)].original; }
  // Null: its rank is not known. Not each of its sizes is one that the runtime knows: is_fixed().
  const Shape* shape(ValueId value) const {
    if (value == kAbsent) return nullptr;
    const TensorType& known = type(value);
    return known.shape ? &*known.shape : nullptr;
  }
  // As the file states it; null: it does not.
  const Shape* declared(ValueId value) const {
    const auto& stated = graph_.value(original(value)).declared.shape;
    return stated && !is_made(value) ? &*stated : nullptr;
  }
  // Whether the runtime knows each size as a number: not behind sizes that are computed when the model runs.
  bool is_fixed(ValueId value) const;
  const TensorValue* known(ValueId value) const { return value == kAbsent ? nullptr : values_[at(value)].known; }
  // Where a skeleton says that the data of a small stored tensor were, equal ones at one place; empty for any other.
  std::string left_out(ValueId value) const;
  std::int32_t writer(ValueId value) const { return value == kAbsent ? -1 : values_[at(value)].writer; }
  // Nodes that read the value or whose bodies do, in order.
  const std::vector<std::int32_t>& readers(ValueId value) const { return values_[at(value)].readers; }

 private:
  class Fuser;       // fusions.cpp
  class Transposer;  // transposes.cpp

  struct LoadedValue {
    const TensorType* type = nullptr;  // of the analysis, or in made_types_
    const TensorValue* known = nullptr;
    ValueId original = kAbsent;
    std::int32_t writer = -1;
    std::vector<std::int32_t> readers;  // sorted
    bool is_constant = false;
    bool is_output = false;
    std::uint64_t vague = 0;   // a bit for each axis: the runtime's inference does not find its size
    bool is_unranked = false;  // nor the rank
    bool is_told = false;      // but it does follow the elements
  };

  static std::size_t at(std::int32_t id) { return static_cast<std::size_t>(id); }
  LoadedNode& node(std::int32_t id) { return nodes_[at(id)]; }
  const LoadedNode& node(std::int32_t id) const { return nodes_[at(id)]; }
  bool is_stored(ValueId value) const { return graph_.is_stored(value) && !graph_.value(value).is_default; }
  // Of a stored tensor, or of a Constant node; null: of neither.
  const Tensor* tensor_of(ValueId value) const;
  void find_captured(GraphId body, std::vector<ValueId>& values) const;
  // The values that a node of the file reads, its bodies among it.
  void find_reads(const Node& node, std::vector<ValueId>& values) const;

  // The number of sizes that may not be 1.
  std::optional<std::size_t> wide_rank(ValueId value) const;
  bool is_made(ValueId value) const { return value != kAbsent && at(value) >= graph_.values.size(); }
  ValueId add_value(ValueId original, TensorType type, bool is_constant = false);
  void retype(ValueId value, TensorType type);
  std::int32_t add_node(LoadedNode node);
  // Its only output is new: `original`, of this type.
  std::int32_t add_node(LoadedNode node, ValueId original, TensorType type);

  std::int32_t only_reader(ValueId value) const;  // -1: none or several, or the value is an output of the model
  bool produces_output(const LoadedNode& each) const;
  void replace(ValueId from, ValueId to);  // in all readers
  void set_input(std::int32_t id, std::size_t i, ValueId value);
  void link(std::int32_t id);  // as a writer and a reader
  void remove(std::int32_t id);
  void remove_unread(std::int32_t id);  // and then what only it read
  // Takes a node out whose result is `kept`; false: the result is an output of the model.
  bool bypass(std::int32_t id, ValueId kept);
  // Nodes of the file that these are, or are made of.
  std::vector<std::int32_t> files_of(const std::vector<std::int32_t>& nodes) const;
  std::vector<std::int32_t> note_fused(std::string_view pattern, const std::vector<std::int32_t>& nodes,
                                       ValueId result);
  struct Piece;  // splits.cpp
  static constexpr std::string_view kSplits = "GatherSliceToSplit";
  std::optional<std::int64_t> stored_integer(ValueId value) const;
  std::optional<Piece> piece_of(std::int32_t id, ValueId value) const;
  bool fuse_split(ValueId value, const std::vector<bool>& is_taken);
  bool fuse_splits(const std::vector<bool>& is_taken);
  // The second node's work becomes part of the first, which writes the second's result.
  void fuse(std::int32_t into, std::int32_t next);

  bool is_vague(ValueId value) const { return value != kAbsent && values_[at(value)].vague != 0; }
  bool is_told(ValueId value) const { return value == kAbsent || is_constant(value) || values_[at(value)].is_told; }
  bool has_inference(const LoadedNode& node) const;
  bool tells(const LoadedNode& node) const;
  bool loses_rank(const LoadedNode& node) const;
  void infer();
  void infer(std::int32_t id);
  std::uint64_t inference_state(const LoadedNode& node) const;
  std::vector<ValueInfo> infer_again(const LoadedNode& node) const;
  bool does_rule_ask_sizes(const LoadedNode& node) const;
  void infer_for_rules();
  bool apply_rules();
  bool apply_rule(std::int32_t id);
  bool fuse_into_conv(std::int32_t id);
  void fuse_weights(std::int32_t id, std::int32_t next);
  bool fuse_pad(std::int32_t id);
  bool remove_double_pairs();
  bool merge_equal();
  bool fold_constants();
  bool inline_branch(std::int32_t id);
  bool fuse_sums() { return fuse_sums(true); }
  bool fuse_sums(bool keeps_attention);
  bool feeds_attention(const LoadedNode& product, const LoadedNode& sum) const;
  ValueId add_sizes(ValueId of);  // a stored tensor of them
  std::int32_t add_reshape(ValueId from, TensorType type);
  bool fuse_reshapes();
  bool fuse_chain(std::int32_t id);
  void split_dequantised();
  bool fuse_early();
  bool push_transposes();
  bool quantise_biases();
  bool propagate_pairs();
  void insert_pairs(ValueId value, const std::vector<std::int32_t>& nodes, const LoadedNode& model);
  bool passes_pairs(const LoadedNode& node) const;
  bool has_one_scale(const LoadedNode& node) const;
  bool is_dequantised(ValueId value, std::optional<std::int64_t> axis) const;
  bool is_quantised(ValueId value) const;
  std::optional<std::vector<std::int64_t>> shape_of_concat(std::int32_t concat, ValueId root) const;
  bool is_neutral(ValueId number, ValueId operand, double value) const;
  bool is_same_size(ValueId a, ValueId b, std::size_t axis) const;
  std::size_t rough_key(const LoadedNode& each) const;
  std::string key_of(ValueId value) const;
  static std::string key_of(const LoadedNode& each);  // empty: no other node is its equal

  const Model& model_;
  const Graph& graph_;
  Release release_;
  std::vector<LoadedNode> nodes_;
  std::vector<LoadedValue> values_;
  std::vector<FusedNodes> fused_;
  std::deque<TensorType> made_types_;          // of values that the runtime made, and stored tensors that it transposed
  const std::vector<std::int32_t> producers_;  // by value of the file: its node
  mutable std::vector<std::int32_t> order_;    // empty: not known since the last change
};

}  // namespace pagoda::inline core
