// GraphProto and FunctionProto → Graph: names become indices, bodies become separate graphs, and values that a body
// takes from enclosing graphs become captures.

#include <iterator>

#include "graph/index.h"
#include "onnx/load.h"
#include "onnx/value_names.h"
#include "pagoda/base/cat.h"

namespace pagoda::inline core::wire {
namespace {

constexpr std::size_t kMostReserved = 1 << 20;  // names: a list of nodes without outputs is refused before it is long

constexpr std::string_view kExportAgain = "; the file is damaged, export it again";

// A ValueInfoProto.
struct StoredValue {
  std::string_view name;
  std::optional<StoredType> type;
};

StoredValue read_value_info(File& file, Range body, int depth) {
  StoredValue value;
  std::optional<Range> type;
  for_each_field(file, Message::ValueInfo, body, depth,
                 on(bytes_tag(1), [&](const Field& field) { value.name = name_in(file, field); }),
                 on(bytes_tag(2), [&](const Field& field) { take_once(type, field); }));
  if (type) value.type = read_type(file, *type, depth + 1);
  return value;
}

// The nodes of a graph or function, read again from the file each time: a list of them would take more than they do.
struct StoredNodes {
  Range span;  // from the first node to the last
  std::size_t count = 0;
  std::uint32_t tag = 0;  // of their fields

  void add(File& file, const Field& field) {
    file.count_node();
    if (count++ == 0) span.begin = field.whole.begin;
    span.end = field.whole.end;
    tag = field.tag();
  }
  // `depth` is the nesting of the graph or function.
  template <typename Read>
  void for_each(File& file, int depth, const Read& read) const {
    Reader reader(file, span, depth);
    while (const std::optional<Field> field = reader.next())
      if (field->tag() == tag) {
        read(field->payload);
        file.passed(field->whole.end);
      }
  }
};

// A GraphProto, or the body of a FunctionProto: its nodes are still in the file.
struct GraphParts {
  std::string_view name;
  std::vector<StoredValue> inputs, outputs, others;
  std::vector<Tensor> tensors, sparse;
  StoredNodes nodes;
};

GraphParts read_graph(Loader& loader, Range body, int depth) {
  GraphParts parts;
  File& file = loader.file;
  const auto value_info = [&](Entry entry, std::uint32_t number, std::vector<StoredValue>& values) {
    return on_each(file, entry, bytes_tag(number), [&file, depth, &values](const Field& field) {
      values.push_back(read_value_info(file, field.payload, depth + 1));
    });
  };
  for_each_field(
      file, Message::Graph, body, depth, [&](const Field& field) { return file.passed(field.whole.end), false; },
      on(bytes_tag(1), [&](const Field& field) { parts.nodes.add(file, field); }),
      on(bytes_tag(2), [&](const Field& field) { parts.name = name_in(file, field); }),
      on_each(file, Entry::Initializer, bytes_tag(5),
              [&](const Field& field) { parts.tensors.push_back(read_tensor(loader, field.payload, depth + 1)); }),
      value_info(Entry::Input, 11, parts.inputs), value_info(Entry::Output, 12, parts.outputs),
      value_info(Entry::ValueType, 13, parts.others),
      on_each(file, Entry::SparseInitializer, bytes_tag(15), [&](const Field& field) {
        parts.sparse.push_back(read_sparse_tensor(loader, field.payload, depth + 1));
      }));
  return parts;
}

class GraphBuilder {
 public:
  // A GraphProto, whose nodes may read values of `outer`; null for the main graph.
  static GraphId read(Loader& loader, GraphBuilder* outer, Range body, int depth) {
    GraphBuilder builder(loader, outer);
    return builder.build(read_graph(loader, body, depth), depth);
  }

  GraphBuilder(Loader& loader, GraphBuilder* outer) : loader_(loader), file_(loader.file), outer_(outer) {
    expect_few_graphs(loader.model.graphs.size());
    id_ = static_cast<GraphId>(loader.model.graphs.size());
    loader.model.graphs.emplace_back();
    graph_.parent = outer == nullptr ? -1 : outer->id_;
  }

