// The main path: bind the inputs, walk the graph, sum the costs.
#include "pagoda/core/analyze.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <set>

#include "graph/dim_poly.h"
#include "graph/index.h"
#include "infer/bind_inputs.h"
#include "infer/each_dim.h"
#include "infer/infer.h"
#include "infer/value_reads.h"
#include "memory/schedule.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/text.h"
#include "pagoda/core/custom_operator.h"

namespace pagoda::inline core {
namespace {

Totals sum(const std::vector<NodeReport>& rows, const Model& model) {
  Totals totals;
  std::set<std::string> unmodelled;
  std::array<DimSum, kCostCounts.size()> sums;
  for (const NodeReport& row : rows) {
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i].add(row.cost.*kCostCounts[i]);
    totals.unmodelled_nodes += row.unmodelled_inside;
    if (row.cost.mark != Mark::Unmodelled && row.unmodelled_inside == 0) continue;
    totals.unmodelled_nodes += row.cost.mark == Mark::Unmodelled ? 1 : 0;
    const Node& node = model.graph(row.graph).node(row.node);
    unmodelled.insert(node.domain.empty() ? std::string(node.op_type) : node.domain + "." + node.op_type);
  }
  for (std::size_t i = 0; i < sums.size(); ++i) totals.cost.*kCostCounts[i] = sums[i].total();
  totals.unmodelled_ops.assign(unmodelled.begin(), unmodelled.end());
  return totals;
}

// Binds a symbol after the walk.
void bind_symbol(BoundInputs& bound, const Symbol& symbol, std::int64_t size, std::string_view how) {
  const std::string what = base::field(how, cat(symbol.name, "=", size)) + ": ";
  if (size < 0) throw Error(what + "a size is at least 0");
  const std::optional<Int> most =
      symbol.upper ? symbol.upper->bind(bound.bindings).bind(bound.bind_last).value() : std::nullopt;
  if (most && Int{size} > *most)
    throw Error(what + symbol.cause + " at " + symbol.node + " can be at most " + to_string(*most));
  const auto [at, is_new] = bound.bind_last.emplace(symbol.name, size);
  if (!is_new && at->second != size)
    throw Error(what + "it is given as " + std::to_string(at->second) + ", too; give one size");
}

// Data-dependent sizes exist only after the walk.
void bind_data_dims(BoundInputs& bound, const std::vector<Symbol>& symbols) {
  const auto symbol_of = [&](const std::string& name) {
    return std::find_if(symbols.begin(), symbols.end(), [&](const Symbol& symbol) { return symbol.name == name; });
  };
  const std::string decided = base::joined(symbols, ", ", &Symbol::name);
  for (const auto& [name, size] : bound.options.dims) {
    if (bound.input_dims.contains(name)) continue;
    if (const auto symbol = symbol_of(name); symbol != symbols.end()) {
      bind_symbol(bound, *symbol, size, "dims");
      continue;
    }
    std::string known = base::joined(bound.input_dims, ", ", [](const auto& dim) { return dim.first; });
    if (!decided.empty()) known += (known.empty() ? "" : ", ") + decided;
    throw Error(base::field("dims", name) + ": the model has no such dim; " +
                (known.empty() ? "all its sizes are fixed" : "its free dims are: " + known));
  }
  for (const auto& [name, size] : bound.options.assumed) {
    auto symbol = symbol_of(name);
    if (symbol == symbols.end() && std::ranges::count(symbols, name, &Symbol::node) == 1)  // of a loop, as it is shown
      symbol = std::ranges::find(symbols, name, &Symbol::node);
    if (symbol != symbols.end())
      bind_symbol(bound, *symbol, size, "assume");
    else
      throw Error(base::field("assume", name) + ": " +
                  (bound.input_dims.contains(name) ? "it is a dim of an input; give it with `dims`"
                                                   : "the data decide no size of that name") +
                  "; " + (decided.empty() ? "no size depends on the data" : "those that they decide are: " + decided));
  }
}

const Name& name_of(const Model& model, const NodeReport& row) {
  const Graph& graph = model.graph(row.graph);
  return display_name(graph, graph.node(row.node));
}

// Whether sizes other than the batch differ from the file's.
bool is_other_size(const BoundInputs& bound) {
  return bound.fixed && bound.fixed->exported.size() > (bound.fixed->batch.empty() ? 0 : 1);
}

[[noreturn]] void refuse_sizes(const BoundInputs& bound, const std::string& why) {
  std::string sizes =
      base::joined(bound.asked, ", ", [](const auto& asked) { return cat(asked.first, "=", asked.second); });
  if (sizes.empty()) sizes = "other sizes than the file's";
  throw Error("the file cannot be read at " + sizes + ": " + why +
              "; export the model at this size, or with these dims dynamic");
}

[[noreturn]] void refuse_sizes(const BoundInputs& bound, std::string_view node, const std::string& why) {
  refuse_sizes(bound, cat(node, " fixes the size: ", why));
}

// The same where only the batch differs.
[[noreturn]] void refuse(const BoundInputs& bound, std::string_view node, const std::string& why) {
  if (is_other_size(bound)) refuse_sizes(bound, node, why);
  const auto batch = bound.fixed->asked.find(bound.fixed->batch);
  throw Error(cat("the graph does not support ",
                  batch != bound.fixed->asked.end() ? cat("batch ", batch->second) : "another batch", ": ", node,
                  " is not modelled: ", why,
                  "; export the model with a dynamic batch dim, or multiply the numbers of one run"));
}

// The same request at the sizes and the batch of the file, without the sizes that the data decide.
Analysis analyze_as_exported(const Model& model, const AnalyzeOptions& options,
                             const std::vector<CustomOperator>& stated, const BoundInputs& bound) {
  AnalyzeOptions as_exported = options;
  as_exported.dims.clear();
  for (const auto& [name, size] : bound.options.dims)
    if (bound.input_dims.contains(name)) as_exported.dims.emplace(name, size);
  as_exported.batch = 0;
  as_exported.symbolic_batch = false;
  as_exported.input_shapes.clear();
  as_exported.symbolic_sizes.clear();
  as_exported.assumed.clear();
  return analyze(model, as_exported, stated);
}

// A graph that depends on its exported sizes has nodes that cannot run at other sizes, or whose sizes cannot be
// followed: throws Error when the requested sizes leave more nodes unmodelled, or more sizes unknown, than the exported
// ones. An unknown size would count as 1.
void expect_sizes_carried(const Model& model, const AnalyzeOptions& options, const std::vector<CustomOperator>& stated,
                          const Analysis& analysis, const Session& session, const BoundInputs& bound) {
  std::optional<Analysis> exported;
  const auto as_exported = [&]() -> const Analysis& {
    if (!exported) exported = analyze_as_exported(model, options, stated, bound);
    return *exported;
  };
  const bool checks_nodes = is_other_size(bound) || !bound.bind_last.empty();
  const auto problem = std::find_if(analysis.nodes.begin(), analysis.nodes.end(),
                                    [](const NodeReport& row) { return !row.problem.empty(); });
  if (checks_nodes && analysis.totals.unmodelled_nodes > 0 && problem != analysis.nodes.end() &&
      as_exported().totals.unmodelled_nodes < analysis.totals.unmodelled_nodes)
    refuse(bound, name_of(model, *problem), problem->problem);
  if (const auto unsettled = session.unsettled()) refuse_sizes(bound, unsettled->first, unsettled->second);
  if (analysis.symbols.empty()) return;
  std::map<std::string, int> unknown;  // sizes that the data decide, by node
  for (const Symbol& symbol : analysis.symbols) ++unknown[symbol.node];
  for (const Symbol& symbol : as_exported().symbols) --unknown[symbol.node];
  for (const Symbol& symbol : analysis.symbols)
    if (unknown[symbol.node] > 0)
      refuse(bound, symbol.node, "what becomes of one of its sizes is unknown (" + symbol.cause + ")");
}

// A dim that broadcasts against a number is 1 or that number. Where the number is the size of a dim that the caller
// bound, the analysis without bindings took both dims to be equal: returns the sizes that follow, so that a formula
// bound afterwards equals the count.
Bindings sizes_that_follow(const Model& model, const AnalyzeOptions& options, const std::vector<CustomOperator>& stated,
                           const Analysis& analysis, const BoundInputs& bound) {
  Bindings following;
  if (analysis.ones_or.empty() || bound.options.dims.empty() || bound.fixed) return following;
  AnalyzeOptions open = options;
  open.dims.clear();
  open.assumed.clear();
  open.input_shapes.clear();
  open.batch = 0;
  const Bindings sizes = completed(analyze(model, open, stated), bound.options.dims);
  for (const auto& [name, constant] : analysis.ones_or)
    if (const auto size = sizes.find(name); size != sizes.end() && constant == Dim(size->second))
      following.insert(*size);
  return following;
}

void note_following(const Bindings& following, Analysis& analysis) {
  for (const auto& [name, size] : following)
    analysis.diagnostics.push_back(
        {Severity::Warning, "",
         cat("dim ", name, " is taken to be ", size, " like the dim that it is broadcast with; set it with ",
             base::field("dims", name + "=V"), " to differ")});
}

// An input whose rank the file does not state leaves what reads it unmodelled.
void warn_of_unknown_ranks(Analysis& analysis) {
  if (!analysis.partial) return;
  for (const InputInfo& input : analysis.inputs)
    if (input.type.container == Container::Tensor && !input.type.shape)
      analysis.diagnostics.insert(analysis.diagnostics.begin(),
                                  {Severity::Warning, "",
                                   cat("the file states no rank of input ", input.name, "; give its shape with ",
                                       base::field("inputs", cat(input.name, "=AxBxC")))});
}

// The walk of the main graph. Not copied or moved: the parts refer to each other.
struct Walk {
  Session session;
  GraphResult result;
  Totals totals;

