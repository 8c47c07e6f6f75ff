// Look-ups over the plain data of a model.
#include "pagoda/core/diagnostic.h"
#include "pagoda/core/graph.h"

#include "pagoda/base/error.h"

namespace pagoda {

const Attribute* Node::attribute(std::string_view attribute_name) const {
  for (const Attribute& attribute : attributes)
    if (attribute.name == attribute_name) return &attribute;
  return nullptr;
}

const Function* Model::function(std::string_view domain, std::string_view name, std::string_view overload) const {
  for (const Function& function : functions)
    if (function.name == name && function.domain == domain && function.overload == overload) return &function;
  return nullptr;
}

const std::string& display_name(const Graph& graph, const Node& node) {
  if (node.name.empty())
    for (const ValueId output : node.outputs)
      if (output != kAbsent) return graph.values[static_cast<std::size_t>(output)].name;
  return node.name;
}

std::string_view to_string(Severity severity) {
  switch (severity) {
    case Severity::Info:
      return "info";
    case Severity::Warning:
      return "warning";
    case Severity::Error:
      return "error";
  }
  return "error";
}

}  // namespace pagoda
