// Pagoda's inference against the results of others: thousands of small models with the true types of their outputs.
// README.md says where the goldens come from and describes the line format.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

#include "conformance/cases.h"
#include "onnx/oracle.h"
#include "onnx/sample_models.h"
#include "ops/op_rule.h"
#include "pagoda/core/analyze.h"
#include "pagoda/core/model.h"
#include "pagoda/onnx/to_model.h"
#include "support/files.h"
#include "support/onnx_file.h"
#include "support/text_graph.h"

using namespace pagoda;

namespace {

using test::feed;
using test::free_all;
using test::Golden;
using test::goldens;
using test::rows;

enum class Sizes { Exact, Partial };  // Partial: sizes may be open, but none may be wrong

// What is wrong with `got`; empty if nothing is.
std::string difference(const TensorType& got, const TensorType& want, const TensorType& open, Sizes sizes) {
  const std::string both = test::text(got) + " instead of " + test::text(want);
  if (sizes == Sizes::Partial && got.element == ElementType::Undefined && !got.shape) return "";
  if (got.element != want.element || got.container != want.container || got.key != want.key) return both;
  if (!want.shape) return "";
  if (!got.shape) return sizes == Sizes::Partial || !open.shape ? "" : both;
  if (got.shape->size() != want.shape->size()) return both;
  for (std::size_t i = 0; i < want.shape->size(); ++i) {
    const auto size = (*got.shape)[i].value();
    const auto expected = (*want.shape)[i].value();
    const bool may_be_open = sizes == Sizes::Partial || !expected || !(*open.shape)[i].value();
    if (size ? size != expected : !may_be_open) return both;
  }
  return "";
}

// Operators whose work is not modelled even when all arguments are known, and why.
constexpr std::pair<std::string_view, std::string_view> kUnmodelled[] = {
    {"BifurcationDetector", "how many tokens are compared the data decide"},
    {"Gradient", "stands for the derivative of the graph before it"},
    {"ImageDecoder", "the format and the picture decide"},
    {"SVMClassifier", "probabilities of the classes are iterated until they converge"},
};

bool is_known_unmodelled(std::string_view op_type) {
  return std::ranges::any_of(kUnmodelled, [&](const auto& entry) { return entry.first == op_type; });
}

const Node& node_of(const Model& model, const NodeReport& row) {
  return model.graphs[static_cast<std::size_t>(row.graph)].nodes[static_cast<std::size_t>(row.node)];
}

// Rows that add nothing to the totals, or are left out of them, without being reported.
std::string silent_zero(const Model& model, const Analysis& analysis) {
  std::int64_t unmodelled = 0;
  for (const NodeReport& row : analysis.nodes) {
    const Node& node = node_of(model, row);
    if (row.cost.mark == Mark::Unmodelled) {
      ++unmodelled;
      if (row.problem.empty()) return node.op_type + " is unmodelled without a reason";
    }
    if (row.cost.mark != Mark::Compute) continue;
    const bool is_free = row.cost.bytes().value() == 0 && flops(row.cost).value() == 0;
    const bool makes_something = std::ranges::any_of(row.outputs, [](const OutputInfo& output) {
      return output.type.shape && element_count(*output.type.shape).value().value_or(0) != 0;
    });
    if (is_free && makes_something) return node.op_type + " computes for nothing";
  }
  if (unmodelled > analysis.totals.unmodelled_nodes) return "unmodelled nodes are missing from the totals";
  return "";
}

// What is wrong with one analysis of the model, one line per fault.
std::string faults(const Golden& golden, const Model& model, const Analysis& analysis, Sizes sizes) {
  std::string result = silent_zero(model, analysis);
  if (!result.empty()) result += '\n';
  for (const InputInfo& output : analysis.outputs) {
    const auto want = golden.expected.find(output.name);
    if (want == golden.expected.end()) continue;
    const auto open = golden.open.find(output.name);
    const std::string wrong =
        difference(output.type, want->second, open == golden.open.end() ? want->second : open->second, sizes);
    if (!wrong.empty()) result += output.name + ": " + wrong + '\n';
  }
  if (sizes == Sizes::Exact)
    for (const NodeReport& row : analysis.nodes)
      if (!row.problem.empty() && !is_known_unmodelled(node_of(model, row).op_type))
        result += "unmodelled: " + row.problem + '\n';
  return result;
}

// All three readings of one golden: as its line says, with every argument fed, and with every fed size a symbol.
std::string faults(const Golden& golden) {
  std::string result;
  const auto add = [&](std::string_view reading, const std::string& wrong) {
    if (!wrong.empty()) result += std::string(reading) + ": " + wrong;
  };
  try {
    const Model model = test::graph(golden.graph);
    add("as initializers", faults(golden, model, analyze(model), Sizes::Exact));
    Model fed = model;
    feed(fed.graphs.front(), golden.arguments);
    if (!golden.arguments.empty()) add("as inputs", faults(golden, fed, analyze(fed), Sizes::Partial));
    for (Model free : {model, fed}) {
      const Bindings bindings = free_all(free.graphs.front());
      add("bound afterwards", faults(golden, free, bind_dims(analyze(free), bindings), Sizes::Partial));
    }
  } catch (const std::exception& error) {
    result += std::string("aborts: ") + error.what() + '\n';
  }
  return result;
}

// The part's cases; if `path` is given, those of that file, with the part's exceptions by operator.
void check_part(const std::string& part, const std::string& path = "") {
  std::map<std::string, std::string> exceptions;
  for (const std::vector<std::string>& row : rows("exceptions.txt", '\t')) {
    REQUIRE(row.size() == 3);
    if (row[0] == part) exceptions[row[1]] = row[2];
  }
  const std::vector<Golden> cases = goldens(part, path);
  std::size_t agree = 0;
  for (const Golden& golden : cases) {
    const std::string wrong = faults(golden);
    const bool is_exception = exceptions.contains(golden.name);
    agree += wrong.empty();
    if (is_exception == !wrong.empty()) continue;
    FAIL_CHECK(golden.name << "\n  " << golden.graph.substr(0, 1500) << "\n"
                           << (is_exception ? "is listed in exceptions.txt, but agrees" : wrong));
  }
  MESSAGE(part << ": " << agree << " of " << cases.size() << " cases agree, " << exceptions.size() << " exceptions");
}

}  // namespace

