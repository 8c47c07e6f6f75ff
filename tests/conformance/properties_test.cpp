// What must hold for every operator and every graph of them, whatever the rules: checked over all stored cases, which
// together cover every row with its attributes, ranks, types and opsets, and over graphs drawn from them.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>

#include "conformance/cases.h"
#include "memory/oracle.h"
#include "pagoda/core/analyze.h"
#include "pagoda/core/memory.h"
#include "pagoda/core/model.h"
#include "pagoda/core/roofline.h"
#include "pagoda/core/traffic.h"
#include "pagoda/core/train.h"
#include "pagoda/documents/device.h"
#include "support/choices.h"
#include "support/files.h"
#include "support/sometimes.h"
#include "support/text_graph.h"

using namespace pagoda;

namespace {

constexpr const char* kParts[] = {"backend", "onnx", "contrib", "drawn", "graphs"};

// A file of graphs by random_graphs.py, instead of all stored cases; null without one.
const char* drawn_graphs() { return std::getenv("PAGODA_CONFORMANCE_GRAPHS"); }

// Fails unless the property could be checked on more than `least` of the stored cases.
void expect_compared(std::size_t compared, std::size_t least) {
  MESSAGE(compared << " cases compared");
  CHECK(compared > (drawn_graphs() == nullptr ? least : 0));
}

// Calls `check` with each case as text and as a model.
template <typename Check>
void for_each_case(const Check& check) {
  for (const std::string part : kParts)
    for (const test::Golden& golden : test::goldens(part, drawn_graphs() == nullptr ? "" : drawn_graphs())) {
      if (drawn_graphs() != nullptr && part != "graphs") break;
      CAPTURE(golden.name);
      CAPTURE(golden.graph.substr(0, 600));
      check(golden, test::graph(golden.graph));
    }
}

// Formulas are valid for sizes of at least 1.
bool has_empty(const Graph& graph) {
  return std::ranges::any_of(graph.values, [](const Value& value) {
    return value.declared.shape &&
           std::ranges::any_of(*value.declared.shape, [](const Dim& dim) { return dim == Dim(0); });
  });
}

bool is_modelled(const Analysis& analysis) { return !analysis.partial && analysis.symbols.empty(); }

// The first count in which two analyses differ, in words; empty if none. `bindings`
// are for the symbols that `open` leaves.
std::string difference(const Analysis& open, const Bindings& bindings, const Analysis& fixed) {
  constexpr std::pair<const char*, Dim OpCost::*> kCounts[] = {
      {"MACs", &OpCost::macs},       {"arith", &OpCost::arith},           {"comparisons", &OpCost::comparisons},
      {"special", &OpCost::special}, {"bytes read", &OpCost::bytes_read}, {"bytes written", &OpCost::bytes_written},
  };
  for (const auto& [name, count] : kCounts) {
    const Dim& formula = open.totals.cost.*count;
    const Int bound = formula.evaluate(bindings), want = (fixed.totals.cost.*count).evaluate({});
    if (bound != want)
      return std::string(name) + ": " + formula.to_string() + " is " + to_string(bound) + ", at fixed sizes " +
             to_string(want);
  }
  return "";
}

}  // namespace

// Each operator meets inputs of ranks that its specification does not allow, as damaged files have them: the analysis
// ends with a row that is counted or not, and neither it nor what builds on it reads an axis that a shape lacks (the
// sanitizers of a build see that).
TEST_CASE("inputs of another rank, or of none that is known, end no analysis") {
  std::size_t compared = 0, without_rows = 0;
  const auto analyse_each = [&](const Model& model, const auto& shape_of) {
    const std::optional<Shape> filed = shape_of(model);
    if (!filed) return;
    Shape longer = *filed, shorter = *filed;
    longer.insert(longer.begin(), Dim(1));
    if (!shorter.empty()) shorter.erase(shorter.begin());
    for (const std::optional<Shape>& other :
         {std::optional(longer), std::optional(shorter), std::optional(Shape()), std::optional<Shape>()}) {
      Model changed = model;
      shape_of(changed) = other;
      try {
        without_rows += test::use_all(changed, test::choice(compared)).nodes.empty() ? 1 : 0;
      } catch (const Error&) {  // the changed sizes give counts beyond 128 bits
      }
      ++compared;
    }
  };
  for_each_case([&](const test::Golden&, const Model& model) {
    const Graph& graph = model.graphs.front();
    for (const ValueId input : graph.inputs)
      analyse_each(
          model, [&](auto& of) -> auto& {
            return of.graphs.front().values[static_cast<std::size_t>(input)].declared.shape;
          });
    for (std::size_t i = 0; i < graph.initializers.size(); ++i)
      if (!graph.initializers[i].value)  // a known value has the elements of its shape
        analyse_each(
            model, [&](auto& of) -> auto& { return of.graphs.front().initializers[i].type.shape; });
  });
  CHECK(without_rows == 0);
  expect_compared(compared, 50000);
}

