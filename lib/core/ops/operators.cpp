#include "pagoda/core/operators.h"

#include <algorithm>
#include <map>
#include <span>
#include <tuple>
#include <utility>

#include "ops/op_rule.h"
#include "pagoda/base/csv_reader.h"
#include "pagoda/base/embedded_file.h"

namespace pagoda::inline core {
namespace ops {
std::span<const base::EmbeddedFile> operator_files();  // data/ops.csv
}
namespace {

// Operators with subgraphs, which the walk handles itself.
constexpr std::pair<std::string_view, std::string_view> kStructures[] = {
    {"If",
     "the branch of a known condition; under a condition on sizes of inputs each branch times the formula of its "
     "truth; else the costlier one, and both are reported"},
    {"Loop", "the body times the trip count, a symbol where the data decide it"},
    {"Scan", "the body times the length of the sequence"},
    {"SequenceMap", "the body times the length of the sequence"},
};

struct Definition {
  std::string versions, types;
};

// By domain and name.
std::map<std::pair<std::string, std::string>, Definition> definitions() {
  const std::string_view text = ops::operator_files().front().text;
  base::CsvReader reader(text.substr(text.find('\n') + 1), "data/ops.csv");  // its first line is a comment
  std::map<std::pair<std::string, std::string>, Definition> result;
  std::vector<std::string> cells;
  while (reader.next(cells)) result[{cells[0], cells[1]}] = {cells[2], cells[5]};
  return result;
}

}  // namespace

std::vector<OperatorInfo> operators() {
  const auto defined = definitions();
  std::vector<OperatorInfo> result;
  const auto add = [&](std::string_view domain, std::string_view name, bool folds, std::string_view work) {
    const std::string spelled(domain.empty() ? "ai.onnx" : domain);
    const auto found = defined.find({spelled, std::string(name)});
    const Definition definition = found == defined.end() ? Definition() : found->second;
    result.push_back({spelled, std::string(name), definition.versions, folds, std::string(work), definition.types});
  };
  for (const ops::Family& family : ops::families())
    for (const OpRule& rule : family.rules) add(family.domain, rule.name, rule.fold != nullptr, rule.work);
  for (const auto& [name, work] : kStructures) add("", name, false, work);
  std::sort(result.begin(), result.end(), [](const OperatorInfo& a, const OperatorInfo& b) {
    return std::tie(a.domain, a.name) < std::tie(b.domain, b.name);
  });
  return result;
}

OpFacts operator_facts(std::string_view domain, std::string_view name) {
  const OpRule* rule = ops::find_rule(plain_domain(domain), name);
  return rule == nullptr ? OpFacts{} : rule->facts;
}

}  // namespace pagoda::inline core
