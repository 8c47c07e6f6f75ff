// GraphProto and FunctionProto → Graph: names become indices, bodies become graphs of their own, and what a body
// takes from around it becomes a capture.
#include <unordered_map>

#include "onnx/load.h"
#include "onnx/wire.h"

namespace pagoda::inline core::wire {
namespace {

// Fields newer than the installed ONNX.
constexpr int kNodeOverload = 8, kFunctionAttribute = 11, kFunctionValueInfo = 12, kFunctionOverload = 13;

constexpr std::string_view kExportAgain = "; the file is damaged, export it again";

class GraphBuilder;
Attribute build_attribute(Loader& loader, GraphBuilder* outer, const ::onnx::AttributeProto& proto);

class GraphBuilder {
 public:
  GraphBuilder(Loader& loader, GraphBuilder* outer) : loader_(loader), outer_(outer) {
    id_ = static_cast<GraphId>(loader.model.graphs.size());
    loader.model.graphs.emplace_back();
    graph_.parent = outer == nullptr ? -1 : outer->id_;
  }

  GraphId build(const ::onnx::GraphProto& proto) {
    graph_.name = proto.name();
    add_initializers(proto);
    for (const ::onnx::ValueInfoProto& input : proto.input()) add_input(input.name());
    define_outputs(proto.node());
    declare(proto.input());
    declare(proto.value_info());
    declare(proto.output());
    add_nodes(proto.node());
    for (const ::onnx::ValueInfoProto& output : proto.output()) add_output(output.name());
    return finish();
  }

  GraphId build(const ::onnx::FunctionProto& proto, const std::vector<::onnx::ValueInfoProto>& value_info) {
    graph_.name = proto.name();
    for (const std::string& input : proto.input()) add_input(input);
    define_outputs(proto.node());
    declare(value_info);
    add_nodes(proto.node());
    for (const std::string& output : proto.output()) add_output(output);
    return finish();
  }

 private:
  std::string where() const { return "graph " + quoted(graph_.name); }

  // `node`: its producer; null for inputs and initializers.
  ValueId define(std::string_view name, const ::onnx::NodeProto* node) {
    const auto [at, inserted] = names_.try_emplace(name, static_cast<ValueId>(graph_.values.size()));
    if (!inserted)
      throw Error("value " + quoted(name) + " of " + where() + " is produced twice, the second time by " +
                  (node == nullptr ? "an input or initializer"
                                   : "node " + quoted(node->name()) + " (" + quoted(node->op_type()) + ")") +
                  ", expected one producer of each value" + std::string(kExportAgain));
    graph_.values.emplace_back().name = name;
    return at->second;
  }

  void add_initializer(std::string_view name, Tensor tensor) {
    const ValueId id = define(name, nullptr);
    Value& value = graph_.values[static_cast<std::size_t>(id)];
    value.declared = tensor.type;
    value.initializer = static_cast<std::int32_t>(graph_.initializers.size());
    graph_.initializers.push_back(std::move(tensor));
  }

  void add_initializers(const ::onnx::GraphProto& proto) {
    for (const ::onnx::TensorProto& tensor : proto.initializer())
      add_initializer(tensor.name(), loader_.tensors.read(tensor));
    for (const ::onnx::SparseTensorProto& tensor : proto.sparse_initializer())
      add_initializer(tensor.values().name(), loader_.tensors.read(tensor));
  }

  void add_input(std::string_view name) {
    // Up to IR version 3 every initializer is listed as an input too; later ones may be, as defaults.
    const auto found = names_.find(name);
    const bool is_initializer =
        found != names_.end() && graph_.values[static_cast<std::size_t>(found->second)].initializer >= 0;
    if (is_initializer) return;
    const ValueId id = define(name, nullptr);
    graph_.values[static_cast<std::size_t>(id)].is_input = true;
    graph_.inputs.push_back(id);
  }

  template <typename Nodes>
  void define_outputs(const Nodes& nodes) {
    for (const ::onnx::NodeProto& node : nodes)
      for (const std::string& output : node.output())
        if (!output.empty()) define(output, &node);
  }