// The same for attributes and for known values that are arguments, such as axes, pads and splits.
TEST_CASE("numbers that no operator allows end no analysis") {
  constexpr std::int64_t kNumbers[] = {-3, 0, 5, std::numeric_limits<std::int64_t>::max()};
  constexpr std::size_t kMostNodes = 40;  // a graph is analysed anew for each number
  std::size_t compared = 0, without_rows = 0;
  const auto analyse = [&](const Model& model) {
    try {
      without_rows += analyze(model, {.precision = test::choice(compared).precision}).nodes.empty() ? 1 : 0;
    } catch (const Error&) {  // the changed sizes give counts beyond 128 bits
    }
    ++compared;
  };
  for_each_case([&](const test::Golden&, const Model& model) {
    if (model.graphs.front().nodes.size() > kMostNodes) return;
    Model changed = model;
    Graph& graph = changed.graphs.front();
    for (Node& node : graph.nodes)
      for (Attribute& attribute : node.attributes) {
        const AttributeValue filed = attribute.value;
        if (std::holds_alternative<std::int64_t>(filed))
          for (const std::int64_t number : kNumbers) attribute.value = number, analyse(changed);
        if (const auto* list = std::get_if<std::vector<std::int64_t>>(&filed)) {
          std::vector<std::int64_t> other(list->begin(), list->end() - (list->empty() ? 0 : 1));
          attribute.value = other, analyse(changed);
          other.insert(other.end(), {-2, 4});
          attribute.value = other, analyse(changed);
        }
        attribute.value = filed;
      }
    for (Tensor& tensor : graph.initializers) {
      if (!tensor.value || !is_integer(tensor.type.element)) continue;
      const TensorValue filed = *tensor.value;
      for (const std::int64_t number : kNumbers)
        for (std::size_t i = 0; i < std::min<std::size_t>(filed.size(), 2); ++i) {
          (*tensor.value)[i] = Dim(number);
          analyse(changed);
          (*tensor.value)[i] = filed[i];
        }
    }
  });
  CHECK(without_rows == 0);
  expect_compared(compared, 30000);
}

// Weights that are counted once stay counted where a rule gives up, too.
TEST_CASE("a precision changes the bytes of weights, and neither their number nor the work nor what is modelled") {
  std::size_t compared = 0, with_weights = 0;
  const auto check = [&](const Model& model) {
    const Totals file = analyze(model).totals;
    const auto precision = static_cast<Precision>(compared % (static_cast<std::size_t>(Precision::Int4) + 1));
    CAPTURE(to_string(precision));
    const Totals asked = analyze(model, {.precision = precision}).totals;
    CHECK(asked.params == file.params);
    CHECK((asked.param_bytes == Dim(0)) == (file.param_bytes == Dim(0)));
    // The bits of a number in another format are no bits of the file's type.
    const bool reinterprets =
        std::ranges::any_of(model.main().nodes, [](const Node& n) { return n.op_type == "BitCast"; });
    CHECK((reinterprets || asked.unmodelled_nodes == file.unmodelled_nodes));
    CHECK(asked.cost.macs == file.cost.macs);
    ++compared;
    with_weights += file.params == Dim(0) ? 0 : 1;
  };
  for_each_case([&](const test::Golden&, const Model& model) {
    try {
      check(model);
      // Of an input without a rank, most rules infer little and count nothing.
      Model open = model;
      for (const ValueId input : open.main().inputs)
        open.graphs.front().values[static_cast<std::size_t>(input)].declared.shape.reset();
      check(open);
    } catch (const Error&) {  // counts beyond 128 bits
    }
  });
  CHECK((with_weights > 500 || drawn_graphs() != nullptr));
  expect_compared(compared, 10000);
}

