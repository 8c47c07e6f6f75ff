// What others computed against what Pagoda infers: thousands of small models with the types their outputs truly had.
// README.md tells where the goldens come from and what one line holds.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

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

const std::string kFolder = test::source_path("tests/conformance/");

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    parts.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

// The lines of a file but for comments, cut at `separator`.
std::vector<std::vector<std::string>> rows(const std::string& path, char separator) {
  std::ifstream file(path);
  REQUIRE_MESSAGE(file.good(), path);
  std::vector<std::vector<std::string>> result;
  for (std::string line; std::getline(file, line);)
    if (!line.empty() && line.front() != '#') result.push_back(split(line, separator));
  return result;
}

struct Golden {
  std::string name;
  std::set<std::string> arguments;             // inputs that the line gives as initializers
  std::map<std::string, TensorType> expected;  // outputs as they were
  std::map<std::string, TensorType> open;      // the same with symbols where only the data decide
  std::string graph;
};

// "y:f32[2,3]; z:i64[]"
std::map<std::string, TensorType> named_types(const std::string& text) {
  std::map<std::string, TensorType> result;
  for (std::string entry : split(text, ';')) {
    entry.erase(0, entry.find_first_not_of(' '));
    const std::size_t colon = entry.rfind(':');
    if (colon != std::string::npos) result[entry.substr(0, colon)] = test::type(entry.substr(colon + 1), "open");
  }
  return result;
}

std::vector<Golden> goldens(const std::string& part, const std::string& path = "") {
  std::vector<Golden> result;
  for (const std::vector<std::string>& row : rows(path.empty() ? kFolder + part + ".golden" : path, '\t')) {
    REQUIRE(row.size() == 5);
    Golden golden{row[0], {}, named_types(row[2]), named_types(row[3]), row[4]};
    for (const std::string& name : split(row[1], ','))
      if (!name.empty()) golden.arguments.insert(name);
    result.push_back(std::move(golden));
  }
  return result;
}

// Gives the graph's initializers called `names` to its inputs instead.
void feed(Graph& graph, const std::set<std::string>& names) {
  for (std::size_t id = 0; id < graph.values.size(); ++id) {
    Value& value = graph.values[id];
    if (value.initializer < 0 || !names.contains(value.name)) continue;
    value.initializer = -1;  // the tensor stays, unused
    value.is_input = true;
    graph.inputs.push_back(static_cast<ValueId>(id));
  }
}

// Replaces every size of every tensor fed by a symbol, but for ones: a size of one may be broadcast, a symbol may not.
// Returns what the symbols stand for.
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

enum class Sizes { Exact, Partial };  // Partial: sizes may stay open, but none may be wrong

// What is wrong with `got`; empty when nothing is.
std::string difference(const TensorType& got, const TensorType& want, const TensorType& open, Sizes sizes) {
  const std::string both = test::text(got) + " instead of " + test::text(want);
  if (sizes == Sizes::Partial && got.element == ElementType::Undefined && !got.shape) return "";
  if (got.element != want.element || got.container != want.container) return both;
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

// Operators whose work is not modelled with all arguments known, and why.
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

// Rows that enter the totals with nothing, or stay out of them without a word.
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

// What is wrong with one analysis of the model, in lines.
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

// All three readings of one golden: as its line is, with every argument fed, and with every size fed a symbol.
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

// The part's cases; those of the file `path` where it is given, with the part's exceptions by operator alone.
void check_part(const std::string& part, const std::string& path = "") {
  std::map<std::string, std::string> exceptions;
  for (const std::vector<std::string>& row : rows(kFolder + "exceptions.txt", '\t')) {
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
  // Structures: the driver walks the graphs they hold.
  const std::set<std::string> structures = {"If", "Loop", "Scan", "SequenceMap"};
  std::string missing;
  const std::vector<std::vector<std::string>> listed = rows(test::source_path("data/ops.csv"), ',');
  for (std::size_t i = 1; i < listed.size(); ++i) {
    REQUIRE(listed[i].size() == 5);
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

// Cases that random_cases.py drew, in the file that PAGODA_CONFORMANCE names; without it one of the stored tables.
TEST_CASE("cases that were drawn at random have the types that ONNX Runtime computes") {
  const char* path = std::getenv("PAGODA_CONFORMANCE");
  check_part("drawn", path == nullptr ? kFolder + "drawn.golden" : path);
}

TEST_CASE("both readers of ONNX files read the same model from every case") {
  std::size_t files = 0, unwritable = 0;
  for (const char* part : {"backend", "onnx", "contrib"})
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
  // Text graphs hold a few types and values that the writer of files does not.
  CHECK(files > 6000);
  MESSAGE(files << " cases read twice, " << unwritable << " that cannot be written left out");
}