  Walk(const Model& model, const BoundInputs& bound, const std::vector<CustomOperator>& stated,
       std::map<Session::IfPlace, bool> taken_by_rank, ValueReads* reads = nullptr)
      : session(model) {
    session.reads = reads;
    session.fixed = bound.fixed;
    session.input_dims = bound.input_dims;
    session.diagnostics = bound.diagnostics;
    session.taken_by_rank = std::move(taken_by_rank);
    std::vector<ValueInfo> inputs(bound.types.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) inputs[i].type = bound.types[i];
    if (session.fixed)
      for (const TensorType& type : bound.types) {
        if (!type.shape) continue;
        session.see(*type.shape);
        for (const Dim& size : *type.shape)
          if (session.fixed->hold_other(size)) session.input_sizes.push_back(size);
      }
    Walker walker(session, bound.options, stated);
    result = walker.walk(0, inputs, nullptr, "");
    if (session.fixed) session.settle_rest();
    totals = sum(result.rows, model);
    totals.params = walker.params();
    totals.param_bytes = walker.param_bytes();
    totals.at_load = walker.at_load();
  }
};

// Where the branches of an If have outputs of different ranks, operators behind it may accept one rank only: then that
// branch is the one that runs. Walks again with each branch, and keeps the one that leaves fewer nodes unmodelled.
std::unique_ptr<Walk> walk_model(const Model& model, const BoundInputs& bound,
                                 const std::vector<CustomOperator>& stated) {
  constexpr std::size_t kMostIfs = 8;
  auto best = std::make_unique<Walk>(model, bound, stated, std::map<Session::IfPlace, bool>());
  const std::set<Session::IfPlace> open = best->session.open_ranks;
  if (best->totals.unmodelled_nodes == 0 || open.empty()) return best;
  const auto walk_with = [&](std::map<Session::IfPlace, bool> taken) {
    return std::make_unique<Walk>(model, bound, stated, std::move(taken));
  };
  const auto leaves_fewer = [](const auto& a, const auto& b) {
    return a->totals.unmodelled_nodes < b->totals.unmodelled_nodes;
  };
  std::map<Session::IfPlace, bool> all_then, all_else;
  for (const Session::IfPlace& place : open) all_then[place] = true, all_else[place] = false;
  auto then = walk_with(all_then), otherwise = walk_with(all_else);
  auto& better = leaves_fewer(then, otherwise) ? then : otherwise;
  const bool is_decided = leaves_fewer(then, otherwise) || leaves_fewer(otherwise, then);
  if (is_decided && leaves_fewer(better, best)) best = std::move(better);
  if (open.size() == 1 || open.size() > kMostIfs) return best;
  for (const Session::IfPlace& place : open)
    for (const bool taken : {true, false}) {
      std::map<Session::IfPlace, bool> changed = best->session.taken_by_rank;
      changed[place] = taken;
      if (auto other = walk_with(std::move(changed)); leaves_fewer(other, best)) best = std::move(other);
    }
  return best;
}

// By value: the walk's facts of each value take more memory than the rest of the analysis.
void keep_values(std::vector<ValueInfo> values, Analysis& analysis) {
  analysis.types.reserve(values.size());
  analysis.values.reserve(values.size());
  for (ValueInfo& info : values) {
    analysis.types.push_back(std::move(info.type));
    if (info.stored != ElementType::Undefined) analysis.types.back().element = info.stored;
    if (!info.computed_value && info.stored_value != nullptr) info.computed_value = *info.stored_value;
    analysis.values.push_back(std::move(info.computed_value));
  }
}

}  // namespace