TEST_CASE("a formula bound afterwards is the count at fixed sizes, for every operator and graph") {
  std::size_t compared = 0;
  for_each_case([&](const test::Golden&, const Model& model) {
    const Analysis fixed = analyze(model);
    if (!is_modelled(fixed) || has_empty(model.graphs.front())) return;
    Model free = model;
    const Bindings bindings = test::free_all(free.graphs.front());
    if (bindings.empty()) return;
    const Analysis open = analyze(free);
    if (!is_modelled(open)) return;
    CHECK(difference(open, bindings, fixed) == "");
    ++compared;
  });
  expect_compared(compared, 5000);
}

namespace {

bool is_possible(const Dim& formula) {
  try {
    return formula.evaluate({}) >= 0;
  } catch (const Error&) {  // a division by 0
    return false;
  }
}

// Whether a size of an output, or a count, does not exist with every free size at 1.
bool has_impossible_size(const Analysis& analysis) {
  const OpCost& cost = analysis.totals.cost;
  for (const Dim* count : {&cost.macs, &cost.arith, &cost.comparisons, &cost.special, &cost.bytes_read})
    if (!is_possible(*count)) return true;
  return std::ranges::any_of(analysis.nodes, [](const NodeReport& row) {
    return std::ranges::any_of(row.outputs, [](const OutputInfo& output) {
      return output.type.shape && !std::ranges::all_of(*output.type.shape, is_possible);
    });
  });
}

// Stored cases in which the form of the work depends on a number, which a formula cannot say.
struct DependsOnNumber {
  std::string_view name, why;
};
constexpr DependsOnNumber kDependsOnNumbers[] = {
    {"Einsum-12-6", "a sum over an axis of 1 multiplies only"},
    {"test_einsum_batch_matmul", "the same"},
    {"test_einsum_batch_matmul_bfloat16", "the same"},
    {"test_einsum_inner_prod", "the same"},
    {"DFT-20-7", "a transform of another length"},
    {"graph-275", "a Resize to 0 elements"},
    {"Conv-1-1", "the layout of the weights follows from their sizes"},
    {"Conv-1-2", "the same"},
    {"graph-13", "with part of the sizes bound, an open one stays 1 beside a bound one"},
    {"graph-232", "the same"},
};

bool depends_on_number(std::string_view name) {
  return drawn_graphs() == nullptr &&
         std::ranges::find(kDependsOnNumbers, name, &DependsOnNumber::name) != std::end(kDependsOnNumbers);
}

// How the counts of the model with its free dims at 1, as reports print them, differ from those of an analysis at 1;
// empty if they do not, if the formulas say that they do not hold there, or if a node does not work there.
std::string difference_at_one(const Model& model, const Analysis& open) {
  Bindings ones;
  for (const std::string& dim : open.free_dims) ones.emplace(dim, 1);
  if (has_impossible_size(open) || !broken_requirement(open, ones).empty()) return "";
  Analysis at_one;
  try {
    at_one = analyze(model, {.dims = ones});
  } catch (const Error& error) {
    return error.what();
  }
  return at_one.totals.unmodelled_nodes > open.totals.unmodelled_nodes ? "" : difference(open, {}, at_one);
}

}  // namespace

TEST_CASE(
    "a formula with every size at 1 is the count at 1, or says that it does not hold, for every operator and graph") {
  std::size_t compared = 0;
  for_each_case([&](const test::Golden& golden, const Model& model) {
    Model free = model;
    if (depends_on_number(golden.name) || has_empty(model.graphs.front()) ||
        test::free_all(free.graphs.front()).empty())
      return;
    const Analysis open = analyze(free);
    if (!is_modelled(open)) return;
    CHECK(difference_at_one(free, open) == "");
    ++compared;
  });
  expect_compared(compared, 5000);
}

TEST_CASE("a formula with every size at 1 is the count at 1, or says that it does not hold, for every model") {
  std::size_t compared = 0;
  for (const auto& entry : std::filesystem::directory_iterator(test::source_path("models/skeletons"))) {
    if (entry.path().extension() != ".onnx") continue;
    CAPTURE(entry.path().filename().string());
    const Model model = load_model(entry.path().string());
    const Analysis open = analyze(model);
    if (open.free_dims.empty()) continue;
    CHECK(difference_at_one(model, open) == "");
    ++compared;
  }
  CHECK(compared > 40);
}

