// An operator that Pagoda does not know, stated by formulas over the sizes of its inputs: a value, as files hold it
// (documents/custom_operators.h). Mathematics that formulas cannot say take a rule in C++ (rule.h).
//
//   CustomOperator linear{.domain = "my.ops", .op_type = "BiasedMatMul"};
//   linear.inputs = {{.name = "x", .shape = {{"*rows", "k"}}},  // *rows: any number of axes
//                    {.name = "w", .shape = {{"k", "n"}}},      // the same k, or the node contradicts the statement
//                    {.name = "bias", .shape = {{"n"}}, .is_optional = true}};
//   linear.outputs = {{.type = "x", .shape = {"*rows", "n"}}};
//   linear.work = CustomWork{.macs = "rows*k*n", .arith = "rows*n"};
//   Analysis analysis = analyze(model, {.batch = 8}, {linear});
//
// A formula is one of Dim::parse() over names: sizes that an input's shape names, the product of axes that "*rows"
// names, integers of attributes and of small inputs, and sizes that the data decide.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pagoda/core/op_facts.h"

#pragma GCC visibility push(default)
namespace pagoda::inline core {

struct Analysis;
struct AnalyzeOptions;
struct Model;

struct CustomInput {
  std::string name;
  // One text an axis: a name, "*name" for any number of axes (once), "_" for any size, or a formula that the size must
  // equal. Empty: of any shape.
  std::optional<std::vector<std::string>> shape = std::nullopt;
  std::vector<std::string> values = {};  // of an integer input: names of its elements
  std::string elements_read = {};        // formula; empty: all, once
  bool is_optional = false;              // a name that it alone gives is in no formula
};

struct CustomAttribute {
  std::string name;                                      // of an integer; also its name in formulas
  std::optional<std::int64_t> otherwise = {};            // where the node leaves it out; empty: it must be there
  std::optional<std::vector<std::string>> members = {};  // of a list of integers: a name for each
};

// A size that only the data decide. An output's shape holds its name as an axis.
struct CustomDataSize {
  std::string name;
  std::string upper = {};  // formula of what it never exceeds; empty: not known
};

struct CustomOutput {
  std::string type;                   // "float32", or an input's name: of its type
  std::vector<std::string> shape;     // a formula an axis, or "*name" for the axes that it names in an input
  std::string elements_written = {};  // formula; empty: all, once
};

// Formulas; an empty one means no such work.
struct CustomWork {
  std::string macs = {}, arith = {}, special = {}, comparisons = {};  // as in OpCost
};

struct CustomOperator {
  std::string domain, op_type;  // "" and "ai.onnx" are one domain
  std::vector<CustomInput> inputs = {};
  std::vector<CustomAttribute> attributes = {};
  std::vector<CustomDataSize> data_sizes = {};
  std::vector<CustomOutput> outputs = {};
  std::optional<CustomWork> work = std::nullopt;  // empty: not known; its nodes have types but are not modelled
  std::string precision = {};  // of the work: a type or an input's name; empty: of the first input of floats
  // Pointwise may be fused and run in place, View moves nothing, Layout moves bytes; Other is a kernel of its own.
  OpKind kind = OpKind::Other;
};

// What contradicts itself in a statement, and where: "outputs[0].shape[1]: …"; empty: nothing.
std::string problem_of(const CustomOperator& stated);

// analyze() of a model with such operators; they win over built-in rules and over AnalyzeOptions::extra_rules. Throws
// Error for a statement that has a problem_of(), too.
Analysis analyze(const Model& model, const AnalyzeOptions& options, const std::vector<CustomOperator>& stated);

}  // namespace pagoda::inline core
#pragma GCC visibility pop