ValueReads value_reads(const Model& model) {
  ValueReads reads;
  reads.walked.resize(model.graphs.size());
  const AnalyzeOptions options;
  const Walk walk(model, bind_inputs(model, options), {}, {}, &reads);
  return reads;
}

// A symbol gets its size in one of four steps, the earliest that knows it:
//   bind_inputs()  free dims of inputs that the caller binds by name, shape, batch or phase: the walk sees
//                  numbers. Fixed sizes that the caller changes become symbols here.
//   the walk       a constant that must equal a symbol decides it (OpContext::unify), and numbers that the file
//                  derived from fixed sizes become formulas of those sizes (Session::fixed). Types recorded
//                  before keep the undecided symbol.
//   resolve()      replaces symbols by the equal expressions found in the walk, in all its results.
//   bind_last      sizes known only now: the symbols of fixed sizes, and --assume (or --dim) values of
//                  data-dependent sizes, which only the walk names.
Analysis analyze(const Model& model, const AnalyzeOptions& options, const std::vector<CustomOperator>& stated) {
  if (model.graphs.empty()) throw Error("the model has no graph");
  BoundInputs bound = bind_inputs(model, options);
  const std::unique_ptr<Walk> walked = walk_model(model, bound, stated);
  Session& session = walked->session;
  GraphResult& result = walked->result;

  const Graph& graph = model.main();
  Analysis analysis;
  analysis.nodes = std::move(result.rows);
  analysis.totals = std::move(walked->totals);
  analysis.requirements = std::move(session.requirements);
  for (const ValueId input : graph.inputs)
    analysis.inputs.push_back({graph.value(input).name, result.values[index(input)].type});
  for (std::size_t i = 0; i < graph.outputs.size(); ++i)
    if (graph.outputs[i] != kAbsent)
      analysis.outputs.push_back({graph.value(graph.outputs[i]).name, result.outputs[i].type});
  keep_values(std::move(result.values), analysis);
  analysis.symbols = std::move(session.symbols);
  analysis.renamed = std::move(bound.renamed);
  analysis.bindings = std::move(bound.bindings);
  analysis.precision = options.precision;
  analysis.partial = analysis.totals.unmodelled_nodes > 0;
  if (!session.equalities().empty()) {
    for_each_dim(analysis, [&](Dim& dim) { dim = session.resolve(dim); });
    // A size that a later operator determined no longer depends on the data.
    std::erase_if(analysis.symbols, [&](const Symbol& symbol) { return session.equalities().contains(symbol.name); });
  }
  for (const auto& [name, formula] : bound.assumed)
    analysis.equalities.emplace(name, session.resolve(formula.bind(analysis.bindings)));
  for (const auto& [name, formula] : session.equalities())
    if (bound.input_dims.contains(name)) analysis.equalities.emplace(name, formula);
  analysis.ones_or = session.ones_or();
  count_memory(model, analysis);
  analysis.diagnostics = std::move(session.diagnostics);
  analysis.free_dims = free_dims(analysis.inputs);
  warn_of_unknown_ranks(analysis);
  if (const Bindings following = sizes_that_follow(model, options, stated, analysis, bound); !following.empty()) {
    AnalyzeOptions all = options;
    all.dims.insert(following.begin(), following.end());
    Analysis followed = analyze(model, all, stated);
    note_following(following, followed);
    return followed;
  }
  if (bound.fixed) expect_sizes_carried(model, options, stated, analysis, session, bound);
  // Fixed sizes were walked as symbols; the requested numbers are bound last.
  bind_data_dims(bound, analysis.symbols);
  if (bound.bind_last.empty()) return analysis;
  if (is_other_size(bound))
    if (const std::string broken = broken_requirement(analysis, bound.bind_last); !broken.empty())
      refuse_sizes(bound, broken);
  Analysis bound_last = bind_dims(analysis, bound.bind_last);
  for (const auto& [symbol, unit] : bound.units) bound_last.bindings.erase(symbol);
  bound_last.bindings.insert(bound.asked.begin(), bound.asked.end());
  if (is_other_size(bound)) {
    // Negative sizes: windows that do not fit an image too small for the model.
    for (const NodeReport& row : bound_last.nodes)
      for (const OutputInfo& output : row.outputs)
        if (output.type.shape)
          for (const Dim& dim : *output.type.shape)
            if (dim.is_constant() && *dim.value() < 0)
              refuse_sizes(bound, name_of(model, row), "a size of " + dim.to_string());
    // Sizes that are equal only as numbers may let a node reuse another tensor's memory.
    count_memory(model, bound_last);
  }
  return bound_last;
}

Analysis analyze(const Model& model, const AnalyzeOptions& options) { return analyze(model, options, {}); }

}  // namespace pagoda::inline core
