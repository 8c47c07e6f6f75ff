#include "conformance/cases.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>

#include "support/files.h"
#include "support/text_graph.h"

namespace pagoda::test {
namespace {

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    parts.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

// "y:f32[2,3]; z:i64[]"
std::map<std::string, TensorType> named_types(const std::string& text) {
  std::map<std::string, TensorType> result;
  for (std::string entry : split(text, ';')) {
    entry.erase(0, entry.find_first_not_of(' '));
    const std::size_t colon = entry.rfind(':');
    if (colon != std::string::npos) result[entry.substr(0, colon)] = type(entry.substr(colon + 1), "open");
  }
  return result;
}

}  // namespace

std::vector<std::vector<std::string>> rows(const std::string& path, char separator) {
  std::ifstream file(path.find('/') == std::string::npos ? source_path("tests/conformance/" + path) : path);
  REQUIRE_MESSAGE(file.good(), path);
  std::vector<std::vector<std::string>> result;
  for (std::string line; std::getline(file, line);)
    if (!line.empty() && line.front() != '#') result.push_back(split(line, separator));
  return result;
}

std::vector<Golden> goldens(const std::string& part, const std::string& path) {
  std::vector<Golden> result;
  for (const std::vector<std::string>& row : rows(path.empty() ? part + ".golden" : path, '\t')) {
    REQUIRE(row.size() == 5);
    Golden golden{row[0], {}, named_types(row[2]), named_types(row[3]), row[4]};
    for (const std::string& name : split(row[1], ','))
      if (!name.empty()) golden.arguments.insert(name);
    result.push_back(std::move(golden));
  }
  return result;
}

void feed(Graph& graph, const std::set<std::string>& names) {
  for (std::size_t id = 0; id < graph.values.size(); ++id) {
    Value& value = graph.values[id];
    if (value.initializer < 0 || !names.contains(value.name)) continue;
    value.initializer = -1;  // the tensor stays, unused
    value.is_input = true;
    graph.inputs.push_back(static_cast<ValueId>(id));
  }
}

Bindings free_all(Graph& graph) {
  Bindings bindings;
  for (const ValueId input : graph.inputs) {
    TensorType& type = graph.values[static_cast<std::size_t>(input)].declared;
    if (!type.shape) continue;
    for (Dim& dim : *type.shape) {
      if (!dim.value() || dim == Dim(1)) continue;
      const std::string symbol = "size" + std::to_string(bindings.size());
      bindings[symbol] = static_cast<std::int64_t>(*dim.value());
      dim = Dim::symbol(symbol);
    }
  }
  return bindings;
}

}  // namespace pagoda::test
