// An operator that Pagoda does not know, described by formulas over its input sizes: plain data, as read from files
// (documents/custom_operators.h). Mathematics beyond formulas needs a rule in C++ (rule.h).
//
//   CustomOperator linear{.domain = "my.ops", .op_type = "BiasedMatMul"};
//   linear.inputs = {{.name = "x", .shape = {{"*rows", "k"}}},  // *rows: any number of axes
//                    {.name = "w", .shape = {{"k", "n"}}},      // the same k, or the node contradicts the statement
//                    {.name = "bias", .shape = {{"n"}}, .is_optional = true}};
//   linear.outputs = {{.type = "x", .shape = {"*rows", "n"}}};
//   linear.work = CustomWork{.macs = "rows*k*n", .arith = "rows*n"};
//   Analysis analysis = analyze(model, {.batch = 8}, {linear});
//
// Formulas are parsed by Dim::parse(). Their names are sizes named in input shapes, the product of the axes that
// "*rows" matches, integers from attributes and small inputs, and data-dependent sizes.
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
  // One text per axis: a name, "*name" for any number of axes (once), "_" for any size, or a formula that the size must
  // equal. Empty: any shape.
  std::optional<std::vector<std::string>> shape = std::nullopt;
  std::vector<std::string> values = {};  // of an integer input: names of its elements
  std::string elements_read = {};        // formula; empty: all, once
  bool is_optional = false;              // no formula may use a name that only this input defines
};

struct CustomAttribute {
  std::string name;                                      // of an integer attribute; also its name in formulas
  std::optional<std::int64_t> otherwise = {};            // default where the node omits it; empty: required
  std::optional<std::vector<std::string>> members = {};  // for a list of integers: a name for each
};

// A data-dependent size. Its name appears as an axis of an output's shape.
struct CustomDataSize {
  std::string name;
  std::string upper = {};  // formula of its upper bound; empty: not known
};

struct CustomOutput {
  std::string type;                   // "float32", or an input's name for that input's type
  std::vector<std::string> shape;     // a formula per axis, or "*name" for the axes that it matches in an input
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
  std::optional<CustomWork> work = std::nullopt;  // empty: not known; nodes get types but are not modelled
  std::string precision = {};  // of the work: a type or an input's name; empty: that of the first float input
  // Pointwise may be fused and run in place, View moves nothing, Layout moves bytes; Other is a separate kernel.
  OpKind kind = OpKind::Other;
};

// The first inconsistency in a description, and where: "outputs[0].shape[1]: …"; empty if there is none.
std::string problem_of(const CustomOperator& stated);

// analyze() of a model with such operators; they override built-in rules and AnalyzeOptions::extra_rules. Also throws
// Error for a description with a problem_of().
Analysis analyze(const Model& model, const AnalyzeOptions& options, const std::vector<CustomOperator>& stated);

}  // namespace pagoda::inline core
#pragma GCC visibility pop
