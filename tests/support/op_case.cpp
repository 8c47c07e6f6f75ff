// Compares the analysis of text graphs with the expectations in rows of cases.
#include "support/op_case.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace pagoda::test {
namespace {

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// Splits at `separator` outside brackets and parentheses.
std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i == text.size() || (depth == 0 && text[i] == separator)) {
      if (const std::string_view part = trim(text.substr(begin, i - begin)); !part.empty()) parts.push_back(part);
      begin = i + 1;
      continue;
    }
    if (text[i] == '[' || text[i] == '(') ++depth;
    if (text[i] == ']' || text[i] == ')') --depth;
  }
  return parts;
}

Dim formula(std::string_view text) {
  const std::optional<Dim> dim = Dim::parse(text);
  if (!dim) throw std::invalid_argument("'" + std::string(text) + "' is not a formula");
  return *dim;
}

bool same(const Dim& a, const Dim& b) { return a == b || equal(a, b).value_or(false); }

// --- types ---

bool same_type(const TensorType& got, const TensorType& expected) {
  if (got.element != expected.element || got.container != expected.container || got.key != expected.key ||
      got.shape.has_value() != expected.shape.has_value())
    return false;
  if (!got.shape) return true;
  if (got.shape->size() != expected.shape->size()) return false;
  for (std::size_t i = 0; i < got.shape->size(); ++i) {
    const Dim wildcard = Dim::symbol("any_dim" + std::to_string(i));
    const Dim& dim = (*got.shape)[i];
    if ((*expected.shape)[i] == wildcard ? dim.is_constant() : !same(dim, (*expected.shape)[i])) return false;
  }
  return true;
}

// --- values ---

std::string value_text(const Scalar& scalar) {
  if (const Dim* dim = std::get_if<Dim>(&scalar)) return dim->to_string();
  if (const double* real = std::get_if<double>(&scalar)) return std::to_string(*real);
  if (const Ratio* ratio = std::get_if<Ratio>(&scalar))
    return "(" + ratio->numerator.to_string() + ")/" + std::to_string(ratio->denominator);
  return "?";
}

std::string value_text(const base::Boxed<TensorValue>& value) {
  if (!value) return "none";
  std::string result = "[";
  for (const Scalar& scalar : *value) result += (result.size() > 1 ? "," : "") + value_text(scalar);
  return result + "]";
}

bool same_scalar(const Scalar& got, std::string_view expected) {
  if (expected == "?") return std::holds_alternative<std::monostate>(got);
  if (const double* real = std::get_if<double>(&got))
    return std::strtod(std::string(expected).c_str(), nullptr) == *real;
  if (const Ratio* ratio = std::get_if<Ratio>(&got)) {
    const std::size_t slash = expected.rfind('/');
    return slash != std::string_view::npos && same(ratio->numerator, formula(expected.substr(0, slash))) &&
           Dim(ratio->denominator) == formula(expected.substr(slash + 1));
  }
  if (const Dim* dim = std::get_if<Dim>(&got)) {
    if (expected == "true" || expected == "false") return *dim == Dim(expected == "true" ? 1 : 0);
    return same(*dim, formula(expected));
  }
  return false;
}

bool same_value(const base::Boxed<TensorValue>& got, std::string_view expected) {
  if (expected == "none") return !got.has_value();
  if (!got) return false;
  if (expected.front() == '[') expected = expected.substr(1, expected.size() - 2);
  const std::vector<std::string_view> elements = split(expected, ',');
  if (elements.size() != got->size()) return false;
  for (std::size_t i = 0; i < elements.size(); ++i)
    if (!same_scalar((*got)[i], elements[i])) return false;
  return true;
}

// --- rows ---

std::string diagnostics_text(const Analysis& analysis) {
  std::string result;
  for (const Diagnostic& diagnostic : analysis.diagnostics)
    result += "    " + std::string(to_string(diagnostic.severity)) + " at " + diagnostic.node + ": " +
              diagnostic.message + "\n";
  for (const NodeReport& node : analysis.nodes)
    if (!node.problem.empty()) result += "    unmodelled: " + node.problem + "\n";
  return result;
}

bool has_error(const Analysis& analysis, std::string_view wanted) {
  for (const Diagnostic& diagnostic : analysis.diagnostics)
    if (diagnostic.severity != Severity::Info && diagnostic.message.find(wanted) != std::string::npos) return true;
  for (const NodeReport& node : analysis.nodes)
    if (node.problem.find(wanted) != std::string::npos) return true;
  return false;
}

