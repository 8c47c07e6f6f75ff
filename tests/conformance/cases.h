// The stored cases: small models with the true types of their outputs. README.md says where they
// come from and describes the line format.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "pagoda/core/graph.h"

namespace pagoda::test {

struct Golden {
  std::string name;
  std::set<std::string> arguments;             // inputs that the line gives as initializers
  std::map<std::string, TensorType> expected;  // the outputs' true types
  std::map<std::string, TensorType> open;      // the same, with symbols for sizes that only the data decide
  std::string graph;
};

// The goldens of the file `path`; without one, those of PART.golden in this folder.
std::vector<Golden> goldens(const std::string& part, const std::string& path = "");

// The lines of a file, without comments, cut at `separator`. A path without a slash is a file of this folder.
std::vector<std::vector<std::string>> rows(const std::string& path, char separator);

// Turns the graph's initializers called `names` into inputs.
void feed(Graph& graph, const std::set<std::string>& names);

// Replaces each size of each fed tensor by a symbol, except ones: a size of one may be broadcast, a symbol may not.
// Returns the sizes that the symbols stand for.
Bindings free_all(Graph& graph);

}  // namespace pagoda::test
