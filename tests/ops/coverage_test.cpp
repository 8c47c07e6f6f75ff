// Adding an operator is one row in its family and one in a test here: every rule of the registry occurs in a row of
// cases of this folder that states its types, and in one that states its work.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "ops/op_rule.h"

namespace pagoda::test {
namespace {

// The string literals of a source, those between braces together: "{"a", "b"}, {"c"}" is {a, b}, {c}.
std::vector<std::vector<std::string>> literal_rows(const std::string& source) {
  std::vector<std::vector<std::string>> rows(1);
  bool inside = false;
  for (std::size_t i = 0; i < source.size(); ++i) {
    const char c = source[i];
    if (inside && c == '\\') {
      rows.back().back() += source[++i];
    } else if (c == '"') {
      inside = !inside;
      if (inside) rows.back().emplace_back();
    } else if (inside) {
      rows.back().back() += c;
    } else if (c == '{' || c == '}') {
      if (!rows.back().empty()) rows.emplace_back();
    }
  }
  return rows;
}

// The operators that a graph as text applies, with their domain.
void add_operators(const std::string& graph, std::set<std::string>& names) {
  for (std::size_t at = graph.find("= "); at != std::string::npos; at = graph.find("= ", at + 1)) {
    const std::size_t end =
        graph.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._", at + 2);
    if (end != std::string::npos && graph[end] == '(') names.insert(graph.substr(at + 2, end - at - 2));
  }
}

}  // namespace

TEST_CASE("every rule has a row of types and a row of work in these tests") {
  std::set<std::string> with_types, with_work;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(PAGODA_SOURCE_DIR) + "/tests/ops")) {
    std::ifstream file(entry.path());
    const std::string source{std::istreambuf_iterator<char>(file), {}};
    for (const std::vector<std::string>& row : literal_rows(source)) {  // graph, types, cost, why
      if (row.size() < 3) continue;
      if (row[1].find(':') != std::string::npos && !row[1].starts_with("error")) add_operators(row[0], with_types);
      if (row[2].find('=') != std::string::npos) add_operators(row[0], with_work);
    }
  }
  CHECK(with_work.size() > 350);
  std::string missing;
  for (const ops::Family& family : ops::families()) {
    if (family.domain == "ai.onnx.training") continue;  // the rules of ai.onnx.preview.training under another name
    for (const OpRule& rule : family.rules) {
      const std::string name = (family.domain.empty() ? "" : std::string(family.domain) + ".") + std::string(rule.name);
      if (!with_types.contains(name)) missing += name + " (types) ";
      if (!with_work.contains(name)) missing += name + " (work) ";
    }
  }
  CHECK_MESSAGE(missing.empty(), "without a row: " << missing);
}

}  // namespace pagoda::test