  template <typename Values>
  void declare(const Values& values) {
    for (const ::onnx::ValueInfoProto& info : values) {
      const auto found = names_.find(info.name());
      if (found == names_.end() || !info.has_type()) continue;
      Value& value = graph_.values[static_cast<std::size_t>(found->second)];
      if (value.initializer < 0) value.declared = loader_.dims.read(info.type(), info.name());
    }
  }

  // The value of that name here or, captured, in a graph around this one.
  ValueId find(std::string_view name) {
    if (const auto found = names_.find(name); found != names_.end()) return found->second;
    if (outer_ == nullptr) return kAbsent;
    const ValueId outer = outer_->find(name);
    if (outer == kAbsent) return kAbsent;
    outer_->captured_.push_back(outer);
    if (++loader_.captures > Loader::kMostCaptures)
      throw Error("the bodies of " + outer_->where() + " use more than " + std::to_string(Loader::kMostCaptures) +
                  " values of the graphs around them, expected at most that many");
    const auto id = static_cast<ValueId>(graph_.values.size());
    Value& value = graph_.values.emplace_back();
    value.name = name;
    value.outer = outer;
    names_.emplace(name, id);
    return id;
  }

  template <typename Nodes>
  void add_nodes(const Nodes& nodes) {
    graph_.nodes.reserve(static_cast<std::size_t>(nodes.size()));
    reads_.reserve(static_cast<std::size_t>(nodes.size()));
    for (const ::onnx::NodeProto& node : nodes) add_node(node);
  }

  void add_node(const ::onnx::NodeProto& proto) {
    Node node;
    node.name = proto.name();
    node.op_type = proto.op_type();
    node.domain = plain_domain(proto.domain());
    for_each_unknown(proto, kNodeOverload, [&](const std::string& overload) { node.overload = overload; });
    node.scope = module_scope(proto);
    captured_.clear();
    for (const ::onnx::AttributeProto& stored : proto.attribute())
      node.attributes.push_back(build_attribute(loader_, this, stored));
    std::vector<ValueId>& reads = reads_.emplace_back(std::move(captured_));
    captured_.clear();
    for (const std::string& input : proto.input()) {
      const ValueId id = input.empty() ? kAbsent : find(input);
      if (id == kAbsent && !input.empty())
        throw Error("input " + quoted(input) + " of node " + quoted(node.name) + " (" + quoted(node.op_type) + ") in " +
                    where() + " is not an output of any node, nor an input or initializer" + std::string(kExportAgain));
      node.inputs.push_back(id);
      if (id != kAbsent) reads.push_back(id);
    }
    for (const std::string& output : proto.output())
      node.outputs.push_back(output.empty() ? kAbsent : names_.at(output));
    graph_.nodes.push_back(std::move(node));
  }

  void add_output(std::string_view name) {
    const ValueId id = find(name);
    if (id == kAbsent)
      throw Error("output " + quoted(name) + " of " + where() + " is produced by no node" + std::string(kExportAgain));
    graph_.outputs.push_back(id);
  }

  GraphId finish() {
    sort_topologically(graph_, reads_);
    loader_.model.graphs[static_cast<std::size_t>(id_)] = std::move(graph_);
    return id_;
  }

