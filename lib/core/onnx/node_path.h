// Identifies a node by its enclosing graphs: a node of a loaded model and its message in a walk over the file get the
// same path, whatever the order of nodes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "pagoda/core/graph.h"

namespace pagoda::inline core::wire {

// The main graph's path is empty. Parts end in a byte that separates them.
inline std::string extended(std::string path, char kind, std::string_view name) {
  return std::move(((path += kind) += name) += '\0');
}

// The path of the nodes of function `name` in a domain.
inline std::string function_path(std::string_view domain, std::string_view name, std::string_view overload) {
  return extended(extended(extended("", 'd', plain_domain(domain)), 'f', name), 'v', overload);
}

// A node of the graph at `graph`: by its first output, which no other node of the graph has, else by its name. Nodes
// with neither share a path.
inline std::string node_path(const std::string& graph, std::string_view output, std::string_view name) {
  return output.empty() ? extended(graph, 'n', name) : extended(graph, 'o', output);
}

inline std::string attribute_path(const std::string& node, std::string_view attribute) {
  return extended(node, 'a', attribute);
}

// The graph at index `place` of an attribute.
inline std::string body_path(const std::string& attribute, std::size_t place) {
  return extended(attribute, 'g', std::to_string(place));
}

}  // namespace pagoda::inline core::wire
