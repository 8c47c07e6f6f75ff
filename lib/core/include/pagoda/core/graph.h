// The model as Pagoda sees it: graphs of nodes over values, by index. Weights are not stored, only their locations.
// Plain data: built once by the loader, then only read.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "pagoda/base/boxed.h"
#include "pagoda/base/name.h"
#include "pagoda/base/small_vector.h"
#include "pagoda/core/dim.h"
#include "pagoda/core/tensor_type.h"

#pragma GCC visibility push(default)
namespace pagoda::inline core {

using base::Name;

using ValueId = std::int32_t;  // index into Graph::values
using GraphId = std::int32_t;  // index into Model::graphs
inline constexpr ValueId kAbsent = -1;

// A rational multiple of a symbolic integer, such as Cast(Shape) * 0.5 before Floor.
struct Ratio {
  Dim numerator;
  std::int64_t denominator = 1;
  bool operator==(const Ratio&) const = default;
};

// One element of a known tensor value: unknown, an integer or bool (Dim), a real, or a Ratio.
using Scalar = std::variant<std::monostate, Dim, double, Ratio>;

// The elements of a small tensor whose value affects shapes, row-major; its shape is in the value's type.
using TensorValue = std::vector<Scalar>;

// Where the bytes of an initializer are stored.
struct Extent {
  Name location;  // external data file as the model names it; empty: inside the model file
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;  // stored bytes, 0 when not stated
};

// A constant tensor: its value is present only when it is small (see load.h) and could be read.
struct Tensor {
  Name name;
  TensorType type;
  Extent extent;
  base::Boxed<TensorValue> value;
  Name unread;  // why a small value could not be read (missing external file); empty otherwise
  std::uint64_t message_at = 0;  // where its message begins in the file
};

using AttributeValue =
    std::variant<std::monostate, std::int64_t, double, std::string, std::vector<std::int64_t>, std::vector<double>,
                 std::vector<std::string>, Tensor, GraphId, std::vector<GraphId>, TensorType>;

struct Attribute {
  std::string name;
  AttributeValue value;
  std::string reference;  // inside a function body: name of the function attribute it refers to
};

// Most nodes have up to two inputs and one output.
using ValueIds = base::SmallVector<ValueId, 2>;

struct Node {
  Name name;
  Name op_type;
  Name domain;      // "" for ai.onnx
  Name overload;    // of a local function
  Name scope;       // module path as the exporter recorded it, with dots or slashes; may be empty
  ValueIds inputs;  // kAbsent for an omitted optional input
  ValueIds outputs;
  std::vector<Attribute> attributes;
  std::uint64_t message_at = 0;  // where its message begins in the file

  // The input or output at index i; kAbsent beyond the list.
  ValueId input(std::size_t i) const { return i < inputs.size() ? inputs[i] : kAbsent; }
  ValueId output(std::size_t i) const { return i < outputs.size() ? outputs[i] : kAbsent; }

  const Attribute* attribute(std::string_view name) const;
  // An attribute's value; `otherwise`, null or an empty text if it is missing or of a different type.
  std::int64_t integer(std::string_view name, std::int64_t otherwise) const;
  const std::vector<std::int64_t>* integers(std::string_view name) const;
  std::string_view text(std::string_view name) const;
  std::vector<GraphId> bodies() const;  // the graphs in attributes
  const Tensor* constant() const;       // the tensor in a Constant node; null for other nodes
};

struct Value {
  Name name;
  TensorType declared;            // as the file states it; may be empty
  std::int32_t initializer = -1;  // index into Graph::initializers
  ValueId outer = kAbsent;        // for a capture: the value's id in the enclosing graph
  bool is_input = false;
  bool is_default = false;  // a stored tensor that the file lists as an input, too
};

struct Graph {
  std::string name;
  std::vector<Node> nodes;  // in topological order
  std::vector<Value> values;
  std::vector<Tensor> initializers;
  std::vector<ValueId> inputs;  // excluding those that are also initializers
  std::vector<ValueId> outputs;
  GraphId parent = -1;  // the graph whose node has this one as an attribute; -1 for main graph and functions

  const Node& node(std::int32_t id) const { return nodes[static_cast<std::size_t>(id)]; }
  const Value& value(ValueId id) const { return values[static_cast<std::size_t>(id)]; }
  bool is_stored(ValueId id) const { return value(id).initializer >= 0; }
  const Tensor& initializer(std::int32_t id) const { return initializers[static_cast<std::size_t>(id)]; }
};

// A model-local function. Its body is a graph whose inputs and outputs are the formal parameters.
struct Function {
  std::string domain, name, overload;
  GraphId body = -1;
  std::vector<Attribute> defaults;  // attributes with default values
  std::map<std::string, std::int64_t, std::less<>> opsets;
};

// The domain as used in lookups of opsets and operators: "" for ai.onnx, however the file spells it.
std::string_view plain_domain(std::string_view domain);

struct Model {
  std::string path;
  std::string graph_name, producer, producer_version;
  std::int64_t ir_version = 0;
  std::map<std::string, std::int64_t, std::less<>> opsets;  // domain → version; "" is ai.onnx
  std::vector<Graph> graphs;                                // graphs[0] is the main graph
  std::vector<Function> functions;
  std::map<std::string, std::string> renamed_dims;  // dim params that are not identifiers → the symbols used for them
  std::uint64_t file_bytes = 0;

  const Graph& main() const { return graphs.front(); }
  const Graph& graph(GraphId id) const { return graphs[static_cast<std::size_t>(id)]; }
  // The imported version of a domain; if it is not imported, the newest for ai.onnx and 1 for others.
  std::int64_t opset(std::string_view domain) const;
  const Function* function(std::string_view domain, std::string_view name, std::string_view overload) const;
};

// The version that a table of imports states for a domain.
std::optional<std::int64_t> imported_opset(const std::map<std::string, std::int64_t, std::less<>>& opsets,
                                           std::string_view domain);

// The name to show for a node: its own, else its first output's.
const Name& display_name(const Graph& graph, const Node& node);

}  // namespace pagoda::inline core
#pragma GCC visibility pop