  // Builds the nodes once all names are known.
  GraphId build(GraphParts parts, int depth) {
    graph_.name = parts.name;
    const auto typed = {&parts.inputs, &parts.others, &parts.outputs};
    if (id_ == 0)  // the main graph's sizes keep their names
      for (const auto* values : typed)
        for (const StoredValue& value : *values)
          if (value.type) loader_.dims.reserve(*value.type);
    const std::size_t outputs_expected = std::min(parts.nodes.count, kMostReserved);  // one of each node
    graph_.values.reserve(parts.tensors.size() + parts.sparse.size() + parts.inputs.size() + outputs_expected);
    names_.reserve(graph_.values.capacity());
    graph_.initializers = std::move(parts.tensors);
    std::move(parts.sparse.begin(), parts.sparse.end(), std::back_inserter(graph_.initializers));
    for (std::size_t i = 0; i < graph_.initializers.size(); ++i) {
      const Tensor& tensor = graph_.initializers[i];
      const ValueId id = define(tensor.name, "an input or initializer", tensor.name);
      value(id).declared = tensor.type;
      value(id).initializer = static_cast<std::int32_t>(i);
    }
    for (const StoredValue& input : parts.inputs) add_input(input.name);
    define_outputs(parts.nodes, depth);
    for (const auto* values : typed) declare(*values);
    graph_.nodes.reserve(parts.nodes.count);
    reads_.reserve(parts.nodes.count);
    parts.nodes.for_each(file_, depth, [&](Range body) { add_node(body, depth + 1); });
    for (const StoredValue& output : parts.outputs) {
      const ValueId id = find(output.name);
      if (id == kAbsent)
        throw Error(cat("output ", quoted_name(output.name), " of ", where(), " is produced by no node", kExportAgain));
      graph_.outputs.push_back(id);
    }
    sort_topologically(graph_, reads_);
    loader_.model.graphs[index(id_)] = std::move(graph_);
    return id_;
  }

 private:
  std::string where() const { return "graph " + quoted_name(graph_.name); }
  ValueId known(const NameKey& key) const { return names_.find(key, graph_.values); }
  ValueId known(std::string_view name) const { return known(NameKey(name)); }
  Value& value(ValueId id) { return graph_.values[index(id)]; }

  // `producer` is for messages; `shared` is the name where another part of the model has it.
  ValueId define(std::string_view name, std::string_view producer, const Name& shared = {}) {
    const NameKey key(name);
    if (known(key) != kAbsent)
      throw Error(cat("value ", quoted_name(name), " of ", where(), " is produced twice, the second time by ", producer,
                      ", expected one producer of each value", kExportAgain));
    return shared.empty() ? append(key) : append(key, shared);
  }

  ValueId append(const NameKey& key) { return append(key, loader_.names.add(key.name)); }
  ValueId append(const NameKey& key, Name name) {
    const auto id = static_cast<ValueId>(graph_.values.size());
    graph_.values.emplace_back().name = std::move(name);
    names_.add(key, id);
    return id;
  }

  void add_input(std::string_view name) {
    // Up to IR version 3 every initializer is listed as an input too; later ones may be, as defaults.
    if (const ValueId found = known(name); found != kAbsent && value(found).initializer >= 0) {
      value(found).is_default = true;
      return;
    }
    const ValueId id = define(name, "an input or initializer");
    value(id).is_input = true;
    graph_.inputs.push_back(id);
  }

  // Defines every value before the first node is built: files need not be sorted.
  void define_outputs(const StoredNodes& nodes, int depth) {
    outputs_.reserve(std::min(nodes.count, kMostReserved));
    nodes.for_each(file_, depth, [&](Range body) {
      bool is_idle = true;
      Reader reader(file_, body, depth + 1);
      while (const std::optional<Field> field = reader.next())
        if (field->tag() == bytes_tag(2) && field->payload.size() != 0) {
          outputs_.push_back(define_output(body, *field, depth + 1));
          is_idle = false;
        }
      if (is_idle) file_.count(Entry::IdleNode);
    });
  }