// An expectation "y:i64[3]=[1,2,3]" has the parts y, i64[3] and [1,2,3]; the last two may be missing.
std::string type_differences(const Model& model, const Analysis& analysis, std::string_view expectations) {
  std::string wrong;
  for (const std::string_view expectation : split(expectations, ',')) {
    const std::string_view name_part = trim(expectation.substr(0, expectation.find_first_of(":=")));
    const std::vector<Value>& values = model.main().values;
    std::size_t id = 0;
    while (id < values.size() && values[id].name != name_part) ++id;
    if (id == values.size()) throw std::invalid_argument("the graph has no value '" + std::string(name_part) + "'");
    std::string_view rest = trim(expectation.substr(name_part.size()));
    const std::size_t equals = rest.find('=');
    const std::string_view type_part =
        !rest.empty() && rest.front() == ':' ? trim(rest.substr(1, std::min(equals, rest.size()) - 1)) : "";
    if (!type_part.empty() && !same_type(analysis.types.at(id), type(type_part, "any")))
      wrong += "  type of " + std::string(name_part) + "\n    got      " + text(analysis.types.at(id)) +
               "\n    expected " + std::string(type_part) + "\n";
    if (equals == std::string_view::npos) continue;
    const std::string_view value_part = trim(rest.substr(equals + 1));
    if (!same_value(analysis.values.at(id), value_part))
      wrong += "  value of " + std::string(name_part) + "\n    got      " + value_text(analysis.values.at(id)) +
               "\n    expected " + std::string(value_part) + "\n";
  }
  return wrong;
}

// Checks that the bytes a row moves are the sum over its tensors.
std::string moved_differences(const Model& model, const Analysis& analysis) {
  const auto bytes = [&](ValueId id) {
    const TensorType& type = analysis.types[static_cast<std::size_t>(id)];
    return type.shape ? byte_size(element_count(*type.shape), type.element) : Dim(0);
  };
  std::string wrong;
  for (const NodeReport& row : analysis.nodes) {
    if (row.graph != 0 || row.cost.mark != Mark::Compute) continue;
    const Node& node = model.main().node(row.node);
    if (!node.bodies().empty() || model.function(node.domain, node.op_type, node.overload) != nullptr) continue;
    Dim read = 0, written = 0;
    for (const PartMoved& part : row.cost.parts) (part.is_output ? written : read) += part.bytes;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const auto end = node.inputs.begin() + static_cast<std::ptrdiff_t>(i);
      const bool is_seen = std::find(node.inputs.begin(), end, node.inputs[i]) != end;
      if (node.inputs[i] != kAbsent && !is_seen && row.cost.reads_whole(static_cast<int>(i)))
        read += bytes(node.inputs[i]);
    }
    for (std::size_t i = 0; i < node.outputs.size(); ++i)
      if (node.outputs[i] != kAbsent && row.cost.writes_whole(static_cast<int>(i))) written += bytes(node.outputs[i]);
    const auto report = [&](const std::string& what, const Dim& got, const Dim& expected) {
      if (!same(got, expected))
        wrong += "  " + what + " of " + node.op_type + ", summed over its tensors\n    got      " + got.to_string() +
                 "\n    expected " + expected.to_string() + "\n";
    };
    report("bytes read", read, row.cost.bytes_read);
    report("bytes written", written, row.cost.bytes_written);
  }
  return wrong;
}

struct Expectation {
  std::string_view key, value;
};

// "macs=2*N + 1 mark=view": a value extends to the next key, so formulas may contain spaces.
std::vector<Expectation> read_expectations(std::string_view text) {
  std::vector<Expectation> result;
  std::vector<std::size_t> begins;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '=') continue;
    std::size_t begin = i;
    while (begin > 0 && (std::isalpha(static_cast<unsigned char>(text[begin - 1])) != 0 || text[begin - 1] == '_'))
      --begin;
    begins.push_back(begin);
  }
  for (std::size_t i = 0; i < begins.size(); ++i) {
    const std::size_t end = i + 1 < begins.size() ? begins[i + 1] : text.size();
    const std::string_view part = text.substr(begins[i], end - begins[i]);
    const std::size_t equals = part.find('=');
    result.push_back({part.substr(0, equals), trim(part.substr(equals + 1))});
  }
  return result;
}

std::string cost_differences(const Analysis& analysis, std::string_view expectations) {
  struct Counter {
    std::string_view key;
    const Dim& got;
  };
  const Totals& totals = analysis.totals;
  const Counter counters[] = {
      {"macs", totals.cost.macs},       {"arith", totals.cost.arith},
      {"special", totals.cost.special}, {"comparisons", totals.cost.comparisons},
      {"read", totals.cost.bytes_read}, {"written", totals.cost.bytes_written},
      {"params", totals.params},        {"param_bytes", totals.param_bytes},
  };
  std::string wrong;
  const auto report = [&](const Expectation& expected, const std::string& got) {
    wrong += "  " + std::string(expected.key) + "\n    got      " + got + "\n    expected " +
             std::string(expected.value) + "\n";
  };
  for (const Expectation& expected : read_expectations(expectations)) {
    if (expected.key == "mark" || expected.key == "precision") {
      if (analysis.nodes.empty()) {
        report(expected, "no node");
        continue;
      }
      const OpCost& last = analysis.nodes.back().cost;
      const std::string_view got = expected.key == "mark" ? to_string(last.mark) : to_string(last.precision);
      if (got != expected.value) report(expected, std::string(got));
      continue;
    }
    const Counter* found = nullptr;
    for (const Counter& counter : counters)
      if (counter.key == expected.key) found = &counter;
    if (found == nullptr) throw std::invalid_argument("unknown key '" + std::string(expected.key) + "'");
    if (!same(found->got, formula(expected.value))) report(expected, found->got.to_string());
  }
  return wrong;
}

