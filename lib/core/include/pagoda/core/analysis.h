// Options and results of an analysis: types of all values, cost of every node, totals.
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

inline constexpr int kMaxBodyDepth = 48;  // of bodies within bodies; deeper ones are unmodelled

struct AnalyzeOptions {
  // Size of the first dim of every data input, even where the file fixes it. 0: keep the file's size.
  std::int64_t batch = 0;
  // Leaves a fixed batch symbolic as "batch" instead of binding it.
  bool symbolic_batch = false;
  Bindings dims = {};     // values of named dims
  Bindings assumed = {};  // values of Analysis::symbols
  // Full shapes of inputs, by name. Replacing a size that the file fixes also updates the constants derived from it;
  // analyze() throws where the file does not show how such a constant changes.
  std::map<std::string, std::vector<std::int64_t>> input_shapes = {};
  // Fixed sizes to leave symbolic, as INPUT.AXIS: "images.2" becomes images_2.
  std::vector<std::string> symbolic_sizes = {};
  std::vector<ExtraRule> extra_rules = {};  // override the built-in ones
  // Stores and computes all floats in this format, whatever the file says; integers and weights stored in 8 or fewer
  // bits keep their type. For a format that only products support (float8, float4, integers), only operands of products
  // use it, and all other floats are float16. Empty: the types of the file.
  std::optional<Precision> precision = std::nullopt;
  std::size_t max_inlined_rows = 50'000;  // most rows from function bodies; a call beyond it stays one row
};

// A value that a node or the model reads or writes.
struct OutputInfo {
  Name name;
  TensorType type;
};

// One row of the report: a node of the main graph, or of a body that the analysis entered.
struct NodeReport {
  GraphId graph = 0;
  std::int32_t node = 0;  // index in Graph::nodes
  Name scope;             // module path, function and branch it was reached through
  base::SmallVector<OutputInfo, 1> outputs;
  OpFacts facts;  // of the operator; Unknown for calls and bodies
  OpCost cost;
  Dim runs = 1;     // how often the node runs: the trips of the loops around it; `cost` is of all of them
  Dim params;       // elements of the weights that this row is the first to use
  Dim param_bytes;  // their stored bytes
  // Bytes of weights and model inputs, caches included, that this row is the first to need: those it reads, and those
  // that a later row reads where this one updates a cache in place.
  Dim needed_bytes;
  // For a product whose operands are both dequantised from one narrow type: that type. An engine that folds
  // QuantizeLinear and DequantizeLinear into the product multiplies in it. `cost` describes the row as the file states
  // it.
  ElementType dequantized_from = ElementType::Undefined;
  Name problem;  // why the row is unmodelled; empty otherwise
  // For a function call that stays one row (see AnalyzeOptions::max_inlined_rows): unmodelled nodes in its body, at
  // most 2^40.
  std::int64_t unmodelled_inside = 0;
};

struct Totals {
  OpCost cost;
  Dim params, param_bytes;
  // What an engine holds of stored tensors once it has folded: without those that only folded nodes read, and with the
  // results of folded nodes that others read.
  Dim weight_bytes;
  std::optional<Dim> activation_peak_bytes;
  std::int64_t unmodelled_nodes = 0;
  std::vector<std::string> unmodelled_ops;  // sorted, without duplicates; with the domain unless it is ai.onnx
  OpCost at_load;  // of nodes that compute on stored tensors only: done once, in no other total
};

using InputInfo = OutputInfo;

struct Analysis {
  std::vector<InputInfo> inputs;                 // as bound
  std::vector<InputInfo> outputs;                // of the main graph
  std::vector<TensorType> types;                 // by ValueId of the main graph
  std::vector<base::Boxed<TensorValue>> values;  // small values that are known, by ValueId of the main graph
  std::vector<NodeReport> nodes;                 // in execution order
  Totals totals;
  std::vector<Symbol> symbols;                 // sizes that no input names
  std::vector<std::string> free_dims;          // input dims left unbound, sorted
  std::map<std::string, std::string> renamed;  // dim names as in the file → identifiers used in formulas
  // Input dims that no longer appear in formulas, and the formula that each must equal: an operator requires it, or the
  // diagnostics give the reason. bind_dims checks them and solves for the dims they leave open.
  std::map<std::string, Dim> equalities;
  std::map<std::string, Dim> ones_or;  // input dims that broadcast against a constant: 1 or that constant
  std::vector<Requirement> requirements;
  Bindings bindings;                   // bound sizes, by dim name
  std::optional<Precision> precision;  // AnalyzeOptions::precision
  std::vector<Diagnostic> diagnostics;
  bool partial = false;  // some node is unmodelled: totals are lower bounds
};

// The shape of a value of the main graph; null where the value is absent or its rank unknown.
inline const Shape* shape_of(const Analysis& analysis, ValueId value) {
  if (value == kAbsent) return nullptr;
  const TensorType& type = analysis.types[static_cast<std::size_t>(value)];
  return type.shape ? &*type.shape : nullptr;
}

// The same analysis with symbols replaced by values: the result equals an analysis with these bindings, but much
// faster. Throws Error for values that contradict Analysis::equalities, ones_or or requirements, where the formulas do
// not hold; set AnalyzeOptions::dims to analyse such sizes.
Analysis bind_dims(const Analysis& analysis, const Bindings& bindings);

// Describes the first of Analysis::requirements that the sizes violate, with its node; empty when all hold.
// Requirements on unbound sizes are not checked.
std::string broken_requirement(const Analysis& analysis, const Bindings& bindings);

}  // namespace pagoda::inline core
#pragma GCC visibility pop