  ValueId define_output(Range node, const Field& output, int depth) {
    const std::string_view name = name_in(file_, output);
    if (const NameKey key(name); known(key) == kAbsent) return append(key);
    std::string_view node_name, op_type;
    Reader reader(file_, node, depth);
    while (const std::optional<Field> field = reader.next()) {
      if (field->tag() == bytes_tag(3)) node_name = name_in(file_, *field);
      if (field->tag() == bytes_tag(4)) op_type = name_in(file_, *field);
    }
    return define(name, "node " + quoted_name(node_name) + " (" + quoted_name(op_type) + ")");
  }

  void declare(const std::vector<StoredValue>& values) {
    for (const StoredValue& stored : values) {
      const ValueId id = known(stored.name);
      if (id != kAbsent && stored.type && value(id).initializer < 0)
        value(id).declared = loader_.dims.resolve(*stored.type, stored.name);
    }
  }

  // The value of that name in this graph or, as a capture, in an enclosing graph. Most nodes read what the previous
  // one wrote, and the weight after the last one read.
  ValueId find(std::string_view name) {
    for (const ValueId guess : {last_written_, next_weight_})
      if (index(guess) < graph_.values.size() && value(guess).name == name) {
        if (guess == next_weight_) ++next_weight_;
        return guess;
      }
    const ValueId found = find(NameKey(name));
    if (found != kAbsent && value(found).initializer >= 0) next_weight_ = found + 1;
    return found;
  }
  ValueId find(const NameKey& key) {
    if (const ValueId found = known(key); found != kAbsent || outer_ == nullptr) return found;
    const ValueId outer = outer_->find(key);
    if (outer == kAbsent) return kAbsent;
    outer_->captured_.push_back(outer);
    if (++loader_.captures > Loader::kMostCaptures)
      throw Error(cat("the bodies of ", outer_->where(), " use more than ", Loader::kMostCaptures,
                      " values of the graphs around them, expected at most that many"));
    const ValueId id = append(key, outer_->value(outer).name);
    value(id).outer = outer;
    return id;
  }

  void add_node(Range body, int depth) {
    Node& node = graph_.nodes.emplace_back();
    node.message_at = body.begin;
    RecordedScope scope;
    std::vector<std::string_view> inputs = std::move(input_names_);
    std::vector<Range> attributes = std::move(attributes_);
    inputs.clear();
    attributes.clear();
    const auto text = [&](std::uint32_t number, Name& name) {
      return on(bytes_tag(number), [this, &name](const Field& f) { name = loader_.names.shared(name_in(file_, f)); });
    };
    const auto output = [&](const Field& field) {
      node.outputs.push_back(field.payload.size() == 0 ? kAbsent : outputs_[next_output_++]);
    };
    const auto domain = [&](const Field& field) {
      node.domain = loader_.names.shared(plain_domain(name_in(file_, field)));
    };
    for_each_field(file_, Message::Node, body, depth,
                   on_each(file_, Entry::NodeInput, bytes_tag(1),
                           [&](const Field& field) { inputs.push_back(name_in(file_, field)); }),
                   on_each(file_, Entry::NodeOutput, bytes_tag(2), output),
                   on(bytes_tag(3), [&](const Field& field) { node.name = loader_.names.add(name_in(file_, field)); }),
                   text(4, node.op_type),
                   on_each(file_, Entry::Attribute, bytes_tag(5),
                           [&](const Field& field) { attributes.push_back(field.payload); }),
                   on(bytes_tag(7), domain), text(8, node.overload),  // since ONNX 1.16
                   // metadata, since ONNX 1.16
                   on(bytes_tag(9), [&](const Field& field) { scope.read(file_, field.payload, depth + 1); }));
    node.scope = loader_.names.shared(scope.of(node.name));
    captured_.clear();
    node.attributes.reserve(attributes.size());
    for (const Range attribute : attributes)
      node.attributes.push_back(build_attribute(loader_, build_body_, attribute, depth + 1));
    if (node.op_type.empty()) damaged(body, "a node without operator type", "one");
    for (const ValueId captured : captured_) reads_.add(captured);
    node.inputs.reserve(inputs.size());
    for (const std::string_view input : inputs) {
      const ValueId id = input.empty() ? kAbsent : find(input);
      if (id == kAbsent && !input.empty())
        throw Error(cat("input ", quoted_name(input), " of node ", quoted_name(node.name), " (",
                        quoted_name(node.op_type), ") in ", where(),
                        " is not an output of any node, nor an input or initializer", kExportAgain));
      node.inputs.push_back(id);
      if (id != kAbsent) reads_.add(id);
    }
    reads_.end_node();
    if (!node.outputs.empty()) last_written_ = node.outputs.front();
    input_names_ = std::move(inputs);
    attributes_ = std::move(attributes);
  }

