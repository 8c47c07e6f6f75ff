// State shared while building the graphs of one model, and the entry points of the parts.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "onnx/external_data.h"
#include "onnx/message.h"
#include "pagoda/core/graph.h"

namespace pagoda::inline core::wire {

// A TypeProto, with its sequences, optionals and maps unwrapped.
struct StoredDim {
  std::optional<std::int64_t> value;
  std::string_view name;
};
struct StoredType {
  Container container = Container::Tensor;
  ElementType element = ElementType::Undefined;
  ElementType key = ElementType::Undefined;  // of maps
  std::optional<std::vector<StoredDim>> dims;
};
StoredType read_type(File& file, Range body, int depth);

// The symbols of one model. Different names never become the same symbol, and unnamed sizes get their own symbols.
class DimNames {
 public:
  // Reserves the names in `type` that need no change, so that no other size gets them. Call it for all declared types
  // before resolving the first.
  void reserve(const StoredType& type);

  // `value` is the base name for sizes that the file leaves open.
  TensorType resolve(const StoredType& type, std::string_view value);

  // Names in the file that are not identifiers → the symbols used for them.
  const std::map<std::string, std::string>& renamed() const { return renamed_; }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view name) const { return std::hash<std::string_view>()(name); }
  };

  Dim named(std::string_view name);
  bool is_difference(std::string_view name) const;
  std::optional<Dim> as_written(std::string_view name);
  std::string unused(std::string identifier);

  std::unordered_map<std::string, std::uint64_t> taken_;  // symbols → the number last appended to them
  std::unordered_map<std::string, Dim, Hash, std::equal_to<>> known_;
  std::map<std::string, std::string> renamed_;
  std::size_t formula_characters_ = 0;
};

struct Loader {
  // Values that bodies capture from enclosing graphs, each counted once per level it passes.
  static constexpr std::size_t kMostCaptures = std::size_t{1} << 20;
  static constexpr std::size_t kMostGraphs = 65'536;
  static constexpr std::size_t kMostOpsets = 1024;
  // A known element takes 64 bytes, so the expansion of a file full of small tensors must be limited. Indices and
  // shapes, which are int64, have a separate budget.
  static constexpr std::uint64_t kMostIndices = std::uint64_t{1} << 21;
  static constexpr std::uint64_t kMostOthers = std::uint64_t{1} << 20;

  Loader(File& of, const ExternalData& data) : file(of), external(data) {}

  File& file;
  const ExternalData& external;
  Model model;
  base::NameArena names;
  DimNames dims;
  std::size_t captures = 0;
  std::uint64_t indices_left = kMostIndices, others_left = kMostOthers;
};

// Throws Error when one more graph is too many.
void expect_few_graphs(std::size_t graphs);

// Builds the graph of the GraphProto in `body` and those in its nodes. The main graph is built first, into index 0.
GraphId build_graph(Loader& loader, Range body, int depth);
// `build_body` builds each graph in the AttributeProto.
using BuildBody = std::function<GraphId(Range body, int depth)>;
Attribute build_attribute(Loader& loader, const BuildBody& build_body, Range body, int depth);
// Adds the function of the FunctionProto in `body`.
void build_function(Loader& loader, Range body, int depth);

// Reads the TensorProto in `body`: type, location, and the value if it is small. Throws Error naming the tensor where
// its dims or data are impossible.
Tensor read_tensor(Loader& loader, Range body, int depth);
// The dense tensor that the SparseTensorProto in `body` represents; its value is not built.
Tensor read_sparse_tensor(Loader& loader, Range body, int depth);

// An OperatorSetIdProto.
struct Opset {
  std::string domain;
  std::int64_t version = 0;
};
Opset read_opset(File& file, Range body, int depth);

// The values that each node reads, including captures of its bodies.
class Reads {
 public:
  void reserve(std::size_t nodes) { ends_.reserve(nodes); }
  void add(ValueId value) { values_.push_back(value); }  // of the node being added
  void end_node() { ends_.push_back(values_.size()); }
  std::size_t nodes() const { return ends_.size(); }
  std::span<const ValueId> of(std::size_t node) const {
    const std::size_t begin = node == 0 ? 0 : ends_[node - 1];
    return std::span(values_).subspan(begin, ends_[node] - begin);
  }

 private:
  std::vector<ValueId> values_;
  std::vector<std::size_t> ends_;
};

// Sorts nodes so that producers come first, otherwise in the given order; a sorted list stays unchanged. Throws Error
// naming the nodes of a cycle.
void sort_topologically(Graph& graph, const Reads& reads);

// Whether a metadata entry of this key states a node's module path.
bool names_scope(std::string_view key);

// The module path of a node, from the metadata that exporters write.
struct RecordedScope {
  std::string name_scopes, name_space;

  // Reads the StringStringEntryProto in `entry`.
  void read(File& file, Range entry, int depth);
  // Without a recorded scope, the folder part of the name.
  std::string of(std::string_view node_name) const;
};

}  // namespace pagoda::inline core::wire
