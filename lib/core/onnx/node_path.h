// Identifies a node by its enclosing graphs: a node of a loaded model and its message in a walk over the file get the
// same path, whatever the order of nodes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "pagoda/core/graph.h"

namespace pagoda::inline core::wire {

// The main graph's path is empty. Parts end in a byte that separates them.
inline void append_part(std::string& path, char kind, std::string_view name) { ((path += kind) += name) += '\0'; }

// The path of the nodes of function `name` in a domain.
inline std::string function_path(std::string_view domain, std::string_view name, std::string_view overload) {
  std::string path;
  append_part(path, 'd', plain_domain(domain));
  append_part(path, 'f', name);
  append_part(path, 'v', overload);
  return path;
}

// A node of the graph at `graph`: by its first output, which no other node of the graph has, else by its name. Nodes
// with neither share a path.
inline std::string node_path(std::string_view graph, std::string_view output, std::string_view name) {
  std::string path(graph);
  append_part(path, output.empty() ? 'n' : 'o', output.empty() ? name : output);
  return path;
}

inline std::string attribute_path(std::string_view node, std::string_view attribute) {
  std::string path(node);
  append_part(path, 'a', attribute);
  return path;
}

// The graph at index `place` of an attribute.
inline std::string body_path(std::string_view attribute, std::size_t place) {
  std::string path(attribute);
  append_part(path, 'g', std::to_string(place));
  return path;
}

}  // namespace pagoda::inline core::wire
