// What must hold for every operator, whatever its rule says: over all stored cases, which between them have every row, its
// attributes, ranks, types and opsets.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "conformance/cases.h"
#include "memory/oracle.h"
#include "pagoda/core/analyze.h"
#include "pagoda/core/memory.h"
#include "pagoda/core/roofline.h"
#include "pagoda/core/traffic.h"
#include "pagoda/documents/device.h"
#include "support/text_graph.h"

using namespace pagoda;

namespace {

constexpr const char* kParts[] = {"backend", "onnx", "contrib", "drawn"};

// Calls `check` with each case as text and as a model.
template <typename Check>
void for_each_case(const Check& check) {
  for (const char* part : kParts)
    for (const test::Golden& golden : test::goldens(part)) {
      CAPTURE(golden.name);
      CAPTURE(golden.graph.substr(0, 600));
      check(golden, test::graph(golden.graph));
    }
}

// Formulas hold for sizes of at least 1.
bool has_empty(const Graph& graph) {
  return std::ranges::any_of(graph.values, [](const Value& value) {
    return value.declared.shape && std::ranges::any_of(*value.declared.shape, [](const Dim& dim) { return dim == Dim(0); });
  });
}

bool is_modelled(const Analysis& analysis) { return !analysis.partial && analysis.symbols.empty(); }

// The first count in which two analyses differ, in words; empty: none. `bindings`: of what the first leaves open.
std::string difference(const Analysis& open, const Bindings& bindings, const Analysis& fixed) {
  constexpr std::pair<const char*, Dim OpCost::*> kCounts[] = {
      {"MACs", &OpCost::macs},           {"arith", &OpCost::arith},           {"comparisons", &OpCost::comparisons},
      {"special", &OpCost::special},     {"bytes read", &OpCost::bytes_read}, {"bytes written", &OpCost::bytes_written},
  };
  for (const auto& [name, count] : kCounts) {
    const Dim& formula = open.totals.cost.*count;
    const Int bound = formula.evaluate(bindings), want = (fixed.totals.cost.*count).evaluate({});
    if (bound != want)
      return std::string(name) + ": " + formula.to_string() + " is " + to_string(bound) + ", at fixed sizes " + to_string(want);
  }
  return "";
}

}  // namespace

TEST_CASE("a formula bound afterwards is the count at fixed sizes, for every operator") {
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
  MESSAGE(compared << " cases compared");
  CHECK(compared > 5000);
}

TEST_CASE("floor, fused, unfused and eager times are in this order, and fusion moves no more bytes, for every operator") {
  const DeviceSpec device = documents::device("h200");
  std::size_t compared = 0;
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
    if (rows.eager_seconds) CHECK(rows.seconds <= *rows.eager_seconds * kRounding);
    CHECK(std::isfinite(rows.seconds));
    ++compared;
  });
  MESSAGE(compared << " cases compared");
  CHECK(compared > 7000);
}

TEST_CASE("the memory plan of every operator is that of a simulator that recounts every step") {
  std::size_t compared = 0;
  for_each_case([&](const test::Golden&, const Model& model) {
    const Analysis analysis = analyze(model);
    if (analysis.partial) return;
    const MemoryPlan plan = plan_memory(model, analysis, {});
    if (!plan.unsized.empty() || !plan.unsized_bodies.empty()) return;
    // The simulator follows tensors of one graph, each in a buffer of its own.
    const bool is_plain = plan.kv_cache.pairs.empty() && std::ranges::all_of(model.graphs.front().nodes, [](const Node& node) {
      return !node.op_type.starts_with("Sequence") && !node.op_type.ends_with("ToSequence") && node.op_type != "Scan" &&
             node.op_type != "Loop" && node.op_type != "If";
    });
    if (!is_plain) return;
    const test::Oracle oracle(model, analysis, {});
    std::vector<Int> expected = oracle.alive(plan.order);
    for (const PlannedTensor& tensor : plan.tensors)
      if (tensor.body_of >= 0) expected[static_cast<std::size_t>(tensor.first_step)] += tensor.bytes;
    CHECK(plan.timeline == expected);
    if (plan.peak_formula) CHECK(plan.peak_formula->evaluate({}) == plan.peak_bytes);
    ++compared;
  });
  MESSAGE(compared << " cases compared");
  CHECK(compared > 7000);
}