// Every other size is bound before the analysis, and the rest is 1.
TEST_CASE(
    "some sizes bound before the analysis count as the same sizes bound afterwards, for every operator and graph") {
  std::size_t compared = 0;
  for_each_case([&](const test::Golden& golden, const Model& model) {
    Model free = model;
    const Bindings sizes = test::free_all(free.graphs.front());
    if (depends_on_number(golden.name) || sizes.size() < 2 || has_empty(model.graphs.front())) return;
    Bindings some;
    for (const auto& [name, size] : sizes)
      if (some.size() * 2 < sizes.size()) some.emplace(name, size);
    const Analysis open = analyze(free);
    if (!is_modelled(open)) return;
    try {
      const Analysis after = bind_dims(open, some);
      const Analysis before = analyze(free, {.dims = some});
      Bindings ones;
      for (const std::string& dim : after.free_dims) ones.emplace(dim, 1);
      for (const std::string& dim : before.free_dims) ones.emplace(dim, 1);
      if (!is_modelled(before) || !broken_requirement(after, ones).empty() ||
          !broken_requirement(before, ones).empty() || has_impossible_size(after))
        return;
      CHECK(difference(after, {}, before) == "");
      ++compared;
    } catch (const Error&) {  // sizes that contradict each other
    }
  });
  expect_compared(compared, 2000);
}

TEST_CASE(
    "floor, fused, unfused and eager times are in this order, and fusion moves no more bytes, for every operator and "
    "graph") {
  const DeviceSpec device = documents::device("h200");
  std::size_t compared = 0;
  test::Sometimes has_eager("an eager time");
  for_each_case([&](const test::Golden&, const Model& model) {
    const Analysis analysis = analyze(model);
    if (analysis.partial) return;
    const Traffic fused = traffic(model, analysis, {.model = TrafficModel::Fused});
    const OpCost& cost = analysis.totals.cost;
    CHECK(fused.bytes().evaluate({}) <= cost.bytes().evaluate({}));
    const RooflineTotals rows = roofline(analysis, device).totals, kernels = roofline(analysis, fused, device).totals;
    constexpr double kRounding = 1 + 1e-9;
    CHECK(rows.floor_seconds <= kernels.seconds * kRounding);
    CHECK(kernels.seconds <= rows.seconds * kRounding);
    if (has_eager(rows.eager_seconds)) CHECK(rows.seconds <= *rows.eager_seconds * kRounding);
    CHECK(std::isfinite(rows.seconds));
    ++compared;
  });
  expect_compared(compared, 7000);
}

TEST_CASE("the memory plan of every operator and graph is that of a simulator that recounts every step") {
  std::size_t compared = 0;
  test::Sometimes has_formula("a formula of the peak");
  for_each_case([&](const test::Golden&, const Model& model) {
    const Analysis analysis = analyze(model);
    if (analysis.partial) return;
    const MemoryPlan plan = plan_memory(model, analysis, {});
    if (!plan.unsized.empty() || !plan.unsized_bodies.empty()) return;
    // The simulator tracks tensors of a single graph, each in its own buffer; maps have no size.
    const bool is_plain =
        plan.kv_cache.pairs.empty() &&
        std::ranges::all_of(model.graphs.front().nodes,
                            [](const Node& node) {
                              return !node.op_type.starts_with("Sequence") && !node.op_type.ends_with("ToSequence") &&
                                     node.op_type != "Scan" && node.op_type != "Loop" && node.op_type != "If";
                            }) &&
        std::ranges::none_of(analysis.types,
                             [](const TensorType& type) { return type.container == Container::SequenceOfMaps; }) &&
        std::ranges::none_of(analysis.nodes, [](const NodeReport& row) { return row.facts.updates.count > 0; });
    if (!is_plain) return;
    const test::Oracle oracle(model, analysis, {});
    std::vector<Int> expected = oracle.alive(plan.order);
    for (const PlannedTensor& tensor : plan.tensors)
      if (tensor.body_of >= 0) expected[static_cast<std::size_t>(tensor.first_step)] += tensor.bytes;
    CHECK(plan.timeline == expected);
    if (has_formula(plan.peak_formula)) CHECK(plan.peak_formula->evaluate({}) == plan.peak_bytes);
    ++compared;
  });
  expect_compared(compared, 7000);
}