  Loader& loader_;
  GraphBuilder* outer_;
  GraphId id_;
  Graph graph_;
  std::unordered_map<std::string_view, ValueId> names_;  // views into the parsed model
  std::vector<std::vector<ValueId>> reads_;              // by node
  std::vector<ValueId> captured_;                        // by the bodies of the node being added
};

// The type that the attribute states or, where it states none (as the first versions of ONNX did not have to), the
// one that its content shows.
int type_of(const ::onnx::AttributeProto& proto) {
  using Proto = ::onnx::AttributeProto;
  if (proto.type() != Proto::UNDEFINED) return proto.type();
  if (proto.has_f()) return Proto::FLOAT;
  if (proto.has_i()) return Proto::INT;
  if (proto.has_s()) return Proto::STRING;
  if (proto.has_t()) return Proto::TENSOR;
  if (proto.has_g()) return Proto::GRAPH;
  if (proto.has_tp()) return Proto::TYPE_PROTO;
  if (proto.has_sparse_tensor()) return Proto::SPARSE_TENSOR;
  if (proto.floats_size() != 0) return Proto::FLOATS;
  if (proto.ints_size() != 0) return Proto::INTS;
  if (proto.strings_size() != 0) return Proto::STRINGS;
  if (proto.graphs_size() != 0) return Proto::GRAPHS;
  return Proto::UNDEFINED;
}

AttributeValue build_value(Loader& loader, GraphBuilder* outer, const ::onnx::AttributeProto& proto) {
  using Proto = ::onnx::AttributeProto;
  switch (type_of(proto)) {
    case Proto::FLOAT:
      return static_cast<double>(proto.f());
    case Proto::INT:
      return static_cast<std::int64_t>(proto.i());
    case Proto::STRING:
      return proto.s();
    case Proto::TENSOR:
      return loader.tensors.read(proto.t());
    case Proto::SPARSE_TENSOR:
      return loader.tensors.read(proto.sparse_tensor());
    case Proto::GRAPH:
      return GraphBuilder(loader, outer).build(proto.g());
    case Proto::FLOATS:
      return std::vector<double>(proto.floats().begin(), proto.floats().end());
    case Proto::INTS:
      return std::vector<std::int64_t>(proto.ints().begin(), proto.ints().end());
    case Proto::STRINGS:
      return std::vector<std::string>(proto.strings().begin(), proto.strings().end());
    case Proto::TYPE_PROTO:
      return loader.dims.read(proto.tp(), proto.name());
    case Proto::GRAPHS: {
      std::vector<GraphId> graphs;
      for (const ::onnx::GraphProto& graph : proto.graphs()) graphs.push_back(GraphBuilder(loader, outer).build(graph));
      return graphs;
    }
    default:
      return std::monostate{};  // lists of tensors and types, which no operator has, and newer types
  }
}

Attribute build_attribute(Loader& loader, GraphBuilder* outer, const ::onnx::AttributeProto& proto) {
  Attribute attribute;
  attribute.name = proto.name();
  attribute.reference = proto.ref_attr_name();
  if (attribute.reference.empty()) attribute.value = build_value(loader, outer, proto);
  return attribute;
}

}  // namespace

GraphId build_main_graph(Loader& loader, const ::onnx::GraphProto& proto) {
  for (const auto* values : {&proto.input(), &proto.value_info(), &proto.output()})
    for (const ::onnx::ValueInfoProto& value : *values) loader.dims.reserve(value.type());
  return GraphBuilder(loader, nullptr).build(proto);
}

void build_function(Loader& loader, const ::onnx::FunctionProto& proto) {
  Function function;
  function.domain = plain_domain(proto.domain());
  function.name = proto.name();
  for_each_unknown(proto, kFunctionOverload, [&](const std::string& overload) { function.overload = overload; });
  for (const ::onnx::OperatorSetIdProto& opset : proto.opset_import())
    function.opsets[plain_domain(opset.domain())] = opset.version();
  for_each_unknown(proto, kFunctionAttribute, [&](const std::string& bytes) {
    ::onnx::AttributeProto attribute;
    if (parse(attribute, bytes)) function.defaults.push_back(build_attribute(loader, nullptr, attribute));
  });
  std::vector<::onnx::ValueInfoProto> value_info;
  for_each_unknown(proto, kFunctionValueInfo, [&](const std::string& bytes) {
    ::onnx::ValueInfoProto info;
    if (parse(info, bytes)) value_info.push_back(std::move(info));
  });
  function.body = GraphBuilder(loader, nullptr).build(proto, value_info);
  loader.model.functions.push_back(std::move(function));
}

}  // namespace pagoda::inline core::wire