CheckedOperators& mutable_checked() {
  static CheckedOperators operators;
  return operators;
}

void note_checked(const Model& model, const OpCase& row) {
  const std::string_view types = row.types, cost = row.cost;
  for (const Graph& graph : model.graphs)
    for (const Node& node : graph.nodes) {
      const std::string name = (node.domain.empty() ? "" : node.domain + ".") + node.op_type;
      if (types.find(':') != std::string_view::npos && !types.starts_with("error"))
        mutable_checked().with_types.insert(name);
      if (cost.find('=') != std::string_view::npos) mutable_checked().with_work.insert(name);
    }
}

}  // namespace

const CheckedOperators& checked_operators() { return mutable_checked(); }

std::string differences(const OpCase& row, const AnalyzeOptions& options) {
  constexpr std::string_view kError = "error:";
  const std::string_view types = row.types;
  const bool expects_error = types.starts_with(kError);
  const std::string_view wanted = expects_error ? trim(types.substr(kError.size())) : "";
  std::string wrong;
  try {
    const Model model = graph(row.graph);
    note_checked(model, row);
    const Analysis analysis = analyze(model, options);
    if (expects_error) {
      if (!has_error(analysis, wanted))
        wrong += "  got no such error\n" + diagnostics_text(analysis) +
                 "  expected an error with: " + std::string(wanted) + "\n";
    } else {
      wrong += type_differences(model, analysis, types);
    }
    wrong += cost_differences(analysis, row.cost);
    wrong += moved_differences(model, analysis);
    if (!wrong.empty() && !expects_error) wrong += diagnostics_text(analysis);
  } catch (const Error& error) {
    if (!expects_error || std::string_view(error.what()).find(wanted) == std::string_view::npos)
      wrong += "  got      error: " + std::string(error.what()) + "\n  expected " + std::string(types) + "\n";
  } catch (const std::exception& error) {  // a mistake in the row itself
    wrong += "  " + std::string(error.what()) + "\n";
  }
  return wrong;
}

std::string binding_differences(const OpCase& row, const AnalyzeOptions& options) {
  // One size for all dims: some operators require equal dims, or that one divides another.
  constexpr std::int64_t kSize = 12;
  const Model model = graph(row.graph);
  const Analysis open = analyze(model, options);
  AnalyzeOptions with_sizes = options;
  for (const std::string& dim : open.free_dims) with_sizes.dims.emplace(dim, kSize);
  // The symbol of a fixed batch is always bound after the walk.
  if (options.symbolic_batch || with_sizes.dims.size() == options.dims.size()) return "";
  const Analysis before = analyze(model, with_sizes);
  if (before.partial) return "";
  const Analysis after = bind_dims(open, with_sizes.dims);
  // One side may know less, or name a data-dependent size differently; where both know, they must agree.
  if (after.partial || !before.symbols.empty() || !after.symbols.empty()) return "";
  std::string wrong;
  const auto compare = [&](const std::string& what, const std::string& first, const std::string& last) {
    if (first != last) wrong += "  " + what + "\n    bound before " + first + "\n    bound after  " + last + "\n";
  };
  for (std::size_t i = 0; i < before.outputs.size(); ++i)
    compare("type of " + before.outputs[i].name, text(before.outputs[i].type), text(after.outputs[i].type));
  const OpCost& first = before.totals.cost;
  const OpCost& last = after.totals.cost;
  compare("macs", first.macs.to_string(), last.macs.to_string());
  compare("arith", first.arith.to_string(), last.arith.to_string());
  compare("special", first.special.to_string(), last.special.to_string());
  compare("comparisons", first.comparisons.to_string(), last.comparisons.to_string());
  compare("read", first.bytes_read.to_string(), last.bytes_read.to_string());
  compare("written", first.bytes_written.to_string(), last.bytes_written.to_string());
  compare("params", before.totals.params.to_string(), after.totals.params.to_string());
  return wrong;
}

void check_cases(std::span<const OpCase> cases, const AnalyzeOptions& options) {
  for (const OpCase& row : cases) {
    std::string wrong = differences(row, options);
    if (wrong.empty() && !std::string_view(row.types).starts_with("error:")) wrong = binding_differences(row, options);
    CHECK_MESSAGE(wrong.empty(), std::string(row.graph), "\n  (", std::string(row.why), ")\n", wrong);
  }
}

}  // namespace pagoda::test
