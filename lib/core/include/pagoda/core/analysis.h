// What an analysis is asked and what it finds: types of all values, cost of every node, totals.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pagoda/base/error.h"
#include "pagoda/core/cost.h"
#include "pagoda/core/diagnostic.h"
#include "pagoda/core/graph.h"
#include "pagoda/core/precision.h"
#include "pagoda/core/rule.h"

#pragma GCC visibility push(default)
namespace pagoda::inline core {

struct AnalyzeOptions {
  // Size of the first dim of every data input, also where the file fixes it. 0: as the file says.
  std::int64_t batch = 0;
  // Leaves a fixed batch symbolic as "batch" instead of binding it.
  bool symbolic_batch = false;
  Bindings dims = {};     // values of named dims
  Bindings assumed = {};  // values of Analysis::symbols
  // Whole shapes of inputs by name. Sizes that the file fixes are followed through the constants derived from them;
  // analyze() throws where the file does not say how one of them changes.
  std::map<std::string, std::vector<std::int64_t>> input_shapes = {};
  // Sizes that the file fixes, INPUT.AXIS such as "images.2", to be left symbolic: as images_2.
  std::vector<std::string> symbolic_sizes = {};
  std::vector<ExtraRule> extra_rules = {};  // win over the built-in ones
  // Stores and computes all floats in this format, whatever the file says; weights stored in 8 or fewer bits and
  // integers stay. Of a format that only products run in (float8, float4, integers) the operands of products are, all
  // other floats are float16. Empty: as the file has them.
  std::optional<Precision> precision = std::nullopt;
  std::size_t max_inlined_rows = 50'000;  // rows from function bodies beyond which a call stays one row
};

// An output of a reported node.
struct OutputInfo {
  std::string name;
  TensorType type;
};

// One row of the report: a node of the main graph, or of a body that the analysis entered.
struct NodeReport {
  GraphId graph = 0;
  std::int32_t node = 0;  // index in Graph::nodes
  std::string scope;      // module path, function and branch it was reached through
  std::vector<OutputInfo> outputs;
  OpFacts facts;  // of the operator; Unknown for calls and bodies
  OpCost cost;
  Dim params;       // elements of the weights that this row is the first to use
  Dim param_bytes;  // their stored bytes
  // Bytes of weights and of the model's inputs, caches included, that this row is the first to need: those that it
  // reads, or that a later row reads where this one updates a cache in place.
  Dim needed_bytes;
  // For a product whose operands are both dequantised from one narrow type: that type. An engine that folds
  // QuantizeLinear and DequantizeLinear into the product multiplies in it. `cost` states the row as the file has it.
  ElementType dequantized_from = ElementType::Undefined;
  std::string problem;  // why the row is unmodelled; empty otherwise
  // For a function call that stays one row (see AnalyzeOptions::max_inlined_rows): unmodelled nodes in its body.
  std::int64_t unmodelled_inside = 0;
};

struct Totals {
  OpCost cost;
  Dim params, param_bytes;
  std::optional<Dim> activation_peak_bytes;
  std::int64_t unmodelled_nodes = 0;
  std::vector<std::string> unmodelled_ops;  // sorted, each once, with domain where it is not ai.onnx
  OpCost at_load;  // of nodes that compute on stored tensors alone: done once, part of no other total
};

struct InputInfo {
  std::string name;
  TensorType type;
};

// Sizes that an operator takes to be equal, though that depends on the sizes bound: beyond it the formulas do not hold.
struct Requirement {
  Dim size, other;
  bool or_one = false;  // of a broadcast: `other` may be 1 as well
  std::string node;
};

struct Analysis {
  std::vector<InputInfo> inputs;                   // as bound
  std::vector<InputInfo> outputs;                  // of the main graph
  std::vector<TensorType> types;                   // by ValueId of the main graph
  std::vector<std::optional<TensorValue>> values;  // small values that are known, by ValueId of the main graph
  std::vector<NodeReport> nodes;                   // in execution order
  Totals totals;
  std::vector<Symbol> symbols;                 // sizes that no input names
  std::vector<std::string> free_dims;          // dims of inputs left unset, sorted
  std::map<std::string, std::string> renamed;  // dim names as in the file → identifiers used in formulas
  // Dims of inputs that formulas no longer hold, and what they must be equal to: operators require it, or see the
  // diagnostics. bind_dims checks them and solves for the dims they leave open.
  std::map<std::string, Dim> equalities;
  std::map<std::string, Dim> ones_or;  // dims of inputs that broadcast against a constant: 1, or equal to it
  std::vector<Requirement> requirements;
  Bindings bindings;                   // what was bound
  std::optional<Precision> precision;  // AnalyzeOptions::precision
  std::vector<Diagnostic> diagnostics;
  bool partial = false;  // some node is unmodelled: totals are lower bounds
};

// The same analysis with symbols replaced by values: equal to binding first, and much faster. Throws Error for values
// that contradict Analysis::equalities, ones_or or requirements: there the formulas do not hold; bind
// first to see what does.
Analysis bind_dims(const Analysis& analysis, const Bindings& bindings);

// Which of Analysis::requirements the sizes break, and where; empty where they break none. What depends on a size that
// is not bound breaks none.
std::string broken_requirement(const Analysis& analysis, const Bindings& bindings);

}  // namespace pagoda::inline core
#pragma GCC visibility pop