TEST_CASE("every operator that ONNX and ONNX Runtime define has a rule") {
  // Structures are handled by the driver, which walks the graphs inside them.
  const std::set<std::string> structures = {"If", "Loop", "Scan", "SequenceMap"};
  std::string missing;
  const std::vector<std::vector<std::string>> listed = rows(test::source_path("data/ops.csv"), ',');
  for (std::size_t i = 1; i < listed.size(); ++i) {
    REQUIRE(listed[i].size() >= 6);  // the last, types, has commas
    const std::string domain = listed[i][0] == "ai.onnx" ? "" : listed[i][0];
    if (domain.empty() && structures.contains(listed[i][1])) continue;
    if (ops::find_rule(domain, listed[i][1]) == nullptr) missing += listed[i][0] + '.' + listed[i][1] + ' ';
  }
  CHECK(listed.size() > 380);
  CHECK_MESSAGE(missing.empty(), "without a rule: " << missing);
}

TEST_CASE("the backend cases of ONNX have the types they are stored with") { check_part("backend"); }

TEST_CASE("single-op models of ai.onnx have the types that ONNX Runtime computes") { check_part("onnx"); }

TEST_CASE("models of com.microsoft and ai.onnx.ml have the types that ONNX Runtime computes") { check_part("contrib"); }

// Cases drawn by random_cases.py, in the file that PAGODA_CONFORMANCE names; without it, one of the stored tables.
TEST_CASE("cases that were drawn at random have the types that ONNX Runtime computes") {
  const char* path = std::getenv("PAGODA_CONFORMANCE");
  check_part("drawn", path == nullptr ? "" : path);
}

// Graphs drawn by random_graphs.py, in the file that PAGODA_CONFORMANCE_GRAPHS names; without it, the stored ones.
TEST_CASE("graphs of several operators have the types that ONNX Runtime computes") {
  const char* path = std::getenv("PAGODA_CONFORMANCE_GRAPHS");
  check_part("graphs", path == nullptr ? "" : path);
}

TEST_CASE("both readers of ONNX files read the same model from every case") {
  std::size_t files = 0, unwritable = 0;
  for (const char* part : {"backend", "onnx", "contrib", "graphs"})
    for (const Golden& golden : goldens(part)) {
      CAPTURE(golden.name);
      std::string bytes;
      try {
        bytes = test::onnx_bytes(test::graph(golden.graph));
      } catch (const std::invalid_argument&) {
        ++unwritable;
        continue;
      }
      const Model model = parse_model(test::as_bytes(bytes));
      onnx::ModelProto proto;
      REQUIRE(proto.ParseFromString(bytes));
      CHECK(test::disagreement(model, proto) == "");
      CHECK(test::describe(to_model(proto)) == test::describe(model));
      ++files;
    }
  // Text graphs support a few types and values that the file writer does not.
  CHECK(files > 6000);
  MESSAGE(files << " cases read twice, " << unwritable << " that cannot be written left out");
}