  Loader& loader_;
  File& file_;
  GraphBuilder* outer_;
  const BuildBody build_body_ = [this](Range body, int depth) { return read(loader_, this, body, depth); };
  GraphId id_;
  Graph graph_;
  ValueNames names_;
  Reads reads_;
  std::vector<ValueId> outputs_;   // of all nodes, one after another
  std::size_t next_output_ = 0;    // of the node being added
  std::vector<ValueId> captured_;  // by the bodies of the node being added
  ValueId last_written_ = kAbsent, next_weight_ = 0;
  // Lists of the previous node, whose memory the next one reuses.
  std::vector<std::string_view> input_names_;
  std::vector<Range> attributes_;
};

}  // namespace

GraphId build_graph(Loader& loader, Range body, int depth) { return GraphBuilder::read(loader, nullptr, body, depth); }

void build_function(Loader& loader, Range body, int depth) {
  File& file = loader.file;
  Function function;
  GraphParts parts;
  std::vector<Range> defaults;
  const auto import = [&](const Field& field) {
    Opset opset = read_opset(file, field.payload, depth + 1);
    function.opsets[std::move(opset.domain)] = opset.version;
  };
  const auto names = [&](Entry entry, std::uint32_t number, std::vector<StoredValue>& values) {
    return on_each(file, entry, bytes_tag(number),
                   [&file, &values](const Field& field) { values.emplace_back().name = name_in(file, field); });
  };
  const auto value = [&](const Field& field) {
    parts.others.push_back(read_value_info(file, field.payload, depth + 1));
  };
  for_each_field(
      file, Message::Function, body, depth,
      on(bytes_tag(1), [&](const Field& field) { parts.name = name_in(file, field); }),
      names(Entry::Input, 4, parts.inputs), names(Entry::Output, 5, parts.outputs),
      on(bytes_tag(7), [&](const Field& field) { parts.nodes.add(file, field); }),
      on_each(file, Entry::FunctionOpset, bytes_tag(9), import),
      on(bytes_tag(10), [&](const Field& field) { function.domain = plain_domain(name_in(file, field)); }),
      on_each(file, Entry::Attribute, bytes_tag(11),  // since ONNX 1.13
              [&](const Field& field) { defaults.push_back(field.payload); }),
      on_each(file, Entry::ValueType, bytes_tag(12), value),                                      // since ONNX 1.15
      on(bytes_tag(13), [&](const Field& field) { function.overload = name_in(file, field); }));  // since ONNX 1.16
  function.name = parts.name;
  const auto build_body = [&](Range graph, int at) { return build_graph(loader, graph, at); };
  for (const Range attribute : defaults)
    function.defaults.push_back(build_attribute(loader, build_body, attribute, depth + 1));
  function.body = GraphBuilder(loader, nullptr).build(std::move(parts), depth);
  loader.model.functions.push_back(std::move(function));
}

}  // namespace pagoda::inline core::wire
