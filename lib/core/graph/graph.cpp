// Look-ups over the plain data of a model.
#include "pagoda/core/graph.h"

#include "graph/index.h"
#include "pagoda/base/enum_names.h"
#include "pagoda/core/diagnostic.h"

namespace pagoda::inline core {

const Attribute* Node::attribute(std::string_view attribute_name) const {
  for (const Attribute& attribute : attributes)
    if (attribute.name == attribute_name) return &attribute;
  return nullptr;
}

namespace {

template <typename T>
const T* typed(const Attribute* attribute) {
  return attribute == nullptr ? nullptr : std::get_if<T>(&attribute->value);
}

}  // namespace

std::int64_t Node::integer(std::string_view attribute_name, std::int64_t otherwise) const {
  const auto* value = typed<std::int64_t>(attribute(attribute_name));
  return value == nullptr ? otherwise : *value;
}

const std::vector<std::int64_t>* Node::integers(std::string_view attribute_name) const {
  return typed<std::vector<std::int64_t>>(attribute(attribute_name));
}

std::string_view Node::text(std::string_view attribute_name) const {
  const auto* value = typed<std::string>(attribute(attribute_name));
  return value == nullptr ? std::string_view() : std::string_view(*value);
}

std::vector<GraphId> Node::bodies() const {
  std::vector<GraphId> bodies;
  for (const Attribute& attribute : attributes) {
    if (const GraphId* body = std::get_if<GraphId>(&attribute.value)) bodies.push_back(*body);
    if (const auto* list = std::get_if<std::vector<GraphId>>(&attribute.value))
      bodies.insert(bodies.end(), list->begin(), list->end());
  }
  return bodies;
}

const Tensor* Node::constant() const {
  if (op_type != "Constant") return nullptr;
  for (const Attribute& attribute : attributes)
    if (const auto* tensor = std::get_if<Tensor>(&attribute.value)) return tensor;
  return nullptr;
}

std::vector<std::int32_t> producers_of(const Graph& graph) {
  std::vector<std::int32_t> result(graph.values.size(), -1);
  for (std::size_t node = 0; node < graph.nodes.size(); ++node)
    for (const ValueId output : graph.nodes[node].outputs)
      if (output != kAbsent) result[index(output)] = static_cast<std::int32_t>(node);
  return result;
}

std::string_view plain_domain(std::string_view domain) { return domain == "ai.onnx" ? std::string_view() : domain; }

std::optional<std::int64_t> imported_opset(const std::map<std::string, std::int64_t, std::less<>>& opsets,
                                           std::string_view domain) {
  for (const auto& [name, version] : opsets)
    if (plain_domain(name) == plain_domain(domain)) return version;
  return std::nullopt;
}

std::int64_t Model::opset(std::string_view domain) const {
  constexpr std::int64_t kNewest = 28;  // of ai.onnx, for its nodes in a file that imports only other domains
  return imported_opset(opsets, domain).value_or(plain_domain(domain).empty() ? kNewest : 1);
}

const Function* Model::function(std::string_view domain, std::string_view name, std::string_view overload) const {
  for (const Function& function : functions)
    if (function.name == name && function.domain == domain && function.overload == overload) return &function;
  return nullptr;
}

const Name& display_name(const Graph& graph, const Node& node) {
  if (node.name.empty())
    for (const ValueId output : node.outputs)
      if (output != kAbsent) return graph.value(output).name;
  return node.name;
}

std::string_view to_string(Severity severity) {
  constexpr base::EnumNames<Severity::Error> kNames("info", "warning", "error");
  return kNames[severity];
}

}  // namespace pagoda::inline core
