// An operator that Pagoda does not know: the caller passes its rule, a row of three functions.
#include <pagoda/pagoda.h>

#include <iostream>

namespace {

// my.ops.ScaledAdd(a, b) = a + s·b: the output is shaped like a.
void infer_scaled_add(pagoda::OpContext& op) { op.set_output(0, op.input(0)); }

pagoda::OpCost cost_scaled_add(const pagoda::OpContext& op) {
  pagoda::OpCost cost = op.streamed();     // reads both inputs once, writes the output once
  cost.arith = 2 * op.output_elements(0);  // one multiplication and one addition per element
  return cost;
}

}  // namespace

int main() {
  pagoda::Graph graph;
  graph.values.resize(3);
  for (std::size_t i = 0; i < 3; ++i) graph.values[i].name = std::string(1, static_cast<char>('a' + i));
  for (std::size_t i = 0; i < 2; ++i)
    graph.values[i].declared = {.element = pagoda::ElementType::Float16,
                                .shape = pagoda::Shape{pagoda::Dim::symbol("n"), 32}};
  graph.inputs = {0, 1};
  graph.outputs = {2};
  pagoda::Node& node = graph.nodes.emplace_back();
  node.op_type = "ScaledAdd";
  node.domain = "my.ops";
  node.inputs = {0, 1};
  node.outputs = {2};
  pagoda::Model model;
  model.opsets = {{"", 17}, {"my.ops", 1}};
  model.graphs.push_back(std::move(graph));

  // Without the rule the node is reported, not counted as free.
  const pagoda::Analysis without = pagoda::analyze(model);
  std::cout << "without: " << without.totals.unmodelled_nodes << " node unmodelled\n";

  pagoda::AnalyzeOptions options;
  options.extra_rules = {
      {"my.ops", {"ScaledAdd", infer_scaled_add, cost_scaled_add, nullptr, "1 mul, 1 add / element"}}};
  const pagoda::Analysis with = pagoda::analyze(model, options);
  std::cout << "with:    " << with.totals.cost.arith << " FLOPs\n";

  // The same as formulas, which a file can hold, too: docs/custom-operators.md.
  const pagoda::CustomOperator stated{.domain = "my.ops",
                                      .op_type = "ScaledAdd",
                                      .inputs = {{.name = "a", .shape = {{"*n"}}}, {.name = "b", .shape = {{"*n"}}}},
                                      .outputs = {{.type = "a", .shape = {"*n"}}},
                                      .work = pagoda::CustomWork{.arith = "2*n"}};
  const pagoda::Dim as_stated = pagoda::flops(pagoda::analyze(model, {}, {stated}).totals.cost);
  std::cout << "stated:  " << as_stated << " FLOPs, " << as_stated.evaluate({{"n", 8}}) << " where n is 8\n";
  const pagoda::Dim expected = 64 * pagoda::Dim::symbol("n");
  return without.partial && !with.partial && with.totals.cost.arith == expected && as_stated == expected ? 0 : 1;
}