namespace {

// Whether the first axis of each input that has the batch passes through every node that it reaches, as the first axis
// of results.
bool carries_batch(const Graph& graph, const Analysis& analysis, const Dim& batch) {
  std::vector<bool> carried(graph.values.size(), false);
  const auto is_carried = [&](ValueId id) { return id != kAbsent && carried[static_cast<std::size_t>(id)]; };
  const auto shape_of = [&](ValueId id) { return analysis.types[static_cast<std::size_t>(id)].shape; };
  for (const ValueId input : graph.inputs)
    carried[static_cast<std::size_t>(input)] =
        input == graph.inputs[0] ||
        (batch != Dim(1) && shape_of(input) && !shape_of(input)->empty() && shape_of(input)->front() == batch);
  for (const NodeReport& row : analysis.nodes) {
    if (row.graph != 0) return false;
    const Node& node = graph.node(row.node);
    if (std::ranges::none_of(node.inputs, is_carried)) continue;
    if (!is_carried(node.input(0)) || (row.facts.batch != BatchAxis::Same && row.facts.batch != BatchAxis::First))
      return false;
    const std::size_t rank = shape_of(node.input(0))->size();
    // Other operands have the batch only at the same rank.
    for (const ValueId input : node.inputs)
      if (input != kAbsent && shape_of(input) && !shape_of(input)->empty() && shape_of(input)->size() != rank &&
          (is_carried(input) || (batch != Dim(1) && shape_of(input)->front() == batch)))
        return false;
    for (const ValueId output : node.outputs) {
      if (output == kAbsent) continue;
      if (!shape_of(output) || shape_of(output)->size() != rank || shape_of(output)->front() != batch) return false;
      carried[static_cast<std::size_t>(output)] = true;
    }
  }
  return true;
}

}  // namespace

// Each sample costs the same where the operators' rows say that the first axis passes from input to output: work is
// linear in the batch, and for a product without preceding work, proportional to it.
TEST_CASE("a batch of n is n times the work of a sample, for every operator and graph that carries the batch") {
  constexpr Dim OpCost::*kWork[] = {&OpCost::macs, &OpCost::arith, &OpCost::comparisons, &OpCost::special};
  std::size_t compared = 0, products = 0, graphs = 0;
  for_each_case([&](const test::Golden&, const Model& model) {
    const Graph& graph = model.main();
    if (graph.nodes.empty() || graph.inputs.empty() || has_empty(graph)) return;
    const Value& first = graph.value(graph.inputs[0]);
    if (!first.declared.shape || first.declared.shape->size() < 2) return;
    std::vector<std::int64_t> shape;
    for (const Dim& dim : *first.declared.shape) shape.push_back(dim.value64().value_or(1));
    std::vector<OpCost> costs;  // of batches of 1, 3 and 5
    for (const std::int64_t batch : {1, 3, 5}) {
      shape[0] = batch;
      try {
        const Analysis analysis = analyze(model, {.input_shapes = {{first.name, shape}}});
        if (!is_modelled(analysis) || !carries_batch(graph, analysis, batch)) return;
        costs.push_back(analysis.totals.cost);
        if (batch == 5 && graph.nodes.size() == 1 && analysis.nodes.front().facts.kind == OpKind::Product) {
          CHECK(costs[2].macs.evaluate({}) == 5 * costs[0].macs.evaluate({}));
          ++products;
        }
      } catch (const Error&) {  // other inputs fix the batch
        return;
      }
    }
    for (const auto count : kWork) {
      const auto at = [&](std::size_t i) { return (costs[i].*count).evaluate({}); };
      CHECK(at(2) - at(1) == at(1) - at(0));
    }
    ++compared;
    graphs += graph.nodes.size() > 1 ? 1 : 0;
  });
  MESSAGE(products << " products, " << graphs << " graphs");
  expect_compared(compared, 1000);
  CHECK((products > 30 || drawn_graphs() != nullptr));
}
