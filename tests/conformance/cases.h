// The stored cases: small models with the types that their outputs truly had. README.md says where they come from and
// what one line holds.
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
  std::map<std::string, TensorType> expected;  // outputs as they were
  std::map<std::string, TensorType> open;      // the same with symbols where only the data decide
  std::string graph;
};

// Of the file `path`; without one of PART.golden in this folder.
std::vector<Golden> goldens(const std::string& part, const std::string& path = "");

// The lines of a file in this folder, or with a slash of any, but for comments, cut at `separator`.
std::vector<std::vector<std::string>> rows(const std::string& path, char separator);

// Gives the graph's initializers called `names` to its inputs instead.
void feed(Graph& graph, const std::set<std::string>& names);

// Replaces every size of every tensor fed by a symbol, but for ones: a size of one may be broadcast, a symbol may not.
// Returns what the symbols stand for.
Bindings free_all(Graph& graph);

}  // namespace pagoda::test
